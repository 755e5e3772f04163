"""The cost of capture, as a measurement found it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from svc_pg.errors import ConfigError

Operation = Literal["INSERT", "UPDATE", "DELETE"]

LONGEST: Final = timedelta(seconds=30)
"""The longest measurement of all tables: an install that waits for it waits longer."""


@dataclass(frozen=True, slots=True)
class RowCost:
    """The microseconds of a row without capture and with it, and the share of the changes that wrote an entry."""

    without_capture: float
    with_capture: float
    recorded: float


@dataclass(frozen=True, slots=True)
class TableCost:
    """The cost of the capture of one table.

    ``rules`` are those that make it dearer or cheaper, in words. ``bytes_an_entry`` is None if there was no entry.
    ``notes`` say what differs from the table itself.
    """

    table: str
    columns: int
    rules: Sequence[str]
    rows: Mapping[Operation, RowCost]
    bytes_an_entry: int | None
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A table without a figure, and the reason."""

    table: str
    reason: str


@dataclass(frozen=True, slots=True)
class Costs:
    """The measured tables, the others, and the way of the measurement."""

    measured: Sequence[TableCost]
    left_out: Sequence[Unmeasured]
    method: str


def refuse_measuring(database: str) -> ConfigError:
    """The error of a database on which nothing is measured."""
    return ConfigError(
        f"the cost of capture is measured on PostgreSQL, and this is {database}",
        hint='"Performance" in the documentation has figures.',
    )
