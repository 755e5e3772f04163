"""Refuse tables for which PostgreSQL itself would run code of others, with the rights of the caller."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.table_names import TableName
from svc_pg.errors import InstallError
from svc_pg.rendering.templates import ident


@dataclass(frozen=True, slots=True)
class _Code:
    user: str
    function: str
    owner: str


# A function of another owner, no superuser, that a definition (class, oid) calls, by itself or as an operator
_CALLED: Final[LiteralString] = """ as "user",
       p.oid::regprocedure::text as function, o.rolname::text as owner
  from definition f
  join pg_depend d on d.classid = f.class and d.objid = f.oid
  left join pg_operator w on d.refclassid = 'pg_operator'::regclass and w.oid = d.refobjid
  join pg_proc p on p.oid = case d.refclassid when 'pg_proc'::regclass then d.refobjid else w.oprcode end
  join pg_roles o on o.oid = p.proowner and not o.rolsuper and o.rolname <> current_user
 order by 1, 2
 limit 1
"""
# The planner calls immutable functions whose arguments are constant, and looks into those in SQL
_PLANNED: Final[LiteralString] = """
with audited as (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relname = %s
),
relation as (
    select oid from audited
    union
    select t.relid from audited cross join lateral pg_partition_tree(audited.oid) t
),
definition (class, oid) as (
    select 'pg_class'::regclass, oid from relation
    union all
    select 'pg_class'::regclass, i.indexrelid from pg_index i join relation r on r.oid = i.indrelid
    union all
    select 'pg_constraint'::regclass, k.oid from pg_constraint k join relation r on r.oid = k.conrelid
    union all
    select 'pg_statistic_ext'::regclass, s.oid from pg_statistic_ext s join relation r on r.oid = s.stxrelid
)
select pg_describe_object(f.class, f.oid, 0)"""
# PostgreSQL computes the constants in a partition key when it makes or drops a trigger
_PARTITION_KEYS: Final[LiteralString] = """
with wanted as (
    select c.oid
      from unnest(%s::text[], %s::text[]) w(schema, "table")
      join pg_namespace n on n.nspname = w.schema
      join pg_class c on c.relnamespace = n.oid and c.relname = w."table"
),
tree as (
    select t.relid from wanted cross join lateral pg_partition_tree(wanted.oid) t
    union
    select a.relid from wanted cross join lateral pg_partition_ancestors(wanted.oid) a
),
definition (class, oid) as (
    select 'pg_class'::regclass, k.partrelid from tree join pg_partitioned_table k on k.partrelid = tree.relid
)
select f.oid::regclass::text"""


def check_planned(conn: Connection[Any], table: TableName) -> None:
    """Raise InstallError if planning a query of this table, which the caller has locked, may run code of others."""
    for code in fetch(conn, Query(_PLANNED + _CALLED, tuple(table), _Code)):
        raise InstallError(
            f'{code.user} calls {code.function}, which belongs to role "{code.owner}" and would run with your rights',
            hint="Drop the one for the time of the backfill; or become the owner of the other, if you trust its code.",
        )


def check_partition_keys(conn: Connection[Any], tables: Iterable[TableName]) -> None:
    """Raise InstallError if a trigger on one of these tables would run code of another owner."""
    names = sorted(set(tables))
    if not names:
        return
    schemas_and_names = ([name.schema for name in names], [name.table for name in names])
    for code in fetch(conn, Query(_PARTITION_KEYS + _CALLED, schemas_and_names, _Code)):
        raise InstallError(
            f'the partition key of {code.user} calls {code.function}, which belongs to role "{code.owner}" and would'
            " run with your rights",
            hint=f"Act as {ident(code.owner)}; or become the owner of the function, if you trust its code.",
        )
