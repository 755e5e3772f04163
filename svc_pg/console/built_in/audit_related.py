"""The route of a record with the rows that refer to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from svc_pg.audit.related.answer import RelatedHistory
from svc_pg.audit.related.related import DEFAULT_CHANGES, MOST_CHANGES, Related, related
from svc_pg.audit.related.telling import CHANGE_TIMES
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import visible
from svc_pg.console.built_in.audit_lookup import OF_RECORD
from svc_pg.console.built_in.audit_past import past_problems
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import (
    PAGE,
    PAGE_BYTES,
    FilterParameter,
    documented,
    filtered,
    point_in_time,
    whole_number,
)
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.http.tenant_cursors import TenantCursors


def _state_at(asked: Related, time: str) -> Related:
    return asked.also_at(time if time in CHANGE_TIMES else point_in_time(time))


_RELATED: Final[dict[str, FilterParameter[Related]]] = {
    "cursor": replace(PAGE["cursor"], apply=Related.after),
    "limit": FilterParameter(
        lambda asked, number: asked.limit(whole_number(number)),
        "the most changes",
        {
            "type": "integer",
            "examples": [20],
            "minimum": 1,
            "maximum": MOST_CHANGES,
            "default": DEFAULT_CHANGES,
        },
    ),
    "steps": FilterParameter(
        lambda asked, number: asked.within(whole_number(number)),
        "1 for rows that refer to the record, 2 also for those that refer to these",
        {"type": "integer", "examples": [1], "minimum": 1, "maximum": 2, "default": 2},
    ),
    "time": FilterParameter(
        _state_at,
        "a time at which the states of the records are told too: RFC 3339, a date, a duration before now such as 1h, or"
        " first or last for that of a change of the answer",
        text("2026-01-31T12:00:00Z"),
    ),
    "otherTime": FilterParameter(_state_at, "another such time", text("1h")),
}


@dataclass(frozen=True, slots=True)
class RelatedRoutes:
    """The handler, and the objects that it needs."""

    log: ConsoleLog
    cursors: TenantCursors

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The route."""
        return [
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id/related",
                operation_id="records.related",
                path_parameters=OF_RECORD,
                handler=self._related,
                is_compressed=True,
                serves_tenants=True,
                summary="The changes of a record and of the rows that referred to it by foreign keys, newest first",
                description="The entries of the log decide which rows referred to it when: a deleted one is there, and"
                " one that was moved to another record is there for its time. `tables` tells how far the entries of"
                " each table were looked at.",
                query=documented(_RELATED),
                response=RelatedHistory,
                errors={"unknown_table": 404, "unknown_record": 404, "not_known_then": 404, "not_supported": 422},
            )
        ]

    async def _related(self, request: AuthenticatedRequest) -> ConsoleResponse:
        session = request.session
        given = self.cursors.decrypted(session, request.query)
        with past_problems(request):
            wanted = filtered(related(request.params["table"], request.params["id"]), given, _RELATED)
            wanted = wanted.only(*visible(session).conditions)
            async with self.log.past(session) as conn:
                found = await wanted.aread(conn, max_bytes=PAGE_BYTES)
        if session.tenant is not None:  # what it has no changes of, or is not audited, is none of its business
            own = {change.table for change in found.changes}
            tables = [each for each in found.tables if each.table in own and each.reach != "not_audited"]
            found = replace(found, tables=tables)
        cursor = self.cursors.cursor_for(session, found.next_cursor)
        return ConsoleResponse(200, replace(found, next_cursor=cursor))
