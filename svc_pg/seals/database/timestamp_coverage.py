"""The seals that timestamps cover, and how long after the time that a seal says its timestamp came."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from svc_pg.seals.verification.seal import Seal

STAMPED_WITHIN: Final = timedelta(hours=26)
"""The longest time from a seal to its timestamp that is no finding: a nightly run may miss once."""


@dataclass(frozen=True, slots=True)
class StampDelay:
    """The longest time from that which a seal says to the timestamp that covers it: it may be younger by so much."""

    seal: Seal
    delay: timedelta


class Coverage:
    """Takes seals and the times of timestamps by their numbers: a timestamp covers all seals up to its own.

    ``first`` and ``last`` are the seals with the first and the last timestamp, ``last_time`` is the time in that.
    ``first_delay`` is the longest delay of the seals up to ``first``, and ``later_delay`` that of those after it.
    """

    def __init__(self) -> None:
        self.first: Seal | None = None
        self.last: Seal | None = None
        self.last_time: datetime | None = None
        self.first_delay: StampDelay | None = None
        self.later_delay: StampDelay | None = None
        self._oldest: Seal | None = None
        self._newest: Seal | None = None

    def add(self, seal: Seal) -> None:
        """Take a seal, which has no timestamp yet."""
        if self._oldest is None or seal.sealed_at < self._oldest.sealed_at:
            self._oldest = seal
        if self._newest is None or seal.sealed_at > self._newest.sealed_at:
            self._newest = seal

    def stamp(self, seal: Seal, time: datetime) -> StampDelay:
        """Take a good timestamp of the seal that came last: the longest delay of those that it covers first."""
        found = self._delay(self._oldest or seal, time)
        if self.first is None:
            self.first, self.first_delay = seal, found
        elif self.later_delay is None or found.delay > self.later_delay.delay:
            self.later_delay = found
        self.last, self.last_time = seal, time
        self._oldest = self._newest = None
        return found

    def waiting(self) -> StampDelay | None:
        """The longest time from a seal without a timestamp to a newer one, by what they say; None if all have one."""
        if self._oldest is None or self._newest is None:
            return None
        return self._delay(self._oldest, self._newest.sealed_at)

    def _delay(self, seal: Seal, time: datetime) -> StampDelay:
        return StampDelay(seal, max(time - seal.sealed_at, timedelta()))
