"""Verify an export of an audit log of svc-pg by its seals. It needs Python 3.11 and this file alone.

python -I verify_svc_pg.py export.ndjson seals.ndjson KEY [--copies FILE] [--since TIME] [--until TIME] [--json]
python -I verify_svc_pg.py certificate certificate.json KEY [--seals FILE]

``svc-pg evidence`` writes both files. KEY is a file with the public key: PEM, or ``s1:BASE64`` as ``svc-pg keys new
seal`` prints it; several keys follow each other. ``--copies`` has seals that were kept outside the database, the later
word about seals. With ``--since`` and ``--until``, only the entries between must be in the export.

Exit code 0: each sealed entry is there as it was sealed, or the log's own sealed entries explain why it is not. Entries
without a seal are not proven; they are named, and with ``--until`` there are none of that time, and a seal after it.
Exit code 3: something differs, a line each, or the seals do not reach to ``--until``. Exit code 1: the files cannot be
read, or nothing is sealed.

With ``certificate``, the file is a certificate of the console, and each of its entries is verified by itself: exit code
0 if all are proven and are about its subject, which is printed, 3 if not, 1 if it cannot be read. Databases may share a
key: ``--seals`` has the seals, or copies of them, of the database that the certificate must be of.

The file has seven parts: signatures, input, entries, seals, removals, comparison, certificates. Entries are sorted in a
temporary file of SQLite, so memory grows with the number of purges, erasures and differences alone. The page "Verify an
export without svc-pg" of the documentation has the format.

``-I`` keeps Python from taking modules from the folder of the program, where whoever wrote the evidence could have put
a ``json.py``. Without it, the program itself takes that folder away before it imports anything.
"""

import sys

if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 - the program is run by any Python that its reader has
        sys.exit("error: verify_svc_pg.py needs Python 3.11")
    if not sys.flags.safe_path:
        del sys.path[0]

import argparse
import base64
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256, sha512
from itertools import chain
from pathlib import Path
from typing import Any, Final

