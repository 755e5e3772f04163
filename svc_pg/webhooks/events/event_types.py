"""The events that a database knows: those of the configuration, and svc-pg's own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.formats.json_writer import encode
from svc_pg.webhooks.events.payload_examples import example

MOST_COUNTED: Final = 1000  # in the statement too

_SELECT: Final = statement("queries/webhooks/event_types.sql")


@dataclass(frozen=True, slots=True)
class EventType:
    """An event that endpoints can subscribe to.

    ``schema`` is the JSON Schema of its payload, if it has one, and ``example`` a payload made from that. ``endpoints``
    is the number of its subscribers, counted up to 1,000, without disabled ones.
    """

    name: str
    description: str
    schema: RawJson | None
    example: RawJson | None
    endpoints: int
    synced_at: datetime


def event_types(*, tenant: str | None = None) -> Query[EventType]:
    """All events, by name; with a ``tenant``, only its endpoints are counted."""
    return Query(_SELECT, {"tenant": tenant}, _event_type)


def _event_type(
    *, name: str, description: str, schema: RawJson | None, endpoints: int, synced_at: datetime
) -> EventType:
    made = None if schema is None else RawJson(encode(example(schema.value)).decode())
    return EventType(name, description, schema, made, endpoints, synced_at)
