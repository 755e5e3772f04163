"""Rebuild a table's rows from an export of the audit log, without a database."""

import sqlite3
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import BinaryIO, Final

from svc_pg.audit.rebuild.entry_store import EntryStore, temporary_database
from svc_pg.audit.rebuild.export_lines import read_lines
from svc_pg.audit.rebuild.file_entry import FileEntry, file_entry, microseconds, time_of
from svc_pg.audit.rebuild.findings import MOST_NAMES, Findings
from svc_pg.audit.rebuild.places import order_at
from svc_pg.audit.rebuild.record_key import RecordKey
from svc_pg.audit.rebuild.replaying import Replay
from svc_pg.audit.rebuild.result_rows import result_rows
from svc_pg.audit.rebuild.rows_as_sql import (
    ROW_FORMATS,
    RowFormat,
    checked_target,
    write_begin,
    write_end,
    write_rows,
)
from svc_pg.database.table_names import TableName
from svc_pg.errors import NotFoundError, QueryError
from svc_pg.formats.plurals import counted

_OWN: Final = "svc."
_PURGES: Final = "svc.audit_logs"
_MOST_TABLES: Final = 10_000
_SEVERAL: Final = """
select record from entry e join result r on r.entry = e.id
 where not r.is_before and record is not null group by record having count(*) > 1"""


class _Reading:
    """The entries of the table in a file, and the tables that it has."""

    def __init__(self, conn: sqlite3.Connection, table: str | None, findings: Findings) -> None:
        self.store = EntryStore(conn)
        self.key = RecordKey()
        self.tables: dict[str, None] = {}
        self.table = table
        self.last: int | None = None
        """The time of the file's last entry, also of another table."""
        self._is_found = False
        self._is_named = table is not None
        self._findings = findings

    def take(self, entry: FileEntry) -> None:
        """One more entry. Raises SvcError if it is of another table, and none was named."""
        if len(self.tables) < _MOST_TABLES:
            self.tables[entry.table] = None
        self.last = entry.at if self.last is None else max(self.last, entry.at)
        self._findings.has_purges |= entry.table == _PURGES
        if not self._is_named and self.table is None and not entry.table.startswith(_OWN):
            self.table = entry.table
        if entry.table != self.table:
            return
        self._is_found = True
        self._findings.of_ddl += entry.operation == "DDL"
        self.store.add(entry)
        if entry.record is not None and entry.image is not None:
            self.key.learn(entry.record, entry.image)

    def end(self) -> str:
        """The name of the table. Raises SvcError if the file has other tables alone, or several and none was named."""
        names = [name for name in self.tables if not name.startswith(_OWN)] or list(self.tables)
        if not self._is_found:
            problem = "the export has no entry" if self.table is None else f"the export has no entry of {self.table!r}"
            raise NotFoundError(problem, hint=f"It has {_listed(names)}." if names else None)
        if not self._is_named and len(names) > 1:
            raise QueryError(
                "the export has several tables", hint=f"Name one of them: --table TABLE. It has {_listed(names)}."
            )
        self.store.end()
        return self.table or ""


