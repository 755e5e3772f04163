"""The age of maintenance and of its purge, for the command status."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from svc_pg import durations
from svc_pg.last_runs import LastRun, last_runs
from svc_pg.query import fetch

from . import facts, output


def read(conn: Any) -> list[LastRun]:
    """The tasks that have run: none if they cannot be known."""
    return facts.known(conn, lambda conn: fetch(conn, last_runs()), [])


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
