"""What the catalog says about a table to audit: its columns, its key, and whether it can be audited at all."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from psycopg import Connection

from svc_pg.errors import UnknownTableError
from svc_pg.names import TableName
from svc_pg.query import Query, fetch

_KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "i": "an index", "S": "a sequence"}
_TABLES = "rp"  # pg_class.relkind of an ordinary and of a partitioned table


@dataclass(frozen=True, slots=True)
class Table:
    """A table as its trigger sees it. ``key`` is the primary key's columns in order, empty where there is none.

    ``virtual`` columns are computed when read, and triggers see NULL in their place.
    """

    name: TableName
    columns: list[str]
    key: list[str]
    virtual: list[str]


@dataclass(frozen=True, slots=True)
class _Relation:
    schema: str
    table: str
    kind: str
    columns: list[str]
    virtual: list[str]
    key: list[str]


_RELATION = """
select n.nspname as schema, c.relname as "table", c.relkind::text as kind,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = 'v'
              order by a.attnum) as virtual,
       array(select a.attname::text
               from pg_index i
              cross join lateral unnest(i.indkey::smallint[]) with ordinality k(attnum, place)
               join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
              where i.indrelid = c.oid and i.indisprimary and k.place <= i.indnkeyatts order by k.place) as key
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
"""


def read_table(conn: Connection[Any], name: TableName) -> Table:
    """Read the facts of one table. Raises UnknownTableError, with near matches, where it cannot be audited."""
    if name.schema == "svc":
        raise UnknownTableError(f'table "{name}" belongs to svc-pg and is not audited')
    found = fetch(conn, Query(_RELATION + "where n.nspname = %s and c.relname = %s", tuple(name), _Relation))
    if not found:
        raise UnknownTableError(f'table "{name}" does not exist', hint=_near(conn, name))
    relation = found[0]
    if relation.kind not in _TABLES:
        raise UnknownTableError(
            f'"{name}" is {_KINDS.get(relation.kind, "not a table")}, and only tables can be audited',
            hint="Name the tables below it.",
        )
    columns = [column for column in relation.columns if column not in relation.virtual]
    return Table(name=name, columns=columns, key=relation.key, virtual=relation.virtual)


def _near(conn: Connection[Any], name: TableName) -> str | None:
    tables = fetch(
        conn,
        Query(
            """select n.nspname as schema, c.relname as "table"
                 from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where c.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$|svc$)'""",
            (),
            TableName,
        ),
    )
    spelled = {str(table).casefold(): str(table) for table in tables}
    near = [spelled[match] for match in get_close_matches(str(name).casefold(), spelled, n=3, cutoff=0.8)]
    near += [str(table) for table in tables if table.table == name.table and str(table) not in near]
    return f"Did you mean {' or '.join(near)}?" if near else None
