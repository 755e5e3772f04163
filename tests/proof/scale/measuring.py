"""The pages, the memory and the time that a call takes, and the bounds that it must keep."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg

from tests.support.commands import PROGRAM, environment

_TOUCHED: Final = "select blks_hit + blks_read from pg_stat_database where datname = %s"
_BUSIEST: Final = """
select c.oid::regclass::text, pg_stat_get_blocks_fetched(c.oid) from pg_class c where c.relkind in ('r', 'i', 't', 'm')
"""
_FLUSH: Final = "select pg_stat_force_next_flush()"
_SHOWN: Final = 5

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

    def __str__(self) -> str:
        words = f"{self.name}: {self.value:,.0f} {self.unit}, at most {self.bound:,.0f}"
        return f"{words} ({self.detail})" if self.detail else words


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
        before = dict(conn.execute(_BUSIEST).fetchall())
        yield found
        after = dict(conn.execute(_BUSIEST).fetchall())
    used = {name: pages - before.get(name, 0) for name, pages in after.items()}
    most = sorted(used.items(), key=lambda each: -each[1])[:_SHOWN]
    found += [f"{name} {pages:,}" for name, pages in most if pages]


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended: its exit code, the peak of its memory, its seconds and its output."""

    code: int
    mebibytes: float
    seconds: float
    output: bytes
    errors: str


def run(arguments: Sequence[str], folder: Path, variables: Mapping[str, str], *, keep: bool = True) -> Ran:
    """Run a command of the command line; ``keep`` its output or throw it away."""
    with (folder / "output").open("w+b") as output, (folder / "errors").open("w+b") as errors:
        began = time.monotonic()
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=folder,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=output if keep else subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        output.seek(0)
        errors.seek(0)
        text = errors.read().decode(errors="replace")
        return Ran(process.returncode, used.ru_maxrss / 1024, seconds, output.read(), text)


def timed(call: Callable[[], object]) -> float:
    """The milliseconds of a call."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000
