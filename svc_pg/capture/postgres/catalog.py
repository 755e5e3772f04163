"""What the catalog says about a table: its columns, its keys and its partitions."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, LiteralString

from psycopg import Connection

from svc_pg.errors import ConfigError, UnknownTableError
from svc_pg.query import Query, RawJson, fetch
from svc_pg.table_names import TableName

_KINDS: Final = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "i": "an index", "S": "a sequence"}
_TABLES: Final = "rp"  # pg_class.relkind of an ordinary and of a partitioned table


@dataclass(frozen=True, slots=True)
class Table:
    """A table as its trigger sees it. ``key`` is the primary key's columns in order, empty where there is none.

    ``json_columns`` are those of type json and jsonb. ``virtual`` columns are computed when read, and triggers see NULL
    in their place. ``unique`` holds the columns of every unique index that lets no NULL in. ``partitions`` are all
    below it, ``parent`` is what it is a partition of.
    """

    name: TableName
    columns: list[str]
    json_columns: list[str]
    key: list[str]
    virtual: list[str]
    unique: list[list[str]]
    is_partitioned: bool
    partitions: list[TableName]
    parent: TableName | None


@dataclass(frozen=True, slots=True)
class _Relation:
    schema: str
    table: str
    kind: str
    columns: list[str]
    json_columns: list[str]
    virtual: list[str]
    key: list[str]
    unique: RawJson
    partitions: list[list[str]]
    parent: list[str] | None


_RELATION: Final = """
select n.nspname as schema, c.relname as "table", c.relkind::text as kind,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       array(select a.attname::text from pg_attribute a join pg_type t on t.oid = a.atttypid
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                -- a domain has the category of its type, which for json and jsonb is U
                and (t.typname in ('json', 'jsonb') or t.typtype = 'd' and t.typcategory = 'U')) as json_columns,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = 'v'
              order by a.attnum) as virtual,
       array(select a.attname::text
               from pg_index i
              cross join lateral unnest(i.indkey::smallint[]) with ordinality k(attnum, place)
               join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
              where i.indrelid = c.oid and i.indisprimary and k.place <= i.indnkeyatts order by k.place) as key,
       (select coalesce(json_agg(columns), '[]')
          from (select array_agg(a.attname::text) as columns
                  from pg_index i
                 cross join lateral unnest(i.indkey::smallint[]) with ordinality k(attnum, place)
                  join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                 where i.indrelid = c.oid and i.indisunique and i.indpred is null and i.indexprs is null
                   and k.place <= i.indnkeyatts
                 group by i.indexrelid having bool_and(a.attnotnull)) u) as "unique",
       array(select array[pn.nspname::text, p.relname::text]
               from pg_partition_tree(c.oid) t join pg_class p on p.oid = t.relid
               join pg_namespace pn on pn.oid = p.relnamespace
              where t.level > 0 order by pn.nspname, p.relname) as partitions,
       (select array[pn.nspname::text, p.relname::text]
          from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
         where c.relispartition and i.inhrelid = c.oid) as parent
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
"""
_NAMES: Final[LiteralString] = """
select n.nspname as schema, c.relname as "table"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$|svc$)'
"""


def read_table(conn: Connection[Any], name: TableName) -> Table:
    """Read the facts of one table. Raises UnknownTableError, with near matches, where it is not one of the user's."""
    if name.schema == "svc":
        raise UnknownTableError(f'table "{name}" belongs to svc-pg')
    found = fetch(conn, Query(_RELATION + "where n.nspname = %s and c.relname = %s", tuple(name), _Relation))
    if not found:
        raise UnknownTableError(f'table "{name}" does not exist', hint=_near(conn, name))
    relation = found[0]
    if relation.kind not in _TABLES:
        raise UnknownTableError(
            f'"{name}" is {_KINDS.get(relation.kind, "of another kind")}, not a table',
            hint="Name the tables below it.",
        )
    return Table(
        name=name,
        columns=[column for column in relation.columns if column not in relation.virtual],
        json_columns=relation.json_columns,
        key=relation.key,
        virtual=relation.virtual,
        unique=relation.unique.value,
        is_partitioned=relation.kind == "p",
        partitions=[TableName(*partition) for partition in relation.partitions],
        parent=None if relation.parent is None else TableName(*relation.parent),
    )


def table_names(conn: Connection[Any]) -> list[TableName]:
    """The user's tables, in order; partitions are left to their parents."""
    return fetch(conn, Query(_NAMES + " and not c.relispartition order by 1, 2", (), TableName))


def check_column(table: Table, option: str, column: str) -> None:
    """Raise ConfigError, with the nearest name, where ``option`` names a column that triggers cannot see."""
    if column in table.columns:
        return
    if column in table.virtual:
        raise ConfigError(
            f'table "{table.name}": {option} names "{column}", a virtual generated column, which triggers cannot see'
        )
    near = get_close_matches(column, table.columns, n=1)
    raise ConfigError(
        f'table "{table.name}": {option} names "{column}", and there is no such column',
        hint=f'Did you mean "{near[0]}"?' if near else f"Columns: {', '.join(table.columns)}.",
    )


def _near(conn: Connection[Any], name: TableName) -> str | None:
    tables = fetch(conn, Query(_NAMES, (), TableName))
    spelled = {str(table).casefold(): str(table) for table in tables}
    near = [spelled[match] for match in get_close_matches(str(name).casefold(), spelled, n=3, cutoff=0.8)]
    near += [str(table) for table in tables if table.table == name.table and str(table) not in near]
    return f"Did you mean {' or '.join(near)}?" if near else None
