"""Draw the figures as an SVG: a bar for each candidate, a group for each write."""

from collections.abc import Iterator, Sequence
from html import escape

from tests.benchmarks.candidates import NO_AUDIT, Candidate
from tests.benchmarks.figures import BULK, SINGLE, Figures

_COLOURS = ("#9aa5b1", "#616e7c", "#2f7d5b", "#c3cad2", "#58b68b", "#b4540a", "#e8a15c", "#3d5a99", "#8aa2d8")
_WRITES = ("INSERT", "UPDATE", "DELETE")
_BAR, _GAP, _LEFT, _WIDTH = 16, 22, 250, 560


def svg(figures: Figures, taking_part: Sequence[Candidate], subtitle: str) -> str:
    """One panel for single rows and one for bulk, each on a scale of its own; longer bars are cut and labelled."""
    panels = [panel for panel in (SINGLE, BULK) if panel in figures.rounds]
    audited = [candidate.name for candidate in taking_part if candidate.name != NO_AUDIT]
    height = 70 + len(panels) * (40 + len(_WRITES) * (len(audited) * _BAR + _GAP + 16))
    body, top = [], 70
    for panel in panels:
        body.append(_text(20, top + 16, panel, size=15, weight="bold"))
        top += 40
        scale = _scale(figures, panel, audited)
        for write in _WRITES:
            body.append(_text(20, top, write, size=13, weight="bold"))
            body.extend(_bars(figures, panel, write, audited, top + 8, scale))
            top += len(audited) * _BAR + _GAP + 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 110}" height="{height}"'
            ' font-family="sans-serif">',
            '<rect width="100%" height="100%" fill="white"/>',
            _text(20, 30, "What an audit adds to a write: µs of backend CPU a row", size=17, weight="bold"),
            _text(20, 50, subtitle, size=12),
            *body,
            "</svg>\n",
        ]
    )


def _scale(figures: Figures, panel: str, audited: Sequence[str]) -> float:
    """Pixels a microsecond. The longest of row level fits; what statement level may take in addition is cut."""
    row_level = [name for name in audited if not name.endswith(", statement")]
    longest = max(figures.overhead(panel, name, write) or 0 for name in row_level for write in _WRITES)
    return _WIDTH / max(longest, 1)


def _bars(figures: Figures, panel: str, write: str, audited: Sequence[str], top: int, scale: float) -> Iterator[str]:
    for number, name in enumerate(audited):
        y = top + number * _BAR
        overhead = figures.overhead(panel, name, write)
        yield _text(_LEFT - 8, y + 12, name, size=11, anchor="end")
        if overhead is None:
            continue
        length = min(max(overhead, 0) * scale, _WIDTH)
        colour = _COLOURS[number % len(_COLOURS)]
        yield f'<rect x="{_LEFT}" y="{y + 2}" width="{length:.1f}" height="{_BAR - 4}" fill="{colour}"/>'
        yield _text(_LEFT + length + 6, y + 12, f"{overhead:.1f}", size=11)


def _text(x: float, y: float, words: str, *, size: int, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )
