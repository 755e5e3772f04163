"""Create ids, and parse ids in arguments."""

import os
import time
from uuid import UUID

from svc_pg.database.pagination import PointInTime
from svc_pg.database.stretches import Expression, time_of
from svc_pg.errors import NotFoundError, QueryError


def new_id() -> UUID:
    """A UUID version 7, for a row whose id is needed before it is stored, for example to seal a secret for it."""
    stamp = (time.time_ns() // 1_000_000).to_bytes(6, "big")
    value = int.from_bytes(stamp + os.urandom(10), "big")
    return UUID(int=value & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62)


def least_id(point_in_time: PointInTime) -> Expression:
    """An expression for the least id of a message or delivery that was made then or later. Raises QueryError."""
    text, params = time_of(point_in_time)
    return "svc.uuid7_at(" + text + ")", params


def endpoint_key(text: str) -> UUID:
    """The id of one endpoint. Raises NotFoundError if it is not a UUID, because the ids of all endpoints are."""
    return _key(text, kind="endpoint")


def delivery_key(text: str) -> UUID:
    """The id of one delivery. Raises NotFoundError if it is not a UUID."""
    return _key(text, kind="delivery")


def message_key(text: str) -> UUID:
    """The id of one message. Raises NotFoundError if it is not a UUID."""
    return _key(text, kind="message")


def no_endpoint(key: UUID) -> str:
    """The text of the error if no endpoint has this id."""
    return f"no endpoint has the id {key}"


def no_delivery(key: UUID) -> str:
    """The text of the error if no delivery has this id."""
    return f"no delivery has the id {key}"


def no_message(key: UUID) -> str:
    """The text of the error if no message has this id."""
    return f"no message has the id {key}"


def filter_key(text: str) -> UUID:
    """An id to filter by. Raises QueryError."""
    try:
        return UUID(text)
    except ValueError as error:
        raise QueryError(f"{text!r} is not an id", hint="Ids are UUIDs.") from error


def _key(text: str, *, kind: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise NotFoundError(f"no {kind} has the id {text!r}", hint="Ids are UUIDs.") from error
