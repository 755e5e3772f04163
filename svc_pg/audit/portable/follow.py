"""Follow the log: every entry once, in looks at it of which each continues at the end of the one before."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from svc_pg.audit.entry import Entry
from svc_pg.audit.portable.entries import page, phrases_of
from svc_pg.audit.portable.horizon import horizon, outside_transaction, position
from svc_pg.audit.portable.phrases import Phrases
from svc_pg.audit.portable.statements import Steps, run
from svc_pg.audit.selection import Selection
from svc_pg.dialects import driver_connection
from svc_pg.errors import QueryError
from svc_pg.pagination import ALL, Page, decode, encode

NOW: Final = "now"
START: Final = "start"

_BATCH: Final = 100

Result = TypeVar("Result")


def follow(conn: object, selection: Selection, *, pause: timedelta) -> Iterator[Entry]:
    """The newest page, its oldest entry first, then endlessly the new entries: see ``svc_pg.audit.follow``."""
    run(conn, outside_transaction(conn))
    phrases = phrases_of(conn)
    newest, cursor = _look(conn, _newest(phrases, selection))
    yield from reversed(newest.data)
    later = replace(selection, size=_BATCH)
    while True:
        found = _look(conn, following(phrases, later, cursor))
        yield from found
        cursor = found.next_cursor or cursor
        if not found.data:
            time.sleep(pause.total_seconds())


def following(
    phrases: Phrases, selection: Selection, cursor: str, *, max_bytes: int | None = None
) -> Steps[Page[Entry]]:
    """The entries after ``cursor``, the oldest first, and always the next one: see ``svc_pg.audit.follow_pages``.

    ``cursor`` is the one before, or ``start``, or ``now``. Raises QueryError if it is none, AccessError without the
    right to see what is settled.
    """
    after, until, row = ("", "", "") if cursor in (NOW, START) else _read(cursor)
    reach = yield from horizon(phrases, after or None)
    if cursor == NOW:
        return Page([], encode((reach.cursor, "", "")))
    end = reach
    if row:  # inside a stretch, whose end was the horizon when it began
        end = replace(reach, end=position(phrases, until))
    oldest = replace(selection, first="oldest", position=None, is_backward=False)
    while True:
        between = end.settled(phrases, end.since(phrases, ALL))
        found = yield from page(phrases, oldest.after(row) if row else oldest, max_bytes=max_bytes, also=between)
        if found.next_cursor is not None:
            return Page(found.data, encode((after, end.cursor, found.next_cursor)))
        after, row = end.cursor, ""
        if found.data or end.end >= reach.end:  # type: ignore[operator] # both are of one type
            return Page(found.data, encode((after, "", "")))
        end = replace(reach, after=end.end)


def _newest(phrases: Phrases, selection: Selection) -> Steps[tuple[Page[Entry], str]]:
    reach = yield from horizon(phrases)
    newest = replace(selection, first="newest", position=None, is_backward=False)
    found = yield from page(phrases, newest, also=reach.settled(phrases, ALL))
    return found, encode((reach.cursor, "", ""))


def _look(conn: object, steps: Steps[Result]) -> Result:
    """A look at the log as it is now: without autocommit, a connection would see it as it was at the first look."""
    try:
        return run(conn, steps)
    finally:
        driver: Any = driver_connection(conn)
        driver.rollback()


def _read(cursor: str) -> tuple[str, str, str]:
    after, until, row = (str(part) for part in decode(cursor, str, str, str))
    if row and not until:
        raise QueryError(f"{cursor!r} is not a cursor", hint="Pass the cursor that came with the page before.")
    return after, until, row
