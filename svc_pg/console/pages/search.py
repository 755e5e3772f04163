"""The page Search: one field, and each reading of its text that leads somewhere; if all lead to one page, that page.

Each reading is bounded: names are looked for among the newest 1,000 endpoints and the first 1,000 tenants, actors and
labels among those with the most of the newest 10,000 entries, keys without a table in up to 30 tables.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar
from uuid import UUID

from svc_pg.audit.entry import Entry
from svc_pg.audit.facets import Facets
from svc_pg.audit.tables import Audited
from svc_pg.console.built_in.tenant_table import Tenant
from svc_pg.console.built_in.webhook_messages import WholeMessage
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.names import endpoint_name
from svc_pg.console.pages.states import SEVERITIES
from svc_pg.console.pages.visit import Visit
from svc_pg.console.requests import Problem
from svc_pg.pagination import Page
from svc_pg.plurals import counted
from svc_pg.webhooks.delivery_rows import Delivery
from svc_pg.webhooks.endpoint_rows import Endpoint
from svc_pg.webhooks.event_types import EventType

MOST_CHARACTERS: Final = 500
_MOST_TABLES: Final = 500
_MOST_SHOWN: Final = 8
_MOST_LISTED: Final = 100  # by one call
_MOST_LOOKED_AT: Final = 1000
_MOST_PROBED: Final = 30
_WORDS: Final = {"actor": ("Actor", "people"), "label": ("Label", "tag"), "compliance": ("Tag", "tag")}
_RECORD: Final = re.compile(r"(?P<table>\S+?)(?:\s+|/|#|:)(?P<record>\S.*)")
_ENTRY: Final = re.compile(r"[0-9]{1,18}")

Shape = TypeVar("Shape")


@dataclass(frozen=True, slots=True)
class Finding:
    """One reading of what was typed: the kind of thing, its icon, its name, where it leads, and what else to know."""

    kind: str
    icon: str
    name: str
    address: str
    about: str = ""


Reading = Callable[[Visit, str], AsyncIterator[Finding]]


async def search(visit: Visit) -> Answer:
    """All readings of the text that lead somewhere, the surest first; if they lead to one page, that page."""
    text = visit.query.get("q", "").strip()
    if not text or len(text) > MOST_CHARACTERS or "\0" in text:
        return Html("search", {"text": text[:MOST_CHARACTERS], "found": [], "is_asked": bool(text)})
    found = [each for reading in _READINGS for each in [finding async for finding in reading(visit, text)]]
    if not found:
        found = [finding async for finding in _contents(visit, text)]
    if len({each.address for each in found}) == 1:
        return SeeOther(found[0].address)
    return Html("search", {"text": text, "found": found, "is_asked": True})


async def _ids(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The delivery, the message or the endpoint with this id."""
    try:
        key = str(UUID(text))
    except ValueError:
        return
    if delivery := await _found(visit.api.get(Delivery, "webhooks", "deliveries", key)):
        about = f"{delivery.event_name}, {delivery.status}"
        yield Finding("Delivery", "send", key, visit.to.delivery(key), about)
    if message := await _found(visit.api.get(WholeMessage, "webhooks", "messages", key)):
        about = f"{message.event_name}, {counted(len(message.deliveries), 'delivery')}"
        yield Finding("Message", "send", key, visit.to.deliveries(messageId=key), about)
    if endpoint := await _found(visit.api.get(Endpoint, "webhooks", "endpoints", key)):
        yield _endpoint(visit, endpoint)


