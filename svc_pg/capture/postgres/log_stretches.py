"""The stretches of the log by time in which a last entry is looked for, one after the other, the newest first.

Together they are all times, whatever partitions are made, dropped or detached meanwhile. Mostly each is a partition, so
that a record whose last entry is young is not looked for in the old ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.database.query import Query
from svc_pg.database.statements import statement

_ALONE: Final = 6
"""The newest bounds, each of which begins a stretch of its own. Of the older ones it is each fourth, sixteenth ..."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The times from ``since`` to before ``until``, in ISO 8601; without one of them it has no end there."""

    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class LogBounds:
    """The times at which partitions of the log begin or end, the newest first."""

    bounds: list[str]

    def stretches(self) -> list[Stretch]:
        """The stretches, the newest first."""
        kept = _thinned(self.bounds)
        return [Stretch(since, until) for since, until in zip([*kept, None], [None, *kept], strict=True)]


def _thinned(bounds: Sequence[str]) -> list[str]:
    """Few of many bounds: a statement names each, and a record of long ago is looked for in one after the other."""
    kept, step, place = [*bounds[:_ALONE]], 4, _ALONE + 3
    while place < len(bounds):
        kept.append(bounds[place])
        step, place = 4 * step, place + 4 * step
    return kept


LOG_BOUNDS: Final = Query(statement("queries/capture/log_bounds.sql"), (), LogBounds)
"""The bounds of the log."""
