"""Routes of the audit log's entries: lists, one entry, its surroundings, the history of a record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from svc_pg.audit.log.entry import ALWAYS, Entry
from svc_pg.audit.read.log_position import NOW, START
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import ENTRIES, HISTORY, Asked, asked, visible
from svc_pg.console.built_in.audit_lookup import OF_ENTRY, OF_RECORD, page_of, searchable, unknown_entry, visible_entry
from svc_pg.console.built_in.endpoint_urls import entries_for
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import FilterParameter, documented, filtered, refuse
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem, explained
from svc_pg.console.http.tenant_cursors import TenantCursors
from svc_pg.console.http.tokens import Session
from svc_pg.console.openapi.json_schema import Partial
from svc_pg.database.pagination import Page
from svc_pg.errors import ConflictError, NotFoundError, QueryError, SvcError

_SomeOfEntry = Annotated[Entry, Partial(*ALWAYS)]


@dataclass(frozen=True, slots=True)
class _Listed(Asked):
    around: str | None = None
    after: str | None = None


_LISTED: Final[dict[str, FilterParameter[_Listed]]] = {
    **asked(ENTRIES, _Listed),
    "around": FilterParameter(
        lambda listed, text: replace(listed, around=text),
        "the id of an entry: it comes between those before and after",
        text("184467"),
    ),
    "after": FilterParameter(
        lambda listed, text: replace(listed, after=text),
        "follow the log, oldest entry first, with none left out: now, start, or nextCursor of the page before, which is"
        " never null; an empty page means that there are no more yet",
        text("start"),
    ),
}


@dataclass(frozen=True, slots=True)
class EntryRoutes:
    """The handlers, and the objects that they need."""

    log: ConsoleLog
    cursors: TenantCursors

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/entries",
                operation_id="entries.list",
                handler=self._list,
                is_compressed=True,
                serves_tenants=True,
                summary="Entries, newest first",
                query=documented(_LISTED),
                response=Page[_SomeOfEntry],
                errors={"unknown_entry": 404, "conflict": 409, "not_supported": 422},
            ),
            ProductEndpoint(
                method="GET",
                path="/entries/:id",
                operation_id="entries.get",
                path_parameters=OF_ENTRY,
                handler=self._get,
                is_compressed=True,
                serves_tenants=True,
                summary="One entry",
                response=Entry,
                errors={"unknown_entry": 404},
            ),
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id",
                operation_id="records.entries",
                path_parameters=OF_RECORD,
                handler=self._history,
                is_compressed=True,
                serves_tenants=True,
                summary="The entries of one record in the order of change, newest first",
                query=documented(HISTORY),
                response=Page[_SomeOfEntry],
                errors={"unknown_table": 404},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        given = self.cursors.decrypted(request.session, request.query, words=(NOW, START))
        listed = filtered(_Listed(visible(request.session)), given, _LISTED)
        if listed.after is not None:
            page = await self._follow(listed, listed.after)
        elif listed.around is not None:
            page = await self._around(request.session, listed, listed.around)
        else:
            page = await page_of(self.log, searchable(request.session, listed.query))
        return self._shown(request.session, page)

    async def _follow(self, listed: _Listed, cursor: str) -> Page[Entry]:
        if listed.around is not None or listed.query.position is not None or listed.query.searches:
            refuse("after", "cannot be combined with around, cursor, before, contains, context or text")
        try:
            return await self.log.follow(listed.query, cursor)
        except QueryError as error:
            refuse("after", f"is not acceptable: {error.message}")
        except ConflictError as error:
            raise Problem(409, "conflict", explained(error)) from error

    async def _around(self, session: Session, listed: _Listed, entry_id: str) -> Page[Entry]:
        if listed.query.position is not None or listed.query.searches:
            refuse("around", "cannot be combined with cursor, before, contains, context or text")
        try:
            if session.tenant is not None:  # the entry itself would come, whoever's it is
                await visible_entry(self.log, session, entry_id)
            return await self.log.around(listed.query, entry_id)
        except NotFoundError as error:
            raise unknown_entry() from error
        except QueryError as error:
            refuse("around", f"is not acceptable: {error.message}")

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        try:
            return ConsoleResponse(200, await visible_entry(self.log, request.session, request.params["id"]))
        except QueryError as error:
            raise unknown_entry() from error

    async def _history(self, request: AuthenticatedRequest) -> ConsoleResponse:
        try:
            of_record = visible(request.session).resource(request.params["table"]).record(request.params["id"])
        except SvcError as error:
            raise Problem(404, "unknown_table", error.message) from error
        given = self.cursors.decrypted(request.session, request.query)
        return self._shown(request.session, await self.log.page(filtered(of_record, given, HISTORY)))

    def _shown(self, session: Session, page: Page[Entry]) -> ConsoleResponse:
        return ConsoleResponse(200, self.cursors.encrypted(session, entries_for(session, page)))
