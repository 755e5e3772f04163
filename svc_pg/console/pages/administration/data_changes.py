"""The page Changes: those of endpoints, tenants, sessions and tokens, for a console without the audit trail."""

from collections.abc import Mapping
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit.changes import OPERATIONS
from svc_pg.console.pages.audit.record_names import name_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page

_FIELDS: Final = "operation,recordId,actorId,dbUser,changedFields,redactedFields,beforeData,afterData"
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "svc.webhook_endpoints": ("endpoint", "endpoints"),
    "svc.tenants": ("tenant", "tenants"),
    "svc.console_sessions": ("session", "sessions"),
    "svc.console_tokens": ("token", "tokens"),
    "svc.audit_holds": ("legal hold", ""),
}
"""The words for a row of each table, and the page of its kind."""
_WITH_PAGES: Final = frozenset({"endpoints", "tenants"})


async def data_changes_page(request: PageRequest) -> Answer:
    """The changes, newest first."""
    query = request.list_query(fields=_FIELDS)
    page = await request.api.get(Page[Entry], "account", "data-changes", query=query)
    addresses = {entry.id: _address(request, entry) for entry in page.data}
    names = {entry.id: name_of(entry, request.titles) for entry in page.data}
    values = {"entries": page, "operations": OPERATIONS, "kinds": _KINDS, "addresses": addresses, "names": names}
    return Html("data_changes", values)


def _address(request: PageRequest, entry: Entry) -> str | None:
    """The page of the row, if its kind has pages, and it is still there."""
    page = _KINDS[entry.table_name][1]
    is_shown = page in _WITH_PAGES and request.has(page) and entry.operation != "DELETE" and entry.record_id is not None
    return request.url(page, entry.record_id) if is_shown else None
