"""Prove by a seal that an entry was in the log, to somebody who has the public key alone."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Self

from psycopg import AsyncConnection, Connection

from svc_pg.audit.numbers import number_of
from svc_pg.audit.patient_steps import Steps
from svc_pg.audit.seals.keys import PublicKeys
from svc_pg.audit.seals.leaves import CONTENT, LEAF, Leaf, split
from svc_pg.audit.seals.seal import Seal
from svc_pg.audit.seals.steps import arun, run
from svc_pg.audit.seals.stored import require_sealable, sealing_of
from svc_pg.audit.seals.tree import PathStep, path_to_root, root_above
from svc_pg.audit.snapshot import Snapshot
from svc_pg.errors import ConflictError, NotFoundError, ProofError
from svc_pg.query import Query
from svc_pg.settings import Settings

KIND: Final = "svc-pg audit proof"
VERSION: Final = 1
FIELDS: Final = (
    "xact_id",
    "table_name",
    "table_oid",
    "operation",
    "record_id",
    "moved_from",
    "actor_id",
    "tenant_id",
    "db_user",
    "db_role",
    "before_data",
    "after_data",
    "changed_fields",
    "label",
    "severity",
    "compliance",
    "description",
    "redacted_fields",
    "context",
)
"""The fields of an entry in the order in which its content has them, after the version."""
_SNAPSHOTS: Final = ("before_data", "after_data", "context")
_LONGEST_PATH: Final = 64
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},]')

_ENTRY: Final = """
select {leaf} as leaf, case when l.erased_leaf is null then {content} end as content
  from svc.audit_logs l where l.id = %s
