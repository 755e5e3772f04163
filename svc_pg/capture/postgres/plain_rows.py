"""The snapshot of a row that calls no code of anybody but PostgreSQL, as whoever takes one of a whole table needs it.

``to_jsonb`` calls a cast that the owner of a type made, with the rights of whoever calls it. So values of users' types
are taken as the text that their output function gives, as ``to_jsonb`` does too unless there is a cast. A composite
that holds such a value becomes a text as a whole.
"""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection
from psycopg.sql import SQL, Composable, Identifier

from svc_pg.query import Query, fetch
from svc_pg.table_names import TableName


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    is_plain: bool
    is_array: bool


# Types of a superuser, as those of most extensions are, are trusted. To belong to an extension is not enough: whoever
# made a trusted one can add types to it. A virtual column is left out, as by the triggers.
_COLUMNS: Final = """
with recursive part (attnum, name, type, is_whole) as (  -- the type of each column, and all types inside it
    select a.attnum, a.attname, a.atttypid, true
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = %s and c.relname = %s and a.attnum > 0 and not a.attisdropped and a.attgenerated <> 'v'
    union
    select p.attnum, p.name, inside.type, p.is_whole and t.typtype = 'd'
      from part p join pg_type t on t.oid = p.type
     cross join lateral (
        select t.typbasetype where t.typtype = 'd'
        union all
        select t.typelem where t.typcategory = 'A' and t.typelem <> 0
        union all
        select a.atttypid from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
     ) inside (type)
)
select p.name::text,
       bool_and(t.oid < 16384 or t.typtype in ('c', 'd', 'p') or t.typcategory = 'A' or exists (
           select from pg_depend d join pg_roles o on o.oid = t.typowner and o.rolsuper
            where d.classid = 'pg_type'::regclass and d.objid = t.oid and d.deptype = 'e'
       )) as is_plain,
       bool_or(p.is_whole and t.typcategory = 'A') as is_array
  from part p join pg_type t on t.oid = p.type
 group by p.attnum, p.name order by p.attnum
"""
# format and num_nulls take any type as it is; a cast to text, or IS NULL of a composite, would not
_AS_TEXT: Final = SQL("""case when num_nulls("svc row".{0}) = 0 then format('%s', "svc row".{0}) end as {0}""")
_AS_TEXTS: Final = SQL("""case when num_nulls("svc row".{0}) = 0 then format('%s', "svc row".{0})::text[] end as {0}""")


def plain_image(conn: Connection[Any], table: TableName) -> Composable:
    """The snapshot of ``"svc row"``, a row of this table, which the caller has locked."""
    columns = fetch(conn, Query(_COLUMNS, tuple(table), _Column))
    if all(column.is_plain for column in columns):
        return SQL('svc.audit_image("svc row", "svc row".tableoid)')
    values = SQL(", ").join(_value(column).format(Identifier(column.name)) for column in columns)
    return SQL("(select to_jsonb(plain) from (select {}) plain)").format(values)


def _value(column: _Column) -> SQL:
    if column.is_plain:
        return SQL('"svc row".{0}')
    return _AS_TEXTS if column.is_array else _AS_TEXT
