"""The events that a database knows: those of the configuration, and svc-pg's own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.formats.json_writer import encode
from svc_pg.webhooks.events.payload_examples import example
from svc_pg.webhooks.field_docs import EVENT_NAME

MOST_COUNTED: Final = 1000  # in the statement too

_SELECT: Final = statement("queries/webhooks/event_types.sql")


@dataclass(frozen=True, slots=True)
class EventType:
    """An event that endpoints can subscribe to."""

    name: Annotated[str, EVENT_NAME]
    description: Annotated[str, Doc("A description for people.", "An order was placed")]
    schema: Annotated[RawJson | None, Doc("The JSON Schema of its payload; null if it has none.", {"type": "object"})]
    example: Annotated[RawJson | None, Doc("A payload made from the schema; null if there is none.", {"id": 7})]
    endpoints: Annotated[int, Doc("The number of its subscribers, counted up to 1,000, without disabled ones.", 3)]
    synced_at: Annotated[datetime, Doc("The time at which an install last wrote it.")]


def event_types(*, tenant: str | None = None) -> Query[EventType]:
    """All events, by name; with a ``tenant``, only its endpoints are counted."""
    return Query(_SELECT, {"tenant": tenant}, _event_type)


def _event_type(
    *, name: str, description: str, schema: RawJson | None, endpoints: int, synced_at: datetime
) -> EventType:
    made = None if schema is None else RawJson(encode(example(schema.value)).decode())
    return EventType(name, description, schema, made, endpoints, synced_at)
