"""The pages, the memory and the time that a call takes, and the bounds that it must keep."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Final

import psycopg

from tests.support.commands import environment
from tests.support.waiting import wait_until

_TOUCHED: Final = "select blks_hit + blks_read from pg_stat_database where datname = %s"
_BUSIEST: Final = """
select c.oid::regclass::text, pg_stat_get_blocks_fetched(c.oid) from pg_class c where c.relkind in ('r', 'i', 't', 'm')
"""
_FLUSH: Final = "select pg_stat_force_next_flush()"
_SHOWN: Final = 5
_PEAK: Final = Path(__file__).with_name("inside") / "scale_peak.py"
_LONGEST: Final = 1_800  # seconds of a command
_OTHERS: Final = "select count(*) from pg_stat_activity where datname = %s and backend_type = 'client backend'"

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Checked:
    """The figure of a promise, at the worst of the planner's statistics, and its bound."""

    name: str
    unit: str
    value: float
    bound: float
    milliseconds: float
    detail: str = ""

    @property
    def is_kept(self) -> bool:
        return self.value <= self.bound

    @property
    def share(self) -> float:
        """The part of the bound that is used."""
        return self.value / self.bound if self.bound else float(self.value > 0) * 2

    def __str__(self) -> str:
        words = f"{self.name}: {_number(self.value)} {self.unit}, at most {_number(self.bound)}"
        return f"{words} ({self.detail})" if self.detail else words


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


@dataclass(slots=True)
class Subject:
    """The promises of one kind, each by its name: the worst figure of several measurements counts."""

    name: str
    checks: dict[tuple[str, str], Checked] = field(default_factory=dict)

    def note(self, checked: Checked) -> None:
        key = (checked.name, checked.unit)
        before = self.checks.get(key)
        if before is None or checked.value > before.value:
            self.checks[key] = checked

    @property
    def broken(self) -> list[Checked]:
        return [each for each in self.checks.values() if not each.is_kept]


class Counter:
    """Counts the pages of a database that all its connections touch, which must have told of them: see ``flush``."""

    def __init__(self, monitor: Connection, database: str) -> None:
        self._monitor = monitor
        self._database = database

    def touched(self) -> int:
        """The pages of all relations, those of the catalog too, since the statistics began."""
        [(pages,)] = self._monitor.execute(_TOUCHED, [self._database]).fetchall()
        return int(pages)

    def settled(self) -> int:
        """As ``touched``, after all connections have ended."""
        wait_until(lambda: self._monitor.execute(_OTHERS, [self._database]).fetchall() == [(0,)], "all have ended")
        return self.touched()


def flush(conn: Connection) -> None:
    """Tell the server's statistics what this connection has done. It is in autocommit."""
    conn.execute(_FLUSH)


async def aflush(conn: psycopg.AsyncConnection[Any]) -> None:
    """As ``flush``, of a connection that returns to its pool."""
    await conn.execute(_FLUSH)
    await conn.rollback()


@contextmanager
def busiest(conninfo: str) -> Iterator[list[str]]:
    """Note the relations of which most pages are touched in the block."""
    found: list[str] = []
    with psycopg.connect(conninfo, autocommit=True) as conn:
        before: dict[str, int] = dict(conn.execute(_BUSIEST).fetchall())
        yield found
        after: dict[str, int] = dict(conn.execute(_BUSIEST).fetchall())
    used = {name: pages - before.get(name, 0) for name, pages in after.items()}
    most = sorted(used.items(), key=lambda each: -each[1])[:_SHOWN]
    found += [f"{name} {pages:,}" for name, pages in most if pages]


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended: its exit code, the peak of its memory, its seconds, and what it wrote about errors."""

    code: int
    mebibytes: float
    seconds: float
    errors: str


def run(arguments: Sequence[str], folder: Path, variables: Mapping[str, str], *, longest: float | None = None) -> Ran:
    """Run a command, whose output is thrown away; after ``longest`` seconds it is interrupted."""
    with TemporaryDirectory() as place, TemporaryFile() as errors:
        peak = Path(place, "peak")
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, _PEAK, *arguments],
            cwd=folder,
            env=environment(**variables, SCALE_PEAK=str(peak)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            code = process.wait(longest or _LONGEST)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            code = process.wait(_LONGEST)
        finally:
            process.kill()
            process.wait()
        seconds = time.monotonic() - began
        errors.seek(0)
        return Ran(code, int(peak.read_text(encoding="utf-8")) / 1024, seconds, errors.read().decode(errors="replace"))


def timed(call: Callable[[], object]) -> float:
    """The milliseconds of a call."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000
