"""The end of the settled part of the log, and the way on from an earlier end.

SQLite has one writer at a time, so ids are assigned in the order of commits and all visible entries are settled. On
MySQL an entry gets its time before its transaction commits, so readers stop at the start of the oldest running
transaction.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from svc_pg.database.dbapi import error_number
from svc_pg.database.dialects import dialect_of, driver_connection
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.mysql_errors import IN_TRANSACTION
from svc_pg.database.pagination import Filter
from svc_pg.errors import ConflictError, QueryError, TransactionError
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.log.log_dialects import SQLITE, LogDialect

_POSITION: Final = re.compile(r"(id|time)\.([0-9TZ:.-]{1,40})")

_HIGHEST_ID: Final = "select coalesce(max(seq), 0) from sqlite_sequence where name = 'svc_audit_logs'"
_NOW: Final = "select cast(utc_timestamp(6) as char), @@global.read_only, @@global.innodb_read_only"
_STATUS: Final = "show engine innodb status"
_TRANSACTION: Final = re.compile(r"^---TRANSACTION [^,\n]+, ACTIVE [^\n]*?([0-9]+) sec", re.MULTILINE)
_RECOVERED: Final = re.compile(r"^---TRANSACTION [^\n]*\(PREPARED\)[^\n]* recovered trx$", re.MULTILINE)
"""An XA transaction without a session: after a restart of the server, its age counts from there."""
_CUT: Final = "... truncated..."
_MARGIN: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Horizon:
    """The end of the settled entries: the highest id, or the time before which no more can appear."""

    end: int | datetime
    after: int | datetime | None
    now: int | datetime

    @property
    def position(self) -> str:
        """The position from which a later reading continues."""
        if isinstance(self.end, int):
            return f"id.{self.end}"
        return f"time.{self.end:%Y-%m-%dT%H:%M:%S.%f}Z"

    def settled(self, dialect: LogDialect, found: Filter) -> Filter:
        """The conditions, and that the entry is settled."""
        if isinstance(self.end, int):
            return found.where("id <= %s", self.end)
        return found.where("timestamp < %s", dialect.time(self.end))

    def held_back(self, dialect: LogDialect, found: Filter) -> Filter:
        """The conditions, and that the entry is not settled."""
        if isinstance(self.end, int):
            return found.where("id > %s", self.end)
        return found.where("timestamp >= %s", dialect.time(self.end))

    def since(self, dialect: LogDialect, found: Filter) -> Filter:
        """The conditions, and that the entry comes after the end of the earlier reading."""
        if self.after is None:
            return found
        if isinstance(self.after, int):
            return found.where("id > %s", self.after)
        return found.where("timestamp >= %s", dialect.time(self.after))


def horizon(dialect: LogDialect, after: str | None = None) -> Effects[Horizon]:
    """The horizon now; ``after`` is the position of an earlier one.

    On MySQL the connection must be outside a transaction: inside, it would not see later commits of others. Raises
    QueryError if ``after`` is no cursor of this log, and on MySQL AccessError without the right PROCESS, and
    ConflictError if the server does not report the start of its transactions, or ``after`` is given to a replica.
    """
    earlier = None if after is None else end_at(dialect, after)
    if dialect is SQLITE:
        [[end]] = yield Statement(_HIGHEST_ID)
        found = Horizon(end, earlier, end)
    else:
        # before the transactions are listed: later ones write later entries
        [[now, *settings]] = yield Statement(_NOW)
        is_read_only = not {str(setting) for setting in settings} <= {"0", "OFF"}  # a word on newer MariaDB
        if is_read_only and earlier is not None:
            raise ConflictError(
                "the server is read-only, and a replica gets entries later than their times say",
                hint="Continue at the server that is written to.",
            )
        [[*_, status]] = yield Statement(_STATUS)
        found = Horizon(_oldest_start(status, time_of(now)), earlier, time_of(now))
    if earlier is not None and earlier > found.now:  # type: ignore[operator] # both are of one type
        raise QueryError(
            f"{after!r} is ahead of the log: the database was recovered to an earlier time, or it is another one",
            hint="Read by time instead: --since, or since() in Python. Entries may come twice.",
        )
    # ages are rounded, so an end may seem to lie before one that was known already
    return found if earlier is None else replace(found, end=max(found.end, earlier))


def _oldest_start(status: str, now: datetime) -> datetime:
    """The start of the oldest running transaction, or now, less a second.

    Read from InnoDB's own report: ``information_schema.innodb_trx`` is a copy that is not refreshed while it is read
    more often than ten times a second, and has starts in local time. The report has ages, in whole seconds.
    """
    if _CUT in status:
        raise ConflictError("the server runs so many transactions that its report does not tell of all")
    if _RECOVERED.search(status):
        raise ConflictError(
            "a prepared transaction (XA) has outlived its session, and nobody knows from when on its entries would be",
            hint="Commit it or roll it back: xa recover, then xa commit or xa rollback.",
        )
    ages = [timedelta(seconds=int(age) + 1) for age in _TRANSACTION.findall(status)]
    return now - max(ages, default=timedelta()) - _MARGIN


def end_at(dialect: LogDialect, position: str) -> int | datetime:
    """The end of a horizon by its position. Raises QueryError."""
    try:
        match = _POSITION.fullmatch(position)
        if match and (match[1] == "id") == (dialect is SQLITE):
            return int(match[2]) if dialect is SQLITE else time_of(match[2])
    except ValueError:
        pass
    raise QueryError(
        f"{position!r} does not say how far this log was read", hint="Pass what the last export reported, unchanged."
    )


def outside_transaction(conn: object) -> Effects[None]:
    """Refuse a connection inside a transaction, in which it may see an old state or uncommitted entries.

    Raises TransactionError. A connection of sqlite3 with ``autocommit=False`` always is inside one, and is not refused.
    """
    driver: Any = driver_connection(conn)
    if dialect_of(conn) == "sqlite":
        is_inside = driver.in_transaction and getattr(driver, "autocommit", None) is not False
    else:
        is_inside = False
        try:
            yield Statement("set transaction read write")  # as the next one is anyway
        except Exception as error:
            if error_number(error) != IN_TRANSACTION:
                raise
            is_inside = True
    if is_inside:
        raise TransactionError(
            "the connection is inside a transaction", hint="Commit or roll back first, or use a connection of its own."
        )
