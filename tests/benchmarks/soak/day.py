"""Two days of business, compressed into one run: the load at each moment, and the incidents.

Both days are alike, so that the second half of each, which is the second and the last quarter of the run, has the same
load and no incident but workers that die. Moments are shares of the run, from 0 to 1.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

DAYS: Final = 2
_NIGHT: Final = 0.08
_PEAKS: Final = ((0.33, 0.11, 1.0), (0.68, 0.13, 0.85))  # of a day: its middle, its width and its height
_BURSTS: Final = 60  # a day
_BURST: Final = 1 / 3  # the share of the time between two that a burst takes
_OUTAGE: Final = (0.2, 0.3)  # of a day

MOST: Final = 1 / _BURST
"""The largest intensity."""

Action = Literal["kill", "down", "up", "export", "install"]


@dataclass(frozen=True, slots=True, order=True)
class Incident:
    """Something that happens once, at a moment."""

    at: float
    action: Action


def intensity(moment: float) -> float:
    """The load, times that of the busiest hour on average: it comes in bursts."""
    is_burst = moment * DAYS * _BURSTS % 1 < _BURST
    return curve(moment) / _BURST if is_burst else 0.0


def curve(moment: float) -> float:
    """The load without its bursts: nights are quiet, the middle of the morning is 1."""
    time = moment * DAYS % 1
    return min(1.0, _NIGHT + sum(high * math.exp(-(((time - at) / wide) ** 2)) for at, wide, high in _PEAKS))


def incidents(*, kills: int) -> list[Incident]:
    """All that happens, in its order: workers die at even distances, and each day has an outage and two exports."""
    return sorted(_incidents(kills))


def _incidents(kills: int) -> Iterator[Incident]:
    for number in range(kills):
        yield Incident((number + 0.5) / kills, "kill")
    for day in range(DAYS):
        yield Incident((day + _OUTAGE[0]) / DAYS, "down")
        yield Incident((day + _OUTAGE[1]) / DAYS, "up")
        yield Incident((day + 0.4) / DAYS, "export")
        yield Incident((day + 0.9) / DAYS, "export")
    yield Incident(0.5, "install")
