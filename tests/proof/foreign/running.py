"""Run the units of a foreign suite on a server of its own, with or without capture."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from tests.matrix import fetch
from tests.proof.foreign.sources import tools, unpacked
from tests.proof.foreign.suites import Suite, Unit
from tests.support import mysql, postgres

INSIDE: Final = Path(__file__).with_name("inside")
LONGEST: Final = 2400
"""Seconds of a unit; then it is killed, and the tests that it did not reach have no outcome."""
_LAST_LINES: Final = 30
_DATABASE: Final = "suite"
_EVERY_TABLE: Final = Config(audit=AuditConfig(tables=[AuditedTable(name="*.*")]))


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of each test, and the end of the output if nothing ran.

    With capture also the number of ``entries``, and the most tables there were at a time, with it and ``bare``.
    """

    outcomes: Mapping[str, str]
    entries: int = 0
    tables: int = 0
    bare: int = 0
    output: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A copy of a suite's source, beside a server."""

    suite: Suite
    source: Path
    tools: Path
    port: int
    is_captured: bool

    def run(self, unit: Unit) -> Run:
        """Run a unit to its end, with any result."""
        with TemporaryDirectory(prefix="svc-pg-") as folder:
            outcomes = Path(folder, "outcomes")
            with Path(folder, "output").open("w+", encoding="utf-8", errors="replace") as output:
                self._run(unit, outcomes, output.fileno())
                output.seek(0)
                last = "".join(output.readlines()[-_LAST_LINES:])
            lines = outcomes.read_text(encoding="utf-8").splitlines() if outcomes.exists() else []
        return _read([json.loads(line) for line in lines], last)

    def _run(self, unit: Unit, outcomes: Path, output: int) -> None:
        filled = {"port": self.port, "database": _DATABASE}
        command = [each.format(**filled) for each in self.suite.command]
        given = {name: value.format(**filled) for name, value in self.suite.variables.items()}
        own = {
            "FOREIGN_OUTCOMES": str(outcomes),
            "FOREIGN_CAPTURE": "1" if self.is_captured else "",
            "FOREIGN_PORT": str(self.port),
            "FOREIGN_DATABASE": _DATABASE,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (INSIDE, self.tools, self.source))),
        }
        process = subprocess.Popen(
            [sys.executable, *command, *unit],
            cwd=self.source / self.suite.folder,
            env={**os.environ, **given, **own},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            pass  # its outcomes so far are there
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _read(lines: Sequence[Any], output: str) -> Run:
    """What a process wrote down: pairs of a test and its outcome, and counts by name."""
    tests = dict(line for line in lines if isinstance(line, list))
    counts = [line for line in lines if isinstance(line, dict)]
    entries = sum(each.get("entries", 0) for each in counts)
    tables, bare = (max((each.get(name, 0) for each in counts), default=0) for name in ("tables", "bare"))
    return Run(tests, entries, tables, bare, "" if tests else output)


@contextmanager
def place(suite: Suite, *, is_captured: bool, major: int) -> Iterator[Place]:
    """Unpack a suite beside a server that is started for it; leaving stops and removes both."""
    with TemporaryDirectory(prefix="svc-pg-") as name, _server(suite, major, is_captured=is_captured) as port:
        source = unpacked(suite, Path(name), is_captured=is_captured)
        yield Place(suite, source, tools(suite), port, is_captured)


@contextmanager
def _server(suite: Suite, major: int, *, is_captured: bool) -> Iterator[int]:
    if suite.kind == "sqlite":
        yield 0
    elif suite.kind == "mariadb":
        with mysql.server("mariadb") as server:
            yield server.port
    else:
        with postgres.server(str(fetch(major))) as conninfo:
            _make_database(suite, conninfo, is_captured=is_captured and suite.settings is None)
            with psycopg.connect(conninfo) as conn:
                port = conn.info.port
            yield port


def _make_database(suite: Suite, conninfo: str, *, is_captured: bool) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(f"create database {_DATABASE}")
    with psycopg.connect(conninfo, dbname=_DATABASE, autocommit=True) as conn:
        # in a schema at which no suite looks: an install refuses a pattern that nothing matches
        for statement in ("create schema elsewhere", "create table elsewhere.first (id int)", *suite.prepare):
            conn.execute(statement.encode())
        if is_captured:
            schema.install(conn, _EVERY_TABLE)
