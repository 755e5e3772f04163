"""Compare the functions, views and triggers that should be installed with the catalog and with our record of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection
from psycopg.errors import InvalidFunctionDefinition, InvalidTableDefinition

from svc_pg.database.query import Query, fetch
from svc_pg.rendering.schema_objects import OBJECT_KINDS, OVERLOADED, ObjectKind, SchemaObject
from svc_pg.rendering.templates import render
from svc_pg.schema.postgres import scope
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.postgres.scope import Scope
from svc_pg.schema.status import State

_RECORDED: Final = """
select kind, identity, audited_table, source_sha256, catalog_sha256,
       postgres_major = current_setting('server_version_num')::integer / 10000 as is_of_this_postgres
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

Key = tuple[ObjectKind, str]


@dataclass(frozen=True, slots=True)
class _Found:
    kind: ObjectKind
    identity: str
    drop_sql: str
    sha256: str
    is_disabled: bool
    function: str | None

    @property
    def table(self) -> str:
        """The table of a trigger."""
        return self.identity.partition(" on ")[2]


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
    """One object and its state. ``item`` is None for an orphan; ``drop_sql`` is None if the object is missing.

    ``moved_to`` is the name that the audited table of an orphan has now, if it was renamed.
    """

    kind: ObjectKind
    identity: str
    state: State
    audited_table: str | None
    item: SchemaObject | None
    drop_sql: str | None
    is_recorded: bool
    moved_to: str | None = None


def found_sql(*, is_scoped: bool = False) -> LiteralString:
    """The query of the functions, views and triggers in the catalog; with the parameters of a Scope, of these."""
    return render("installed/objects.sql.j2", is_scoped=is_scoped, overloaded=OVERLOADED)


def compare(conn: Connection[Any], installation: Installation, wanted: Iterable[SchemaObject]) -> list[ObjectState]:
    """The state of every wanted object, in the given order, then all other objects of ours, as orphans."""
    found = {(row.kind, row.identity): row for row in fetch(conn, Query(found_sql(), (), _Found))}
    notes: dict[Key, _Recorded] = {}
    if installation.has("installed_objects"):
        notes = {(row.kind, row.identity): row for row in fetch(conn, Query(_RECORDED, (), _Recorded))}
    moved = _moved(found.values(), notes)
    by_key = {(item.kind, item.identity): item for item in wanted}
    result = []
    for key, item in by_key.items():
        state = _state(item, found.get(key), notes.get(key))
        drop_sql = found[key].drop_sql if key in found else None
        result.append(ObjectState(item.kind, item.identity, state, item.audited_table, item, drop_sql, key in notes))
    # users before things used, and triggers first: their drop makes writers wait
    for key in sorted((found.keys() | notes.keys()) - by_key.keys(), key=_order, reverse=True):
        orphan = found.get(key) or notes[key]
        note = notes.get(key) or _note_of_function(found[key], notes)
        table = note.audited_table if note else None
        drop_sql = found[key].drop_sql if key in found else None
        result.append(
            ObjectState(
                orphan.kind, orphan.identity, "orphan", table, None, drop_sql, key in notes, moved.get(table or "")
            )
        )
    return result


def _order(key: Key) -> tuple[int, str]:
    kind, identity = key
    return OBJECT_KINDS.index(kind), identity


def _note_of_function(trigger: _Found, notes: Mapping[Key, _Recorded]) -> _Recorded | None:
    """The record of the function that a trigger calls, if it calls one."""
    return notes.get(("function", trigger.function)) if trigger.function else None


def _moved(found: Iterable[_Found], notes: Mapping[Key, _Recorded]) -> dict[str, str]:
    """The audited tables that were renamed, with their names now: most triggers that call the function are there."""
    tables_now: dict[str, Counter[str]] = {}
    for trigger in found:
        note = _note_of_function(trigger, notes)
        if note and note.audited_table:
            tables_now.setdefault(note.audited_table, Counter())[trigger.table] += 1
    return {table: names.most_common(1)[0][0] for table, names in tables_now.items() if table not in names}


def _state(item: SchemaObject, found: _Found | None, note: _Recorded | None) -> State:
    if found is None:
        return "missing"
    if found.is_disabled:
        return "disabled"
    if note is None or found.sha256 != note.catalog_sha256:
        return "tampered" if note is None or note.is_of_this_postgres else "outdated"
    return "ok" if note.source_sha256 == item.source_sha256 else "outdated"


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
