"""The SQL of a representative configuration, kept so that a change of a template shows what it does."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from svc_pg.capture.postgres.change_events import change_objects
from svc_pg.capture.postgres.comparing import Comparison
from svc_pg.capture.postgres.log_stretches import LogBounds
from svc_pg.capture.postgres.pieces import pages_from
from svc_pg.capture.postgres.triggers import capture_objects
from svc_pg.capture.rules import rules_for
from svc_pg.capture.table import Table
from svc_pg.config import AuditedTable, OnChange
from svc_pg.database.table_names import TableName

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
UPDATE = "SVC_TEST_UPDATE_SNAPSHOTS"

CUSTOMER = Table(
    name=TableName("public", "customer"),
    columns=["id", "name", "email", "password_hash", "card_number", "status", "credit", "settings"],
    json_columns=["settings"],
    key=["id"],
    virtual=["display_name"],
    unique=[["id"]],
    is_partitioned=False,
    partitions=[],
    parent=None,
)
CUSTOMER_WITH_ENUM = replace(CUSTOMER, printed=["status"], printed_lists=["credit"])
LINE = Table(
    name=TableName("shop", "Order Line"),
    columns=["order_id", "place", "quantity"],
    json_columns=[],
    key=["order_id", "place"],
    virtual=[],
    unique=[["order_id", "place"]],
    is_partitioned=True,
    partitions=[TableName("shop", "line_2026"), TableName("shop", "line_2027")],
    parent=None,
)
RULES = {
    "redact": {"password_hash": "remove", "card_number": "last4"},
    "enrich": [
        {
            "operation": "UPDATE",
            "label": "customer edited",
            "severity": "medium",
            "compliance": ["gdpr"],
            "description": "{actor_id} changed email from {before[email]} to {after[email]}",
            "when": {"changed": "email", "not": {"after": {"status": ["test", "demo"]}}},
        },
        {"operation": "UPDATE", "severity": "high", "when": {"after": {"credit": {"gt": 10000}}}},
        {"operation": "*", "label": "customer changed", "severity": "low"},
    ],
}
LEFT_OUT = {
    "ignore": ["settings", "credit"],
    "record_when": {"any": [{"before": {"status": "live"}}, {"after": {"status": "live"}}]},
}
CASES = {
    "customer_row": (CUSTOMER, {"name": "customer"}),
    "customer_row_with_rules": (CUSTOMER_WITH_ENUM, {"name": "customer", "max_value_bytes": 65536} | RULES),
    "customer_statement_with_rules": (CUSTOMER_WITH_ENUM, {"name": "customer", "level": "statement"} | RULES),
    "customer_row_left_out": (replace(CUSTOMER, domains=["credit"]), {"name": "customer"} | LEFT_OUT),
    "customer_statement_left_out": (CUSTOMER, {"name": "customer", "level": "statement"} | LEFT_OUT),
    "line_row_partitioned": (LINE, {"name": "shop.Order Line", "on_error": "warn", "replica": True}),
}
CHANGE_EVENTS: dict[str, tuple[Table, list[dict[str, Any]]]] = {
    "customer_change_events": (
        CUSTOMER,
        [
            {
                "operation": ["INSERT", "DELETE"],
                "event": "customer.changed",
                "payload": "row",
                "tenant": "name",
                "key": "id",
            },
            {
                "operation": "UPDATE",
                "columns": ["status", "settings"],
                "when": "after.credit > 100",
                "event": "customer.changed",
                "payload": {"id": "id", "oldStatus": "before.status"},
            },
        ],
    ),
    "line_change_events_partitioned": (LINE, [{"operation": "UPDATE", "event": "line.changed"}]),
}


@pytest.mark.parametrize("name", [*CASES, *CHANGE_EVENTS])
def test_the_rendered_sql_is_the_one_that_was_reviewed(name: str) -> None:
    if name in CASES:
        table, rules = CASES[name]
        fitted = rules_for(table, AuditedTable.model_validate(rules))
        parts = [item.sql for item in capture_objects(fitted)]
        stretches = LogBounds(["2026-12-01T00:00:00+00:00"]).stretches()
        compared = Comparison.of(fitted, "backfill", has_plain_key=bool(table.types), stretches=stretches)
        parts.append(compared.rows(table.name, pages_from(0, by_range=True), "write"))
        parts.append(compared.ended("", "write", upto="z"))
    else:
        table, values = CHANGE_EVENTS[name]
        events = [OnChange.model_validate({"table": str(table.name)} | value) for value in values]
        parts = [item.sql for item in change_objects(table, events, redacted={"password_hash", "card_number"})]
    rendered = "\n".join(parts)
    kept = SNAPSHOTS / f"{name}.sql"
    if os.environ.get(UPDATE):
        kept.write_text(rendered, encoding="utf-8")
    assert rendered == kept.read_text(encoding="utf-8"), f"read the difference, then run with {UPDATE}=1"


@pytest.mark.parametrize("name", ["customer", "a\n$$; drop table x; --", "a\r\nb", "Ünïcode"])
@pytest.mark.parametrize("level", ["row", "statement"])
def test_each_function_of_a_table_says_where_it_comes_from(name: str, level: str) -> None:
    table = replace(CUSTOMER, name=TableName("public", name))
    audited = AuditedTable.model_validate({"name": str(table.name), "level": level} | RULES)
    events = [OnChange.model_validate({"table": str(table.name), "operation": "INSERT", "event": "e"})]
    made = [*capture_objects(rules_for(table, audited)), *change_objects(table, events, redacted=set())]
    bodies = [item.sql.split("$svc$\n")[1] for item in made if item.kind == "function"]
    assert len(bodies) == 4
    shown = str(table.name).replace("\r", "\\r").replace("\n", "\\n")
    for body in bodies:
        first = re.split(r"[\r\n]", body)[0]
        assert first == f"-- made by svc-pg from its configuration for {shown}; change it there"


def test_no_snapshot_is_left_over() -> None:
    kept = {path.stem for path in SNAPSHOTS.glob("*.sql") if not path.stem.startswith(("sqlite_", "mysql_"))}
    assert kept == {*CASES, *CHANGE_EVENTS, "schema"}


def test_rendering_twice_gives_the_same_bytes() -> None:
    table, rules = CASES["customer_row_with_rules"]
    audited = AuditedTable.model_validate(rules)
    assert capture_objects(rules_for(table, audited)) == capture_objects(rules_for(table, audited))
