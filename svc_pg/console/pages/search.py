"""The page Search: one field, and each reading of its text that leads somewhere; if all lead to one page, that page."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar
from uuid import UUID

from svc_pg.audit.entry import Entry
from svc_pg.audit.tables import Audited
from svc_pg.console.built_in.tenant_table import Tenant
from svc_pg.console.built_in.webhook_messages import WholeMessage
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.names import endpoint_name
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
_MOST_LISTED: Final = 100
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
    page = await visit.api.get(Page[Tenant], "tenant", "tenants", query={"limit": str(_MOST_LISTED)})
    for each in _matching(page.data, text, lambda each: each.name):
        yield Finding("Tenant", "people", each.name, visit.to.tenant(each.id), each.id)


async def _entries(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The entry of the log with this number."""
    if not _ENTRY.fullmatch(text):
        return
    if entry := await _found(visit.api.get(Entry, "audit", "entries", text)):
        about = " ".join(part for part in (entry.operation, entry.table_name, entry.record_id) if part)
        yield Finding("Entry", "log", f"Entry {entry.id}", visit.to.entry(entry.id), about)


async def _tables_and_records(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """Audited tables with these letters in their names, and a record, if a table and a key were typed."""
    try:
        page = await visit.api.get(Page[Audited], "audit", "tables", query={"limit": str(_MOST_TABLES)})
    except Problem as problem:
        if problem.code not in ("not_supported", "access_denied"):
            raise
        return  # of an audit log elsewhere, whose user may not look at triggers
    if typed := _RECORD.fullmatch(text):
        named = [each.name for each in page if _is_named(each.name, typed["table"])]
        for name in named:
            if about := await _changed(visit, resource=name, record=typed["record"]):
                yield Finding(
                    "Record", "tag", f"{name} {typed['record']}", visit.to.record(name, typed["record"]), about
                )
    for table in _matching(page.data, text, lambda each: each.name):
        yield Finding("Table", "system", table.name, visit.to.entries(resource=table.name), "all of its changes")


async def _actors(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The actor with this id."""
    if about := await _changed(visit, actor=text):
        yield Finding("Actor", "people", text, visit.to.entries(actor=text), about)


async def _endpoints(visit: Visit, text: str) -> AsyncIterator[Finding]:
    """The newest endpoints with these letters in their URL or description."""
    page = await visit.api.get(Page[Endpoint], "webhooks", "endpoints", query={"limit": str(_MOST_LISTED)})
    for each in _matching(page.data, text, lambda each: f"{each.description} {each.url}"):
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
    _actors,
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


def _matching(rows: Sequence[Shape], text: str, words: Callable[[Shape], str]) -> Sequence[Shape]:
    wanted = text.casefold()
    return [row for row in rows if wanted in words(row).casefold()][:_MOST_SHOWN]


def _is_named(table: str, typed: str) -> bool:
    """True if this is the table's name, with its schema or without."""
    return typed.casefold() in (table.casefold(), table.casefold().rpartition(".")[2])
