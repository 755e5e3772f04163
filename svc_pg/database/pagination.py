"""Keyset pages of a sorted list: the rows after a cursor, or before it; a cursor is the sort key of a row."""

import json
from abc import ABC, abstractmethod
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Generic, LiteralString, Self, TypeVar

from psycopg import AsyncConnection, Connection

from svc_pg.database.effects import Effects
from svc_pg.database.performing import ByIndexes, OfWhole, Within, arun, run
from svc_pg.database.query import Query
from svc_pg.database.storable_texts import check_texts
from svc_pg.errors import QueryError
from svc_pg.formats import durations
from svc_pg.formats.doc import Doc

MAX_SIZE: Final = 1000
DEFAULT_SIZE: Final = 100

_LONGEST_AGO: Final = timedelta(days=365_000)  # PostgreSQL's calendar begins in 4713 BC

Item = TypeVar("Item")
Row = TypeVar("Row")

PointInTime = str | timedelta | datetime
"""An aware datetime, or a duration before the database's now, for example ``1h``."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some rows of a list, over which it iterates."""

    data: Annotated[Sequence[Item], Doc("The rows.")]
    next_cursor: Annotated[str | None, Doc("The cursor for the page after it; null on the last.", "eyJpIjo3fQ")]
    prev_cursor: Annotated[str | None, Doc("That for the page before it; null on the first.", "eyJpIjo5fQ")] = None

    def __iter__(self) -> Iterator[Item]:
        return iter(self.data)


@dataclass(frozen=True, slots=True)
class Seen(Generic[Row]):
    """A row that a page has looked at: one that was selected, or the last, if more may follow."""

    row: Row
    is_selected: bool
    is_end: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """The conditions of a query, and their parameters; every method returns a new one."""

    conditions: tuple[LiteralString, ...] = ()
    params: tuple[object, ...] = ()

    def where(self, condition: LiteralString, *params: object) -> "Filter":
        """Add a condition. Raises QueryError if a text among ``params`` is too long or cannot be stored."""
        check_texts(*params)
        return Filter((*self.conditions, condition), (*self.params, *params))

    def joined(self, other: "Filter") -> "Filter":
        """The conditions of both."""
        return Filter((*self.conditions, *other.conditions), (*self.params, *other.params))

    def compare(self, comparison: LiteralString, point_in_time: PointInTime, *, end: LiteralString = "") -> "Filter":
        """Add a condition: ``comparison``, the point in time, ``end``. Raises QueryError if it is no point in time."""
        time = time_or_age(point_in_time)
        before_now: LiteralString = " now() - %s" if isinstance(time, timedelta) else " %s"
        return self.where(comparison + before_now + end, time)

    @property
    def clause(self) -> LiteralString:
        """The ``where`` clause with the conditions; empty if there are none."""
        return " where " + " and ".join(self.conditions) if self.conditions else ""

    @property
    def is_true(self) -> LiteralString:
        """An expression that is true of what meets the conditions, and false of all else."""
        return "(" + " and ".join(self.conditions) + ") is true" if self.conditions else "true"


ALL: Final = Filter()
"""No conditions."""


