"""The histogram of the audit log: entries by time, each bar the way to its part of the range."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from svc_pg.audit.read.facets import Facets
from svc_pg.audit.read.stats import Bucket
from svc_pg.console.pages import charts
from svc_pg.console.pages.asking import FROM_START
from svc_pg.console.pages.page_request import PageRequest

MOST_BARS: Final = 60
_UNITS: Final[Mapping[Bucket, timedelta]] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """The entries from a time on, and the address of the list of them alone."""

    since: datetime
    entries: int
    address: str
    drawn: charts.Bar


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bars of equal lengths of time, without those that have no entry; ``width`` and ``top`` are the ends of scales."""

    bars: Sequence[HistogramBar]
    labels: Sequence[str]
    width: int
    top: int
    of_each: str
    counted_since: datetime | None
    """The time from which entries were counted, if there are older ones."""
    begins: datetime
    seconds: int
    """The time of each bar."""
    counts: Sequence[int]
    """The entries of each bar, also of those that have none."""
    whole: str
    """The address of the list without times."""
    since: str
    until: str
    """The ends of the range that was asked for, if the first and the last bar reach to them; else empty."""


def histogram(request: PageRequest, counted: Facets, filters: Mapping[str, Sequence[str]]) -> Histogram | None:
    """The histogram of a range; None if all of its entries are in one bar."""
    if not counted.times:
        return None
    unit, first = _UNITS[counted.bucket], counted.times[0].at
    units = 1 + (counted.times[-1].at - first) // unit
    each = -(-units // MOST_BARS)
    counts = [0] * -(-units // each)
    if len(counts) == 1:
        return None
    for time in counted.times:
        counts[(time.at - first) // unit // each] += time.entries
    drawn = iter(charts.bars(counts, []).above)
    begins = [first + index * each * unit for index in range(len(counts))]
    # the first bar lacks entries of the range that were not counted, so its address must too
    asked = filters if counted.is_complete else {name: values for name, values in filters.items() if name != "since"}
    bars = [
        HistogramBar(begin, count, _narrowed(request, asked, begin, each * unit, index, len(counts)), next(drawn))
        for index, (begin, count) in enumerate(zip(begins, counts, strict=True))
        if count
    ]
    whole = charts.bars(counts, [])
    of_each = counted.bucket if each == 1 else f"{each} {counted.bucket}s"
    end = charts.label(begins[-1] + each * unit, each * unit)
    labels = [*charts.labels(begins, each * unit)[:-1], end]
    return Histogram(
        bars,
        labels,
        whole.width,
        whole.top,
        of_each,
        None if counted.is_complete else counted.since,
        first,
        each * int(unit.total_seconds()),
        counts,
        request.same_page(**FROM_START, since=None, until=None),
        *(asked.get(name, [""])[0] for name in ("since", "until")),
    )


def _narrowed(
    request: PageRequest,
    filters: Mapping[str, Sequence[str]],
    begin: datetime,
    length: timedelta,
    index: int,
    number: int,
) -> str:
    """The address with the times of a bar; the first and the last keep the ends of the range that was asked for."""
    since = filters["since"] if index == 0 and "since" in filters else _written(begin)
    until = filters["until"] if index == number - 1 and "until" in filters else _written(begin + length)
    return request.same_page(**FROM_START, since=since, until=until)


def _written(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
