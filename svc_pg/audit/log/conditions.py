"""The conditions of a query of the audit log, as values that each database translates to its SQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from svc_pg.config.audited_table import Severity

Column = Literal["table_name", "record_id", "actor_id", "tenant_id", "operation", "label", "severity", "db_user"]
ListColumn = Literal["compliance", "changed_fields"]
Missable = Literal["actor", "tenant", "record", "label", "severity", "compliance"]


@dataclass(frozen=True, slots=True)
class Is:
    """The column has exactly this value."""

    column: Column
    value: str


@dataclass(frozen=True, slots=True)
class Among:
    """The column has one of the values; if ``is_excluded``, it has none of them, or no value at all."""

    column: Column
    values: Sequence[str]
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The list has one of the values; if ``is_excluded``, it has none of them, or there is no list."""

    column: ListColumn
    values: Sequence[str]
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The severity is this one or a higher one."""

    severity: Severity


@dataclass(frozen=True, slots=True)
class Without:
    """The column has no value."""

    value: Missable


@dataclass(frozen=True, slots=True)
class Since:
    """The entry is from this time or later; a timedelta is the time before the database's now."""

    time: datetime | timedelta


@dataclass(frozen=True, slots=True)
class Until:
    """The entry is from before this time; a timedelta is the time before the database's now."""

    time: datetime | timedelta


@dataclass(frozen=True, slots=True)
class SinceTransaction:
    """The transaction has this number or a higher one."""

    xact_id: int


@dataclass(frozen=True, slots=True)
class BeforeTransaction:
    """The transaction has a lower number."""

    xact_id: int


@dataclass(frozen=True, slots=True)
class OfOtherTransactions:
    """The transaction has none of these numbers."""

    xact_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class Contains:
    """A snapshot has the members of this JSON object."""

    text: str


@dataclass(frozen=True, slots=True)
class HasWords:
    """The snapshots or the description have these words, in the syntax of web searches."""

    words: str


@dataclass(frozen=True, slots=True)
class HasFact:
    """A member of the context has this value, for example a request's id or an address."""

    value: str


@dataclass(frozen=True, slots=True)
class OfAnyDatabase:
    """The entry is of any database of the server. Default: of the connection's, or of the named tables."""


Condition = (
    Is
    | Among
    | Overlaps
    | AtLeast
    | Without
    | Since
    | Until
    | SinceTransaction
    | BeforeTransaction
    | OfOtherTransactions
    | Contains
    | HasWords
    | HasFact
    | OfAnyDatabase
)

_INDEXED: Final = ("table_name", "actor_id")


def range_of(conditions: Iterable[Condition]) -> list[Condition]:
    """The conditions on time, and the first by which an index finds entries in the order of time."""
    found: list[Condition] = []
    by_index: Is | None = None
    for condition in conditions:
        match condition:
            case Since() | Until() | SinceTransaction() | BeforeTransaction() | OfAnyDatabase():
                found.append(condition)
            case Among(column, [value], is_excluded=False) if by_index is None and column in _INDEXED:
                by_index = Is(column, value)
                found.append(by_index)
            case Is("record_id") if by_index is not None and by_index.column == "table_name":
                found.append(condition)
    return found
