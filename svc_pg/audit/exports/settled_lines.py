"""The settled entries of PostgreSQL's log as lines of JSON: at least once, and without a gap from run to run."""

import re
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg.audit.exports.export_copy import copy, json_record
from svc_pg.audit.exports.export_file import PART_BYTES, PART_RECORDS
from svc_pg.audit.log.entry import BEYOND, beyond_parameters, position
from svc_pg.audit.log.export_fields import Lines
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read.horizon import epoch_of, horizon, number_in
from svc_pg.audit.read.listing import filter_of
from svc_pg.audit.read.log_position import Position, position_of
from svc_pg.database.pagination import encode
from svc_pg.database.performing import check_idle
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
    end = replace(reach, oldest_running=min(reach.oldest_running, number_in(here.until))) if is_inside else reach
    if here.after == end.position:
        return
    wanted = end.settled(end.since(filter_of(selection.conditions)))
    if is_inside:
        wanted = wanted.where(BEYOND["oldest"], *beyond_parameters(*position(here.row)))
    records: list[bytes] = []
    size = 0
    with conn.cursor() as cursor, cursor.copy(*copy("ndjson", wanted)) as rows:
        for row in rows:
            records.append(json_record(row))
            size += len(records[-1])
            if size >= PART_BYTES or len(records) == PART_RECORDS:
                yield Lines.of(records, Position(here.after, end.position, _row(records[-1])).cursor, is_end=False)
                records, size = [], 0
    yield Lines.of(records, Position(end.position).cursor, is_end=True)


def _row(record: bytes) -> str:
    """The position of a record in the log, as the cursor of a page."""
    match = _EDGE.match(record)
    assert match, "an object begins with its id and its time"  # noqa: S101
    return encode((match[2].decode(), match[1].decode()))
