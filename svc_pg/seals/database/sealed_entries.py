"""Collect the differences between entries and seals, except those that purges and erasures explain."""

from collections.abc import Callable, Sequence
from typing import Final

from svc_pg.database.effects import Effects
from svc_pg.database.query import Query
from svc_pg.seals.database.changed_fields import restored
from svc_pg.seals.database.removal_queries import count, reading, removals_of, returned_entries
from svc_pg.seals.database.seal_differences import Differences, Elsewhere
from svc_pg.seals.verification.comparison import Comparison
from svc_pg.seals.verification.finding import Finding
from svc_pg.seals.verification.leaf import Leaf
from svc_pg.seals.verification.removals import Removals, was_sealed

Progress = Callable[[int], None]

_ELSEWHERE: Final = """
select id, xact_id, "timestamp"::text as time from svc.audit_logs where id = any (%s::bigint[]) order by id
"""


class SealedEntries:
    """Takes the comparisons of all seals, and keeps the differences."""

    def __init__(self, progress: Progress) -> None:
        self.verified = self.purged = self.erased = 0
        self._differences = Differences()
        self._progress = progress
        self._removals = Removals()

    def __len__(self) -> int:
        """The number of differences; each makes one or two findings."""
        return len(self._differences)

    def begin(self) -> Effects[None]:
        """Read the purges and erasures."""
        self._removals = yield from reading()

    def take(self, comparisons: Sequence[Comparison]) -> Effects[None]:
        """Take the comparisons of some seals."""
        for comparison in comparisons:
            if comparison.is_known:
                self.verified += comparison.entries - len(comparison.extra) - len(comparison.changed)
            self._differences.take(comparison)
            yield from self._missing(comparison)
            yield from self._erased(comparison)
        self._progress(self.verified)

    def findings(self, *, last_seal: int | None) -> Effects[list[Finding]]:
        """All differences, in words. ``last_seal`` is None if not all seals were compared."""
        missing, changed = self._differences.missing, self._differences.changed
        elsewhere = (yield Query(_ELSEWHERE, ([leaf.id for leaf, _ in missing],), Elsewhere)) if missing else []
        forged = [before for before, now, _ in changed if before.digest != now.digest]
        fields = (yield restored(forged)) if changed else []
        found = [*self._differences.named(elsewhere, {field.id: str(field) for field in fields})]
        if last_seal is None:
            return found
        yield from self._read_again()
        for entry in (yield returned_entries(self._removals.erasures)):
            message = f"entry {entry.id} was changed: it has its contents, which erasure {entry.removal} took away"
            found.append(Finding("changed", message, last_seal, str(entry.id)))
        return [*found, *self._removals.claims(seal=last_seal)]

    def _missing(self, comparison: Comparison) -> Effects[None]:
        """Keep the missing entries that no purge removed. Purges are read again if need be: one may be under way."""
        missing = comparison.missing
        if not missing:
            return
        rest = yield from self._unpurged(missing)
        if rest and (yield from self._read_again()):
            rest = yield from self._unpurged(rest)
        self.purged += len(missing) - len(rest)
        self._differences.missing += [(leaf, comparison.seal.number) for leaf in rest]

    def _unpurged(self, leaves: Sequence[Leaf]) -> Effects[list[Leaf]]:
        rest = self._removals.undropped(leaves)
        return self._removals.unpurged(rest, (yield removals_of([leaf.id for leaf in rest])) if rest else [])

    def _erased(self, comparison: Comparison) -> Effects[None]:
        """Keep the entries that were erased after they were sealed, and that no erasure left as they are."""
        self.erased += len(comparison.erased)
        changed = {leaf.id for leaf in comparison.extra} | {leaf.id for leaf, _ in comparison.changed}
        erased = [(int(key), content) for key, content in comparison.erased if was_sealed(content)]
        rest = [(key, content) for key, content in erased if key not in changed]
        if not rest:
            return
        found = yield from self._unerased(rest, comparison.seal.number)
        if found and (yield from self._read_again()):
            found = yield from self._unerased(rest, comparison.seal.number)
        self.verified -= len(found) if comparison.is_known else 0
        self._differences.findings += found

    def _unerased(self, erased: Sequence[tuple[int, str]], number: int) -> Effects[list[Finding]]:
        return [*self._removals.unerased(erased, (yield removals_of([key for key, _ in erased])), seal=number)]

    def _read_again(self) -> Effects[bool]:
        """Read the removals again if there are more than before, and return whether there are."""
        if (yield from count()) == self._removals.read:
            return False
        self._removals = yield from reading()
        return True
