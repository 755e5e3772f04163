"""The proof of scale makes its database once, goes on where it was interrupted, and leaves it as it was."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.proof.scale import kept, making
from tests.proof.scale.sizes import Sizes
from tests.support.documents import ROOT

SIZES = Sizes(20_000, 1_000, 20, 40)
OPTIONS = ("--entries", "20000", "--deliveries", "1000", "--endpoints", "20", "--tables", "40")


@pytest.fixture(scope="module")
def cache() -> Iterator[Path]:
    with TemporaryDirectory(prefix="svc-pg-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server has an account of its own
        yield folder


def prove(cache: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.proof.scale", *OPTIONS, *options]
    variables = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=300)


def test_a_small_run_makes_its_database_and_keeps_every_bound(cache: Path) -> None:
    chosen = [f"--only={each}" for each in ("claims of a worker", "changes of many deliveries", "installs")]
    first = prove(cache, *chosen, f"--save={cache}/figures")
    assert first.returncode == 0, first.stdout + first.stderr
    figures = json.loads((cache / "figures" / "scale.json").read_text(encoding="utf-8"))["figures"]
    assert list(figures["subjects"]) == ["claims of a worker", "changes of many deliveries", "installs"]
    assert all(each["checks"] >= 5 and not each["brokenCount"] for each in figures["subjects"].values())
    assert "entries: 20,000 of 20,000" in first.stderr
    again = prove(cache, "--only=claims of a worker")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "entries: " not in again.stderr, "the database is made once"


def test_an_interrupted_making_goes_on_and_is_never_taken_for_the_whole(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    folder = cache / "interrupted"
    whole = making.Making.step

    def stopped(self: making.Making, name: str, do: making.Part) -> None:
        if name == "waiting deliveries":
            raise KeyboardInterrupt
        whole(self, name, do)

    monkeypatch.setattr(making.Making, "step", stopped)
    with pytest.raises(KeyboardInterrupt), kept.database(SIZES, folder):
        pass
    assert not (folder / "complete.json").exists()
    monkeypatch.setattr(making.Making, "step", whole)
    with kept.database(SIZES, folder) as conninfo, psycopg.connect(conninfo) as conn:
        counts = conn.execute(
            """select (select count(*) from svc.audit_logs where table_name = 'public.account'),
                      (select count(*) from svc.webhook_messages where event_name like 'order.%'),
                      (select count(*) from svc.webhook_queue where lane = 'due'),
                      (select sum(entries) = (select count(*) from svc.audit_logs) from svc.audit_seals)"""
        ).fetchall()
        with pytest.raises(kept.BusyError), kept.database(SIZES, folder):
            pass
    assert counts == [(SIZES.rows, SIZES.deliveries + SIZES.waiting, SIZES.waiting, True)]
    assert (folder / "complete.json").exists()
