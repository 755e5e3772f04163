"""A reconciliation of tables with the log of any database: its pace, its progress and its result."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

Kind = Literal["missing", "differs", "gone"]

NICEST: Final = 100.0
"""The highest ratio of rest to work."""
_LONGEST_REST: Final = 10.0
"""The most seconds between two pieces."""
_NAP: Final = 0.2  # seconds after which a rest looks if the call is over


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that is ``missing`` in the log, ``differs`` in some ``fields``, or is only in the log: ``gone``."""

    table: str
    record_id: str
    kind: Kind
    fields: list[str]


@dataclass(frozen=True, slots=True)
class TableReport:
    """The comparison of one table, which began at ``since`` and ended at ``until``.

    ``rows`` were compared. The log lacks ``missing`` of them, of which ``unrecorded`` have no entry at all, and knows
    ``differing`` ones otherwise; ``gone`` records are in the log only. Not faults are ``erased`` rows, whose entries an
    erasure has emptied, and ``unknown`` records: they have no entry, or only a held one that tells otherwise, but
    entries of the table up to ``purged_before`` were purged. ``notes`` say what was not compared, perhaps all: then the
    table is not ``is_compared``. A comparison that was ended early is not ``is_complete``, for example by a
    ``problem``: the table stays locked, was changed meanwhile, or the role lacks a right. If the result
    ``is_recorded``, an entry of the log tells it; the role may lack the right to write one.

    A repair has written ``repaired`` entries, None without one; some of the tables or partitions in ``postponed`` are
    missing, because writers kept them. ``unrepaired`` differences are left: all of them without a repair.
    """

    table: str
    since: datetime
    until: datetime
    rows: int
    unrecorded: int
    missing: int
    differing: int
    gone: int
    unknown: int
    erased: int
    repaired: int | None
    unrepaired: int
    postponed: list[str]
    purged_before: datetime | None
    notes: list[str]
    is_compared: bool
    is_complete: bool
    is_recorded: bool
    problem: str | None

    @property
    def differences(self) -> int:
        """The number of all differences, also of those that are repaired."""
        return self.missing + self.differing + self.gone

    @property
    def is_done(self) -> bool:
        """True if the rows were compared, and all of them."""
        return self.is_compared and self.is_complete

    @property
    def is_whole(self) -> bool:
        """True if all was compared, and the log knows it as it is, perhaps since the repair."""
        return self.is_complete and not self.unrepaired and not self.postponed


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The comparison of tables with the log.

    ``differences`` has the first ones of each table; the tables have the numbers of all. ``after`` is the cursor from
    which another call goes on, if this one was ended early.
    """

    tables: list[TableReport]
    differences: list[Difference]
    after: str | None

    @property
    def is_whole(self) -> bool:
        """True if everything was compared, and the log knows it as it is."""
        return self.after is None and all(table.is_whole for table in self.tables)

    @property
    def has_compared(self) -> bool:
        """True if a table was compared to its end. If not, nothing is known: the reports say why."""
        return any(table.is_done for table in self.tables)


@dataclass(frozen=True, slots=True)
class Progress:
    """The ``rows`` compared of a table so far, of about ``expected``, and the cursor from which a call would go on.

    At the end of each table there is its ``report``; after the last one no cursor is left.
    """

    table: str
    rows: int
    expected: int
    cursor: str | None
    report: TableReport | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """The rest after each piece of work, the limits, what it does, and who watches and may end it."""

    nice_ratio: float
    most: int
    repairs: bool
    progress: Callable[[Progress], None]
    is_over: Callable[[], bool]

    def rest(self, began: float) -> Iterator[timedelta]:
        """The effects of a rest after a piece that began then, by the monotonic clock; it ends early if all is over."""
        left = min((time.monotonic() - began) * self.nice_ratio, _LONGEST_REST)
        while left > 0 and not self.is_over():
            yield timedelta(seconds=min(left, _NAP))
            left -= _NAP
