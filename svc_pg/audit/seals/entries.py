"""Collect what differs between the entries and their seals, and take out what purges and erasures explain."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from svc_pg.audit.seals.comparison import Comparison
from svc_pg.audit.seals.differences import Differences
from svc_pg.audit.seals.finding import Finding
from svc_pg.audit.seals.leaves import Leaf, sha256_of
from svc_pg.audit.seals.removals import (
    Listed,
    Removals,
    count,
    is_tombstone,
    listed,
    reading,
    returned,
    was_sealed,
)
from svc_pg.database.effects import Effects

Progress = Callable[[int], None]

_MOST_NAMED: Final = 20


class SealedEntries:
    """Takes the comparisons of all seals, and keeps what differs."""

    def __init__(self, progress: Progress) -> None:
        self.verified = self.purged = self.erased = 0
        self.differences = Differences()
        self._findings: list[Finding] = []
        self._progress = progress
        self._removals = Removals()

    def __len__(self) -> int:
        """The number of differences, each of which one finding or two tell."""
        return len(self.differences) + len(self._findings)

    def begin(self) -> Effects[None]:
        """Read what purges and erasures say."""
        self._removals = yield from reading()

    def take(self, comparisons: Sequence[Comparison]) -> Effects[None]:
        """Take the comparisons of some seals."""
        for comparison in comparisons:
            number = comparison.seal.number
            if comparison.is_known:
                self.verified += comparison.entries - len(comparison.extra) - len(comparison.changed)
            if not comparison.has_leaves:
                self._without_leaves(comparison)
            self.differences.extra += [(leaf, number) for leaf in comparison.extra]
            self.differences.changed |= {old.id: (old, new, number) for old, new in comparison.changed}
            yield from self._missing(comparison)
            yield from self._erased(comparison)
        self._progress(self.verified)

    def findings(self, *, last_seal: int | None) -> Effects[list[Finding]]:
        """Everything that differs, in words. ``last_seal`` is None if not all seals were compared."""
        elsewhere = (yield self.differences.elsewhere) if self.differences.missing else []
        fields = (yield self.differences.changed_fields) if self.differences.changed else []
        found = [*self._findings, *self.differences.findings(elsewhere, fields)]
        if last_seal is None:
            return found
        yield from self._read_again()
        for entry in (yield returned(self._removals.erasures)):
            message = f"entry {entry.id} was changed: it has its contents, which erasure {entry.removal} took away"
            found.append(Finding("changed", message, last_seal, str(entry.id)))
        return [*found, *self._false_removals(last_seal)]

    def _missing(self, comparison: Comparison) -> Effects[None]:
        """Keep the missing entries that no purge removed. Purges are read again if need be: one may be under way."""
        missing = comparison.missing
        if not missing:
            return
        rest = yield from self._unpurged(missing)
        if rest and (yield from self._read_again()):
            rest = yield from self._unpurged(rest)
        self.purged += len(missing) - len(rest)
        self.differences.missing |= {leaf.id: (leaf, comparison.seal.number) for leaf in rest}

    def _unpurged(self, leaves: Sequence[Leaf]) -> Effects[list[Leaf]]:
        rest = [leaf for leaf in leaves if not self._removals.has_dropped(leaf)]
        found = _by_entry((yield listed([leaf.id for leaf in rest])) if rest else [])
        return [leaf for leaf in rest if not self._removals.has_purged(leaf, found.get(leaf.id, ()))]

    def _erased(self, comparison: Comparison) -> Effects[None]:
        """Keep the entries that were erased after they were sealed, and that no erasure left as they are."""
        self.erased += len(comparison.erased)
        changed = {leaf.id for leaf in comparison.extra} | {leaf.id for leaf, _ in comparison.changed}
        erased = {int(key): content for key, content in comparison.erased if was_sealed(content)}
        rest = {key: content for key, content in erased.items() if key not in changed}
        if not rest:
            return
        found = yield from self._unerased(rest, comparison.seal.number)
        if found and (yield from self._read_again()):
            found = yield from self._unerased(rest, comparison.seal.number)
        self.verified -= len(found) if comparison.is_known else 0
        self._findings += found

    def _unerased(self, erased: dict[int, str], number: int) -> Effects[list[Finding]]:
        lists = _by_entry((yield listed(erased)))
        findings = []
        for key, content in erased.items():
            told = self._removals.erasure_of(lists.get(key, ()))
            if told is None:
                message = f"entry {key} was erased, and no erasure of the log says so"
                findings.append(Finding("erased", message, number, str(key)))
            elif told.digest != sha256_of(content) or not is_tombstone(content, told.removal):
                message = f"entry {key} was changed: it is not as erasure {told.removal} left it"
                findings.append(Finding("changed", message, number, str(key)))
        return findings

    def _read_again(self) -> Effects[bool]:
        """Read the removals again if there are more than before, and return whether there are."""
        if (yield from count()) == self._removals.read:
            return False
        self._removals = yield from reading()
        return True

    def _without_leaves(self, comparison: Comparison) -> None:
        number = comparison.seal.number
        if comparison.is_sealed:
            message = f"the leaves of seal {number} were changed or removed; its entries are as they were sealed"
            self._findings.append(Finding("leaves_changed", message, number))
            return
        message = (
            f"the entries of seal {number} are not as they were sealed, and its leaves were changed or removed too, so"
            " nothing tells which entries differ"
        )
        self._findings.append(Finding("entries_differ", message, number))

    def _false_removals(self, last_seal: int) -> Iterator[Finding]:
        disproved = self._removals.disproved
        for entry in disproved[:_MOST_NAMED]:
            message = f"entry {entry} is said to tell of a purge or an erasure, and the log never had such an entry"
            yield Finding("removal_claimed", message, last_seal, str(entry))
        if len(disproved) > _MOST_NAMED:
            message = f"the log never had the entries of {len(disproved) - _MOST_NAMED} more purges or erasures"
            yield Finding("removal_claimed", message, last_seal)
        for entry in self._removals.changed:
            message = f"the list of the entries that entry {entry} says it purged or erased was changed"
            yield Finding("removal_claimed", message, last_seal, str(entry))


def _by_entry(found: Sequence[Listed]) -> dict[int, list[Listed]]:
    lists: dict[int, list[Listed]] = {}
    for each in found:
        lists.setdefault(each.id, []).append(each)
    return lists
