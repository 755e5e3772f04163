"""The destinations of copies of the seals outside of the database, and their states, as their writers last told."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from psycopg import Connection

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.status.last_runs import stored_problem

MOST: Final = 100
"""The most destinations that are told."""
_LONGEST_NAME: Final = 500

_READ: Final = statement("queries/status/seal_destinations.sql")
_WITH_ENDPOINTS: Final = statement("queries/status/seal_endpoints.sql").replace("{destinations}", _READ)
_NOTE: Final = """
insert into svc.seal_destinations as d (name, last_seal, copied_at, problem)
values (%s, %s, case when %s then clock_timestamp() end, %s)
    on conflict (name) do update set last_seal = coalesce(excluded.last_seal, d.last_seal),
       copied_at = coalesce(excluded.copied_at, d.copied_at), problem = excluded.problem, seen_at = clock_timestamp()
"""
_FORGET: Final = "delete from svc.seal_destinations where seen_at < clock_timestamp() - interval '30 days'"
_LAST: Final = "select last_seal from svc.seal_destinations where name = %s"


@dataclass(frozen=True, slots=True)
class SealDestination:
    """A place outside of the database to which copies of the seals go."""

    kind: Annotated[
        Literal["copies", "endpoint"],
        Doc("Copies in a file or a folder, or an endpoint of webhooks that gets the event audit.sealed.", "copies"),
    ]
    name: Annotated[str, Doc("Its path, or the host and the id of the endpoint.", "/mnt/elsewhere/seals")]
    last_seal: Annotated[int | None, Doc("The last seal that is there; null if none is.", 9)]
    waiting: Annotated[int, Doc("The number of seals that it lacks; of an endpoint among the last thousand.", 0)]
    copied_at: Annotated[datetime | None, Doc("The time at which all seals were last there; null if never.")]
    problem: Annotated[str | None, Doc("The error since then; null if there is none.", "/mnt/elsewhere/seals is gone")]


def seal_destinations(*, has_webhooks: bool) -> Query[SealDestination]:
    """Those that a writer told of within two hours, the newest first, and then the endpoints that get seals.

    Without webhooks there are no endpoints.
    """
    return Query(_WITH_ENDPOINTS if has_webhooks else _READ, (MOST,), SealDestination)


def last_seal_at(conn: Connection[Any], name: str) -> int | None:
    """The last seal that a destination had, as its writer told; None if it has told nothing."""
    row = conn.execute(_LAST, (name[-_LONGEST_NAME:],)).fetchone()
    return None if row is None else row[0]


def note_destination(
    conn: Connection[Any],
    name: str,
    *,
    last_seal: int | None = None,
    is_whole: bool = False,
    problem: str | None = None,
) -> None:
    """Record the state of a destination: its last seal, if all are there. Forget those not seen for 30 days."""
    words = None if problem is None else stored_problem(problem)
    conn.execute(_NOTE, (name[-_LONGEST_NAME:], last_seal, is_whole, words))
    conn.execute(_FORGET)
