"""Warn if ``--table`` can select nothing, because no table of that name is known."""

from difflib import get_close_matches
from typing import Any, Final

from psycopg import Connection
from psycopg.errors import InsufficientPrivilege

from svc_pg.errors import translating
from svc_pg.query import scalar
from svc_pg.table_names import TableName

from . import output

_IS_KNOWN: Final = """
select exists (select from svc.audit_logs where table_name = %s)
       or exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                   where n.nspname = %s and c.relname = %s and c.relkind in ('r', 'p'))
"""
_AUDITED: Final = "select array_agg(distinct audited_table) from svc.installed_objects where audited_table is not null"


def warn_of_unknown(conn: Connection[Any], table: str | None) -> None:
    """Warn of a table that neither exists nor has entries, with the audited one of the nearest name."""
    if table is None:
        return
    name = TableName.parse(table)
    with translating(), conn.transaction():
        if scalar(conn, _IS_KNOWN, (str(name), name.schema, name.table)):
            return
    try:
        with conn.transaction():
            audited: list[str] = scalar(conn, _AUDITED) or []
    except InsufficientPrivilege:  # a reader of the log need not have access to the record of the installation
        audited = []
    if str(name) in audited:
        return
    by_table = {TableName.parse(name).table: name for name in audited}
    near = get_close_matches(name.table, by_table, n=1)
    advice = f'; did you mean "{by_table[near[0]]}"?' if near else ""
    output.words(f'warning: table "{name}" does not exist, is not audited and has no entries{advice}')
