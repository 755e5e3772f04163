"""The route of the tracks of a record: a track for each field that changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from anyio.to_thread import run_sync

from svc_pg.audit.past.record_history import History, history
from svc_pg.audit.past.tracks import MOST_BYTES, MOST_CHANGES, MOST_FIELDS, RecordTracks, tracks_of
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_lookup import OF_RECORD
from svc_pg.console.built_in.audit_past import past_problems
from svc_pg.console.built_in.endpoint_urls import states_for
from svc_pg.console.http.parameters import PAGE, FilterParameter, documented, filtered, whole_number
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.http.tenant_cursors import TenantCursors

_DEFAULT: Final = 24
_MOST_SKIPPED: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Asked:
    states: History
    fields_from: int = 0

    @property
    def position(self) -> object:
        return self.states.position

    def limit(self, changes: int) -> "_Asked":
        if not 1 <= changes <= MOST_CHANGES:
            raise ValueError(f"write 1 to {MOST_CHANGES}")
        return replace(self, states=self.states.limit(changes))

    def after(self, cursor: str) -> "_Asked":
        return replace(self, states=self.states.after(cursor))

    def before(self, cursor: str) -> "_Asked":
        return replace(self, states=self.states.before(cursor))


def _fields_from(asked: _Asked, text: str) -> _Asked:
    number = whole_number(text)
    if number > _MOST_SKIPPED:
        raise ValueError(f"write 0 to {_MOST_SKIPPED:,}")
    return replace(asked, fields_from=number)


_TRACKS: Final[dict[str, FilterParameter[_Asked]]] = {
    **PAGE,
    "limit": replace(
        PAGE["limit"],
        description="the changes of a page",
        schema={"type": "integer", "examples": [20], "minimum": 1, "maximum": MOST_CHANGES, "default": _DEFAULT},
    ),
    "fieldsFrom": FilterParameter(
        _fields_from,
        f"the tracks to leave out, those with most ticks: a page has up to {MOST_FIELDS} of `fieldCount`",
        {"type": "integer", "examples": [40], "minimum": 0, "maximum": _MOST_SKIPPED, "default": 0},
    ),
}


@dataclass(frozen=True, slots=True)
class TrackRoutes:
    """The handler, and the objects that it needs."""

    log: ConsoleLog
    cursors: TenantCursors

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/records/:table/:id/tracks",
                operation_id="records.tracks",
                path_parameters=OF_RECORD,
                handler=self._tracks,
                is_compressed=True,
                serves_tenants=True,
                summary="The newest changes of one record, with a track for each field that changed",
                query=documented(_TRACKS),
                response=RecordTracks,
                errors={"unknown_table": 404, "unknown_record": 404, "not_supported": 422},
            )
        ]

    async def _tracks(self, request: AuthenticatedRequest) -> ConsoleResponse:
        given = self.cursors.decrypted(request.session, request.query)
        with past_problems(request):
            start = _Asked(history(request.params["table"], request.params["id"]).limit(_DEFAULT))
            asked = filtered(start, given, _TRACKS)
            async with self.log.past(request.session) as conn:
                page = await asked.states.alist(conn, max_bytes=MOST_BYTES)
        page = states_for(request.session, str(asked.states.table), page)
        page = self.cursors.encrypted(request.session, page)
        # in a thread, because states may have 1,600 fields, and other requests wait for this loop
        return ConsoleResponse(200, await run_sync(partial(tracks_of, page, fields_from=asked.fields_from)))
