"""The sessions, prepared transactions and replication slots that hold back readers of the log, or vacuum."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, Literal

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc

_LONG: Final = timedelta(minutes=1)
_MANY: Final = 10_000

_READ: Final = statement("queries/status/horizon_holders.sql")


@dataclass(frozen=True, slots=True)
class HorizonHolder:
    """A session, a prepared transaction or a slot that holds others up."""

    kind: Annotated[
        Literal["session", "prepared", "slot", "hidden"],
        Doc("The kind of it; of a hidden session a role without pg_read_all_stats sees no more."),
    ]
    pid: Annotated[
        int | None, Doc("The process of the session, or of the reader of the slot; null if there is none.", 4711)
    ]
    name: Annotated[
        str, Doc("The application of the session, or the name of the slot or the prepared transaction.", "psql")
    ]
    database: Annotated[str | None, Doc("Its database; null if it has none.", "shop")]
    user: Annotated[str | None, Doc("Its role; null if it has none.", "reporting")]
    state: Annotated[
        str | None, Doc("The state of the session or of the slot; null for others.", "idle in transaction")
    ]
    seconds: Annotated[float | None, Doc("The age of its transaction; null if it is not known.", 1800.0)]
    transactions: Annotated[int, Doc("The number of transactions begun since its own.", 40)]
    holds_log: Annotated[
        bool, Doc("True if exports, seals and followers of the log wait for it; otherwise only vacuum does.")
    ]

    @property
    def is_long(self) -> bool:
        """True if it has lasted for a minute, or for 10,000 transactions if its age is unknown."""
        return self.transactions >= _MANY if self.seconds is None else self.seconds >= _LONG.total_seconds()


def horizon_holders() -> Query[HorizonHolder]:
    """The holders, 20 at most: holders that hold back readers of the log first, then the others, oldest first."""
    return Query(_READ, (), HorizonHolder)
