"""Job queues on PostgreSQL beside ours, with jobs that do nothing."""

import json
import os
import subprocess
import sys
from typing import Final

from tests.benchmarks.delivery.figures import Figures, Section, turns
from tests.benchmarks.delivery.peer_jobs import CONCURRENCY, CONNINFO_VARIABLE
from tests.benchmarks.delivery.sizes import Size
from tests.benchmarks.delivery.stage import Server
from tests.benchmarks.installed import PeerError, missing

DISTRIBUTIONS: Final = ("procrastinate", "pgqueuer")
SVC: Final = "svc-pg"
_NOTE: Final = "; no HTTP in any of them, but ours also signs, keeps each attempt, and holds places for each endpoint"
DEFER: Final = Section("peers: enqueue one by one, each its own transaction", "jobs/s", "Python, one connection")
BATCH: Final = Section("peers: enqueue 500 at a time", "jobs/s", "Python, one connection")
WORK: Final = Section(
    "peers: do jobs that do nothing", "jobs/s", f"one process, one event loop, {CONCURRENCY} at a time{_NOTE}"
)


def measure(figures: Figures, server: Server, size: Size) -> dict[str, str]:
    """Each in turn, in a new process and a new database every time. Returns why some could not take part."""
    absent = [reason for name in DISTRIBUTIONS if (reason := missing(name, name))]
    taking_part = [SVC, *(name for name in DISTRIBUTIONS if not missing(name, name))]
    for number in range(size.peer_rounds):
        for name in turns(taking_part, number):
            try:
                rates = _rates(name, server, size.peer_jobs)
            except PeerError as error:
                absent.append(f"{name}: {error}")
                continue
            for section, kind in ((DEFER, "defer"), (BATCH, "batch"), (WORK, "work")):
                figures.add(section, name, rates[kind])
    return {"without": "; ".join(absent)} if absent else {}


def _rates(name: str, server: Server, jobs: int) -> dict[str, float]:
    with server.database() as database:
        command = [sys.executable, "-m", "tests.benchmarks.delivery.peer_jobs", name, str(jobs)]
        environment = {**os.environ, CONNINFO_VARIABLE: database}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise PeerError(done.stderr.strip().rpartition("\n")[2])
    rates: dict[str, float] = json.loads(done.stdout)
    return rates
