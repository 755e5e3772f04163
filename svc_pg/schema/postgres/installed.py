"""The functions, views and triggers of a database, in its catalog and in our record; create and remove them."""

from collections.abc import Sequence
from typing import Any, Final, LiteralString

from psycopg import Connection
from psycopg.errors import InvalidFunctionDefinition, InvalidTableDefinition

from svc_pg.database.query import Query, fetch
from svc_pg.rendering.schema_objects import OVERLOADED, SchemaObject
from svc_pg.rendering.templates import render
from svc_pg.schema.comparison import Found, Recorded
from svc_pg.schema.postgres import scope
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.postgres.scope import Scope

_RECORDED: Final = """
select kind, identity, audited_table, source_sha256, catalog_sha256,
       postgres_major = current_setting('server_version_num')::integer / 10000 as is_comparable
  from svc.installed_objects
"""
# Those of OVERLOADED have an identity each
_REPEATED: Final = """
select 'svc.' || proname from pg_proc
 where pronamespace = to_regnamespace('svc') and proname = any ($1) group by proname having count(*) > 1
"""
_FORGET: Final = """
delete from svc.installed_objects o using unnest($1::text[], $2::text[]) removed(kind, identity)
 where o.kind = removed.kind and o.identity = removed.identity
"""


def found_sql(*, is_scoped: bool = False, has_views: bool = True) -> LiteralString:
    """The query of functions, views and triggers in the catalog; with the parameters of a Scope, only those in it."""
    return render("installed/objects.sql.j2", is_scoped=is_scoped, has_views=has_views, overloaded=OVERLOADED)


def catalog_objects(conn: Connection[Any], *, has_views: bool = True) -> list[Found]:
    """Our functions, views and triggers in the catalog."""
    return fetch(conn, Query(found_sql(has_views=has_views), (), Found))


def recorded_objects(conn: Connection[Any], installation: Installation) -> list[Recorded]:
    """Our record of them."""
    return fetch(conn, Query(_RECORDED, (), Recorded)) if installation.has("installed_objects") else []


def create(conn: Connection[Any], items: Sequence[SchemaObject]) -> None:
    """Create or replace these objects in order, also if signatures or columns have changed, and record them."""
    limits = Scope.of(items)
    try:
        _execute(conn, items)
    except (InvalidFunctionDefinition, InvalidTableDefinition):  # another result, other parameter names or columns
        for item in items:
            _replace(conn, item)
    repeated = {identity for (identity,) in scope.execute(conn, _REPEATED, [limits.names])}
    for item in items:
        if item.identity in repeated:
            _recreate(conn, item)
    columns = zip(*((item.kind, item.identity, item.audited_table, item.source_sha256) for item in items), strict=True)
    scope.execute(conn, render("installed/record.sql.j2", overloaded=OVERLOADED), [*limits.params, *map(list, columns)])


def _replace(conn: Connection[Any], item: SchemaObject) -> None:
    try:
        _execute(conn, [item])
    except (InvalidFunctionDefinition, InvalidTableDefinition):
        _recreate(conn, item)


def _recreate(conn: Connection[Any], item: SchemaObject) -> None:
    for kind, identity, drop_sql, *_ in scope.execute(conn, found_sql(is_scoped=True), Scope.of([item]).params):
        if (kind, identity) == (item.kind, item.identity):
            conn.execute(drop_sql.encode())
    _execute(conn, [item])


def _execute(conn: Connection[Any], items: Sequence[SchemaObject]) -> None:
    with conn.transaction():
        conn.execute("\n".join(item.sql for item in items).encode())


def remove(conn: Connection[Any], objects: Sequence[tuple[str, str, str]]) -> None:
    """Drop objects, each a kind, an identity and the SQL that drops it if it is there; and forget them."""
    conn.execute("\n".join(drop_sql for _, _, drop_sql in objects).encode())
    scope.execute(conn, _FORGET, [[kind for kind, *_ in objects], [identity for _, identity, _ in objects]])
