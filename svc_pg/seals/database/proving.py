"""Prove by a seal that an entry was in the log, to a reader with nothing but the public key."""

from dataclasses import dataclass, replace
from typing import Final

from svc_pg.database.effects import Effects
from svc_pg.database.query import Query
from svc_pg.errors import ConflictError, NotFoundError
from svc_pg.seals.database.leaf_queries import CONTENT, CONTENT_DIGEST, WHO
from svc_pg.seals.database.stored_seals import kept_leaves, sealing_of
from svc_pg.seals.verification.leaf import split
from svc_pg.seals.verification.proof import Proof
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.verification.tree import path_to_root, root_above

_VERIFY: Final = "Run: svc-pg verify"
_ENTRY: Final = (
    """
select pg_catalog.timestamptz_send(l."timestamp") as time, {who} as who, {content_digest} as digest,
       case when l.erased_leaf is null or pg_catalog.length(l.erased_leaf) = 0 then {content} end as content
  from svc.audit_logs l where l.id = %s
""".replace("{who}", WHO)
    .replace("{content_digest}", CONTENT_DIGEST)
    .replace("{content}", CONTENT)
)


@dataclass(frozen=True, slots=True)
class _Sealed:
    time: bytes
    who: str
    content: str | None
    digest: bytes


def proving(entry_id: int) -> Effects[Proof]:
    """The proof of an entry.

    Raises NotFoundError, and ConflictError if the entry has no seal yet or is not as it was sealed.
    """
    entries: list[_Sealed] = yield Query(_ENTRY, (entry_id,), _Sealed)
    if not entries:
        raise NotFoundError(f"there is no entry {entry_id}")
    entry = entries[0]
    seal: Seal | None = next(iter((yield sealing_of(entry_id))), None)
    if seal is None:
        raise ConflictError(f"entry {entry_id} has no seal yet", hint="Make one when it is settled: svc-pg seal")
    leaves = [leaf for kept in (yield kept_leaves(seal.number, seal.number)) for leaf in split(kept.leaves)]
    proof = Proof(entry_id, int.from_bytes(entry.time, signed=True), entry.who, entry.content, entry.digest, [], seal)
    leaf = bytes(proof.leaf)
    if leaf not in leaves:
        raise ConflictError(f"entry {entry_id} is not as it was when seal {seal.number} was made", hint=_VERIFY)
    path = path_to_root(leaves, leaves.index(leaf))
    if root_above(leaf, path) != seal.root:
        raise ConflictError(f"the leaves of seal {seal.number} were changed", hint=_VERIFY)
    return replace(proof, path=path)
