"""The last hours of endpoints: the number of deliveries, and the share of successes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from svc_pg.console.pages import charts
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.webhooks.traffic.traffic_queries import EndpointActivity, TrafficBucket

HOURS: Final = 12
"""The number of hours."""


async def activities(request: PageRequest, endpoint_ids: Iterable[str]) -> Mapping[str, EndpointActivity]:
    """The messages sent to each of these endpoints, by its id, in one call. There must be at least one."""
    query = {"ids": ",".join(endpoint_ids), "hours": str(HOURS)}
    found = await request.api.get(list[EndpointActivity], "webhooks", "endpoints", "activity", query=query)
    return {each.endpoint_id: each for each in found}


def delivered_share(hours: Sequence[TrafficBucket]) -> float | None:
    """The part of those whose time has come that was delivered, in percent; None if there are none."""
    come = sum(hour.come for hour in hours)
    return charts.share(sum(hour.delivered for hour in hours), come) if come else None
