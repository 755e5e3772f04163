"""Follow the audit log as lines of JSON: at least once, and without a gap from one run to the next."""

import re
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

from psycopg import Connection

from svc_pg.audit.export.export_copy import copy, json_record
from svc_pg.audit.export.export_file import PART_BYTES, PART_RECORDS
from svc_pg.audit.log.entry import BEYOND, FIELDS, beyond_parameters, position
from svc_pg.audit.log.export_fields import SHAPES
from svc_pg.audit.portable.export_records import json_record as json_record_of
from svc_pg.audit.portable.follow import pages
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.follow import PAUSE
from svc_pg.audit.read.follow_position import START, Position, read
from svc_pg.audit.read.horizon import epoch_of, horizon, number_in
from svc_pg.audit.read.listing import filter_of
from svc_pg.database.dialects import dialect_of
from svc_pg.database.pagination import MAX_SIZE, encode
from svc_pg.database.retrying import check_idle
from svc_pg.errors import translating

_EDGE: Final = re.compile(rb'\{"id":"([0-9]+)","timestamp":"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Lines:
    """Some whole lines, perhaps none, and the cursor behind them; ``is_end`` if there are no more at the moment."""

    text: bytes
    entries: int
    cursor: str
    is_end: bool


def following_lines(conn: Any, query: AuditQuery, *, cursor: str = START) -> Generator[Lines, None, None]:
    """All entries that ``query`` selects after ``cursor``, as an export writes them, then endlessly the new ones.

    ``cursor`` is that of the last lines that were kept: a run that continues there leaves no gap, and repeats only
    what came after them. An entry comes when all transactions that began before its own have ended. Each look at the
    log is a transaction of its own; ``conn`` must be outside one. The query's order, limit and cursor are ignored.
    Raises TransactionError, NotInstalledError, QueryError if the cursor is of another database, and ConflictError if
    entries of one are copied into the log.
    """
    if dialect_of(conn) != "postgresql":
        for page in pages(conn, replace(query, size=MAX_SIZE, fields=FIELDS), cursor, pause=PAUSE):
            records = [json_record_of(entry) for entry in page]
            yield _lines(records, page.next_cursor or cursor, is_end=not records)
        return
    check_idle(conn)
    here = read(cursor)
    while True:
        with translating(), conn.transaction(), closing(_look(conn, query, here)) as parts:
            for part in parts:
                yield part
                here = read(part.cursor)
        time.sleep(PAUSE.total_seconds())


def _look(conn: Connection[Any], query: AuditQuery, here: Position) -> Generator[Lines, None, None]:
    """The settled entries after a position, in parts; nothing if there can be none."""
    reach = horizon(conn, after=here.after or None)
    is_inside = bool(here.row) and epoch_of(here.until) == reach.epoch
    if here.row and not is_inside:  # of an earlier epoch, or of another database
        horizon(conn, after=here.until)
    end = replace(reach, oldest_running=min(reach.oldest_running, number_in(here.until))) if is_inside else reach
    if here.after == end.cursor:
        return
    wanted = end.settled(end.since(filter_of(query.conditions)))
    if is_inside:
        wanted = wanted.where(BEYOND["oldest"], *beyond_parameters(*position(here.row)))
    records: list[bytes] = []
    size = 0
    with conn.cursor() as cursor, cursor.copy(*copy("ndjson", wanted)) as rows:
        for row in rows:
            records.append(json_record(row))
            size += len(records[-1])
            if size >= PART_BYTES or len(records) == PART_RECORDS:
                yield _lines(records, Position(here.after, end.cursor, _row(records[-1])).cursor, is_end=False)
                records, size = [], 0
    yield _lines(records, Position(end.cursor).cursor, is_end=True)


def _lines(records: Sequence[bytes], cursor: str, *, is_end: bool) -> Lines:
    return Lines(SHAPES["ndjson"].part(records, is_first=True), len(records), cursor, is_end)


def _row(record: bytes) -> str:
    """The position of a record in the log, as the cursor of a page."""
    match = _EDGE.match(record)
    assert match, "an object begins with its id and its time"  # noqa: S101
    return encode((match[2].decode(), match[1].decode()))
