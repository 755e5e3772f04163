"""Read the facts of tables from the catalog of PostgreSQL."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, LiteralString

from psycopg import Connection

from svc_pg.capture.table import Table, did_you_mean, refuse_unknown
from svc_pg.errors import UnknownTableError
from svc_pg.query import Query, RawJson, fetch
from svc_pg.schema_objects import function_name
from svc_pg.table_names import TableName

_KINDS: Final = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "i": "an index", "S": "a sequence"}
_TABLES: Final = "rp"  # pg_class.relkind of an ordinary and of a partitioned table


@dataclass(frozen=True, slots=True)
class _Relation:
    schema: str
    table: str
    kind: str
    columns: list[str]
    types: RawJson
    domains: list[str]
    json_columns: list[str]
    holds_json: bool
    has_simple_types: bool
    generated: RawJson
    virtual: list[str]
    key: list[str]
    unique: RawJson
    partitions: list[list[str]]
    parent: list[str] | None
    inherits: bool


_RELATIONS: Final = """
with recursive relation as (
    select n.nspname as schema, c.relname as "table", c.oid, c.relkind, c.relispartition
      from unnest(%s::text[], %s::text[]) wanted(schema, "table")
      join pg_namespace n on n.nspname = wanted.schema
      join pg_class c on c.relnamespace = n.oid and c.relname = wanted."table"
),
attribute as (
    select a.attrelid as relation, a.attnum as number, a.attname::text as name, a.attgenerated as generated,
           t.oid as type, t.typname, t.typtype, t.typcategory,
           case t.typcategory when 'A' then t.typelem else t.oid end as element,
           case t.typtype when 'd' then t.typbasetype else t.oid end as base,
           case t.typtype when 'd' then t.typtypmod else a.atttypmod end as base_typmod
      from relation r
      join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
),
part (whole, type) as (  -- the type of each column, and all types whose values it may contain: of elements, of fields
    select distinct type, type from attribute
    union
    select p.whole, inside.type
      from part p join pg_type t on t.oid = p.type
     cross join lateral (
        values (t.typbasetype), (t.typelem)
        union all
        select a.atttypid from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
     ) inside (type)
)
select r.schema, r."table", r.relkind::text as kind, a.*, i.*,
       (select coalesce(json_object_agg(name, columns), '{}')
          from (select g.name, array_agg(distinct a.name) as columns
                  from attribute g
                  left join pg_attrdef e on e.adrelid = r.oid and e.adnum = g.number
                  join pg_depend d on (d.classid, d.objid, d.objsubid)  -- on 13 and 14 it is the column that depends
                    in (('pg_class'::regclass, r.oid, g.number), ('pg_attrdef'::regclass, e.oid, 0))
                  join attribute a on a.relation = r.oid and a.number = d.refobjsubid and a.number <> g.number
                 where g.relation = r.oid and g.generated = 's'
                   and d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid
                 group by g.name) g) as generated,
       array(select array[pn.nspname::text, p.relname::text]
               from pg_partition_tree(r.oid) t join pg_class p on p.oid = t.relid
               join pg_namespace pn on pn.oid = p.relnamespace
              where t.level > 0 and p.relkind <> 'f' order by pn.nspname, p.relname) as partitions,
       (select array[pn.nspname::text, p.relname::text]
          from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
         where r.relispartition and i.inhrelid = r.oid) as parent,
       exists (select from pg_inherits i join pg_class k on k.oid = i.inhrelid and not k.relispartition
                where r.oid in (i.inhrelid, i.inhparent)) as inherits
  from relation r
 cross join lateral (
    select coalesce(array_agg(name order by number), '{}') as columns,
           -- those of PostgreSQL itself; a value of another is a text to whoever must not call code of users
           coalesce(json_object_agg(
               name, case when base < 16384 then format_type(base, base_typmod) else 'text' end), '{}') as types,
           coalesce(array_agg(name order by number) filter (where typtype = 'd'), '{}') as domains,
           -- a domain has the category of its type, which for json and jsonb is U
           coalesce(array_agg(name order by number) filter (
               where typname in ('json', 'jsonb') or typtype = 'd' and typcategory = 'U'), '{}') as json_columns,
           coalesce(bool_or(type in (select whole from part p where p.type = 'json'::regtype)), false) as holds_json,
           coalesce(bool_and(element = any (array[
               'boolean', 'smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision', 'text', 'varchar',
               'bpchar', 'name', 'uuid', 'json', 'jsonb', 'date', 'time', 'timestamp', 'timestamptz', 'inet', 'cidr',
               'macaddr', 'oid'
           ]::regtype[])), true) as has_simple_types,
           coalesce(array_agg(name order by number) filter (where generated = 'v'), '{}') as virtual
      from attribute where relation = r.oid
 ) a
 cross join lateral (
    select coalesce(max(columns) filter (where indisprimary), '{}') as key,
           coalesce(json_agg(columns) filter (where is_not_null), '[]') as "unique"
      from (select x.indisprimary, bool_and(a.attnotnull) as is_not_null,
                   array_agg(a.attname::text order by k.position) as columns
              from pg_index x
             cross join lateral unnest(x.indkey::smallint[]) with ordinality k(attnum, position)
              join pg_attribute a on a.attrelid = r.oid and a.attnum = k.attnum
             where x.indrelid = r.oid and x.indisunique and x.indpred is null and x.indexprs is null
               and k.position <= x.indnkeyatts
             group by x.indexrelid, x.indisprimary) u
 ) i
