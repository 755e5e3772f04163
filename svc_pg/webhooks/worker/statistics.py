"""Counters and histograms of a worker, which can be added up over processes."""

import json
from bisect import bisect_left
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Final, Self

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0)


def _no_counts() -> list[int]:
    return [0] * (len(BUCKETS) + 1)


@dataclass(slots=True)
class Histogram:
    """The number of durations in each bucket, the last of which has no upper bound, and their sum in seconds."""

    counts: list[int] = field(default_factory=_no_counts)
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds

    def __add__(self, other: Self) -> "Histogram":
        counts = [mine + its for mine, its in zip(self.counts, other.counts, strict=True)]
        return Histogram(counts, self.seconds + other.seconds)


@dataclass(slots=True)
class Statistics:
    """The counters. All but ``in_flight`` only grow.

    ``attempts`` are counted by outcome, ``deliveries`` by disposition, ``maintenance`` and ``sealing`` by success or
    failure; ``sealing_refusals`` are failures because the log lacked known seals.
    """

    attempts: Counter[str] = field(default_factory=Counter)
    attempt_duration: Histogram = field(default_factory=Histogram)
    deliveries: Counter[str] = field(default_factory=Counter)
    claimed: int = 0
    claim_duration: Histogram = field(default_factory=Histogram)
    in_flight: int = 0
    lost_leases: int = 0
    disabled_endpoints: int = 0
    reconnects: int = 0
    maintenance: Counter[str] = field(default_factory=Counter)
    sealing: Counter[str] = field(default_factory=Counter)
    sealing_refusals: int = 0

    def __add__(self, other: Self) -> "Statistics":
        return Statistics(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})

    def to_json(self) -> str:
        """One line of JSON, for ``from_json``."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}, default=asdict)

    @classmethod
    def from_json(cls, text: str) -> "Statistics":
        """Read the statistics of another process."""
        values = json.loads(text)
        for name in ("attempts", "deliveries", "maintenance", "sealing"):
            values[name] = Counter(values[name])
        for name in ("attempt_duration", "claim_duration"):
            values[name] = Histogram(**values[name])
        return cls(**values)
