"""Messages of webhooks: the events that were sent. Their deliveries are in ``webhooks.deliveries``.

Each call runs on your connection and in your transaction. On an async connection of psycopg use the name with an ``a``.
All of them raise NotInstalledError.
"""

from collections.abc import Sequence
from typing import Any, Unpack

from psycopg import AsyncConnection, Connection

from svc_pg.database.pagination import DEFAULT_SIZE, Page
from svc_pg.database.query import afetch, afetch_one, fetch, fetch_one
from svc_pg.webhooks import payload_search
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.messages.message_queries import Message, MessageDetail, MessageFilter, MessageQuery
from svc_pg.webhooks.payload_search import SearchKey

__all__ = [
    "Message",
    "MessageDetail",
    "MessageFilter",
    "SearchKey",
    "aget",
    "alist",
    "asearch_keys",
    "get",
    "list",
    "search_keys",
]


def list(  # noqa: A001 - the word that users know
    conn: Connection[Any], *, limit: int = DEFAULT_SIZE, after: str | None = None, **which: Unpack[MessageFilter]
) -> Page[Message]:
    """A page of the messages that ``which`` selects, newest first; for example ``tenant="acme", since="6h"``.

    ``limit`` is at most 1000; ``after`` is the ``next_cursor`` of the page before. Raises QueryError.
    """
    return _listing(limit, after, which).list(conn)


async def alist(
    conn: AsyncConnection[Any], *, limit: int = DEFAULT_SIZE, after: str | None = None, **which: Unpack[MessageFilter]
) -> Page[Message]:
    """As ``list``."""
    return await _listing(limit, after, which).alist(conn)


def get(conn: Connection[Any], message_id: str) -> MessageDetail:
    """One message, with its payload. Raises NotFoundError."""
    return fetch_one(conn, message_queries.get(message_id))


async def aget(conn: AsyncConnection[Any], message_id: str) -> MessageDetail:
    """As ``get``."""
    return await afetch_one(conn, message_queries.get(message_id))


def search_keys(conn: Connection[Any]) -> Sequence[SearchKey]:
    """The keys by whose values messages and deliveries are found, each with its event, in the order of the keys."""
    return fetch(conn, payload_search.search_keys())


async def asearch_keys(conn: AsyncConnection[Any]) -> Sequence[SearchKey]:
    """As ``search_keys``."""
    return await afetch(conn, payload_search.search_keys())


def _listing(limit: int, after: str | None, which: MessageFilter) -> MessageQuery:
    wanted = message_queries.matching(**which).limit(limit)
    return wanted if after is None else wanted.after(after)
