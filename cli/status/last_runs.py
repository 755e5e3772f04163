"""The age of maintenance and of its purge, for the command ``status``."""

from collections.abc import Sequence
from typing import Any

from svc_pg.database.query import fetch
from svc_pg.formats import durations
from svc_pg.status.last_runs import LastRun, last_runs

from .. import output
from ..optional_read import optional_read


def read_runs(conn: Any) -> list[LastRun]:
    """The tasks that have run: none if they cannot be read."""
    return optional_read(conn, lambda conn: fetch(conn, last_runs()), [])


def tell(runs: Sequence[LastRun]) -> None:
    """Print a line for each."""
    for run in runs:
        words = "has not succeeded yet"
        if run.seconds is not None:
            words = f"succeeded {durations.rounded(run.seconds)} ago"
        problem = "" if run.problem is None else f"; since then: {run.problem}"
        output.words(f"{run.task}: {words}{problem}")
