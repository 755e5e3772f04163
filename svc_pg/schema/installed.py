"""Compare the functions, views and triggers that should be installed with the catalog and with our record of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from psycopg import Connection
from psycopg.errors import InvalidFunctionDefinition, InvalidTableDefinition

from svc_pg.query import Query, fetch, scalar
from svc_pg.schema_objects import ObjectKind, SchemaObject

State = Literal["ok", "missing", "outdated", "tampered", "disabled", "orphan"]

# All facts that decide what a function, view or trigger does. Types print qualified, since the installer pins
# search_path.
FOUND = """
with recursive relation as (
    select c.oid, (select string_agg(case when part ~ '[."]' then '"' || replace(part, '"', '""') || '"' else part end,
                                     '.' order by ordinality)
                     from unnest(array[n.nspname::text, c.relname::text]) with ordinality u(part, ordinality)) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not (n.nspname = 'svc' and c.relispartition)
),
-- a trigger and its clones on the partitions below, each of which can be disabled
family as (
    select t.oid as root, t.oid, t.tgenabled
      from pg_trigger t join relation r on r.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
     where p.pronamespace = to_regnamespace('svc') and t.tgparentid = 0
    union all
    select f.root, t.oid, t.tgenabled
      from family f join pg_trigger t on t.tgparentid = f.oid join relation r on r.oid = t.tgrelid
),
found as (
    select 'function' as kind, 'svc.' || p.proname as identity,
           json_build_array(
               pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname, p.prosrc, p.proconfig,
               p.prosecdef, p.provolatile, p.proparallel, p.proisstrict, p.proleakproof
           )::text as facts,
           format('drop function %s', p.oid::regprocedure) as drop_sql, false as is_disabled
      from pg_proc p join pg_language l on l.oid = p.prolang
     where p.pronamespace = to_regnamespace('svc')
    union all
    select 'view', 'svc.' || c.relname, json_build_array(pg_get_viewdef(c.oid), c.reloptions)::text,
           format('drop view %s', c.oid::regclass), false
      from pg_class c
     where c.relnamespace = to_regnamespace('svc') and c.relkind = 'v'
    union all
    select 'trigger', t.tgname || ' on ' || r.name,
           json_build_array(pg_get_triggerdef(t.oid), f.enabled)::text,
           format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass), f.is_disabled
      from pg_trigger t join relation r on r.oid = t.tgrelid
      join (
          select root, array_agg(distinct tgenabled) as enabled, bool_or(tgenabled in ('D', 'R')) as is_disabled
            from family group by root
      ) f on f.root = t.oid
)
select kind, identity, string_agg(drop_sql, ';' || chr(10)) || ';' as drop_sql,
       encode(sha256(convert_to(string_agg(facts, '' order by facts), 'UTF8')), 'hex') as sha256,
       bool_or(is_disabled) as is_disabled
  from found group by kind, identity
"""
_RECORDED = """
select kind, identity, audited_table, source_sha256, catalog_sha256,
       postgres_major = current_setting('server_version_num')::integer / 10000 as is_of_this_postgres
  from svc.installed_objects
"""
_RECORD = """
insert into svc.installed_objects (kind, identity, audited_table, source_sha256, catalog_sha256)
values (%s, %s, %s, %s, %s)
on conflict (kind, identity) do update
   set audited_table = excluded.audited_table, source_sha256 = excluded.source_sha256,
       catalog_sha256 = excluded.catalog_sha256, postgres_major = excluded.postgres_major, installed_at = now()
