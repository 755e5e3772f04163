"""The route of the values that filters of deliveries, messages and endpoints can have, among so many at most."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args

from psycopg import AsyncConnection

from svc_pg.console.built_in.suggested_endpoints import LOOKED_AT, events_of, suggested_endpoints
from svc_pg.console.database.pool import Database
from svc_pg.console.http.parameters import ValueQuestion
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.http.tokens import Session
from svc_pg.console.views.suggestions import cut
from svc_pg.database.by_indexes import aby_indexes
from svc_pg.database.query import Query, afetch
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.events.own_events import OWN_EVENTS
from svc_pg.webhooks.payload_search import SearchKey, search_keys

Named = Literal["endpoint", "event", "tenant", "payload"]

NAMED: Final[tuple[Named, ...]] = get_args(Named)
MOST_VALUES: Final = 10
MOST_STEPS: Final = 1_000
"""The most tenants of messages that are looked at: each is one step in their index."""

_TENANTS: Final = statement("queries/console/webhook_tenants.sql")
_OF_OPERATORS: Final = frozenset(event.name for event in OWN_EVENTS if event.name.startswith("audit."))
"""Events that no endpoint of a tenant gets."""


@dataclass(frozen=True, slots=True)
class FilterValue:
    """A value of a filter, and what people call it."""

    value: Annotated[str, Doc("The value, as the filter takes it.", "0190c0de-7a11-7c01-8000-000000000001")]
    name: Annotated[str, Doc("Its name; the value itself, unless that is an id.", "Northwind's ERP")]
    about: Annotated[str, Doc("A note, or an empty text.", "https://erp.northwind.example/hooks")]


@dataclass(frozen=True, slots=True)
class FilterValues:
    """Values of a filter that have a text in them."""

    data: Annotated[Sequence[FilterValue], Doc("The values, 10 at most.")]
    is_complete: Annotated[
        bool,
        Doc("False if only a part was looked at: the newest 10,000 endpoints, or the first 1,000 tenants of messages."),
    ]


@dataclass(frozen=True, slots=True)
class _Tenant:
    value: str | None
    is_complete: bool


_QUESTION: Final = ValueQuestion(
    NAMED,
    letters="letters that the values have, in whatever case; of an endpoint its description, or its URL without the"
    " query; of a payload the key",
    example="north",
)


@dataclass(frozen=True, slots=True)
class WebhookValueRoutes:
    """The handler, and the object that it needs."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/values",
                operation_id="deliveries.values",
                handler=self._values,
                serves_tenants=True,
                summary="Values of a filter that have some letters, for example endpoints by their description",
                query=_QUESTION.documented(),
                response=FilterValues,
            )
        ]

    async def _values(self, request: AuthenticatedRequest) -> ConsoleResponse:
        name, letters = _QUESTION.read(request.query)
        async with self.database.connection() as conn, aby_indexes(conn):
            return ConsoleResponse(200, await _found(conn, request.session, name, letters))


async def _found(conn: AsyncConnection[Any], session: Session, name: Named, letters: str) -> FilterValues:
    """The values, of a session of one tenant those of that tenant alone."""
    if name == "endpoint":
        endpoints, looked_at = await suggested_endpoints(conn, letters, tenant=session.tenant, shown=MOST_VALUES)
        found = [FilterValue(each.id, cut(each.name), cut(each.url)) for each in endpoints]
        return FilterValues(found, looked_at < LOOKED_AT)
    if name == "event":
        events = await events_of(conn, letters, shown=MOST_VALUES + len(_OF_OPERATORS))
        shown = [each for each in events if session.tenant is None or each.name not in _OF_OPERATORS][:MOST_VALUES]
        return FilterValues(
            [FilterValue(each.name, each.name, cut(each.description)) for each in shown], is_complete=True
        )
    if name == "payload":
        return FilterValues(_keys(await afetch(conn, search_keys()), letters), is_complete=True)
    if session.tenant is not None:
        own = [session.tenant] if letters.casefold() in session.tenant.casefold() else []
        return FilterValues([_plain(each) for each in own], is_complete=True)
    params = {"text": letters, "shown": MOST_VALUES, "steps": MOST_STEPS, "most": LOOKED_AT}
    tenants = await afetch(conn, Query(_TENANTS, params, _Tenant))
    known = [_plain(each.value) for each in tenants if each.value is not None]
    return FilterValues(known, tenants[0].is_complete)


def _keys(known: Iterable[SearchKey], letters: str) -> list[FilterValue]:
    """The keys of payloads, each with its sign: what comes after it is nobody's to complete."""
    events: dict[str, list[str]] = {}
    for each in known:
        if letters.casefold() in each.key.casefold():
            events.setdefault(f"{each.key}=", []).append(each.event_name)
    return [FilterValue(key, key, cut(", ".join(names))) for key, names in events.items()][:MOST_VALUES]


def _plain(value: str) -> FilterValue:
    return FilterValue(value, value, "")
