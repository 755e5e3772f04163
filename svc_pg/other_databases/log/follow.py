"""Follow the log: every entry once, by polling, each time from the end of the last poll."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read.log_position import NOW, Position, position_of
from svc_pg.database.dialects import driver_connection
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Page
from svc_pg.other_databases.log.entries import log_dialect_of, page
from svc_pg.other_databases.log.horizon import end_at, horizon, outside_transaction
from svc_pg.other_databases.log.log_dialects import LogDialect
from svc_pg.other_databases.log.statements import run

_BATCH: Final = 100
_PAGE_BYTES: Final = 4 * 1024 * 1024

Result = TypeVar("Result")


def follow(conn: object, selection: Selection, *, pause: timedelta) -> Iterator[Entry]:
    """The newest page, its oldest entry first, then endlessly the new entries: see ``svc_pg.audit.read.follow``."""
    run(conn, outside_transaction(conn))
    newest, cursor = _look(conn, _newest(log_dialect_of(conn), selection))
    yield from reversed(newest.data)
    for found in pages(conn, replace(selection, size=_BATCH), cursor, pause=pause):
        yield from found


def pages(conn: object, selection: Selection, cursor: str, *, pause: timedelta) -> Iterator[Page[Entry]]:
    """The entries after a cursor, the oldest first, then endlessly the new ones, each page with its cursor."""
    run(conn, outside_transaction(conn))
    dialect = log_dialect_of(conn)
    while True:
        found = _look(conn, following(dialect, selection, cursor, max_bytes=_PAGE_BYTES))
        yield found
        cursor = found.next_cursor or cursor
        if not found.data:
            time.sleep(pause.total_seconds())


def following(
    dialect: LogDialect, selection: Selection, cursor: str, *, max_bytes: int | None = None
) -> Effects[Page[Entry]]:
    """The entries after ``cursor``, the oldest first, and always the next one: see ``svc_pg.audit.read.follow_pages``.

    ``cursor`` is the previous one, or ``start``, or ``now``. Raises QueryError if it is invalid, AccessError without
    the right to see the settled entries.
    """
    here = position_of(cursor)
    after, until, row = here.after, here.until, here.row
    reach = yield from horizon(dialect, after or None)
    if cursor == NOW:
        return Page([], Position(reach.position).cursor)
    end = reach
    if row:  # inside a stretch, whose end was the horizon when it began
        end = replace(reach, end=end_at(dialect, until))
    oldest = replace(selection, first="oldest", position=None, is_backward=False)
    while True:
        between = end.settled(dialect, end.since(dialect, ALL))
        found = yield from page(dialect, oldest.after(row) if row else oldest, max_bytes=max_bytes, also=between)
        if found.next_cursor is not None:
            return Page(found.data, Position(after, end.position, found.next_cursor).cursor)
        after, row = end.position, ""
        if found.data or end.end >= reach.end:  # type: ignore[operator] # both are of one type
            return Page(found.data, Position(after).cursor)
        end = replace(reach, after=end.end)


def _newest(dialect: LogDialect, selection: Selection) -> Effects[tuple[Page[Entry], str]]:
    reach = yield from horizon(dialect)
    newest = replace(selection, first="newest", position=None, is_backward=False)
    found = yield from page(dialect, newest, also=reach.settled(dialect, ALL))
    return found, Position(reach.position).cursor


def _look(conn: object, steps: Effects[Result]) -> Result:
    """A poll of the log as it is now: without autocommit, a connection would see it as it was at the first poll."""
    driver: Any = driver_connection(conn)
    try:
        result = run(conn, steps)
    except BaseException:
        with suppress(Exception):  # interrupted while it reads, PyMySQL takes no more statements
            driver.rollback()
        raise
    driver.rollback()
    return result