""".replace("{leaf}", LEAF).replace("{content}", CONTENT)
_KEPT: Final = "select leaves from svc.audit_seal_leaves where seal = %s"


@dataclass(frozen=True, slots=True)
class Proof:
    """An entry, the seal that has it, and the way from the one to the root of the other.

    ``content`` is the JSON text of the entry's fields; None if they were erased, which leaves their digest.
    """

    leaf: Leaf
    content: str | None
    path: list[PathStep]
    seal: Seal

    @property
    def text(self) -> str:
        """The proof as JSON; the page Seal and prove the log has the format."""
        return json.dumps(
            {
                "kind": KIND,
                "version": VERSION,
                "entry": {
                    "id": self.leaf.id,
                    "time": self.leaf.time,
                    "content": self.content,
                    "digest": self.leaf.digest.hex(),
                },
                "path": [{"left" if step.is_left else "right": step.digest.hex()} for step in self.path],
                "seal": self.seal.copy,
            },
            ensure_ascii=False,
            indent=2,
        )

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """Read what ``text`` wrote. Raises ProofError if it is damaged; nothing is verified yet."""
        try:
            return cls._read(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise ProofError("the proof is damaged: it cannot be read") from error

    @classmethod
    def _read(cls, proof: Any) -> Self:
        if (proof["kind"], proof["version"]) != (KIND, VERSION):
            raise ValueError
        entry, path = proof["entry"], proof["path"]
        if not (entry["content"] is None or isinstance(entry["content"], str)) or len(path) > _LONGEST_PATH:
            raise ValueError
        steps = []
        for step in path:
            [(side, digest)] = step.items()
            if side not in ("left", "right"):
                raise ValueError
            steps.append(PathStep(is_left=side == "left", digest=bytes.fromhex(digest)))
        leaf = Leaf(entry["id"], entry["time"], bytes.fromhex(entry["digest"]))
        bytes(leaf)  # raises if a number is none, or too large
        return cls(leaf, entry["content"], steps, Seal.of_copy(proof["seal"]))


@dataclass(frozen=True, slots=True)
class ProvenEntry:
    """An entry that was in the log when ``seal`` was made. ``fields`` are None if they were erased.

    Its snapshots and its context are a ``Snapshot``, whose ``text`` is what was sealed.
    """

    id: str
    timestamp: datetime | None
    fields: Mapping[str, Any] | None
    seal: Seal


@dataclass(frozen=True, slots=True)
class _Sealed:
    leaf: bytes
    content: str | None


@dataclass(frozen=True, slots=True)
class _Kept:
    leaves: bytes


def prove(conn: Connection[Any], entry_id: str | int) -> Proof:
    """The proof of an entry.

    Raises NotFoundError, ConflictError if the entry has no seal yet or is not as it was sealed, QueryError for what is
    no id, ConfigError on other databases and NotInstalledError.
    """
    require_sealable(conn)
    return run(conn, _proving(number_of(str(entry_id))))


async def aprove(conn: AsyncConnection[Any], entry_id: str | int) -> Proof:
    """As ``prove``, on an async connection."""
    require_sealable(conn)
    return await arun(conn, _proving(number_of(str(entry_id))))


def check_proof(proof: Proof | str | bytes, *, public_keys: PublicKeys | None = None) -> ProvenEntry:
    """Verify a proof, without a database, and return what it proves.

    ``public_keys`` default to those of SVC_SEAL_PUBLIC_KEYS, with that of SVC_SEAL_KEY. Raises ProofError that says
    what is wrong, EncryptionKeyError without a public key.
    """
    known = public_keys or PublicKeys.of(Settings.load())
    given = proof if isinstance(proof, Proof) else Proof.parse(proof)
    leaf, seal = given.leaf, given.seal
    if seal.key_id not in known.keys:
        raise ProofError(
            f'the seal is signed with the key "{seal.key_id}", and its public key is not given',
            hint="Add it to SVC_SEAL_PUBLIC_KEYS, as its owner published it.",
        )
    if not known.has_signed(seal.key_id, seal.text, seal.signature):
        raise ProofError("the signature is not of this seal")
    if given.content is not None and sha256(given.content.encode("utf-8", "surrogatepass")).digest() != leaf.digest:
        raise ProofError("the digest is not that of the entry's content")
    if root_above(bytes(leaf), given.path) != seal.root:
        raise ProofError(f"the entry is not in seal {seal.number}")
    return ProvenEntry(str(leaf.id), leaf.timestamp, _fields(given.content), seal)


def _fields(content: str | None) -> Mapping[str, Any] | None:
    if content is None:
        return None
    version, *texts = _elements(content)
    if version != "1" or len(texts) != len(FIELDS):
        raise ProofError("the entry's content has another version than this program knows")
    return {
        name: Snapshot(text) if name in _SNAPSHOTS and text != "null" else json.loads(text)
        for name, text in zip(FIELDS, texts, strict=True)
    }


def _elements(content: str) -> Iterator[str]:
    """The texts of the elements of a JSON array, as they were sealed: also those that Python does not read."""
    depth, start = 0, 1
    for token in _TOKEN.finditer(content):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        if depth == 0 or (depth == 1 and token[0] == ","):
            yield content[start : token.start()].strip()
            start = token.end()


def _proving(entry_id: int) -> Steps[Proof]:
    entries: list[_Sealed] = yield Query(_ENTRY, (entry_id,), _Sealed)
    if not entries:
        raise NotFoundError(f"there is no entry {entry_id}")
    entry = entries[0]
    found: list[Seal] = yield sealing_of(entry_id)
    if not found:
        raise ConflictError(f"entry {entry_id} has no seal yet", hint="Make one when it is settled: svc-pg seal")
    [seal] = found
    kept: list[_Kept] = yield Query(_KEPT, (seal.number,), _Kept)
    leaves = split(kept[0].leaves) if kept else []
    if entry.leaf not in leaves:
        raise ConflictError(
            f"entry {entry_id} is not as it was when seal {seal.number} was made", hint="Run: svc-pg verify"
        )
    path = path_to_root(leaves, leaves.index(entry.leaf))
    if root_above(entry.leaf, path) != seal.root:
        raise ConflictError(f"the leaves of seal {seal.number} were changed", hint="Run: svc-pg verify")
    return Proof(Leaf.of(entry.leaf), entry.content, path, seal)
