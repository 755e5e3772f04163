"""The age of maintenance and of its purge, for the command status."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from psycopg.errors import InsufficientPrivilege, UndefinedTable

from svc_pg import durations
from svc_pg.dialects import dialect_of
from svc_pg.errors import NotInstalledError
from svc_pg.last_runs import LastRun, last_runs
from svc_pg.query import fetch

from . import output


def read(conn: Any) -> list[LastRun]:
    """The tasks that have run: none on other databases, or if the role may not know."""
    if dialect_of(conn) != "postgresql":
        return []
    try:
        with conn.transaction():
            return fetch(conn, last_runs())
    except (InsufficientPrivilege, NotInstalledError, UndefinedTable):
        return []


def tell(runs: Sequence[LastRun]) -> None:
    """Print a line for each."""
    for run in runs:
        words = "has not succeeded yet"
        if run.seconds is not None:
            words = f"succeeded {_age(run.seconds)} ago"
        problem = "" if run.problem is None else f"; since then: {run.problem}"
        output.words(f"{run.task}: {words}{problem}")


def _age(seconds: float) -> str:
    """An age in whole units, of which it has at least two."""
    age = timedelta(seconds=max(0, round(seconds)))
    for unit in (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)):
        if age >= 2 * unit:
            return durations.text(age // unit * unit)
    return durations.text(age)