def rebuild(
    source: BinaryIO,
    out: BinaryIO,
    *,
    table: str | None = None,
    at: datetime | None = None,
    format: RowFormat = "inserts",  # noqa: A002 - the word that users know
    into: str | None = None,
    without: Collection[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Findings:
    """Write the rows of a table as SQL that loads them into an empty one, from an export in NDJSON or JSON.

    ``source`` is a buffered file of ``svc_pg.audit.export``, also compressed by gzip, and ``table`` may be left out if
    it has one table. ``at``, an aware time, gives the rows as of then, as ``svc_pg.audit.as_of`` does. ``format`` is
    ``inserts``, or ``copy`` with the rows in a COPY. ``into`` is the name of the table to load, by default the same,
    and ``without`` are columns to leave out, for example generated ones. ``progress`` is called with the entries read.

    Rows need no memory but that of the longest line: entries go to a temporary file of about the size of the export.
    The findings say what the export does not tell; the file has the same words as comments at its end.

    Raises SvcError if the file is no such export, is cut, or has two entries of one id; NotFoundError if it has no
    entry of the table; QueryError if it has several tables and none is named, or knows the table only since later than
    ``at``; and ConfigError for an unusable name of a table.
    """
    if format not in ROW_FORMATS:
        raise QueryError(f"{format!r} is not a format", hint=f"Write one of {', '.join(ROW_FORMATS)}.")
    at = None if at is None else _in_utc(at)
    wanted = None if table is None else str(TableName.parse(table))
    findings = Findings()
    with ExitStack() as stack:
        conn = stack.enter_context(temporary_database())
        reading = _Reading(conn, wanted, findings)
        _read(source, reading, progress)
        name = reading.end()
        target = checked_target(TableName.parse(name if into is None else into))
        findings.repeated = reading.store.repeated
        if at is not None and reading.last is not None and reading.last < microseconds(at):
            findings.ends = time_of(reading.last)
        _replay(conn, reading.key, findings, None if at is None else microseconds(at), name)
        write_begin(out, _head(conn, name, at, findings))
        rows = result_rows(conn, findings, without=frozenset(without))
        write_rows(out, rows, target, format)
        write_end(out, _tail(findings))
    return findings


def _in_utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise QueryError("the time has no time zone", hint="Pass an aware time.")
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise QueryError("the time has no year in UTC", hint="Years are 1 to 9999.") from error


def _read(source: BinaryIO, reading: _Reading, progress: Callable[[int], None]) -> None:
    for count, line in enumerate(read_lines(source), 1):
        reading.take(file_entry(line))
        if count % 1000 == 0:
            progress(count)


def _replay(conn: sqlite3.Connection, key: RecordKey, findings: Findings, at: int | None, name: str) -> None:
    [findings.entries, first] = conn.execute(
        "select count(*), min(at) filter (where operation <> 'DDL') from entry"
    ).fetchone()
    if at is not None and (first is None or first > at):
        raise QueryError(
            f"{name!r} is not known before {'its first change' if first is None else time_of(first)}",
            hint="Its first entry in the export is from then.",
        )
    if at is not None:
        findings.cut = order_at(conn, at)
    replay = Replay(conn, key, findings)
    replay.take_until(at)
    if at is not None:
        replay.take_later(at)
    for [record] in conn.execute(_SEVERAL):
        findings.several.add(record)


def _head(conn: sqlite3.Connection, name: str, at: datetime | None, findings: Findings) -> Iterable[str]:
    numbers = conn.execute("select min(id), max(id), min(at), max(at) from entry").fetchone()
    yield f"The rows of {name}, made by svc-pg rebuild from an export of the audit log."
    yield (
        f"It has {counted(findings.entries, 'entry')} of this table, {numbers[0]} to {numbers[1]}, from"
        f" {time_of(numbers[2])} to {time_of(numbers[3])}."
    )
    if at is not None:
        yield f"The rows are as of {time_of(microseconds(at))}."
    yield "An export does not tell if it was filtered, or cut between two lines: then rows are missing or old. Nor does"
    yield "it tell of columns beside an allow list (columns), of updates of ignored columns alone (ignore), or of what"
    yield "record_when left out: then values are missing or old."
    yield "Rows from before the first entry that nothing changed are missing, unless install --backfill recorded them."
    yield "What rows lack beside that stands at the end. Load it into an empty table: psql -v ON_ERROR_STOP=1 -f FILE"


def _tail(findings: Findings) -> Iterable[str]:
    yield f"{counted(findings.rows, 'row')}."
    yield from findings.sentences() or ["The entries contradict nothing, and each row has all that its last entry has."]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(repr(name[:200]) for name in names[:MOST_NAMES]) + more
