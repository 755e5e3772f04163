"""A delivery, its attempts, and the result of a bulk change, as queries return them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from svc_pg.database.query import RawJson
from svc_pg.webhooks.http.transport import RecordedOutcome

Status = Literal["pending", "delivered", "failed", "canceled"]
Cause = Literal["auto", "manual", "test"]

STATUSES: Final[tuple[Status, ...]] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message on its way to one endpoint.

    ``lost_attempts`` of its ``attempts`` were lost with their worker, and ``throttled_attempts`` were refused by a
    receiver that asked to wait; these do not count towards ``max_attempts``.
    """

    id: str
    message_id: str
    endpoint_id: str
    event_name: str
    status: Status
    attempts: int
    lost_attempts: int
    throttled_attempts: int
    max_attempts: int
    created_at: datetime
    updated_at: datetime
    next_attempt_at: datetime | None
    finished_at: datetime | None
    last_status_code: int | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class DeliveryDetail(Delivery):
    """A delivery with the content of its message; ``payload`` is None once retention has deleted the message.

    ``xact_id`` is the transaction that sent the message: its entries in the audit log are the cause. ``copy_of`` is the
    original, if a replay has made the message.
    """

    tenant: str | None
    idempotency_key: str | None
    key: str | None
    sequence: int | None
    copy_of: str | None
    xact_id: str | None
    payload: RawJson | None


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt, with at most 16 KiB of the body of the response, and no cookies."""

    id: str
    attempt: int
    cause: Cause
    started_at: datetime
    duration_ms: int | None
    outcome: RecordedOutcome
    status_code: int | None
    error: str | None
    response_headers: RawJson | None
    response_body: str | None
    remote_ip: str | None
    worker: str | None


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The number of deliveries that were, or would be, changed; ``is_complete`` says that no more match."""

    count: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class DeliveryCount:
    """A number of deliveries; there are more unless ``is_complete``."""

    count: int
    is_complete: bool