@dataclass(frozen=True, slots=True)
class Keyset(Generic[Row]):
    """A sorted list in the database.

    ``key`` makes a cursor's texts of a row, ``read`` makes parameters of a cursor (see ``decode``), and ``beyond`` is
    the condition on these for the rows after the cursor. ``reverse_order`` is the order backwards, and ``before`` the
    condition for the rows before the cursor. With a ``choice``, the planner has no other.
    """

    select: LiteralString
    row: Callable[..., Row]
    order: LiteralString
    beyond: LiteralString
    reverse_order: LiteralString
    before: LiteralString
    key: Callable[[Row], tuple[str, ...]]
    read: Callable[[str], Sequence[object]]
    choice: type[ByIndexes | OfWhole] | None = None

    @property
    def reverse(self) -> "Keyset[Row]":
        """The same list backwards."""
        return replace(
            self,
            order=self.reverse_order,
            beyond=self.before,
            reverse_order=self.order,
            before=self.beyond,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged(ABC, Generic[Row]):
    """A query whose rows come page by page. Every method returns a new one."""

    size: int = DEFAULT_SIZE
    position: tuple[object, ...] | None = None
    is_backward: bool = False

    def limit(self, size: int) -> Self:
        """Set the most rows of a page: 1 to 1000; the default is 100."""
        if not 1 <= size <= MAX_SIZE:
            raise QueryError(f"a page cannot have {size} rows", hint=f"Ask for 1 to {MAX_SIZE}.")
        return replace(self, size=size)

    def after(self, cursor: str) -> Self:
        """Go to the page after the one with this ``next_cursor``."""
        return replace(self, position=self._position(cursor), is_backward=False)

    def before(self, cursor: str) -> Self:
        """Go to the page before the one with this ``prev_cursor``."""
        return replace(self, position=self._position(cursor), is_backward=True)

    @abstractmethod
    def list(self, conn: Any) -> Page[Row]:
        """Run on a sync connection."""

    def page_of(self, rows: Sequence[Row], *, has_more: bool, key: Callable[[Row], tuple[str, ...]]) -> Page[Row]:
        """The page with these rows, which were read in its direction, and its cursors."""
        if not rows:
            return Page(rows, None)
        shown = rows[::-1] if self.is_backward else rows
        first, last = (encode(key(row)) for row in (shown[0], shown[-1]))
        if self.is_backward:
            return Page(shown, last, first if has_more else None)
        return Page(shown, last if has_more else None, None if self.position is None else first)

    def _position(self, cursor: str) -> tuple[object, ...]:
        position = tuple(self._read(cursor))
        check_texts(*position)
        return position

    @abstractmethod
    def _read(self, cursor: str) -> Sequence[object]:
        """The sort key in a cursor. Raises QueryError."""


@dataclass(frozen=True, slots=True)
class Listing(Paged[Row]):
    """A query of a sorted list. Every method returns a new one; ``list`` or ``alist`` runs it."""

    keyset: Keyset[Row]
    filter: Filter = ALL

    def list(self, conn: Connection[Any]) -> Page[Row]:
        """Run on a sync connection. Never commits. Raises NotInstalledError."""
        return run(conn, self.page())

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[Row]:
        """Run on an async connection. Never commits. Raises NotInstalledError.

        With ``max_bytes``, which needs a transaction, a page ends before it has more, but not before its first row.
        """
        return await arun(conn, self.page(max_bytes=max_bytes))

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[Row]]:
        """The effects of ``list`` and ``alist``; only ``alist`` supports ``max_bytes``."""
        query = self._query()
        effect = query if max_bytes is None else Within(query, max_bytes)
        choice = self.keyset.choice
        found = yield effect if choice is None else choice(effect)
        rows, is_all = (found, True) if max_bytes is None else found
        return self._page(rows, is_cut=not is_all)

    def _where(self, condition: LiteralString, *params: object) -> Self:
        return replace(self, filter=self.filter.where(condition, *params))

    def _read(self, cursor: str) -> Sequence[object]:
        return self.keyset.read(cursor)

    @property
    def _direction(self) -> Keyset[Row]:
        """The list in the direction in which the page is read."""
        return self.keyset.reverse if self.is_backward else self.keyset

    def _query(self) -> Query[Row]:
        """The query of one row more than the page, to know if another page follows."""
        keyset, wanted = self._direction, self.filter
        if self.position is not None:
            wanted = wanted.where(keyset.beyond, *self.position)
        text = keyset.select + wanted.clause + keyset.order + " limit %s"
        return Query(text, (*wanted.params, self.size + 1), keyset.row)

    def page_of_seen(self, rows: Sequence[Seen[Row]], *, is_cut: bool) -> Page[Row]:
        """The page of the rows that were looked at, with the last as its cursor if it ends with these.

        If it shows none, that cursor leads back too.
        """
        found = [each.row for each in rows if each.is_selected]
        page = self._page(found)
        if len(found) > self.size or not rows or not (is_cut or rows[-1].is_end):
            return page
        end = encode(self.keyset.key(rows[-1].row))
        if self.is_backward:
            return replace(page, prev_cursor=end, next_cursor=page.next_cursor or end)
        back = page.prev_cursor if found or self.position is None else end
        return replace(page, next_cursor=end, prev_cursor=back)

    def _page(self, rows: Sequence[Row], *, is_cut: bool = False) -> Page[Row]:
        has_more = is_cut or len(rows) > self.size
        return self.page_of(rows[: self.size], has_more=has_more, key=self.keyset.key)


def seen(row: Callable[..., Row]) -> Callable[..., Seen[Row]]:
    """Reads a row of a page that may end before the list does."""

    def read(**columns: Any) -> Seen[Row]:
        is_selected, is_end = columns.pop("svc is selected"), columns.pop("svc is end")
        return Seen(row(**columns), is_selected, is_end)

    return read


def decode(cursor: str, *readers: Callable[[str], object]) -> Sequence[object]:
    """The sort key in a cursor, each part read by its reader. Raises QueryError for anything that is not a cursor."""
    try:
        key = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if isinstance(key, list) and all(isinstance(part, str) for part in key):
            return [read(part) for read, part in zip(readers, key, strict=True)]
    except (ValueError, RecursionError):
        pass
    raise QueryError(f"{cursor!r} is not a cursor", hint="Pass the cursor that came with the page before, unchanged.")


def aware_time(text: str) -> datetime:
    """The time in a cursor. Raises ValueError if it has no zone."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return time


def encode(key: tuple[str, ...]) -> str:
    """A cursor with these parts, which ``decode`` reads."""
    return urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def time_or_age(point_in_time: PointInTime) -> datetime | timedelta:
    """An aware time, or the time before the database's now. Raises QueryError."""
    if isinstance(point_in_time, datetime):
        if point_in_time.tzinfo is None:
            raise QueryError(
                f"{point_in_time} has no time zone", hint="Write datetime.now(UTC), or value.replace(tzinfo=...)."
            )
        return point_in_time
    try:
        age = durations.parse(point_in_time)
    except ValueError as error:
        raise QueryError(str(error)) from error
    if age > _LONGEST_AGO:
        raise QueryError(f"{durations.text(age)} is too long ago", hint="Write at most 365000d.")
    return age
