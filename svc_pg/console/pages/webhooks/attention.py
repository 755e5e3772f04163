"""Endpoints that need somebody: which they are, since when, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from svc_pg.console.built_in.webhook_traffic import QueueState
from svc_pg.console.pages import charts
from svc_pg.console.pages.charts import Spark
from svc_pg.console.pages.names import endpoint_name
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.webhooks.activity import activities, delivered_share
from svc_pg.database.pagination import Page
from svc_pg.formats.human_times import relative
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth
from svc_pg.webhooks.traffic.traffic_queries import EndpointActivity

MOST: Final = 6


@dataclass(frozen=True, slots=True)
class Needing:
    """An endpoint that needs somebody; ``share`` is the part that was delivered, in percent."""

    health: EndpointHealth
    name: str
    why: str
    spark: Spark
    share: float | None

    @property
    def is_bad(self) -> bool:
        """True if deliveries fail."""
        return self.health.health in ("failing", "broken", "disabled")


async def needing(request: PageRequest, queue: QueueState) -> Sequence[Needing]:
    """The endpoints that fail, then those that somebody paused or that were disabled: six at most."""
    wanted = [{"needsAttention": "true"}]
    wanted += [{"health": "disabled"}] if queue.backlog.disabled else []
    wanted += [{"health": "paused"}] if queue.backlog.paused else []
    found: dict[str, EndpointHealth] = {}
    for filters in wanted:
        if len(found) < MOST:
            page = await request.api.get(
                Page[EndpointHealth], "webhooks", "endpoints", "health", query={"limit": str(MOST), **filters}
            )
            found |= {health.endpoint_id: health for health in page if health.endpoint_id not in found}
    chosen = list(found.values())[:MOST]
    if not chosen:
        return []
    activity = await activities(request, [health.endpoint_id for health in chosen])
    return [_needing(health, activity.get(health.endpoint_id), request.now) for health in chosen]


def _needing(health: EndpointHealth, activity: EndpointActivity | None, now: datetime) -> Needing:
    hours = [] if activity is None else activity.hours
    name = endpoint_name(health.description, health.url)
    spark = charts.spark([hour.delivered for hour in hours])
    return Needing(health, name, _why(health, now), spark, delivered_share(hours))


def _why(health: EndpointHealth, now: datetime) -> str:
    match health.health:
        case "disabled":
            reason = health.disabled_reason or "disabled"
            return reason[:1].upper() + reason[1:]
        case "paused":
            return "Nothing is sent until it is resumed"
        case "failing" | "broken":
            times = "once" if health.failure_streak == 1 else f"{health.failure_streak} times in a row"
            failure = health.last_failure or "failed"
            return f"{failure[:1].upper()}{failure[1:]}{',' if health.last_failure else ''} {times}"
        case "healthy" | "throttled":
            ends = health.client_certificate_expires_at
            return "" if ends is None else f"Client certificate ends {relative(ends, now)}"
        case _:
            assert_never(health.health)
