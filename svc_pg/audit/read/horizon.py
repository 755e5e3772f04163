"""The end of the settled part of the audit log, and the way on from an earlier end."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg import Connection

from svc_pg.audit.log import numbers
from svc_pg.database.pagination import Filter
from svc_pg.database.query import Query, fetch_one
from svc_pg.errors import QueryError

_HORIZON: Final = """
select epoch, began_at, oldest_running, first_unassigned, after_xact_id, after_from, after_until
  from svc.audit_horizon(%s)
"""


@dataclass(frozen=True, slots=True)
class Horizon:
    """The end of the settled entries: those from before the epoch, and of transactions before the oldest running one.

    No more entries of these can appear. Transactions are numbered by the server, so a restore of the log into another
    one begins an epoch, at ``began_at``; None stands for the first. The members ``after_...`` are the end of an earlier
    reading: a number and the time of the epoch in which it counts.
    """

    epoch: str
    began_at: datetime | None
    oldest_running: int
    first_unassigned: int
    after_xact_id: int | None
    after_from: datetime | None
    after_until: datetime | None

    @property
    def position(self) -> str:
        """The position from which a later reading continues, also in a restored copy."""
        return f"{self.epoch}.{self.oldest_running}"

    def settled(self, wanted: Filter) -> Filter:
        """The wanted entries that are settled."""
        if self.began_at is None:
            return wanted.where("xact_id < %s", self.oldest_running)
        return wanted.where('("timestamp" < %s or xact_id < %s)', self.began_at, self.oldest_running)

    def held_back(self, wanted: Filter) -> Filter:
        """The wanted entries that are not settled, without those of transactions that had not begun then."""
        younger = wanted.where("xact_id >= %s and xact_id < %s", self.oldest_running, self.first_unassigned)
        return younger if self.began_at is None else younger.where('"timestamp" >= %s', self.began_at)

    def since(self, wanted: Filter) -> Filter:
        """The wanted entries after the end of the earlier reading; all of them if there was none."""
        if self.after_xact_id is None:
            return wanted
        if self.after_until is None:
            later = wanted.where("xact_id >= %s", self.after_xact_id)
            return later if self.after_from is None else later.where('"timestamp" >= %s', self.after_from)
        if self.after_from is None:
            return wanted.where('("timestamp" >= %s or xact_id >= %s)', self.after_until, self.after_xact_id)
        return wanted.where(
            '("timestamp" >= %s or (xact_id >= %s and "timestamp" >= %s))',
            self.after_until,
            self.after_xact_id,
            self.after_from,
        )


def horizon_after(position: str | None) -> Query[Horizon]:
    """The query of the horizon; ``position`` is that of an earlier one.

    It raises QueryError if the position is of another database, and ConflictError if the log has entries of one that no
    install has seen.
    """
    return Query(_HORIZON, (position,), Horizon)


def horizon(conn: Connection[Any], *, after: str | None = None) -> Horizon:
    """The horizon now. Raises as ``horizon_after`` says, and NotInstalledError."""
    return fetch_one(conn, horizon_after(after))


def epoch_of(position: str) -> str:
    """The epoch of a position."""
    return position.partition(".")[0]


def number_in(position: str) -> int:
    """The number of a transaction in a position. Raises QueryError."""
    if (number := numbers.bigint(position.partition(".")[2])) is None:
        raise QueryError(f"{position!r} does not say how far the log was read")
    return number
