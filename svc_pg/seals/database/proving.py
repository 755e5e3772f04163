"""Prove by a seal that an entry was in the log, to a reader with nothing but the public key."""

from collections.abc import Sequence
from typing import Final

from svc_pg.database.effects import Effects
from svc_pg.errors import ConflictError, NotFoundError
from svc_pg.seals.database.entry_evidence import EntryEvidence, evidence_of
from svc_pg.seals.verification.proof import Proof

_VERIFY: Final = "Run: svc-pg verify"


def proving(entry_id: int) -> Effects[Proof]:
    """The proof of an entry.

    Raises NotFoundError, and ConflictError if the entry has no seal yet or is not as it was sealed.
    """
    found: Sequence[EntryEvidence] = yield from evidence_of([entry_id], most_characters=0)
    if not found:
        raise NotFoundError(f"there is no entry {entry_id}")
    [evidence] = found
    if evidence.state == "missing" and evidence.proof is None:
        raise ConflictError(f"two rows of the log have the id {entry_id}", hint=_VERIFY)
    if evidence.proof is None:
        raise ConflictError(f"entry {entry_id} has no seal yet", hint="Make one when it is settled: svc-pg seal")
    number = evidence.proof.seal.number
    if evidence.state == "leaves_changed":
        raise ConflictError(f"the leaves of seal {number} were changed", hint=_VERIFY)
    if evidence.state != "sealed":
        raise ConflictError(f"entry {entry_id} is not as it was when seal {number} was made", hint=_VERIFY)
    return evidence.proof
