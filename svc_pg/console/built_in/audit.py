"""The product ``audit``: read, count, export and purge the audit log."""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final, get_args

from svc_pg import durations
from svc_pg.audit import log
from svc_pg.audit.export import Format
from svc_pg.audit.export_pages import export_pages
from svc_pg.audit.log import OPERATIONS, SEVERITIES, AuditQuery, Entry, Order, query
from svc_pg.audit.retention import OLDEST_AGE, YOUNGEST_AGE, PurgeReport
from svc_pg.audit.stats import WINDOW, AuditStats, astats
from svc_pg.console.built_in.audit_purge import purge
from svc_pg.console.built_in.endpoint_urls import entries_for
from svc_pg.console.database import Database
from svc_pg.console.documentation import JsonSchema, one_of
from svc_pg.console.events import record_export
from svc_pg.console.parameters import (
    PAGE,
    PAGE_BYTES,
    FilterParameter,
    documented,
    filtered,
    point_in_time,
    refuse,
    truth,
    whole_number,
)
from svc_pg.console.products import Product, ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.errors import QueryError, SvcError
from svc_pg.pagination import Page
from svc_pg.query import afetch

_MEDIA_TYPES: Final[dict[Format, str]] = {
    "ndjson": "application/x-ndjson",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
}
_NUMBER: Final[JsonSchema] = {"type": "string", "pattern": "^[0-9]{1,18}$"}


def _transaction(builder: AuditQuery, text: str) -> AuditQuery:
    xact_id = whole_number(text)
    return builder.transactions(since=xact_id, before=xact_id + 1)


_TIMES: Final[dict[str, FilterParameter[AuditQuery]]] = {
    "since": FilterParameter(
        lambda builder, text: builder.since(point_in_time(text)),
        "entries from then on: RFC 3339, or a duration before now such as 1h",
    ),
    "until": FilterParameter(
        lambda builder, text: builder.until(point_in_time(text)),
        "entries before then: RFC 3339, or a duration before now such as 1h",
    ),
}
_WHICH: Final[dict[str, FilterParameter[AuditQuery]]] = {
    "resource": FilterParameter(AuditQuery.resource, "entries of one table: schema.table, or a table in public"),
    "record": FilterParameter(
        AuditQuery.record, "entries of the record with that key; several key columns as a JSON array: [7, 2]"
    ),
    "actor": FilterParameter(AuditQuery.actor, "entries of one actor"),
    "tenant": FilterParameter(AuditQuery.tenant, "entries of one tenant"),
    "operation": FilterParameter(AuditQuery.operation, "entries of one operation", one_of(OPERATIONS)),
    "label": FilterParameter(AuditQuery.label, "entries with that label"),
    "severity": FilterParameter(AuditQuery.severity, "entries of one severity", one_of(SEVERITIES)),
    "minSeverity": FilterParameter(
        lambda builder, text: builder.severity(at_least=text),
        "entries of that severity or a higher one",
        one_of(SEVERITIES),
    ),
    "compliance": FilterParameter(AuditQuery.compliance, "entries with that tag of compliance"),
    "changed": FilterParameter(AuditQuery.changed, "updates that changed that field"),
    "transaction": FilterParameter(_transaction, "entries of one transaction, by the xactId of any of them", _NUMBER),
    **_TIMES,
}
_ENTRIES: Final[dict[str, FilterParameter[AuditQuery]]] = {
    **_WHICH,
    "order": FilterParameter(
        AuditQuery.order, "which entries come first", {**one_of(get_args(Order)), "default": "newest"}
    ),
    **PAGE,
}
_HISTORY: Final[dict[str, FilterParameter[AuditQuery]]] = {**_TIMES, **PAGE}


@dataclass(frozen=True, slots=True)
class _Export:
    query: AuditQuery
    format: Format = "ndjson"


@dataclass(frozen=True, slots=True)
class _Purge:
    older_than: timedelta | None
    is_dry_run: bool = False


def _format(export: _Export, text: str) -> _Export:
    for known in get_args(Format):
        if text == known:
            return replace(export, format=known)
    raise ValueError(f"write one of {', '.join(get_args(Format))}")


def _exported(wanted: FilterParameter[AuditQuery]) -> FilterParameter[_Export]:
    return FilterParameter(
        lambda export, text: replace(export, query=wanted(export.query, text)), wanted.description, wanted.schema
    )


