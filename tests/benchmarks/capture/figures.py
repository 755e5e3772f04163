"""The figures of a run: the cost of a write, the overhead of the audit, and the goals."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import mean
from typing import Final

from tests.benchmarks.capture import candidates as names
from tests.benchmarks.capture.workload import Sample, Shape

SINGLE: Final = "1 row, 1 client"
BULK: Final = "bulk"
_WRITES: Final = ("INSERT", "UPDATE", "DELETE")


class Figures:
    """Samples by shape, candidate and operation, and the number of samples of each shape."""

    def __init__(self) -> None:
        self.rounds: dict[str, int] = {}
        self._samples: defaultdict[tuple[str, str, str], list[Sample]] = defaultdict(list)

    def add(self, shape: Shape, candidate: str, samples: dict[str, Sample]) -> None:
        """Add the samples of one visit."""
        for operation, sample in samples.items():
            self._samples[shape.name, candidate, operation].append(sample)

    def sample(self, shape: str, candidate: str, operation: str) -> Sample | None:
        """The mean of the better half, since noise only ever adds; None if nothing was measured."""
        samples = self._samples.get((shape, candidate, operation))
        if not samples:
            return None
        return Sample(
            cpu=_better_half([sample.cpu for sample in samples]),
            wall=_better_half([sample.wall for sample in samples]),
        )

    def overhead(self, shape: str, candidate: str, operation: str) -> float | None:
        """Microseconds of backend CPU a row that the candidate adds to the same write without audit."""
        audited = self.sample(shape, candidate, operation)
        plain = self.sample(shape, names.NO_AUDIT, operation)
        return audited.cpu - plain.cpu if audited and plain else None

    def ratio(self, shape: str, candidate: str, reference: str, operation: str) -> float | None:
        """The candidate's overhead divided by that of the reference; None if that is not above zero."""
        ours = self.overhead(shape, candidate, operation)
        theirs = self.overhead(shape, reference, operation)
        return ours / theirs if ours is not None and theirs is not None and theirs > 0 else None


def _better_half(times: list[float]) -> float:
    return mean(sorted(times)[: (len(times) + 1) // 2])


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit for the overhead of one candidate as a multiple of another's."""

    shape: str
    candidate: str
    reference: str
    operation: str
    limit: float

    def holds(self, figures: Figures) -> bool | None:
        """True if the goal is met; None if it was not measured."""
        ratio = figures.ratio(self.shape, self.candidate, self.reference, self.operation)
        return None if ratio is None else ratio <= self.limit


def goals() -> list[Goal]:
    """The goals that svc-pg sets itself, each write apart."""
    single = [
        Goal(SINGLE, names.SVC, reference, operation, limit)
        for reference, limits in (
            (names.EQUAL, (1.25, 1.25, 1.25)),
            (names.BARE, (2.1, 1.8, 2.1)),
            (names.POSTGRESQL_AUDIT, (0.6, 0.6, 0.6)),
            (names.PGHISTORY, (1.15, 1.6, 1.15)),  # which keeps one image
            (names.SVC_MORE, (0.88, 0.88, 0.88)),
        )
        for operation, limit in zip(_WRITES, limits, strict=True)
    ]
    single += [Goal(SINGLE, names.SVC_FEWEST, names.SVC_MORE, operation, 0.76) for operation in _WRITES]
    bulk = [
        Goal(BULK, names.SVC_STATEMENT, reference, operation, limit)
        for reference, limit in ((names.BARE_STATEMENT, 1.3), (names.POSTGRESQL_AUDIT, 0.5))
        for operation in _WRITES
    ]
    bulk += [
        Goal(BULK, names.SVC_STATEMENT, names.POSTGRESQL_AUDIT_STATEMENT, operation, limit)
        for operation, limit in zip(_WRITES, (1.2, 1, 1.2), strict=True)  # which keeps one image of a row
    ]
    return single + bulk
