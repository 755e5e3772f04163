"""Follow the audit log page by page: every entry once, including those of transactions that commit late."""

from dataclasses import dataclass, replace
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.audit import numbers
from svc_pg.audit.entry import Entry
from svc_pg.audit.horizon import Horizon, horizon_after
from svc_pg.audit.listing import listing
from svc_pg.audit.log import AuditQuery
from svc_pg.errors import QueryError
from svc_pg.pagination import Page, decode, encode
from svc_pg.query import afetch_one

NOW: Final = "now"
START: Final = "start"

_STEP: Final = 4096
_GROWTH: Final = 8


@dataclass(frozen=True, slots=True)
class _Position:
    """The end of what was read, the cursor of a horizon, or an empty text.

    Inside a stretch, ``until`` is the cursor of its end, and ``row`` that of the last entry.
    """

    after: str
    until: str = ""
    row: str = ""

    @property
    def cursor(self) -> str:
        return encode((self.after, self.until, self.row))


async def following(conn: AsyncConnection[Any], query: AuditQuery, cursor: str, *, max_bytes: int) -> Page[Entry]:
    """The entries after ``cursor`` that ``query`` selects, the oldest first, in the order of capture.

    ``next_cursor`` is never None: an empty page means that there are no more entries at the moment. ``cursor`` is the
    one before, or ``start``, or ``now``. An entry comes when all transactions that began before its own have ended, so
    none is lost and none comes twice; after a restore of the log in the middle of a page's stretch, some may.

    ``conn`` must be in a transaction, which a page that is cut ends. The order and cursor of the query are ignored.
    Raises QueryError if it is no cursor of this database, and ConflictError if entries of another are copied in.
    """
    position = _read(cursor)
    reach = await afetch_one(conn, horizon_after(position.after or None))
    if cursor == NOW:
        return Page([], _Position(reach.cursor).cursor)
    oldest = replace(listing(query.order("oldest")), position=None, is_backward=False)
    is_inside = bool(position.row) and _epoch(position.until) == reach.epoch
    if position.row and not is_inside:  # of an earlier epoch, or of another database
        await afetch_one(conn, horizon_after(position.until))
    step = _STEP
    while True:
        end = _end(reach, step)
        if is_inside:
            end = min(reach.oldest_running, _number(position.until))
        stretch = replace(reach, oldest_running=end)
        settled = replace(oldest, filter=stretch.settled(reach.since(oldest.filter)))
        page = await (settled.after(position.row) if is_inside else settled).alist(conn, max_bytes=max_bytes)
        if page.next_cursor is not None:
            return Page(page.data, _Position(position.after, stretch.cursor, page.next_cursor).cursor)
        position = _Position(stretch.cursor)
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


def _read(cursor: str) -> _Position:
    if cursor in (NOW, START):
        return _Position("")
    after, until, row = (str(part) for part in decode(cursor, str, str, str))
    if row and not until:
        raise QueryError(f"{cursor!r} is not a cursor", hint="Pass the cursor that came with the page before.")
    return _Position(after, until, row)


def _epoch(horizon: str) -> str:
    return horizon.partition(".")[0]


def _number(horizon: str) -> int:
    if (number := numbers.read(horizon.partition(".")[2])) is None:
        raise QueryError(f"{horizon!r} does not say how far the log was read")
    return number
