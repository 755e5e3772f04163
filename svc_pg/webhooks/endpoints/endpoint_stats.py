"""Statistics of an endpoint: its health, its backlog, and the results of its latest deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from svc_pg.database.effects import Effects
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.errors import QueryError
from svc_pg.formats import durations
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.deliveries.delivery_rows import Status
from svc_pg.webhooks.field_docs import (
    BREAKER_UNTIL,
    ENDPOINT_ID,
    FAILING_SINCE,
    FAILURE_STREAK,
    LAST_FAILURE,
    LAST_FAILURE_AT,
    LAST_SUCCESS_AT,
    MEDIAN,
    P95,
    THROTTLED_UNTIL,
)
from svc_pg.webhooks.http.transport import RecordedOutcome
from svc_pg.webhooks.ids import endpoint_key, no_endpoint

WINDOW: Final = timedelta(hours=24)
LONGEST: Final = timedelta(days=7)
MOST_DELIVERIES: Final = 10_000

_STATS: Final = statement("queries/webhooks/endpoint_stats.sql")


@dataclass(frozen=True, slots=True)
class EndpointStats:
    """The latest deliveries of an endpoint, 10,000 at most, and its health as it is now."""

    endpoint_id: Annotated[str, ENDPOINT_ID]
    window: Annotated[timedelta, Doc("The time in which the deliveries were created.", 86400.0)]
    deliveries: Annotated[
        Mapping[Status, int], Doc("The number of deliveries by status.", {"delivered": 117, "failed": 1})
    ]
    attempts: Annotated[
        Mapping[RecordedOutcome, int],
        Doc("The number of their attempts by outcome.", {"success": 117, "timeout": 6}),
    ]
    p50: Annotated[float | None, MEDIAN]
    p95: Annotated[float | None, P95]
    next_pending_since: Annotated[
        datetime | None, Doc("The time at which the next delivery in turn was created; null if none is pending.")
    ]
    failure_streak: Annotated[int, FAILURE_STREAK]
    failing_since: Annotated[datetime | None, FAILING_SINCE]
    breaker_until: Annotated[datetime | None, BREAKER_UNTIL]
    throttled_until: Annotated[datetime | None, THROTTLED_UNTIL]
    last_success_at: Annotated[datetime | None, LAST_SUCCESS_AT]
    last_failure_at: Annotated[datetime | None, LAST_FAILURE_AT]
    last_failure: Annotated[str | None, LAST_FAILURE]


def stats(endpoint_id: str, *, window: timedelta = WINDOW) -> Effects[EndpointStats]:
    """The statistics of one endpoint over the last ``window``, up to 7 days. Raises NotFoundError."""
    if not timedelta(0) < window <= LONGEST:
        raise QueryError(f"{durations.text(window)} is not a window", hint=f"Ask for up to {durations.text(LONGEST)}.")
    key = endpoint_key(endpoint_id)
    found: EndpointStats
    parameters = {"endpoint": key, "window": window, "most": MOST_DELIVERIES}
    [found] = yield ByIndexes(Query(_STATS, parameters, _stats, absent=no_endpoint(key)))
    return found


def _stats(*, deliveries: RawJson, attempts: RawJson, **columns: Any) -> EndpointStats:
    return EndpointStats(deliveries=deliveries.value, attempts=attempts.value, **columns)
