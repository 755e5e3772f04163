"""Draw the figures as an SVG: a bar for each candidate, a group for each write."""

from collections.abc import Iterator, Sequence

from tests.benchmarks.bars import COLOURS, bar, picture, text
from tests.benchmarks.capture.candidates import NO_AUDIT, Candidate
from tests.benchmarks.capture.figures import BULK, SINGLE, Figures

_WRITES = ("INSERT", "UPDATE", "DELETE")
_BAR, _GAP, _LEFT, _WIDTH = 16, 22, 250, 560


def svg(figures: Figures, taking_part: Sequence[Candidate], subtitle: str) -> str:
    """One panel for single rows and one for bulk, each on a scale of its own; longer bars are cut and labelled."""
    panels = [panel for panel in (SINGLE, BULK) if panel in figures.rounds]
    audited = [candidate.name for candidate in taking_part if candidate.name != NO_AUDIT]
    height = 70 + len(panels) * (40 + len(_WRITES) * (len(audited) * _BAR + _GAP + 16))
    body, top = [], 70
    for panel in panels:
        body.append(text(20, top + 16, panel, size=15, weight="bold"))
        top += 40
        scale = _scale(figures, panel, audited)
        for write in _WRITES:
            body.append(text(20, top, write, size=13, weight="bold"))
            body.extend(_bars(figures, panel, write, audited, top + 8, scale))
            top += len(audited) * _BAR + _GAP + 16
    return picture(
        body,
        title="What an audit adds to a write: µs of backend CPU a row",
        subtitle=subtitle,
        width=_LEFT + _WIDTH + 110,
        height=height,
    )


def _scale(figures: Figures, panel: str, audited: Sequence[str]) -> float:
    """Pixels a microsecond. The longest bar of row level fits; longer ones of statement level are cut."""
    row_level = [name for name in audited if not name.endswith(", statement")]
    longest = max(figures.overhead(panel, name, write) or 0 for name in row_level for write in _WRITES)
    return _WIDTH / max(longest, 1)


def _bars(figures: Figures, panel: str, write: str, audited: Sequence[str], top: int, scale: float) -> Iterator[str]:
    for number, name in enumerate(audited):
        y = top + number * _BAR
        overhead = figures.overhead(panel, name, write)
        yield text(_LEFT - 8, y + 12, name, size=11, anchor="end")
        if overhead is None:
            continue
        length = min(max(overhead, 0) * scale, _WIDTH)
        colour = COLOURS[number % len(COLOURS)]
        yield bar(_LEFT, y + 2, length=length, thickness=_BAR - 4, colour=colour)
        yield text(_LEFT + length + 6, y + 12, f"{overhead:.1f}", size=11)
