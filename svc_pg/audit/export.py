"""Export entries of the audit log as JSON, NDJSON or CSV: PostgreSQL writes the text itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, LiteralString

from psycopg.abc import Buffer

from svc_pg.audit.export_fields import (
    ARRAYS,
    FIELDS,
    FORMATS,
    FREE_TEXTS,
    HEADS,
    PROGRESS_EVERY,
    TAILS,
    ExportReport,
    Format,
)
from svc_pg.audit.horizon import Horizon, horizon_after
from svc_pg.audit.listing import filter_of
from svc_pg.audit.log import AuditQuery
from svc_pg.audit.portable.entries import phrases_of
from svc_pg.audit.portable.export import exporting
from svc_pg.audit.portable.horizon import outside_transaction
from svc_pg.audit.portable.statements import Steps, arun, run
from svc_pg.dialects import dialect_of
from svc_pg.errors import QueryError, translating
from svc_pg.query import Query, afetch_one, fetch_one

_LOG: Final = " from svc.audit_logs"


def csv_cell(name: LiteralString, value: LiteralString) -> LiteralString:
    """Arrays as JSON; an apostrophe before text that a spreadsheet would run as a formula (OWASP, CSV injection)."""
    if name in ARRAYS:
        return "to_json(" + value + ")"
    if name in FREE_TEXTS:
        is_formula: LiteralString = "left(" + value + r", 1) in ('=', '+', '-', '@', e'\t', e'\r', e'\n')"
        return "case when " + is_formula + " then '''' || " + value + " else " + value + " end"
    return value


def _select(cells: dict[LiteralString, LiteralString]) -> LiteralString:
    return "select " + ", ".join([cell + ' as "' + name + '"' for name, cell in cells.items()]) + _LOG


_JSON: Final = _select(FIELDS)
_CSV: Final = _select({name: csv_cell(name, value) for name, value in FIELDS.items()})


@dataclass(frozen=True, slots=True)
class _Count:
    entries: int


def export(
    conn: Any,
    query: AuditQuery,
    *,
    format: Format = "json",  # noqa: A002 - the word that users know
    out: BinaryIO,
    after: str | None = None,
    is_settled: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> ExportReport:
    """Write all entries that ``query`` selects to ``out``, the oldest first; its order, limit and cursor are ignored.

    An entry gets its time before its transaction commits, so while a transaction runs, entries may still appear that
    are older than the visible ones. Therefore an entry is written only when all transactions that began before its own
    have ended; ``is_settled=False`` does not wait for that. ``after`` is the ``horizon`` of an earlier report and
    selects the entries since then.

    ``json`` is one array and ``ndjson`` an object a line, with the fields and names of the API; ``csv`` is RFC 4180
    with a header, in which an apostrophe precedes text that a spreadsheet would run. Memory does not grow with the
    number of entries. ``progress`` is called with the number so far. Never commits. Raises NotInstalledError,
    QueryError if ``after`` is of another database, and ConflictError if entries of one were copied into the log.

    ``conn`` may lead to SQLite or MySQL too, where it must be outside a transaction, or ``is_settled`` false. Raises
    TransactionError, and on MySQL AccessError without the right PROCESS, which tells what is settled.
    """
    _check(format)
    if dialect_of(conn) != "postgresql":
        return run(conn, _elsewhere(conn, query, format, out, after, progress, is_settled=is_settled))
    with translating():
        start = fetch_one(conn, horizon_after(after))
        held_back = fetch_one(conn, _held_back(start, query)).entries if is_settled else 0
        cursor = conn.cursor()
        with cursor.copy(*_copy(start, query, format, is_settled=is_settled)) as rows:
            out.write(HEADS[format])
            for number, row in enumerate(rows):
                _write(row, number, format, out, progress)
            out.write(TAILS[format])
        return ExportReport(cursor.rowcount, held_back, start.cursor)


async def aexport(
    conn: Any,
    query: AuditQuery,
    *,
    format: Format = "json",  # noqa: A002 - the word that users know
    out: BinaryIO,
    after: str | None = None,
    is_settled: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> ExportReport:
    """As ``export``, on an async connection; ``out`` is a file or a buffer, because its writes are not awaited."""
    _check(format)
    if dialect_of(conn) != "postgresql":
        return await arun(conn, _elsewhere(conn, query, format, out, after, progress, is_settled=is_settled))
    with translating():
        start = await afetch_one(conn, horizon_after(after))
        held_back = (await afetch_one(conn, _held_back(start, query))).entries if is_settled else 0
        cursor = conn.cursor()
        async with cursor.copy(*_copy(start, query, format, is_settled=is_settled)) as rows:
            number = 0
            out.write(HEADS[format])
            async for row in rows:
                _write(row, number, format, out, progress)
                number += 1
            out.write(TAILS[format])
        return ExportReport(cursor.rowcount, held_back, start.cursor)


def _elsewhere(
    conn: object,
    query: AuditQuery,
    form: Format,
    out: BinaryIO,
    after: str | None,
    progress: Callable[[int], None],
    *,
    is_settled: bool,
) -> Steps[ExportReport]:
    if is_settled:
        yield from outside_transaction(conn)
    phrases = phrases_of(conn)
    return (yield from exporting(phrases, query, form, out, after=after, is_settled=is_settled, progress=progress))


def _check(form: Format) -> None:
    if form not in FORMATS:
        raise QueryError(f"{form!r} is not a format", hint=f"Write one of {', '.join(FORMATS)}.")


def _held_back(start: Horizon, query: AuditQuery) -> Query[_Count]:
    wanted = start.held_back(start.since(filter_of(query.conditions)))
    return Query("select count(*) as entries" + _LOG + wanted.clause, wanted.params, _Count)


def _copy(
    start: Horizon, query: AuditQuery, form: Format, *, is_settled: bool
) -> tuple[LiteralString, tuple[object, ...]]:
    wanted = start.since(filter_of(query.conditions))
    wanted = start.settled(wanted) if is_settled else wanted
    chosen = wanted.clause + ' order by audit_logs."timestamp", audit_logs.id'
    if form == "csv":
        return "copy (" + _CSV + chosen + ") to stdout (format csv, encoding 'UTF8', header)", wanted.params
    entry: LiteralString = "select row_to_json(e) from (" + _JSON + chosen + ") e"  # noqa: S608 - only constants
    # JSON contains none of these control characters, so a single column of it is written unchanged, without quotes
    text = "copy (" + entry + r") to stdout (format csv, encoding 'UTF8', delimiter e'\x01', quote e'\x02')"
    return text, wanted.params


def _write(row: Buffer, number: int, form: Format, out: BinaryIO, progress: Callable[[int], None]) -> None:
    if number % PROGRESS_EVERY == 0:
        progress(number)
    match form:
        case "json":
            out.write(b"," if number else b"\n")
            out.write(row)
        case "ndjson":
            out.write(row)
        case "csv":  # each is one record, which ends as a line of Unix does
            out.write(memoryview(row)[:-1])
            out.write(b"\r\n")
