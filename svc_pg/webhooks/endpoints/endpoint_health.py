"""The health of endpoints, as a list: their failures, their backlog, and the end of their client certificates."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, LiteralString, Self, TypedDict, Unpack, get_args
from uuid import UUID

from svc_pg.database.filters import Selects, applied
from svc_pg.database.pagination import Keyset, Listing, decode
from svc_pg.database.statements import statement
from svc_pg.database.stretches import filled
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.field_docs import (
    BREAKER_UNTIL,
    CERTIFICATE_END,
    DISABLED_REASON,
    ENDPOINT_ID,
    ENDPOINT_TENANT,
    FAILING_SINCE,
    FAILURE_STREAK,
    LAST_FAILURE,
    LAST_FAILURE_AT,
    LAST_SUCCESS_AT,
    NOTE,
    THROTTLED_UNTIL,
    URL,
)
from svc_pg.webhooks.ids import filter_key

Health = Literal["healthy", "failing", "broken", "throttled", "paused", "disabled"]

HEALTHS: Final[tuple[Health, ...]] = get_args(Health)
MOST_COUNTED: Final = 100  # in the statement too

NEEDS_ATTENTION: Final[LiteralString] = """({endpoint}.client_certificate_expires_at is not null or {id} = any (array(
    select s.endpoint_id from svc.webhook_endpoint_state s where s.failure_streak > 0 or s.breaker_until is not null
))) and (select x.needs_attention from svc.webhook_endpoint_health x where x.endpoint_id = {id})"""
"""The condition on an ``endpoint`` with an ``id``; the health is looked up of those that may have one."""
_NEEDS_ATTENTION: Final = filled(NEEDS_ATTENTION, endpoint="h", id="h.endpoint_id")
_HAS_HEALTH: Final[LiteralString] = """h.endpoint_id = any (array(
    select x.endpoint_id from svc.webhook_endpoint_health x where x.health = %s
))"""

_SELECT: Final = statement("queries/webhooks/endpoint_health.sql")


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """The health of one endpoint."""

    endpoint_id: Annotated[str, ENDPOINT_ID]
    url: Annotated[str, URL]
    description: Annotated[str, NOTE]
    tenant: Annotated[str | None, ENDPOINT_TENANT]
    health: Annotated[Health, Doc("Its health: broken means paused by its circuit breaker, throttled by its receiver.")]
    needs_attention: Annotated[
        bool, Doc("True if it is failing or broken, or if its client certificate ends within 30 days or has ended.")
    ]
    disabled_reason: Annotated[str | None, DISABLED_REASON]
    failure_streak: Annotated[int, FAILURE_STREAK]
    failing_since: Annotated[datetime | None, FAILING_SINCE]
    breaker_until: Annotated[datetime | None, BREAKER_UNTIL]
    throttled_until: Annotated[datetime | None, THROTTLED_UNTIL]
    last_success_at: Annotated[datetime | None, LAST_SUCCESS_AT]
    last_failure_at: Annotated[datetime | None, LAST_FAILURE_AT]
    last_failure: Annotated[str | None, LAST_FAILURE]
    backlog_age: Annotated[
        timedelta | None,
        Doc("The time for which its first pending delivery is overdue; null if none is pending.", 12.5),
    ]
    in_flight: Annotated[int, Doc("The number of attempts under way.", 2)]
    client_certificate_expires_at: Annotated[datetime | None, CERTIFICATE_END]
    failed_deliveries: Annotated[
        int,
        Doc(
            "The number of deliveries of the last day that have no attempt left, among the latest 100 that failed"
            " or were canceled.",
            1,
        ),
    ]


class HealthFilter(TypedDict, total=False):
    """Conditions on endpoints; an endpoint must meet all that are not None."""

    health: Annotated[Health | None, Selects(words="endpoints in this state", word="State")]
    tenant: Annotated[str | None, Selects(words="endpoints of this tenant", example="acme")]
    needs_attention: Annotated[
        bool, Selects(words="endpoints that fail, or whose client certificate ends within 30 days")
    ]
    ids: Annotated[Sequence[str] | None, Selects(words="these endpoints", is_id=True)]


@dataclass(frozen=True, slots=True)
class HealthQuery(Listing[EndpointHealth]):
    """A query of the health of endpoints. Every method returns a new one; ``list`` or ``alist`` runs it."""

    def health(self, health: str) -> Self:
        """Endpoints in one state: healthy, failing, broken, throttled, paused or disabled."""
        if health not in HEALTHS:
            raise QueryError(f"{health!r} is not a health", hint=f"Write one of {', '.join(HEALTHS)}.")
        return self._where(_HAS_HEALTH, health)

    def tenant(self, tenant: str) -> Self:
        """Endpoints of one tenant."""
        return self._where("h.tenant = %s", tenant)

    def ids(self, ids: Sequence[str]) -> Self:
        """These endpoints."""
        return self._where("h.endpoint_id = any(%s)", [filter_key(each) for each in ids])

    def needs_attention(self, wanted: bool) -> Self:  # noqa: FBT001 - the value of a filter
        """Endpoints that need attention, or, if that is not wanted, all."""
        return self._where(_NEEDS_ATTENTION) if wanted else self


_NEWEST: Final = Keyset(
    select=_SELECT,
    row=EndpointHealth,
    order=" order by h.endpoint_id desc",
    beyond="h.endpoint_id < %s",
    reverse_order=" order by h.endpoint_id",
    before="h.endpoint_id > %s",
    key=lambda row: (row.endpoint_id,),
    read=lambda cursor: decode(cursor, UUID),
)


def query() -> HealthQuery:
    """The health of all endpoints, newest first."""
    return HealthQuery(_NEWEST)


def matching(**wanted: Unpack[HealthFilter]) -> HealthQuery:
    """The health of endpoints that meet each filter that is not None. Raises QueryError."""
    return applied(query(), HealthFilter, wanted)
