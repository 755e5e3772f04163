"""Export entries of the audit log as JSON, NDJSON or CSV: PostgreSQL writes the text, and Python hands it on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Literal, LiteralString, get_args

from psycopg import Connection
from psycopg.abc import Buffer

from svc_pg.audit.log import AuditQuery, horizon
from svc_pg.errors import QueryError, translating
from svc_pg.pagination import Filter
from svc_pg.query import scalar

Format = Literal["json", "ndjson", "csv"]

PROGRESS_EVERY: Final = 10_000  # entries

# The fields of Entry under the names of the API, and what they are made of
FIELDS: Final[dict[LiteralString, LiteralString]] = {
    "id": "id::text",
    "timestamp": """to_char("timestamp" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
    "tableName": "table_name",
    "operation": "operation",
    "recordId": "record_id",
    "actorId": "actor_id",
    "tenantId": "tenant_id",
    "dbUser": "db_user",
    "dbRole": "db_role",
    "beforeData": "before_data",
    "afterData": "after_data",
    "changedFields": "changed_fields",
    "label": "label",
    "severity": "severity",
    "compliance": "compliance",
    "description": "description",
    "redactedFields": "redacted_fields",
    "context": "context",
    "xactId": "xact_id::text",
}
_ARRAYS: Final = frozenset({"changedFields", "compliance", "redactedFields"})
_FREE_TEXTS: Final = frozenset(
    {"tableName", "recordId", "actorId", "tenantId", "dbUser", "dbRole", "label", "description"}
)
_LOG: Final = " from svc.audit_logs"


def csv_cell(name: LiteralString, value: LiteralString) -> LiteralString:
    """Arrays as JSON; an apostrophe before what a spreadsheet would run as a formula (OWASP, CSV injection)."""
    if name in _ARRAYS:
        return "to_json(" + value + ")"
    if name in _FREE_TEXTS:
        is_formula: LiteralString = "left(" + value + r", 1) in ('=', '+', '-', '@', e'\t', e'\r', e'\n')"
        return "case when " + is_formula + " then '''' || " + value + " else " + value + " end"
    return value


def _select(cells: dict[LiteralString, LiteralString]) -> LiteralString:
    return "select " + ", ".join([cell + ' as "' + name + '"' for name, cell in cells.items()]) + _LOG


_JSON: Final = _select(FIELDS)
_CSV: Final = _select({name: csv_cell(name, value) for name, value in FIELDS.items()})


@dataclass(frozen=True, slots=True)
class ExportReport:
    """How many entries were written, and how many were ``held_back`` because older ones may still appear before them.

    An export with ``after=horizon`` goes on exactly where this one ended: without a gap and without a duplicate.
    """

    entries: int
    held_back: int
    horizon: int


def export(
    conn: Connection[Any],
    query: AuditQuery,
    *,
    format: Format = "json",  # noqa: A002 - the word that its users know
    out: BinaryIO,
    after: int | None = None,
    is_settled: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> ExportReport:
    """Write all entries that ``query`` selects to ``out``, the oldest first; its order, limit and cursor do not count.

    An entry gets its time before its transaction commits, so beside a running transaction, entries may still appear
    that are older than those to be seen. Therefore an entry is written only when all transactions that began before its
    own have ended; ``is_settled=False`` does not wait for that. ``after`` is the ``horizon`` of an earlier report and
    selects what came since.

    ``json`` is one array and ``ndjson`` an object a line, with the fields and names of the API; ``csv`` is RFC 4180
    with a header, in which an apostrophe precedes text that a spreadsheet would run. Memory does not grow with the
    number of entries. ``progress`` is told how many there are so far. Never commits. Raises QueryError and
    NotInstalledError.
    """
    if format not in get_args(Format):
        raise QueryError(f"{format!r} is not a format", hint=f"Write one of {', '.join(get_args(Format))}.")
    with translating():
        seen_to = horizon(conn)
        wanted = query.transactions(since=after)
        held_back = 0
        if is_settled:
            held_back = _count(conn, wanted.transactions(since=seen_to).filter)
            wanted = wanted.transactions(before=seen_to)
        cursor = conn.cursor()
        with cursor.copy(_copy(wanted.filter, format), wanted.filter.params) as rows:
            _WRITERS[format](_counted(rows, progress), out)
        return ExportReport(cursor.rowcount, held_back, seen_to)


def _count(conn: Connection[Any], wanted: Filter) -> int:
    number: int = scalar(conn, "select count(*)" + _LOG + wanted.clause, wanted.params)
    return number


def _copy(wanted: Filter, form: Format) -> LiteralString:
    chosen = wanted.clause + ' order by audit_logs."timestamp", audit_logs.id'
    if form == "csv":
        return "copy (" + _CSV + chosen + ") to stdout (format csv, encoding 'UTF8', header)"
    entry: LiteralString = "select row_to_json(e) from (" + _JSON + chosen + ") e"  # noqa: S608 - only constants
    # JSON has none of these control characters, so one column of it comes as it is, without quotes
    return "copy (" + entry + r") to stdout (format csv, encoding 'UTF8', delimiter e'\x01', quote e'\x02')"


def _counted(rows: Iterable[Buffer], progress: Callable[[int], None]) -> Iterable[Buffer]:
    for number, row in enumerate(rows):
        if number % PROGRESS_EVERY == 0:
            progress(number)
        yield row


def _write_json(rows: Iterable[Buffer], out: BinaryIO) -> None:
    out.write(b"[")
    separator = b"\n"
    for row in rows:
        out.write(separator)
        out.write(row)
        separator = b","
    out.write(b"]\n")


def _write_ndjson(rows: Iterable[Buffer], out: BinaryIO) -> None:
    for row in rows:
        out.write(row)


def _write_csv(rows: Iterable[Buffer], out: BinaryIO) -> None:
    for row in rows:  # each is one record, whose end is that of a line in Unix
        out.write(memoryview(row)[:-1])
        out.write(b"\r\n")


_WRITERS: Final[dict[Format, Callable[[Iterable[Buffer], BinaryIO], None]]] = {
    "json": _write_json,
    "ndjson": _write_ndjson,
    "csv": _write_csv,
}
