"""The triggers of a representative configuration in SQLite, kept so that a change of a template shows what it does."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from svc_pg.capture.rules import rules_for
from svc_pg.config import AuditedTable
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.capture_dialect import Column
from svc_pg.other_databases.capture.sqlite.table import SqliteTable, UniqueKey
from svc_pg.other_databases.capture.sqlite.triggers import capture_objects
from tests.unit.test_rendered_sql import CUSTOMER, LEFT_OUT, LINE, RULES, SNAPSHOTS, UPDATE

TABLES = {
    "customer": SqliteTable(
        table=replace(CUSTOMER, name=TableName("main", "customer")),
        columns=[Column(name, "json" if name == "settings" else "any") for name in CUSTOMER.columns],
        unique=[UniqueKey([("email", "NOCASE")]), UniqueKey([("id", "BINARY")], is_rowid=True)],
        row_key=["id"],
    ),
    "line": SqliteTable(
        table=replace(LINE, name=TableName("main", "Order Line"), is_partitioned=False, partitions=[]),
        columns=[Column(name, "number") for name in LINE.columns],
        unique=[],
        row_key=["rowid"],
    ),
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sqlite_customer": ("customer", {}),
    "sqlite_customer_with_rules": ("customer", {"max_value_bytes": 65536} | RULES),
    "sqlite_customer_left_out": ("customer", LEFT_OUT),
    "sqlite_line": ("line", {}),
}


def rendered(name: str) -> str:
    table, values = CASES[name]
    facts = TABLES[table]
    rules = rules_for(facts.table, AuditedTable.model_validate({"name": str(facts.table.name)} | values))
    return "\n".join(item.sql for item in capture_objects(facts, rules))


@pytest.mark.parametrize("name", CASES)
def test_the_rendered_triggers_are_those_that_were_reviewed(name: str) -> None:
    kept: Path = SNAPSHOTS / f"{name}.sql"
    text = rendered(name)
    if os.environ.get(UPDATE):
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8"), f"read the difference, then run with {UPDATE}=1"


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("sqlite_*.sql")} == set(CASES)


def test_rendering_twice_gives_the_same_bytes() -> None:
    assert rendered("sqlite_customer_with_rules") == rendered("sqlite_customer_with_rules")
