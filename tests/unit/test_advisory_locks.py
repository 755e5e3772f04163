"""Each advisory lock is named in one place, and taken by that name everywhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from svc_pg.database import advisory_locks
from svc_pg.database.advisory_locks import Lock
from svc_pg.errors import RenderError
from svc_pg.rendering.templates import lock

ROOT = Path(__file__).parents[2]
CALL = re.compile(r"pg_(?:try_)?advisory_\w+\(([^)]*)\)")


def files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (file for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".sql", ".j2"))


def test_the_number_of_our_locks_is_written_once() -> None:
    written = [
        file.name
        for file in files("svc_pg", "cli", "sql", "tests")
        if re.search(r"\b1937138032\b", file.read_text()) and file != Path(__file__)
    ]
    assert written == ["advisory_locks.py"]


def test_every_lock_is_taken_by_its_name() -> None:
    calls = [(file, call) for file in files("svc_pg", "cli", "sql") for call in CALL.findall(file.read_text())]
    by_name = {call for file, call in calls if file.suffix != ".py"}
    assert by_name == {f'{{{{ "{name}" | lock }}}}' for name in ("install", "wakeup")}
    in_python = [(file, call) for file, call in calls if file.suffix == ".py"]
    assert {call for _, call in in_python} == {"%s, %s"}
    taken = {name for file, _ in in_python for name in re.findall(r"Lock\.([A-Z]+)\.key", file.read_text())}
    assert taken | {re.sub(r"\W|lock", "", call).upper() for call in by_name} == set(Lock.__members__)


def test_none_is_waited_for_because_anybody_can_hold_it() -> None:
    taken = {
        name for file in files("svc_pg", "cli", "sql") for name in re.findall(r"pg_\w*advisory\w+", file.read_text())
    }
    assert taken == {
        "pg_try_advisory_lock",
        "pg_try_advisory_xact_lock",
        "pg_try_advisory_xact_lock_shared",
        "pg_advisory_unlock",
    }


def test_the_document_lists_the_locks() -> None:
    text = (ROOT / "docs" / "sql-api.md").read_text(encoding="utf-8")
    said = re.findall(r"^\| (\d) \| (.*) \|$", text.partition("## Advisory locks")[2], re.MULTILINE)
    source = Path(advisory_locks.__file__).read_text(encoding="utf-8")
    assert said == re.findall(r'    [A-Z]+ = (\d)\n    """(.*)"""', source)
    assert [int(number) for number, _ in said] == list(Lock)
    assert f"All have {advisory_locks.CLASS} as" in text


def test_a_lock_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RenderError, match="no advisory lock has the name 'nothing'"):
        lock("nothing")
