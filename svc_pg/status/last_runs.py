"""Record and read when maintenance, its purge and reconciliation of the audit log, and sealing last succeeded."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from psycopg import Connection

from svc_pg.database.query import Query

Task = Literal["maintenance", "purge", "sealing", "reconciliation", "capture"]

LONGEST_PROBLEM: Final = 500
"""The most characters of a problem."""

_SUCCESS: Final = """
insert into svc.maintenance as m (task, succeeded_at) values (%s, clock_timestamp())
on conflict (task) do update set succeeded_at = excluded.succeeded_at, problem = null
"""
_FAILURE: Final = """
insert into svc.maintenance as m (task, problem) values (%s, %s)
on conflict (task) do update set problem = excluded.problem
"""
_READ: Final = """
select task, extract(epoch from clock_timestamp() - succeeded_at)::float8 as seconds,
       nullif(pg_catalog.concat_ws('; ', problem, findings), '') as problem
  from svc.maintenance order by task
"""


@dataclass(frozen=True, slots=True)
class LastRun:
    """A task of a worker: the ``seconds`` since it last succeeded, and its error since, or what it found."""

    task: Task
    seconds: float | None
    problem: str | None


def last_runs() -> Query[LastRun]:
    """The tasks that have run at all."""
    return Query(_READ, (), LastRun)


def note_success(conn: Connection[Any], task: Task) -> None:
    """Record that a task has succeeded now."""
    conn.execute(_SUCCESS, (task,))


def note_failure(conn: Connection[Any], task: Task, problem: str) -> None:
    """Record the error of a task."""
    conn.execute(_FAILURE, (task, stored_problem(problem)))


def stored_problem(problem: str) -> str:
    """A problem as a text that a database can have: bounded, and without what UTF-8 cannot say."""
    return problem.replace("\0", "").encode(errors="backslashreplace").decode()[:LONGEST_PROBLEM]
