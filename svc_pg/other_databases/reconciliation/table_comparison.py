"""Compare one table with the log, piece by piece: each in a transaction of its own, which sees one state."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, LiteralString, TypeVar

from svc_pg.audit.log.reconciliation import Pace, Progress
from svc_pg.audit.reconciliation.findings import Count, Findings, Piece
from svc_pg.audit.reconciliation.position import Position
from svc_pg.database.effects import Effects, Statement
from svc_pg.errors import QueryError
from svc_pg.other_databases.log.driver_errors import is_busy
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.reconciliation.side import AuditedSide, Kept, Row, RowKey, Side, TableSide
from svc_pg.other_databases.reconciliation.verdicts import Verdict, verdict_of_record, verdict_of_row
from svc_pg.other_databases.reconciliation.withheld import kept_of

ROWS: Final = 500
"""The rows of a piece."""
ENTRIES: Final = 1000
"""The entries of a piece."""
_BEGINNING: Final = ("0001-01-01", 0)
"""A position before all entries."""

Result = TypeVar("Result")
Entry = tuple[str, int]
"""The time of an entry as the log has it, and its id."""


@dataclass(slots=True)
class TableComparison:
    """The comparison of one table, from a position on.

    ``postponed`` is true if writers kept some rows from repair; ``otherwise`` are columns that some entries redacted
    so.
    """

    side: Side
    audited: AuditedSide
    pace: Pace
    since: datetime
    purged_before: datetime | None
    findings: Findings = field(default_factory=Findings)
    postponed: bool = False
    otherwise: set[str] = field(default_factory=set)

    @property
    def table(self) -> TableSide:
        """The table."""
        return self.audited.side

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self.table.rules.table.name)

    def run(self, start: Position | None) -> Effects[Position | None]:
        """Compare; the answer is the position from which another call goes on, None if all is done."""
        row, entry = None, None
        if start is not None:
            self.since, self.otherwise, self.postponed = start.since, set(start.otherwise), bool(start.postponed)
            self.findings = Findings(start.counts - start.kept, Counter(start.kept))
            row, entry = _read(start.record)
        if entry is None:
            stopped = yield from self._rows(row)
            if stopped is not None:
                return stopped
        if self.table.rules.audited.record_when is not None:
            return None
        return (yield from self._entries(entry or _BEGINNING))

    def _rows(self, after: RowKey | None) -> Effects[Position | None]:
        """Compare the rows up to the last one of now: beside a quick writer, a table might have no end."""
        if after is None and not self.pace.is_over():
            unkeyed = yield from self._look(self.table.unkeyed())
            self._found([], Counter({"uncounted": 1} if unkeyed is None else {"unkeyed": unkeyed}))
        upto = yield from self._look(self.table.last())
        if upto is None:
            return None
        while True:
            if self.pace.is_over():
                return self._position(row=after)
            began = time.monotonic()
            rows, verdicts = yield from self._look(self._rows_after(after, upto))
            piece = self._found(verdicts, Counter({"rows": sum(row.is_wanted for row in rows)}))
            if self.pace.repairs and piece.is_faulty:
                faulty = [verdict.key for verdict in verdicts if verdict.is_faulty and verdict.key is not None]
                yield from self._repair(piece, self._written_rows(faulty))
            if len(rows) < ROWS:
                return None
            after = rows[-1].key
            self._tell(self._position(row=after))
            yield from self.pace.rest(began)

    def _rows_after(self, after: RowKey | None, upto: RowKey) -> Effects[tuple[list[Row], list[Verdict]]]:
        rows = yield from self.table.rows(after, upto, ROWS)
        verdicts: list[Verdict] = []
        for row in rows:
            if row.is_suspect:
                verdicts.append(  # noqa: PERF401 - a comprehension cannot yield
                    (yield from verdict_of_row(self.table, row, self.purged_before))
                )
        return rows, verdicts

    def _written_rows(self, keys: Sequence[RowKey]) -> Effects[int]:
        """Write entries of the rows that differ still; a piece was looked at before it was locked."""
        written = 0
        yield from self.table.lock(keys)
        for key in keys:
            found = yield from self.table.row(key)
            if found is None or not found[0].is_wanted:
                continue
            verdict = yield from verdict_of_row(self.table, found[0], None, image=found[1])
            if verdict.is_faulty:
                fields = verdict.fields if verdict.kind == "differs" else None
                known = verdict.known if verdict.kind == "differs" else None
                kept = yield from self._kept(known)
                yield self.table.snapshot(key, verdict.kind, known, fields, kept)
                written += 1
        return written

    def _entries(self, after: Entry) -> Effects[Position | None]:
        """Look among the entries that are there now: later ones would have no end beside a quick writer."""
        [[end]] = yield Statement("select coalesce(max(id), 0) from " + self.side.dialect.log)  # noqa: S608
        while True:
            if self.pace.is_over():
                return self._position(entry=after)
            began = time.monotonic()
            entries, verdicts = yield from self._look(self._entries_after(after, int(end)))
            piece = self._found(verdicts, Counter({"records": len(entries)}))
            if self.pace.repairs and piece.is_faulty:
                yield from self._repair(piece, self._written_ends([each.record for each in verdicts if each.is_faulty]))
            if len(entries) < ENTRIES:
                return None
            after = entries[-1][:2]
            self._tell(self._position(entry=after))
            yield from self.pace.rest(began)

    def _entries_after(self, after: Entry, end: int) -> Effects[tuple[list[tuple[str, int, str]], list[Verdict]]]:
        """Entries by time, and the records among them that ended unseen, each at the entry that tells its last state.

        By time and not by record, because no index of MySQL has records in order.
        """
        dialect = self.side.dialect
        columns: LiteralString = dialect.timestamp + ", id, operation, " + dialect.text("record_id")
        text: LiteralString = "select " + columns + " from " + self.side.entries_by_time  # noqa: S608
        text += " where table_name = %s and id <= %s and "
        # two statements, because MariaDB finds no range of an index for both
        of_time = text + "timestamp = %s and id > %s order by id limit %s"
        rows = [*(yield Statement(of_time, (self.name, end, *after, ENTRIES)))]
        if len(rows) < ENTRIES:
            later = text + "timestamp > %s order by timestamp, id limit %s"
            rows += yield Statement(later, (self.name, end, after[0], ENTRIES - len(rows)))
        entries = [(str(at), int(entry_id), record) for at, entry_id, _, record in rows]
        open_ids = {entry_id for _, entry_id, operation, record in rows if _may_be_open(operation, record)}
        records = sorted({record for _, entry_id, record in entries if entry_id in open_ids})
        live = yield from self.table.live(records, locks=False)
        verdicts = []
        for record in records:
            if record not in live:
                verdict = yield from verdict_of_record(self.table, record, self.purged_before)
                if verdict is not None and verdict.known in open_ids:
                    verdicts.append(verdict)
        return entries, verdicts

    def _written_ends(self, records: Sequence[str]) -> Effects[int]:
        """Write entries of the records that the table lacks still."""
        written = 0
        live = yield from self.table.live(records, locks=True)
        for record in records:
            if record in live:
                continue
            verdict = yield from verdict_of_record(self.table, record, None)
            if verdict is not None and verdict.known is not None:
                kept = yield from self._kept(verdict.known)
                yield self.table.gone(verdict.known, kept)
                written += 1
        return written

    def _kept(self, known: int | None) -> Effects[Kept | None]:
        """The image of an entry, unless the database may copy it as it is, because nothing is redacted since."""
        rules = self.table.rules
        withheld = rules.redacted_columns.difference(rules.key)
        if known is None or not withheld:
            return None
        image, redacted = yield from self.table.image_of(known)
        return kept_of(image, redacted, withheld)

    def _found(self, verdicts: Sequence[Verdict], counts: Counter[Count]) -> Piece:
        room = max(self.pace.most - len(self.findings.differences), 0)
        for verdict in verdicts:
            self.otherwise.update(verdict.otherwise)
            if verdict.count is not None:
                counts[verdict.count] += 1
        told = [each.difference(self.name) for each in verdicts]
        piece = Piece(counts, [each for each in told if each is not None][:room])
        self.findings.add(piece)
        return piece

    def _look(self, steps: Effects[Result]) -> Effects[Result]:
        return (yield from within(self.side.looks, self._begun(steps, locks=False), "rollback"))

    def _begun(self, steps: Effects[Result], *, locks: bool) -> Effects[Result]:
        yield from self.table.begin(locks=locks)
        yield from self.audited.check(self.side.installed_objects)
        return (yield from steps)

    def _repair(self, piece: Piece, steps: Effects[int]) -> Effects[None]:
        with self.side.repairing() as is_alone:
            try:
                if not is_alone:
                    self.postponed = True
                    return
                written = yield from within(self.side.writes, self._begun(steps, locks=True), "commit")
            except Exception as error:
                if not is_busy(error):
                    raise
                self.postponed = True
            else:
                self.findings.keep(piece, written)
            finally:
                steps.close()

    def _position(self, *, row: RowKey | None = None, entry: Entry | None = None) -> Position:
        where: dict[str, Any] = {"row": row} if entry is None else {"entry": entry}
        return Position(
            self.name,
            self.since,
            self.pace.repairs,
            self.findings.counts,
            self.findings.kept,
            frozenset({self.name} if self.postponed else ()),
            frozenset(self.otherwise),
            record=None if row is None and entry is None else json.dumps(where),
        )

    def _tell(self, position: Position) -> None:
        rows = position.counts["rows"]
        self.pace.progress(Progress(self.name, rows, rows, position.cursor))


def within(begin: Sequence[LiteralString], steps: Effects[Result], end: LiteralString) -> Effects[Result]:
    """Take the steps in a transaction, which ends with an error too."""
    for statement in begin:
        yield Statement(statement)
    try:
        result = yield from steps
        yield Statement(end)
    except GeneratorExit:
        raise
    except BaseException:
        with suppress(Exception):  # of a lost connection, with which the transaction has ended
            yield Statement("rollback")
        raise
    return result


def _read(record: str | None) -> tuple[RowKey | None, Entry | None]:
    """The last row or entry of a position. Raises QueryError if it is one of another database."""
    if record is None:
        return None, None
    try:
        found = json.loads(record)
        if "row" in found:
            return found["row"], None
        at, entry_id = found["entry"]
        time_of(at or "0001-01-01")
        return None, (str(at), int(entry_id))
    except (ValueError, TypeError, KeyError) as error:
        raise QueryError("the cursor is of a reconciliation of another database") from error


def _may_be_open(operation: str, record: Any) -> bool:
    return record is not None and not hasattr(record, "original") and operation not in ("DELETE", "GONE")
