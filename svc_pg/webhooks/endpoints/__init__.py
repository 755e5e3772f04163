"""Endpoints of webhooks: register, read and change them.

Each call runs on your connection and in your transaction, and never commits. On an async connection of psycopg use the
name with an ``a``: ``await webhooks.endpoints.apause(conn, endpoint_id)``. All of them raise NotInstalledError, and
NotFoundError if no endpoint has the id. The audit log names the transaction's actor.
"""

from datetime import timedelta
from typing import Any, Unpack

from psycopg import AsyncConnection, Connection

from svc_pg.database.pagination import DEFAULT_SIZE, Page, PointInTime
from svc_pg.database.performing import arun, run
from svc_pg.database.query import afetch_one, fetch_one
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult, Delivery
from svc_pg.webhooks.endpoints import endpoint_health, endpoint_queries, endpoint_stats, outages
from svc_pg.webhooks.endpoints.endpoint_fields import Changes, Options, Ordering, Signature
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth, HealthFilter, HealthQuery
from svc_pg.webhooks.endpoints.endpoint_queries import EndpointQuery
from svc_pg.webhooks.endpoints.endpoint_registration import (
    acreate,
    arotate_secret,
    aupdate,
    create,
    rotate_secret,
    update,
)
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint, EndpointWithSecret
from svc_pg.webhooks.endpoints.endpoint_stats import WINDOW, EndpointStats
from svc_pg.webhooks.endpoints.outages import BreakerStep, EndpointOutage, OutageAnswer, OutageAttempt
from svc_pg.webhooks.endpoints.tried_filters import TriedMessage, atry_filter, try_filter
from svc_pg.webhooks.http.tls import Tls

__all__ = [
    "BreakerStep",
    "Changes",
    "Endpoint",
    "EndpointFilter",
    "EndpointHealth",
    "EndpointOutage",
    "EndpointStats",
    "EndpointWithSecret",
    "HealthFilter",
    "Options",
    "Ordering",
    "OutageAnswer",
    "OutageAttempt",
    "Signature",
    "Tls",
    "TriedMessage",
    "acreate",
    "adelete",
    "adisable",
    "aget",
    "ahealth",
    "alist",
    "aoutage",
    "apause",
    "aping",
    "arecover",
    "aresume",
    "arotate_secret",
    "astats",
    "atry_filter",
    "aupdate",
    "create",
    "delete",
    "disable",
    "get",
    "health",
    "list",
    "outage",
    "pause",
    "ping",
    "recover",
    "resume",
    "rotate_secret",
    "stats",
    "try_filter",
    "update",
]


def get(conn: Connection[Any], endpoint_id: str) -> Endpoint:
    """One endpoint."""
    return fetch_one(conn, endpoint_queries.get(endpoint_id))


async def aget(conn: AsyncConnection[Any], endpoint_id: str) -> Endpoint:
    """As ``get``."""
    return await afetch_one(conn, endpoint_queries.get(endpoint_id))


def list(  # noqa: A001 - the word that users know
    conn: Connection[Any],
    *,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
    **which: Unpack[EndpointFilter],
) -> Page[Endpoint]:
    """A page of the endpoints that ``which`` selects, newest first; for example ``status="active", tenant="acme"``.

    ``limit`` is at most 1000; ``after`` is the ``next_cursor`` of the page before. Raises QueryError.
    """
    return _listing(limit, after, which).list(conn)


async def alist(
    conn: AsyncConnection[Any],
    *,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
    **which: Unpack[EndpointFilter],
) -> Page[Endpoint]:
    """As ``list``."""
    return await _listing(limit, after, which).alist(conn)


def stats(conn: Connection[Any], endpoint_id: str, *, window: timedelta = WINDOW) -> EndpointStats:
    """The health of an endpoint now, and the results of its latest deliveries.

    Those of the last ``window`` count, at most 7 days. Raises QueryError.
    """
    return run(conn, endpoint_stats.stats(endpoint_id, window=window))


async def astats(conn: AsyncConnection[Any], endpoint_id: str, *, window: timedelta = WINDOW) -> EndpointStats:
    """As ``stats``."""
    return await arun(conn, endpoint_stats.stats(endpoint_id, window=window))


def health(
    conn: Connection[Any],
    *,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
    **which: Unpack[HealthFilter],
) -> Page[EndpointHealth]:
    """A page of the health of the endpoints that ``which`` selects, newest first.

    ``limit`` and ``after`` as for ``list``. Raises QueryError.
    """
    return _healths(limit, after, which).list(conn)


