"""Draw the figures as an SVG: a panel for each section, a bar for each candidate, from its least to its most."""

from collections.abc import Iterator

from tests.benchmarks.bars import COLOURS, bar, picture, text
from tests.benchmarks.delivery.figures import Figures, Section
from tests.benchmarks.delivery.report import number

_BAR, _GAP, _LEFT, _WIDTH = 16, 18, 430, 460


def svg(figures: Figures, subtitle: str) -> str:
    """Each panel has a scale of its own; the thin line is the spread."""
    body: list[str] = []
    top = 80
    for section in figures.sections():
        body.append(text(20, top, f"{section.title}: {section.unit}", size=13, weight="bold"))
        body.extend(_bars(figures, section, top + 8))
        top += 8 + len(figures.names(section)) * _BAR + _GAP + 8
    return picture(body, title="Webhook delivery", subtitle=subtitle, width=_LEFT + _WIDTH + 90, height=top)


def _bars(figures: Figures, section: Section, top: int) -> Iterator[str]:
    names = figures.names(section)
    longest = max(max(figures.samples(section, name)) for name in names)
    scale = _WIDTH / longest if longest else 0
    for place, name in enumerate(names):
        y = top + place * _BAR
        samples = figures.samples(section, name)
        median = figures.median(section, name) or 0
        least, most = min(samples) * scale, max(samples) * scale
        colour = COLOURS[2] if "svc" in name or len(names) == 1 else COLOURS[place % 2]
        yield text(_LEFT - 8, y + 12, name, size=11, anchor="end")
        yield bar(_LEFT, y + 2, length=median * scale, thickness=_BAR - 4, colour=colour)
        yield bar(_LEFT + least, y + 7, length=most - least, thickness=2, colour="black")
        yield text(_LEFT + max(median * scale, most) + 6, y + 12, number(median), size=11)
