"""Deliveries of webhooks: read, retry and cancel them.

Each call runs on your connection and in your transaction, and never commits. On an async connection of psycopg use the
name with an ``a``: ``await webhooks.deliveries.aretry(conn, delivery_id)``. All of them raise NotInstalledError, and
NotFoundError if no delivery has the id.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from psycopg import AsyncConnection, Connection

from svc_pg.database.pagination import DEFAULT_SIZE, Page
from svc_pg.database.performing import arun, run
from svc_pg.database.query import afetch, afetch_one, fetch, fetch_one
from svc_pg.webhooks.deliveries import delivery_queries, delivery_reasons, delivery_request, replay_queries
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter, ReplayFilter
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_reasons import DeliveryReason
from svc_pg.webhooks.deliveries.delivery_request import DeliveryPost, HttpHeader
from svc_pg.webhooks.deliveries.delivery_rows import (
    BulkResult,
    Delivery,
    DeliveryAttempt,
    DeliveryCount,
    DeliveryDetail,
)
from svc_pg.webhooks.deliveries.replay_queries import ReplayBy, ReplayResult
from svc_pg.webhooks.secrets import KeyRing

if TYPE_CHECKING:
    from svc_pg.settings import Settings

__all__ = [
    "BulkResult",
    "Delivery",
    "DeliveryAttempt",
    "DeliveryCount",
    "DeliveryDetail",
    "DeliveryFilter",
    "DeliveryPost",
    "DeliveryReason",
    "HttpHeader",
    "ReplayOptions",
    "ReplayResult",
    "aattempts",
    "acancel",
    "acancel_all",
    "acount",
    "aget",
    "alist",
    "areplay",
    "arequest",
    "aretry",
    "aretry_all",
    "attempts",
    "awhy",
    "cancel",
    "cancel_all",
    "count",
    "get",
    "list",
    "replay",
    "request",
    "retry",
    "retry_all",
    "why",
]


class ReplayOptions(ReplayFilter, total=False):
    """The messages of a replay, and how they are sent.

    ``since`` and ``until`` are as in ``DeliveryFilter``, but apply to the time of sending; ``event`` is a name.
    ``status`` chooses deliveries that are ``delivered``, ``failed`` or ``canceled``, or ``missing`` messages, which the
    endpoint would get today and never got. Default: all four. If ``by`` is ``finished``, ``since`` and ``until`` apply
    to the time at which a delivery failed or was canceled, and ``status`` is one of these two.

    A repeat has the id of its delivery, so receivers recognize it. With ``new_ids`` it is a copy of the message, which
    receivers take for a new one; key, sequence and timestamp stay. ``dry_run`` only counts. ``after`` continues a
    replay, with the same options.
    """

    by: ReplayBy
    new_ids: bool
    dry_run: bool
    after: str | None


def list(  # noqa: A001 - the word that users know
    conn: Connection[Any], *, limit: int = DEFAULT_SIZE, after: str | None = None, **which: Unpack[DeliveryFilter]
) -> Page[Delivery]:
    """A page of the deliveries that ``which`` selects, newest first; for example ``status="failed", since="6h"``.

    ``limit`` is at most 1000; ``after`` is the ``next_cursor`` of the page before. Raises QueryError.
    """
    return _listing(limit, after, which).list(conn)


async def alist(
    conn: AsyncConnection[Any], *, limit: int = DEFAULT_SIZE, after: str | None = None, **which: Unpack[DeliveryFilter]
) -> Page[Delivery]:
    """As ``list``."""
    return await _listing(limit, after, which).alist(conn)


def count(conn: Connection[Any], **which: Unpack[DeliveryFilter]) -> DeliveryCount:
    """The number of the deliveries that ``which`` selects, up to 10,000 among the first 20,000 of the list.

    Raises QueryError.
    """
    return run(conn, delivery_queries.matching(**which).count())


async def acount(conn: AsyncConnection[Any], **which: Unpack[DeliveryFilter]) -> DeliveryCount:
    """As ``count``."""
    return await arun(conn, delivery_queries.matching(**which).count())


def get(conn: Connection[Any], delivery_id: str) -> DeliveryDetail:
    """One delivery, with the payload of its message."""
    return fetch_one(conn, delivery_queries.get(delivery_id))


async def aget(conn: AsyncConnection[Any], delivery_id: str) -> DeliveryDetail:
    """As ``get``."""
    return await afetch_one(conn, delivery_queries.get(delivery_id))


def attempts(conn: Connection[Any], delivery_id: str) -> Sequence[DeliveryAttempt]:
    """The attempts of a delivery, oldest first, each with up to 16 KiB of the response."""
    return fetch(conn, delivery_queries.attempts(delivery_id))


async def aattempts(conn: AsyncConnection[Any], delivery_id: str) -> Sequence[DeliveryAttempt]:
    """As ``attempts``."""
    return await afetch(conn, delivery_queries.attempts(delivery_id))


def why(conn: Connection[Any], delivery_id: str) -> Sequence[DeliveryReason]:
    """The reasons for which a delivery waits now, each in a sentence, by the conditions of a worker's claim.

    If it has ended, how it has.
    """
    return fetch(conn, delivery_reasons.why(delivery_id))


async def awhy(conn: AsyncConnection[Any], delivery_id: str) -> Sequence[DeliveryReason]:
    """As ``why``."""
    return await afetch(conn, delivery_reasons.why(delivery_id))


def request(conn: Connection[Any], delivery_id: str, *, settings: "Settings | None" = None) -> DeliveryPost:
    """The POST that an attempt would make now: URL, headers, body.

    With ``settings``, whose keys open the secret, it is signed as of now, and lists the names of sealed headers.
    """
    sealed = fetch_one(conn, delivery_request.get(delivery_id))
    return delivery_request.delivery_post(sealed, keys=_keys(settings), is_signed=True)


async def arequest(conn: AsyncConnection[Any], delivery_id: str, *, settings: "Settings | None" = None) -> DeliveryPost:
    """As ``request``."""
    sealed = await afetch_one(conn, delivery_request.get(delivery_id))
    return delivery_request.delivery_post(sealed, keys=_keys(settings), is_signed=True)


def retry(conn: Connection[Any], delivery_id: str) -> Delivery:
    """Make a failed or canceled delivery due now, with its remaining attempts or at least one more.

    A pending one becomes due too, without waiting for its next attempt or the end of its delay. Raises ConflictError if
    it is delivered, due already or under way, or its endpoint is disabled or was deleted.
    """
    return fetch_one(conn, delivery_queries.retry(delivery_id))


async def aretry(conn: AsyncConnection[Any], delivery_id: str) -> Delivery:
    """As ``retry``."""
    return await afetch_one(conn, delivery_queries.retry(delivery_id))


def cancel(conn: Connection[Any], delivery_id: str) -> Delivery:
    """Cancel a pending delivery, or a failed one that blocks its key.

    Raises ConflictError in other states, and while an attempt is under way.
    """
    return fetch_one(conn, delivery_queries.cancel(delivery_id))


async def acancel(conn: AsyncConnection[Any], delivery_id: str) -> Delivery:
    """As ``cancel``."""
    return await afetch_one(conn, delivery_queries.cancel(delivery_id))


def retry_all(conn: Connection[Any], *, dry_run: bool = False, **which: Unpack[DeliveryFilter]) -> BulkResult:
    """Make the failed and canceled deliveries that ``which`` selects due now; with ``dry_run`` only count them.

    Deliveries that wait for another attempt after a failed one become due too. 10,000 at a time: call it again, in a
    transaction of its own, while ``is_complete`` is False. Skips deliveries to endpoints that are disabled or deleted.
    Raises QueryError, also if ``which`` is empty.
    """
    return run(conn, delivery_queries.matching(**which).retry(dry_run=dry_run))


async def aretry_all(
    conn: AsyncConnection[Any], *, dry_run: bool = False, **which: Unpack[DeliveryFilter]
) -> BulkResult:
    """As ``retry_all``."""
    return await arun(conn, delivery_queries.matching(**which).retry(dry_run=dry_run))


def cancel_all(conn: Connection[Any], *, dry_run: bool = False, **which: Unpack[DeliveryFilter]) -> BulkResult:
    """Cancel the pending deliveries that ``which`` selects; with ``dry_run`` only count them.

    Skips those with an attempt under way. Otherwise as ``retry_all``.
    """
    return run(conn, delivery_queries.matching(**which).cancel(dry_run=dry_run))


async def acancel_all(
    conn: AsyncConnection[Any], *, dry_run: bool = False, **which: Unpack[DeliveryFilter]
) -> BulkResult:
    """As ``cancel_all``."""
    return await arun(conn, delivery_queries.matching(**which).cancel(dry_run=dry_run))


def replay(conn: Connection[Any], endpoint_id: str, **options: Unpack[ReplayOptions]) -> ReplayResult:
    """Deliver messages of a period to an endpoint once more, regardless of their first result.

    10,000 messages at a time, or as many as take two seconds: call it again, in a transaction of its own and with
    ``next_cursor`` as ``after``, until that is None. Raises QueryError, and ConflictError if the endpoint is disabled.
    """
    return fetch_one(conn, replay_queries.replay(endpoint_id, **options))


async def areplay(conn: AsyncConnection[Any], endpoint_id: str, **options: Unpack[ReplayOptions]) -> ReplayResult:
    """As ``replay``."""
    return await afetch_one(conn, replay_queries.replay(endpoint_id, **options))


def _keys(settings: "Settings | None") -> KeyRing | None:
    return None if settings is None else KeyRing.of(settings)


def _listing(limit: int, after: str | None, which: DeliveryFilter) -> DeliveryQuery:
    wanted = delivery_queries.matching(**which).limit(limit)
    return wanted if after is None else wanted.after(after)
