import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.commands import PROGRAM, environment, program
from tests.support.waiting import wait_until


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder that PostgreSQL's account may enter. A pytest that starts closes pytest's own to every other account."""
    with TemporaryDirectory(prefix="svc-pg-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_the_demo_shows_every_part_and_ends_well(temporary: Path) -> None:
    result = program("demo", "--once", "--json", folder=temporary, variables={"TMPDIR": str(temporary)})
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)
    actors = {entry["actorId"] for entry in shown["auditEntries"]}
    assert actors == {"alice", "bob", "support", "operator"}
    assert {delivery["status"] for delivery in shown["deliveries"]} == {"delivered"}
    assert {delivery["attempts"] for delivery in shown["deliveries"]} == {1, 2}
    for entry in shown["auditEntries"]:
        assert "password_hash" not in (entry["beforeData"] or {}) | (entry["afterData"] or {})
    assert shown["consoleUrl"].startswith("http://127.0.0.1:")
    assert shown["steps"]
    assert [path for path in temporary.iterdir() if path.is_dir()] == []


def test_the_demo_prints_tables_whose_changes_take_two_lines_at_most_of_80_columns(tmp_path: Path) -> None:
    done = program("demo", "--once", folder=tmp_path, variables={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    for words in ("Who changed what", "support", "bob@example.com", "What was delivered", "2 of 5", "How long it took"):
        assert words in done.stdout
    tables = done.stdout.partition("\nConsole ")[0]
    assert max(map(len, tables.splitlines())) <= 80
    changes = tables.partition("What was delivered")[0].splitlines()
    actors = [line.split("│")[0].strip() for line in changes if "│" in line]
    assert sorted(filter(None, actors)) == ["alice", "alice", "bob", "bob", "operator", "support"]
    assert not any(one == another == "" for one, another in pairwise(actors))
    assert "id: 2, email: bob@exmaple.com → " in " ".join(tables.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_stays_up_until_it_is_told_to_end_and_leaves_nothing_behind(
    tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    shown = tmp_path / "shown.json"
    with shown.open("w") as output:
        demo = subprocess.Popen(
            [PROGRAM, "demo", "--json"],
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=environment(TMPDIR=str(temporary)),
        )
    try:
        wait_until(lambda: shown.read_text().endswith("}\n"), "the demo has shown its findings")
        found = json.loads(shown.read_text())
        assert entries(found["consoleUrl"], found["consoleToken"]) == found["auditEntries"]
        assert processes(temporary)
        demo.send_signal(number)
        assert demo.wait(timeout=20) == 0
    finally:
        demo.kill()
        demo.wait()
    assert processes(temporary) == []
    assert [path for path in temporary.iterdir() if path.is_dir()] == []


def entries(console: str, token: str) -> object:
    request = urllib.request.Request(f"{console}/audit/entries", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)["data"]


def processes(folder: Path) -> list[str]:
    """The ids of the processes whose command line names the folder."""
    return [
        process.name
        for process in Path("/proc").glob("[0-9]*")
        if process.name != str(os.getpid()) and str(folder) in command_line(process)
    ]


def command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""  # it has ended meanwhile
