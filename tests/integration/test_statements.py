"""Each statement in a file of sql/queries is one that PostgreSQL understands, in the schema as it is installed."""

import re
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg.audit.log.entry import COLUMNS
from svc_pg.audit.read import change_order, coverage, known_values, record_changes, tables
from svc_pg.audit.read.change_order import OfRecord
from svc_pg.audit.related import naming, references, states, telling
from svc_pg.capture.postgres import foreign_code
from svc_pg.console.built_in import tenant_use
from svc_pg.database.pagination import ALL
from svc_pg.database.statements import statement
from svc_pg.schema.postgres import ddl_triggers, installation, inventory, log_indexes
from svc_pg.seals.database import changed_fields, leaf_queries, stored_seals
from svc_pg.status import open_findings, seal_destinations
from svc_pg.webhooks.deliveries import caused_deliveries, delivery_reasons
from svc_pg.webhooks.endpoints import endpoint_queries
from svc_pg.webhooks.traffic import backlog, traffic_samples
from tests.support.documents import ROOT

FILES: Final = sorted(str(file.relative_to(ROOT / "sql")) for file in (ROOT / "sql" / "queries").rglob("*.sql"))
TENANTS: Final = {"table": Identifier("svc", "tenants"), "id": Identifier("id")}
STATES_OF: Final = {"as_of": Identifier("svc", "history"), "time": SQL("'public.orders'::text")}
FILLED: Final[dict[str, str]] = {
    "queries/audit/captured_tables.sql": tables.CAPTURED,
    "queries/audit/coverage_counts.sql": coverage._COUNTS.replace("{tables}", coverage._TABLES),
    "queries/audit/coverage_details.sql": coverage._DETAILS,
    "queries/audit/covered_tables.sql": coverage._TABLES,
    "queries/audit/entry_name.sql": tables.CAPTURED,
    "queries/audit/index_values.sql": known_values._OF_INDEX.replace("{column}", "actor_id"),
    "queries/audit/last_changes.sql": record_changes._OF_ENTRY,
    "queries/audit/last_reconciliation.sql": coverage._LAST,
    "queries/audit/record_entries.sql": change_order.places(
        COLUMNS, OfRecord("1", ("t",)), ALL, tables=["t"], is_newest=True, limit=1
    )[0],
    "queries/audit/naming_entries.sql": naming.statement_of(
        naming.Look("public.orders", ["customer_id"], [("1",)], ["id"], (), None, 1), "svc.audit_logs", (), ALL
    )[0],
    "queries/audit/references.sql": references.REFERENCES,
    "queries/audit/related_entries.sql": COLUMNS + telling._ENTRIES,
    "queries/audit/related_states.sql": SQL(states.STATES).format(**states.PARTS, **STATES_OF).as_string(),
    "queries/capture/called_code.sql": foreign_code._PLANNED,
    "queries/capture/partition_key_code.sql": foreign_code._PARTITION_KEYS,
    "queries/capture/planned_code.sql": foreign_code._PLANNED,
    "queries/console/unlisted_tenants.sql": SQL(tenant_use._UNLISTED).format(**TENANTS).as_string(),
    "queries/schema/altered_objects.sql": inventory._ALTERED,
    "queries/schema/ddl_triggers.sql": ddl_triggers._FOUND,
    "queries/schema/log_indexes.sql": f"select {log_indexes.FACTS}",
    "queries/schema/present_inventory.sql": inventory._ALTERED,
    "queries/schema/surroundings.sql": installation._SURROUNDINGS,
    "queries/schema/trigger_family.sql": tables.CAPTURED,
    "queries/seals/changed_fields.sql": changed_fields._RESTORED,
    "queries/seals/leaves.sql": leaf_queries._LEAVES,
    "queries/seals/seal_of_entry.sql": stored_seals._OF_ENTRY,
    "queries/status/last_reconciliations.sql": open_findings._READ,
    "queries/status/open_findings.sql": open_findings._READ,
    "queries/status/reconciled.sql": open_findings._READ,
    "queries/status/seal_endpoints.sql": seal_destinations._WITH_ENDPOINTS,
    "queries/webhooks/activity.sql": traffic_samples.ACTIVITY,
    "queries/webhooks/backlog.sql": backlog._READ,
    "queries/webhooks/deliveries_of_transactions.sql": caused_deliveries._TEXT,
    "queries/webhooks/rotate_secret.sql": endpoint_queries._ROTATE,
    "queries/webhooks/traffic.sql": traffic_samples.TRAFFIC,
    "queries/webhooks/traffic_samples.sql": traffic_samples.TRAFFIC,
    "queries/webhooks/why.sql": delivery_reasons._WHY,
}
"""The whole statement of a file with holes, or of one that fills such a hole."""


WITHOUT_PARAMETERS: Final = {
    "queries/schema/altered_objects.sql",
    "queries/schema/partition_guards.sql",
    "queries/schema/present_inventory.sql",
}
"""Those in which a format of PostgreSQL's has a %s."""


class Parameters(dict[str, object]):
    def __missing__(self, name: str) -> None:
        return None


NAMED: Final = Parameters(window=timedelta(1), mark=b"")
"""Null, but for those whose type nothing but the value tells."""


@pytest.mark.parametrize("file", FILES)
def test_a_statement_can_be_planned(conn: psycopg.Connection[Any], file: str) -> None:
    text = FILLED.get(file) or statement(file)
    positions = re.findall(r"%[sb]", text)
    params = None if file in WITHOUT_PARAMETERS else [None] * len(positions) if positions else NAMED
    conn.execute(f"explain {text}".encode(), params)