async def ahealth(
    conn: AsyncConnection[Any],
    *,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
    **which: Unpack[HealthFilter],
) -> Page[EndpointHealth]:
    """As ``health``."""
    return await _healths(limit, after, which).alist(conn)


def outage(conn: Connection[Any], endpoint_id: str) -> EndpointOutage:
    """The last outage of an endpoint: since when it fails, what it answers, and what waits; also after its end.

    Deliveries are counted up to 1,000, and answers have 16 KiB of body at most, as they are kept.
    """
    return fetch_one(conn, outages.outage(endpoint_id))


async def aoutage(conn: AsyncConnection[Any], endpoint_id: str) -> EndpointOutage:
    """As ``outage``."""
    return await afetch_one(conn, outages.outage(endpoint_id))


def pause(conn: Connection[Any], endpoint_id: str) -> Endpoint:
    """Send nothing for now; pending and new deliveries wait."""
    return fetch_one(conn, endpoint_queries.pause(endpoint_id))


async def apause(conn: AsyncConnection[Any], endpoint_id: str) -> Endpoint:
    """As ``pause``."""
    return await afetch_one(conn, endpoint_queries.pause(endpoint_id))


def resume(conn: Connection[Any], endpoint_id: str) -> Endpoint:
    """Make a paused or disabled endpoint active and forget its failures. ``recover`` restores canceled deliveries."""
    return fetch_one(conn, endpoint_queries.resume(endpoint_id))


async def aresume(conn: AsyncConnection[Any], endpoint_id: str) -> Endpoint:
    """As ``resume``."""
    return await afetch_one(conn, endpoint_queries.resume(endpoint_id))


def disable(conn: Connection[Any], endpoint_id: str, *, reason: str = "disabled by hand") -> Endpoint:
    """Stop sending: cancel pending deliveries, and take no more messages until ``resume``."""
    return fetch_one(conn, endpoint_queries.disable(endpoint_id, reason=reason))


async def adisable(conn: AsyncConnection[Any], endpoint_id: str, *, reason: str = "disabled by hand") -> Endpoint:
    """As ``disable``."""
    return await afetch_one(conn, endpoint_queries.disable(endpoint_id, reason=reason))


def delete(conn: Connection[Any], endpoint_id: str) -> Endpoint:
    """Delete an endpoint and cancel its pending deliveries, which stay on record. Returns the deleted endpoint."""
    return fetch_one(conn, endpoint_queries.delete(endpoint_id))


async def adelete(conn: AsyncConnection[Any], endpoint_id: str) -> Endpoint:
    """As ``delete``."""
    return await afetch_one(conn, endpoint_queries.delete(endpoint_id))


def ping(conn: Connection[Any], endpoint_id: str) -> Delivery:
    """Send the event ``webhook.ping`` to an endpoint, with one attempt. Raises ConflictError if it is not active."""
    return fetch_one(conn, delivery_queries.ping(endpoint_id))


async def aping(conn: AsyncConnection[Any], endpoint_id: str) -> Delivery:
    """As ``ping``."""
    return await afetch_one(conn, delivery_queries.ping(endpoint_id))


def recover(
    conn: Connection[Any],
    endpoint_id: str,
    *,
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    dry_run: bool = False,
) -> BulkResult:
    """Try the failed and canceled deliveries of an endpoint again, for example after an outage.

    Deliveries that wait for another attempt after a failed one become due too; with ``dry_run`` all are only counted.
    10,000 at a time: call it again, in a transaction of its own, while ``is_complete`` is False. ``since`` is the
    earliest time of their creation, and they were created before ``until``: an aware datetime, or a duration before
    now, for example ``6h``. Raises ConflictError if the endpoint is disabled.
    """
    return run(conn, delivery_queries.recover(endpoint_id, since=since, until=until, dry_run=dry_run))


async def arecover(
    conn: AsyncConnection[Any],
    endpoint_id: str,
    *,
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    dry_run: bool = False,
) -> BulkResult:
    """As ``recover``."""
    return await arun(conn, delivery_queries.recover(endpoint_id, since=since, until=until, dry_run=dry_run))


def _listing(limit: int, after: str | None, which: EndpointFilter) -> EndpointQuery:
    wanted = endpoint_queries.matching(**which).limit(limit)
    return wanted if after is None else wanted.after(after)


def _healths(limit: int, after: str | None, which: HealthFilter) -> HealthQuery:
    wanted = endpoint_health.matching(**which).limit(limit)
    return wanted if after is None else wanted.after(after)
