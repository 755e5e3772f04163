"""Export entries of the audit log as JSON, NDJSON, CSV or Parquet: PostgreSQL writes the values itself."""

from collections.abc import Callable
from typing import Any, BinaryIO

from svc_pg.audit.exports.export_file import export_file
from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.export_fields import ExportReport, Format
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.database.connections import async_connection, sync_connection


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
    TransactionError, and on MySQL AccessError without the right PROCESS, which is needed to find the settled entries.
    """
    with export_file(format, out, progress) as file:
        log = log_of(sync_connection(conn, twin="await audit.aexport(conn, ...)"))
        return log.run(log.export(query, format, file.add, after=after, is_settled=is_settled))


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
        log = log_of(await async_connection(conn, twin="audit.export(conn, ...)"))
        return await log.arun(log.export(query, format, file.add, after=after, is_settled=is_settled))


def expected(conn: Any, query: AuditQuery, *, after: str | None = None) -> int | None:
    """About the number of entries that an export would write, as PostgreSQL's planner sees it; None elsewhere."""
    log = log_of(conn)
    return log.run(log.expected(query, after=after))
