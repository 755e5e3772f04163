"""Export entries of the audit log page by page, so that no connection waits for a slow reader."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection

from svc_pg.audit.exports.export_copy import csv_cell
from svc_pg.audit.log.entry import FROM, keyset
from svc_pg.audit.log.export_fields import FIELDS, SHAPES, TextFormat
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.horizon import horizon_after
from svc_pg.audit.read.listing import EntryListing, filter_of, reach_of_selection
from svc_pg.audit.read.search import search
from svc_pg.database.query import afetch_one

PAGE_SIZE: Final = 500
PART_BYTES: Final = 4 * 1024 * 1024

Connect = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]


@dataclass(frozen=True, slots=True)
class _Line:
    timestamp: datetime
    id: str
    line: str


async def export_pages(connect: Connect, query: AuditQuery, *, format: TextFormat) -> AsyncIterator[bytes]:  # noqa: A002
    """All entries that ``query`` selects, the oldest first, as ``export`` writes them.

    Each part has up to 500 entries and 4 MiB, but at least one entry. It is read in a transaction of its own, whose
    connection is returned before the part is yielded. Entries of transactions that have not ended at the beginning are
    left out. A search goes through the log in stretches, so that none of its statements takes long. The query's
    order, limit and cursor are ignored. Raises NotInstalledError.
    """
    shape = SHAPES[format]
    columns = 'select "timestamp", id::text, ' + _LINES[format] + " as line"
    async with connect() as conn:
        horizon = await afetch_one(conn, horizon_after(None))
    listing = EntryListing(
        keyset=keyset("oldest", columns + FROM, _Line),
        filter=horizon.settled(filter_of(query.conditions)),
        size=PAGE_SIZE,
        columns=columns,
        range=filter_of(query.range),
        record=None,
        searches=query.searches,
        reach=reach_of_selection(query),
    )
    is_first = True
    while True:
        async with connect() as conn:
            if listing.searches:
                page = await search(conn, listing, max_bytes=PART_BYTES)
            else:
                page = await listing.alist(conn, max_bytes=PART_BYTES)
        lines = [each.line.encode() for each in page]
        if page.next_cursor is None:
            yield shape.part(lines, is_first=is_first) + shape.tail
            return
        if lines:
            yield shape.part(lines, is_first=is_first)
            is_first = False
        listing = listing.after(page.next_cursor)


def _json_line() -> LiteralString:
    cells = ", ".join([value + ' as "' + name + '"' for name, value in FIELDS.items()])
    return "(select pg_catalog.row_to_json(entry)::text from (select " + cells + ") entry)"  # noqa: S608 - only constants


def _csv_line() -> LiteralString:
    """Every value in quotes, which tell an empty text from a missing one."""
    values = ["(" + csv_cell(name, value) + ")::text" for name, value in FIELDS.items()]
    cells = ["coalesce('\"' || replace(" + value + """, '"', '""') || '"', '')""" for value in values]
    return " || ',' || ".join(cells)


_LINES: Final[dict[TextFormat, LiteralString]] = {"json": _json_line(), "ndjson": _json_line(), "csv": _csv_line()}
