"""Rebuild a table from the audit log: the law that capture must keep."""

from typing import Any

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]

_ENTRIES = """
select operation::text, before_data::text, after_data::text from svc.audit_logs
 where table_name = %s and id > %s order by id
"""
_INSERT = sql.SQL("insert into {0} select * from jsonb_populate_record(null::{0}, %s::jsonb)")
# Compared as text, which every type has; by its position, so that of rows that are equal only one goes
_DELETE = sql.SQL("""
delete from {0} where ctid = (
    select t.ctid from {0} t where t::text = jsonb_populate_record(null::{0}, %s::jsonb)::text limit 1)
""")
_TRUNCATE = sql.SQL("truncate {}")


def replay(conn: Connection, table_name: str, *, into: sql.Identifier, after: int = 0) -> None:
    """Apply the entries of a table to the table ``into``, in their order; every image before must be found there."""
    for operation, before, image in conn.execute(_ENTRIES, (table_name, after)).fetchall():
        if operation == "TRUNCATE":
            conn.execute(_TRUNCATE.format(into))
        if before is not None:
            assert conn.execute(_DELETE.format(into), (before,)).rowcount == 1, before
        if image is not None:
            conn.execute(_INSERT.format(into), (image,))


def contents(conn: Connection, table: sql.Identifier) -> list[str]:
    """The rows of a table as texts, in order."""
    query = sql.SQL("select t::text from {} t order by 1").format(table)
    return [row for (row,) in conn.execute(query)]
