"""The last changes of a record as plain values, for a page of the application that shows its history."""

from typing import Any, Final

from svc_pg.audit.log.audit_log import AuditLog, log_of
from svc_pg.audit.log.change import Change
from svc_pg.audit.log.record_ids import record_id
from svc_pg.database.connections import async_connection, dbapi_connection
from svc_pg.database.effects import Effects
from svc_pg.database.table_names import TableName
from svc_pg.errors import QueryError

MAX_CHANGES: Final = 100
DEFAULT_CHANGES: Final = 5


def last_changes(conn: Any, table: str, record: object, *, limit: int = DEFAULT_CHANGES) -> list[Change]:
    """The last changes of one record, newest first: at most ``limit``, which may be 1 to 100.

    ``record`` is its key: the value of the column, or a list or tuple of several columns' values.

    ``conn`` is a connection or cursor of a driver of PostgreSQL, SQLite or MySQL, one or a session of SQLAlchemy, or
    Django's. It needs the right to read the log; the caller checks that the reader may see this record. Never commits.

    Raises QueryError for a wrong argument, and for a table that neither exists nor has entries; ConfigError for a name
    that is no table's, NotInstalledError and AccessError.
    """
    _check(limit)
    log = log_of(dbapi_connection(conn, twin="await audit.alast_changes(conn, ...)"))
    return log.run(_last_changes(log, table, record, limit))


async def alast_changes(conn: Any, table: str, record: object, *, limit: int = DEFAULT_CHANGES) -> list[Change]:
    """As ``last_changes``, on an async connection: psycopg's, aiosqlite's, asyncmy's, aiomysql's or SQLAlchemy's."""
    _check(limit)
    log = log_of(await async_connection(conn, twin="audit.last_changes(conn, ...)"))
    return await log.arun(_last_changes(log, table, record, limit))


def change_of(conn: Any, entry_id: int) -> Change | None:
    """One entry as a change, if there is one with this id. ``conn`` is Django's, or one as ``last_changes`` takes.

    It does not record that somebody reads the entry: Django's admin does, with the rest of the page.
    """
    log = log_of(conn)
    return log.run(log.change(entry_id))


def _check(limit: int) -> None:
    if not 1 <= limit <= MAX_CHANGES:
        raise QueryError(f"nobody can be shown {limit} changes", hint=f"Ask for 1 to {MAX_CHANGES}.")


def _last_changes(log: AuditLog, table: str, record: object, limit: int) -> Effects[list[Change]]:
    """Read the changes. Raises QueryError for an unknown table, which would look like a record without changes."""
    name = TableName.parse(table)
    found = yield from log.last_changes(name, record_id(record), limit)
    if not found and not (yield from log.knows(name)):
        raise QueryError(
            f'table "{name}" does not exist and has no entries',
            hint="Write it as the audit log has it: schema.table, or a table in public.",
        )
    return found
