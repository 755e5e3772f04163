"""Warn if ``--table`` names an unknown table, and so selects nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from psycopg import Connection

from svc_pg import audit
from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.past.silences import Silence, silences
from svc_pg.audit.read.other_names import OtherNames, other_names
from svc_pg.database.query import fetch_one, scalar
from svc_pg.database.sqlstates import translating
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.formats import human_times
from svc_pg.other_databases.log.audited_tables import audited_tables as audited_tables_elsewhere

from . import output
from .database import is_postgresql
from .optional_read import optional_read, quick_read

_MOST_SILENCES: Final = 5
MOST_OF_LOG: Final = 1000
"""The most tables of the log that are looked for a name."""
_OF_LOG: Final = statement("queries/cli/tables_of_log.sql")
_HAS_ENTRIES: Final = "select exists (select from svc.audit_logs where table_name = %s)"
_EXISTS: Final = """
select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = %s and c.relname = %s and c.relkind in ('r', 'p'))
"""
_IS_KEYLESS: Final = """
select exists (select from svc.audit_logs
                where table_name = %s and record_id is null and operation not in ('TRUNCATE', 'DDL'))
       and not exists (select from svc.audit_logs where table_name = %s and record_id is not null)
"""
_AUDITED: Final = """
select pg_catalog.array_agg(distinct audited_table) from svc.installed_objects where audited_table is not null
"""


def warn_of_unknown(conn: Any, tables: Iterable[str] | None) -> None:
    """Warn of each table that is not audited and has no entries, with the nearest name of an audited one."""
    for table in tables or ():
        _warn_of_unknown(conn, table)


def warn_of_no_records(conn: Connection[Any], table: str) -> None:
    """As ``warn_of_unknown``, and warn of a table that has no key, so that the log has no records of it."""
    _warn_of_unknown(conn, table)
    name = str(TableName.parse(table))
    with translating(), conn.transaction():
        if scalar(conn, _IS_KEYLESS, (name, name)):
            output.words(f'warning: table "{name}" has no key, so the log has no records of it, only changes')


def warn_of_silences(conn: Connection[Any], table: str) -> None:
    """Warn of each time in which capture was not right, of the newest 5, or that it is not known."""
    nothing: list[Silence] | None = None
    found = quick_read(conn, lambda conn: silences(conn, table), nothing)
    if found is None:
        output.words("warning: it is not known if capture was right all the time")
        return
    for each in found[-_MOST_SILENCES:]:
        since = "its install" if each.since is None else human_times.second(each.since)
        until = "now" if each.until is None else human_times.second(each.until)
        output.words(
            f"warning: capture was not right for a time between {since} and {until}; changes of then may be missing"
        )


def tell_other_names(conn: Connection[Any], table: str) -> None:
    """Print the other names of a renamed table: each name has a past of its own, also if several tables had it."""
    name = str(TableName.parse(table))
    found = optional_read(conn, lambda conn: fetch_one(conn, other_names(name)), OtherNames([], []))
    if found.names:
        output.words(f'"{name}" was renamed: what the log has of it as {", ".join(found.names)} is not shown here')
    if found.tables:
        shown = ", ".join(found.tables)
        output.words(f'"{name}" was the name of what is {shown} now: its entries from then count here too')


def audited_tables(conn: Connection[Any]) -> Sequence[str] | None:
    """The audited tables of PostgreSQL; None if the role may not read the record of the installation.

    A reader of the log need not have access to it.
    """
    nothing: Sequence[str] | None = None
    return optional_read(conn, lambda conn: scalar(conn, _AUDITED) or [], nothing)


def tables_to_name(conn: Connection[Any]) -> Sequence[str]:
    """The tables that a reader of the log may mean: the audited ones, or those that have entries; none if slow."""
    found = audited_tables(conn)
    if found is not None:
        return found
    return quick_read(conn, lambda conn: scalar(conn, _OF_LOG, (MOST_OF_LOG,)) or [], [])


@dataclass(frozen=True, slots=True)
class _Found:
    """The existence of a table without entries, and the audited tables; None if the role may not read them."""

    exists: bool
    audited: Sequence[str] | None


def _warn_of_unknown(conn: Any, table: str) -> None:
    name = TableName.parse(table)
    found = _in_postgresql(conn, name) if is_postgresql(conn) else _elsewhere(conn, name)
    if found is None or (found.exists and found.audited is None) or str(name) in (found.audited or ()):
        return
    by_table = {TableName.parse(audited).table: audited for audited in found.audited or ()}
    near = get_close_matches(name.table, by_table, n=1)
    advice = f'; did you mean "{by_table[near[0]]}"?' if near else ""
    missing = "is not audited" if found.exists else "does not exist, is not audited"
    output.words(f'warning: table "{name}" {missing} and has no entries{advice}')


def _in_postgresql(conn: Connection[Any], name: TableName) -> _Found | None:
    """None if the table has entries."""
    with translating(), conn.transaction():
        if scalar(conn, _HAS_ENTRIES, (str(name),)):
            return None
        exists = bool(scalar(conn, _EXISTS, (name.schema, name.table)))
    return _Found(exists, audited_tables(conn))


def _elsewhere(conn: Any, name: TableName) -> _Found | None:
    """As ``_in_postgresql``, in SQLite and MySQL; None too if the table is audited."""
    if audit.query().resource(str(name)).only("id").limit(1).list(conn).data:
        return None
    log = log_of(conn)
    exists = log.run(log.knows(name))  # it has no entries
    found = log.run(audited_tables_elsewhere(conn, name))
    return None if found.name in (found.audited or ()) else _Found(exists, found.audited)
