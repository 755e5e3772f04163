"""URLs of webhook endpoints for sessions that may only read: without the query, which may be a token."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.past.blame import FieldOrigin
from svc_pg.audit.past.record_history import RecordState
from svc_pg.console.http.products import permits
from svc_pg.console.http.tokens import Session
from svc_pg.database.pagination import Page
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint

HIDDEN: Final = "?hidden"

ENDPOINTS: Final = "svc.webhook_endpoints"
# of a text in JSON, which ends at the first quotation mark without a backslash
_URL: Final = re.compile(r'("url"\s*:\s*"(?:[^"\\?]|\\.)*)\?(?:[^"\\]|\\.)*"')


AnyEndpoint = TypeVar("AnyEndpoint", Endpoint, EndpointHealth)
Change = TypeVar("Change", Entry, RecordState)


def endpoints_for(session: Session, endpoints: Sequence[AnyEndpoint]) -> list[AnyEndpoint]:
    """The endpoints, or their health, as the session may see them."""
    if permits(session.permissions, "write"):
        return list(endpoints)
    return [replace(each, url=without_query(each.url)) for each in endpoints]


def entries_for(session: Session, page: Page[Entry]) -> Page[Entry]:
    """Entries of the log as the session may see them: those about endpoints have URLs in their snapshots."""
    if permits(session.permissions, "write"):
        return page
    return replace(page, data=[_without_query(each) if each.table_name == ENDPOINTS else each for each in page])


def states_for(session: Session, table: str, page: Page[RecordState]) -> Page[RecordState]:
    """States of a record of this table, as ``entries_for``."""
    if table != ENDPOINTS or permits(session.permissions, "write"):
        return page
    return replace(page, data=[_without_query(each) for each in page])


def origins_for(session: Session, table: str, page: Page[FieldOrigin]) -> Page[FieldOrigin]:
    """The fields of a record of this table, as ``entries_for``."""
    if table != ENDPOINTS or permits(session.permissions, "write"):
        return page
    return replace(page, data=[replace(o, value=_alone(o.value)) if o.field == "url" else o for o in page])


def _alone(url: Snapshot | None) -> Snapshot | None:
    if url is None:
        return None
    return Snapshot(_in_json(f'{{"url": {url.text}}}').removeprefix('{"url": ').removesuffix("}"))


def _without_query(row: Change) -> Change:
    """An entry or a state whose snapshots have no query in their URLs; entries need not have both."""
    snapshots = {name: getattr(row, name) for name in ("before_data", "after_data") if hasattr(row, name)}
    hidden: dict[str, Any] = {
        name: None if snapshot is None else Snapshot(_in_json(snapshot.text)) for name, snapshot in snapshots.items()
    }
    return replace(row, **hidden)


def without_query(url: str) -> str:
    """A URL as sessions see it that may only read."""
    address, mark, _ = url.partition("?")
    return address + HIDDEN if mark else url


def _in_json(text: str) -> str:
    return _URL.sub(rf'\1{HIDDEN}"', text)
