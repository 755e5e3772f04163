"""The backlog of a database's workers, read cheaply: at most 10,000 rows of each lane of the queue are counted."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final, LiteralString

from psycopg import AsyncConnection, Connection

from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.database.query import Query, afetch_one, fetch_one
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.status.worker_seen import WORKER_SEEN

MOST_COUNTED: Final = 10_000  # in the statement too
_LATE_UNSEEN: Final = timedelta(minutes=1)  # a worker that is deployed anew is back by then
_LATE: Final = timedelta(minutes=15)  # a burst is sent by then; Prometheus may have its own, shorter limit

UNSETTLED: Final[LiteralString] = (
    "txid_snapshot_xmax(txid_current_snapshot()) - txid_snapshot_xmin(txid_current_snapshot())"
)
"""The number of transactions begun since the oldest running one."""
_READ: Final = (
    statement("queries/webhooks/backlog.sql").replace("{worker_seen}", WORKER_SEEN).replace("{unsettled}", UNSETTLED)
)
_WAITING: Final = statement("queries/webhooks/waiting_deliveries.sql")


@dataclass(frozen=True, slots=True)
class Backlog:
    """The endpoints by state, the age of due deliveries, and the transactions that hold readers up."""

    oldest_due_seconds: Annotated[
        float,
        Doc(
            "The age of the oldest due delivery that could start now, because its endpoint has room and has not"
            " reached its rate. The time before its endpoint was resumed, before its breaker closed, and during a"
            " wait that its receiver asked for does not count. Only the first 1,000 endpoints with pending"
            " deliveries count.",
            0.4,
        ),
    ]
    active: Annotated[int, Doc("The number of active endpoints.", 12)]
    paused: Annotated[int, Doc("The number of paused ones.", 1)]
    disabled: Annotated[int, Doc("The number of disabled ones.", 0)]
    failing: Annotated[int, Doc("The number of active endpoints whose last attempt failed.", 1)]
    open_breakers: Annotated[int, Doc("The number of those with an open circuit breaker.", 0)]
    ending_certificates: Annotated[
        int, Doc("The number of active endpoints whose client certificate ends within 30 days.", 0)
    ]
    oldest_snapshot_transactions: Annotated[
        int, Doc("The number of transactions begun since the oldest held snapshot, in any database.", 40)
    ]
    unsettled_transactions: Annotated[
        int,
        Doc(
            "The number of transactions begun since the oldest running transaction, in any database: readers of the"
            " log stop there.",
            40,
        ),
    ]
    is_worker_seen: Annotated[bool, Doc("True if a worker is connected or delivers; always true on a standby.")]
    needs_attention: Annotated[
        bool,
        Doc("True if a delivery is due for more than a minute and no worker is seen, or for more than 15 minutes."),
    ]


@dataclass(frozen=True, slots=True)
class PendingCounts:
    """The pending deliveries by the reason of their wait, each number counted up to 10,000."""

    due: Annotated[int, Doc("Those that can start as soon as their endpoint has room.", 4)]
    later: Annotated[int, Doc("Those whose time has not come.", 10)]
    behind: Annotated[int, Doc("Those that wait for another of their key.", 0)]
    parked: Annotated[int, Doc("Those that wait for their endpoint, which is paused or failing.", 0)]
    in_flight: Annotated[int, Doc("Those under way.", 2)]


EMPTY: Final = Backlog(0.0, 0, 0, 0, 0, 0, 0, 0, 0, is_worker_seen=True, needs_attention=False)
"""The backlog of a database without webhooks."""


def backlog() -> Query[Backlog]:
    """The backlog. Run ``BY_INDEXES`` before it, in the same transaction."""
    return Query(_READ, (), _backlog)


def _backlog(*, oldest_due_seconds: float, is_worker_seen: bool, **counts: Any) -> Backlog:
    longest = _LATE if is_worker_seen else _LATE_UNSEEN
    return Backlog(
        oldest_due_seconds=oldest_due_seconds,
        is_worker_seen=is_worker_seen,
        needs_attention=oldest_due_seconds > longest.total_seconds(),
        **counts,
    )


def read_backlog(conn: Connection[Any]) -> Backlog:
    """Read the backlog in the transaction of a connection, whose planner keeps to indexes until it ends."""
    conn.execute(BY_INDEXES)
    return fetch_one(conn, backlog())


async def aread(conn: AsyncConnection[Any]) -> Backlog:
    """As ``read``, for asyncio."""
    await conn.execute(BY_INDEXES)
    return await afetch_one(conn, backlog())


def waiting() -> Query[PendingCounts]:
    """The numbers of waiting deliveries, by the reason for their wait."""
    return Query(_WAITING, (), PendingCounts)
