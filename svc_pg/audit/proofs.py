"""Proofs of entries: made from the log, and checked without it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.numbers import number_of
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.reads.recording import arecord_ids, record_ids
from svc_pg.database.performing import atake, take
from svc_pg.errors import ProofError
from svc_pg.seals.database.proving import proving
from svc_pg.seals.database.stored_seals import require_sealable
from svc_pg.seals.keys import PublicKeys
from svc_pg.seals.verification.proof import Proof, check
from svc_pg.seals.verification.seal import Seal
from svc_pg.settings import Settings

_SNAPSHOTS: Final = ("before_data", "after_data", "context")
_QUESTION: Final = {"of": "prove"}


@dataclass(frozen=True, slots=True)
class ProvenEntry:
    """An entry that was in the log when ``seal`` was made; ``fields`` lacks those erased since.

    Its snapshots and its context are a ``Snapshot``, whose ``text`` is the sealed one. An erasure also removes a
    ``record_id`` that is neither a number nor a UUID, which is None then.
    """

    id: str
    timestamp: datetime | None
    fields: Mapping[str, Any]
    is_erased: bool
    seal: Seal


def prove(conn: Connection[Any], entry_id: str | int) -> Proof:
    """The proof of an entry.

    Raises NotFoundError, ConflictError if the entry has no seal yet or is not as it was sealed, QueryError for an
    unusable id, ConfigError on other databases, ReadNotRecordedError and NotInstalledError.
    """
    require_sealable(conn)
    proof = take(conn, proving(number_of(str(entry_id))))
    record_ids(conn, [proof.id], _QUESTION)
    return proof


async def aprove(conn: AsyncConnection[Any], entry_id: str | int) -> Proof:
    """As ``prove``, on an async connection."""
    require_sealable(conn)
    proof = await atake(conn, proving(number_of(str(entry_id))))
    await arecord_ids(conn, [proof.id], _QUESTION)
    return proof


def check_proof(
    proof: Proof | str | bytes, *, public_keys: PublicKeys | None = None, copies: Iterable[Seal] | None = None
) -> ProvenEntry:
    """Verify a proof, without a database, and return the proven entry.

    Databases may share a key: ``copies`` are the seals of the one that the proof must be of.
    ``public_keys`` default to those of SVC_SEAL_PUBLIC_KEYS, with that of SVC_SEAL_KEY. Raises ProofError with the
    reason, EncryptionKeyError without a public key.
    """
    known = public_keys or PublicKeys.of(Settings.load())
    given = proof if isinstance(proof, Proof) else Proof.parse(proof)
    texts = check(given, known.keys)
    if copies is not None:
        _check_origin(given.seal, copies)
    fields = {
        name: Snapshot(text) if name in _SNAPSHOTS and text != "null" else json.loads(text)
        for name, text in texts.items()
    }
    mark = fields.pop("erased_leaf", None)
    is_erased = given.content is None or mark is not None
    return ProvenEntry(str(given.id), given.leaf.timestamp, fields, is_erased, given.seal)


def _check_origin(seal: Seal, copies: Iterable[Seal]) -> None:
    """Raise ProofError if the seal of a proof is not among these copies of the seals of one database."""
    for copy in copies:
        if copy.number == seal.number and copy.text == seal.text:
            return
        if copy.number == seal.number and copy.epoch == seal.epoch:
            raise ProofError(f"seal {seal.number} is not the one of the copies")
        if copy.number == seal.number:
            raise ProofError(
                f"the proof is of another database: its seal {seal.number} is of log {seal.epoch}, and that of the"
                f" copies of log {copy.epoch}"
            )
    raise ProofError(f"the copies have no seal {seal.number}", hint="They may be older, or of another database.")
