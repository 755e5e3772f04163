"""The destinations of copies of the seals outside of the database, and their states, as their writers last told."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from psycopg import Connection

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.status.last_runs import stored_problem

MOST: Final = 100
"""The most destinations that are told."""
OF_A_COMMAND: Final = timedelta(days=8)
"""The time for which the state of a destination is shown that a command told: it may run once a week."""
_LONGEST_NAME: Final = 500

_READ: Final = statement("queries/status/seal_destinations.sql")
_WITH_ENDPOINTS: Final = statement("queries/status/seal_endpoints.sql").replace("{destinations}", _READ)
_WAIT_BRIEFLY: Final = "select pg_catalog.set_config('lock_timeout', '2s', true)"
"""Or whoever holds the row of a destination would hold up the seals."""
_NOTE: Final = statement("queries/status/note_seal_destination.sql")
_CLAIM: Final = statement("queries/status/claim_seal_destination.sql")
_SEE: Final = statement("queries/status/see_seal_destination.sql")
_FORGET: Final = "delete from svc.seal_destinations where seen_at < clock_timestamp() - interval '30 days'"
_LAST: Final = "select last_seal from svc.seal_destinations where name = %s"


@dataclass(frozen=True, slots=True)
class SealDestination:
    """A place outside of the database to which copies of the seals go."""

    kind: Annotated[
        Literal["copies", "endpoint", "timestamps"],
        Doc(
            "Copies in a file or a folder, an endpoint of webhooks that gets the event audit.sealed, or an authority"
            " that gives timestamps.",
            "copies",
        ),
    ]
    name: Annotated[str, Doc("Its path, its host, or the host and the id of the endpoint.", "/mnt/elsewhere/seals")]
    last_seal: Annotated[int | None, Doc("The last seal that is there, or has a timestamp; null if none.", 9)]
    waiting: Annotated[int, Doc("The number of seals that it lacks; of an endpoint among the last thousand.", 0)]
    copied_at: Annotated[datetime | None, Doc("The time at which all seals were last there; null if never.")]
    problem: Annotated[str | None, Doc("The error since then; null if there is none.", "/mnt/elsewhere/seals is gone")]


def seal_destinations(*, has_webhooks: bool) -> Query[SealDestination]:
    """Those that a worker told of within two hours, or a command within eight days, and the endpoints that get seals.

    The newest is the first. Without webhooks there are no endpoints.
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
    kind: Literal["copies", "timestamps"] = "copies",
    wait: timedelta | None = None,
    shown_for: timedelta | None = None,
) -> None:
    """Record the state of a destination: its last seal, if all are there. Forget those not seen for 30 days.

    An authority may be asked again after ``wait``, if it is given; otherwise that stays as it was. The state is shown
    for two hours, or for as long as ``shown_for`` says now or said before. ``conn`` must be in a transaction, whose
    later statements wait for locks at most 2 seconds too.
    """
    words = None if problem is None else stored_problem(problem)
    conn.execute(_WAIT_BRIEFLY)
    conn.execute(
        _NOTE,
        {
            "name": name[-_LONGEST_NAME:],
            "kind": kind,
            "last_seal": last_seal,
            "is_whole": is_whole,
            "problem": words,
            "wait": wait,
            "shown_for": shown_for,
        },
    )
    conn.execute(_FORGET)


def claim_destination(conn: Connection[Any], name: str, *, again: timedelta) -> bool:
    """True if an authority may be asked now; then nobody else may for the time ``again``."""
    conn.execute(_WAIT_BRIEFLY)
    return conn.execute(_CLAIM, {"name": name[-_LONGEST_NAME:], "again": again}).fetchone() is not None


def see_destination(conn: Connection[Any], name: str, *, shown_for: timedelta | None = None) -> None:
    """Record that its writer is there, and nothing new."""
    conn.execute(_WAIT_BRIEFLY)
    conn.execute(_SEE, {"name": name[-_LONGEST_NAME:], "shown_for": shown_for})
