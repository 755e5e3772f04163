"""Collect what differs between the entries and their seals, and take out what purges and erasures explain."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from svc_pg.audit.patient_steps import Steps
from svc_pg.audit.seals.comparison import Comparison
from svc_pg.audit.seals.differences import Differences
from svc_pg.audit.seals.finding import Finding
from svc_pg.audit.seals.leaves import Leaf
from svc_pg.audit.seals.removals import (
    BATCHES,
    DROPPED,
    Erasure,
    Purges,
    RemovedLeaf,
    erasures,
    removed,
)

Progress = Callable[[int], None]


@dataclass(slots=True)
class _Told:
    """The entries of one table that one erasure or the purges must tell of, and the first of them."""

    entry: str
    seal: int
    entries: int = 0


class SealedEntries:
    """Takes the comparisons of all seals, and keeps what differs."""

    def __init__(self, progress: Progress) -> None:
        self.verified = self.purged = self.erased = 0
        self.differences = Differences()
        self._findings: list[Finding] = []
        self._progress = progress
        self._purges = Purges()
        self._erased: dict[tuple[str, str], _Told] = {}
        self._removed: dict[str, _Told] = {}

    def __len__(self) -> int:
        """The number of all that differs, which a finding tells or two."""
        return len(self.differences) + len(self._findings)

    def take(self, comparisons: Sequence[Comparison]) -> Steps[None]:
        """Take the comparisons of some seals."""
        for comparison in comparisons:
            number = comparison.seal.number
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

    def findings(self) -> Steps[list[Finding]]:
        """Everything that differs, in words."""
        elsewhere = (yield self.differences.elsewhere) if self.differences.missing else []
        fields = (yield self.differences.changed_fields) if self.differences.changed else []
        found = [*self._findings, *self.differences.findings(elsewhere, fields)]
        if any(self._removed_by_nobody()):
            yield from self._read_purges()
            found += self._removed_by_nobody()
        if self._erased:
            known: list[Erasure] = yield erasures([*{erasure for erasure, _ in self._erased}])
            found += self._erased_by_nobody({(each.id, each.table_name): each.entries for each in known})
        return found

    def _missing(self, comparison: Comparison) -> Steps[None]:
        """Keep the missing entries that no purge removed. Purges are read again if need be: one may be under way."""
        number, missing = comparison.seal.number, comparison.missing
        taken: list[RemovedLeaf] = yield removed(missing)
        tables = {(each.id, each.leaf): each.table_name for each in taken}
        rest = self._unexplained(missing, tables, number)
        if rest:
            yield from self._read_purges()
            rest = self._unexplained(rest, tables, number)
        self.purged += len(missing) - len(rest)
        self.differences.missing |= {leaf.id: (leaf, number) for leaf in rest}

    def _unexplained(self, leaves: Sequence[Leaf], tables: Mapping[tuple[int, bytes], str], number: int) -> list[Leaf]:
        """The leaves that no purge removed; of those that one removed without their partition, count them."""
        rest = []
        for leaf in leaves:
            if self._purges.has_dropped(leaf):
                continue
            table = tables.get((leaf.id, leaf.digest))
            if table is None or not self._purges.has_removed(leaf, table):
                rest.append(leaf)
                continue
            self._removed.setdefault(table, _Told(str(leaf.id), number)).entries += 1
        return rest

    def _read_purges(self) -> Steps[None]:
        dropped = yield DROPPED
        batches = yield BATCHES
        self._purges = Purges(dropped, {each.table_name: each for each in batches})

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
            self._erased.setdefault(key, _Told(entry, comparison.seal.number)).entries += 1

    def _removed_by_nobody(self) -> Iterator[Finding]:
        for table, gone in self._removed.items():
            told = self._purges.batches[table].entries
            if told < gone.entries:
                message = (
                    f"{gone.entries} entries of {table} are gone as if purged, and purges say that they removed {told}:"
                    f" for example entry {gone.entry}"
                )
                yield Finding("deleted", message, gone.seal, gone.entry)

    def _erased_by_nobody(self, known: Mapping[tuple[str, str], int]) -> Iterator[Finding]:
        for (erasure, table), erased in self._erased.items():
            told = known.get((erasure, table), 0)
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
