"""The last outage of an endpoint: its failures, the answers of its receiver, and what waits for its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.deliveries.delivery_rows import DeliveryAttempt
from svc_pg.webhooks.endpoints.endpoint_health import Health
from svc_pg.webhooks.field_docs import (
    BREAKER_UNTIL,
    DELIVERY_ID,
    DISABLED_REASON,
    ENDPOINT_ID,
    EVENT_NAME,
    FAILURE_STREAK,
    LAST_FAILURE,
    LAST_FAILURE_AT,
    LAST_SUCCESS_AT,
    THROTTLED_UNTIL,
)
from svc_pg.webhooks.http.transport import RecordedOutcome
from svc_pg.webhooks.ids import endpoint_key, no_endpoint

MOST_READ: Final = 1000
"""The most deliveries that are counted, and failed attempts that are looked at from either end of the outage."""

_OUTAGE: Final = statement("queries/webhooks/outage.sql")
_ANSWER: Final = {
    "id": "ids",
    "attempt": "numbers",
    "cause": "causes",
    "started_at": "started",
    "duration_ms": "took_ms",
    "outcome": "ends",
    "status_code": "answers",
    "error": "errors",
    "response_headers": "headers",
    "response_body": "bodies",
    "remote_ip": "remote_ips",
    "worker": "workers",
    "delivery_id": "delivery_ids",
    "event_name": "event_names",
}
"""The fields of an answer with their columns, each of which has the first and the last."""


@dataclass(frozen=True, slots=True)
class OutageAttempt:
    """An attempt on the line of an outage."""

    started_at: Annotated[datetime, Doc("The time at which it began.")]
    duration_ms: Annotated[int | None, Doc("Its duration in milliseconds; null if it is unknown.", 120)]
    outcome: Annotated[RecordedOutcome, Doc("Its outcome.")]
    status_code: Annotated[int | None, Doc("The status that the receiver answered; null if it did not answer.", 503)]


@dataclass(frozen=True, slots=True)
class OutageAnswer(DeliveryAttempt):
    """A failed attempt of an outage, with what the receiver answered."""

    delivery_id: Annotated[str, DELIVERY_ID]
    event_name: Annotated[str, EVENT_NAME]


@dataclass(frozen=True, slots=True)
class BreakerStep:
    """A time for which the circuit breaker held deliveries back."""

    since: Annotated[datetime, Doc("The time at which it opened.")]
    until: Annotated[datetime, Doc("The time until which it sent nothing, or will send nothing.")]


@dataclass(frozen=True, slots=True)
class EndpointOutage:
    """The last outage of an endpoint: from its first failure to a success that no failure follows within ten minutes.

    If it has never failed, ``since`` is None, and the rest tells of now. It lasts while ``until`` is None. Deliveries
    are counted up to 1,000.
    """

    endpoint_id: Annotated[str, ENDPOINT_ID]
    at: Annotated[datetime, Doc("The time of this answer, by the database's clock.")]
    health: Annotated[Health, Doc("Its health: broken means paused by its circuit breaker, throttled by its receiver.")]
    disabled_reason: Annotated[str | None, DISABLED_REASON]
    since: Annotated[datetime | None, Doc("The first failure of the outage; null if it has never failed.")]
    until: Annotated[datetime | None, Doc("The success that ended the outage; null while it lasts.")]
    failure_streak: Annotated[int, FAILURE_STREAK]
    breaker_until: Annotated[datetime | None, BREAKER_UNTIL]
    throttled_until: Annotated[datetime | None, THROTTLED_UNTIL]
    next_attempt_at: Annotated[
        datetime | None,
        Doc("The time at which its first pending delivery is or was due, if nothing holds it; null if none is."),
    ]
    last_success_at: Annotated[datetime | None, LAST_SUCCESS_AT]
    last_failure_at: Annotated[datetime | None, LAST_FAILURE_AT]
    last_failure: Annotated[str | None, LAST_FAILURE]
    first_answer: Annotated[
        OutageAnswer | None, Doc("The first failed attempt of the outage; null if none is kept.", None)
    ]
    last_answer: Annotated[OutageAnswer | None, Doc("The last one; null if none is kept.", None)]
    attempts: Annotated[
        Sequence[OutageAttempt],
        Doc(
            "Failed attempts of the outage, the first 100 and the last 100, and up to 60 successes before, in and after"
            " it; oldest first."
        ),
    ]
    is_every_failure: Annotated[bool, Doc("True if `attempts` has each failed attempt of the outage.")]
    steps: Annotated[Sequence[BreakerStep], Doc("The latest 32 steps of the circuit breaker, oldest first.")]
    waiting: Annotated[int, Doc("The number of deliveries that wait or are under way, up to 1,000.", 206)]
    is_waiting_complete: Annotated[bool, Doc("True if no more wait.")]
    waiting_since: Annotated[
        datetime | None, Doc("The time at which the oldest of these was sent; null if none waits.")
    ]
    failed: Annotated[
        int, Doc("The number of deliveries that failed since `since` and have no attempt left, up to 1,000.", 41)
    ]
    is_failed_complete: Annotated[
        bool, Doc("True if no more failed: the endpoint's newest 10,000 that failed or were canceled are looked at.")
    ]

    @property
    def is_lasting(self) -> bool:
        """True if the endpoint has not succeeded since its last failure."""
        return self.since is not None and self.until is None


def outage(endpoint_id: str, *, tenant: str | None = None) -> Query[EndpointOutage]:
    """The last outage of one endpoint, with a ``tenant`` of that tenant's messages alone.

    Running it raises NotFoundError. It reads at most some 20,000 rows by indexes.
    """
    key = endpoint_key(endpoint_id)
    return Query(_OUTAGE, {"endpoint": key, "tenant": tenant, "most": MOST_READ}, _outage, absent=no_endpoint(key))


def _outage(
    *,
    opened_at: Sequence[datetime] | None,
    opened_until: Sequence[datetime] | None,
    starts: Sequence[datetime] | None,
    durations_ms: Sequence[int | None] | None,
    outcomes: Sequence[RecordedOutcome] | None,
    status_codes: Sequence[int | None] | None,
    is_every_attempt: bool,
    is_every_failure: bool,
    waiting: int,
    failed: int,
    **columns: Any,
) -> EndpointOutage:
    first, last = _answers(columns)
    points = zip(starts or (), durations_ms or (), outcomes or (), status_codes or (), strict=True)
    return EndpointOutage(
        first_answer=first,
        last_answer=last,
        attempts=[OutageAttempt(*each) for each in points],
        is_every_failure=is_every_attempt,
        steps=[BreakerStep(*each) for each in zip(opened_at or (), opened_until or (), strict=True)],
        waiting=min(waiting, MOST_READ),
        is_waiting_complete=waiting <= MOST_READ,
        failed=min(failed, MOST_READ),
        is_failed_complete=is_every_failure,
        **columns,
    )


def _answers(columns: dict[str, Any]) -> list[OutageAnswer | None]:
    """Take the columns of the answers, and make the first and the last."""
    rows = zip(*(columns.pop(column) for column in _ANSWER.values()), strict=True)
    return [None if row[0] is None else _answer(**dict(zip(_ANSWER, row, strict=True))) for row in rows]


def _answer(*, response_headers: str | None, **values: Any) -> OutageAnswer:
    return OutageAnswer(response_headers=None if response_headers is None else RawJson(response_headers), **values)
