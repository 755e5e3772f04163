"""Follow the audit log page by page: every entry once, including those of transactions that commit late."""

from dataclasses import replace
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.horizon import epoch_of, horizon_after, number_in
from svc_pg.audit.read.listing import listing, times_of
from svc_pg.audit.read.log_position import NOW, Position, position_of
from svc_pg.audit.read.settled_stretch import Steps, settled
from svc_pg.database.pagination import Page
from svc_pg.database.performing import arun
from svc_pg.database.query import afetch_one

MAX_STRETCHES: Final = 20
"""The stretches of 10,000 entries that a page looks at."""


async def following(conn: AsyncConnection[Any], query: AuditQuery, cursor: str, *, max_bytes: int) -> Page[Entry]:
    """The entries after ``cursor`` that ``query`` selects, the oldest first, in the order of capture.

    ``next_cursor`` is never None: an empty page means that there are no more entries at the moment, or that none of the
    200,000 that it looked at is selected. ``cursor`` is the one before, or ``start``, or ``now``. An entry comes when
    all transactions that began before its own have ended, so none is lost and none comes twice; after a restore of the
    log in the middle of a page's stretch, some may.

    ``conn`` must be in a transaction, which a page that is cut ends. The order and cursor of the query are ignored.
    Raises QueryError if the cursor is none of this database, ConflictError if entries of another are copied in.
    """
    position = position_of(cursor)
    reach = await afetch_one(conn, horizon_after(position.after or None))
    if cursor == NOW:
        return Page([], Position(reach.position).cursor)
    oldest = replace(listing(query.order("oldest")), position=None, is_backward=False)
    is_inside = bool(position.row) and epoch_of(position.until) == reach.epoch
    if position.row and not is_inside:  # of an earlier epoch, or of another database
        await afetch_one(conn, horizon_after(position.until))
    steps = Steps(reach)
    for _ in range(MAX_STRETCHES):
        step = steps.next()
        if is_inside:
            step = replace(reach, oldest_running=min(reach.oldest_running, number_in(position.until)))
        found = await arun(conn, settled(oldest, times_of(query), step))
        page: Page[Entry] = Page([], None)
        if found is not None:
            page = await (found.after(position.row) if is_inside else found).alist(conn, max_bytes=max_bytes)
        if page.next_cursor is not None:
            position, is_inside = Position(position.after, step.position, page.next_cursor), True
        else:
            position, is_inside = Position(step.position), False
            if not steps.passed(step, is_empty=found is None):
                break
        if page.data:
            return Page(page.data, position.cursor)
    return Page(page.data, position.cursor)
