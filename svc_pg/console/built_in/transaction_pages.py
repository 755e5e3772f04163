"""The entries that a query selects, gathered by their transactions, the newest first."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final, Self, cast

from svc_pg.audit.log.conditions import OfOtherTransactions
from svc_pg.audit.log.entry import OPERATION, SEVERITIES, TABLE, XACT, Entry, Operation, position
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.console.built_in.audit_filters import Asked
from svc_pg.console.http.parameters import PAGE_BYTES
from svc_pg.database.pagination import Page, encode
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

Edge = tuple[datetime, int]
"""The time and the id of an entry."""
Read = Callable[[AuditQuery], Awaitable[Page[Entry]]]
"""Reads a page of entries, as the person may see them."""


@dataclass(frozen=True, slots=True)
class ChangeCount:
    """Entries of one transaction about one table."""

    operation: Annotated[Operation, OPERATION]
    table_name: Annotated[str, TABLE]
    count: Annotated[int, Doc("The number of entries.", 3)]


@dataclass(frozen=True, slots=True)
class LoggedTransaction:
    """The changes of one transaction, as far as its entries are on one page."""

    xact_id: Annotated[str, XACT]
    timestamp: Annotated[datetime, Doc("The time of its newest entry on this page.")]
    entries: Annotated[
        Sequence[Entry], Doc("The first of its entries on this page, 10 at most with the gravest one, in their order.")
    ]
    changes: Annotated[Sequence[ChangeCount], Doc("Its entries on this page by operation and table.")]
    count: Annotated[int, Doc("The number of its entries on this page, 100 at most.", 3)]
    is_complete: Annotated[bool, Doc("False if it has, or may have, more entries on this page.")]


@dataclass(frozen=True, slots=True)
class TransactionQuery(Asked):
    """The transactions with an entry that ``query`` selects; every method returns a new one.

    An entry is on one page only. A transaction that ran beside others may have entries on several pages.
    """

    size: int = DEFAULT_TRANSACTIONS
    edge: Edge | None = None

    def limit(self, size: int) -> Self:
        """Set the most transactions of a page: 1 to 100; the default is 20."""
        if not 1 <= size <= MAX_TRANSACTIONS:
            raise QueryError(f"a page cannot have {size} transactions", hint=f"Ask for 1 to {MAX_TRANSACTIONS}.")
        return replace(self, size=size)

    def after(self, cursor: str) -> Self:
        """Go to the page after the one with this ``next_cursor``, which may also be that of a page of entries."""
        return replace(self, edge=position(cursor))

    async def page(self, read: Read) -> Page[LoggedTransaction]:
        """A page of them: of 1,000 entries at most, so that it may be short, or empty, and have a next one.

        It also ends with the first read that the bound of a list ends: each looks at 10,000 entries, and may be slow.
        """
        found = _Gathered(self.size)
        edge, size = self.edge, 0
        for _ in range(_READS):
            page = await read(self._entries(found, edge))
            found.add(page)
            size += sum(_size(entry) for entry in page)
            edge = None if page.next_cursor is None else position(page.next_cursor)
            if edge is None or found.end is not None or size > PAGE_BYTES or len(page.data) < _READ:
                break
        end = found.end or edge
        return Page(found.transactions(is_end=end is None), None if end is None else _cursor(end))

    def _entries(self, found: "_Gathered", edge: Edge | None) -> AuditQuery:
        """The next entries, without those of transactions of which enough are counted."""
        wanted = self.query.limit(_READ)
        if counted := found.counted:
            wanted = replace(wanted, conditions=(*wanted.conditions, OfOtherTransactions(counted)))
        return wanted if edge is None else wanted.after(_cursor(edge))


@dataclass(slots=True)
class _Gathered:
    """The entries of at most ``size`` transactions; ``end`` is the last entry before the first of another one."""

    size: int
    groups: dict[str, list[Entry]] = field(default_factory=dict)
    end: Edge | None = None
    last: Entry | None = None

    @property
    def counted(self) -> list[int]:
        """The transactions with as many entries as are counted."""
        return [int(xact_id) for xact_id, entries in self.groups.items() if len(entries) >= MOST_COUNTED]

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries in the order of the list, up to the end."""
        for entry in entries:
            xact_id = cast(str, entry.xact_id)
            if xact_id not in self.groups and len(self.groups) == self.size and self.last is not None:
                self.end = (self.last.timestamp, int(self.last.id))
                return
            self.groups.setdefault(xact_id, []).append(entry)
            self.last = entry

    def transactions(self, *, is_end: bool) -> list[LoggedTransaction]:
        """The transactions; the last one may go on behind the page, unless the log ends there."""
        last = None if is_end or self.last is None else self.last.xact_id
        return [_transaction(xact_id, entries, is_last=xact_id == last) for xact_id, entries in self.groups.items()]


def _transaction(xact_id: str, entries: Sequence[Entry], *, is_last: bool) -> LoggedTransaction:
    counted = entries[:MOST_COUNTED][::-1]
    kinds = Counter((entry.operation, entry.table_name) for entry in counted)
    return LoggedTransaction(
        xact_id,
        counted[-1].timestamp,
        _telling(counted),
        [ChangeCount(operation, table, count) for (operation, table), count in kinds.items()],
        len(counted),
        is_complete=len(entries) < MOST_COUNTED and not is_last,
    )


def _telling(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The first entries, with the gravest one."""
    gravest = max(entries, key=weight)  # the first, if several weigh the same
    first = entries[:MOST_SHOWN]
    return first if any(entry is gravest for entry in first) else [*first[:-1], gravest]


def weight(entry: Entry) -> int:
    """The weight of an entry by its severity; -1 if it has none."""
    return -1 if entry.severity is None else SEVERITIES.index(entry.severity)


def _size(entry: Entry) -> int:
    return sum(len(shown.text) for shown in (entry.before_data, entry.after_data) if shown is not None)


def _cursor(edge: Edge) -> str:
    return encode((edge[0].isoformat(), str(edge[1])))
