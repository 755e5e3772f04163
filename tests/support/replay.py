"""Rebuild a table, and the states of its records, from the audit log: the laws that capture must keep."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]

_ENTRIES = """
select operation::text, partition, before_data::text, after_data::text from svc.audit_logs
 where table_name = %s and id > %s order by id
"""
_INSERT = sql.SQL("insert into {0} select * from jsonb_populate_record(null::{0}, %s::jsonb)")
# Compared as text, which every type has; by its position, so that of rows that are equal only one goes
_DELETE = sql.SQL("""
delete from {0} where ctid = (
    select t.ctid from {0} t where t::text = jsonb_populate_record(null::{0}, %s::jsonb)::text limit 1)
""")
_TRUNCATE = sql.SQL("truncate {}")

_HISTORY = """
select e.before_data, e.after_data, h.is_chained
  from svc.audit_history(%s, %s, (select "timestamp" from svc.audit_logs where id = %s)) h
  join svc.audit_events(%s, %s) e on e.id = h.entry_id and e."timestamp" = h.entry_timestamp
 where e.id > %s
 order by h.place_timestamp, h.place_id
"""


def replay(conn: Connection, table_name: str, *, into: sql.Identifier, after: int = 0) -> None:
    """Apply the entries of a table to the table ``into``, which has the rows from before them.

    The law needs no order: it removes the images before as often as they occur, and adds the images after. Entries
    before a TRUNCATE of their partition or of the whole table do not count. Every image to remove must be found.
    """
    parts: dict[str | None, Counter[str]] = {}
    for operation, partition, before, image in conn.execute(_ENTRIES, (table_name, after)).fetchall():
        if operation == "TRUNCATE" and partition is None:
            conn.execute(_TRUNCATE.format(into))
            parts.clear()
        elif operation == "TRUNCATE":
            assert after == 0, "nothing tells which of the rows from before were in the partition"
            parts.pop(partition, None)
        images = parts.setdefault(partition, Counter())
        images.update([image] if image is not None else [])
        images.subtract([before] if before is not None else [])
    total: Counter[str] = Counter()
    for images in parts.values():
        total.update(images)
    for image, count in total.items():
        for _ in range(-count):
            assert conn.execute(_DELETE.format(into), (image,)).rowcount == 1, image
        for _ in range(count):
            conn.execute(_INSERT.format(into), (image,))


def history(conn: Connection, table_name: str, record: str, *, after: int) -> list[tuple[Any, Any, bool]]:
    """The images before and after each change of a record since an entry, in order; true if they are chained."""
    return conn.execute(_HISTORY, (table_name, record, after, table_name, record, after)).fetchall()


def states(changes: Sequence[tuple[Any, Any, bool]]) -> Iterator[Any]:
    """The states of a record, None if there is none, after each of its changes, which must follow each other."""
    state = None
    for before, image, is_chained in changes:
        assert is_chained, changes
        assert before == state, changes
        state = image
        yield state


def contents(conn: Connection, table: sql.Identifier) -> list[str]:
    """The rows of a table as texts, in order."""
    query = sql.SQL("select t::text from {} t order by 1").format(table)
    return [row for (row,) in conn.execute(query)]
