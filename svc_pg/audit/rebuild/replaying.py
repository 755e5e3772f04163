"""Replay entries to rows by the law of the log: take away each image before, add each image after.

A transaction may have its entries in another order than that of change, so an image that is not there yet is a debt of
its transaction. It is settled when another transaction changes the record, which is after the end of the first one.
"""

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, LiteralString, NamedTuple

from svc_pg.audit.rebuild.findings import Findings
from svc_pg.audit.rebuild.record_key import RecordKey

_ENTRIES: Final = (
    "select id, operation, record, moved_from, before, after, xact, partition from entry where operation <> 'DDL'"
)
_SAME: Final = "select number from row where digest = ? and partition is ? limit 1"
_ELSEWHERE: Final = "select number from row where digest = ? limit 1"
_OF_OTHERS: Final = "record = ? and xact is not ?"
_OF_RECORD: Final = "select xact from debt where record = ? limit 1"
_WRITTEN: Final = "select number from row where digest = ? and xact is ? limit 1"
_WRITTEN_WITHOUT_KEY: Final = "select number from row where digest = ? and xact is ? and record is null limit 1"
_EMPTIED: Final = """
select exists (select 1 from entry where operation = 'TRUNCATE' and partition is null and id < ?)
    or exists (select 1 from entry where operation = 'TRUNCATE' and partition is ? and id < ?)"""
_DEBTS: Final = "select number, digest, record, partition, entry, xact, is_unseen from debt"


class Change(NamedTuple):
    """An entry as its replay needs it."""

    id: int
    operation: str
    record: str | None
    moved_from: str | None
    before: str | None
    after: str | None
    xact: str | None
    partition: str | None


class _Debt(NamedTuple):
    number: int
    digest: bytes
    record: str | None
    partition: str | None
    entry: int
    xact: str | None
    is_unseen: int


