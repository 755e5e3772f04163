"""The SQL stands below sql/, and can be read beside other things: no long lines, and what is pinned is pinned once."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SQL = ROOT / "sql"
MODULES = {
    str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8"))
    for folder in ("svc_pg", "cli")
    for file in (ROOT / folder).rglob("*.py")
}
FILES = {
    str(file.relative_to(SQL)): file.read_text(encoding="utf-8")
    for file in SQL.rglob("*.*")
    if file.suffix in (".sql", ".j2")
}


def test_no_line_is_long() -> None:
    assert "webhooks/send.sql.j2" in FILES
    long = [
        f"{name}:{n}" for name, text in FILES.items() for n, line in enumerate(text.split("\n"), 1) if len(line) >= 120
    ]
    assert long == []


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("\nset lc_monetary", "include/snapshot_settings.sql.j2"),
        ("\nset enable_material", "include/queue_settings.sql.j2"),
        ("made by svc-pg", "include/made_by.sql.j2"),
    ],
)
def test_what_functions_share_is_written_once(setting: str, place: str) -> None:
    assert [name for name, text in FILES.items() if setting in text] == [place]


def test_a_text_means_the_same_whatever_standard_conforming_strings_says() -> None:
    """A text with a backslash is E'', or stands in dollar tags, as do bodies of functions, which are code."""
    code = re.compile(r"--[^\n]*|\$re\$.*?\$re\$|\b[eE]'(?:[^'\\]|\\.|'')*'|('(?:[^']|'')*')", re.DOTALL)
    of_postgres = {name: text for name, text in FILES.items() if not name.startswith(("mysql", "sqlite"))}
    found = [name for name, text in of_postgres.items() if any("\\" in each for each in code.findall(text))]
    assert found == []


def test_a_snapshot_is_taken_with_the_settings_of_a_capture_and_compared_with_those_of_a_look_into_the_log() -> None:
    local = set_lines(FILES["capture/backfill_settings.sql"].replace("set local ", "set "))
    of_functions = [FILES[f"include/{name}_settings.sql.j2"] for name in ("snapshot", "log")]
    pinned = [line + ";" for text in of_functions for line in set_lines(text) if not line.startswith(OF_FUNCTIONS)]
    assert sorted(local) == sorted([*pinned, "set row_security = off;"])


OF_FUNCTIONS = ("set search_path", "set plan_cache_mode")


def set_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("set ")]


PLANNER = re.compile(r"set (?:local )?enable_\w+ = off|set_config\('enable_\w+', 'off'")


def test_what_leaves_the_planner_no_choice_is_not_compiled_for_its_price() -> None:
    """Up to PostgreSQL 17, a method that is off costs so much that each call of the statement would be compiled."""
    texts = {
        name: "\n".join(statements(tree)) for name, tree in MODULES.items() if "schema/postgres" not in name
    } | FILES
    limited = {name for name, text in texts.items() if PLANNER.search(text)}
    assert len(limited) > 10
    assert [
        name for name in sorted(limited) if not re.search(r"set (local )?jit = off|'jit', 'off'", texts[name])
    ] == []


CLAUSE = re.compile(
    r"^\s*(?:select|from(?!.*\bimport\b)|where|join|with|insert into|update|delete from|create|alter) ", re.MULTILINE
)
MOST_LINES = 6
COMPOSED = {
    "svc_pg/audit/read/coverage_days.py": "a text around the entries of some tables",
    "svc_pg/audit/read/facets.py": "texts around a selection",
    "svc_pg/audit/read/known_values.py": "a text around the condition of a field",
    "svc_pg/audit/read/search.py": "a text around a selection and its stretch",
    "svc_pg/audit/read/stats.py": "texts around a selection",
    "svc_pg/capture/postgres/images.py": "a part of an expression in a function of capture",
    "svc_pg/seals/alone/verify_svc_pg.py": "the statements of a program that is one file",
    "svc_pg/webhooks/deliveries/bulk_changes.py": "texts around the candidates of a change",
    "svc_pg/webhooks/deliveries/delivery_stretches.py": "texts around a stretch of an index",
    "svc_pg/webhooks/found_messages.py": "a text around a stretch of an index",
}
"""Modules and rooms that keep a longer text, each with the reason."""


def test_a_statement_of_more_than_a_few_lines_stands_in_a_file() -> None:
    long = [
        f"{name}:{node.lineno}" for name, tree in MODULES.items() for node in texts(tree) if lines(node) > MOST_LINES
    ]
    assert [place for place in long if not place.startswith(tuple(COMPOSED))] == []
    assert [each for each in COMPOSED if not any(place.startswith(each) for place in long)] == []


def texts(tree: ast.Module) -> Iterator[ast.expr]:
    """The texts of a module that have a clause of SQL and describe nothing, an f-string as one."""
    nodes = list(ast.walk(tree))
    wholes = [node for node in nodes if isinstance(node, ast.Expr | ast.JoinedStr)]
    inner = {id(part) for node in wholes for part in ast.iter_child_nodes(node)}
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inner:
            parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            if CLAUSE.search("".join(part for part in parts if isinstance(part, str))):
                yield node


def lines(node: ast.expr) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def test_each_file_of_a_statement_is_read_by_one_module() -> None:
    read = [
        str(node.args[0].value)
        for tree in MODULES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "statement"
        if isinstance(node.args[0], ast.Constant)
    ]
    kept = [name for name in FILES if name.startswith("demo/") or "queries/" in name]
    assert len(kept) > 50
    assert sorted(read) == sorted(kept)


# PostgreSQL prefers a function for exactly the types of a call, in any schema of the path, to its own for any type
PINNED = re.compile(r"set search_path|_settings\.sql\.j2")
ANY_TYPE = re.compile(
    r"(?<![.\w])(array_(?:agg|append|cat|length|lower|positions?|prepend|remove|replace|to_json|to_string|upper)|cardinality"
    r"|concat(?:_ws)?|count(?!\(\*)|enum_(?:first|last|range)|first_value|format|jsonb?_(?:agg|build_array|build_object"
    r"|object_agg|populate_record(?:set)?)|lag|last_value|lead|num_n(?:on)?nulls|percentile_(?:cont|disc)|pg_column_size|pg_typeof"
    r"|row_to_json|to_jsonb?|unnest|width_bucket)\("
)


def statements(tree: ast.Module) -> Iterator[str]:
    """The texts in a module of Python that may be a part of a statement, which are not those of ``str.format``."""
    described = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in described:
            yield node.value


def test_a_function_for_any_type_is_postgresqls_own_in_the_session_of_whoever_calls() -> None:
    """Other statements are executed, and other functions are run, with a search_path of their own."""
    pinned = ("schema/postgres", "queries/schema", "capture/", "mysql", "sqlite", "portable", "demo/")
    texts = {name: "\n".join(statements(tree)) for name, tree in MODULES.items()}
    texts |= {name: text for name, text in FILES.items() if "queries/" in name}
    texts = {name: text for name, text in texts.items() if not any(each in name for each in pinned)}
    texts |= {
        name: text
        for name, text in FILES.items()
        if "create or replace function" in text and not PINNED.search(text) and not name.startswith(("mysql", "sqlite"))
    }
    assert len(texts) > 100
    assert {name: found for name, text in texts.items() if (found := ANY_TYPE.findall(text))} == {}
