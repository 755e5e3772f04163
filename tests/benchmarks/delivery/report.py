"""Show the figures of a run: tables for people, JSON for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tests.benchmarks.delivery.figures import Figures, Goal, Section

MISSING = "-"
_VERDICTS = {True: "[green]holds[/]", False: "[red]missed[/]", None: "not measured"}


def tables(figures: Figures, goals: Sequence[Goal], circumstances: Mapping[str, str]) -> Iterator[RenderableType]:
    """The circumstances, each section, and the goals."""
    yield _circumstances(circumstances)
    for section in figures.sections():
        yield _section(figures, section)
    yield _goals(figures, goals)


def number(value: float | None) -> str:
    """A figure with about three significant digits."""
    if value is None:
        return MISSING
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _circumstances(circumstances: Mapping[str, str]) -> Table:
    table = Table(title="Circumstances", title_justify="left", show_header=False)
    for name, value in circumstances.items():
        table.add_row(name, value)
    return table


def _section(figures: Figures, section: Section) -> Table:
    table = Table(title=section.title, title_justify="left", caption=section.note or None, caption_justify="left")
    table.add_column(section.unit, no_wrap=True)
    for heading in ("median", "least", "most", "rounds"):
        table.add_column(heading, justify="right", no_wrap=True)
    if section.reference:
        table.add_column("times the first", justify="right", no_wrap=True)
    for name in figures.names(section):
        samples = figures.samples(section, name)
        row = [name, *map(number, (figures.median(section, name), min(samples), max(samples))), str(len(samples))]
        if section.reference:
            row.append("" if name == section.reference else number(figures.ratio(section, name, section.reference)))
        table.add_row(*row)
    return table


def _goals(figures: Figures, goals: Sequence[Goal]) -> Table:
    table = Table(title="Goals", title_justify="left")
    for heading in ("what", "goal", "measured", ""):
        table.add_column(heading, justify="right" if heading == "measured" else "left", no_wrap=True)
    for goal in goals:
        table.add_row(
            goal.words,
            f"at {'least' if goal.is_least else 'most'} {goal.limit:,g}",
            number(goal.measured(figures)),
            Text.from_markup(_VERDICTS[goal.holds(figures)]),
        )
    return table


def figures_of(figures: Figures, sections: Sequence[Section], goals: Sequence[Goal]) -> dict[str, Any]:
    """The figures of some sections in short, each with its goal."""
    return {
        section.title: {
            "unit": section.unit,
            "results": {
                name: {
                    "median": figures.median(section, name),
                    "least": min(figures.samples(section, name)),
                    "most": max(figures.samples(section, name)),
                    "ratio": section.reference and figures.ratio(section, name, section.reference),
                }
                for name in figures.names(section)
            },
            "goals": [_judged(goal, figures) for goal in goals if goal.section == section],
        }
        for section in sections
    }


def document(figures: Figures, goals: Sequence[Goal], circumstances: Mapping[str, str]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "circumstances": dict(circumstances),
        "sections": [
            {
                "title": section.title,
                "unit": section.unit,
                "note": section.note,
                "results": [
                    {
                        "name": name,
                        "median": figures.median(section, name),
                        "samples": figures.samples(section, name),
                        "ratio": section.reference and figures.ratio(section, name, section.reference),
                    }
                    for name in figures.names(section)
                ],
            }
            for section in figures.sections()
        ],
        "goals": [_judged(goal, figures) for goal in goals],
    }


def _judged(goal: Goal, figures: Figures) -> dict[str, Any]:
    return {
        "what": goal.words,
        "isLeast": goal.is_least,
        "limit": goal.limit,
        "measured": goal.measured(figures),
        "holds": goal.holds(figures),
    }
