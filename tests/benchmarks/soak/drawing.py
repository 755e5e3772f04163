"""Draw the course of a run as an SVG: below each other latencies, sizes, memory and load, over the time."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.benchmarks.bars import picture, text
from tests.benchmarks.lines import labelled
from tests.benchmarks.tables.markdown import number

WIDTH: Final = 760
LEFT, RIGHT = 70, 500
_FIRST: Final = 90
_HIGH: Final = 130  # of a panel
_APART: Final = 190
_DECADES: Final = 10.0

Line = Sequence[float | None]


def svg(figures: Mapping[str, Any]) -> str:
    """The panels of saved figures."""
    quantile = 1  # 95 of 100
    latencies = {
        name: [None if found is None else found[quantile] for found in figures[f"{kind}Ms"]]
        for kind, name in (("capture", "a captured write"), ("delivery", "a delivery"), ("page", "a page"))
    }
    load = {"transactions": figures["transactions"], "most pending deliveries": figures["queue"]}
    panels: list[tuple[str, Mapping[str, Line], bool]] = [
        ("Milliseconds that 95 of 100 calls take, in the worst sample", latencies, True),
        ("MiB of tables and indexes", figures["sizesMiB"], True),
        ("MiB of memory of each program, and of PostgreSQL's processes that serve it", figures["memoryMiB"], False),
        ("Number in each part of the time", load, True),
    ]
    body: list[str] = []
    for place, (title, lines, is_logarithmic) in enumerate(panels):
        body += _panel(title, lines, top=_FIRST + place * _APART, is_logarithmic=is_logarithmic)
    bottom = _FIRST + (len(panels) - 1) * _APART + _HIGH
    for share in range(5):
        x = LEFT + (RIGHT - LEFT) * share / 4
        body.append(text(x, bottom + 20, _time(figures["minutes"] * share / 4), size=11, anchor="middle"))
    subtitle = f"two equal days in {_time(figures['minutes'])}"
    return picture(body, title="A soak", subtitle=subtitle, width=WIDTH, height=bottom + 40)


def _time(minutes: float) -> str:
    return f"{minutes / 60:.3g} h" if minutes >= 60 else f"{minutes:.3g} min"


def _panel(title: str, lines: Mapping[str, Line], *, top: float, is_logarithmic: bool) -> Iterator[str]:
    values = [value for line in lines.values() for value in line if value is not None]
    most = max(values, default=1.0) or 1.0
    low, high = _scale(values, most, is_logarithmic=is_logarithmic)

    def y(value: float) -> float:
        if is_logarithmic:
            share = (math.log10(max(value, low)) - math.log10(low)) / (math.log10(high) - math.log10(low))
        else:
            share = (value - low) / (high - low)
        return top + _HIGH * (1 - share)

    yield text(LEFT, top - 12, title, size=12, weight="bold")
    for mark in _marks(low, high, is_logarithmic=is_logarithmic):
        yield f'<path d="M{LEFT} {y(mark):.1f}H{RIGHT}" stroke="#dde2e8"/>'
        yield text(LEFT - 8, y(mark) + 4, f"{mark:,g}", size=11, anchor="end")
    points, more = {}, {}
    for name, line in lines.items():
        known = [(place, value) for place, value in enumerate(line) if value is not None]
        if known:
            points[name] = [(LEFT + (RIGHT - LEFT) * (place + 0.5) / len(line), y(value)) for place, value in known]
            more[name] = number(known[-1][1])
    yield from labelled(points, right=RIGHT, bottom=top + _HIGH + 12, more=more)


def _scale(values: Sequence[float], most: float, *, is_logarithmic: bool) -> tuple[float, float]:
    """The ends of a scale: whole decades, or from zero to a round number."""
    if not is_logarithmic:
        step = 10.0 ** math.floor(math.log10(most))
        return 0.0, math.ceil(most / step) * step
    least = min((value for value in values if value > 0), default=most)
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    return _DECADES**low, _DECADES ** max(high, low + 1)


def _marks(low: float, high: float, *, is_logarithmic: bool) -> list[float]:
    if is_logarithmic:
        first, last = round(math.log10(low)), round(math.log10(high))
        return [_DECADES**power for power in range(first, last + 1)]
    return [low, (low + high) / 2, high]
