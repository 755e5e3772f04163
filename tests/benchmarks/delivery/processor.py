"""The CPU time of a process and its descendants, as Linux counts it."""

import os
from pathlib import Path
from typing import Final

import psycopg

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def seconds(pid: int) -> float:
    """The CPU seconds of the process, its ended children, and its descendants; 0 if it has ended itself."""
    stat = _stat(pid)
    if not stat:
        return 0
    return sum(map(int, stat[11:15])) / _TICKS + sum(map(seconds, _children(pid)))


def nanoseconds(pid: int) -> int:
    """The CPU nanoseconds of the living threads of the process and its descendants: exact, unlike ``seconds``."""
    threads = _threads(pid)
    own = sum(int((_read(thread / "schedstat") or "0").split()[0]) for thread in threads)
    return own + sum(map(nanoseconds, _children(pid)))


def postmaster(conn: psycopg.Connection) -> int | None:
    """The id of the postmaster of the connection's server process. None if it is on another machine."""
    stat = _stat(conn.info.backend_pid)
    return int(stat[1]) if stat and "postgres" in _command(int(stat[1])) else None


def _children(pid: int) -> list[int]:
    return [int(child) for thread in _threads(pid) for child in _read(thread / "children").split()]


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _stat(pid: int) -> list[str]:
    """The fields behind the name, which may have spaces: the state, the parent and so on."""
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def _command(pid: int) -> str:
    return _read(Path(f"/proc/{pid}/comm"))


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""  # it has ended meanwhile, or this is no Linux
