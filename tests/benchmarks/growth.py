"""Draw how times grow with the size of a log, as an SVG."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from tests.benchmarks.bars import picture, text
from tests.benchmarks.lines import labelled

WIDTH: Final = 760
HEIGHT: Final = 460
LEFT, RIGHT, TOP, BOTTOM = 70, 570, 80, 410


def svg(figures: Mapping[str, Sequence[tuple[int, float]]], subtitle: str) -> str:
    """Draw a line for each kind of call, milliseconds over sizes; both scales are logarithmic."""
    sizes = sorted({size for line in figures.values() for size, _ in line})
    times = [time for line in figures.values() for _, time in line]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def x(size: int) -> float:
        first, last = math.log10(sizes[0]), math.log10(sizes[-1])
        return LEFT + (RIGHT - LEFT) * (math.log10(size) - first) / ((last - first) or 1)

    def y(time: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (math.log10(time) - low) / ((high - low) or 1)

    body = [text(x(size), BOTTOM + 20, f"{size:,}", size=11, anchor="middle") for size in sizes]
    body.append(text((LEFT + RIGHT) / 2, BOTTOM + 40, "entries in the log", size=12, anchor="middle"))
    for power in range(low, high + 1):
        at = y(10.0**power)
        body.append(f'<path d="M{LEFT} {at:.1f}H{RIGHT}" stroke="#dde2e8"/>')
        body.append(text(LEFT - 8, at + 4, f"{10.0**power:g} ms", size=11, anchor="end"))
    points = {name: [(x(size), y(time)) for size, time in line] for name, line in figures.items()}
    more = {name: f"{line[-1][1]:g} ms" for name, line in figures.items()}
    body += labelled(points, right=RIGHT, bottom=BOTTOM, more=more)
    return picture(body, title="Reading the audit log", subtitle=subtitle, width=WIDTH, height=HEIGHT)