"""
_NAMES: Final[LiteralString] = """
select n.nspname as schema, c.relname as "table"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$|svc$)'
"""
_RECORDED_AS: Final = """
select n.nspname as schema, c.relname as "table"
  from pg_proc p
  join pg_trigger t on t.tgfoid = p.oid
  join pg_class c on c.oid = t.tgrelid and not c.relispartition
  join pg_namespace n on n.oid = c.relnamespace
 where p.pronamespace = to_regnamespace('svc') and p.proname = %s
 limit 1
"""


def read_tables(conn: Connection[Any], names: Iterable[TableName]) -> dict[TableName, Table]:
    """The facts of tables, in the given order. Raises UnknownTableError naming each that is not a user's table."""
    wanted = list(dict.fromkeys(names))
    query = Query(_RELATIONS, ([name.schema for name in wanted], [name.table for name in wanted]), _Relation)
    found = {TableName(relation.schema, relation.table): relation for relation in fetch(conn, query)}
    problems = [problem for name in wanted if (problem := _problem(conn, name, found.get(name)))]
    refuse_unknown(problems)
    return {name: _table(name, found[name]) for name in wanted}


def _problem(conn: Connection[Any], name: TableName, relation: _Relation | None) -> UnknownTableError | None:
    if name.schema == "svc":
        return UnknownTableError(f'table "{name}" belongs to svc-pg')
    if relation is None:
        return UnknownTableError(f'table "{name}" does not exist', hint=_moved(conn, name) or _near(conn, name))
    if relation.kind not in _TABLES:
        return UnknownTableError(
            f'"{name}" is {_KINDS.get(relation.kind, "of another kind")}, not a table',
            hint="Name the tables below it.",
        )
    return None


def _table(name: TableName, relation: _Relation) -> Table:
    return Table(
        name=name,
        columns=[column for column in relation.columns if column not in relation.virtual],
        types=relation.types.value,
        domains=relation.domains,
        json_columns=relation.json_columns,
        holds_json=relation.holds_json,
        has_simple_types=relation.has_simple_types,
        generated=relation.generated.value,
        key=relation.key,
        virtual=relation.virtual,
        unique=relation.unique.value,
        is_partitioned=relation.kind == "p",
        partitions=[TableName(*partition) for partition in relation.partitions],
        parent=None if relation.parent is None else TableName(*relation.parent),
        inherits=relation.inherits,
    )


def table_names(conn: Connection[Any]) -> list[TableName]:
    """The user's tables, in order; partitions are left to their parents."""
    return fetch(conn, Query(_NAMES + " and not c.relispartition order by 1, 2", (), TableName))


def _moved(conn: Connection[Any], name: TableName) -> str | None:
    """A table that was renamed still has the triggers that record it under its old name."""
    query = Query(_RECORDED_AS, (function_name("capture", name),), TableName)
    return next((f"It is now {table}: name it so." for table in fetch(conn, query)), None)


def _near(conn: Connection[Any], name: TableName) -> str | None:
    tables = fetch(conn, Query(_NAMES, (), TableName))
    spelled = {str(table).casefold(): str(table) for table in tables}
    near = [spelled[match] for match in get_close_matches(str(name).casefold(), spelled, n=3, cutoff=0.8)]
    near += [str(table) for table in tables if table.table == name.table and str(table) not in near]
    return did_you_mean(near)
