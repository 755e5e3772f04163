"""Check a proof, which shows by a seal that an entry was in the log."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self

from svc_pg.errors import ProofError
from svc_pg.seals.verification.leaf import Leaf, digest_of, sha256_of
from svc_pg.seals.verification.seal import Seal, has_signed
from svc_pg.seals.verification.tree import PathStep, root_above

KIND: Final = "svc-pg audit proof"
VERSION: Final = 2
FIRST_PART: Final = (
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
_LONGEST_PATH: Final = 64
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},]')


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
    def record_ids(self) -> list[str | None]:
        """The keys of its record, and those before they changed: of the first part, and of the second if it is here."""
        second = [] if self.content is None else islice(_elements(self.content), 2)
        return [*json.loads(self.who)[5:7], *map(json.loads, second)]

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
        """Read the form of ``text``. Raises ProofError if it is damaged; nothing is verified yet."""
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
        if {type(entry["id"]), type(entry["time"])} != {int}:  # isinstance takes True for a number
            raise ValueError
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


def check(proof: Proof, public_keys: Mapping[str, bytes]) -> dict[str, str]:
    """Verify a proof with public keys by id, of 32 bytes each, and return the JSON texts of the entry's fields.

    Raises ProofError with the reason.
    """
    seal = proof.seal
    if seal.key_id not in public_keys:
        raise ProofError(
            f'the seal is signed with the key "{seal.key_id}", and its public key is not given',
            hint="Add it to SVC_SEAL_PUBLIC_KEYS, as its owner published it.",
        )
    if not has_signed(public_keys[seal.key_id], seal.text, seal.signature):
        raise ProofError("the signature is not of this seal")
    if proof.content is not None and sha256_of(proof.content) != proof.digest:
        raise ProofError("the digest is not that of the entry's content")
    if root_above(bytes(proof.leaf), proof.path) != seal.root:
        raise ProofError(f"the entry is not in seal {seal.number}")
    return _fields(proof.who, proof.content)


def _fields(who: str, content: str | None) -> dict[str, str]:
    version, *first = _elements(who)
    second = [*_elements(content)] if content is not None else []
    if version != "2" or len(first) != len(FIRST_PART) or len(second) not in (0, len(_CONTENT)):
        raise ProofError("the entry has another version than this program knows")
    return dict([*zip(FIRST_PART, first, strict=True), *zip(_CONTENT, second, strict=False)])


def _elements(content: str) -> Iterator[str]:
    """The texts of the elements of a JSON array, as they were sealed, also if Python cannot parse them."""
    depth, start = 0, 1
    for token in _TOKEN.finditer(content):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        if depth == 0 or (depth == 1 and token[0] == ","):
            yield content[start : token.start()].strip()
            start = token.end()
