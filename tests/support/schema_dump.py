"""The schema after an install, as the same text on every version of PostgreSQL.

Not pg_dump: its text has the server's version and the names of this month's partitions. Bodies of functions and texts
of views are left out, because sql/ has each in a file of its own.
"""

from collections.abc import Iterator
from typing import Any, Final, LiteralString

import psycopg

_TYPES: Final = """
select format('create type svc.%I as enum (%s);', t.typname,
              (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
                 from pg_enum e where e.enumtypid = t.oid))
  from pg_type t where t.typnamespace = 'svc'::regnamespace and t.typtype = 'e' order by t.typname
"""
_TABLES: Final = """
with line as (
    select a.attrelid as oid, 1 as part, a.attnum::text::int as number, concat_ws(
               ' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
               'collate ' || (select quote_ident(l.collname) from pg_collation l join pg_type t on t.oid = a.atttypid
                               where l.oid = a.attcollation and a.attcollation <> t.typcollation),
               case a.attidentity when 'a' then 'generated always as identity' end,
               'default ' || pg_get_expr(d.adbin, d.adrelid),
               case when a.attnotnull then 'not null' end
           ) as text, null as name
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attnum > 0 and not a.attisdropped
    union all
    select k.conrelid, 2, 0, format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), k.conname
      from pg_constraint k where k.contype in ('p', 'u', 'c', 'f')
)
select concat(
           'create ', case c.relpersistence when 'u' then 'unlogged ' end, format('table svc.%I (', c.relname), chr(10),
           (select string_agg('    ' || l.text, ',' || chr(10) order by l.part, l.number, l.name collate "C")
              from line l where l.oid = c.oid),
           chr(10), ')', ' partition by ' || pg_get_partkeydef(c.oid),
           ' with (' || array_to_string(c.reloptions, ', ') || ')', ';',
           (select string_agg(chr(10) || pg_get_indexdef(i.indexrelid) || ';', ''
                              order by i.indexrelid::regclass::text collate "C")
              from pg_index i
             where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid)),
           (select string_agg(chr(10) || pg_get_triggerdef(t.oid) || ';', '' order by t.tgname)
              from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
       )
  from pg_class c
 where c.relnamespace = 'svc'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
 order by c.relname
"""
_VIEWS: Final = """
select concat(format('create view svc.%I (', c.relname), chr(10),
              string_agg(format('    %I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ',' || chr(10)
                         order by a.attnum),
              chr(10), ')', ' with (' || array_to_string(c.reloptions, ', ') || ')', ' as ...;')
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
 where c.relnamespace = 'svc'::regnamespace and c.relkind = 'v'
 group by c.relname, c.reloptions order by c.relname
"""
_FUNCTIONS: Final = """
select concat(format('create function svc.%I(%s)', p.proname, pg_get_function_arguments(p.oid)),
              chr(10), '    returns ', pg_get_function_result(p.oid), ' language ', l.lanname,
              case p.provolatile when 'i' then ' immutable' when 's' then ' stable' end,
              case p.proparallel when 's' then ' parallel safe' end,
              case when p.prosecdef then ' security definer' end,
              (select string_agg(chr(10) || '    set ' || setting, '') from unnest(p.proconfig) setting), ';')
  from pg_proc p join pg_language l on l.oid = p.prolang
 where p.pronamespace = 'svc'::regnamespace order by p.proname, oidvectortypes(p.proargtypes)
"""
# The rights of everybody but the owner
_RIGHTS: Final = """
with object (kind, name, owner, acl) as (
    select 'schema', n.nspname, n.nspowner, n.nspacl from pg_namespace n where n.nspname = 'svc'
    union all
    select case c.relkind when 'S' then 'sequence' else 'table' end, 'svc.' || c.relname, c.relowner, c.relacl
      from pg_class c
     where c.relnamespace = 'svc'::regnamespace and (not c.relispartition or c.relname = 'audit_logs_default')
    union all
    select format('(%s) on table', string_agg(a.attname, ', ' order by a.attnum)), 'svc.' || c.relname, c.relowner,
           a.attacl::text::aclitem[]
      from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'svc'::regnamespace and a.attacl is not null
     group by c.relname, c.relowner, a.attacl::text
    union all
    select 'function', 'svc.' || p.proname || case when count(*) over (partition by p.proname) > 1 then
               format('(%s)', oidvectortypes(p.proargtypes)) else '' end,
           p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
      from pg_proc p where p.pronamespace = 'svc'::regnamespace
)
select format('grant %s%s %s to %s;', string_agg(lower(x.privilege_type), ', ' order by x.privilege_type),
              case when o.kind like '(%' then ' ' || o.kind else ' on ' || o.kind end, o.name,
              coalesce(nullif(x.grantee, 0)::regrole::text, 'public'))
  from object o cross join lateral aclexplode(o.acl) x
 where x.grantee <> o.owner
 group by o.kind, o.name, x.grantee
 order by o.name collate "C", o.kind collate "C", x.grantee::regrole::text collate "C"
"""
_PARTS: Final[dict[str, LiteralString]] = {
    "Types": _TYPES,
    "Tables": _TABLES,
    "Views": _VIEWS,
    "Functions": _FUNCTIONS,
    "Rights": _RIGHTS,
}


def dump(conn: psycopg.Connection[Any]) -> str:
    """The types, tables, views, functions and rights of schema svc, in the order of their names."""
    return "\n".join(_sections(conn))


def _sections(conn: psycopg.Connection[Any]) -> Iterator[str]:
    conn.execute("set local search_path = pg_catalog")
    for title, text in _PARTS.items():
        between = "\n" if title in ("Types", "Rights") else "\n\n"
        yield f"-- {title}\n\n" + between.join(row for (row,) in conn.execute(text)) + "\n"
