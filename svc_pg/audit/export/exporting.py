"""Export entries of the audit log as JSON, NDJSON, CSV or Parquet: PostgreSQL writes the values itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, LiteralString

from svc_pg.audit.export.export_copy import LOG, RECORDS, copy
from svc_pg.audit.export.export_file import ExportFile, export_file
from svc_pg.audit.log.export_fields import ExportReport, Format
from svc_pg.audit.portable.entries import phrases_of
from svc_pg.audit.portable.export import exporting
from svc_pg.audit.portable.horizon import outside_transaction
from svc_pg.audit.portable.statements import Steps, arun, run
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.horizon import Horizon, horizon_after
from svc_pg.audit.read.listing import filter_of
from svc_pg.database.connections import apsycopg_connection, async_connection, psycopg_connection, sync_connection
from svc_pg.database.dialects import dialect_of
from svc_pg.database.query import Query, afetch_one, fetch_one, scalar
from svc_pg.errors import translating


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
    with a header, in which an apostrophe precedes text that a spreadsheet would run; ``parquet``, which needs pyarrow,
    has numbers, times of UTC and lists, and snapshots as JSON texts. Memory does not grow with the number of entries.
    ``progress`` is called with the number so far. An export that raises leaves ``out`` without its end: readers refuse
    a Parquet file or a JSON array of it. Never commits. Raises NotInstalledError, QueryError if ``after`` is of another
    database, ConflictError if entries of one were copied into the log, and ConfigError without pyarrow.

    ``conn`` may lead to SQLite or MySQL too, where it must be outside a transaction, or ``is_settled`` false. Raises
    TransactionError, and on MySQL AccessError without the right PROCESS, which tells what is settled.
    """
    with export_file(format, out, progress) as file:
        conn = sync_connection(conn, twin="await audit.aexport(conn, ...)")
        if dialect_of(conn) != "postgresql":
            return run(conn, _elsewhere(conn, query, format, file, after, is_settled=is_settled))
        conn = psycopg_connection(conn)
        with translating():
            start = fetch_one(conn, horizon_after(after))
            held_back = fetch_one(conn, _held_back(start, query)).entries if is_settled else 0
            cursor, record = conn.cursor(), RECORDS[format]
            with cursor.copy(*_copy(start, query, format, is_settled=is_settled)) as rows:
                for row in rows:
                    file.add(record(row))
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
    with export_file(format, out, progress) as file:
        conn = await async_connection(conn, twin="audit.export(conn, ...)")
        if dialect_of(conn) != "postgresql":
            return await arun(conn, _elsewhere(conn, query, format, file, after, is_settled=is_settled))
        conn = await apsycopg_connection(conn)
        with translating():
            start = await afetch_one(conn, horizon_after(after))
            held_back = (await afetch_one(conn, _held_back(start, query))).entries if is_settled else 0
            cursor, record = conn.cursor(), RECORDS[format]
            async with cursor.copy(*_copy(start, query, format, is_settled=is_settled)) as rows:
                async for row in rows:
                    file.add(record(row))
            return ExportReport(cursor.rowcount, held_back, start.cursor)


def expected(conn: Any, query: AuditQuery, *, after: str | None = None) -> int | None:
    """About the number of entries that an export would write, as PostgreSQL's planner sees it; None elsewhere."""
    if dialect_of(conn) != "postgresql":
        return None
    with translating():
        wanted = fetch_one(conn, horizon_after(after)).since(filter_of(query.conditions))
        [plan] = scalar(conn, "explain (format json) select" + LOG + wanted.clause, wanted.params)
        return int(plan["Plan"]["Plan Rows"])


def _elsewhere(
    conn: object, query: AuditQuery, form: Format, file: ExportFile, after: str | None, *, is_settled: bool
) -> Steps[ExportReport]:
    if is_settled:
        yield from outside_transaction(conn)
    return (yield from exporting(phrases_of(conn), query, form, file, after=after, is_settled=is_settled))


def _held_back(start: Horizon, query: AuditQuery) -> Query[_Count]:
    wanted = start.held_back(start.since(filter_of(query.conditions)))
    return Query("select count(*) as entries" + LOG + wanted.clause, wanted.params, _Count)


def _copy(
    start: Horizon, query: AuditQuery, form: Format, *, is_settled: bool
) -> tuple[LiteralString, tuple[object, ...]]:
    wanted = start.since(filter_of(query.conditions))
    return copy(form, start.settled(wanted) if is_settled else wanted)
