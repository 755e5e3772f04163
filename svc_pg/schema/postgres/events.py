"""Compare the event types of a configuration with those in the database."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from psycopg import Connection
from psycopg.rows import tuple_row

from svc_pg.config import EventDefinition
from svc_pg.database.query import Query, RawJson, fetch
from svc_pg.rendering.templates import render
from svc_pg.schema.postgres.installation import Installation
from svc_pg.webhooks.events.own_events import OWN_EVENTS

_TYPES: Final = "select name, description, schema, search from svc.webhook_event_types where '*' = any (patterns)"
_TYPES_BEFORE: Final = _TYPES.replace(", search ", ", null::text[] as search ")
_SEARCH_SINCE: Final = 33
"""The migration with which an event has keys that are searched."""
_OWN: Final = "select name from svc.webhook_event_types where not '*' = any (patterns)"
_OWN_SINCE: Final = 29
"""The last migration that adds own types: before it has run, they are not yet missing."""
_OWN_TYPES: Final = {event.name: event.description for event in OWN_EVENTS if event.name != "webhook.ping"}


@dataclass(frozen=True, slots=True)
class _EventType:
    name: str
    description: str
    schema: RawJson | None
    search: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class EventState:
    """One event type and its state; ``sql`` makes it equal to the configuration, or removes an orphan."""

    name: str
    state: Literal["ok", "missing", "outdated", "orphan"]
    sql: str


def compare_events(
    conn: Connection[Any], installation: Installation, events: dict[str, EventDefinition]
) -> list[EventState]:
    """The own types that are missing, every defined one, then those that the configuration does not name."""
    stored: dict[str, _EventType] = {}
    if installation.has("webhook_event_types"):
        types = _TYPES if _SEARCH_SINCE in installation.migrations else _TYPES_BEFORE
        stored = {row.name: row for row in fetch(conn, Query(types, (), _EventType)) if row.name not in _OWN_TYPES}
    result = _missing_own(conn, installation)
    for name, definition in events.items():
        schema = None if definition.json_schema is None else json.dumps(definition.json_schema, sort_keys=True)
        search = definition.search or None
        now = _EventType(name, definition.description, None if schema is None else RawJson(schema), search)
        sql = _sql(name, definition.description, schema, search)
        state: Literal["ok", "missing", "outdated"] = "missing"
        if name in stored:
            state = "ok" if stored[name] == now else "outdated"
        result.append(EventState(name, state, sql))
    return result + [
        EventState(name, "orphan", render("events/event_type.sql.j2", name=name, is_wanted=False))
        for name in sorted(stored.keys() - events.keys())
    ]


def _missing_own(conn: Connection[Any], installation: Installation) -> list[EventState]:
    """The types of svc-pg itself that are not there, or that an application took."""
    if not installation.has("webhook_event_types") or _OWN_SINCE not in installation.migrations:
        return []
    own = {name for (name,) in conn.cursor(row_factory=tuple_row).execute(_OWN)}
    return [
        EventState(name, "missing", _sql(name, description, None, is_own=True))
        for name, description in _OWN_TYPES.items()
        if name not in own
    ]


def _sql(
    name: str, description: str, schema: str | None, search: Sequence[str] | None = None, *, is_own: bool = False
) -> str:
    return render(
        "events/event_type.sql.j2",
        name=name,
        description=description,
        schema=schema,
        search=search,
        is_wanted=True,
        is_own=is_own,
    )
