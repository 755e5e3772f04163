"""The sessions, prepared transactions and replication slots that hold back readers of the log, or vacuum."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from svc_pg.database.query import Query
from svc_pg.database.statements import statement

_LONG: Final = timedelta(minutes=1)
_MANY: Final = 10_000

_READ: Final = statement("queries/status/horizon_holders.sql")


@dataclass(frozen=True, slots=True)
class HorizonHolder:
    """A session, by its ``pid`` and the ``name`` of its application, or a prepared transaction or a slot by its name.

    ``transactions`` have begun since its own. If it ``holds_log``, exports, seals and followers of the log wait for it;
    otherwise only vacuum does. ``seconds`` is the age of its transaction. A role without pg_read_all_stats sees no more
    of a ``hidden`` session.
    """

    kind: Literal["session", "prepared", "slot", "hidden"]
    pid: int | None
    name: str
    database: str | None
    user: str | None
    state: str | None
    seconds: float | None
    transactions: int
    holds_log: bool

    @property
    def is_long(self) -> bool:
        """True if it has lasted for a minute, or for 10,000 transactions if its age is unknown."""
        return self.transactions >= _MANY if self.seconds is None else self.seconds >= _LONG.total_seconds()


def horizon_holders() -> Query[HorizonHolder]:
    """The holders, 20 at most: holders that hold back readers of the log first, then the others, oldest first."""
    return Query(_READ, (), HorizonHolder)
