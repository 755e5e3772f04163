"""Faults are put where a test should notice them, and what becomes of them is told apart."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.mutation.copies import Copy
from tests.proof.mutation.mutants import Mutant, is_broken, room_of, sample
from tests.proof.mutation.outcomes import Outcomes
from tests.proof.mutation.processor import wait_for
from tests.proof.mutation.syntax import lines_using, module_name, named_tests
from tests.proof.mutation.trials import equivalent, mutants_of
from tests.support.documents import ROOT

PYTHON = '''\
"""A text with 1 number, and not a fault."""

MOST: Final = 100


def first(names: Sequence[str] = (), *, is_any: bool = False) -> str | None:
    if not names and MOST < 7:
        raise ValueError(f"fewer than {1}", 2)
    _log.warning("%d names", 3)
    self.names = names
    clear(names)
    return names[0]
'''
SQL = """\
-- a comment with 1 number and an = sign
create or replace function svc.first(p_most integer default 5) returns numeric(10, 2) language plpgsql as $svc$
begin
    {% if x == 3 %} {{ 4 | literal }}
    if not exists (select from svc.names n where n.name = 'a = 1 and 2' and n.position is not null) then
        perform svc.note(p_most);
    end if;
    update svc.names set name = p_most order by name desc limit 6;
end;
$svc$;
create unique index names_1 on svc.names (name) where position > 1;
"""

PROJECT = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "svc_pg/__init__.py": "",
    "svc_pg/bounds.py": "MOST = 3\nOTHER = 5\n",
    "tests/test_bounds.py": "from svc_pg.bounds import MOST\n\n\ndef test_most():\n    assert MOST == 3\n",
}


def faults(file: str, text: str) -> list[tuple[str, str]]:
    return [(mutant.before, mutant.after) for mutant in mutants_of(file, text.encode())]


def test_python_is_broken_outside_its_texts_errors_and_logs() -> None:
    assert faults("svc_pg/audit/first.py", PYTHON) == [
        ("100", "200"),
        ("False", "True"),
        ("not names and MOST < 7", "(False and (not names and MOST < 7))"),
        ("not names and MOST < 7", "(True or (not names and MOST < 7))"),
        ("not names and MOST < 7", "((not names) or (MOST < 7))"),
        ("not names", "names"),
        ("MOST < 7", "MOST <= 7"),
        ("MOST < 7", "MOST >= 7"),
        ("7", "8"),
        ('raise ValueError(f"fewer than {1}", 2)', "pass"),
        ("self.names = names", "pass"),
        ("clear(names)", "pass"),
        ("return names[0]", "return None"),
        ("0", "1"),
    ]


def test_sql_is_broken_outside_its_texts_templates_and_indexes() -> None:
    assert faults("sql/audit/first.sql.j2", SQL) == [
        ("5", "6"),
        ("not exists", "exists"),
        ("=", "<>"),
        ("and", "or"),
        ("is not null", "is null"),
        ("perform svc.note(p_most);", "null;"),
        ("desc", "asc"),
        ("6", "7"),
    ]


@pytest.mark.parametrize(
    "file", ["svc_pg/audit/log/conditions.py", "svc_pg/console/http/parameters.py", "cli/supervisor.py"]
)
def test_each_fault_of_a_file_is_still_python(file: str) -> None:
    source = (ROOT / file).read_bytes()
    found = list(mutants_of(file, source))
    assert len(found) > 10
    for mutant in found:
        broken = mutant.applied(source)
        assert broken != source
        ast.parse(broken)


def test_a_sample_is_the_same_for_a_seed_and_has_each_room_soon() -> None:
    mutants = [Mutant(f"svc_pg/{room}/a.py", line, 0, 1, "a", "b") for room in ("big", "tiny") for line in range(400)]
    mutants = [each for each in mutants if "big" in each.file or each.line < 4]
    assert sample(mutants, 3) == sample(mutants, 3) != sample(mutants, 4)
    assert sorted(sample(mutants, 3), key=mutants.index) == mutants
    begin = [room_of(each.file) for each in sample(mutants, 3)[:44]]
    assert 2 <= begin.count("svc_pg/tiny") <= 4


def test_a_line_has_its_second_fault_after_all_lines_have_one() -> None:
    mutants = [Mutant("cli/a.py", line, 0, 1, "a", after) for line in range(9) for after in "bcd"]
    assert sorted(each.line for each in sample(mutants, 1)[:9]) == list(range(9))


def test_what_is_generated_and_what_is_no_code_is_not_broken() -> None:
    files = ("svc_pg/client/generated/a.py", "sql/demo/shop.sql", "tests/a.py", "svc_pg/console/pages/static/a.js")
    assert [is_broken(file) for file in files] == [False] * len(files)
    assert is_broken("sql/capture/row.sql.j2")


def test_a_fault_is_noticed_or_survives_and_the_copy_is_whole_again(tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    copy, tests = Copy(tmp_path), ["tests/test_bounds.py::test_most"]
    noticed, survived = mutants_of("svc_pg/bounds.py", PROJECT["svc_pg/bounds.py"].encode())
    outcome, reason = copy.try_out(noticed, tests, 60)
    assert (outcome, reason.partition(" - ")[0]) == ("noticed", "FAILED tests/test_bounds.py::test_most")
    assert copy.try_out(survived, tests, 60) == ("survived", "")
    assert copy.try_out(noticed, tests, 0.01)[0] == "unfinished"
    assert copy.try_out(noticed, [], 60)[0] == "survived"
    assert (tmp_path / "svc_pg/bounds.py").read_text(encoding="utf-8") == PROJECT["svc_pg/bounds.py"]


def test_the_time_of_a_run_is_that_of_its_programs_on_the_processor() -> None:
    endless = [sys.executable, "-I", "-S", "-c", "while True: pass"]
    idle = [sys.executable, "-I", "-S", "-c", f"import subprocess; subprocess.run({endless})"]
    with subprocess.Popen(idle, start_new_session=True) as process:
        try:
            assert wait_for(process, 0.5) > 0.2  # of which the first program needs a tenth
            assert process.returncode is None
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"]) as process:
        assert wait_for(process, 60) < 60
        assert process.returncode == 3


USER = """\
_PART: Final = statement("queries/seals/part.sql")
_WHOLE: Final = statement("queries/seals/whole.sql").replace("{part}", _PART)
_OTHER: Final = statement("queries/seals/other.sql")