class Replay:
    """The rows of a table after the entries so far."""

    def __init__(self, conn: sqlite3.Connection, key: RecordKey, findings: Findings) -> None:
        self._conn = conn
        self._key = key
        self._findings = findings
        self._owes = False
        self._is_later = False

    def take_until(self, at: int | None) -> None:
        """Replay the entries up to a time, or all, and keep the rows of then as the result."""
        if at is None:
            self._take_all("", ())
        else:
            self._take_all(" and at <= ?", (at,))
        self._settle("true")
        self._conn.execute("insert into result (entry, is_before) select entry, 0 from row order by entry")

    def take_later(self, at: int) -> None:
        """Replay the entries after a time for the rows that were there then, and that only later ones tell of."""
        self._is_later = True
        self._take_all(" and at > ?", (at,))
        self._settle("true")

    def _take_all(self, condition: LiteralString, parameters: Sequence[object]) -> None:
        self._conn.execute("begin")
        for values in self._conn.execute(_ENTRIES + condition + " order by id", parameters):
            self._take(Change(*values))
        self._conn.execute("commit")

    def _take(self, change: Change) -> None:
        if change.operation == "TRUNCATE":
            self._empty(change.partition)
            return
        if change.record is not None:
            self._settle_others(change.record, change.xact)
        if change.before is not None:
            self._remove(change, change.before)
        if change.after is not None:
            self._conn.execute(
                "insert into row (digest, record, partition, entry, xact) values (?, ?, ?, ?, ?)",
                (_digest(change.after, change.record), change.record, change.partition, change.id, change.xact),
            )

    def _empty(self, partition: str | None) -> None:
        if partition is None:
            self._settle("true")
            self._conn.execute("delete from row")
        else:
            self._settle("partition = ?", partition)
            self._conn.execute("delete from row where partition = ?", (partition,))

    def _remove(self, change: Change, before: str) -> None:
        old_keys: list[str | None] = [change.record]
        if self._removed(_digest(before, change.record), change.partition):
            return
        if change.record is not None and change.operation == "UPDATE":
            old_keys = self._old_keys(change, before)
            for key in old_keys:
                if key == change.record:
                    continue
                self._settle_others(key, change.xact)
                if self._removed(_digest(before, key), change.partition):
                    return
        self._owe(change, before, change.record if change.record in old_keys else old_keys[0])

    def _old_keys(self, change: Change, before: str) -> list[str | None]:
        if change.moved_from is not None:
            return [change.moved_from]
        return [*self._key.keys(before)] or [change.record]

    def _removed(self, digest: bytes, partition: str | None) -> bool:
        found = (
            self._conn.execute(_SAME, (digest, partition)).fetchone()
            or self._conn.execute(_ELSEWHERE, (digest,)).fetchone()
        )
        if found is None:
            return False
        self._conn.execute("delete from row where number = ?", found)
        return True

    def _owe(self, change: Change, before: str, record: str | None) -> None:
        is_unseen = not self._conn.execute(
            "select exists (select 1 from entry where record = ? and id < ?)",
            (record, change.id),
        ).fetchone()[0]
        self._conn.execute(
            "insert into debt (digest, record, partition, entry, xact, is_unseen) values (?, ?, ?, ?, ?, ?)",
            (_digest(before, record), record, change.partition, change.id, change.xact, is_unseen),
        )
        self._owes = True

    def _settle_others(self, record: str | None, xact: str | None) -> None:
        """Settle what other transactions owe of a record. Before each new debt it is called, so all are of one."""
        found = self._conn.execute(_OF_RECORD, (record,)).fetchone() if self._owes else None
        if found is not None and found[0] != xact:
            self._settle(_OF_OTHERS, record, xact)

    def _settle(self, condition: LiteralString, *parameters: object) -> None:
        while self._owes:
            found = self._conn.execute(_DEBTS + " where " + condition + " order by number limit 1000", parameters)
            debts = [_Debt(*values) for values in found]
            for debt in debts:
                self._conn.execute("delete from debt where number = ?", (debt.number,))
                self._settle_one(debt)
            if not debts:
                return

    def _settle_one(self, debt: _Debt) -> None:
        """Find the reason for an image before that no entry had left, and note it.

        It is an entry that was written later in the same transaction, a gap in the log, or a row from before the log.
        """
        written = _WRITTEN if debt.record is not None else _WRITTEN_WITHOUT_KEY
        same = self._conn.execute(written, (debt.digest, debt.xact)).fetchone()
        without = -1 if same is None else same[0]
        older, other = self._rows_beside(debt, without)
        if same is None:
            gap = older if older is not None else other
            if gap is None:
                self._note_from_before(debt)
            else:
                self._note_gap(debt, gap)
        elif other is None and older is not None:  # it began and ended with a state that an unknown change had made
            self._note_gap(debt, older)
        elif other is None and debt.is_unseen and debt.record is not None and not self._is_emptied(debt):
            self._findings.doubtful.add(debt.record)
            self._note_from_before(debt)
        else:
            if debt.record is None and not self._is_emptied(debt):
                self._findings.doubtful.add(None)
            self._delete(without)

    def _rows_beside(self, debt: _Debt, without: int) -> tuple[int | None, int | None]:
        """Of the record, the first row of another transaction from before the debt, and one of its own transaction."""
        if debt.record is None:
            return None, None
        older = other = None
        rows = "select number, entry, xact from row where record = ? and number <> ? order by entry limit 100"
        for number, entry, xact in self._conn.execute(rows, (debt.record, without)):
            if xact == debt.xact and (entry < debt.entry or without >= 0):
                other = other if other is not None else number
            elif xact != debt.xact and entry < debt.entry:
                older = older if older is not None else number
        return older, other

    def _is_emptied(self, debt: _Debt) -> bool:
        """True if a TRUNCATE came before, so that nothing was there but what the entries since then made."""
        [is_emptied] = self._conn.execute(_EMPTIED, (debt.entry, debt.partition, debt.entry)).fetchone()
        return bool(is_emptied)

    def _note_gap(self, debt: _Debt, row: int) -> None:
        self._delete(row)
        if not self._is_later:
            self._findings.gaps.add(debt.record)

    def _note_from_before(self, debt: _Debt) -> None:
        if debt.record is not None and not self._is_later and self._key.is_hidden(debt.record):
            self._findings.hidden.add(debt.record)
        if not self._is_later:
            self._findings.from_before.add(debt.record)
        elif debt.is_unseen:
            self._findings.from_before.add(debt.record)
            self._conn.execute("insert into result (entry, is_before) values (?, 1)", (debt.entry,))

    def _delete(self, row: int) -> None:
        self._conn.execute("delete from row where number = ?", (row,))


def _digest(image: str, record: str | None) -> bytes:
    text = image if record is None else f"{record}\0{image}"
    return blake2b(text.encode(), digest_size=16).digest()
