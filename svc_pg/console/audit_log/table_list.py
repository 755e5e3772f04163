"""The audited tables of a database, from its installed objects."""

from collections.abc import Iterable

from svc_pg.audit.read.tables import Capture, CapturedTable, CaptureRules, rules_of
from svc_pg.config import AuditConfig
from svc_pg.database.pagination import Listing, Page
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName
from svc_pg.schema import Status


def page_of_tables(
    statuses: Iterable[Status], config: AuditConfig, wanted: Listing[CapturedTable]
) -> Page[CapturedTable]:
    """A page of the tables by name."""
    capture: dict[str, Capture] = {}
    for status in statuses:
        if status.kind == "trigger" and status.audited_table is not None:
            is_missing = status.state == "missing" or capture.get(status.audited_table) == "missing"
            capture[status.audited_table] = "missing" if is_missing else "recording"
    tables = [CapturedTable(name, state, _rules(config, name)) for name, state in sorted(capture.items())]
    if wanted.position is not None:
        [name] = wanted.position
        tables = [each for each in tables if (each.name < str(name) if wanted.is_backward else each.name > str(name))]
    tables = tables[::-1] if wanted.is_backward else tables
    has_more = len(tables) > wanted.size
    return wanted.page_of(tables[: wanted.size], has_more=has_more, key=lambda table: (table.name,))


def _rules(config: AuditConfig, name: str) -> CaptureRules | None:
    """The rules of a table. The configuration may call the default schema by its name in every database: public."""
    in_default = str(TableName.parse(name)._replace(schema=DEFAULT_SCHEMA))
    return rules_of(config.tables, name) or rules_of(config.tables, in_default)
