"""Compare the event types of a configuration with those in the database."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from psycopg import Connection

from svc_pg.config import EventDefinition
from svc_pg.database.query import Query, RawJson, fetch
from svc_pg.rendering.templates import render
from svc_pg.schema.postgres.installation import Installation

_TYPES = "select name, description, schema from svc.webhook_event_types where '*' = any (patterns)"  # not our own


@dataclass(frozen=True, slots=True)
class _EventType:
    name: str
    description: str
    schema: RawJson | None


@dataclass(frozen=True, slots=True)
class EventState:
    """One event type and its state; ``sql`` makes it equal to the configuration, or removes an orphan."""

    name: str
    state: Literal["ok", "missing", "outdated", "orphan"]
    sql: str


def compare_events(
    conn: Connection[Any], installation: Installation, events: dict[str, EventDefinition]
) -> list[EventState]:
    """The state of every defined event type, then event types that the configuration does not name."""
    stored: dict[str, _EventType] = {}
    if installation.has("webhook_event_types"):
        stored = {row.name: row for row in fetch(conn, Query(_TYPES, (), _EventType))}
    result = []
    for name, definition in events.items():
        schema = None if definition.json_schema is None else json.dumps(definition.json_schema, sort_keys=True)
        now = _EventType(name, definition.description, None if schema is None else RawJson(schema))
        sql = render(
            "events/event_type.sql.j2", name=name, description=definition.description, schema=schema, is_wanted=True
        )
        state: Literal["ok", "missing", "outdated"] = "missing"
        if name in stored:
            state = "ok" if stored[name] == now else "outdated"
        result.append(EventState(name, state, sql))
    return result + [
        EventState(name, "orphan", render("events/event_type.sql.j2", name=name, is_wanted=False))
        for name in sorted(stored.keys() - events.keys())
    ]
