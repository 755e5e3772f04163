"""The traffic of webhooks over time, and the backlog.

Each call runs on your connection and in your transaction. On an async connection of psycopg use the name with an ``a``.
All of them raise NotInstalledError. Each reads at most 15,000 rows, beside the attempts of deliveries that were retried
by hand, and counts at most 100,000 others in an index.
"""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection, Connection

from svc_pg.database.pagination import PointInTime
from svc_pg.database.query import afetch, afetch_one, fetch, fetch_one
from svc_pg.webhooks.traffic import backlog as _backlog
from svc_pg.webhooks.traffic import traffic_queries
from svc_pg.webhooks.traffic.backlog import PendingCounts
from svc_pg.webhooks.traffic.traffic_queries import EndpointActivity, Step, TimedTrafficBucket, Traffic, TrafficBucket

__all__ = [
    "EndpointActivity",
    "PendingCounts",
    "Step",
    "TimedTrafficBucket",
    "Traffic",
    "TrafficBucket",
    "aof_endpoints",
    "aread",
    "awaiting",
    "of_endpoints",
    "read",
    "waiting",
]


def read(
    conn: Connection[Any],
    *,
    by: Step = "hour",
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    endpoint: str | None = None,
) -> Traffic:
    """The deliveries that were sent, and their results, by minute, hour or day; to all endpoints, or to one.

    ``since`` and ``until`` are aware datetimes or durations before now, for example ``6h``; at most 400 buckets.
    Default: the last hour by minute, the last day by hour, the last week by day. Raises QueryError.
    """
    now = fetch_one(conn, traffic_queries.now()).time
    return fetch_one(conn, traffic_queries.traffic(now=now, by=by, since=since, until=until, endpoint=endpoint))


async def aread(
    conn: AsyncConnection[Any],
    *,
    by: Step = "hour",
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    endpoint: str | None = None,
) -> Traffic:
    """As ``read``."""
    now = (await afetch_one(conn, traffic_queries.now())).time
    return await afetch_one(conn, traffic_queries.traffic(now=now, by=by, since=since, until=until, endpoint=endpoint))


def of_endpoints(conn: Connection[Any], endpoints: Sequence[str], *, hours: int = 24) -> Sequence[EndpointActivity]:
    """The traffic of each of up to 100 endpoints in the last hours, 48 at most. Raises QueryError."""
    now = fetch_one(conn, traffic_queries.now()).time
    return fetch(conn, traffic_queries.activity(endpoints, now=now, hours=hours))


async def aof_endpoints(
    conn: AsyncConnection[Any], endpoints: Sequence[str], *, hours: int = 24
) -> Sequence[EndpointActivity]:
    """As ``of_endpoints``."""
    now = (await afetch_one(conn, traffic_queries.now())).time
    return await afetch(conn, traffic_queries.activity(endpoints, now=now, hours=hours))


def waiting(conn: Connection[Any]) -> PendingCounts:
    """The numbers of waiting deliveries, each counted up to 10,000."""
    return fetch_one(conn, _backlog.waiting())


async def awaiting(conn: AsyncConnection[Any]) -> PendingCounts:
    """As ``waiting``."""
    return await afetch_one(conn, _backlog.waiting())
