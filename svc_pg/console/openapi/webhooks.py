"""The requests that a receiver of svc-pg's own events gets, as the ``webhooks`` of an OpenAPI document."""

from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Final, cast

from pydantic import JsonValue

from svc_pg.console.openapi.json_schema import Schema, Schemas
from svc_pg.webhooks.events.own_events import Envelope, OwnEvent
from svc_pg.webhooks.field_docs import DELIVERY_ID

_HEADERS: Final[Mapping[str, tuple[str, object]]] = {
    "webhook-id": (DELIVERY_ID.words, DELIVERY_ID.example),
    "webhook-timestamp": ("The time of the attempt, in Unix seconds.", "1773480413"),
    "webhook-signature": (
        "One or more signatures of {webhook-id}.{webhook-timestamp}.{body}, with spaces between them (Standard"
        " Webhooks).",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
}
_RESPONSES: Final[Mapping[str, str]] = {
    "2XX": "The receiver has it. Any other answer is a failure, and is retried while attempts are left.",
    "410": "The receiver wants nothing more: the endpoint is disabled.",
    "429": "The receiver asks to wait, as its header Retry-After says; no attempt is used up.",
}


def webhooks(events: Sequence[OwnEvent], schemas: Schemas, *, tag: str) -> dict[str, JsonValue]:
    """A path item for each event, by its name."""
    return {event.name: {"post": _operation(event, schemas, tag)} for event in events}


def _operation(event: OwnEvent, schemas: Schemas, tag: str) -> JsonValue:
    return {
        "operationId": f"receive.{event.name.replace('.', '_')}",
        "tags": [tag],
        "summary": event.description,
        "description": event.sent,
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "description": words,
                "required": True,
                "schema": {"type": "string", "examples": [cast(JsonValue, example)]},
            }
            for name, (words, example) in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _envelope(event, schemas)}}},
        "responses": {status: {"description": words} for status, words in _RESPONSES.items()},
    }


def _envelope(event: OwnEvent, schemas: Schemas) -> Schema:
    envelope = schemas.of(GenericAlias(Envelope, (event.data,)))
    properties = cast(dict[str, Schema], envelope["properties"])
    named: Schema = {**properties["type"], "const": event.name, "examples": [event.name]}
    return {**envelope, "properties": {**properties, "type": named}}
