"""The figures of a run: samples of each candidate in each section, and the goals."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Candidate = TypeVar("Candidate")


@dataclass(frozen=True, slots=True)
class Section:
    """A comparison. ``reference`` is the candidate to divide the others by, if the ratio is meaningful."""

    title: str
    unit: str
    note: str = ""
    reference: str | None = None


def turns(candidates: Iterable[Candidate], number: int) -> list[Candidate]:
    """All candidates, in every round from another one on, so that none always follows the same one."""
    order = list(candidates)
    start = number % len(order)
    return order[start:] + order[:start]


class Figures:
    """Samples by section and candidate, in the order of their first sample; one sample of each a round."""

    def __init__(self) -> None:
        self._samples: dict[Section, dict[str, list[float]]] = {}

    def add(self, section: Section, name: str, *values: float) -> None:
        """Add a sample."""
        self._samples.setdefault(section, {}).setdefault(name, []).extend(values)

    def sections(self) -> list[Section]:
        """The measured sections."""
        return list(self._samples)

    def names(self, section: Section) -> list[str]:
        """The candidates of a section."""
        return list(self._samples.get(section, {}))

    def samples(self, section: Section, name: str) -> list[float]:
        """All samples of one candidate."""
        return self._samples.get(section, {}).get(name, [])

    def median(self, section: Section, name: str) -> float | None:
        """The median; None without samples."""
        samples = self.samples(section, name)
        return median(samples) if samples else None

    def ratio(self, section: Section, name: str, reference: str) -> float | None:
        """The median over the rounds of the candidate divided by the reference, which met the same load."""
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
        """The measured figure or ratio; None if it was not measured."""
        if self.reference is None:
            return figures.median(self.section, self.name)
        return figures.ratio(self.section, self.name, self.reference)

    def holds(self, figures: Figures) -> bool | None:
        """True if the goal is met; None if it was not measured."""
        measured = self.measured(figures)
        if measured is None:
            return None
        return measured >= self.limit if self.is_least else measured <= self.limit