async def _tenants(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The tenant with this id, and tenants with these words in their names."""
    if not visit.has("tenants"):
        return
    if tenant := await _found(visit.api.get(Tenant, "tenant", "tenants", text)):
        yield Finding("Tenant", "people", tenant.name, visit.to.tenant(tenant.id), tenant.id)
    listed = await _listed(visit, Tenant, "tenant", "tenants")
    for each in _matching(listed, text, lambda each: each.name):
        yield Finding("Tenant", "people", each.name, visit.to.tenant(each.id), each.id)


async def _entries(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The entry of the log with this number."""
    if not _ENTRY.fullmatch(text):
        return
    if entry := await _found(visit.api.get(Entry, "audit", "entries", text)):
        about = " ".join(part for part in (entry.operation, entry.table_name, entry.record_id) if part)
        yield Finding("Entry", "log", f"Entry {entry.id}", visit.to.entry(entry.id), about)


async def _transactions(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The changes of the transaction with this number."""
    if _ENTRY.fullmatch(text) and (about := await _changed(visit, transaction=text)):
        yield Finding("Transaction", "log", f"Transaction {text}", visit.to.entries(transaction=text), about)


async def _tables_and_records(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """Audited tables with these letters in their names, and records: of a table and a key, or with a key alone."""
    try:
        page = await visit.api.get(Page[Audited], "audit", "tables", query={"limit": str(_MOST_TABLES)})
    except Problem as problem:
        if problem.code not in ("not_supported", "access_denied"):
            raise
        return  # of an audit log elsewhere, whose user may not look at triggers
    if typed := _RECORD.fullmatch(text):
        named, key = [each.name for each in page if _is_named(each.name, typed["table"])], typed["record"]
    else:
        named, key = [each.name for each in page if not each.name.startswith("svc.")], text
    for name in named[:_MOST_PROBED]:
        if about := await _changed(visit, resource=name, record=key):
            yield Finding("Record", "tag", f"{name} {key}", visit.to.record(name, key), about)
    for table in _matching(page.data, text, lambda each: each.name):
        yield Finding("Table", "system", table.name, visit.to.entries(resource=table.name), "all of its changes")


async def _values(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The actor with this id, and actors, labels and tags with these letters; a severity."""
    if about := await _changed(visit, actor=text):
        yield Finding("Actor", "people", text, visit.to.entries(actor=text), about)
    if text.casefold() in SEVERITIES and (about := await _changed(visit, severity=text.casefold())):
        address = visit.to.entries(severity=text.casefold())
        yield Finding("Severity", "warn", text.casefold(), address, about)
    counted_entries = await _found(visit.api.get(Facets, "audit", "facets"))
    for facet in counted_entries.facets if counted_entries else ():
        if facet.name in _WORDS:
            kind, icon = _WORDS[facet.name]
            values = [(each.value, each.entries) for each in facet.values if each.value not in (None, text)]
            for value, entries in _matching(values, text, lambda each: each[0] or ""):
                name = value or ""
                yield Finding(kind, icon, name, visit.to.entries(**{facet.name: name}), counted(entries, "entry"))


async def _contents(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The changes whose snapshots or description have these words."""
    if visit.is_log_here and (about := await _changed(visit, text=text)):
        yield Finding("Changes", "search", f"Changes with “{text}”", visit.to.entries(text=text), about)


async def _endpoints(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The newest endpoints with these letters in their URL or description."""
    listed = await _listed(visit, Endpoint, "webhooks", "endpoints")
    for each in _matching(listed, text, lambda each: f"{each.description} {each.url}"):
        yield _endpoint(visit, each)


async def _events(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """Types of events with these letters in their names."""
    page = await visit.api.get(Page[EventType], "webhooks", "event-types")
    for each in _matching(page.data, text, lambda each: each.name):
        yield Finding("Event type", "tag", each.name, visit.to.event(each.name), each.description or "")


_READINGS: Final[Sequence[Reading]] = (
    _ids,
    _entries,
    _tables_and_records,
    _transactions,
    _values,
    _endpoints,
    _events,
    _tenants,
)


def _endpoint(visit: Visit, endpoint: Endpoint) -> Finding:
    name = endpoint_name(endpoint.description, endpoint.url)
    return Finding("Endpoint", "plug", name, visit.to.endpoint(endpoint.id), endpoint.url)


async def _changed(visit: Visit, **filters: str) -> str:
    """The time of the newest entry with these filters, in words; nothing if there is none."""
    query: Mapping[str, str] = {"limit": "1", "fields": "id", **filters}
    try:
        page = await visit.api.get(Page[Entry], "audit", "entries", query=query)
    except Problem as problem:
        if problem.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return ""
    return f"changed {visit.relative(page.data[0].timestamp)}" if page.data else ""


async def _found(asked: Awaitable[Shape]) -> Shape | None:
    """The answer, or None if there is no such thing, or cannot be."""
    try:
        return await asked
    except Problem as problem:
        if problem.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY):
            raise
        return None


async def _listed(visit: Visit, shape: type[Shape], *path: str) -> Sequence[Shape]:
    """The first rows of a list, 1,000 at most."""
    rows: list[Shape] = []
    query = {"limit": str(_MOST_LISTED)}
    while len(rows) < _MOST_LOOKED_AT:
        page = await visit.api.get(Page[shape], *path, query=query)  # type: ignore[valid-type]
        rows += page.data
        if page.next_cursor is None:
            break
        query["cursor"] = page.next_cursor
    return rows


def _matching(rows: Sequence[Shape], text: str, words: Callable[[Shape], str]) -> Sequence[Shape]:
    wanted = text.casefold()
    return [row for row in rows if wanted in words(row).casefold()][:_MOST_SHOWN]


def _is_named(table: str, typed: str) -> bool:
    """True if this is the table's name, with its schema or without, or the beginning of it, such as its singular."""
    name = table.casefold()
    return name.startswith(typed.casefold()) or name.rpartition(".")[2].startswith(typed.casefold())
