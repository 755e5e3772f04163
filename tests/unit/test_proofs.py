"""Every promise has tests, and a proof counts what they did."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.proofs import PROOFS
from tests.proof.runs import run
from tests.proof.threats import file_of, threats
from tests.support.documents import ROOT

TABLE = """\
## The threats

| Who | wants to | is stopped by | remains | shown by |
|---|---|---|---|---|
| a reader | write | rights | nothing | `test_access`, `console/test_portal` |
| whoever has a worker | read | nothing | rotate | nothing |
| the same | sleep | a wall | a door | {shown} |

More.
"""

SETTINGS = ["-p", "tests.conftest"]  # which files in tests/ have by themselves

TESTS = """
import os

import pytest
from hypothesis import given, strategies as st


@given(st.integers(0, 3))
def test_each_example(number):
    assert number < 4


def test_that_fails():
    assert os.environ["SVC_TEST_SEED"] != "7"


@pytest.mark.skip
def test_elsewhere():
    raise AssertionError


def test_that_passes():
    pass
"""


def test_each_threat_and_each_proof_has_tests_that_exist() -> None:
    assert len(threats()) > 15
    for proof in PROOFS:
        files = [file_of(module) for module in proof.modules]
        assert files, proof.name
        assert [file for file in files if "def test_" not in file.read_text(encoding="utf-8")] == []


def test_a_promise_without_a_test_is_named() -> None:
    [first, second] = threats(TABLE.format(shown="`test_capture`"))
    assert (first.attacker, first.modules) == ("a reader", ["test_access", "console/test_portal"])
    assert (second.attacker, second.intent) == ("whoever has a worker", "sleep")
    with pytest.raises(ValueError, match="no test shows how whoever has a worker is kept from this: sleep"):
        threats(TABLE.format(shown="soon"))
    with pytest.raises(ValueError, match="no table"):
        threats("# Threats")


@pytest.mark.parametrize(
    "row", ["\n| he | lie | a wall | nothing | soon |", "he | lie | a wall | nothing | soon", "| he |"]
)
def test_no_row_escapes_the_look(row: str) -> None:
    with pytest.raises(ValueError, match="this row"):
        threats(TABLE.format(shown=f"`test_capture` |\n{row}"))


def test_a_module_is_named_so_that_it_is_one() -> None:
    with pytest.raises(ValueError, match=r"no file test_none\.py"):
        file_of("test_none")
    with pytest.raises(ValueError, match=r"test_portal\.py is one of several: .*e2e/browser/test_portal\.py"):
        file_of("test_portal")


def test_the_counts_are_of_tests_and_of_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "test_several.py"
    file.write_text(TESTS, encoding="utf-8")
    counts = run(file, seed=7, options=SETTINGS)
    assert (counts.passed, counts.failed, counts.skipped, counts.examples) == (2, 1, 1, 4)
    assert [failure.rpartition("::")[2] for failure in counts.failures] == ["test_that_fails"]
    assert "def test_that_fails" in capsys.readouterr().err, "the reason of a failure is shown"


def test_a_module_that_cannot_be_run_is_an_error_and_one_without_tests_is_none(tmp_path: Path) -> None:
    broken, empty = tmp_path / "test_broken.py", tmp_path / "test_empty.py"
    broken.write_text("import nothing_of_that_name", encoding="utf-8")
    empty.write_text("", encoding="utf-8")
    with pytest.raises(RuntimeError, match="nothing_of_that_name"):
        run(broken, seed=1, options=SETTINGS)
    counts = run(empty, seed=1, options=SETTINGS)
    assert (counts.passed, counts.failed) == (0, 0)


def test_the_proofs_are_listed_and_an_unknown_one_is_refused() -> None:
    command = [sys.executable, "-m", "tests.proof"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [f"python -m tests.proof {proof.name}\n" in listed for proof in PROOFS] == [True] * len(PROOFS)
    assert "python -m tests.proof.versions MAJOR\n" in listed
    assert "python -m tests.proof.foreign\n" in listed
    assert "python -m tests.proof.mutation\n" in listed
    assert "python -m tests.proof.scale\n" in listed
    refused = subprocess.run([*command, "nope"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "no proof has the name nope; there are threats, law" in refused.stderr
