"""Read the changes of a record and of the rows that refer to it: ``related("public.customer", 116).read(conn)``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.conditions import Condition
from svc_pg.audit.log.entry import position
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.audit.related.answer import RelatedHistory
from svc_pg.audit.related.search import DEFAULT_STEPS, Search, search
from svc_pg.audit.related.telling import CHANGE_TIMES, MOST_TIMES, ChangeTime, told
from svc_pg.database import performing
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import PointInTime, time_or_age
from svc_pg.database.query import Query
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.errors import NotFoundError, QueryError, UnknownTableError
from svc_pg.formats.durations import point_in_time

MOST_CHANGES: Final = 100
"""The most changes of an answer."""
DEFAULT_CHANGES: Final = 24

_FEATURE: Final = "the history of a record with what refers to it"
_AGO: Final = "select pg_catalog.now() - %s as time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The question; every method returns a new one, and ``read`` or ``aread`` asks it."""

    table: TableName
    record: str
    size: int = DEFAULT_CHANGES
    steps: int = DEFAULT_STEPS
    times: tuple[datetime | timedelta | ChangeTime, ...] = ()
    position: tuple[object, ...] | None = None
    conditions: tuple[Condition, ...] = ()

    def limit(self, size: int) -> Self:
        """Set the most changes: 1 to 100; the default is 24."""
        if not 1 <= size <= MOST_CHANGES:
            raise QueryError(f"an answer cannot have {size} changes", hint=f"Ask for 1 to {MOST_CHANGES}.")
        return replace(self, size=size)

    def within(self, steps: int) -> Self:
        """Set the steps: 1 for rows that refer to the record, 2 also for those that refer to these; the default."""
        if steps not in (1, DEFAULT_STEPS):
            raise QueryError(f"{steps} is not a number of steps", hint="Write 1 or 2.")
        return replace(self, steps=steps)

    def at(self, *times: PointInTime) -> Self:
        """The states of all records at up to two times too, each as ``as_of`` takes it.

        ``first`` and ``last`` stand for the times of the first and the last change of the answer.
        """
        found = replace(self, times=())
        for time in times:
            found = found.also_at(time)
        return found

    def also_at(self, time: PointInTime) -> Self:
        """The states at one more time."""
        if len(self.times) == MOST_TIMES:
            raise QueryError(f"an answer has the states of {MOST_TIMES} times at most")
        when = time if time in CHANGE_TIMES else time_or_age(_read(time))
        return replace(self, times=(*self.times, _in_utc(when) if isinstance(when, datetime) else when))

    def after(self, cursor: str) -> Self:
        """Go on further back, from the ``next_cursor`` of an answer."""
        return replace(self, position=position(cursor))

    def only(self, *conditions: Condition) -> Self:
        """Only entries that meet these conditions too."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def read(self, conn: Connection[Any]) -> RelatedHistory:
        """Ask on a sync connection to PostgreSQL. Never commits.

        Raises NotFoundError if the log knows neither the record nor anything that refers to it, UnknownTableError for
        a table of svc-pg, and ConfigError on other databases.
        """
        require_postgres(conn, _FEATURE)
        return performing.run(conn, self.answer())

    async def aread(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> RelatedHistory:
        """As ``read``, on an async connection; ``max_bytes`` as in lists."""
        require_postgres(conn, _FEATURE)
        return await performing.arun(conn, self.answer(max_bytes=max_bytes))

    def answer(self, *, max_bytes: int | None = None) -> Effects[RelatedHistory]:
        """The effects of ``read`` or ``aread``."""
        if self.table.schema == "svc":
            raise UnknownTableError(f'"{self.table}" is a table of svc-pg, to which no rows of yours refer')
        wanted = Search(
            str(self.table), self.record, self.steps, self.conditions, None if self.position is None else self._before()
        )
        found = yield from search(self.table, wanted)
        if not found.is_known:
            raise NotFoundError(f'the log does not know a record {self.record} of "{self.table}", nor rows of it')
        times = yield from _fixed(self.times)
        return (yield from told(found, size=self.size, times=times, max_bytes=max_bytes))

    def _before(self) -> tuple[datetime, int]:
        time, entry_id = self.position or ()
        if not isinstance(time, datetime) or not isinstance(entry_id, int):
            raise QueryError("the cursor is not one of an answer")
        return time, entry_id


def related(table: str, record: object) -> Related:
    """A record, and the rows that refer to it by foreign keys: ``related("customer", 116).at("7d").read(conn)``.

    ``record`` is its key: the value of the column, or a list or tuple of several columns' values. The entries of the
    log tell which rows referred to it when: one that was deleted, or refers to another by now, is there with its time.
    Raises ConfigError for a name that is no table's.
    """
    key = bounded(record_id(record))
    check_texts(key)
    return Related(table=TableName.parse(table), record=key)


def _fixed(times: Sequence[datetime | timedelta | ChangeTime]) -> Effects[list[datetime | ChangeTime]]:
    """The times, each age as the time that it is."""
    found: list[datetime | ChangeTime] = []
    for time in times:
        if isinstance(time, timedelta):
            [row] = yield Query(_AGO, (time,), dict)
            found.append(row["time"])
        else:
            found.append(time)
    return found


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise QueryError(f"{time} is no time in UTC", hint="Write a year from 1 to 9999.") from error


def _read(time: PointInTime) -> PointInTime:
    if not isinstance(time, str):
        return time
    try:
        return point_in_time(time)
    except ValueError as error:
        raise QueryError(str(error)) from error
