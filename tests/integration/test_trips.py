"""The ways through the modules are those of docs/internals/trips.md: a budget for what a reader has to follow."""

import ast
import json
import os
import re
import subprocess
import sys
from typing import Any, Final

import pytest

from tests.support.documents import ROOT
from tests.support.postgres import new_database

PAGE: Final = ROOT / "docs" / "internals" / "trips.md"
UPDATE: Final = "SVC_TEST_UPDATE_SNAPSHOTS"
START: Final = "<!-- Written by tests/integration/test_trips.py -->\n"

Trips = dict[str, tuple[int, list[str]]]


@pytest.fixture(scope="module")
def walked(postgres: str) -> Trips:
    """The number of calls between rooms, and the modules, by the name of the trip."""
    with new_database(postgres) as conninfo:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.trips", conninfo], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert ran.returncode == 0, ran.stderr
    found: list[dict[str, Any]] = json.loads(ran.stdout)
    return {trip["name"]: (trip["crossings"], trip["modules"]) for trip in found}


def test_a_trip_grows_only_with_its_page(walked: Trips) -> None:
    before, _, written = PAGE.read_text(encoding="utf-8").partition(START)
    if os.environ.get(UPDATE):
        PAGE.write_text(with_counts(before, walked) + START + page(walked), encoding="utf-8")
        return
    assert with_counts(before, walked) == before, f"the goals have other counts: run with {UPDATE}=1"
    told = read(written)
    assert told.keys() == walked.keys()
    for name, (crossings, modules) in walked.items():
        most, known = told[name]
        assert sorted(modules) == sorted(known), f"{name}: read the difference, then run with {UPDATE}=1"
        # where threads and timers take part, a few calls more or less are chance
        assert crossings <= most + 3, f"{name}: {crossings} calls lead into another room, and the page allows {most}"


def with_counts(text: str, trips: Trips) -> str:
    """The table of goals with the numbers of modules as they are now."""
    for name, (_, modules) in trips.items():
        text = re.sub(rf"(?m)^(\| {re.escape(name)} \|(?: \S+ \|){{2}}) \d+ ", rf"\1 {len(modules)} ", text)
    return text


def page(trips: Trips) -> str:
    return "".join(f"\n## {name}\n\n{table(*trip)}" for name, trip in trips.items())


def table(crossings: int, modules: list[str]) -> str:
    rooms = len({module.rpartition("/")[0] for module in modules})
    counts = f"{len(modules)} modules of {rooms} rooms, {crossings} calls from room to room.\n\n"
    return (
        counts
        + "| Module | Subject |\n|---|---|\n"
        + "".join(f"| `{module}` | {subject(module)} |\n" for module in modules)
    )


def subject(module: str) -> str:
    """The first sentence of the module."""
    text = ast.get_docstring(ast.parse((ROOT / "svc_pg" / module).read_text(encoding="utf-8"))) or ""
    first = text.split("\n\n")[0].replace("\n", " ")
    return first.replace("|", r"\|")


def read(written: str) -> Trips:
    """The trips that a page tells."""
    found = {}
    for part in written.split("\n## ")[1:]:
        name, _, rest = part.partition("\n")
        crossings = int(rest.split(" calls from room to room")[0].split()[-1])
        found[name] = crossings, [line.split("`")[1] for line in rest.splitlines() if line.startswith("| `")]
    return found
