"""The figures that benchmarks save, and the list of benchmarks."""

import json
import os
import sys
from datetime import date
from pathlib import Path

import pytest

from tests.benchmarks import saved
from tests.benchmarks.__main__ import benchmarks


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