"""

Key = tuple[ObjectKind, str]


@dataclass(frozen=True, slots=True)
class _Found:
    kind: ObjectKind
    identity: str
    drop_sql: str
    sha256: str
    is_disabled: bool


@dataclass(frozen=True, slots=True)
class _Recorded:
    kind: ObjectKind
    identity: str
    audited_table: str | None
    source_sha256: str
    catalog_sha256: str
    is_of_this_postgres: bool


@dataclass(frozen=True, slots=True)
class ObjectState:
    """One object and its state. ``item`` is None for an orphan; ``drop_sql`` is None if the object is missing."""

    kind: ObjectKind
    identity: str
    state: State
    audited_table: str | None
    item: SchemaObject | None
    drop_sql: str | None
    is_recorded: bool


def compare(conn: Connection[Any], wanted: Iterable[SchemaObject]) -> list[ObjectState]:
    """The state of every wanted object, in the given order, then all other objects of ours, as orphans."""
    found = _found(conn)
    notes = _recorded(conn)
    by_key = {(item.kind, item.identity): item for item in wanted}
    result = []
    for key, item in by_key.items():
        state = _state(item, found.get(key), notes.get(key))
        drop_sql = found[key].drop_sql if key in found else None
        result.append(ObjectState(item.kind, item.identity, state, item.audited_table, item, drop_sql, key in notes))
    for key in sorted((found.keys() | notes.keys()) - by_key.keys(), reverse=True):  # users before things used
        orphan = found.get(key) or notes[key]
        table = notes[key].audited_table if key in notes else None
        drop_sql = found[key].drop_sql if key in found else None
        result.append(ObjectState(orphan.kind, orphan.identity, "orphan", table, None, drop_sql, key in notes))
    return result


def _state(item: SchemaObject, found: _Found | None, note: _Recorded | None) -> State:
    if found is None:
        return "missing"
    if found.is_disabled:
        return "disabled"
    if note is None or found.sha256 != note.catalog_sha256:
        return "tampered" if note is None or note.is_of_this_postgres else "outdated"
    return "ok" if note.source_sha256 == item.source_sha256 else "outdated"


def is_installed(conn: Connection[Any]) -> bool:
    """Whether the database has our record of installed objects."""
    return bool(scalar(conn, "select to_regclass('svc.installed_objects') is not null"))


def create(conn: Connection[Any], item: SchemaObject) -> None:
    """Create or replace one object, also if its signature or columns have changed: svc has no overloaded functions."""
    try:
        with conn.transaction():
            conn.execute(item.sql.encode())
    except (InvalidFunctionDefinition, InvalidTableDefinition):  # another result, other parameter names or columns
        _drop(conn, item)
        conn.execute(item.sql.encode())
    if item.kind == "function" and scalar(conn, _OVERLOADS, (item.identity,)) > 1:
        _drop(conn, item)
        conn.execute(item.sql.encode())


_OVERLOADS = "select count(*) from pg_proc where pronamespace = to_regnamespace('svc') and 'svc.' || proname = %s"


def _drop(conn: Connection[Any], item: SchemaObject) -> None:
    conn.execute(_found(conn)[item.kind, item.identity].drop_sql.encode())


def record(conn: Connection[Any], items: Iterable[SchemaObject]) -> None:
    """Record the state of these objects in the catalog."""
    found = _found(conn)
    rows = [
        (item.kind, item.identity, item.audited_table, item.source_sha256, found[item.kind, item.identity].sha256)
        for item in items
    ]
    conn.cursor().executemany(_RECORD, rows)


def remove(conn: Connection[Any], kind: str, identity: str, drop_sql: str) -> None:
    """Drop one object, if it is there, and its record."""
    if drop_sql:
        conn.execute(drop_sql.encode())
    conn.execute("delete from svc.installed_objects where kind = %s and identity = %s", (kind, identity))


def _found(conn: Connection[Any]) -> dict[Key, _Found]:
    return {(row.kind, row.identity): row for row in fetch(conn, Query(FOUND, (), _Found))}


def _recorded(conn: Connection[Any]) -> dict[Key, _Recorded]:
    if not is_installed(conn):
        return {}
    return {(row.kind, row.identity): row for row in fetch(conn, Query(_RECORDED, (), _Recorded))}
