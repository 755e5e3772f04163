"""Statistics of an endpoint: its health, its backlog, and the results of its latest deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.errors import QueryError
from svc_pg.formats import durations
from svc_pg.webhooks.deliveries.delivery_rows import Status
from svc_pg.webhooks.http.transport import RecordedOutcome
from svc_pg.webhooks.ids import endpoint_key, no_endpoint

WINDOW: Final = timedelta(hours=24)
LONGEST: Final = timedelta(days=7)
MOST_DELIVERIES: Final = 10_000

_STATS: Final = statement("queries/webhooks/endpoint_stats.sql")


@dataclass(frozen=True, slots=True)
class EndpointStats:
    """The latest deliveries, 10,000 at most, that were created in ``window``, and the health as it is now.

    ``deliveries`` counts them by status, ``attempts`` counts their attempts by outcome; ``p50`` and ``p95`` are seconds
    an attempt. ``next_pending_since`` is the time at which the next delivery in turn was created.
    """

    endpoint_id: str
    window: timedelta
    deliveries: Mapping[Status, int]
    attempts: Mapping[RecordedOutcome, int]
    p50: float | None
    p95: float | None
    next_pending_since: datetime | None
    failure_streak: int
    failing_since: datetime | None
    breaker_until: datetime | None
    throttled_until: datetime | None
    last_success_at: datetime | None
    last_failure_at: datetime | None
    last_failure: str | None


def stats(endpoint_id: str, *, window: timedelta = WINDOW) -> Query[EndpointStats]:
    """The statistics of one endpoint over the last ``window``, up to 7 days. Running it raises NotFoundError."""
    if not timedelta(0) < window <= LONGEST:
        raise QueryError(f"{durations.text(window)} is not a window", hint=f"Ask for up to {durations.text(LONGEST)}.")
    key = endpoint_key(endpoint_id)
    parameters = {"endpoint": key, "window": window, "most": MOST_DELIVERIES}
    return Query(_STATS, parameters, _stats, absent=no_endpoint(key))


def _stats(*, deliveries: RawJson, attempts: RawJson, **columns: Any) -> EndpointStats:
    return EndpointStats(deliveries=deliveries.value, attempts=attempts.value, **columns)
