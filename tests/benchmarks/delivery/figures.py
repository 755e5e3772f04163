"""The figures of a run: samples of each candidate in each section, and which goals they meet."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Candidate = TypeVar("Candidate")


@dataclass(frozen=True, slots=True)
class Section:
    """A comparison. ``reference`` is the candidate that the others are divided by, if that says something."""

    title: str
    unit: str
    note: str = ""
    reference: str | None = None


def turns(candidates: Iterable[Candidate], number: int) -> list[Candidate]:
    """All of them, in every round from another one on, so that none always follows the same."""
    order = list(candidates)
    start = number % len(order)
    return order[start:] + order[:start]


class Figures:
    """Samples by section and candidate, in the order in which they came first; one sample of each a round."""

    def __init__(self) -> None:
        self._samples: dict[Section, dict[str, list[float]]] = {}

    def add(self, section: Section, name: str, *values: float) -> None:
        """Note what was measured."""
        self._samples.setdefault(section, {}).setdefault(name, []).extend(values)

    def sections(self) -> list[Section]:
        """Those that were measured."""
        return list(self._samples)

    def names(self, section: Section) -> list[str]:
        """The candidates of a section."""
        return list(self._samples.get(section, {}))

    def samples(self, section: Section, name: str) -> list[float]:
        """Everything that was measured of one candidate."""
        return self._samples.get(section, {}).get(name, [])

    def median(self, section: Section, name: str) -> float | None:
        """None where nothing was measured."""
        samples = self.samples(section, name)
        return median(samples) if samples else None

    def ratio(self, section: Section, name: str, reference: str) -> float | None:
        """The median over the rounds of the candidate divided by the reference: both met the same machine."""
        pairs = list(zip(self.samples(section, name), self.samples(section, reference), strict=False))
        return median(ours / theirs for ours, theirs in pairs) if pairs else None


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure, or with ``reference`` a ratio of two, is at least (or unless ``is_least`` at most) the limit."""

    words: str
    section: Section
    name: str
    limit: float
    reference: str | None = None
    is_least: bool = True

    def measured(self, figures: Figures) -> float | None:
        """None where it was not measured."""
        if self.reference is None:
            return figures.median(self.section, self.name)
        return figures.ratio(self.section, self.name, self.reference)

    def holds(self, figures: Figures) -> bool | None:
        """None where it was not measured."""
        measured = self.measured(figures)
        if measured is None:
            return None
        return measured >= self.limit if self.is_least else measured <= self.limit
