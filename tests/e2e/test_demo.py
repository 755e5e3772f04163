import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from tests.support.commands import LIMIT_SECONDS, PROGRAM, environment, program
from tests.support.waiting import wait_until


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder that PostgreSQL's account may enter. A pytest that starts closes pytest's own to every other account."""
    with TemporaryDirectory(prefix="svc-pg-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_the_demo_prints_tables_whose_changes_take_two_lines_at_most_of_80_columns_and_ends_well(
    temporary: Path,
) -> None:
    done = program("demo", "--once", folder=temporary, variables={"COLUMNS": "80", "TMPDIR": str(temporary)})
    assert done.returncode == 0, done.stderr
    assert [path for path in temporary.iterdir() if path.is_dir()] == []
    for words in ("Who changed what", "support", "bob@example.com", "What was delivered", "2 of 5", "How long it took"):
        assert words in done.stdout
    tables, _, rest = done.stdout.partition("\nThe last webhook")
    assert max(map(len, tables.splitlines())) <= 80
    changes = tables.partition("password_hash is in")[0].splitlines()
    actors = [line.split("│")[0].strip() for line in changes if "│" in line]
    assert sorted(filter(None, actors)) == ["alice", "alice", "bob", "bob", "operator", "support"]
    assert not any(one == another == "" for one, another in pairwise(actors))
    assert "id: 2, email: bob@exmaple.com → " in " ".join(tables.split())
    assert "dba_temp" in tables
    assert re.search(r"8\d\d entries are as sealed, and \d+ rows of 5 tables as the log knows them\.\n", tables)
    for words in ("webhook-signature: v1,", '"type":"order.placed"', "/ui/sign-in?now=1", "What to read next"):
        assert words in rest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_shows_every_part_stays_up_until_it_is_told_to_end_and_leaves_nothing_behind(
    tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    shown, told = tmp_path / "shown.json", tmp_path / "told"
    with shown.open("w") as output, told.open("w") as errors:
        demo = subprocess.Popen(
            [PROGRAM, "demo", "--json"],
            stdout=output,
            stderr=errors,
            env=environment(TMPDIR=str(temporary)),
        )
    try:
        limit = timedelta(seconds=LIMIT_SECONDS)  # as for the demo that ends
        wait_until(lambda: shown.read_text().endswith("}\n"), "the demo has shown its findings", limit=limit)
        found = json.loads(shown.read_text())
        assert_every_part(found)
        bearer = {"Authorization": f"Bearer {found['consoleToken']}"}
        with httpx.Client(base_url=found["consoleUrl"], headers=bearer) as console:
            on_record = entries(console, since=found["since"])
            assert [entry for entry in on_record if entry["actorId"] != "walk-in"] == found["auditEntries"]
            assert len(entries(console)) == 100
            wait_until(lambda: entries(console, actor="walk-in", since=found["since"]), "the shop goes on")
        assert heading_after_sign_in(found["signInUrl"], found["consoleUrl"]) == "Sessions"
        assert processes(temporary)
        with httpx.stream("GET", f"{found['consoleUrl']}/account/changes", headers=bearer) as live:
            assert next(live.iter_bytes())  # as a page that is open in a browser
            demo.send_signal(number)
            assert demo.wait(timeout=20) == 0
        _, *steps, how_to_end = told.read_text().splitlines()
        assert steps == [f"- {step['name']}" for step in found["steps"]]
        assert "Ctrl-C" in how_to_end
    finally:
        demo.kill()
        demo.wait()
    assert processes(temporary) == []
    assert [path for path in temporary.iterdir() if path.is_dir()] == []


def assert_every_part(shown: dict[str, Any]) -> None:
    actors = {entry["actorId"] for entry in shown["auditEntries"]}
    assert actors == {"alice", "bob", "support", "operator"}
    assert {delivery["status"] for delivery in shown["deliveries"]} == {"delivered"}
    assert {delivery["attempts"] for delivery in shown["deliveries"]} == {1, 2}
    for entry in shown["auditEntries"]:
        assert "password_hash" not in (entry["beforeData"] or {}) | (entry["afterData"] or {})
        assert entry["tableName"] != "public.customer" or entry["redactedFields"] == ["password_hash"]
    assert [(alarm["actorId"], alarm["dbUser"], alarm["severity"]) for alarm in shown["alarms"]] == [
        (None, "dba_temp", "critical")
    ]
    proof = shown["proof"]
    assert proof["isWhole"]
    assert (proof["seals"], proof["tables"]) == (1, 5)
    assert proof["entries"] > 800
    assert proof["rows"] > 200
    assert json.loads(shown["webhook"]["body"])["type"] == "order.placed"
    assert shown["webhook"]["headers"]["webhook-signature"].startswith("v1,")
    assert shown["consoleUrl"].startswith("http://127.0.0.1:")


def entries(console: httpx.Client, **filters: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = console.get("/audit/entries", params=filters).raise_for_status().json()["data"]
    return data


def heading_after_sign_in(link: str, console: str) -> str:
    """Do as a browser does that opens the link, whose page sends its form by itself; then open another page."""
    with httpx.Client() as browser:
        form = browser.get(link).raise_for_status().text
        assert "data-submit" in form
        signed_in = browser.post(link.partition("?")[0], data={"next": ""}, headers={"Sec-Fetch-Site": "same-origin"})
        assert signed_in.status_code == 303
        page = browser.get(f"{console}/ui/sessions").raise_for_status().text
    [heading] = re.findall(r"<h1>(.*?)</h1>", page)
    return str(heading)


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
