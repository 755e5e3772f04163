"""Compare one table with the log, piece by piece: each in one statement, whose snapshot sees a change and its entry."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from psycopg.errors import DataError

from svc_pg.audit.reconciliation.locking import leaves, look, write
from svc_pg.audit.reconciliation.report import Count, Difference, Position, Progress
from svc_pg.capture.postgres.comparing import Comparison, tells_all
from svc_pg.capture.postgres.pieces import PAGES, RECORDS, Leaf, pieces_of
from svc_pg.capture.rules import TableRules
from svc_pg.database.effects import Effects
from svc_pg.database.query import Query, RawJson
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConflictError

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Pace:
    """The limits of the work, None if there is none, what it does, and who watches and may end it."""

    rows_per_second: float | None
    most: int
    repairs: bool
    progress: Callable[[Progress], None]
    is_over: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Server:
    """The version of the server; a standby cannot lock as others can, and the log may be the copy of another one."""

    server_version: int
    is_standby: bool
    is_copy: bool


@dataclass(frozen=True, slots=True)
class _Rows:
    rows: int
    unrecorded: int
    missing: int
    differing: int
    erased: int
    found: RawJson


@dataclass(frozen=True, slots=True)
class _Records:
    upto: str | None
    records: int
    gone: int
    found: RawJson


@dataclass(frozen=True, slots=True)
class _Written:
    entries: int


@dataclass(slots=True)
class TableComparison:
    """The comparison of one table, from a position on; ``postponed`` are the parts that writers kept from repair."""

    rules: TableRules
    server: Server
    pace: Pace
    since: datetime
    expected: int
    has_plain_key: bool
    counts: Counter[Count] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    postponed: set[str] = field(default_factory=set)

    @property
    def name(self) -> TableName:
        """The table."""
        return self.rules.table.name

    def run(self, start: Position | None) -> Effects[Position | None]:
        """Compare; the answer is the position from which another call goes on, None if all is done."""
        if start is None or start.record is None:
            stopped = yield from self._leaves(start)
            if stopped is not None:
                return stopped
        if not tells_all(self.rules):
            return None
        try:
            after = "" if start is None or start.record is None else start.record
            return (yield from self._records(after, RECORDS if self.has_plain_key else None))
        except DataError:  # the key had another type once
            self.has_plain_key = False
            self.counts.subtract({name: self.counts[name] for name in ("records", "gone")})
            self.differences = [each for each in self.differences if each.kind != "gone"]
            return (yield from self._records("", None))

    def _leaves(self, start: Position | None) -> Effects[Position | None]:
        """Compare the rows; those of a leaf again if they have moved to another file meanwhile."""
        done: list[TableName] = []
        again = 0
        while True:
            found = yield from leaves(self.name)
            if start is not None and not any((start.leaf, start.file) == (each.name, each.file) for each in found):
                self.counts.clear()  # nothing tells which rows were compared
                start = None
            if start is not None:
                at = start.leaf
                done = [each.name for each in takewhile(lambda each: each.name != at, found)]  # noqa: B023 - called at once
            left = [leaf for leaf in found if leaf.name not in done]
            if not left:
                return None
            leaf, counts, named = left[0], Counter(self.counts), len(self.differences)
            stopped = yield from self._pages(leaf, 0 if start is None else start.page)
            if stopped is not None:
                return stopped
            start = None
            now = yield from leaves(self.name)
            if leaf.file in [each.file for each in now if each.name == leaf.name]:
                done.append(leaf.name)
                continue
            again += 1
            if again > _TRIES:
                raise ConflictError(f'table "{leaf.name}" is written anew again and again', hint="Run it again later.")
            self.counts = counts
            del self.differences[named:]

    def _pages(self, leaf: Leaf, first: int) -> Effects[Position | None]:
        for page, pages in pieces_of(leaf, server_version=self.server.server_version, first=first):
            if self.pace.is_over():
                return self._position(leaf=leaf.name, file=leaf.file, page=page)
            began = time.monotonic()
            text = self._comparison().rows(leaf.name, pages, "report", most=self._room())
            found: _Rows = yield from look(
                self.rules.table, leaf.name, Query(text, (), _Rows), is_standby=self.server.is_standby
            )
            self._count(found, ("rows", "unrecorded", "missing", "differing", "erased"))
            if self.pace.repairs and found.unrecorded + found.missing + found.differing:
                yield from self._write(leaf.name, self._comparison().rows(leaf.name, pages, "write"))
            self._tell(self._position(leaf=leaf.name, file=leaf.file, page=page + PAGES))
            yield from self._rest(found.rows, began)
        return None

    def _records(self, after: str, records: int | None) -> Effects[Position | None]:
        while True:
            if self.pace.is_over():
                return self._position(record=after)
            began = time.monotonic()
            text = self._comparison().ended(after, "report", records=records, most=self._room())
            found: _Records = yield from look(
                self.rules.table, self.name, Query(text, (), _Records), is_standby=self.server.is_standby
            )
            self._count(found, ("records", "gone"))
            if self.pace.repairs and found.gone:
                yield from self._write(self.name, self._comparison().ended(after, "write", upto=found.upto))
            if found.upto is None or records is None or found.records < records:
                return None
            after = found.upto
            self._tell(self._position(record=after))
            yield from self._rest(found.records, began)

    def _write(self, relation: TableName, text: str) -> Effects[None]:
        written = yield from write(self.rules.table, relation, Query(text, (), _Written))
        if written is None:
            self.postponed.add(str(relation))
        else:
            self.counts["repaired"] += written.entries

    def _comparison(self) -> Comparison:
        return Comparison.of(self.rules, "reconciliation", has_plain_key=self.has_plain_key)

    def _room(self) -> int:
        return max(self.pace.most - len(self.differences), 0)

    def _count(self, found: Any, names: tuple[Count, ...]) -> None:
        self.counts.update({name: getattr(found, name) for name in names})
        kinds = {"unrecorded": "missing"}
        for kind, record, fields in found.found.value:
            self.differences.append(Difference(str(self.name), record, kinds.get(kind, kind), fields or []))

    def _position(self, **at: Any) -> Position:
        return Position(str(self.name), self.since, self.counts, **at)

    def _tell(self, position: Position) -> None:
        self.pace.progress(Progress(str(self.name), self.counts["rows"], self.expected, position.cursor))

    def _rest(self, rows: int, began: float) -> Iterator[Any]:
        if self.pace.rows_per_second is not None:
            yield timedelta(seconds=max(rows / self.pace.rows_per_second - (time.monotonic() - began), 0))
