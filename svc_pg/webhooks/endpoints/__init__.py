"""Endpoints of webhooks: register, read and change them.

Each call runs on your connection and in your transaction, and never commits. On an async connection of psycopg use the
name with an ``a``: ``await webhooks.endpoints.apause(conn, endpoint_id)``. All of them raise NotInstalledError, and
NotFoundError if no endpoint has the id. The audit log names the transaction's actor.
"""

from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection, Connection

from svc_pg.database.pagination import DEFAULT_SIZE, Page, PointInTime
from svc_pg.database.query import afetch_one, fetch_one
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_rows import Changed, Delivery
from svc_pg.webhooks.endpoints import endpoint_health, endpoint_queries, endpoint_stats
from svc_pg.webhooks.endpoints.endpoint_fields import Changes, Options, Ordering, Signature, Status
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth, Health, HealthQuery
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
from svc_pg.webhooks.http.tls import Tls

__all__ = [
    "Changes",
    "Endpoint",
    "EndpointHealth",
    "EndpointStats",
    "EndpointWithSecret",
    "Options",
    "Ordering",
    "Signature",
    "Tls",
    "acreate",
    "adelete",
    "adisable",
    "aget",
    "ahealth",
    "alist",
    "apause",
    "aping",
    "arecover",
    "aresume",
    "arotate_secret",
    "astats",
    "aupdate",
    "create",
    "delete",
    "disable",
    "get",
    "health",
    "list",
    "pause",
    "ping",
    "recover",
    "resume",
    "rotate_secret",
    "stats",
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
    status: Status | None = None,
    tenant: str | None = None,
    event: str | None = None,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
) -> Page[Endpoint]:
    """A page of endpoints, newest first: those of one status, of one tenant, that receive one event.

    ``limit`` is at most 1000; ``after`` is the ``next_cursor`` of the page before. Raises QueryError.
    """
    return _listing(status, tenant, event, limit, after).list(conn)


async def alist(
    conn: AsyncConnection[Any],
    *,
    status: Status | None = None,
    tenant: str | None = None,
    event: str | None = None,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
) -> Page[Endpoint]:
    """As ``list``."""
    return await _listing(status, tenant, event, limit, after).alist(conn)


def stats(conn: Connection[Any], endpoint_id: str, *, window: timedelta = WINDOW) -> EndpointStats:
    """The health of an endpoint now, and the results of its latest deliveries.

    Those of the last ``window`` count, at most 7 days. Raises QueryError.
    """
    return fetch_one(conn, endpoint_stats.stats(endpoint_id, window=window))


async def astats(conn: AsyncConnection[Any], endpoint_id: str, *, window: timedelta = WINDOW) -> EndpointStats:
    """As ``stats``."""
    return await afetch_one(conn, endpoint_stats.stats(endpoint_id, window=window))


def health(
    conn: Connection[Any],
    *,
    health: Health | None = None,
    needs_attention: bool = False,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
) -> Page[EndpointHealth]:
    """A page of the health of endpoints, newest first: of all, of those in one state, of those that need attention.

    ``limit`` and ``after`` as for ``list``. Raises QueryError.
    """
    return _healths(health, needs_attention, limit, after).list(conn)


async def ahealth(
    conn: AsyncConnection[Any],
    *,
    health: Health | None = None,
    needs_attention: bool = False,
    limit: int = DEFAULT_SIZE,
    after: str | None = None,
) -> Page[EndpointHealth]:
    """As ``health``."""
    return await _healths(health, needs_attention, limit, after).alist(conn)


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
) -> Changed:
    """Try the failed and canceled deliveries of an endpoint again, for example after an outage.

    Deliveries that wait for another attempt after a failed one become due too; with ``dry_run`` all are only counted.
    10,000 at a time: call it again, in a transaction of its own, while ``is_complete`` is False. ``since`` is the
    earliest time of their creation, and they were created before ``until``: an aware datetime, or a duration before
    now, for example ``6h``. Raises ConflictError if the endpoint is disabled.
    """
    return fetch_one(conn, delivery_queries.recover(endpoint_id, since=since, until=until, dry_run=dry_run))


async def arecover(
    conn: AsyncConnection[Any],
    endpoint_id: str,
    *,
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    dry_run: bool = False,
) -> Changed:
    """As ``recover``."""
    return await afetch_one(conn, delivery_queries.recover(endpoint_id, since=since, until=until, dry_run=dry_run))


def _listing(
    status: Status | None, tenant: str | None, event: str | None, limit: int, after: str | None
) -> EndpointQuery:
    wanted = endpoint_queries.matching(status=status, tenant=tenant, event=event).limit(limit)
    return wanted if after is None else wanted.after(after)


def _healths(health: Health | None, needs_attention: bool, limit: int, after: str | None) -> HealthQuery:  # noqa: FBT001
    wanted = endpoint_health.matching(health=health, needs_attention=needs_attention).limit(limit)
    return wanted if after is None else wanted.after(after)
