"""Follow the audit log page by page: every entry once, including those of transactions that commit late."""

from dataclasses import replace
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.horizon import Horizon, epoch_of, horizon_after, number_in
from svc_pg.audit.read.listing import listing
from svc_pg.audit.read.log_position import NOW, Position, position_of
from svc_pg.database.pagination import Page
from svc_pg.database.query import afetch_one

_STEP: Final = 4096
_GROWTH: Final = 8


async def following(conn: AsyncConnection[Any], query: AuditQuery, cursor: str, *, max_bytes: int) -> Page[Entry]:
    """The entries after ``cursor`` that ``query`` selects, the oldest first, in the order of capture.

    ``next_cursor`` is never None: an empty page means that there are no more entries at the moment. ``cursor`` is the
    one before, or ``start``, or ``now``. An entry comes when all transactions that began before its own have ended, so
    none is lost and none comes twice; after a restore of the log in the middle of a page's stretch, some may.

    ``conn`` must be in a transaction, which a page that is cut ends. The order and cursor of the query are ignored.
    Raises QueryError if the cursor is none of this database, ConflictError if entries of another are copied in.
    """
    position = position_of(cursor)
    reach = await afetch_one(conn, horizon_after(position.after or None))
    if cursor == NOW:
        return Page([], Position(reach.position).cursor)
    oldest = replace(listing(query.order("oldest")), position=None, is_backward=False, reach=None)
    is_inside = bool(position.row) and epoch_of(position.until) == reach.epoch
    if position.row and not is_inside:  # of an earlier epoch, or of another database
        await afetch_one(conn, horizon_after(position.until))
    step = _STEP
    while True:
        end = _end(reach, step)
        if is_inside:
            end = min(reach.oldest_running, number_in(position.until))
        stretch = replace(reach, oldest_running=end)
        settled = oldest.narrowed(stretch.settled(reach.since(oldest.filter)))
        page = await (settled.after(position.row) if is_inside else settled).alist(conn, max_bytes=max_bytes)
        if page.next_cursor is not None:
            return Page(page.data, Position(position.after, stretch.position, page.next_cursor).cursor)
        position = Position(stretch.position)
        if page.data or end >= reach.oldest_running:
            return Page(page.data, position.cursor)
        # nothing in this stretch of transactions: look at a longer one
        reach = replace(reach, after_xact_id=end, after_from=reach.began_at)
        step, is_inside = step * _GROWTH, False


def _end(reach: Horizon, step: int) -> int:
    """The end of the next stretch: of many transactions, so few at a time that an index finds their entries."""
    if reach.after_xact_id is None or reach.after_until is not None:
        return reach.oldest_running
    return min(reach.oldest_running, reach.after_xact_id + step)
