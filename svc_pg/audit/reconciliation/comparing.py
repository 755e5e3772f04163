"""Compare one table with the log, piece by piece: each in one statement, whose snapshot sees a change and its entry."""

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypedDict

from psycopg.errors import DataError

from svc_pg.audit.log.reconciliation import Difference, Pace, Progress
from svc_pg.audit.reconciliation.database import Database
from svc_pg.audit.reconciliation.findings import Count, Findings, Piece
from svc_pg.audit.reconciliation.locking import leaves, look, write
from svc_pg.audit.reconciliation.position import Position
from svc_pg.capture.postgres.comparing import Comparison, tells_all
from svc_pg.capture.postgres.pieces import PAGES, RECORDS, Leaf, pieces_of
from svc_pg.capture.rules import TableRules
from svc_pg.database.effects import Effects
from svc_pg.database.query import Query, RawJson
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConflictError

_ROUNDS: Final = 5
"""The most times to go on in a leaf that grew or was written anew meanwhile."""


@dataclass(frozen=True, slots=True)
class _Rows:
    rows: int
    unrecorded: int
    missing: int
    differing: int
    erased: int
    unknown: int
    unkeyed: int
    otherwise: RawJson
    found: RawJson


@dataclass(frozen=True, slots=True)
class _Records:
    upto: str | None
    records: int
    gone: int
    lost: int
    found: RawJson


class _Limits(TypedDict):
    most: int
    purged_before: datetime | None


@dataclass(frozen=True, slots=True)
class _Written:
    entries: int


@dataclass(slots=True)
class TableComparison:
    """The comparison of one table, from a position on.

    ``postponed`` are the parts that writers kept from repair, ``otherwise`` columns that some entries redacted so.
    """

    rules: TableRules
    database: Database
    pace: Pace
    since: datetime
    expected: int
    has_plain_key: bool
    purged_before: datetime | None
    findings: Findings = field(default_factory=Findings)
    postponed: set[str] = field(default_factory=set)
    otherwise: set[str] = field(default_factory=set)
    _done: set[int] = field(default_factory=set)

    @property
    def name(self) -> TableName:
        """The table."""
        return self.rules.table.name

    def run(self, start: Position | None) -> Effects[Position | None]:
        """Compare; the answer is the position from which another call goes on, None if all is done."""
        if start is not None:
            self.since, self._done = start.since, set(start.done)
            self.postponed, self.otherwise = set(start.postponed), set(start.otherwise)
            self.findings = Findings(start.counts - start.kept, Counter(start.kept))
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
            self.findings.forget_records()
            return (yield from self._records("", None))

    def _leaves(self, start: Position | None) -> Effects[Position | None]:
        while True:
            found = {leaf.oid: leaf for leaf in (yield from leaves(self.name)) if leaf.oid not in self._done}
            first = 0
            if start is not None and start.leaf in found and found[start.leaf].file == start.file:
                first, found = start.page, {start.leaf: found[start.leaf]}
            elif start is not None:
                self._forget()
                start = None
                continue
            if not found:
                return None
            stopped = yield from self._leaf(next(iter(found.values())), first)
            if stopped is not None:
                return stopped
            start = None

    def _leaf(self, leaf: Leaf, first: int) -> Effects[Position | None]:
        """Compare the rows of a leaf, those in new pages too; all again if they have moved to another file."""
        counts, named, page = Counter(self.findings.left), len(self.findings.left_differences), first
        for _ in range(_ROUNDS):
            stopped = yield from self._pages(leaf, page)
            if stopped is not None:
                return stopped
            before, page = leaf, leaf.pages or 0
            leaf = next((each for each in (yield from leaves(self.name)) if each.oid == leaf.oid), leaf)
            if leaf.file != before.file:
                page = 0
                if first:
                    self._forget()
                else:
                    self.findings.restart(counts, named)
            elif page >= (leaf.pages or 0):
                break
        if leaf.file != before.file:
            raise ConflictError(f'table "{leaf.name}" is written anew again and again', hint="Run it again later.")
        self._done.add(leaf.oid)
        return None

    def _forget(self) -> None:
        """Begin anew, because nothing tells which rows were compared; what is repaired stays found."""
        self._done.clear()
        self.findings.restart(Counter(), 0)

    def _pages(self, leaf: Leaf, first: int) -> Effects[Position | None]:
        for page, pages in pieces_of(leaf, server_version=self.database.server_version, first=first):
            if self.pace.is_over():
                return self._position(leaf=leaf.oid, file=leaf.file, page=page)
            began = time.monotonic()
            text = self._comparison().rows(leaf.name, pages, "report", **self._limits())
            found: _Rows = yield from look(self.database, self.rules.table, leaf.name, Query(text, (), _Rows))
            piece = self._piece(found, ("rows", "unrecorded", "missing", "differing", "erased", "unknown", "unkeyed"))
            self.otherwise.update(*found.otherwise.value)
            if self.pace.repairs and piece.is_faulty:
                yield from self._write(leaf.name, self._comparison().rows(leaf.name, pages, "write"), piece)
            self._tell(self._position(leaf=leaf.oid, file=leaf.file, page=page + PAGES))
            yield from self.pace.rest(began)
        return None

    def _records(self, after: str, records: int | None) -> Effects[Position | None]:
        while True:
            if self.pace.is_over():
                return self._position(record=after)
            began = time.monotonic()
            text = self._comparison().ended(after, "report", records=records, **self._limits())
            found: _Records = yield from look(self.database, self.rules.table, self.name, Query(text, (), _Records))
            piece = self._piece(found, ("records", "gone", "lost"))
            if self.pace.repairs and piece.is_faulty:
                yield from self._write(self.name, self._comparison().ended(after, "write", upto=found.upto), piece)
            if found.upto is None or records is None or found.records < records:
                return None
            after = found.upto
            self._tell(self._position(record=after))
            yield from self.pace.rest(began)

    def _write(self, relation: TableName, text: str, piece: Piece) -> Effects[None]:
        written = yield from write(self.database, self.rules.table, relation, Query(text, (), _Written))
        if written is None:
            self.postponed.add(str(relation))
        else:
            self.findings.keep(piece, written.entries)

    def _comparison(self) -> Comparison:
        stretches = self.database.stretches
        return Comparison.of(self.rules, "reconciliation", has_plain_key=self.has_plain_key, stretches=stretches)

    def _limits(self) -> _Limits:
        room = max(self.pace.most - len(self.findings.differences), 0)
        return {"most": room, "purged_before": self.purged_before}

    def _piece(self, found: Any, names: tuple[Count, ...]) -> Piece:
        kinds = {"unrecorded": "missing"}
        differences = [
            Difference(str(self.name), record, kinds.get(kind, kind), fields or [])
            for kind, record, fields in found.found.value
        ]
        piece = Piece(Counter({name: getattr(found, name) for name in names}), differences)
        self.findings.add(piece)
        return piece

    def _position(self, **at: Any) -> Position:
        return Position(
            str(self.name),
            self.since,
            self.pace.repairs,
            self.findings.counts,
            self.findings.kept,
            frozenset(self.postponed),
            frozenset(self.otherwise),
            frozenset(self._done),
            **at,
        )

    def _tell(self, position: Position) -> None:
        self.pace.progress(Progress(str(self.name), position.counts["rows"], self.expected, position.cursor))
