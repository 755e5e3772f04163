"""The readings of a search text: each finds things that have it as an id, a name or a value.

Each reading is bounded: tags, words, the ids of requests and addresses are looked for in the newest 10,000 entries,
actors and labels in all if an index has them, keys without a table in up to 30 tables. The page says where there may be
more, and leads there.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence, Set
from http import HTTPStatus
from typing import Final, TypeVar
from uuid import UUID

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.facets import Facets
from svc_pg.audit.read.known_values import KnownValues, Named
from svc_pg.audit.read.named_records import named, split_name
from svc_pg.audit.read.search import MAX_ENTRIES
from svc_pg.console.built_in.webhook_messages import MessageWithDeliveries
from svc_pg.console.http.parameters import MOST_CHARACTERS
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.at_once import both
from svc_pg.console.pages.audit.known_tables import FACETS, known_tables
from svc_pg.console.pages.names import endpoint_name
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.search_findings import MOST_SHOWN, Finding, More, Reading, first_rows, matching
from svc_pg.console.pages.states import SEVERITIES
from svc_pg.console.pages.views import some_views
from svc_pg.console.sign_in.tenant_table import Tenant
from svc_pg.database.pagination import Page
from svc_pg.formats.plurals import counted
from svc_pg.questions import times
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.events.event_types import EventType

_MOST_PROBED: Final = 30
_MOST_ABOUT: Final = 200
_WORDS: Final = {"actor": ("Actor", "people"), "label": ("Label", "tag"), "compliance": ("Tag", "tag")}
_OF_WHOLE_LOG: Final[Sequence[Named]] = ("actor", "label")
_FACT: Final = re.compile(r"(?=.*[0-9])(?=.*[^0-9])[\w.:/+=@-]{4,128}")  # the id of a request, an address
NUMBER: Final = re.compile(r"[0-9]{1,18}")

Shape = TypeVar("Shape")


async def _ids(request: PageRequest, text: str) -> AsyncIterator[Finding]:
    """The delivery, the message or the endpoint with this id."""
    if not request.has_webhooks:
        return
    try:
        key = str(UUID(text))
    except ValueError:
        return
    if delivery := await _found(request.api.get(Delivery, "webhooks", "deliveries", key)):
        about = f"{delivery.event_name}, {delivery.status}"
        yield Finding("Delivery", "send", key, request.to.delivery(key), about)
    if message := await _found(request.api.get(MessageWithDeliveries, "webhooks", "messages", key)):
        about = f"{message.event_name}, {counted(len(message.deliveries), 'delivery')}"
        yield Finding("Message", "send", key, request.to.deliveries(messageId=key), about)
    if endpoint := await _found(request.api.get(Endpoint, "webhooks", "endpoints", key)):
        yield _endpoint(request, endpoint)


async def _tenants(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    """The tenant with this id, and tenants with these letters in their names."""
    if not request.has("tenants") or request.person.tenant is not None:
        return
    if tenant := await _found(request.api.get(Tenant, "tenant", "tenants", text)):
        yield Finding("Tenant", "people", tenant.name, request.to.tenant(tenant.id), tenant.id)
    page = await first_rows(request, Tenant, text, "tenant", "tenants")
    for each in page:
        yield Finding("Tenant", "people", each.name, request.to.tenant(each.id), each.id)
    if page.next_cursor:
        yield More(
            "More tenants have these letters in their names.",
            "All of them",
            request.url("tenants", query={"text": text}),
        )


async def _entries(request: PageRequest, text: str) -> AsyncIterator[Finding]:
    """The entry of the log with this number."""
    if not NUMBER.fullmatch(text):
        return
    if entry := await _found(request.api.get(Entry, "audit", "entries", text)):
        about = " ".join(part for part in (entry.operation, entry.table_name, entry.record_id) if part)
        yield Finding("Entry", "log", f"Entry {entry.id}", request.to.entry(entry.id), about)


async def _transactions(request: PageRequest, text: str) -> AsyncIterator[Finding]:
    """The changes of the transaction with this number."""
    if NUMBER.fullmatch(text) and (about := await _changed(request, transaction=text)):
        yield Finding("Transaction", "log", f"Transaction {text}", request.to.entries(transaction=text), about)


async def _times(request: PageRequest, text: str) -> AsyncIterator[Finding]:
    """The changes of a day, or since a time ago, as the bar of the log takes it."""
    try:
        named = None if NUMBER.fullmatch(text) else times.period(text, request.now)
    except ValueError:
        return
    if named:
        about = await _changed(request, **named) or "nothing was changed then"
        yield Finding("Time", "wait", text, request.to.entries(**named), about)


async def _tables_and_records(request: PageRequest, text: str) -> AsyncIterator[Finding]:
    """Audited tables with these letters in their names, and records: of a table and a key, or with a key alone."""
    known = await known_tables(request)
    tables, key = list[str](), text
    if typed := split_name(text):
        table, key = typed
        tables = [name for surely in named(known, table) for name in surely]
    if not tables:  # a key alone, which may have a blank or a slash in it too
        tables, key = [each for each in known if not each.startswith("svc.")], text
    for name in tables[:_MOST_PROBED]:
        if about := await _changed(request, resource=name, record=key):
            yield Finding("Record", "tag", f"{name} {key}", request.to.record(name, key), about)
    for each in matching(known, text, str):
        yield Finding("Table", "system", each, request.to.entries(resource=each), "all of its changes")


async def _values(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    """The actor with this id, and actors, labels and tags with these letters; a severity."""
    counts, known = await both(
        request,
        _found(request.api.get(Facets, "audit", "facets", query={"facet": FACETS})),
        _all_known_values(request, text),
    )
    if not _lacks(known["actor"], text, request) and (about := await _changed(request, actor=text)):
        yield Finding("Actor", "people", text, request.to.entries(actor=text), about)
    if text.casefold() in SEVERITIES and (about := await _changed(request, severity=text.casefold())):
        address = request.to.entries(severity=text.casefold())
        yield Finding("Severity", "warn", text.casefold(), address, about)
    listed = {("actor", text)}
    for facet in counts.facets if counts else ():
        if facet.name in _WORDS:
            values = [(each.value, each.entries) for each in facet.values if each.value is not None]
            for value, entries in matching(values, text, lambda each: each[0]):
                if (facet.name, value) not in listed:
                    listed.add((facet.name, value))
                    yield _value(request, facet.name, value, counted(entries, "entry"))
    for name, some in known.items():
        async for each in _older_values(request, name, some, listed):
            yield each


async def _all_known_values(request: PageRequest, text: str) -> dict[Named, KnownValues | None]:
    return {name: await _known_values(request, name, text) for name in _OF_WHOLE_LOG}


async def _known_values(request: PageRequest, name: Named, text: str) -> KnownValues | None:
    query = {"of": name, "text": text[:MOST_CHARACTERS]}
    return await _found(request.api.get(KnownValues, "audit", "values", query=query))


def _lacks(known: KnownValues | None, text: str, request: PageRequest) -> bool:
    """True if entries with this value would not be found: the newest have none, and no index leads to older ones."""
    if known is None or known.looked_at != "newest" or not request.sees_whole_log:
        return False
    return len(text) <= MOST_CHARACTERS and known.lacks(text)


async def _older_values(
    request: PageRequest, name: str, known: KnownValues | None, listed: Set[tuple[str, str]]
) -> AsyncIterator[Finding | More]:
    """Actors or labels of the whole log, beside those that the newest entries have most."""
    if known is None:
        return
    for value in known.values:
        if (name, value) not in listed and (about := await _changed(request, **{name: value})):
            yield _value(request, name, value, about)
    if known.looked_at != "log":
        yield More(f"Not all {name}s were looked at.", "Ask the log", request.to.entries())


def _value(request: PageRequest, name: str, value: str, about: str) -> Finding:
    kind, icon = _WORDS[name]
    return Finding(kind, icon, value, request.to.entries(**{name: value}), about)


async def contents(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    """The changes whose snapshots or description have these words."""
    async for each in _searched(request, f"Changes with “{text}”", "values", text=text):
        yield each


async def facts(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    """The changes whose context has this value, which does not look like an id or an address: it is asked last."""
    if not _FACT.fullmatch(text):
        async for each in _facts(request, text):
            yield each


async def _ids_of_requests(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    """The changes by the request with this id, or from this address."""
    if _FACT.fullmatch(text):
        async for each in _facts(request, text):
            yield each


def _facts(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    return _searched(request, f"Changes by a request with “{text}”", "requests and addresses", context=text)


async def _searched(request: PageRequest, name: str, kind: str, **search: str) -> AsyncIterator[Finding | More]:
    """The newest change that a search finds, or where it would go on."""
    if not request.has_past:
        return
    page = await _page(request, **search)
    if page.data:
        yield Finding("Changes", "search", name, request.to.entries(**search), _about(request, page.data[0]))
    elif page.next_cursor:
        words = f"The newest entries, up to {MAX_ENTRIES:,}, were looked at for {kind}, older ones not."
        yield More(words, "Go on with older ones", request.to.entries(**search, cursor=page.next_cursor))


async def _endpoints(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    """The newest endpoints with these letters in their URL or description."""
    if not request.has_webhooks:
        return
    page = await first_rows(request, Endpoint, text, "webhooks", "endpoints")
    for each in page:
        yield _endpoint(request, each)
    if page.next_cursor:
        yield More("More endpoints have these letters.", "All of them", request.to.endpoints(text=text))


async def _events(request: PageRequest, text: str) -> AsyncIterator[Finding]:
    """Types of events with these letters in their names."""
    if not request.has_webhooks:
        return
    page = await request.api.get(Page[EventType], "webhooks", "event-types")
    for each in matching(page.data, text, lambda each: each.name):
        yield Finding("Event type", "tag", each.name, request.to.event(each.name), each.description or "")


async def _views(request: PageRequest, text: str) -> AsyncIterator[Finding | More]:
    """Named views with these letters in their names, of lists that the console has."""
    page = await some_views(request, text=text, limit=str(MOST_SHOWN)) or Page([], None)
    for each in page:
        if request.has(each.of):
            yield Finding("View", "search", each.name, request.url("views", each.id), each.question[:_MOST_ABOUT])
    if page.next_cursor:
        yield More("More views have these letters.", "All of them", request.url("views", query={"text": text}))


READINGS: Final[Sequence[Reading]] = (
    _ids,
    _entries,
    _tables_and_records,
    _transactions,
    _times,
    _values,
    _ids_of_requests,
    _endpoints,
    _events,
    _tenants,
    _views,
)
WITHOUT_AUDIT: Final[Sequence[Reading]] = (_ids, _endpoints, _events, _tenants, _views)


def _endpoint(request: PageRequest, endpoint: Endpoint) -> Finding:
    name = endpoint_name(endpoint.description, endpoint.url)
    return Finding("Endpoint", "plug", name, request.to.endpoint(endpoint.id), endpoint.url)


async def _changed(request: PageRequest, **filters: str) -> str:
    """The time of the newest entry with these filters, in words; nothing if there is none."""
    page = await _page(request, **filters)
    return _about(request, page.data[0]) if page.data else ""


def _about(request: PageRequest, newest: Entry) -> str:
    return f"changed {request.relative(newest.timestamp)}"


async def _page(request: PageRequest, **filters: str) -> Page[Entry]:
    """The newest entry with these filters; none if they cannot be read."""
    query: Mapping[str, str] = {"limit": "1", "fields": "id", **filters}
    try:
        return await request.api.get(Page[Entry], "audit", "entries", query=query)
    except Problem as problem:
        if problem.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return Page([], None)


async def _found(asked: Awaitable[Shape]) -> Shape | None:
    """The answer, or None if the thing does not exist, or cannot."""
    try:
        return await asked
    except Problem as problem:
        if problem.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY):
            raise
        return None
