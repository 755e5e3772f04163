"""The figures that benchmarks save, and the list of benchmarks."""

import json
import os
import sys
from datetime import date
from pathlib import Path

import pytest

from tests.benchmarks import saved
from tests.benchmarks.__main__ import benchmarks
from tests.benchmarks.all import RUNS
from tests.benchmarks.delivery import peers
from tests.benchmarks.peer_ratios import READ, Ratio
from tests.support.documents import ROOT


def test_a_file_says_how_to_get_the_same_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [
        "--entries",
        "5",
        f"--save={tmp_path}",
        "--picture",
        "/home/me/a.svg",
        "--postgres",
        "/opt/pg",
        "--quick",
    ]
    monkeypatch.setattr(sys, "argv", ["reading", *arguments])
    saved.save(tmp_path / "new", "reading", {"rate": 1234.5678, "few": [0.001234567, 7.0], "none": None}, {"x": "1.2"})
    text = (tmp_path / "new" / "reading.json").read_text()
    found = json.loads(text)
    assert found.pop("versions").keys() == {"x", "Python"}
    assert date.fromisoformat(found.pop("date")).year >= 2026
    assert found == {
        "command": "python -m tests.benchmarks.reading --entries 5 --quick",
        "cores": os.cpu_count(),
        "figures": {"rate": 1235, "few": [0.001235, 7], "none": None},
    }
    assert "home" not in text


def test_without_a_folder_nothing_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved.save(None, "reading", {}, {})
    assert list(tmp_path.iterdir()) == []


def test_every_benchmark_is_listed_with_a_sentence() -> None:
    listed = dict(benchmarks())
    assert {"capture", "delivery", "reading", "soak"} < listed.keys()
    assert [name for name, sentence in listed.items() if not sentence.endswith(".") or "``" in sentence] == []


def test_a_ratio_to_a_peer_above_one_is_a_loss_whatever_is_measured() -> None:
    costs = {"svc-pg": {"INSERT": 6.0, "UPDATE": -1.0}, "plain trigger": {"INSERT": 3.0, "UPDATE": 2.0}}
    assert list(READ["capture-mysql"]({"mariadb": {"costs": costs}})) == [Ratio("plain trigger", "mariadb, INSERT", 2)]
    whole = {"no audit": {"INSERT": 1}, "svc-pg": {"INSERT": 4}, "sqlite-history": {"INSERT": 2}}
    assert [each.times for each in READ["capture-sqlite"]({"microseconds": whole})] == [3]
    sections = {
        section.title: {"results": {"svc-pg": {"median": 10}, "pg-boss": {"median": 20}}}
        for section in (peers.WORK, peers.PROCESS)
    }
    assert [each.times for each in READ["delivery-peers"](sections)] == [2, 0.5]


def test_all_benchmarks_beside_peers_are_run_and_read() -> None:
    assert RUNS.keys() == READ.keys()
    for name in READ.keys() & {file.stem for file in saved.FOLDER.glob("*.json")}:
        assert len({ratio.peer for ratio in READ[name](saved.load(name)["figures"])}) > 1, name


def test_no_saved_rate_is_the_same_in_each_round() -> None:
    """Such a rate is that of a timer, at which something waits, not a speed. That of ``delivery-load`` is offered."""
    waiting = [
        f"{file.stem}: {title}: {name}"
        for file in sorted((ROOT / "docs" / "figures").glob("delivery-*.json"))
        for title, section in json.loads(file.read_text(encoding="utf-8"))["figures"].items()
        if section["unit"].endswith("/s") and file.stem != "delivery-load"
        for name, result in section["results"].items()
        if result["most"] < 1.01 * result["least"]
    ]
    assert waiting == []
