"""Read the entries before and after one entry."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.audit.log.entry import WITH_ID, Entry
from svc_pg.audit.read import audit_query
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.listing import listing
from svc_pg.database.pagination import Page, encode
from svc_pg.database.query import afetch
from svc_pg.errors import NotFoundError, QueryError

LEAST_SIZE: Final = 3

Connect = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]


async def around(connect: Connect, query: AuditQuery, entry_id: str, *, max_bytes: int) -> Page[Entry]:
    """The entry with this id between those that ``query`` selects before and after it, in the order of ``query``.

    The entry comes whether the query selects it or not. The page has at least one entry on each side, and ends on each
    before it has more than half of ``max_bytes``. Raises QueryError if the page is smaller than three or ``entry_id``
    is no id, and NotFoundError.
    """
    check_size(query)
    keyset = listing(query).keyset
    async with connect() as conn:
        one = replace(audit_query.entry(entry_id), text=keyset.select + WITH_ID, row=keyset.row)
        found = await afetch(conn, one)
    if not found:
        raise NotFoundError(f"the log has no entry {entry_id}")
    cursor, half = encode(keyset.key(found[0])), query.limit((query.size - 1) // 2)
    # a page that is cut ends its transaction
    async with connect() as conn:
        earlier = await half.before(cursor).alist(conn, max_bytes=max_bytes // 2)
    async with connect() as conn:
        later = await half.after(cursor).alist(conn, max_bytes=max_bytes // 2)
    return Page([*earlier.data, *found, *later.data], later.next_cursor, earlier.prev_cursor)


def check_size(query: AuditQuery) -> None:
    """Raise QueryError if the page has no room for an entry on each side."""
    if query.size < LEAST_SIZE:
        raise QueryError(f"a page around an entry cannot have {query.size} rows", hint=f"Ask for {LEAST_SIZE} or more.")
