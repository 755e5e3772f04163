"""The events that a database knows: those of the configuration, and svc-pg's own."""

from dataclasses import dataclass
from datetime import datetime

from svc_pg.query import Query, RawJson

_SELECT = "select name, description, schema, synced_at from svc.webhook_event_types order by name"


@dataclass(frozen=True, slots=True)
class EventType:
    """An event that endpoints can subscribe to, and the JSON Schema of its payload, if it has one."""

    name: str
    description: str
    schema: RawJson | None
    synced_at: datetime


def event_types() -> Query[EventType]:
    """All events, by name."""
    return Query(_SELECT, (), EventType)
