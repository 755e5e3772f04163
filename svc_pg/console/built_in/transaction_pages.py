"""The entries that a query selects, gathered by their transactions, the newest transaction first."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final, Self, cast

from svc_pg.audit.log.conditions import OfOtherTransactions
from svc_pg.audit.log.entry import XACT, Entry, position
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.console.built_in.audit_filters import Asked
from svc_pg.console.parameters import PAGE_BYTES
from svc_pg.database.pagination import Page, aware_time, decode, encode
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc

MAX_TRANSACTIONS: Final = 100
DEFAULT_TRANSACTIONS: Final = 20
MOST_SHOWN: Final = 10
"""The entries that come of each transaction."""
MOST_COUNTED: Final = 100
"""The entries that are counted of each transaction."""

_READ: Final = 100
_READS: Final = 10
_REMEMBERED: Final = 60

Read = Callable[[AuditQuery], Awaitable[Page[Entry]]]
"""Reads a page of entries, as the person may see them."""


@dataclass(frozen=True, slots=True)
class LoggedTransaction:
    """What one transaction changed."""

    xact_id: Annotated[str, XACT]
    timestamp: Annotated[datetime, Doc("The time of its newest entry that was found.")]
    entries: Annotated[Sequence[Entry], Doc("The first of its entries that were found, 10 at most, in their order.")]
    count: Annotated[int, Doc("The number of its entries that were found, 100 at most.", 3)]
    is_complete: Annotated[bool, Doc("False if it may have more entries that the filters select.")]


@dataclass(frozen=True, slots=True)
class TransactionQuery(Asked):
    """The transactions with an entry that ``query`` selects; every method returns a new one.

    ``known`` are transactions of the pages before, which have entries behind the cursor too. A transaction that ran
    beside sixty others may come again, with its older entries.
    """

    size: int = DEFAULT_TRANSACTIONS
    edge: tuple[datetime, int] | None = None
    known: tuple[int, ...] = ()

    def limit(self, size: int) -> Self:
        """Set the most transactions of a page: 1 to 100; the default is 20."""
        if not 1 <= size <= MAX_TRANSACTIONS:
            raise QueryError(f"a page cannot have {size} transactions", hint=f"Ask for 1 to {MAX_TRANSACTIONS}.")
        return replace(self, size=size)

    def after(self, cursor: str) -> Self:
        """Go to the page after the one with this ``next_cursor``, which may also be that of a page of entries."""
        try:
            return replace(self, edge=position(cursor))
        except QueryError:
            timestamp, entry_id, known = decode(cursor, aware_time, int, _numbers)
        edge = cast(datetime, timestamp), cast(int, entry_id)
        return replace(self, edge=edge, known=cast(tuple[int, ...], known))

    async def page(self, read: Read) -> Page[LoggedTransaction]:
        """A page of them: of 1,000 entries at most, so that it may be short, or empty, and have a next one."""
        found = _Gathered(self.size)
        edge, size = self.edge, 0
        for _ in range(_READS):
            page = await read(self._entries(found, edge))
            found.add(page)
            size += sum(_size(entry) for entry in page)
            edge = None if page.next_cursor is None else position(page.next_cursor)
            if edge is None or found.end is not None or size > PAGE_BYTES:
                break
        end = found.end or edge
        return Page(found.transactions(is_end=edge is None), None if end is None else self._cursor(end, found))

    def _entries(self, found: "_Gathered", edge: tuple[datetime, int] | None) -> AuditQuery:
        passed_over = (*self.known, *found.counted)
        conditions = (
            (*self.query.conditions, OfOtherTransactions(passed_over)) if passed_over else self.query.conditions
        )
        wanted = replace(self.query, conditions=conditions).limit(_READ)
        return wanted if edge is None else wanted.after(_edge(edge))

    def _cursor(self, edge: tuple[datetime, int], found: "_Gathered") -> str:
        known = list(dict.fromkeys([*self.known, *map(int, found.groups)]))[-_REMEMBERED:]
        return encode((edge[0].isoformat(), str(edge[1]), ",".join(map(str, known))))


@dataclass(slots=True)
class _Gathered:
    """The entries of at most ``size`` transactions; ``end`` is the last entry before the first of another one."""

    size: int
    groups: dict[str, list[Entry]] = field(default_factory=dict)
    end: tuple[datetime, int] | None = None
    last: Entry | None = None

    @property
    def counted(self) -> list[int]:
        """The transactions with as many entries as are counted."""
        return [int(xact_id) for xact_id, entries in self.groups.items() if len(entries) >= MOST_COUNTED]

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries in the order of the list."""
        for entry in entries:
            group = self.groups.get(cast(str, entry.xact_id))
            if group is None and len(self.groups) < self.size and self.end is None:
                group = self.groups.setdefault(cast(str, entry.xact_id), [])
            if group is not None:
                group.append(entry)
            elif self.end is None and self.last is not None:
                self.end = (self.last.timestamp, int(self.last.id))
            self.last = entry

    def transactions(self, *, is_end: bool) -> list[LoggedTransaction]:
        """The transactions, whose entries are all there if the log ends behind the last one."""
        last = None if is_end or self.last is None else self.last.xact_id
        return [_transaction(xact_id, entries, is_last=xact_id == last) for xact_id, entries in self.groups.items()]


def _transaction(xact_id: str, entries: Sequence[Entry], *, is_last: bool) -> LoggedTransaction:
    counted = entries[:MOST_COUNTED]
    return LoggedTransaction(
        xact_id,
        counted[0].timestamp,
        counted[::-1][:MOST_SHOWN],
        len(counted),
        is_complete=len(entries) < MOST_COUNTED and not is_last,
    )


def _size(entry: Entry) -> int:
    return sum(len(shown.text) for shown in (entry.before_data, entry.after_data) if shown is not None)


def _numbers(text: str) -> tuple[int, ...]:
    """The transactions in a cursor. Raises ValueError."""
    numbers = tuple(int(each) for each in text.split(",")) if text else ()
    if len(numbers) > _REMEMBERED or any(not 0 <= number < 2**63 for number in numbers):
        raise ValueError("these are no transactions of a page")
    return numbers


def _edge(edge: tuple[datetime, int]) -> str:
    return encode((edge[0].isoformat(), str(edge[1])))
