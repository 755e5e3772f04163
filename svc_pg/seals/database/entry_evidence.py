"""Find what the database has to prove entries by: each one as it is now, its seal, and the way to the seal's root."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final, Literal

from svc_pg.database.effects import Effects
from svc_pg.database.performing import ByRanges
from svc_pg.database.query import Query
from svc_pg.seals.database.leaf_queries import CONTENT, CONTENT_DIGEST, WHO
from svc_pg.seals.database.stored_seals import readable_leaves, sealing_of
from svc_pg.seals.verification.leaf import split
from svc_pg.seals.verification.proof import Proof
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.verification.tree import levels_of, path_in, root_above

MOST_SEALS: Final = 5
"""The most seals whose trees one call builds, which takes 50 ms each."""
EvidenceState = Literal["sealed", "not_sealed", "changed", "missing", "leaves_changed"]

_ENTRY: Final = (
    """
select pg_catalog.timestamptz_send(l."timestamp") as time, {who} as who, {content_digest} as digest,
       case when l.erased_leaf is null or pg_catalog.length(l.erased_leaf) = 0 then {content} end as content
  from svc.audit_logs l where l."timestamp" = %s::timestamptz and l.id = %s
""".replace("{who}", WHO)
    .replace("{content_digest}", CONTENT_DIGEST)
    .replace("{content}", CONTENT)
)
_TIMES: Final = """
select l.id, pg_catalog.min(l."timestamp")::text as time, pg_catalog.count(*) as rows
  from svc.audit_logs l where l.id = any(%s::bigint[]) group by l.id
"""


@dataclass(frozen=True, slots=True)
class EntryEvidence:
    """The facts of an entry that prove it, as the database has them.

    It is ``sealed`` if the entry leads to the root of its seal; ``changed`` if the seal has another leaf with its id,
    which is ``sealed_leaf``, and ``missing`` if it has none, or, without a ``proof``, if two rows of the log have it.
    If ``leaves_changed``, those that the database keeps lead to another root, or are not as many as were sealed.
    ``place`` counts the entries of the seal from 0. Without a seal there is no ``proof``.
    """

    entry_id: int
    state: EvidenceState
    proof: Proof | None = None
    sealed_leaf: bytes | None = None
    place: int | None = None

    @property
    def size(self) -> int:
        """The characters of its two parts."""
        return 0 if self.proof is None else len(self.proof.who) + len(self.proof.content or "")


@dataclass(frozen=True, slots=True)
class _Time:
    """The time of an entry as text, since Python does not know all of them, and the number of rows with its id."""

    id: int
    time: str
    rows: int


@dataclass(frozen=True, slots=True)
class _Entry:
    time: bytes
    who: str
    content: str | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree of a seal; without leaves if the database has other ones than were sealed, by their number."""

    seal: int
    leaves: Sequence[bytes]
    levels: Sequence[Sequence[bytes]]

    @classmethod
    def of(cls, seal: int, leaves: Sequence[bytes]) -> "_Tree":
        return cls(seal, leaves, levels_of(leaves))


def evidence_of(entry_ids: Sequence[int], *, most_characters: int) -> Effects[Sequence[EntryEvidence]]:
    """The evidence of entries, in their order, without those that the log does not have.

    It ends before the entries have more characters together, but not before the first one, and before a sixth tree.
    """
    times: list[_Time] = yield ByRanges(Query(_TIMES, (list(entry_ids),), _Time))
    by_id = {each.id: each for each in times}
    found: list[EntryEvidence] = []
    tree: _Tree | None = None
    trees, characters = 0, 0
    for entry_id in entry_ids:
        at = by_id.get(entry_id)
        if at is not None and at.rows > 1:
            found.append(EntryEvidence(entry_id, "missing"))
            continue
        entries: list[_Entry] = [] if at is None else (yield Query(_ENTRY, (at.time, entry_id), _Entry))
        if at is None or not entries:
            continue
        seal: Seal | None = next(iter((yield sealing_of(entry_id, at.time))), None)
        if seal is None:
            found.append(EntryEvidence(entry_id, "not_sealed"))
            continue
        if tree is None or seal.number != tree.seal:  # neighbours mostly have one seal, whose tree takes 50 ms
            if trees == MOST_SEALS:
                break
            trees += 1
            tree = yield from _tree_of(seal)
        evidence = _compared(entry_id, entries[0], seal, tree)
        characters += evidence.size
        if found and characters > most_characters:
            break
        found.append(evidence)
    return found


def _tree_of(seal: Seal) -> Effects[_Tree]:
    leaves = [leaf for kept in (yield readable_leaves(seal)) for leaf in split(kept.leaves)]
    with ThreadPoolExecutor(max_workers=1) as pool:  # a console answers others meanwhile
        tree: _Tree = yield pool.submit(_Tree.of, seal.number, leaves)
    return tree


def _compared(entry_id: int, entry: _Entry, seal: Seal, tree: _Tree) -> EntryEvidence:
    proof = Proof(entry_id, int.from_bytes(entry.time, signed=True), entry.who, entry.content, entry.digest, [], seal)
    leaf = bytes(proof.leaf)
    if not tree.leaves:
        return EntryEvidence(entry_id, "leaves_changed", proof)
    if leaf in tree.leaves:
        place = tree.leaves.index(leaf)
        proof = replace(proof, path=path_in(tree.levels, place))
        is_root = root_above(leaf, proof.path) == seal.root
        return EntryEvidence(entry_id, "sealed" if is_root else "leaves_changed", proof, place=place)
    for place, kept in enumerate(tree.leaves):
        if kept[:8] == leaf[:8]:
            return EntryEvidence(entry_id, "changed", replace(proof, path=path_in(tree.levels, place)), kept, place)
    return EntryEvidence(entry_id, "missing", proof)
