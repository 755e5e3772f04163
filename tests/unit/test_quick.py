"""The choice of the tests that are run by default."""

import ast
from pathlib import Path

from tests.quick import GUARDS, SLOW, first_cases, quick_cases, slow_tests

ROOT = SLOW.parent.parent


def test_each_slow_test_is_there_and_each_module_has_a_quick_one() -> None:
    slow = SLOW.read_text().splitlines()
    assert slow == sorted(set(slow))
    for module in {test.partition("::")[0] for test in slow}:
        path = ROOT / module
        assert path.is_file(), f"{module} is gone: take its tests out of {SLOW}"
        tests = {f"{module}::{name}" for name in names(path)}
        assert not {test for test in slow if test.startswith(f"{module}::")} - tests, f"take these out of {SLOW}"
        assert tests - set(slow), f"{module} has slow tests alone"


def names(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [function.name for function in functions if function.name.startswith("test_")]


def test_the_first_case_of_a_test_stands_for_it() -> None:
    assert first_cases(["a.py::t[1]", "a.py::t[2]", "a.py::u"]) == {"a.py::t": "a.py::t[1]", "a.py::u": "a.py::u"}


def test_a_slow_test_is_not_quick_and_an_unknown_one_is() -> None:
    slow = SLOW.read_text().splitlines()[0]
    assert quick_cases([f"{slow}[a]", "tests/unit/test_new.py::test_it[1]", "tests/unit/test_new.py::test_it[2]"]) == {
        "tests/unit/test_new.py::test_it[1]"
    }


def test_the_quickest_come_first_and_each_module_keeps_one() -> None:
    seconds_of = {"a.py::a": 1.0, "a.py::b": 2.0, "a.py::c": 4.0, "b.py::d": 9.0, "b.py::e": 8.0}
    assert list(slow_tests(seconds_of, 11.0)) == ["a.py::c", "b.py::d"]


def test_those_that_read_the_source_are_never_slow() -> None:
    seconds_of = {f"{GUARDS[0]}::{name}": 9.0 for name in "abc"}
    assert list(slow_tests(seconds_of, 1.0)) == []
    assert not [test for test in SLOW.read_text().splitlines() if test.startswith(GUARDS)]
