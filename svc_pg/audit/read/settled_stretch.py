"""The settled entries of a list since an earlier reading, so few transactions at a time that an index finds them."""

from dataclasses import dataclass, replace
from typing import Final

from svc_pg.audit.read.horizon import Horizon
from svc_pg.audit.read.listing import EntryListing
from svc_pg.audit.read.stretch import TIMES, Reach, Times
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Filter, Row
from svc_pg.database.query import Query

_STEP: Final = 4096
_GROWTH: Final = 8


@dataclass(slots=True)
class Steps:
    """The steps from the end of an earlier reading to the horizon; after one without any entry, longer ones."""

    reach: Horizon
    growth: int = 1

    def next(self) -> Horizon:
        """The next step: as ``reach``, up to the end of the step."""
        reach = self.reach
        if reach.after_xact_id is None or reach.after_until is not None:
            return reach
        return replace(reach, oldest_running=min(reach.oldest_running, reach.after_xact_id + _STEP * self.growth))

    def passed(self, step: Horizon, *, is_empty: bool) -> bool:
        """Go on after a step; False if it was the last."""
        is_last = step.oldest_running >= self.reach.oldest_running
        self.reach = replace(
            self.reach, after_xact_id=step.oldest_running, after_from=self.reach.began_at, after_until=None
        )
        self.growth = self.growth * _GROWTH if is_empty else 1
        return not is_last


def settled(listed: EntryListing[Row], time: Filter, step: Horizon) -> Effects[EntryListing[Row] | None]:
    """The settled entries of a list in a step, ``time`` its conditions on time; None if the log has none there."""
    found = listed.narrowed(step.settled(step.since(listed.filter)))
    if step.after_xact_id is None or step.after_until is not None:
        return replace(found, reach=Reach(time))
    times: Times
    [times] = yield Query(TIMES, (step.after_xact_id, step.oldest_running), Times)
    if times.first is None or times.last is None:
        return None
    first = max(times.first, step.after_from or times.first)  # the numbers of earlier epochs may be the same
    between = time.where('"timestamp" >= %s', first).where('"timestamp" <= %s', times.last)
    if found.record is not None:
        since, until = (*found.record.since, first), (*found.record.until, times.last)
        found = replace(found, record=replace(found.record, since=since, until=until))
    return replace(found, reach=Reach(between))
