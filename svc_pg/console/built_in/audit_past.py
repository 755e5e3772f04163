"""Routes of the past: the states of a record, who set which field, and rows as they were at a time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, get_args

from starlette.datastructures import QueryParams

from svc_pg.audit.log.entry import Order
from svc_pg.audit.past.as_of import AsOf, as_of
from svc_pg.audit.past.blame import FieldOrigin, ablame
from svc_pg.audit.past.past_row import PastRow
from svc_pg.audit.past.record_history import History, RecordState, history
from svc_pg.audit.past.silences import Silence, asilences
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_lookup import OF_RECORD, OF_TABLE
from svc_pg.console.built_in.endpoint_urls import origins_for, states_for
from svc_pg.console.http.documentation import one_of, text
from svc_pg.console.http.parameters import (
    PAGE,
    PAGE_BYTES,
    FilterParameter,
    documented,
    filtered,
    point_in_time,
    refuse,
)
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.console.http.tenant_cursors import TenantCursors
from svc_pg.database.pagination import Page
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, NotFoundError, QueryError, UnknownTableError

_STATES: Final[dict[str, FilterParameter[History]]] = {
    "order": FilterParameter(
        History.order, "which states come first", {**one_of(get_args(Order)), "default": "newest"}
    ),
    **PAGE,
}


_ORIGINS: Final[dict[str, FilterParameter[str | None]]] = {
    "cursor": FilterParameter(
        lambda _, cursor: cursor,
        "nextCursor of a page that looked at 10,000 entries, for the fields that none of them changed",
        text("eyJpIjo3fQ"),
    ),
}
_TIME: Final[dict[str, FilterParameter[AsOf]]] = {
    "time": FilterParameter(
        lambda rows, _: rows,  # they are made of it
        "the point in time: RFC 3339, a date, or a duration before now such as 1h",
        text("2026-01-31T12:00:00Z"),
        is_required=True,
    ),
}
_MOST_SILENCES: Final = 100
_ROWS: Final[dict[str, FilterParameter[AsOf]]] = {**_TIME, **PAGE}
_UNKNOWN: Final = {"unknown_table": 404, "unknown_record": 404}
_ELSEWHERE: Final = {"not_supported": 422}
_UNKNOWN_THEN: Final = {"not_known_then": 404}


@dataclass(frozen=True, slots=True)
class PastRoutes:
    """The handlers, and the objects that they need."""

    log: ConsoleLog
    cursors: TenantCursors

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id/states",
                operation_id="records.states",
                path_parameters=OF_RECORD,
                handler=self._states,
                is_compressed=True,
                serves_tenants=True,
                summary="The states of one record with the times from which and to which each was there, newest first",
                query=documented(_STATES),
                response=Page[RecordState],
                errors=_UNKNOWN | _ELSEWHERE,
            ),
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id/blame",
                operation_id="records.blame",
                path_parameters=OF_RECORD,
                handler=self._blame,
                is_compressed=True,
                serves_tenants=True,
                summary="Each field of a record with the entry that last changed it",
                query=documented(_ORIGINS),
                response=Page[FieldOrigin],
                errors=_UNKNOWN | _ELSEWHERE,
            ),
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id/as-of",
                operation_id="records.as_of",
                path_parameters=OF_RECORD,
                handler=self._record,
                is_compressed=True,
                serves_tenants=True,
                summary="A record as it was at a time",
                query=documented(_TIME),
                response=PastRow,
                errors=_UNKNOWN | _ELSEWHERE | _UNKNOWN_THEN,
            ),
            ProductEndpoint(
                method="GET",
                path="/tables/:table/as-of",
                operation_id="tables.as_of",
                path_parameters=OF_TABLE,
                handler=self._table,
                is_compressed=True,
                serves_tenants=True,
                summary="The rows of a table as they were at a time, in the order of their keys",
                query=documented(_ROWS),
                response=Page[PastRow],
                errors={"unknown_table": 404} | _ELSEWHERE | _UNKNOWN_THEN,
            ),
            ProductEndpoint(
                method="GET",
                path="/tables/:table/silences",
                operation_id="tables.silences",
                path_parameters=OF_TABLE,
                handler=self._silences,
                summary="The newest 100 times in which capture of a table was not right, the newest first",
                response=Page[Silence],
                errors={"unknown_table": 404} | _ELSEWHERE,
            ),
        ]

    async def _states(self, request: AuthenticatedRequest) -> ConsoleResponse:
        given = self.cursors.decrypted(request.session, request.query)
        with past_problems(request):
            wanted = filtered(history(request.params["table"], request.params["id"]), given, _STATES)
            async with self.log.past(request.session) as conn:
                page = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        page = states_for(request.session, str(wanted.table), page)
        return ConsoleResponse(200, self.cursors.encrypted(request.session, page))

    async def _blame(self, request: AuthenticatedRequest) -> ConsoleResponse:
        given = self.cursors.decrypted(request.session, request.query)
        with past_problems(request):
            table = str(TableName.parse(request.params["table"]))
            after = filtered(None, given, _ORIGINS)
            async with self.log.past(request.session) as conn:
                try:
                    page = await ablame(conn, table, request.params["id"], after=after)
                except QueryError as error:
                    refuse("cursor", f"is not acceptable: {error.message}")
        page = origins_for(request.session, table, page)
        return ConsoleResponse(200, self.cursors.encrypted(request.session, page))

    async def _record(self, request: AuthenticatedRequest) -> ConsoleResponse:
        with past_problems(request):
            rows = _rows(request, request.query, _TIME).record(request.params["id"])
            async with self.log.past(request.session) as conn:
                row = await rows.aone(conn)
        return ConsoleResponse(200, row)

    async def _table(self, request: AuthenticatedRequest) -> ConsoleResponse:
        given = self.cursors.decrypted(request.session, request.query)
        with past_problems(request):
            rows = _rows(request, given, _ROWS)
            async with self.log.past(request.session) as conn:
                page = await rows.alist(conn, max_bytes=PAGE_BYTES)
        return ConsoleResponse(200, self.cursors.encrypted(request.session, page))

    async def _silences(self, request: AuthenticatedRequest) -> ConsoleResponse:
        with past_problems(request):
            async with self.log.past(request.session) as conn:
                found = await asilences(conn, request.params["table"])
        return ConsoleResponse(200, Page(found[: -_MOST_SILENCES - 1 : -1], None))


def _rows(request: AuthenticatedRequest, given: QueryParams, filters: Mapping[str, FilterParameter[AsOf]]) -> AsOf:
    text = given.get("time")
    if text is None:
        refuse("time", "is needed")
    try:
        rows = as_of(request.params["table"], point_in_time(text)).as_json()
    except (ValueError, QueryError) as error:
        refuse("time", f"is not acceptable: {error}")
    return filtered(rows, given, filters)


@contextmanager
def past_problems(request: AuthenticatedRequest) -> Iterator[None]:
    """Turn errors of reading the past into problems."""
    try:
        yield
    except (ConfigError, UnknownTableError) as error:
        raise Problem(404, "unknown_table", error.message) from error
    except NotFoundError as error:
        raise Problem(404, "unknown_record", error.message) from error
    except QueryError as error:
        # when the log begins to know a table is told by the first entry, whoever's it is
        is_of_tenant = request.session.tenant is not None
        detail = "The log does not know the table then." if is_of_tenant else error.message
        raise Problem(404, "not_known_then", detail) from error
