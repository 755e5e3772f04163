"""Describe the changes to entries that are not as they were sealed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from svc_pg.seals.verification.comparison import Comparison
from svc_pg.seals.verification.finding import Finding, FindingKind
from svc_pg.seals.verification.leaf import Leaf


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An entry of the log that is not among the entries of its seal."""

    id: int
    xact_id: int
    time: str


@dataclass(slots=True)
class Differences:
    """All entries that differ from their seals, each with the number of its seal, and the ``findings`` beside them."""

    missing: list[tuple[Leaf, int]] = field(default_factory=list)
    extra: list[tuple[Leaf, int]] = field(default_factory=list)
    changed: list[tuple[Leaf, Leaf, int]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def __len__(self) -> int:
        """The number of differences; each makes one or two findings."""
        return len(self.missing) + len(self.extra) + len(self.changed) + len(self.findings)

    def take(self, comparison: Comparison) -> None:
        """Keep the differences of a seal, except ``missing`` and ``erased`` entries, which removals may explain."""
        number = comparison.seal.number
        self.extra += [(leaf, number) for leaf in comparison.extra]
        self.changed += [(before, now, number) for before, now in comparison.changed]
        if not comparison.has_leaves:
            self.findings.append(_without_leaves(comparison))

    def named(self, elsewhere: Iterable[Elsewhere], fields: Mapping[int, str]) -> Iterator[Finding]:
        """Each difference in words. ``fields`` names the changed field of some of the entries."""
        yield from self.findings
        yield from self._of_changed(fields)
        yield from self._of_missing({entry.id: entry for entry in elsewhere})

    def _of_changed(self, fields: Mapping[int, str]) -> Iterator[Finding]:
        sealed = {leaf.digest: leaf for leaf, _, _ in self.changed}
        for before, now, seal in self.changed:
            other = sealed.get(now.digest)
            if before.digest == now.digest:
                yield _finding("redated", before, seal, f"its time was {_time(before)} and is {_time(now)}")
            elif other is not None and other.id != before.id:
                yield _finding("swapped", before, seal, f"it has what entry {other.id} had when it was sealed")
            else:
                moved = "" if before.time == now.time else f"; its time was {_time(before)} and is {_time(now)}"
                yield _finding("changed", before, seal, fields.get(before.id, _digests(before, now)) + moved)

    def _of_missing(self, out_of_place: Mapping[int, Elsewhere]) -> Iterator[Finding]:
        present = {leaf.id: (leaf, number) for leaf, number in self.extra}
        by_content = {(leaf.time, leaf.digest): leaf for leaf, _ in self.extra}
        explained = set()
        for before, seal in self.missing:
            if before.id in present:
                now, _ = present[before.id]
                explained.add(now)
                if before.digest == now.digest:
                    yield _finding("redated", before, seal, f"its time was {_time(before)} and is {_time(now)}")
                else:
                    yield _finding("changed", before, seal, f"{_digests(before, now)}, its transaction too")
            elif (twin := by_content.get((before.time, before.digest))) is not None:
                explained.add(twin)
                yield _finding("renumbered", before, seal, f"its id is {twin.id} now")
            elif (entry := out_of_place.get(before.id)) is not None:
                yield _finding(
                    "changed", before, seal, f"its transaction is {entry.xact_id} and its time {entry.time} now"
                )
            else:
                yield _finding("deleted", before, seal, f"it is not in the log; its time was {_time(before)}")
        for now, seal in self.extra:
            if now not in explained:
                yield _finding("inserted", now, seal, f"seal {seal} does not have it; its time is {_time(now)}")


_WORDS: Final[dict[FindingKind, str]] = {
    "changed": "was changed",
    "deleted": "was deleted",
    "inserted": "was inserted",
    "redated": "was re-dated",
    "renumbered": "got another id",
    "swapped": "was exchanged",
}


def _finding(kind: FindingKind, leaf: Leaf, seal: int, detail: str) -> Finding:
    message = f"entry {leaf.id} {_WORDS[kind]}: {detail}"
    return Finding(kind, message, seal, str(leaf.id), leaf.timestamp)


def _without_leaves(comparison: Comparison) -> Finding:
    number = comparison.seal.number
    if comparison.is_sealed:
        message = f"the leaves of seal {number} were changed or removed; its entries are as they were sealed"
        return Finding("leaves_changed", message, number)
    message = (
        f"the entries of seal {number} are not as they were sealed, and its leaves were changed or removed too, so"
        " nothing tells which entries differ"
    )
    return Finding("entries_differ", message, number)


def _digests(before: Leaf, now: Leaf) -> str:
    return f"the digest of its fields was {before.digest.hex()[:16]} and is {now.digest.hex()[:16]}"


def _time(leaf: Leaf) -> str:
    time = leaf.timestamp
    return "infinite" if time is None else f"{time:%Y-%m-%d %H:%M:%S.%f}Z"
