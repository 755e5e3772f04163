"""Prove by a seal that an entry was in the log, to somebody who has the public key alone."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.numbers import number_of
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.seals.keys import PublicKeys
from svc_pg.audit.seals.leaves import CONTENT, CONTENT_DIGEST, WHO, Leaf, digest_of, sha256_of, split
from svc_pg.audit.seals.seal import Seal
from svc_pg.audit.seals.stored import require_sealable, sealing_of
from svc_pg.audit.seals.tree import PathStep, path_to_root, root_above
from svc_pg.database.effects import Effects
from svc_pg.database.performing import atake, take
from svc_pg.database.query import Query
from svc_pg.errors import ConflictError, NotFoundError, ProofError
from svc_pg.settings import Settings

KIND: Final = "svc-pg audit proof"
VERSION: Final = 2
_WHO: Final = (
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
    "changed_fields",
    "label",
    "severity",
    "compliance",
    "partition",
)
"""The fields of the first part of an entry, after the version of both; then those of the second."""
_CONTENT: Final = (
    "record_id",
    "moved_from",
    "before_data",
    "after_data",
    "description",
    "redacted_fields",
    "context",
    "erased_leaf",
)
_SNAPSHOTS: Final = ("before_data", "after_data", "context")
_LONGEST_PATH: Final = 64
_VERIFY: Final = "Run: svc-pg verify"
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},]')

_ENTRY: Final = (
    """
select pg_catalog.timestamptz_send(l."timestamp") as time, {who} as who, {content_digest} as digest,
       case when l.erased_leaf is null or pg_catalog.length(l.erased_leaf) = 0 then {content} end as content
  from svc.audit_logs l where l.id = %s
""".replace("{who}", WHO)
    .replace("{content_digest}", CONTENT_DIGEST)
    .replace("{content}", CONTENT)
)
_KEPT: Final = "select leaves from svc.audit_seal_leaves where seal = %s"


@dataclass(frozen=True, slots=True)
class Proof:
    """An entry, the seal that has it, and the way from the one to the root of the other.

    ``time`` is in microseconds since 2000. ``who`` is the JSON text of the entry's first part; ``content`` is that of
    the second, None if it was erased, which leaves its ``digest``.
    """

    id: int
    time: int
    who: str
    content: str | None
    digest: bytes
    path: list[PathStep]
    seal: Seal

    @property
    def leaf(self) -> Leaf:
        """The entry as its seal knows it."""
        return Leaf(self.id, self.time, digest_of(self.who, self.digest))

    @property
    def text(self) -> str:
        """The proof as JSON; the page Seal and prove the log has the format."""
        return json.dumps(
            {
                "kind": KIND,
                "version": VERSION,
                "entry": {
                    "id": self.id,
                    "time": self.time,
                    "who": self.who,
                    "content": self.content,
                    "digest": self.digest.hex(),
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
        who, content = entry["who"], entry["content"]
        if not isinstance(who, str) or not isinstance(content, str | None) or len(path) > _LONGEST_PATH:
            raise ValueError
        steps = []
        for step in path:
            [(side, digest)] = step.items()
            if side not in ("left", "right"):
                raise ValueError
            steps.append(PathStep(is_left=side == "left", digest=bytes.fromhex(digest)))
        digest = bytes.fromhex(entry["digest"])
        found = cls(entry["id"], entry["time"], who, content, digest, steps, Seal.of_copy(proof["seal"]))
        bytes(found.leaf)  # raises if a number is none, or too large
        return found


@dataclass(frozen=True, slots=True)
class ProvenEntry:
    """An entry that was in the log when ``seal`` was made; ``fields`` lacks what an erasure took away since.

    Its snapshots and its context are a ``Snapshot``, whose ``text`` is what was sealed. An erasure also takes a
    ``record_id`` that is neither a number nor a UUID, which is None then.
    """

    id: str
    timestamp: datetime | None
    fields: Mapping[str, Any]
    is_erased: bool
    seal: Seal


@dataclass(frozen=True, slots=True)
class _Sealed:
    time: bytes
    who: str
    content: str | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class _Kept:
    leaves: bytes


def prove(conn: Connection[Any], entry_id: str | int) -> Proof:
    """The proof of an entry.

    Raises NotFoundError, ConflictError if the entry has no seal yet or is not as it was sealed, QueryError for what is
    no id, ConfigError on other databases and NotInstalledError.
    """
    require_sealable(conn)
    return take(conn, _proving(number_of(str(entry_id))))


async def aprove(conn: AsyncConnection[Any], entry_id: str | int) -> Proof:
    """As ``prove``, on an async connection."""
    require_sealable(conn)
    return await atake(conn, _proving(number_of(str(entry_id))))


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
    if given.content is not None and sha256_of(given.content) != given.digest:
        raise ProofError("the digest is not that of the entry's content")
    if root_above(bytes(leaf), given.path) != seal.root:
        raise ProofError(f"the entry is not in seal {seal.number}")
    fields = _fields(given.who, given.content)
    mark = fields.pop("erased_leaf", None)
    return ProvenEntry(str(leaf.id), leaf.timestamp, fields, given.content is None or mark is not None, seal)


def _fields(who: str, content: str | None) -> dict[str, Any]:
    version, *first = _elements(who)
    second = [*_elements(content)] if content is not None else []
    if version != "2" or len(first) != len(_WHO) or len(second) not in (0, len(_CONTENT)):
        raise ProofError("the entry has another version than this program knows")
    texts = [*zip(_WHO, first, strict=True), *zip(_CONTENT, second, strict=False)]
    return {name: Snapshot(text) if name in _SNAPSHOTS and text != "null" else json.loads(text) for name, text in texts}


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


def _proving(entry_id: int) -> Effects[Proof]:
    entries: list[_Sealed] = yield Query(_ENTRY, (entry_id,), _Sealed)
    if not entries:
        raise NotFoundError(f"there is no entry {entry_id}")
    entry = entries[0]
    seal: Seal | None = next(iter((yield sealing_of(entry_id))), None)
    if seal is None:
        raise ConflictError(f"entry {entry_id} has no seal yet", hint="Make one when it is settled: svc-pg seal")
    leaves = [leaf for kept in (yield Query(_KEPT, (seal.number,), _Kept)) for leaf in split(kept.leaves)]
    proof = Proof(entry_id, int.from_bytes(entry.time, signed=True), entry.who, entry.content, entry.digest, [], seal)
    leaf = bytes(proof.leaf)
    if leaf not in leaves:
        raise ConflictError(f"entry {entry_id} is not as it was when seal {seal.number} was made", hint=_VERIFY)
    path = path_to_root(leaves, leaves.index(leaf))
    if root_above(leaf, path) != seal.root:
        raise ConflictError(f"the leaves of seal {seal.number} were changed", hint=_VERIFY)
    return replace(proof, path=path)
