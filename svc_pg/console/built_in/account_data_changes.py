"""The route of the product ``account`` for changes of our own tables, which every database has on record."""

from dataclasses import replace
from typing import Annotated, Final

from svc_pg.audit.log.conditions import Among
from svc_pg.audit.log.entry import ALWAYS, Entry
from svc_pg.audit.read.audit_query import AuditQuery, query
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.capture.postgres.own_tables import OWN_TABLES
from svc_pg.console.audit_log.postgres import PostgresLog
from svc_pg.console.built_in.audit_filters import ENTRIES, Filters
from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import FilterParameter, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.openapi.json_schema import Partial
from svc_pg.database.pagination import Page
from svc_pg.database.storable_texts import check_texts

_TABLES: Final = [str(table.name) for table, _ in OWN_TABLES]
_NAMES: Final = ("resource", "actor", "since", "until", "fields", "limit", "cursor", "before")


def _of_record(wanted: AuditQuery, key: str) -> AuditQuery:
    """In the order of the log: the order of change needs the audit trail."""
    check_texts(key)
    return replace(wanted, conditions=(*wanted.conditions, Among("record_id", [bounded(key)])))


_FILTERS: Final[Filters] = {
    "record": FilterParameter(_of_record, "changes of the row with this id", text("acme")),
    **{name: ENTRIES[name] for name in _NAMES},
}


def data_changes_route(database: Database) -> ProductEndpoint:
    """The route, for the log of this database."""
    log = PostgresLog(database)

    async def listed(request: AuthenticatedRequest) -> ConsoleResponse:
        return ConsoleResponse(200, await log.page(filtered(query().resource(*_TABLES), request.query, _FILTERS)))

    return ProductEndpoint(
        method="GET",
        path="/data-changes",
        operation_id="data_changes.list",
        handler=listed,
        is_compressed=True,
        summary="Changes of endpoints, tenants, sessions and tokens, newest first; without the audit trail too",
        query=documented(_FILTERS),
        response=Page[Annotated[Entry, Partial(*ALWAYS)]],
    )
