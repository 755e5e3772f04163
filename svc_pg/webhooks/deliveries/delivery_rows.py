"""A delivery, its attempts, and the result of a bulk change, as queries return them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, get_args

from svc_pg.database.query import RawJson
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.field_docs import (
    COPY_OF,
    DELIVERY_ID,
    ENDPOINT_ID,
    EVENT_NAME,
    IDEMPOTENCY_KEY,
    KEY,
    MESSAGE_ID,
    MESSAGE_TENANT,
    SEQUENCE,
    XACT_ID,
)
from svc_pg.webhooks.http.transport import RecordedOutcome

Status = Literal["pending", "delivered", "failed", "canceled"]
Cause = Literal["auto", "manual", "test"]

STATUSES: Final[tuple[Status, ...]] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message on its way to one endpoint."""

    id: Annotated[str, DELIVERY_ID]
    message_id: Annotated[str, MESSAGE_ID]
    endpoint_id: Annotated[str, ENDPOINT_ID]
    event_name: Annotated[str, EVENT_NAME]
    status: Annotated[Status, Doc("The state of the delivery.")]
    attempts: Annotated[int, Doc("The number of its attempts so far.", 2)]
    lost_attempts: Annotated[
        int, Doc("The number of those that were lost with their worker; they do not count towards `maxAttempts`.", 0)
    ]
    throttled_attempts: Annotated[
        int,
        Doc(
            "The number of those that a receiver refused that asked to wait; they do not count towards `maxAttempts`.",
            0,
        ),
    ]
    max_attempts: Annotated[int, Doc("The most attempts that it gets.", 8)]
    created_at: Annotated[datetime, Doc("The time at which the message was sent to it.")]
    updated_at: Annotated[datetime, Doc("The time of its last change.")]
    next_attempt_at: Annotated[datetime | None, Doc("The time of the next attempt; null unless it is pending.")]
    finished_at: Annotated[
        datetime | None, Doc("The time at which it was delivered, failed or canceled; null while it is pending.")
    ]
    last_status_code: Annotated[
        int | None, Doc("The status that the receiver answered last; null if it has not answered.", 503)
    ]
    last_error: Annotated[
        str | None, Doc("The error of the last attempt; null if it has none.", "the endpoint answered 503")
    ]


@dataclass(frozen=True, slots=True)
class DeliveryDetail(Delivery):
    """A delivery with the content of its message."""

    tenant: Annotated[str | None, MESSAGE_TENANT]
    idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY]
    key: Annotated[str | None, KEY]
    sequence: Annotated[int | None, SEQUENCE]
    copy_of: Annotated[str | None, COPY_OF]
    xact_id: Annotated[str | None, XACT_ID]
    payload: Annotated[
        RawJson | None, Doc("The payload as it was sent; null once retention has deleted the message.", {"id": 7})
    ]


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt of a delivery."""

    id: Annotated[str, Doc("The id of the attempt.", "901")]
    attempt: Annotated[int, Doc("Its number among those of the delivery.", 1)]
    cause: Annotated[Cause, Doc("Its cause: auto of the schedule, manual of a retry, test of a ping.")]
    started_at: Annotated[datetime, Doc("The time at which it began.")]
    duration_ms: Annotated[int | None, Doc("Its duration in milliseconds; null if it was lost.", 120)]
    outcome: Annotated[RecordedOutcome, Doc("Its outcome.")]
    status_code: Annotated[int | None, Doc("The status that the receiver answered; null if it did not answer.", 503)]
    error: Annotated[str | None, Doc("The error in words; null if it was a success.", "the endpoint answered 503")]
    response_headers: Annotated[
        RawJson | None,
        Doc("The headers of the answer, without cookies; null if there was none.", {"content-type": "text/plain"}),
    ]
    response_body: Annotated[
        str | None, Doc("At most 16 KiB of the body of the answer; null if there was none.", "try later")
    ]
    remote_ip: Annotated[
        str | None, Doc("The address that the worker connected to; null if it did not connect.", "203.0.113.7")
    ]
    worker: Annotated[
        str | None, Doc("The worker; null if it is not known, and for a session of one tenant.", "worker-1")
    ]


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The result of a change of many deliveries."""

    count: Annotated[int, Doc("The number of deliveries that were changed, or would be.", 240)]
    is_complete: Annotated[bool, Doc("True if no more match; else make the same call again.")]


@dataclass(frozen=True, slots=True)
class DeliveryCount:
    """A number of deliveries; there are more unless ``is_complete``."""

    count: int
    is_complete: bool
