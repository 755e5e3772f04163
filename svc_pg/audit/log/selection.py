"""The entries that a query of the audit log selects, independent of any database's SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from svc_pg.audit.log.conditions import Condition, Contains, HasFact, HasWords, Is, range_of
from svc_pg.audit.log.entry import FIELDS, Entry, Order, position
from svc_pg.database.pagination import Paged

Search = Literal["contains", "text", "context"]
"""The kind of a search, whose pages each look at a stretch of the log; contexts have no index."""


@dataclass(frozen=True, slots=True)
class Selection(Paged[Entry]):
    """The conditions, the order (``first``), and the fields to read."""

    conditions: tuple[Condition, ...] = ()
    first: Order = "newest"
    fields: tuple[str, ...] = FIELDS

    @property
    def edge(self) -> tuple[datetime, int] | None:
        """The time and id of the entry next to the page; None for the first page."""
        return cast(tuple[datetime, int] | None, self.position)

    @property
    def range(self) -> Sequence[Condition]:
        """The conditions on time, and one by which an index finds entries in the order of time."""
        return range_of(self.conditions)

    @property
    def is_of_record(self) -> bool:
        """True if the entries are of one record, and so in the order of change."""
        return any(isinstance(condition, Is) for condition in self.conditions)

    @property
    def searches(self) -> frozenset[Search]:
        """The searches of snapshots and contexts among the conditions."""
        kinds: dict[type[Condition], Search] = {Contains: "contains", HasWords: "text", HasFact: "context"}
        return frozenset(kinds[type(each)] for each in self.conditions if type(each) in kinds)

    def _read(self, cursor: str) -> Sequence[object]:
        return position(cursor)