def _age(text: str) -> timedelta:
    age = durations.parse(text)
    if not YOUNGEST_AGE <= age <= OLDEST_AGE:
        raise ValueError("write 1 to 36500 days, such as 90d")
    return age


_EXPORT: Final[dict[str, FilterParameter[_Export]]] = {
    **{name: _exported(wanted) for name, wanted in _WHICH.items()},
    "format": FilterParameter(_format, "the format of the file", {**one_of(get_args(Format)), "default": "ndjson"}),
}
_PURGE: Final[dict[str, FilterParameter[_Purge]]] = {
    "olderThan": FilterParameter(
        lambda purge, text: replace(purge, older_than=_age(text)),
        "remove older entries, for example 90d; default: retention_days of the configuration",
    ),
    "dryRun": FilterParameter(
        lambda purge, text: replace(purge, is_dry_run=truth(text)),
        "only count, remove nothing",
        {"type": "boolean", "default": False},
    ),
}


def audit_product(database: Database, *, retention_days: int | None) -> Product:
    """The product. A purge that names no age removes entries older than ``retention_days``."""

    async def page(request: AuthenticatedRequest, wanted: AuditQuery) -> ConsoleResponse:
        async with database.connection() as conn:
            found = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        return ConsoleResponse(200, entries_for(request.session, found))

    async def entries(request: AuthenticatedRequest) -> ConsoleResponse:
        return await page(request, filtered(query(), request.query, _ENTRIES))

    async def entry(request: AuthenticatedRequest) -> ConsoleResponse:
        unknown = Problem(404, "unknown_entry", "The log has no entry with this id.")
        try:
            wanted = log.entry(request.params["id"])
        except QueryError as error:
            raise unknown from error
        async with database.connection() as conn:
            found = await afetch(conn, wanted)
        if not found:
            raise unknown
        [shown] = entries_for(request.session, Page(found, None))
        return ConsoleResponse(200, shown)

    async def history(request: AuthenticatedRequest) -> ConsoleResponse:
        try:
            of_record = query().resource(request.params["table"]).record(request.params["id"])
        except SvcError as error:
            raise Problem(404, "unknown_table", error.message) from error
        return await page(request, filtered(of_record, request.query, _HISTORY))

    async def stats(request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(query(), request.query, _WHICH)
        async with database.connection() as conn:
            return ConsoleResponse(200, await astats(conn, wanted))

    async def export(request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(_Export(query()), request.query, _EXPORT)
        await record_export(database, request)
        headers = {
            "Content-Type": _MEDIA_TYPES[wanted.format],
            "Content-Disposition": f'attachment; filename="audit-log.{wanted.format}"',
        }
        return ConsoleResponse(
            200, export_pages(database.connection, wanted.query, format=wanted.format), headers=headers
        )

    async def remove(request: AuthenticatedRequest) -> ConsoleResponse:
        kept = None if retention_days is None else timedelta(days=retention_days)
        wanted = filtered(_Purge(kept), request.query, _PURGE)
        if wanted.older_than is None:
            refuse("olderThan", "is needed: the configuration has no retention_days")
        acting = partial(database.acting, request)
        return ConsoleResponse(200, await purge(acting, wanted.older_than, is_dry_run=wanted.is_dry_run))

    return Product(
        id="audit",
        name="Audit log",
        endpoints=[
            ProductEndpoint(
                method="GET",
                path="/entries",
                handler=entries,
                summary="Entries, newest first",
                query=documented(_ENTRIES),
                response=Page[Entry],
            ),
            ProductEndpoint(
                method="GET",
                path="/entries/:id",
                handler=entry,
                summary="One entry",
                response=Entry,
                errors={"unknown_entry": 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id",
                handler=history,
                summary="The entries of one record in the order of change, newest first",
                query=documented(_HISTORY),
                response=Page[Entry],
                errors={"unknown_table": 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/stats",
                handler=stats,
                summary=f"Counts of the entries of the last {WINDOW.days} days",
                query=documented(_WHICH),
                response=AuditStats,
            ),
            ProductEndpoint(
                method="GET",
                path="/export",
                handler=export,
                required_permission="write",
                summary="All entries as a file, oldest first",
                query=documented(_EXPORT),
                response=object,
                media_types=list(_MEDIA_TYPES.values()),
            ),
            ProductEndpoint(
                method="DELETE",
                path="/entries",
                handler=remove,
                required_permission="admin",
                summary="Remove old entries, and record that",
                query=documented(_PURGE),
                response=PurgeReport,
            ),
        ],
    )
