"""Collect what differs between the entries and their seals, and take out what purges and erasures explain."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from svc_pg.audit.patient_steps import Steps
from svc_pg.audit.seals.comparison import Comparison
from svc_pg.audit.seals.differences import Differences
from svc_pg.audit.seals.finding import Finding
from svc_pg.audit.seals.leaves import Leaf
from svc_pg.audit.seals.removals import COUNT, TELLING, Claims, Content, RemovedLeaf, contents_after, removed

Progress = Callable[[int], None]

_MOST_NAMED: Final = 20
_BEFORE_ALL: Final = -(2**63)


@dataclass(slots=True)
class _Gone:
    """The entries of one table that one erasure or the purges must tell of, and the first of them."""

    entry: str
    seal: int
    entries: int = 0
    is_late: bool = False
    """True if one of them was sealed after the first run of sealing."""


class SealedEntries:
    """Takes the comparisons of all seals, and keeps what differs."""

    def __init__(self, progress: Progress) -> None:
        self.verified = self.purged = self.erased = 0
        self.differences = Differences()
        self._findings: list[Finding] = []
        self._progress = progress
        self._claims = Claims()
        self._proven: dict[int, bytes] = {}
        self._erased: dict[tuple[str, str], _Gone] = {}
        self._removed: dict[str, _Gone] = {}
        self._began_at: datetime | None = None

    def __len__(self) -> int:
        """The number of differences, each of which one finding or two tell."""
        return len(self.differences) + len(self._findings)

    def begin(self) -> Steps[None]:
        """Read what purges and erasures say, and which of their entries are there now: they may be purged soon."""
        yield from self._read_telling()
        yield from self._read_claims()

    def take(self, comparisons: Sequence[Comparison]) -> Steps[None]:
        """Take the comparisons of some seals."""
        for comparison in comparisons:
            number = comparison.seal.number
            self._began_at = self._began_at or comparison.seal.sealed_at
            if comparison.is_known:
                self.verified += comparison.entries - len(comparison.extra) - len(comparison.changed)
            if not comparison.has_leaves:
                self._without_leaves(comparison)
            elif comparison.missing:
                yield from self._missing(comparison)
            self.differences.extra += [(leaf, number) for leaf in comparison.extra]
            self.differences.changed |= {old.id: (old, new, number) for old, new in comparison.changed}
            self._count_erased(comparison)
        self._progress(self.verified)

    def findings(self, *, last_seal: int | None) -> Steps[list[Finding]]:
        """Everything that differs, in words. ``last_seal`` is None if not all seals were compared."""
        elsewhere = (yield self.differences.elsewhere) if self.differences.missing else []
        fields = (yield self.differences.changed_fields) if self.differences.changed else []
        found = [*self._findings, *self.differences.findings(elsewhere, fields)]
        yield from self._read_claims()
        found += self._removed_by_nobody()
        found += self._erased_by_nobody()
        if last_seal is not None and self._claims.unproven(self._proven):
            yield from self._read_telling()
            found += self._claimed_by_nobody(last_seal)
        return found

    def _missing(self, comparison: Comparison) -> Steps[None]:
        """Keep the missing entries that no purge removed. Purges are read again if need be: one may be under way."""
        number, missing = comparison.seal.number, comparison.missing
        self._proven |= {leaf.id: leaf.digest for leaf in missing if self._claims.digests.get(leaf.id) == leaf.digest}
        taken: list[RemovedLeaf] = yield removed(missing)
        tables = {(each.id, each.leaf): each.table_name for each in taken}
        rest = self._unexplained(missing, tables, number)
        if rest:
            yield from self._read_claims()
            rest = self._unexplained(rest, tables, number)
        self.purged += len(missing) - len(rest)
        self.differences.missing |= {leaf.id: (leaf, number) for leaf in rest}

    def _unexplained(self, leaves: Sequence[Leaf], tables: Mapping[tuple[int, bytes], str], number: int) -> list[Leaf]:
        """The leaves that no purge removed; of those that one removed without their partition, count them."""
        rest = []
        for leaf in leaves:
            if self._claims.has_dropped(leaf):
                continue
            table = tables.get((leaf.id, leaf.digest))
            if table is None or not self._claims.has_removed(leaf, table):
                rest.append(leaf)
                continue
            self._removed.setdefault(table, _Gone(str(leaf.id), number)).entries += 1
        return rest

    def _read_claims(self) -> Steps[None]:
        """Read all claims if there are more than before: none ever goes."""
        [count] = yield COUNT
        if count.removals == len(self._claims.digests):
            return
        claims = Claims()
        page: list[Content] = yield contents_after(_BEFORE_ALL)
        while page:
            claims.add(page)
            page = yield contents_after(page[-1].entry_id)
        self._claims = claims

    def _read_telling(self) -> Steps[None]:
        telling = yield TELLING
        self._proven |= {entry.id: entry.digest for entry in telling}

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

    def _count_erased(self, comparison: Comparison) -> None:
        for entry, table, erasure in comparison.erased:
            self.erased += 1
            key = (erasure or "", table)
            gone = self._erased.setdefault(key, _Gone(entry, comparison.seal.number))
            gone.entries += 1
            gone.is_late |= comparison.seal.sealed_at != self._began_at

    def _removed_by_nobody(self) -> Iterator[Finding]:
        for table, gone in self._removed.items():
            told = self._claims.batches[table].entries
            if told < gone.entries:
                message = (
                    f"{gone.entries} entries of {table} are gone as if purged, and purges say that they removed {told}:"
                    f" for example entry {gone.entry}"
                )
                yield Finding("deleted", message, gone.seal, gone.entry)

    def _claimed_by_nobody(self, last_seal: int) -> Iterator[Finding]:
        # the entry of an erasure may have been purged before there were seals: then its entries are in the first ones
        late = {erasure for (erasure, _), gone in self._erased.items() if gone.is_late}
        unproven = [
            entry
            for entry in sorted(self._claims.unproven(self._proven))
            if entry not in self._claims.erasures or str(entry) in late
        ]
        for entry in unproven[:_MOST_NAMED]:
            message = f"entry {entry} is said to tell of a purge or an erasure, and the log never had such an entry"
            yield Finding("removal_claimed", message, last_seal, str(entry))
        if len(unproven) > _MOST_NAMED:
            message = f"the log never had the entries of {len(unproven) - _MOST_NAMED} more purges or erasures"
            yield Finding("removal_claimed", message, last_seal)

    def _erased_by_nobody(self) -> Iterator[Finding]:
        for (erasure, table), erased in self._erased.items():
            told = self._claims.erased.get((erasure, table), 0)
            if told >= erased.entries:
                continue
            if told:
                message = (
                    f"{erased.entries} entries of {table} say that erasure {erasure} erased them, which says {told}:"
                    f" for example entry {erased.entry}"
                )
            elif erased.entries > 1:
                message = (
                    f"{erased.entries} entries of {table} were erased, and no erasure of the log says so:"
                    f" for example entry {erased.entry}"
                )
            else:
                message = f"entry {erased.entry} was erased, and no erasure of the log says so"
            yield Finding("erased", message, erased.seal, erased.entry)
