"""The result of a run: its course in slices, what has grown, and the facts that have to hold."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.benchmarks import levels
from tests.benchmarks.soak.samples import KINDS, Sample

SLICES: Final = 16
MIB: Final = 2**20
_SHOWN: Final = 6  # relations with a line of their own
SLACK: Final = {"sizes": 2 * MIB, "memory": 8 * MIB}
"""The growth that does not count: what the first vacuums and the caches of a process take."""
OF_SEALS: Final = ("svc.audit_seal", "svc.audit_remov")
"""The beginnings of the relations that grow with each entry: seals keep its leaf, and what tells of its removal."""
_LEAST: Final = 3  # samples in each of the compared quarters

Fact = tuple[str, int | str, bool | None]
"""Its name, its figure, and if it has to hold, the answer."""


@dataclass(frozen=True, slots=True)
class Course:
    """The samples of a run that was planned to take ``seconds``."""

    samples: Sequence[Sample]
    seconds: float

    def quarter(self, number: int) -> list[Sample]:
        """The samples of one of the four quarters of the planned time, the first of which is 0."""
        return [each for each in self.samples if self._part(each, 4) == number]

    def grown(self) -> list[str] | None:
        """The tables, indexes and programs that were larger in the last quarter than in the second, which is alike.

        Those of seals do not count. None if the run ended too early to tell.
        """
        before, after = self.quarter(1), self.quarter(3)
        if min(len(before), len(after)) < _LEAST:
            return None
        return [
            name
            for kind, slack in SLACK.items()
            for name in levels.grown(_most(before, kind), _most(after, kind), slack=slack)
            if not name.startswith(OF_SEALS)
        ]

    def figures(self) -> dict[str, Any]:
        """The course in ``SLICES`` slices, short enough to be saved; None for slices without a sample."""
        parts = [[each for each in self.samples if self._part(each, SLICES) == number] for number in range(SLICES)]
        largest = sorted(_most(self.samples, "sizes").items(), key=lambda size: -size[1])[:_SHOWN]
        programs = sorted(_most(self.samples, "memory"))
        return {
            "minutes": round(self.samples[-1].at / 60, 1) if self.samples else 0,
            "transactions": [_difference(parts, number, "transactions") for number in range(SLICES)],
            **{f"{kind}Ms": [_worst_of(part, kind) for part in parts] for kind in KINDS},
            "queue": [_largest(part, lambda each: each.queue) for part in parts],
            "oldestTransaction": [_largest(part, lambda each: each.oldest_transaction) for part in parts],
            "deadRows": [_largest(part, lambda each: each.dead_rows) for part in parts],
            "sizesMiB": {
                "all tables and indexes": [
                    _largest(part, lambda each: sum(each.sizes.values()) / MIB) for part in parts
                ]
            }
            | {name: [_mebibytes(part, "sizes", name) for part in parts] for name, _ in largest},
            "memoryMiB": {name: [_mebibytes(part, "memory", name) for part in parts] for name in programs},
        }

    def _part(self, one: Sample, parts: int) -> int:
        return min(math.ceil(one.at / self.seconds * parts) - 1, parts - 1)


def _most(samples: Iterable[Sample], kind: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in samples:
        for name, figure in getattr(each, kind).items():
            found[name] = max(found.get(name, 0), figure)
    return found


def _whole(one: Sample) -> float:
    return sum(one.sizes.values()) / MIB


def _of_seals(one: Sample) -> int:
    return sum(size for name, size in one.sizes.items() if name.startswith(OF_SEALS))


def _largest(part: Iterable[Sample], figure: Callable[[Sample], float]) -> float | None:
    return max(map(figure, part), default=None)


def _mebibytes(part: Iterable[Sample], kind: str, name: str) -> float | None:
    found = [getattr(each, kind)[name] / MIB for each in part if name in getattr(each, kind)]
    return max(found, default=None)


def _difference(parts: Sequence[Sequence[Sample]], number: int, count: str) -> int | None:
    """The number of those that were counted in a slice."""
    if not parts[number]:
        return None
    before = next((part[-1].counts.get(count, 0) for part in reversed(parts[:number]) if part), 0)
    return parts[number][-1].counts.get(count, 0) - before


def _worst_of(part: Iterable[Sample], kind: str) -> list[float] | None:
    """The median of the samples' quantiles for the first, and their largest for the others; None of no calls."""
    found = [each.latencies[kind] for each in part if each.latencies.get(kind)]
    if not found:
        return None
    first, *others = zip(*found, strict=True)
    return [sorted(first)[len(first) // 2], *(max(each) for each in others)]


def course_facts(course: Course) -> list[Fact]:
    """The facts that samples alone tell."""
    last = course.samples[-1]
    grown = course.grown()
    return [
        ("transactions", last.counts.get("transactions", 0), None),
        ("messages", last.counts.get("messages", 0), None),
        ("workers killed", last.counts.get("kills", 0), None),
        ("pages opened", last.counts.get("pages", 0), None),
        (
            "grown from the second quarter to the last",
            "unknown: it ended too early" if grown is None else ", ".join(grown) or "nothing",
            None if grown is None else not grown,
        ),
        ("MiB that seals keep of entries", f"{_of_seals(last) / MIB:.1f}", None),
        ("errors", _words(last.errors) or "none", not last.errors),
    ]


def _words(errors: Mapping[str, int]) -> str:
    return "; ".join(f"{words} ({count})" for words, count in sorted(errors.items()))
