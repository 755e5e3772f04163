"""The programs of a soak: two workers, the console and the upkeep, each a process of its own with a log."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx

from svc_pg.seals.keys import SealKey
from tests.benchmarks.console_stage import KEY
from tests.benchmarks.delivery import stage
from tests.benchmarks.soak import shop
from tests.benchmarks.soak.upkeep import Schedule
from tests.support.commands import PROGRAM, environment
from tests.support.ports import free_port
from tests.support.waiting import wait_until

WORKERS: Final = ("worker", "worker that dies")
CONSOLE: Final = "console"
UPKEEP: Final = "upkeep"
_FILE: Final = "svc-pg.toml"
_GRACE: Final = 20  # seconds that a program has to end
_LONGEST_COMMAND: Final = timedelta(minutes=10)
_SCHEDULE: Final = "schedule.json"
_ERROR: Final = re.compile(r"^\S+ \S+ ERROR (?:\[\d+\] )?(.*)", re.MULTILINE)
_LOG_BYTES: Final = 2**20
_NUMBERS: Final = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")


@dataclass
class Programs:
    """Everything that runs beside the database; ``url`` is the console's."""

    conninfo: str
    folder: Path
    configuration: str
    url: str = ""
    workers: list[stage.WorkerProcess] = field(default_factory=list)
    others: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _read: dict[Path, int] = field(default_factory=dict)

    def pids(self) -> dict[str, int]:
        """The process of each by its name."""
        named = dict(zip(WORKERS, (worker.process.pid for worker in self.workers), strict=True))
        return named | {name: process.pid for name, process in list(self.others.items())}

    def kill_worker(self) -> None:
        """Kill -9 the one that dies, and start it anew."""
        self.workers[1].kill()
        self.workers[1] = self._worker(1)

    def _run(self, *command: str) -> int:
        file = self.folder / f"{command[0]}.log"
        with file.open("ab") as log:
            done = subprocess.run(
                [PROGRAM, *command, "--database-url", self.conninfo],
                **self._started(log),
                timeout=_LONGEST_COMMAND.total_seconds(),
                check=False,
            )
        return done.returncode

    def export(self) -> int:
        """Export the whole log; returns the exit code."""
        return self._run("export", "--format", "ndjson", "--to", str(self.folder / "log.ndjson"))

    def install(self, configuration: str) -> int:
        """Install another configuration while all goes on, then start anew what reads it; returns the exit code."""
        self.configuration = configuration
        (self.folder / _FILE).write_text(configuration, encoding="utf-8")
        code = self._run("install")
        old = self.others.pop(UPKEEP)
        old.terminate()
        _wait(old)
        self.others[UPKEEP] = self._upkeep()
        return code

    def ended(self) -> list[str]:
        """The names of those that have ended, which none should."""
        states = dict(zip(WORKERS, (worker.process.poll() for worker in self.workers), strict=True))
        states |= {name: process.poll() for name, process in list(self.others.items())}
        return [name for name, code in states.items() if code is not None]

    def errors(self) -> list[str]:
        """The lines that are errors in the logs since the last call, without their numbers and names."""
        found = []
        for file in sorted(self.folder.rglob("*.log")):
            with file.open("rb") as log:
                log.seek(self._read.get(file, 0))
                text = log.read(_LOG_BYTES)
                self._read[file] = log.tell()
            words = _ERROR.findall(text.decode(errors="replace"))
            found += [f"{file.stem}: {_NUMBERS.sub('N', line)[:120]}" for line in words]
        return found

    def _start(self, key: SealKey, schedule: Mapping[str, float]) -> None:
        (self.folder / _FILE).write_text(self.configuration, encoding="utf-8")
        Schedule(
            conninfo=self.conninfo, config=str(self.folder / _FILE), key_id=key.key_id, key=key.seed.hex(), **schedule
        ).write(self.folder / _SCHEDULE)
        self.workers = [self._worker(number) for number in range(len(WORKERS))]
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.others = {
            CONSOLE: self._program(CONSOLE, PROGRAM, "serve", "--port", str(port), "--database-url", self.conninfo),
            UPKEEP: self._upkeep(),
        }
        wait_until(self._is_served, "the console answers", limit=timedelta(minutes=1))

    def _worker(self, number: int) -> stage.WorkerProcess:
        folder = self.folder / str(number)
        folder.mkdir(exist_ok=True)
        only = ("--only", "deliveries")
        return stage.start_worker(self.conninfo, folder, configuration=self.configuration, options=only)

    def _upkeep(self) -> "subprocess.Popen[bytes]":
        file = str(self.folder / _SCHEDULE)
        return self._program(UPKEEP, sys.executable, "-m", "tests.benchmarks.soak.upkeep", file)

    def _program(self, name: str, *command: Any) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, **self._started(log))

    def _started(self, log: Any) -> dict[str, Any]:
        variables = {
            "SVC_ENV": "development",
            "SVC_ENCRYPTION_KEYS": stage.KEYS_TEXT,
            "SVC_CONSOLE_CONNECTION_TOKEN_HASH": f"sha256:{KEY.decode()}",
            "SVC_CONSOLE_ALLOWED_EMAILS": json.dumps({"*@corp.example": "admin"}),
            "PYTHONPATH": str(Path.cwd()),
        }
        return {
            "cwd": self.folder,
            "env": environment(**variables),
            "stdin": subprocess.DEVNULL,
            "stdout": log,
            "stderr": log,
            "process_group": 0,  # Ctrl-C is for the benchmark, which stops it
        }

    def _is_served(self) -> bool:
        if self.others[CONSOLE].poll() is not None:
            raise RuntimeError((self.folder / f"{CONSOLE}.log").read_text(errors="replace"))
        try:
            httpx.get(self.url)
        except httpx.TransportError:
            return False
        return True

    def _stop(self) -> None:
        for process in self.others.values():
            process.terminate()
        for worker in self.workers:
            worker.kill()
        for process in self.others.values():
            _wait(process)


def _wait(process: "subprocess.Popen[bytes]") -> None:
    """Wait for its end after SIGTERM, for a while."""
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def running(conninfo: str, configuration: str, *, key: SealKey, schedule: Mapping[str, float]) -> Iterator[Programs]:
    """Run all of them until the block ends. The ``schedule`` has the numbers of ``Schedule``."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="svc-pg-soak-")))
        programs = Programs(conninfo, folder, configuration)
        stack.callback(programs._stop)
        programs._start(key, schedule)
        yield programs


def receivers_of(base_url: str) -> dict[str, str]:
    """The URL of each tenant's endpoint."""
    return {tenant: base_url + path for tenant, path in shop.RECEIVERS.items()}
