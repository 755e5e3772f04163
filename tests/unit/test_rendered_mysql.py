"""The triggers of a representative configuration in MySQL, kept so that a change of a template shows what it does."""

import os
from dataclasses import replace
from typing import Any

import pytest

from svc_pg.capture.rules import rules_for
from svc_pg.config import AuditedTable
from svc_pg.database.table_names import TableName
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.table import MySqlColumn, MySqlTable
from svc_pg.other_databases.capture.mysql.triggers import capture_objects
from tests.unit.test_rendered_sql import CUSTOMER, LEFT_OUT, RULES, SNAPSHOTS, UPDATE

KINDS = {"id": "number", "credit": "number", "settings": "json"}
TABLE = MySqlTable(
    table=replace(CUSTOMER, name=TableName("shop", "customer"), virtual=[]),
    columns=[
        MySqlColumn(name, KINDS.get(name, "text"), is_utf8=name not in KINDS)  # type: ignore[arg-type] # names of kinds
        for name in CUSTOMER.columns
    ],
    constrained=["email", "id"],
)
CASES: dict[str, tuple[bool, dict[str, Any]]] = {
    "mysql_customer": (False, {}),
    "mysql_customer_with_rules": (False, {"max_value_bytes": 65536, "on_error": "warn"} | RULES),
    "mysql_customer_left_out": (False, LEFT_OUT),
    "mysql_customer_of_mariadb": (True, RULES),
}


def rendered(name: str) -> str:
    is_mariadb, values = CASES[name]
    rules = rules_for(TABLE.table, AuditedTable.model_validate({"name": "customer"} | values))
    return "\n".join(item.sql for item in capture_objects(MySql(is_mariadb), TABLE, rules))


@pytest.mark.parametrize("name", CASES)
def test_the_rendered_triggers_are_those_that_were_reviewed(name: str) -> None:
    kept = SNAPSHOTS / f"{name}.sql"
    text = rendered(name)
    if os.environ.get(UPDATE):
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8"), f"read the difference, then run with {UPDATE}=1"


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("mysql_*.sql")} == set(CASES)
