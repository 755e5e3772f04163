"""Routes that export and purge the audit log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, get_args

from svc_pg.audit.log.export_fields import TextFormat
from svc_pg.audit.log.purge_report import OLDEST_AGE, YOUNGEST_AGE, PurgeReport, ages_of
from svc_pg.audit.read.audit_query import query
from svc_pg.audit.reads.reading import collected
from svc_pg.config import AuditConfig
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import SEARCHES, WHICH, Asked, asked
from svc_pg.console.built_in.audit_lookup import page_of
from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import one_of, text
from svc_pg.console.http.parameters import FilterParameter, documented, filtered, one_among, refuse, truth
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.sessions.security_log import record_export
from svc_pg.errors import QueryError
from svc_pg.formats import durations

_MEDIA_TYPES: Final[dict[TextFormat, str]] = {
    "ndjson": "application/x-ndjson",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class _Export(Asked):
    format: TextFormat = "ndjson"


@dataclass(frozen=True, slots=True)
class _Purge:
    older_than: timedelta | None = None
    is_dry_run: bool = False
    unsealed: bool = False


_FORMATS: Final[Sequence[TextFormat]] = get_args(TextFormat)
_format: Final = one_among(_FORMATS)


def _age(text: str) -> timedelta:
    age = durations.parse(text)
    if not YOUNGEST_AGE <= age <= OLDEST_AGE:
        raise ValueError("write 1 to 36500 days, such as 90d")
    return age


_EXPORT: Final[dict[str, FilterParameter[_Export]]] = {
    **asked(WHICH, _Export),
    **asked(SEARCHES, _Export),
    "format": FilterParameter(
        lambda export, text: replace(export, format=_format(text)),
        "the format of the file",
        {**one_of(_FORMATS), "default": "ndjson"},
    ),
}
_PURGE: Final[dict[str, FilterParameter[_Purge]]] = {
    "olderThan": FilterParameter(
        lambda purge, text: replace(purge, older_than=_age(text)),
        "remove older entries, for example 90d; default: retention_days of the configuration",
        text("90d"),
    ),
    "dryRun": FilterParameter(
        lambda purge, text: replace(purge, is_dry_run=truth(text)),
        "only count, remove nothing",
        {"type": "boolean", "default": False},
    ),
    "unsealed": FilterParameter(
        lambda purge, text: replace(purge, unsealed=truth(text)),
        "also remove entries that no seal has yet, although the log has seals: nothing will ever prove what they said",
        {"type": "boolean", "default": False},
    ),
}


@dataclass(frozen=True, slots=True)
class FileRoutes:
    """The handlers, and the objects that they need."""

    database: Database
    log: ConsoleLog
    config: AuditConfig

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/export",
                operation_id="entries.export",
                handler=self._export,
                is_compressed=True,
                required_permission="write",
                summary="All entries as a file, oldest first",
                query=documented(_EXPORT),
                response=object,
                media_types=list(_MEDIA_TYPES.values()),
                errors={"not_supported": 422, "conflict": 409},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/entries",
                operation_id="entries.purge",
                handler=self._remove,
                required_permission="admin",
                summary="Remove old entries, and record that",
                query=documented(_PURGE),
                response=PurgeReport,
                errors={"log_elsewhere": 409},
            ),
        ]

    async def _export(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(_Export(query()), request.query, _EXPORT)
        if wanted.query.searches:  # a file that has begun cannot say that its search is refused
            await page_of(self.log, wanted.query.only("id").limit(1))
        await record_export(self.database, request)
        if (reading := collected()) is not None:
            reading.add_export(wanted.query)
        headers = {
            "Content-Type": _MEDIA_TYPES[wanted.format],
            "Content-Disposition": f'attachment; filename="audit-log.{wanted.format}"',
        }
        return ConsoleResponse(200, self.log.export(wanted.query, form=wanted.format), headers=headers)

    async def _remove(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(_Purge(), request.query, _PURGE)
        try:
            ages = ages_of(wanted.older_than, self.config)
        except QueryError:
            refuse("olderThan", "is needed: the configuration has no retention_days")
        report = await self.log.purge(request, ages, is_dry_run=wanted.is_dry_run, unsealed=wanted.unsealed)
        return ConsoleResponse(200, report)
