"""Export entries of the audit log page by page, so that no connection waits for a slow reader."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString, NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

from svc_pg.audit.export import FIELDS, Format, csv_cell
from svc_pg.audit.log import BEYOND, HORIZON, ORDER_BY, AuditQuery
from svc_pg.errors import translating
from svc_pg.query import Query, afetch

PAGE_SIZE: Final = 500

Connect = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]


class _Shape(NamedTuple):
    """A file: ``head``, each ``line`` with its ``end``, the first after ``opening``, the others after ``separator``."""

    line: LiteralString
    head: str = ""
    opening: str = ""
    separator: str = ""
    end: str = "\n"
    tail: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    timestamp: datetime
    id: int
    line: str


async def export_pages(connect: Connect, query: AuditQuery, *, format: Format) -> AsyncIterator[bytes]:  # noqa: A002
    """All entries that ``query`` selects, the oldest first, as ``export`` writes them; each part has up to 500.

    Each part is read through a connection of its own, which is given back before the part is. Entries of transactions
    that have not ended at the beginning are left out. The query's order, limit and cursor do not count. Raises
    NotInstalledError.
    """
    shape = _SHAPES[format]
    select = 'select "timestamp", id, ' + shape.line + " as line from svc.audit_logs"  # noqa: S608 - only constants
    async with connect() as conn:
        horizon = await (await conn.cursor(row_factory=scalar_row).execute(HORIZON)).fetchone()
    selection = query.transactions(before=horizon).selection.limit(PAGE_SIZE)
    before, rest = shape.head + shape.opening, selection
    while True:
        async with connect() as conn:
            with translating():
                lines = await afetch(conn, Query(*rest.statement(select, ORDER_BY["oldest"]), _Line))
        page = shape.separator.join(line.line + shape.end for line in lines[:PAGE_SIZE])
        if len(lines) <= PAGE_SIZE:
            yield ((before + page if lines else shape.head) + shape.tail).encode()
            return
        yield (before + page).encode()
        last = lines[PAGE_SIZE - 1]
        before, rest = shape.separator, selection.where(BEYOND["oldest"], last.timestamp, last.timestamp, last.id)


def _json_line() -> LiteralString:
    cells = ", ".join([value + ' as "' + name + '"' for name, value in FIELDS.items()])
    return "(select row_to_json(entry)::text from (select " + cells + ") entry)"  # noqa: S608 - only constants


def _csv_line() -> LiteralString:
    """Every value in quotes, which tell an empty text from none."""
    values = ["(" + csv_cell(name, value) + ")::text" for name, value in FIELDS.items()]
    cells = ["coalesce('\"' || replace(" + value + """, '"', '""') || '"', '')""" for value in values]
    return " || ',' || ".join(cells)


_SHAPES: Final[dict[Format, _Shape]] = {
    "json": _Shape(_json_line(), head="[", opening="\n", separator=",", tail="]\n"),
    "ndjson": _Shape(_json_line()),
    "csv": _Shape(_csv_line(), head=",".join(FIELDS) + "\r\n", end="\r\n"),
}
