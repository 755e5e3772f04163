"""The entries of one table in a temporary file of SQLite, so that memory does not grow with the export."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from svc_pg.audit.rebuild.file_entry import FileEntry
from svc_pg.errors import SvcError

_CACHE_KIB: Final = 64 * 1024
_GROUP: Final = 500
_GROUP_BYTES: Final = 4 * 1024 * 1024
_TABLES: Final = (
    "create table entry (id integer primary key, at integer, operation text, record text, moved_from text,"
    " before text, after text, redacted text, xact text, partition text)",
    "create table row (number integer primary key, digest blob, record text, partition text, entry integer, xact text)",
    "create index row_digest on row (digest, partition)",
    "create index row_record on row (record, entry) where record is not null",
    "create index row_written on row (digest, xact) where record is null",
    "create index row_partition on row (partition) where partition is not null",
    "create table debt (number integer primary key, digest blob, record text, partition text, entry integer,"
    " xact text, is_unseen integer)",
    "create index debt_record on debt (record)",
    "create index debt_partition on debt (partition) where partition is not null",
    "create table result (number integer primary key, entry integer, is_before integer)",
)
_INSERT: Final = "insert or ignore into entry values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_Values = tuple[object, ...]


@contextmanager
def temporary_database() -> Iterator[sqlite3.Connection]:
    """A database in a file without a name, which is gone at the end. Raises SvcError if its disk is full."""
    conn = sqlite3.connect("", isolation_level=None)
    try:
        for setting in ("journal_mode = off", "synchronous = off", f"cache_size = -{_CACHE_KIB}", "temp_store = file"):
            conn.execute(f"pragma {setting}")
        for statement in _TABLES:
            conn.execute(statement)
        yield conn
    except sqlite3.Error as error:
        raise SvcError(
            f"the temporary file of the entries cannot be written: {error}",
            hint="It needs about as much space as the export; SQLITE_TMPDIR names another folder for it.",
        ) from error
    finally:
        conn.close()


class EntryStore:
    """Entries by their id. An entry that comes twice is kept once, if both are the same."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._group: list[_Values] = []
        self._bytes = 0
        self.repeated = 0

    def add(self, entry: FileEntry) -> None:
        """One more entry. Raises SvcError if there is another with its id."""
        values = _values(entry)
        self._group.append(values)
        self._bytes += sum(len(value) for value in values if isinstance(value, str))
        if len(self._group) >= _GROUP or self._bytes >= _GROUP_BYTES:
            self._write()

    def end(self) -> None:
        """Write the rest, and the indexes by which entries are found."""
        self._write()
        self._conn.execute("create index entry_record on entry (record, id) where record is not null")
        self._conn.execute("create index entry_truncate on entry (partition, id) where operation = 'TRUNCATE'")

    def _write(self) -> None:
        before = self._conn.total_changes
        self._conn.execute("begin")
        self._conn.executemany(_INSERT, self._group)
        self._conn.execute("commit")
        missing = len(self._group) - (self._conn.total_changes - before)
        if missing:
            self._compare(self._group)
            self.repeated += missing
        self._group.clear()
        self._bytes = 0

    def _compare(self, group: Iterable[_Values]) -> None:
        for values in group:
            [found] = self._conn.execute("select * from entry where id = ?", (values[0],))
            if found != values:
                raise SvcError(
                    f"two different entries have the id {values[0]}",
                    hint="The file has the logs of two databases, or was changed. Rebuild from one export.",
                )


def _values(entry: FileEntry) -> _Values:
    return (
        entry.id,
        entry.at,
        entry.operation,
        entry.record,
        entry.moved_from,
        entry.before,
        entry.after,
        entry.redacted,
        f"at {entry.at}" if entry.xact is None else entry.xact,  # other databases than PostgreSQL do not tell
        entry.partition,
    )
