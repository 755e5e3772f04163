"""Charts: numbers become coordinates here, and SVG in the templates. A table of the numbers stands below each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

STEP: Final = 10
"""The width of a bar with its gap, in units of the drawing, which is stretched to the width of its box."""
ABOVE: Final = 100
BELOW: Final = 31
SPARK: Final = 24
"""Heights, in the same units."""

_LABELS: Final = 7
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STEPS: Final = tuple(
    timedelta(seconds=each)
    for each in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800)
)
_ROUND: Final = (1, 2, 4, 6, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle, by its left upper corner and its height."""

    x: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars above the axis, and others that hang below it; ``top`` and ``bottom`` are the ends of both scales."""

    width: int
    above: Sequence[Bar]
    below: Sequence[Bar]
    top: int
    bottom: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Two lines, each the ``d`` of a path; ``top`` is the end of the scale."""

    width: int
    upper: str
    lower: str
    top: float


@dataclass(frozen=True, slots=True)
class Span:
    """A time on a line, from its beginning, and for how long, in percent of the whole."""

    start: float
    width: float


@dataclass(frozen=True, slots=True)
class TimeLine:
    """A line over time: ``at`` gives the place of a time on it, in percent, and ``marks`` are round times."""

    begins: datetime
    ends: datetime
    marks: Sequence[tuple[float, str]]

    def at(self, time: datetime) -> float:
        """The place of a time; one that is not on the line has the place of its end."""
        whole = (self.ends - self.begins).total_seconds()
        return round(100 * min(1.0, max(0.0, (time - self.begins).total_seconds() / whole)), 2)

    def span(self, since: datetime, until: datetime) -> Span:
        """The place of a time between two."""
        start = self.at(since)
        return Span(start, round(max(self.at(until) - start, 0.2), 2))


@dataclass(frozen=True, slots=True)
class Spark:
    """A line in the height of a table's row, and the area below it; ``top`` is its greatest count."""

    width: int
    line: str
    area: str
    top: int = 0


def bars(above: Sequence[int], below: Sequence[int]) -> Bars:
    """Counts above and below one axis, in two scales: failures would be invisible in the scale of successes."""
    top, bottom = int(scale(max(above, default=0), least=2)), int(scale(max(below, default=0), least=2))
    raised = [
        Bar(index * STEP + 1.5, round(ABOVE - height, 1), round(height, 1))
        for index, count in enumerate(above)
        if (height := count / top * ABOVE)
    ]
    hanging = [
        Bar(index * STEP + 1.5, ABOVE + 1, round(max(1.5, count / bottom * BELOW), 1))
        for index, count in enumerate(below)
        if count
    ]
    return Bars(len(above) * STEP, raised, hanging, top, bottom)


def lines(upper: Sequence[float | None], lower: Sequence[float | None]) -> Lines:
    """Two lines in one scale; None is a gap."""
    top = scale(max((value for value in (*upper, *lower) if value is not None), default=0))
    return Lines(max(1, len(upper) - 1) * STEP, _path(upper, top), _path(lower, top), top)


def time_line(begins: datetime, ends: datetime) -> TimeLine:
    """A line from one time to a later one, with up to five round times, in UTC."""
    length = max(ends - begins, timedelta(seconds=1))
    step = next((each for each in _STEPS if length <= 5 * each), _STEPS[-1] * math.ceil(length / (5 * _STEPS[-1])))
    line = TimeLine(begins, begins + length, ())
    first = _EPOCH + math.ceil((begins - _EPOCH) / step) * step
    times = [first + number * step for number in range(5) if first + number * step <= line.ends]
    form = (
        "{:%H:%M:%S}" if step < timedelta(minutes=1) else "{:%H:%M}" if step < timedelta(days=1) else "{0.day} {0:%b}"
    )
    return TimeLine(begins, line.ends, [(line.at(each), form.format(each.astimezone(UTC))) for each in times])


def spark(counts: Sequence[int]) -> Spark:
    """A line of counts, in its own scale."""
    most = max(counts, default=0)
    top = most or 1
    points = [f"{index * STEP} {SPARK - 2 - count / top * (SPARK - 4):.1f}" for index, count in enumerate(counts)]
    width = max(1, len(counts) - 1) * STEP
    line = "L".join(points)
    return Spark(width, f"M{line}" if points else "", f"M0 {SPARK}L{line}L{width} {SPARK}z" if points else "", most)


def heat(counts: Sequence[int]) -> Sequence[int]:
    """The step of each count in a row of heat: 0, below 10, 100, 1,000, and more."""
    return [0 if count == 0 else min(4, len(str(count))) for count in counts]


def share(part: float, whole: float) -> float:
    """The part in percent of the whole, for the width of a gauge."""
    return round(100 * part / whole, 1) if whole > 0 else 0


def scale(greatest: float, *, least: float = 0) -> float:
    """The end of a scale: a round number that is no less than the greatest value, and whose half is round too."""
    wanted = max(greatest, least)
    if wanted <= 0:
        return 1
    unit: float = 10 ** math.floor(math.log10(wanted))
    return next(step * unit for step in _ROUND if step * unit >= wanted or step == _ROUND[-1])


def labels(times: Sequence[datetime], bucket: timedelta) -> Sequence[str]:
    """The texts below a chart whose buckets begin at these times, in UTC; the last one reaches to now."""
    every = max(1, math.ceil(len(times) / (_LABELS - 1)))
    found = [label(time, bucket) for time in times[:-1:every]]
    return [*found, "now"] if times else []


def label(time: datetime, bucket: timedelta) -> str:
    """The name of one bucket: its day if it is one or longer, else the time of day."""
    utc = time.astimezone(UTC)
    return f"{utc.day} {utc:%b}" if bucket >= timedelta(days=1) else f"{utc:%H:%M}"


def _path(values: Sequence[float | None], top: float) -> str:
    """The ``d`` of a path. A value alone between gaps becomes a line as long as a step, or it would not be seen."""
    parts, end = [], max(1, len(values) - 1) * STEP
    for index, value in enumerate(values):
        if value is None:
            continue
        x, y = index * STEP, f"{ABOVE - value / top * ABOVE:.1f}"
        if index and values[index - 1] is not None:
            parts.append(f"L{x} {y}")
        elif index + 1 < len(values) and values[index + 1] is not None:
            parts.append(f"M{x} {y}")
        else:
            parts.append(f"M{max(0, x - STEP // 2)} {y}H{min(end, x + STEP // 2)}")
    return "".join(parts)
