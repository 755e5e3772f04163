"""Follow PostgreSQL's log: the settled entries, each once, including those of transactions that commit late."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read.horizon import Horizon, horizon
from svc_pg.audit.read.listing import EntryListing, listing, times_of
from svc_pg.audit.read.settled_stretch import Steps, settled
from svc_pg.database.pagination import Filter
from svc_pg.database.performing import check_idle, run
from svc_pg.database.sqlstates import translating

_BATCH: Final = 100


def follow(conn: Connection[Any], selection: Selection, *, pause: timedelta) -> Iterator[Entry]:
    """The newest page, its oldest entry first, then endlessly the new entries: see ``svc_pg.audit.follow``."""
    check_idle(conn)
    newest, oldest = (listing(replace(selection, first=first)) for first in ("newest", "oldest"))
    with translating():
        with conn.transaction():
            seen_to = horizon(conn)
            page = newest.narrowed(seen_to.settled(newest.filter)).list(conn)
        yield from reversed(page.data)
        while True:
            with conn.transaction():
                reach = horizon(conn, after=seen_to.position)
                if reach.position != seen_to.position:
                    yield from _between(conn, oldest, times_of(selection), reach)
            seen_to = reach
            time.sleep(pause.total_seconds())


def _between(conn: Connection[Any], oldest: EntryListing[Entry], time: Filter, reach: Horizon) -> Iterator[Entry]:
    """The entries between two horizons, page by page, because one transaction may have written millions."""
    steps, is_going_on = Steps(reach), True
    while is_going_on:
        step = steps.next()
        found = run(conn, settled(oldest.limit(_BATCH), time, step))
        is_going_on = steps.passed(step, is_empty=found is None)
        while found is not None:
            page = found.list(conn)
            yield from page
            found = None if page.next_cursor is None else found.after(page.next_cursor)
