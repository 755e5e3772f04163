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
-- json and all types whose values may contain it: domains over it, arrays, composites
with recursive json_type (oid) as (
    select 'json'::regtype::oid
    union
    select t.oid from json_type j join pg_type t on j.oid in (t.typbasetype, t.typelem)
        or exists (select from pg_attribute a where a.attrelid = t.typrelid and a.atttypid = j.oid and a.attnum > 0)
)
select n.nspname as schema, c.relname as "table", c.relkind::text as kind,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       -- those of PostgreSQL itself; a value of another is a text to whoever must not call code of users
       (select coalesce(json_object_agg(a.attname, case when b.oid < 16384 then format_type(
                   b.oid, case t.typtype when 'd' then t.typtypmod else a.atttypmod end) else 'text' end), '{}')
          from pg_attribute a join pg_type t on t.oid = a.atttypid
          join pg_type b on b.oid = case t.typtype when 'd' then t.typbasetype else t.oid end
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as types,
       array(select a.attname::text from pg_attribute a join pg_type t on t.oid = a.atttypid
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and t.typtype = 'd') as domains,
       array(select a.attname::text from pg_attribute a join pg_type t on t.oid = a.atttypid
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                -- a domain has the category of its type, which for json and jsonb is U
                and (t.typname in ('json', 'jsonb') or t.typtype = 'd' and t.typcategory = 'U')) as json_columns,
       exists (select from pg_attribute a join json_type j on j.oid = a.atttypid
                where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as holds_json,
       not exists (select from pg_attribute a join pg_type t on t.oid = a.atttypid
                    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                      and case when t.typcategory = 'A' then t.typelem else t.oid end <> all (array[
                              'boolean', 'smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision', 'text',
                              'varchar', 'bpchar', 'name', 'uuid', 'json', 'jsonb', 'date', 'time', 'timestamp',
                              'timestamptz', 'inet', 'cidr', 'macaddr', 'oid'
                          ]::regtype[])) as has_simple_types,
       (select coalesce(json_object_agg(name, columns), '{}')
          from (select g.attname as name, array_agg(distinct a.attname) as columns
                  from pg_attribute g
                  left join pg_attrdef e on e.adrelid = g.attrelid and e.adnum = g.attnum
                  join pg_depend d on (d.classid, d.objid, d.objsubid)  -- on 13 and 14 it is the column that depends
                    in (('pg_class'::regclass, g.attrelid, g.attnum), ('pg_attrdef'::regclass, e.oid, 0))
                  join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
                 where g.attrelid = c.oid and g.attgenerated = 's' and not g.attisdropped
                   and d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid
                   and d.refobjsubid not in (0, g.attnum)
                 group by g.attname) g) as generated,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = 'v'
              order by a.attnum) as virtual,
       array(select a.attname::text
               from pg_index i
              cross join lateral unnest(i.indkey::smallint[]) with ordinality k(attnum, position)
               join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
              where i.indrelid = c.oid and i.indisprimary and k.position <= i.indnkeyatts order by k.position) as key,
       (select coalesce(json_agg(columns), '[]')
          from (select array_agg(a.attname::text) as columns
                  from pg_index i
                 cross join lateral unnest(i.indkey::smallint[]) with ordinality k(attnum, position)
                  join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                 where i.indrelid = c.oid and i.indisunique and i.indpred is null and i.indexprs is null
                   and k.position <= i.indnkeyatts
                 group by i.indexrelid having bool_and(a.attnotnull)) u) as "unique",
       array(select array[pn.nspname::text, p.relname::text]
               from pg_partition_tree(c.oid) t join pg_class p on p.oid = t.relid
               join pg_namespace pn on pn.oid = p.relnamespace
              where t.level > 0 and p.relkind <> 'f' order by pn.nspname, p.relname) as partitions,
       (select array[pn.nspname::text, p.relname::text]
          from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
         where c.relispartition and i.inhrelid = c.oid) as parent,
       exists (select from pg_inherits i join pg_class k on k.oid = i.inhrelid and not k.relispartition
                where c.oid in (i.inhrelid, i.inhparent)) as inherits
  from unnest(%s::text[], %s::text[]) wanted(schema, "table")
  join pg_namespace n on n.nspname = wanted.schema
  join pg_class c on c.relnamespace = n.oid and c.relname = wanted."table"
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
