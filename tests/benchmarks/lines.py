"""Draw lines with their names at their right ends, as parts of an SVG."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.benchmarks.bars import COLOURS, bar, text

_LEAST_GAP: Final = 15.0


def labelled(
    lines: Mapping[str, Sequence[tuple[float, float]]], *, right: float, bottom: float, more: Mapping[str, str]
) -> Iterator[str]:
    """Lines of points in pixels. A name stands behind its colour and before its ``more`` words; none covers another."""
    ends = sorted(((points[-1][1], name) for name, points in lines.items() if points), reverse=True)
    label = bottom + _LEAST_GAP
    for colour, (end, name) in zip(COLOURS * 2, ends, strict=False):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in lines[name])
        label = min(label - _LEAST_GAP, end + 4)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield bar(right + 10, label - 9, length=9, thickness=9, colour=colour)
        yield text(right + 24, label, f"{name}: {more[name]}", size=11)
