"""Compare the entries of a seal with its leaves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from svc_pg.seals.verification.leaf import SIZE, Leaf, split
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.verification.tree import root_of


@dataclass(frozen=True, slots=True)
class Comparison:
    """The entries of a seal: ``missing`` and ``extra`` ones, and the ``changed`` as they were sealed and as they are.

    If the leaves in the database do not match the seal, ``has_leaves`` is false. Then ``is_sealed`` tells if the
    entries match it, but nothing tells which entry differs.
    """

    seal: Seal
    entries: int
    has_leaves: bool = True
    is_sealed: bool = True
    missing: list[Leaf] = field(default_factory=list)
    extra: list[Leaf] = field(default_factory=list)
    changed: list[tuple[Leaf, Leaf]] = field(default_factory=list)
    erased: Sequence[Sequence[str]] = ()
    """The id and the second part of each erased entry."""

    @property
    def is_known(self) -> bool:
        """True if each entry is known to match its seal or not."""
        return self.is_sealed or self.has_leaves


def compare(seal: Seal, found: bytes, kept: bytes | None, erased: Sequence[Sequence[str]] = ()) -> Comparison:
    """Compare the leaves of the entries with those stored when they were sealed, and these with the root."""
    entries = len(found) // SIZE
    has_leaves = kept is not None and is_sealed(seal, kept)
    if kept == found or kept is None or not has_leaves:
        return Comparison(
            seal,
            entries,
            has_leaves=has_leaves,
            is_sealed=has_leaves if kept == found else is_sealed(seal, found),
            erased=erased,
        )
    before, now = Counter(split(kept)), Counter(split(found))  # two entries can have one id, if one is forged
    missing: dict[int, list[Leaf]] = {}
    for leaf in map(Leaf.of, (before - now).elements()):
        missing.setdefault(leaf.id, []).append(leaf)
    extra, changed = [], []
    for leaf in map(Leaf.of, (now - before).elements()):
        if same := missing.get(leaf.id):
            changed.append((same.pop(0), leaf))
        else:
            extra.append(leaf)
    rest = [leaf for leaves in missing.values() for leaf in leaves]
    return Comparison(seal, entries, is_sealed=False, missing=rest, extra=extra, changed=changed, erased=erased)


def is_sealed(seal: Seal, leaves: bytes) -> bool:
    """True if these are the leaves that the seal commits to."""
    return len(leaves) == seal.entries * SIZE and root_of(split(leaves)) == seal.root
