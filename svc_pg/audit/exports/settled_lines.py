"""The settled entries of PostgreSQL's log as lines of JSON: at least once, and without a gap from run to run."""

import re
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg.audit.exports.copy_stretches import CopyStretches
from svc_pg.audit.exports.export_copy import json_record
from svc_pg.audit.exports.export_file import PART_BYTES, PART_RECORDS
from svc_pg.audit.log.entry import Entry, position
from svc_pg.audit.log.export_fields import Lines
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read.horizon import epoch_of, horizon, number_in
from svc_pg.audit.read.listing import EntryListing, listing, times_of
from svc_pg.audit.read.log_position import Position, position_of
from svc_pg.audit.read.settled_stretch import Steps, settled
from svc_pg.audit.read.stretch import Reach
from svc_pg.database.by_indexes import by_indexes
from svc_pg.database.pagination import ALL, encode
from svc_pg.database.performing import check_idle, run
from svc_pg.database.sqlstates import translating

_EDGE: Final = re.compile(rb'\{"id":"([0-9]+)","timestamp":"([^"]+)"')


def lines(conn: Connection[Any], selection: Selection, cursor: str, *, pause: timedelta) -> Iterator[Lines]:
    """The settled entries after a cursor, then endlessly the new ones: see ``svc_pg.audit.exports.following``."""
    check_idle(conn)
    here = position_of(cursor)
    while True:
        with translating(), conn.transaction(), closing(_look(conn, selection, here)) as parts:
            for part in parts:
                yield part
                here = position_of(part.cursor)
        time.sleep(pause.total_seconds())


def _look(conn: Connection[Any], selection: Selection, here: Position) -> Generator[Lines, None, None]:
    """The settled entries after a position, in parts; nothing if there can be none."""
    reach = horizon(conn, after=here.after or None)
    is_inside = bool(here.row) and epoch_of(here.until) == reach.epoch
    if here.row and not is_inside:  # of an earlier epoch, or of another database
        horizon(conn, after=here.until)
    if here.after == reach.position:
        return
    oldest, time = listing(replace(selection, first="oldest", position=None, is_backward=False)), times_of(selection)
    steps, is_going_on = Steps(reach), True
    while is_going_on:
        step = steps.next()
        if is_inside:
            step = replace(reach, oldest_running=min(reach.oldest_running, number_in(here.until)))
        found = run(conn, settled(oldest, time, step))
        is_going_on = steps.passed(step, is_empty=found is None)
        edge = position(here.row) if is_inside else None
        is_inside = False
        rest: list[bytes] = []
        if found is not None:
            rest = yield from _lines(conn, found, Position(here.after, step.position), edge)
        here = Position(step.position)
        if rest or not is_going_on:
            yield Lines.of(rest, here.cursor, is_end=not is_going_on)


def _lines(
    conn: Connection[Any], found: EntryListing[Entry], here: Position, edge: tuple[datetime, int] | None
) -> Generator[Lines, None, list[bytes]]:
    """The entries of a step, in full parts; returns the records of the last one."""
    records: list[bytes] = []
    size = 0
    stretches = CopyStretches("ndjson", found.filter, found.reach or Reach(ALL), edge)
    while (copy := run(conn, stretches.next())) is not None:
        with by_indexes(conn), conn.cursor() as cursor, cursor.copy(*copy) as rows:
            for row in rows:
                records.append(json_record(row))
                size += len(records[-1])
                if size >= PART_BYTES or len(records) == PART_RECORDS:
                    yield Lines.of(records, replace(here, row=_row(records[-1])).cursor, is_end=False)
                    records, size = [], 0
    return records


def _row(record: bytes) -> str:
    """The position of a record in the log, as the cursor of a page."""
    match = _EDGE.match(record)
    assert match, "an object begins with its id and its time"  # noqa: S101
    return encode((match[2].decode(), match[1].decode()))
