"""The differences that the comparison of a table has found so far, and how many of them a repair has written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from svc_pg.audit.log.reconciliation import Difference

Count = Literal[
    "rows", "unrecorded", "missing", "differing", "erased", "unknown", "unkeyed", "uncounted", "records", "gone",
    "lost", "repaired",
]  # fmt: skip
"""``uncounted`` is 1 if it is not known how many rows are unkeyed."""

_REPAIRABLE: Final[tuple[Count, ...]] = ("unrecorded", "missing", "differing", "unknown", "gone", "lost")
_OF_RECORDS: Final[tuple[Count, ...]] = ("records", "gone", "lost")


@dataclass(frozen=True, slots=True)
class Piece:
    """The numbers of a piece, and some of its differences."""

    counts: Counter[Count]
    differences: Sequence[Difference]

    @property
    def is_faulty(self) -> bool:
        """True if a repair would write entries."""
        return any(self.counts[name] for name in _REPAIRABLE)


@dataclass(slots=True)
class Findings:
    """The numbers and the first differences.

    What a repair has written is ``kept`` apart: if the same part is compared again, it is not found again.
    """

    left: Counter[Count] = field(default_factory=Counter)
    kept: Counter[Count] = field(default_factory=Counter)
    left_differences: list[Difference] = field(default_factory=list)
    kept_differences: list[Difference] = field(default_factory=list)

    @property
    def counts(self) -> Counter[Count]:
        """The numbers of all."""
        return self.left + self.kept

    @property
    def differences(self) -> list[Difference]:
        """The differences of all."""
        return self.kept_differences + self.left_differences

    def add(self, piece: Piece) -> None:
        """Add a piece."""
        self.left.update(piece.counts)
        self.left_differences.extend(piece.differences)

    def keep(self, piece: Piece, entries: int) -> None:
        """Note that a repair has written the differences of the piece that was added last, as so many entries."""
        repaired: Counter[Count] = Counter({name: piece.counts[name] for name in _REPAIRABLE})
        self.left.subtract(repaired)
        self.kept.update(repaired)
        self.kept["repaired"] += entries
        self.kept_differences.extend(piece.differences)
        del self.left_differences[len(self.left_differences) - len(piece.differences) :]

    def restart(self, left: Mapping[Count, int], named: int) -> None:
        """Forget what was found since the numbers were these, with so many differences, unless it is repaired."""
        self.left = Counter(left)
        del self.left_differences[named:]

    def forget_records(self) -> None:
        """Forget what was found among the records of the log, unless it is repaired."""
        self.left = Counter({name: number for name, number in self.left.items() if name not in _OF_RECORDS})
        self.left_differences = [each for each in self.left_differences if each.kind != "gone"]
