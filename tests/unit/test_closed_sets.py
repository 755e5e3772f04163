"""A new member of a closed set is refused until each choice among its members knows it."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from jinja2 import Environment, nodes

from svc_pg.capture.postgres import triggers as postgres
from svc_pg.capture.rules import TableRules, rules_for
from svc_pg.config import AuditedTable
from svc_pg.config.audited_table import Redaction
from svc_pg.database.dialects import Dialect
from svc_pg.errors import RenderError
from svc_pg.other_databases.capture.mysql import triggers as mysql
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.sqlite import triggers as sqlite
from tests.unit.test_rendered_mysql import TABLE as MYSQL_TABLE
from tests.unit.test_rendered_sql import CUSTOMER
from tests.unit.test_rendered_sqlite import TABLES as SQLITE_TABLES

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for folder in ("svc_pg", "cli") for path in (ROOT / folder).rglob("*.py"))
TEMPLATES = sorted((ROOT / "sql").rglob("*.j2"))
MADE_UP = "scramble"

RENDERERS: dict[str, Callable[[TableRules], object]] = {
    "postgresql": postgres.capture_objects,
    "sqlite": lambda rules: sqlite.capture_objects(SQLITE_TABLES["customer"], rules),
    "mysql": lambda rules: mysql.capture_objects(MySql(is_mariadb=False), MYSQL_TABLE, rules),
    "mariadb": lambda rules: mysql.capture_objects(MySql(is_mariadb=True), MYSQL_TABLE, rules),
}


def rules(redaction: str) -> TableRules:
    fitted = rules_for(CUSTOMER, AuditedTable.model_validate({"name": "customer"}))
    return replace(fitted, redactions={"email": redaction})  # type: ignore[dict-item] # one that is made up


@pytest.mark.parametrize("database", RENDERERS)
@pytest.mark.parametrize("redaction", get_args(Redaction))
def test_each_redaction_is_rendered(database: str, redaction: str) -> None:
    assert RENDERERS[database](rules(redaction))


@pytest.mark.parametrize("database", RENDERERS)
def test_a_redaction_that_nobody_renders_is_refused(database: str) -> None:
    with pytest.raises((RenderError, AssertionError), match=MADE_UP):
        RENDERERS[database](rules(MADE_UP))


def is_member(pattern: ast.pattern) -> bool:
    """True for a text, a number or a member of an enum, and for a choice of such."""
    if isinstance(pattern, ast.MatchOr):
        return all(map(is_member, pattern.patterns))
    return isinstance(pattern, ast.MatchValue)


def is_refusal(case: ast.match_case) -> bool:
    """True for ``case _:`` (or a name), without a condition, that calls ``assert_never`` or raises."""
    if not isinstance(case.pattern, ast.MatchAs) or case.pattern.pattern is not None or case.guard is not None:
        return False
    last = case.body[-1]
    is_never = isinstance(last, ast.Expr) and ast.unparse(last).startswith("assert_never(")
    return len(case.body) == 1 and (is_never or isinstance(last, ast.Raise))


def is_closed(found: ast.Match) -> bool:
    """True for a match on members of a set; one on open values, of which some are special, is written with if."""
    return all(is_member(case.pattern) for case in found.cases[:-1]) and len(found.cases) > 1


def test_a_match_on_members_of_a_set_refuses_any_other() -> None:
    found = [
        (f"{path.relative_to(ROOT)}:{node.lineno}", is_refusal(node.cases[-1]))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Match) and is_closed(node)
    ]
    assert len(found) > 10
    assert [place for place, is_refused in found if not is_refused] == []


def is_of_member(test: Any) -> bool:
    return any(
        operand.op == "eq" and isinstance(operand.expr, nodes.Const) and isinstance(operand.expr.value, str)
        for operand in test.find_all(nodes.Operand)
    )


def mappings_of(name: str) -> dict[str, set[Any]]:
    """The keys of each constant annotated as a mapping of a closed set, by its place."""
    return {
        f"{path.relative_to(ROOT)}:{node.lineno}": {
            key.value for key in node.value.keys if isinstance(key, ast.Constant)
        }
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.value, ast.Dict)
        and f"Mapping[{name}," in ast.unparse(node.annotation)
    }


def test_a_mapping_of_databases_has_all_of_them() -> None:
    """In the wing of the others all but PostgreSQL."""
    found = mappings_of("Dialect")
    assert len(found) >= 3
    for place, databases in found.items():
        others = {"postgresql"} if "other_databases" in place else set()
        assert databases == set(get_args(Dialect)) - others, place


def test_a_mapping_of_redactions_has_all_of_them() -> None:
    found = mappings_of("Redaction")
    assert found
    for place, kinds in found.items():
        assert kinds == set(get_args(Redaction)), place


def test_branches_of_a_template_for_the_members_of_a_set_refuse_any_other() -> None:
    found = [
        (
            f"{path.relative_to(ROOT)}:{node.lineno}",
            [each.name for part in node.else_ for each in part.find_all(nodes.Filter)],
        )
        for path in TEMPLATES
        for node in Environment().parse(path.read_text(encoding="utf-8")).find_all(nodes.If)
        if node.elif_ and all(map(is_of_member, [node.test, *(each.test for each in node.elif_)]))
    ]
    assert len(found) > 4
    assert [place for place, filters in found if filters != ["unhandled"]] == []
