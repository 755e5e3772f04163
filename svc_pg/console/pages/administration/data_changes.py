"""The page Changes: those of endpoints, tenants, sessions and tokens, for a console without the audit trail."""

from collections.abc import Mapping
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit.changes import OPERATIONS
from svc_pg.console.pages.audit.record_names import name_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.record_titles import KINDS
from svc_pg.database.pagination import Page

_FIELDS: Final = "operation,recordId,actorId,dbUser,changedFields,redactedFields,beforeData,afterData"
_PAGES: Final[Mapping[str, str]] = {"svc.webhook_endpoints": "endpoints", "svc.tenants": "tenants"}
"""The pages of the rows of tables that have some."""


async def data_changes_page(request: PageRequest) -> Answer:
    """The changes, newest first."""
    query = request.list_query(fields=_FIELDS)
    page = await request.api.get(Page[Entry], "account", "data-changes", query=query)
    addresses = {entry.id: _address(request, entry) for entry in page.data}
    names = {entry.id: name_of(entry, request.titles) for entry in page.data}
    values = {"entries": page, "operations": OPERATIONS, "kinds": KINDS, "addresses": addresses, "names": names}
    return Html("data_changes", values)


def _address(request: PageRequest, entry: Entry) -> str | None:
    """The page of the row, if its kind has pages, and it is still there."""
    page = _PAGES.get(entry.table_name)
    is_shown = page is not None and request.has(page) and entry.operation != "DELETE" and entry.record_id is not None
    return request.url(page, entry.record_id) if is_shown else None
