"""The ages by which entries are removed, and the report of a purge, for every database."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from svc_pg import durations
from svc_pg.errors import QueryError

OLDEST_AGE: Final = timedelta(days=36500)
YOUNGEST_AGE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """The entries that were removed, or would be: all from before ``before``.

    ``partitions`` were dropped as a whole and ``entries`` counts those removed one by one. ``postponed`` names the
    partitions that readers or writers kept locked; the next purge continues with them.
    """

    before: datetime
    partitions: list[str] = field(default_factory=list)
    entries: int = 0
    postponed: list[str] = field(default_factory=list)


def check_age(older_than: timedelta) -> None:
    """Raises QueryError if nothing may be removed by this age."""
    if not YOUNGEST_AGE <= older_than <= OLDEST_AGE:
        raise QueryError(
            f"{durations.text(older_than)} is not an age to purge by",
            hint=f"Write {YOUNGEST_AGE.days} to {OLDEST_AGE.days} days, such as 90d.",
        )
