"""Follow PostgreSQL's log: the settled entries, each once, including those of transactions that commit late."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection
from psycopg.rows import class_row

from svc_pg.audit.log.entry import COLUMNS, Entry
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read.change_order import by_change
from svc_pg.audit.read.horizon import horizon
from svc_pg.audit.read.listing import EntryListing, listing
from svc_pg.database.datestyle import chosen
from svc_pg.database.pagination import Filter
from svc_pg.database.performing import check_idle
from svc_pg.database.query import Query, keep_json
from svc_pg.database.sqlstates import translating

_CURSOR: Final = "svc_pg_follow"
_BATCH: Final = 100


def follow(conn: Connection[Any], selection: Selection, *, pause: timedelta) -> Iterator[Entry]:
    """The newest page, its oldest entry first, then endlessly the new entries: see ``svc_pg.audit.follow``."""
    check_idle(conn)
    newest, oldest = listing(replace(selection, first="newest")), listing(replace(selection, first="oldest"))
    with translating():
        with conn.transaction():
            seen_to = horizon(conn)
            page = replace(newest, filter=seen_to.settled(newest.filter)).list(conn)
        yield from reversed(page.data)
        while True:
            with conn.transaction():
                reach = horizon(conn, after=seen_to.position)
                if reach.position != seen_to.position:
                    yield from _between(conn, oldest, reach.settled(reach.since(oldest.filter)))
            seen_to = reach
            time.sleep(pause.total_seconds())


def _between(conn: Connection[Any], oldest: EntryListing[Entry], wanted: Filter) -> Iterator[Entry]:
    """The entries between two horizons, in batches, because one transaction may have written millions.

    Not by ``Cursor.stream``, which holds the connection's lock between two rows: a reader that breaks off there, as by
    Ctrl-C, would wait for that lock forever when it closes the connection.
    """
    keyset = oldest.keyset
    if oldest.is_of_record:
        between = by_change(COLUMNS, keyset, wanted)
    else:
        between = Query(keyset.select + wanted.clause + keyset.order, wanted.params, Entry)
    with chosen(conn), conn.cursor(_CURSOR, row_factory=class_row(Entry)) as cursor:
        keep_json(cursor)
        cursor.itersize = _BATCH
        yield from cursor.execute(between.text, between.params)
