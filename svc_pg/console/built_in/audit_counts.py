"""Routes that count entries of the audit log: statistics, and the values of each filter."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from svc_pg.audit.read.facets import COUNTED, Facets
from svc_pg.audit.read.stats import BUCKETS, MAX_NEWEST, AuditStats, Bucket
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import WHICH, Asked, asked, visible
from svc_pg.console.http.documentation import one_of
from svc_pg.console.http.parameters import FilterParameter, documented, filtered, one_among, truth
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse


@dataclass(frozen=True, slots=True)
class _Counted(Asked):
    bucket: Bucket | None = None
    is_newest: bool = False


@dataclass(frozen=True, slots=True)
class _Faceted(Asked):
    of: Sequence[str] = COUNTED


_name: Final = one_among(COUNTED)
_FACETS: Final[dict[str, FilterParameter[_Faceted]]] = {
    **asked(WHICH, _Faceted),
    "facet": FilterParameter(
        lambda faceted, *texts: replace(faceted, of=[_name(text) for text in texts]),
        "a filter to count, or time; default: all; repeat it for several, which cost less than all",
        one_of(COUNTED),
        len(COUNTED),
    ),
}
_bucket: Final = one_among(BUCKETS)
_COUNTED: Final[dict[str, FilterParameter[_Counted]]] = {
    **asked(WHICH, _Counted),
    "bucket": FilterParameter(
        lambda counted, text: replace(counted, bucket=_bucket(text)),
        "the unit of times; default: minute up to three hours, hour up to seven days, else day",
        one_of(BUCKETS),
    ),
    "newest": FilterParameter(
        lambda counted, text: replace(counted, is_newest=truth(text)),
        f"true to count only the newest {MAX_NEWEST:,} entries of the range, which costs little",
        {"type": "boolean", "default": False},
    ),
}


@dataclass(frozen=True, slots=True)
class CountRoutes:
    """The handlers, and the objects that they need."""

    log: ConsoleLog

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/stats",
                operation_id="entries.stats",
                handler=self._stats,
                is_compressed=True,
                serves_tenants=True,
                summary="Counts of entries by time, table, actor, operation and severity",
                query=documented(_COUNTED),
                response=AuditStats,
            ),
            ProductEndpoint(
                method="GET",
                path="/facets",
                operation_id="entries.facets",
                handler=self._facets,
                is_compressed=True,
                serves_tenants=True,
                summary="The values of each filter among the newest entries, with counts, and these by time",
                query=documented(_FACETS),
                response=Facets,
            ),
        ]

    async def _stats(self, request: AuthenticatedRequest) -> ConsoleResponse:
        counted = filtered(_Counted(visible(request.session)), request.query, _COUNTED)
        sees_all = request.session.tenant is None
        found = await self.log.stats(
            counted.query, bucket=counted.bucket, is_newest=counted.is_newest, tells_reach=sees_all
        )
        return ConsoleResponse(200, found)

    async def _facets(self, request: AuthenticatedRequest) -> ConsoleResponse:
        faceted = filtered(_Faceted(visible(request.session)), request.query, _FACETS)
        sees_all = request.session.tenant is None
        return ConsoleResponse(200, await self.log.facets(faceted.query, of=faceted.of, tells_reach=sees_all))