def first():
    return Query(
        _WHOLE,
    )


def second():
    return Query(_OTHER)


def test_first():
    assert first() == "select svc.whole_log()"
"""


def test_a_statement_is_used_in_the_lines_that_name_what_is_made_of_it() -> None:
    assert lines_using("queries/seals/part.sql", USER) == {1, 2, 8}
    assert lines_using("queries/seals/other.sql", USER) == {3, 13}
    assert named_tests("whole_log", "tests/test_user.py", USER) == ["tests/test_user.py::test_first"]
    assert named_tests("whole", "tests/test_user.py", USER) == []


def test_commands_are_imported_from_svc_pg() -> None:
    assert module_name("cli/webhooks.py") == "svc_pg.cli.webhooks"
    assert module_name("svc_pg/audit/log/__init__.py") == "svc_pg.audit.log"


def test_the_share_is_of_all_faults_also_of_those_that_took_too_long() -> None:
    outcomes = Outcomes()
    assert not outcomes.is_enough
    mutants = [Mutant("cli/a.py", line, 0, 1, "a", "b") for line in range(20)]
    for mutant in mutants[:19]:
        outcomes.note(mutant, "noticed")
    outcomes.note(mutants[19], "unfinished")
    assert outcomes.is_enough
    outcomes.note(mutants[0], "survived")
    assert not outcomes.is_enough
    assert outcomes.figures() == {
        "cli": {
            "mutants": 20,
            "noticed": 18,
            "survived": 1,
            "unfinished": 1,
            "left": ["survived: cli/a.py:0: a -> b", "unfinished: cli/a.py:19: a -> b"],
        }
    }
    assert outcomes.words().endswith("18 of 20 noticed, 1 not in time")


def test_each_equivalent_fault_is_one_that_would_be_made() -> None:
    for each in equivalent():
        source = (ROOT / each["file"]).read_bytes()
        lines = source.decode().splitlines()
        made = {(lines[mutant.line - 1].strip(), mutant.after) for mutant in mutants_of(each["file"], source)}
        assert (each["line"], each["after"]) in made, each
        assert each["reason"]
