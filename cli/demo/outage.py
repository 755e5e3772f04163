"""A receiver that has begun to answer 503: its attempts, and its circuit breaker, as workers would have had them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import Final

WAITS: Final = tuple(timedelta(seconds=seconds) for seconds in (60, 60, 300, 1800))
"""The waits of the demo's configuration; after 503 each is at least a minute."""
_OPENS_AFTER: Final = 10
_SHORTEST: Final = timedelta(seconds=30)
_LONGEST: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Outage:
    """The times of the attempts of each delivery, and of the next one, if there is one."""

    attempts: Sequence[Sequence[datetime]]
    next_attempt_at: Sequence[datetime | None]
    breaker_until: datetime | None
    breaker_count: int


def outage(due: Sequence[datetime], *, now: datetime) -> Outage:
    """The present state of deliveries that were first due at these times.

    After ten failures the breaker opens; when its time is over, the delivery that is due first probes the receiver.
    """
    attempts: list[list[datetime]] = [[] for _ in due]
    coming: list[datetime | None] = [None for _ in due]
    open_until: datetime | None = None
    failures, probes = 0, 0
    queue = [(time, delivery) for delivery, time in enumerate(due)]
    heapify(queue)
    while queue:
        time, delivery = heappop(queue)
        start = time if open_until is None else max(time, open_until)
        if start >= now:
            coming[delivery] = time
            continue
        made = attempts[delivery]
        made.append(start)
        failures += 1
        if open_until is not None:
            probes += 1
            open_until = start + min(_SHORTEST * 2**probes, _LONGEST)
        elif failures == _OPENS_AFTER:
            open_until = start + _SHORTEST
        if len(made) <= len(WAITS):
            heappush(queue, (start + WAITS[len(made) - 1], delivery))
    return Outage(attempts, coming, open_until, probes)