LEAF: Final = 48
"""The bytes of a leaf: id, time in microseconds since 2000, and the digest of the entry."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
MOST_FINDINGS: Final = 1000
MOST_NAMED: Final = 20
"""The most entries without a seal that are named."""
LONGEST_LINE: Final = 1 << 30
LONGEST_SEAL: Final = 1 << 22
"""The most bytes of a line of seals or copies: a seal has up to 32,768 entries, of 64 bytes each."""
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)


class UnreadableError(Exception):
    """A file that cannot be read, is damaged, or is of another kind than it was given as."""


# ---- 1. Signatures: Ed25519 (RFC 8032), by the package cryptography if it is there

_P: Final = 2**255 - 19
_L: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ROOT: Final = pow(2, (_P - 1) // 4, _P)
_Point = tuple[int, int, int, int]


def has_signed(public_key: bytes, text: str, signature: bytes) -> bool:
    """True if this is the signature of the text with that key, which has 32 bytes."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except Exception:  # noqa: BLE001 - a package that is damaged or too old raises anything
        return verify_ed25519(public_key, text.encode(), signature)
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def verify_ed25519(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """RFC 8032, section 5.1.7, in some 5 ms: R must be the encoding of [S]B - [k]A."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    point, base = _point_of(public_key), _point_of((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))
    if point is None or base is None or scalar >= _L:
        return False
    hashed = int.from_bytes(sha512(signature[:32] + public_key + message).digest(), "little") % _L
    negative = (-point[0] % _P, point[1], point[2], -point[3] % _P)
    x, y, z, _ = _sum(_times(scalar, base), _times(hashed, negative))
    x, y = x * pow(z, -1, _P) % _P, y * pow(z, -1, _P) % _P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


def _sum(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c, d = 2 * one[3] * other[3] * _D % _P, 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(scalar: int, point: _Point) -> _Point:
    found: _Point = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            found = _sum(found, point)
        point, scalar = _sum(point, point), scalar >> 1
    return found


def _point_of(encoded: bytes) -> _Point | None:
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else _P - x
    return x, y, 1, x * y % _P


# ---- 2. Input: keys, lines and times

_DER: Final = bytes.fromhex("302a300506032b6570032100")
_PEM: Final = re.compile(r"-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z")


def read_keys(file: Path) -> list[tuple[str | None, bytes]]:
    """The public keys of a file, with their ids; one in PEM has none, and is tried for each seal."""
    try:
        with file.open("rb") as opened:
            text = opened.read(1 << 16).decode()
    except OSError as error:
        raise UnreadableError(f"the file {file} of the public key cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{file} is no public key: neither PEM nor s1:BASE64") from error
    if "PRIVATE" in text or "SVC_SEAL_KEY=" in text:
        raise UnreadableError(f"{file} has a private key; verify with the public key, and keep that one secret")
    keys: list[tuple[str | None, bytes]] = []
    try:
        for block in _PEM.findall(text):
            der = base64.b64decode("".join(block.split()), validate=True)
            keys.append((None, der.removeprefix(_DER) if der.startswith(_DER) else b""))
        for item in [] if keys else re.split(r"[,\s]+", text.strip().removeprefix("SVC_SEAL_PUBLIC_KEYS=").strip()):
            key_id, _, key = item.partition(":")
            keys.append((key_id, base64.b64decode(key, validate=True)))
    except ValueError:
        keys = []
    if not keys or any(len(key) != 32 for _, key in keys):
        raise UnreadableError(f"{file} is no public key of Ed25519: neither PEM nor s1:BASE64")
    return keys


def lines_of(file: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, one at a time."""
    try:
        with file.open("rb") as opened:
            number = 0
            while line := opened.readline(longest):
                number += 1
                if len(line) == longest and not line.endswith(b"\n"):
                    raise UnreadableError(f"{file} cannot be verified: line {number} is longer than {longest} bytes")
                if not line.endswith(b"\n"):
                    raise UnreadableError(f"{file} is cut: its line {number} does not end")
                yield number, line[:-1].decode()
    except OSError as error:
        raise UnreadableError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{file} is damaged: line {number} is not UTF-8") from error


@dataclass(slots=True)
class Seals:
    """The lines of a file of seals, which is read several times and must be the same each time."""

    file: Path
    digest: bytes | None = None

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers. Raises UnreadableError at the end if they are not those of the last time."""
        hashed = sha256()
        for number, line in lines_of(self.file, LONGEST_SEAL):
            hashed.update(line.encode() + b"\n")
            yield number, line
        if self.digest is not None and self.digest != hashed.digest():
            raise UnreadableError(f"{self.file} was changed while it was read")
        self.digest = hashed.digest()


def microseconds(time: str) -> int:
    """The microseconds since 2000 of a time such as 2026-01-05T09:30:00.000000Z. Raises ValueError."""
    if _TIME.fullmatch(time) is None:
        raise ValueError(time)
    return (datetime.fromisoformat(time) - _EPOCH) // timedelta(microseconds=1)


def shown(time: int) -> str:
    """A time in words."""
    try:
        return f"{_EPOCH + timedelta(microseconds=time):%Y-%m-%d %H:%M:%S.%f}Z"
    except OverflowError:
        return "infinite"


# ---- 3. Entries: a line of the export, and its leaf

MEMBERS: Final = (
    *("id", "timestamp", "tableName", "operation", "recordId", "actorId", "tenantId", "dbUser", "dbRole"),
    *("beforeData", "afterData", "changedFields", "label", "severity", "compliance", "description"),
    *("redactedFields", "context", "xactId", "partition", "tableOid", "movedFrom", "erasedLeaf"),
)
_FIRST: Final = (
    *("actorId", "tenantId", "dbUser", "dbRole", "changedFields", "label", "severity", "compliance", "partition"),
)
_SECOND: Final = (
    *("recordId", "movedFrom", "beforeData", "afterData", "description", "redactedFields", "context", "erasedLeaf"),
)
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{}",]')
_NUMBER: Final = re.compile(r'"(0|-?[1-9][0-9]{0,18})"')
_HASH: Final = re.compile(r'null|""|"[0-9a-f]{64}"')
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ANONYMOUS: Final = re.compile(
    rf'-?[0-9]+|{_UUID}|\[(?:(?>-?[0-9]+|"-?[0-9]+"|"{_UUID}"|null)(?:, )?+)++\]'  # keys that tell about nobody
)
_REMOVALS: Final = ('"audit log purged"', '"audit log erased"')


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: ``who`` and ``content`` are the texts of its two parts, ``digest`` is that of both."""

    id: int
    time: int
    xact: int
    who: str
    content: str
    digest: bytes
    is_erased: bool
    is_removal: bool

    @property
    def leaf(self) -> bytes:
        """The 48 bytes that a seal has of it."""
        return leaf_of(self.id, self.time, self.digest)


def leaf_of(key: int, time: int, digest: bytes) -> bytes:
    """The leaf with this id, time and digest."""
    return key.to_bytes(8, "big", signed=True) + time.to_bytes(8, "big", signed=True) + digest


def split(leaves: bytes) -> list[bytes]:
    """The leaves, one by one."""
    return [leaves[start : start + LEAF] for start in range(0, len(leaves), LEAF)]


def digest_of(who: str, content: bytes) -> bytes:
    """The digest of an entry by its first part, and the digest of its second."""
    return sha256(sha256(who.encode()).digest() + content).digest()


def read_entry(line: str) -> Entry:
    """The entry of a line. Its parts are made of the texts as they stand there. Raises ValueError."""
    raw = _members(line)
    who = ["2", str(_number(raw["xactId"])), raw["tableName"], raw["tableOid"], raw["operation"]]
    who += [_anonymous(raw["recordId"]), _anonymous(raw["movedFrom"]), *(raw[name] for name in _FIRST)]
    first, second = f"[{', '.join(who)}]", f"[{', '.join([raw[name] for name in _SECOND])}]"
    erased = raw["erasedLeaf"]
    if _HASH.fullmatch(erased) is None:
        raise ValueError(erased)
    content = bytes.fromhex(erased[1:-1]) if len(erased) == 66 else sha256(second.encode()).digest()
    return Entry(
        id=_number(raw["id"]),
        time=_time(raw["timestamp"]),
        xact=_number(raw["xactId"]),
        who=first,
        content=second,
        digest=digest_of(first, content),
        is_erased=erased != "null",
        is_removal=raw["tableName"] == '"svc.audit_logs"' and raw["label"] in _REMOVALS and erased == "null",
    )


def _members(line: str) -> dict[str, str]:
    """The texts of the members, which are these in this order, without a space between. Raises ValueError."""
    found, end = {}, 0
    for name in MEMBERS:
        head = f'{"," if end else "{"}"{name}":'
        if not line.startswith(head, end):
            raise ValueError(name)
        start = end + len(head)
        end = _end_of_value(line, start)
        found[name] = line[start:end]
    if line[end:] != "}":
        raise ValueError(line[end : end + 20])
    return found


def _end_of_value(line: str, start: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(line, start):
        text = token[0]
        if depth == 0 and text in ("]", "}", ","):
            return token.start()
        if text == '"':
            raise ValueError(text)
        depth += (text in ("[", "{")) - (text in ("]", "}"))
    raise ValueError(start)


def _number(text: str) -> int:
    found = _NUMBER.fullmatch(text)
    if found is None or not LOWEST <= int(found[1]) <= HIGHEST:
        raise ValueError(text)
    return int(found[1])


def _time(text: str) -> int:
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise ValueError(text)
    return HIGHEST if text == '"null"' else microseconds(text[1:-1])  # or infinity


def _anonymous(key: str) -> str:
    """The key if it is one of numbers and UUIDs, which an erasure leaves; else null."""
    if key != "null" and not key.startswith('"'):
        raise ValueError(key)
    return key if key != "null" and _ANONYMOUS.fullmatch(json.loads(key)) else "null"


# ---- 4. Seals: their texts, their tree and their chain

_REMOVAL: Final = '{"removal":'
"""The beginning of the other lines of the file."""


@dataclass(frozen=True, slots=True)
class Seal:
    """A seal: the entries from one transaction until before another, with ids after one and up to another."""

    after_id: int | None
    entries: int
    epoch: str
    epoch_began_at: int | None
    from_xact_id: int | None
    key_id: str
    number: int
    previous: str
    root: str
    sealed_at: int
    until_id: int | None
    until_xact_id: int | None
    version: int
    text: str
    signature: bytes

    @classmethod
    def of(cls, copy: Any) -> "Seal":
        """Read a seal, whose text has one form only. The signature is not verified. Raises ValueError and others."""
        text, values = copy["text"], json.loads(copy["text"])
        if json.dumps(values, separators=(",", ":"), sort_keys=True) != text or len(values) != 14:
            raise ValueError("text")
        if values.pop("kind") != "svc-pg audit seal" or values["version"] not in (1, 2):
            raise ValueError("kind")
        values["sealed_at"] = microseconds(values["sealed_at"])
        began = values["epoch_began_at"]
        values["epoch_began_at"] = None if began is None else microseconds(began)
        found = cls(**values, text=text, signature=base64.b64decode(copy["signature"], validate=True))
        numbers = (found.after_id, found.from_xact_id, found.until_id, found.until_xact_id)
        given = (found.entries, found.number, found.version, *(each for each in numbers if each is not None))
        if any(type(each) is not int or not LOWEST <= each <= HIGHEST for each in given):
            raise ValueError("number")
        if any(_HASH.fullmatch(f'"{each}"') is None or not each for each in (found.root, found.previous)):
            raise ValueError("digest")
        found.key_id.encode(), found.epoch.encode()
        return found

    def is_before(self, xact: int, key: int, time: int) -> bool:
        """True if an entry with this transaction, id and time is newer than this seal, which is the last."""
        began, until, start, until_id = self.ends
        return time >= began and (xact >= until or (xact >= start and key > until_id))

    @property
    def ends(self) -> tuple[int, int, int, int]:
        """The time when its epoch began, the transaction that ends it, the first one, and the last id."""
        return (
            LOWEST if self.epoch_began_at is None else self.epoch_began_at,
            HIGHEST if self.until_xact_id is None else self.until_xact_id,
            LOWEST if self.from_xact_id is None else self.from_xact_id,
            HIGHEST if self.until_id is None else self.until_id,
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference in words, of an entry or of a seal."""

    kind: str
    seal: int
    entry: int | None
    message: str


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root of the hash tree over the leaves: RFC 9162, section 2.1."""
    level = [sha256(b"\0" + leaf).digest() for leaf in leaves]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [sha256(b"\1" + left + right).digest() for left, right in pairs] + level[len(level) & ~1 :]
    return level[0] if level else sha256(b"").digest()


def is_sealed(seal: Seal, leaves: bytes) -> bool:
    """True if these are the leaves that the seal commits to."""
    return len(leaves) == seal.entries * LEAF and root_of(split(leaves)).hex() == seal.root


def copies_of(file: Path) -> Iterator[tuple[Seal, bytes | None]]:
    """The seals of a file of copies, which has at least one."""
    found = None
    for found in seals_of(Seals(file)):
        yield found
    if found is None:
        raise UnreadableError(f"{file} has no copies of seals")


def seals_of(seals: Seals) -> Iterator[tuple[Seal, bytes | None]]:
    """The seals of a file, in the order of their numbers, with their leaves; None in a file of copies."""
    before, file = 0, seals.file
    for number, line in seals:
        if line.startswith(_REMOVAL):
            continue
        try:
            values = json.loads(line)
            found, leaves = Seal.of(values), values.get("leaves")
            kept = base64.b64decode(leaves or "", validate=True) if "leaves" in values else None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UnreadableError(f"{file} is damaged: line {number} is no seal") from error
        if found.number <= before:
            raise UnreadableError(f"{file} is damaged: seal {found.number} in line {number} comes after seal {before}")
        before = found.number
        yield found, kept


@dataclass(slots=True)
class Chain:
    """Takes all seals in their order: each is signed, follows the one before, and equals its copy."""

    keys: list[tuple[str | None, bytes]]
    copies: Iterator[tuple[Seal, bytes | None]]
    findings: list[Finding] = field(default_factory=list)
    last: Seal | None = None
    newest: Seal | None = None  # the last of version 2
    unsigned: set[int] = field(default_factory=set)
    taken: int = 0
    _copy: Seal | None = None
    _has_followed: bool = True
    _unknown: dict[str, tuple[int, int]] = field(default_factory=dict)
    _changed: list[Seal] = field(default_factory=list)

    def take(self, seal: Seal) -> bool:
        """Verify the next seal; True if its signature is good."""
        expected = self.last.number + 1 if self.last else 1
        if seal.number != expected:
            self._add("seal_missing", expected, f"{_seals(expected, seal.number - 1)} missing")
        is_signed = self._is_signed(seal)
        before = sha256(self.last.text.encode()).hexdigest() if self.last else "0" * 64
        if is_signed and seal.number == expected and seal.previous != before and self._has_followed:
            message = f"seal {expected - 1} is not the one that seal {seal.number} follows"
            self._add("seal_replaced", seal.number, message)
        if self._copy is None:
            self._copy = next(self.copies, (None, None))[0]
        while self._copy is not None and self._copy.number < seal.number:
            self._copy = next(self.copies, (None, None))[0]
        if self._copy is not None and self._copy.number == seal.number:
            self._compare(self._copy, seal)
        self.last, self._has_followed, self.taken = seal, is_signed, self.taken + 1
        self.newest = seal if seal.version == 2 else self.newest
        return is_signed

    def end(self) -> None:
        """Report what the copies have behind the last seal, and unknown keys."""
        last = self.last.number if self.last else 0
        newest, changed = last, 0
        for copy in chain([self._copy] if self._copy else [], (copy for copy, _ in self.copies)):
            if copy.number <= last or not self._is_forged(copy):
                newest = max(newest, copy.number)
            elif (changed := changed + 1) <= MOST_FINDINGS:
                self._add_changed_copy(copy)
        if newest > last:
            self._add("seal_missing", last + 1, f"{_seals(last + 1, newest)} missing: the copies have them")
        for key_id, (first, latest) in self._unknown.items():
            message = f'{_seals(first, latest)} signed with the key "{key_id}", which is not given'
            self._add("seal_of_unknown_key", first, message)

    def _is_signed(self, seal: Seal) -> bool:
        keys = [key for key_id, key in self.keys if key_id in (None, seal.key_id)]
        if not keys and seal.key_id not in self._unknown and len(self._unknown) >= MOST_FINDINGS:
            self._add("seal_of_unknown_key", seal.number, f"seal {seal.number} is signed with a key that is not given")
            return False
        if not keys:
            self._unknown[seal.key_id] = (self._unknown.get(seal.key_id, (seal.number, 0))[0], seal.number)
            return False
        if any(has_signed(key, seal.text, seal.signature) for key in keys):
            return True
        for other in self._changed:
            exchanged = (_numbered(seal, other.number), seal), (_numbered(other, seal.number), other)
            if all(any(has_signed(key, text, each.signature) for key in keys) for text, each in exchanged):
                self.findings = [each for each in self.findings if each.seal != other.number]
                message = f"seals {other.number} and {seal.number} were exchanged"
                self._add("seals_swapped", other.number, message)
                return False
        if len(self._changed) < 20:
            self._changed.append(seal)
        message = f"seal {seal.number} was changed, or signed with another key: its signature is not of its text"
        self._add("seal_changed", seal.number, message)
        return False

    def _compare(self, copy: Seal, seal: Seal) -> None:
        if (copy.text, copy.signature) == (seal.text, seal.signature):
            return
        if self._is_forged(copy):
            self._add_changed_copy(copy)
        elif copy.text != seal.text:
            message = f"seal {seal.number} is not the one of the copies{_other_log(seal, copy)}"
            self._add("seal_replaced", seal.number, message)

    def _is_forged(self, copy: Seal) -> bool:
        """True if there are keys of its id, and the copy has a valid signature of none."""
        keys = [key for key_id, key in self.keys if key_id in (None, copy.key_id)]
        return bool(keys) and not any(has_signed(key, copy.text, copy.signature) for key in keys)

    def _add_changed_copy(self, copy: Seal) -> None:
        message = f"the copy of seal {copy.number} was changed: its signature is not of its text"
        self._add("copy_changed", copy.number, message)

    def _add(self, kind: str, seal: int, message: str) -> None:
        self.findings.append(Finding(kind, seal, None, message))


def _seals(first: int, last: int) -> str:
    return f"seal {first} is" if first == last else f"seals {first} to {last} are"


def _other_log(seal: Seal, other: Seal) -> str:
    """The words on two seals of one number that are of different logs; none if they are of the same."""
    return "" if seal.epoch == other.epoch else f": it is of log {seal.epoch}, and theirs of log {other.epoch}"


def _numbered(seal: Seal, number: int) -> str:
    return json.dumps(json.loads(seal.text) | {"number": number}, separators=(",", ":"), sort_keys=True)


# ---- 5. Removals: purges and erasures explain why entries, or their contents, are gone

_TABLES: Final = """
create table entry (id integer, time integer, xact integer, digest blob, erased text, line integer);
create table told (id integer, leaf blob, who text, content text);
create table kept (id integer primary key, leaf blob, who text, content text);
create table removed (id integer, removal integer, time integer, digest blob);
"""
_INDEXES: Final = """
create index entry_xact on entry (xact, id);
create index entry_id on entry (id);
create index removed_id on removed (id);
"""
_ERASED_KEY: Final = re.compile(r'erased:[0-9a-f]{64}|[]\[0-9a-f", nul-]+')


@dataclass(slots=True)
class Removals:
    """The removals that an entry of the log proves, or the seal of a purged one.

    ``dropped`` has dropped partitions: two times between which entries below an id are gone. ``lists`` has the digest
    of each other removal's list; ``changed`` are those whose list has another one and so explains nothing. ``later``
    are newer than the last seal and not of the time of the export.
    """

    dropped: list[tuple[int, int, int]] = field(default_factory=list)
    lists: dict[int, bytes] = field(default_factory=dict)
    erasures: set[int] = field(default_factory=set)
    changed: list[int] = field(default_factory=list)
    disproved: list[int] = field(default_factory=list)
    later: int = 0

    def add(self, key: int, who: str, content: str) -> None:
        """Take the removal that an entry tells of. One that cannot be read explains nothing."""
        try:
            [_, _, table, _, operation, *_, label, _, _, _] = json.loads(who)
            facts = json.loads(content)[2]
            kind = (table, operation, label)
            if kind == ("svc.audit_logs", "DELETE", "audit log purged") and "from" in facts:
                self.dropped.append((_time_of(facts["from"]), _time_of(facts["before"]), key))
            elif kind[0] == "svc.audit_logs" and kind[1:] in _LISTING and facts.get("digest") is not None:
                self.lists[key] = bytes.fromhex(facts["digest"])
                if operation == "UPDATE":
                    self.erasures.add(key)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return

    def compare_lists(self, store: sqlite3.Connection) -> None:
        """Drop the lists that have not the digest in their entries. Lists of purges may be gone with their months."""
        found: dict[int, Any] = {}
        for removal, key, time, digest in store.execute("select removal, id, time, digest from removed order by 1, 2"):
            found.setdefault(removal, sha256()).update(leaf_of(key, time, digest))
        for removal, digest in [*self.lists.items()]:
            if removal not in found or found[removal].digest() != digest:
                del self.lists[removal]
                if removal in found or removal in self.erasures:
                    self.changed.append(removal)

    def has_removed(self, store: sqlite3.Connection, leaf: bytes) -> bool:
        """True if a purge removed the entry as it was sealed."""
        key, time, digest = _parts(leaf)
        if any(start <= time < end and key < before for start, end, before in self.dropped):
            return True
        rows = store.execute("select removal from removed where id = ? and digest = ?", (key, digest))
        return any(removal in self.lists and removal not in self.erasures for (removal,) in rows)

    def difference_of_erased(self, store: sqlite3.Connection, key: int, content: str, seal: int) -> Finding | None:
        """The finding about an entry that is marked as erased, unless an erasure left it so."""
        for removal, digest in store.execute("select removal, digest from removed where id = ?", (key,)):
            if removal in self.lists and removal in self.erasures:
                if digest == sha256(content.encode()).digest() and _is_tombstone(content, removal):
                    return None
                return _of(key, seal, "changed", f"it is not as erasure {removal} left it")
        return Finding("erased", seal, key, f"entry {key} was erased, and no erasure of the log says so")


_LISTING: Final = (("DELETE", "audit log purged"), ("UPDATE", "audit log erased"))


def _time_of(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def _is_tombstone(content: str, erasure: int) -> bool:
    try:
        *keys, before, after, description, redacted, context, _ = json.loads(content)
    except (ValueError, TypeError, RecursionError):
        return False
    return (
        all(key is None or _ERASED_KEY.fullmatch(str(key)) is not None for key in keys)
        and all(snapshot is None or snapshot == {"erased": True} for snapshot in (before, after))
        and (description, redacted, context) == ("Erased", ["*"], {"erasure": erasure})
    )


# ---- 6. Comparison of the entries with the leaves of the seals


@dataclass(slots=True)
class Verification:
    """The result: ``entries`` are as they were sealed, ``unsealed`` ones are newer than the last seal.

    Of the latter, ``unsealed_first`` has the ids and the lines of the oldest, ``unsealed_times`` the least and the
    greatest time, ``unsealed_early`` the number of those with a time before that seal, and ``unsealed_of_period`` the
    number of those of the export's time. ``unproven`` is the number of purges and erasures that no seal has, which
    whoever handed the files over can have written; ``unproven_later`` of these are after the export's time.
    ``is_behind`` is true if the export has an end and the seals do not reach to it.
    """

    seals: int = 0
    last_seal: int = 0
    sealed_at: str | None = None
    entries: int = 0
    unsealed: int = 0
    unsealed_first: list[dict[str, int]] = field(default_factory=list)
    unsealed_times: list[str] = field(default_factory=list)
    unsealed_early: int = 0
    unsealed_of_period: int = 0
    is_behind: bool = False
    unproven: int = 0
    unproven_later: int = 0
    purged: int = 0
    erased: int = 0
    findings: list[Finding] = field(default_factory=list)
    is_complete: bool = True

    @property
    def is_proven(self) -> bool:
        """True if nothing differs and no seal is wanting: the exit code 0."""
        return self.is_complete and not (self.findings or self.unproven or self.is_behind)


def verify(
    export: Path, seals: Path, key: Path, *, copies: Path | None = None, since: int = LOWEST, until: int = HIGHEST + 1
) -> Verification:
    """Compare the entries of an export with the seals. Raises UnreadableError."""
    chain = Chain(read_keys(key), iter(()) if copies is None else copies_of(copies))
    lines = Seals(seals)
    store = sqlite3.connect("", isolation_level=None)  # a file of its own, which goes with it
    try:
        store.executescript(_TABLES + "begin;")
        _load(store, export)
        _load_removals(store, lines)
        store.executescript(_INDEXES)
        began = set()
        for seal, _ in seals_of(lines):
            if chain.take(seal):
                began.add(seal.epoch_began_at)
            else:
                chain.unsigned.add(seal.number)
            if len(chain.findings) > MOST_FINDINGS:
                return Verification(seals=chain.taken, findings=chain.findings[:MOST_FINDINGS], is_complete=False)
        chain.end()
        if not chain.taken and not chain.findings:
            raise UnreadableError(f"{seals} has no seals, so nothing can be verified")
        period = range(since, until)
        removals = _removals(store, lines, chain, period)
        return _Comparison(store, removals, sorted(time for time in began if time is not None), period).all(
            lines, chain
        )
    finally:
        store.close()


def _load(store: sqlite3.Connection, export: Path) -> None:
    for number, line in lines_of(export):
        try:
            entry = read_entry(line)
        except (ValueError, OverflowError) as error:
            why = "is no entry as svc-pg evidence writes it"
            if str(error) == "tableOid":
                why = "lacks tableOid, movedFrom and erasedLeaf: svc-pg evidence writes them"
            raise UnreadableError(f"{export} cannot be verified: line {number} {why}") from error
        erased = entry.content if entry.is_erased else None
        row = (entry.id, entry.time, entry.xact, entry.digest, erased, number)
        store.execute("insert into entry values (?, ?, ?, ?, ?, ?)", row)
        if entry.is_removal:
            told = (entry.id, entry.leaf, entry.who, entry.content)
            store.execute("insert into told values (?, ?, ?, ?)", told)


def _load_removals(store: sqlite3.Connection, seals: Seals) -> None:
    for number, line in seals:
        if not line.startswith(_REMOVAL):
            continue
        try:
            values = json.loads(line)
            key, time = int(values["removal"]), int(values["time"])
            if "who" in values:
                who, content = values["who"], values["content"]
                leaf = leaf_of(key, time, digest_of(who, sha256(content.encode()).digest()))
                store.execute("insert or replace into kept values (?, ?, ?, ?)", (key, leaf, who, content))
            else:
                digest = bytes.fromhex(values["digest"])
                if len(digest) != 32:
                    raise ValueError("digest")
                row = (int(values["entry"]), key, time, digest)
                store.execute("insert into removed values (?, ?, ?, ?)", row)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise UnreadableError(f"{seals.file} is damaged: line {number} is no removal") from error


def _removals(store: sqlite3.Connection, seals: Seals, chain: Chain, period: range) -> Removals:
    """Those that the export tells of, and those kept beside the log whose entry is sealed."""
    found, gone = Removals(), {}
    for key, who, content in store.execute("select id, who, content from told"):
        found.add(key, who, content)
    rows = "select k.id, k.leaf, t.leaf from kept k left join told t on t.id = k.id order by k.id"
    for key, kept, told in store.execute(rows):
        if told is None:
            gone[kept] = key
        elif told != kept:
            found.disproved.append(key)
    for seal, leaves in seals_of(seals) if gone else ():
        if leaves is None or seal.number in chain.unsigned or seal.version != 2 or len(leaves) != seal.entries * LEAF:
            continue
        hits = [leaf for leaf in split(leaves) if leaf in gone]
        if hits and is_sealed(seal, leaves):
            for leaf in hits:
                key = gone.pop(leaf, None)
                if key is not None:
                    found.add(key, *_kept(store, key))
    for leaf, key in [*gone.items()]:
        who, content = _kept(store, key)
        time = _parts(leaf)[1]
        if time not in period and chain.newest is not None and chain.newest.is_before(_xact_of(who), key, time):
            found.add(key, who, content)
            found.later += 1
            del gone[leaf]
    found.disproved += sorted(gone.values())
    found.compare_lists(store)
    return found


def _kept(store: sqlite3.Connection, key: int) -> tuple[str, str]:
    [(who, content)] = store.execute("select who, content from kept where id = ?", (key,))
    return who, content


def _xact_of(who: str) -> int:
    try:
        found = json.loads(who)[1]
    except (ValueError, LookupError, TypeError, RecursionError):
        return LOWEST
    return found if isinstance(found, int) else LOWEST


@dataclass(slots=True)
class _Comparison:
    store: sqlite3.Connection
    removals: Removals
    began: list[int]
    period: range
    result: Verification = field(default_factory=Verification)
    changed: list[tuple[bytes, bytes, int]] = field(default_factory=list)
    missing: list[tuple[bytes, int]] = field(default_factory=list)
    extra: list[tuple[bytes, int]] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    compared: int = 0
    seals: int = 0

    def all(self, seals: Seals, chain: Chain) -> Verification:
        """Compare each signed seal, then name what differs."""
        result = self.result
        for seal, leaves in seals_of(seals):
            if len(self.changed) + len(self.missing) + len(self.extra) + len(self.found) > MOST_FINDINGS:
                result.is_complete = False
                break
            if seal.number not in chain.unsigned and seal.version == 2:
                self._compare(seal, leaves)
                self.seals += 1
        if not self.seals and not chain.findings:
            raise UnreadableError(f"{seals.file} has no seal of version 2, so nothing can be verified")
        self._rest(chain.newest, has_chain=not chain.findings)
        self.found += self._names()
        if result.is_complete and chain.last is not None:
            self.found += self._returned(chain.last.number)
            self.found += _claims(self.removals, chain.last.number)
        result.seals = chain.taken
        result.findings = sorted([*chain.findings, *self.found], key=lambda each: each.seal)
        result.is_complete = result.is_complete and len(result.findings) <= MOST_FINDINGS
        del result.findings[MOST_FINDINGS:]
        return result

    def _compare(self, seal: Seal, kept: bytes | None) -> None:
        rows = self.store.execute(*self._stretch(seal)).fetchall()
        found = b"".join([leaf_of(key, time, digest) for key, time, digest, _ in rows])
        self.compared += len(rows)
        self.result.erased += sum(erased is not None for *_, erased in rows)
        if kept is None or not is_sealed(seal, kept):
            self._without_leaves(seal, found, has_none=kept is None)
            changed: set[int] = set()
        else:
            before, now = Counter(split(kept)), Counter(split(found))
            changed = self._differences(seal, before - now, now - before)
            self.result.entries += len(rows) - len(changed)
        for key, _, _, erased in rows:
            if erased is None or key in changed or erased.endswith(', ""]'):  # that was erased before its seal
                continue
            difference = self.removals.difference_of_erased(self.store, key, erased, seal.number)
            if difference is not None:
                self.found.append(difference)
                self.result.entries -= 1

    def _without_leaves(self, seal: Seal, found: bytes, *, has_none: bool) -> None:
        number = seal.number
        if is_sealed(seal, found):
            self.result.entries += len(found) // LEAF
            if not has_none:
                message = f"the leaves of seal {number} were changed or removed; its entries are as they were sealed"
                self.found.append(Finding("leaves_changed", number, None, message))
            return
        message = f"the entries of seal {number} are not as they were sealed; without its leaves nothing tells which"
        self.found.append(Finding("entries_differ", number, None, message))

    def _differences(self, seal: Seal, before: Counter[bytes], now: Counter[bytes]) -> set[int]:
        """Keep what is missing, new or changed, and return the ids of the new and the changed."""
        missing: dict[int, list[bytes]] = {}
        for leaf in before.elements():
            missing.setdefault(_parts(leaf)[0], []).append(leaf)
        differing = set()
        for leaf in now.elements():
            key = _parts(leaf)[0]
            differing.add(key)
            if missing.get(key):
                self.changed.append((missing[key].pop(0), leaf, seal.number))
            else:
                self.extra.append((leaf, seal.number))
        for leaf in [leaf for leaves in missing.values() for leaf in leaves]:
            if self.removals.has_removed(self.store, leaf):
                self.result.purged += 1
            elif _parts(leaf)[1] in self.period:
                self.missing.append((leaf, seal.number))
        return differing

    def _stretch(self, seal: Seal) -> tuple[str, tuple[int, ...]]:
        began = LOWEST if seal.epoch_began_at is None else seal.epoch_began_at
        ended = min((time - 1 for time in self.began if time > began), default=HIGHEST)
        bounds = (seal.from_xact_id, seal.until_xact_id, seal.after_id, seal.until_id)
        low, high, after, until = (
            end if value is None else value
            for value, end in zip(bounds, (LOWEST, HIGHEST, LOWEST, HIGHEST), strict=True)
        )
        has_ids = seal.after_id is not None and seal.until_id is not None  # a part between the first and the last
        index = "entry_id" if has_ids else "entry_xact"
        text = (
            f"select id, time, digest, erased from entry indexed by {index}"  # noqa: S608 - one of two names
            " where xact >= ? and xact < ? and id > ? and id <= ? and time >= ? and time <= ? order by id limit ?"
        )
        return text, (low, high, after, until, began, ended, min(seal.entries + MOST_FINDINGS + 1, HIGHEST))

    def _rest(self, last: Seal | None, *, has_chain: bool) -> None:
        """Count the entries after the last seal. There are no others, unless seals are missing too."""
        if last is None or not self.result.is_complete:
            return
        result, until = self.result, self.period.stop
        newer = "from entry e where e.time >= ? and (e.xact >= ? or (e.xact >= ? and e.id > ?))"
        facts = (
            "select count(*), min(time), max(time), count(*) filter (where time < ?),"
            " count(*) filter (where time >= ? and time < ?) "
        )
        limits = (last.sealed_at, self.period.start, min(until, HIGHEST))
        [(result.unsealed, *times, early, of_period)] = self.store.execute(facts + newer, (*limits, *last.ends))
        result.unsealed_early, result.unsealed_of_period = early, of_period
        if result.unsealed:
            result.unsealed_times = [shown(time) for time in times]
        first = f"select id, line {newer} order by time, id limit {MOST_NAMED}"
        result.unsealed_first = [{"entry": key, "line": line} for key, line in self.store.execute(first, last.ends)]
        result.last_seal, result.sealed_at = last.number, shown(last.sealed_at)
        result.is_behind = until <= HIGHEST and (of_period > 0 or last.sealed_at < until)
        of_told = "select count(*) " + newer + " and e.id in (select id from told)"  # noqa: S608 - constants
        [(told,)] = self.store.execute(of_told, last.ends)
        result.unproven, result.unproven_later = told + self.removals.later, self.removals.later
        [(entries,)] = self.store.execute("select count(*) from entry")
        if has_chain and entries != self.compared + result.unsealed:
            message = f"{entries - self.compared - result.unsealed} entries are in the part of no seal"
            self.found.append(Finding("outside", last.number, None, message))

    def _names(self) -> Iterator[Finding]:
        sealed = {before[16:]: _parts(before)[0] for before, _, _ in self.changed}
        for before, now, seal in self.changed:
            key, time, digest = _parts(before)
            redated = f"its time was {shown(time)} and is {shown(_parts(now)[1])}"
            if digest == now[16:]:
                yield _of(key, seal, "redated", redated)
            elif sealed.get(now[16:], key) != key:
                yield _of(key, seal, "swapped", f"it has what entry {sealed[now[16:]]} had when it was sealed")
            else:
                moved = "" if before[8:16] == now[8:16] else f"; {redated}"
                yield _of(key, seal, "changed", self._digests(before, now) + moved)
        present = {_parts(leaf)[0]: leaf for leaf, _ in self.extra}
        twins = {leaf[8:]: leaf for leaf, _ in self.extra}
        explained = set()
        for before, seal in self.missing:
            key, time, digest = _parts(before)
            same, twin = present.get(key), twins.get(before[8:])
            explained |= {same or twin}
            elsewhere = self.store.execute("select xact, time from entry where id = ?", (key,)).fetchone()
            if same is not None and same[16:] == digest:
                yield _of(key, seal, "redated", f"its time was {shown(time)} and is {shown(_parts(same)[1])}")
            elif same is not None:
                yield _of(key, seal, "changed", f"{self._digests(before, same)}, its transaction too")
            elif twin is not None:
                yield _of(key, seal, "renumbered", f"its id is {_parts(twin)[0]} now")
            elif elsewhere is not None:
                words = f"its transaction is {elsewhere[0]} and its time {shown(elsewhere[1])} now"
                yield _of(key, seal, "changed", words)
            else:
                yield _of(key, seal, "deleted", f"it is not in the export; its time was {shown(time)}")
        for leaf, seal in self.extra:
            if leaf not in explained:
                key, time, _ = _parts(leaf)
                yield _of(key, seal, "inserted", f"seal {seal} does not have it; its time is {shown(time)}")

    def _digests(self, before: bytes, now: bytes) -> str:
        [line] = self.store.execute("select line from entry where id = ? limit 1", (_parts(now)[0],)).fetchone()
        return f"the digest of line {line} was {before[16:].hex()[:16]} and is {now[16:].hex()[:16]}"

    def _returned(self, seal: int) -> Iterator[Finding]:
        text = (
            "select distinct r.id, r.removal from removed r join entry e on e.id = r.id and e.time = r.time"
            " where e.erased is null order by r.id"
        )
        for key, removal in self.store.execute(text):
            if removal in self.removals.lists and removal in self.removals.erasures:
                yield _of(key, seal, "changed", f"it has its contents, which erasure {removal} took away")


def _claims(removals: Removals, seal: int) -> Iterator[Finding]:
    for key in removals.disproved:
        message = f"entry {key} is said to tell of a purge or an erasure, and the log never had such an entry"
        yield Finding("removal_claimed", seal, key, message)
    for key in removals.changed:
        message = f"the list of the entries that entry {key} says it purged or erased was changed"
        yield Finding("removal_claimed", seal, key, message)


_WORDS: Final = {
    "changed": "was changed",
    "deleted": "was deleted",
    "inserted": "was inserted",
    "redated": "was re-dated",
    "renumbered": "got another id",
    "swapped": "was exchanged",
}


def _of(key: int, seal: int, kind: str, detail: str) -> Finding:
    return Finding(kind, seal, key, f"entry {key} {_WORDS[kind]}: {detail}")


def _parts(leaf: bytes) -> tuple[int, int, bytes]:
    return int.from_bytes(leaf[:8], "big", signed=True), int.from_bytes(leaf[8:16], "big", signed=True), leaf[16:]


# ---- 7. Certificates: entries that are proven one by one, each by its way to the root of its seal

MOST_CERTIFIED: Final = 1000
LONGEST_CERTIFICATE: Final = 1 << 28
_LONGEST_PATH: Final = 64


def check_certificate(
    file: Path, keys: list[tuple[str | None, bytes]], seals: Path | None = None
) -> tuple[list[str], bool]:
    """A line for its subject, one for each entry, and one for its digest, and whether all are proven and about it.

    With ``seals``, those of an entry must be among them.
    """
    found = _certificate(file)
    known = None if seals is None else _seals_of_entries(seals, found["entries"])
    lines: list[str] = [f"The certificate is about {_subject(found)}."]
    leaves: list[bytes] = []
    is_proven = bool(found["entries"]) and (found["subject"] != "entry" or len(found["entries"]) == 1)
    for number, certified in enumerate(found["entries"], 1):
        try:
            key, proof = str(certified["id"]), certified["proof"]
            if proof is None:
                words, proven, leaf = "is not proven: it has no seal yet, or no proof", False, None
            else:
                words, proven, leaf = _check_entry(proof, key, keys)
                unfit = _unfit(found, certified, number) or _foreign(Seal.of(proof["seal"]), known) if proven else None
                if unfit is not None:
                    words, proven = f"{unfit}, although it {words}", False
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise UnreadableError(f"{file} is damaged: its entry {number} cannot be read") from error
        lines.append(f"entry {key} {words}")
        is_proven = is_proven and proven
        if leaf is not None and certified["state"] == "sealed":
            leaves.append(leaf)
    digest = root_of(leaves).hex() if leaves else None
    if digest != found["digest"]:
        return [*lines, "The digest of the certificate is not that of its entries."], False
    return [*lines, f"The digest of the certificate is {digest}."], is_proven


def _certificate(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            text = opened.read(LONGEST_CERTIFICATE).decode()
        found = json.loads(text)
        if (found["kind"], found["version"]) != ("svc-pg audit certificate", 1):
            raise ValueError("kind")
        if len(found["entries"]) > MOST_CERTIFIED:
            raise ValueError("entries")
        if found["subject"] not in ("entry", "record", "erasure"):
            raise ValueError("subject")
        names = ("subject", "table", "record", "digest")
        return {"entries": list(found["entries"]), **{name: found[name] for name in names}}
    except OSError as error:
        raise UnreadableError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnreadableError(f"{file} is no certificate of version 1, or is damaged") from error


def _subject(found: dict[str, Any]) -> str:
    first = found["entries"][0] if found["entries"] else None
    entry = f"entry {first.get('id') if isinstance(first, dict) else None}"
    record = f"record {found['record']} of {found['table']}"
    return {"entry": entry, "record": record, "erasure": f"the erasure of which {entry} tells"}[found["subject"]]


def _unfit(found: dict[str, Any], certified: dict[str, Any], number: int) -> str | None:
    """The words on a proven entry of a certificate that is about something else."""
    entry = certified["proof"]["entry"]
    fields, content = json.loads(entry["who"]), entry["content"]
    is_of_log = fields[2] == "svc.audit_logs" and fields[12] == "audit log erased"
    if found["subject"] == "record" and not (fields[2] == found["table"] and found["record"] in _keys(fields, content)):
        return f"is not proven to be about record {found['record']} of {found['table']}"
    if found["subject"] == "erasure" and number == 1 and not is_of_log:
        return "tells of no erasure"
    return None if certified["state"] == "sealed" else f'has the state "{certified["state"]}"'


def _seals_of_entries(file: Path, entries: list[Any]) -> dict[int, Seal]:
    """The seals of a file that have the numbers of the entries' seals."""
    wanted = set()
    for each in entries:
        try:
            wanted.add(Seal.of(each["proof"]["seal"]).number)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            continue  # which is told of the entry
    return {seal.number: seal for seal, _ in seals_of(Seals(file)) if seal.number in wanted}


def _foreign(seal: Seal, known: dict[int, Seal] | None) -> str | None:
    """The words on an entry whose seal is not among those of its database."""
    other = None if known is None else known.get(seal.number)
    if known is None or (other is not None and other.text == seal.text):
        return None
    if other is None:
        return f"is not proven to be of this database, whose seals have no seal {seal.number}"
    return f"is not proven to be of this database: seal {seal.number} is not the one there{_other_log(seal, other)}"


def _keys(fields: list[Any], content: str | None) -> list[str]:
    """The keys of the record, and those before they changed: of the first part, and of the second if it is there."""
    found = fields[5:7]
    if content is not None:  # its snapshots may be nested too deeply
        decoder = json.JSONDecoder()
        key, end = decoder.raw_decode(content, 1)
        found += [key, decoder.raw_decode(content, end + 2)[0]]
    return [key for key in found if isinstance(key, str)]


def _check_entry(proof: Any, key: str, keys: list[tuple[str | None, bytes]]) -> tuple[str, bool, bytes | None]:
    """The words on an entry, whether it is proven, and its leaf."""
    entry, seal = proof["entry"], Seal.of(proof["seal"])
    if (proof["kind"], proof["version"], seal.version) != ("svc-pg audit proof", 2, 2):
        raise ValueError("version")
    if (
        {type(entry["id"]), type(entry["time"])} != {int}
        or str(entry["id"]) != key
        or len(proof["path"]) > _LONGEST_PATH
    ):
        raise ValueError("entry")
    who, content, digest = entry["who"], entry["content"], bytes.fromhex(entry["digest"])
    fields = json.loads(who)
    if fields[0] != 2 or len(fields) != 16 or len(digest) != 32:
        raise ValueError("who")
    leaf = leaf_of(entry["id"], entry["time"], digest_of(who, digest))
    node = sha256(b"\0" + leaf).digest()
    for step in proof["path"]:
        [(side, beside)] = step.items()
        given = bytes.fromhex(beside)
        if side not in ("left", "right") or len(given) != 32:
            raise ValueError("path")
        node = sha256(b"\1" + (given + node if side == "left" else node + given)).digest()
    known = [public for key_id, public in keys if key_id in (None, seal.key_id)]
    if not known:
        return (
            f'is not proven: seal {seal.number} is signed with the key "{seal.key_id}", which is not given',
            False,
            leaf,
        )
    public = next((each for each in known if has_signed(each, seal.text, seal.signature)), None)
    if public is None:
        return f"is not proven: the signature of seal {seal.number} is not of that key", False, leaf
    if content is not None and sha256(content.encode()).digest() != digest:
        return "is not proven: its contents have another digest", False, leaf
    if node.hex() != seal.root:
        return f"is not proven: it is not in seal {seal.number} as it is here", False, leaf
    about = f"{fields[4]} of {fields[2]}{'' if fields[5] is None else ' ' + fields[5]} by {fields[7] or fields[9]}"
    left = "; its contents are not in the proof" if content is None else ""
    signed = f"seal {seal.number} of log {seal.epoch}, {shown(seal.sealed_at)}, key {seal.key_id}"
    signed += f" ({sha256(public).hexdigest()})"
    return f"is proven by {signed}: {about}, {shown(entry['time'])}{left}", True, leaf


def _tell_of_certificate(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="verify_svc_pg.py certificate", description="Verify a certificate.")
    for name in ("certificate", "key"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seals", type=Path, help="the seals of the database that it must be of, or copies of them")
    wanted = parser.parse_args(arguments)
    try:
        lines, is_proven = check_certificate(wanted.certificate, read_keys(wanted.key), wanted.seals)
    except UnreadableError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    for line in lines:
        words = "".join(char if char.isprintable() else "?" for char in line)
        sys.stdout.write(words.encode("ascii", "backslashreplace").decode() + "\n")
    if not is_proven:
        sys.stdout.write("The certificate does not prove what it says.\n")
    return 0 if is_proven else 3


def main(arguments: list[str]) -> int:
    """Verify the files that the arguments name, print what differs, and return the exit code."""
    if arguments[:1] == ["certificate"]:
        return _tell_of_certificate(arguments[1:])
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("export", "seals", "key"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--copies", type=Path, help="seals that were kept outside the database")
    parser.add_argument("--since", type=datetime.fromisoformat, help="the export begins then, with a time zone")
    parser.add_argument("--until", type=datetime.fromisoformat, help="the export ends before then")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    wanted = parser.parse_args(arguments)
    times = {name: getattr(wanted, name) for name in ("since", "until") if getattr(wanted, name) is not None}
    if any(time.tzinfo is None for time in times.values()):
        parser.error("a time needs its zone: 2026-11-01T00:00:00Z")
    if len(times) == 2 and times["since"] >= times["until"]:
        parser.error("--until must be after --since")
    bounds = {name: (time - _EPOCH) // timedelta(microseconds=1) for name, time in times.items()}
    try:
        found = verify(wanted.export, wanted.seals, wanted.key, copies=wanted.copies, **bounds)
    except UnreadableError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except sqlite3.Error as error:
        sys.stderr.write(f"error: the temporary file failed: {error}; SQLITE_TMPDIR names another folder for it\n")
        return 1
    except MemoryError:
        sys.stderr.write("error: the memory is too small for these files\n")
        return 1
    if wanted.json:
        sys.stdout.write(json.dumps({name: getattr(found, name) for name in found.__slots__}, default=_plain) + "\n")
    else:
        _tell(found)
    return 0 if found.is_proven else 3


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _tell(found: Verification) -> None:
    for each in found.findings:
        words = "".join(char if char.isprintable() else "?" for char in each.message)
        sys.stdout.write(words.encode("ascii", "backslashreplace").decode() + "\n")
    if not found.entries and any(each.kind == "inserted" for each in found.findings):
        sys.stdout.write("No entry is as it was sealed: are the export and the seals of one database?\n")
    elif not found.entries and not found.findings:
        sys.stdout.write("The files have no entry of that time that has a seal, so none was verified.\n")
    sys.stdout.write(
        f"{found.entries} entries as sealed by {found.seals} seals; {found.unsealed} are newer than the last seal, and"
        f" nothing proves them. {found.purged} were purged, and the contents of {found.erased} erased.\n"
    )
    _tell_of_seals(found)
    if not found.is_complete:
        sys.stdout.write("There are too many differences; the rest was not compared.\n")


def _tell_of_seals(found: Verification) -> None:
    """Name the last seal, and what no seal has."""
    lines = [f"The last seal is {found.last_seal}, of {found.sealed_at}."] if found.sealed_at else []
    if found.unsealed:
        named = ", ".join(f"{each['entry']} (line {each['line']})" for each in found.unsealed_first)
        more = f" and {found.unsealed - len(found.unsealed_first)} more" if found.unsealed > MOST_NAMED else ""
        lines.append(f"Without a seal: {named}{more}; from {found.unsealed_times[0]} to {found.unsealed_times[1]}.")
    if found.unsealed_early:
        why = "their transactions ended after it, or somebody dated them back"
        lines.append(f"{found.unsealed_early} of these have a time before the last seal: {why}.")
    told = found.unproven - found.unproven_later
    if told:
        lines.append(f"{told} of the newer ones tell of a purge or an erasure: seal, and write anew.")
    if found.unproven_later:
        words = "purges or erasures outside of that time are newer than the last seal: seal, and write anew"
        lines.append(f"{found.unproven_later} {words}.")
    if found.is_behind:
        wanting = f"{found.unsealed_of_period} entries of that time have no seal"
        wanting = wanting if found.unsealed_of_period else "the last seal is older than --until"
        lines.append(f"The time until --until is not proven, because {wanting}: seal, and write anew.")
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
