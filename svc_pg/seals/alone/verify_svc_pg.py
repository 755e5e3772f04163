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

The parts: signatures, input, entries, seals, removals, comparison, certificates, the command. Files are read once, into
a temporary file of SQLite, so memory grows with the number of purges, erasures and differences alone. The page "Verify
an export without svc-pg" of the documentation has the format.

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
import struct
from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256, sha512
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

LEAF: Final = struct.Struct(">qq32s")  # the id of an entry, its time in microseconds since 2000, and its digest
LOWEST, HIGHEST = -(2**63), 2**63 - 1
MOST_FINDINGS: Final = 1000
MOST_NAMED: Final = 20  # entries without a seal
LONGEST_LINE: Final = 1 << 30  # bytes
LONGEST_SEAL: Final = 1 << 22  # a seal has up to 32,768 entries, of 64 bytes each
MOST_CERTIFIED: Final = 1000
LONGEST_CERTIFICATE: Final = 1 << 28
_LONGEST_PATH: Final = 64
_MALFORMED: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, struct.error)
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
    scalar = int.from_bytes(signature[32:], "little")
    point, base = _point_of(public_key), _point_of((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))
    if point is None or base is None or len(signature) != 64 or scalar >= _L:
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
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    x = x if (x * x - square) % _P == 0 else x * _ROOT % _P
    if len(encoded) != 32 or y >= _P or (x * x - square) % _P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else _P - x
    return x, y, 1, x * y % _P


# ---- 2. Input: keys, lines and times

Keys = list[tuple[str | None, bytes]]
"""Public keys with their ids; one in PEM has none, and is tried for each seal."""
_DER: Final = bytes.fromhex("302a300506032b6570032100")
_PEM: Final = re.compile(r"-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z")


@contextmanager
def opened(file: Path, name: str = "") -> Iterator[BinaryIO]:
    """The open file. Raises UnreadableError with its name if it cannot be read."""
    try:
        with file.open("rb") as found:
            yield found
    except OSError as error:
        raise UnreadableError(f"{name or file} cannot be read: {error.strerror}") from error


@contextmanager
def explained(words: str) -> Iterator[None]:
    """Raise UnreadableError with these words for malformed input."""
    try:
        yield
    except _MALFORMED as error:
        raise UnreadableError(words) from error


def read_keys(file: Path) -> Keys:
    """The public keys of a file."""
    with opened(file, f"the file {file} of the public key") as found:
        given = found.read(1 << 16)
    with explained(f"{file} is no public key of Ed25519: neither PEM nor s1:BASE64"):
        text = given.decode()
        if "PRIVATE" in text or "SVC_SEAL_KEY=" in text:
            raise UnreadableError(f"{file} has a private key; verify with the public key, and keep that one secret")
        keys: Keys = []
        for block in _PEM.findall(text):
            der = base64.b64decode("".join(block.split()), validate=True)
            keys.append((None, der.removeprefix(_DER) if der.startswith(_DER) else b""))
        for item in [] if keys else re.split(r"[,\s]+", text.strip().removeprefix("SVC_SEAL_PUBLIC_KEYS=").strip()):
            key_id, _, key = item.partition(":")
            keys.append((key_id, base64.b64decode(key, validate=True)))
        if any(len(key) != 32 for _, key in keys):
            raise ValueError("length")
    return keys


def lines_of(file: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, one at a time."""
    with opened(file) as found:
        number = 0
        while line := found.readline(longest):
            number += 1
            if len(line) == longest and not line.endswith(b"\n"):
                raise UnreadableError(f"{file} cannot be verified: line {number} is longer than {longest} bytes")
            if not line.endswith(b"\n"):
                raise UnreadableError(f"{file} is cut: its line {number} does not end")
            with explained(f"{file} is damaged: line {number} is not UTF-8"):
                text = line[:-1].decode()
            yield number, text


def since_2000(time: datetime) -> int:
    """The microseconds. Raises TypeError for a time without a zone."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def microseconds(time: str) -> int:
    """Those of a time such as 2026-01-05T09:30:00.000000Z. Raises ValueError."""
    if _TIME.fullmatch(time) is None:
        raise ValueError(time)
    return since_2000(datetime.fromisoformat(time))


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
_FIRST: Final = (*MEMBERS[5:9], *MEMBERS[11:15], "partition")  # after the transaction, the table and the keys
_SECOND: Final = ("recordId", "movedFrom", *MEMBERS[9:11], *MEMBERS[15:18], "erasedLeaf")
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{}",]')
_NUMBER: Final = re.compile(r'"(0|-?[1-9][0-9]{0,18})"')
_HASH: Final = re.compile(r'null|""|"[0-9a-f]{64}"')
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ANONYMOUS: Final = re.compile(
    rf'-?[0-9]+|{_UUID}|\[(?:(?>-?[0-9]+|"-?[0-9]+"|"{_UUID}"|null)(?:, )?+)++\]'  # keys that tell about nobody
)
Entry = namedtuple("Entry", "id time xact who content leaf is_erased is_removal")
"""An entry: ``who`` and ``content`` are the texts of its two parts, ``leaf`` has the 48 bytes that a seal has of it."""


def digest_of(who: str, content: bytes) -> bytes:
    """The digest of an entry by its first part, and the digest of its second."""
    return sha256(sha256(who.encode()).digest() + content).digest()


def read_entry(line: str) -> Entry:
    """The entry of a line. Its parts are made of the texts as they stand there. Raises ValueError."""
    raw = _members(line)
    key, xact, time, erased = _number(raw["id"]), _number(raw["xactId"]), raw["timestamp"], raw["erasedLeaf"]
    if _HASH.fullmatch(erased) is None or not (len(time) > 1 and time[0] == time[-1] == '"'):
        raise ValueError(line)
    at = HIGHEST if time == '"null"' else microseconds(time[1:-1])  # or infinity
    who = ["2", str(xact), raw["tableName"], raw["tableOid"], raw["operation"]]
    who += [_anonymous(raw["recordId"]), _anonymous(raw["movedFrom"]), *(raw[name] for name in _FIRST)]
    first, second = f"[{', '.join(who)}]", f"[{', '.join([raw[name] for name in _SECOND])}]"
    content = bytes.fromhex(erased[1:-1]) if len(erased) == 66 else sha256(second.encode()).digest()
    leaf = LEAF.pack(key, at, digest_of(first, content))
    tells = raw["tableName"] == '"svc.audit_logs"' and raw["label"] in ('"audit log purged"', '"audit log erased"')
    return Entry(key, at, xact, first, second, leaf, erased != "null", tells and erased == "null")


def _members(line: str) -> dict[str, str]:
    """The texts of the members, which are these in this order, without a space between. Raises ValueError."""
    depth, start, parts = 0, 1, []
    for token in _TOKEN.finditer(line):
        text = token[0]
        depth += (text in ("[", "{")) - (text in ("]", "}"))
        if text == '"':
            raise ValueError(text)
        if depth == 0 or (depth == 1 and text == ","):
            parts.append(line[start : token.start()])
            start = token.end()
        if depth == 0:
            break
    if line[0] != "{" or line[-1] != "}" or start != len(line):
        raise ValueError(line)
    found = {}
    for name, part in zip_longest(MEMBERS, parts, fillvalue=""):
        head = f'"{name}":'
        if not part.startswith(head):
            raise ValueError(name)
        found[name] = part[len(head) :]
    return found


def _number(text: str) -> int:
    found = _NUMBER.fullmatch(text)
    if found is None or not LOWEST <= int(found[1]) <= HIGHEST:
        raise ValueError(text)
    return int(found[1])


def _anonymous(key: str) -> str:
    """The key if it is one of numbers and UUIDs, which an erasure leaves; else null."""
    if key != "null" and not key.startswith('"'):
        raise ValueError(key)
    return key if key != "null" and _ANONYMOUS.fullmatch(json.loads(key)) else "null"


# ---- 4. Seals: their texts, their tree and their chain

_ENDS: Final = {"from_xact_id": LOWEST, "until_xact_id": HIGHEST, "after_id": LOWEST, "until_id": HIGHEST}
_FIELDS = namedtuple(
    "_FIELDS",
    "after_id entries epoch epoch_began_at from_xact_id key_id number previous root sealed_at until_id until_xact_id"
    " version text signature",
)


class Seal(_FIELDS):
    """A seal: the entries from one transaction until before another, with ids after one and up to another.

    They are not older than the time when its epoch began. A bound that it lacks is the lowest or the highest number.
    """

    @classmethod
    def of(cls, text: str, signature: bytes) -> "Seal":
        """Read a seal, whose text has one form only. The signature is not verified. Raises ValueError and others."""
        values = json.loads(text)
        if _written(values) != text or values.pop("kind") != "svc-pg audit seal" or values["version"] not in (1, 2):
            raise ValueError("text")
        values |= {name: end for name, end in _ENDS.items() if values[name] is None}
        numbers = [values[name] for name in ("entries", "number", "version", *_ENDS)]
        if any(type(each) is not int or not LOWEST <= each <= HIGHEST for each in numbers):
            raise ValueError("number")
        if any(re.fullmatch("[0-9a-f]{64}", values[name]) is None for name in ("root", "previous")):
            raise ValueError("digest")
        values["key_id"].encode(), values["epoch"].encode()
        began, values["sealed_at"] = values["epoch_began_at"], microseconds(values["sealed_at"])
        values["epoch_began_at"] = LOWEST if began is None else microseconds(began)
        return cls(**values, text=text, signature=signature)

    def has_key(self, keys: Keys) -> bool:
        """True if there is a key of its id."""
        return any(key_id in (None, self.key_id) for key_id, _ in keys)

    def signer(self, keys: Keys, number: int | None = None) -> bytes | None:
        """The key that signed it, as it is or with another number."""
        text = self.text if number is None else _written(json.loads(self.text) | {"number": number})
        known = (key for key_id, key in keys if key_id in (None, self.key_id))
        return next((key for key in known if has_signed(key, text, self.signature)), None)

    def has_root_of(self, leaves: list[bytes]) -> bool:
        """True if these are the leaves that it commits to."""
        return bool(len(leaves) == self.entries) and root_of(leaves).hex() == self.root

    def is_before(self, xact: int, key: int, time: int) -> bool:
        """True if an entry with this transaction, id and time is newer than this seal, which is the last."""
        is_after = xact >= self.until_xact_id or (xact >= self.from_xact_id and key > self.until_id)
        return bool(time >= self.epoch_began_at and is_after)

    def difference_of_logs(self, other: "Seal") -> str:
        """The words on another seal with its number that is of another log; none if it is of the same."""
        return "" if self.epoch == other.epoch else f": it is of log {self.epoch}, and theirs of log {other.epoch}"


def _written(values: Any) -> str:
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


def root_of(leaves: list[bytes]) -> bytes:
    """The root of the hash tree over the leaves: RFC 9162, section 2.1."""
    level = [sha256(b"\0" + leaf).digest() for leaf in leaves]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [sha256(b"\1" + left + right).digest() for left, right in pairs] + level[len(level) & ~1 :]
    return level[0] if level else sha256(b"").digest()


def split(leaves: bytes) -> list[bytes]:
    """The leaves, one by one."""
    return [leaves[start : start + LEAF.size] for start in range(0, len(leaves), LEAF.size)]


def seals_of(file: Path, take_removal: Callable[[Any], object] = lambda _: None) -> Iterator[tuple[Seal, bytes | None]]:
    """The seals of a file, in the order of their numbers, with their leaves; None in a file of copies."""
    before = 0
    for number, line in lines_of(file, LONGEST_SEAL):
        is_removal = line.startswith('{"removal":')
        with explained(f"{file} is damaged: line {number} is no {'removal' if is_removal else 'seal'}"):
            values = json.loads(line)
            if is_removal:
                take_removal(values)
                continue
            found = Seal.of(values["text"], base64.b64decode(values["signature"], validate=True))
            leaves = base64.b64decode(values["leaves"] or "", validate=True) if "leaves" in values else None
        if found.number <= before:
            raise UnreadableError(f"{file} is damaged: seal {found.number} in line {number} comes after seal {before}")
        before = found.number
        yield found, leaves


@dataclass(slots=True)
class Verification:
    """The result: ``entries`` are as they were sealed, ``unsealed`` ones are newer than the last seal.

    Of these, ``unsealed_first`` are the oldest, and ``unsealed_early`` have a time before that seal. ``unproven`` is
    the number of purges and erasures that no seal has, which whoever handed the files over can have written.
    ``is_behind`` is true if the export has an end and the seals do not reach to it. ``notes`` says so in words.
    """

    seals: int = 0
    last_seal: int = 0
    sealed_at: str | None = None
    entries: int = 0
    unsealed: int = 0
    unsealed_first: list[dict[str, int]] = field(default_factory=list)
    unsealed_early: int = 0
    is_behind: bool = False
    unproven: int = 0
    purged: int = 0
    erased: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_complete: bool = True

    @property
    def is_proven(self) -> bool:
        """True if nothing differs and no seal is wanting: the exit code 0."""
        return self.is_complete and not (self.findings or self.unproven or self.is_behind)

    def add(self, kind: str, seal: int, words: str, entry: int | None = None) -> None:
        """Add a finding about an entry, or else about the seal."""
        message = words if entry is None else f"entry {entry} {words}"
        self.findings.append({"kind": kind, "seal": seal, "entry": entry, "message": message})


@dataclass(slots=True)
class Chain:
    """Takes all seals in their order: each is signed, follows the one before, and equals its copy.

    ``newest`` is the last one of version 2; those before have no digests of their entries as they are in an export.
    """

    keys: Keys
    result: Verification
    last: Seal | None = None
    newest: Seal | None = None
    epochs: set[int] = field(default_factory=set)
    _has_followed: bool = True
    unknown: dict[str, tuple[int, int]] = field(default_factory=dict)
    _changed: list[Seal] = field(default_factory=list)

    def take(self, seal: Seal, copy: Seal | None = None) -> bool:
        """Verify the next seal; True if its signature is good."""
        add, last = self.result.add, self.last
        expected, previous = (last.number + 1, sha256(last.text.encode()).hexdigest()) if last else (1, "0" * 64)
        if seal.number != expected:
            add("seal_missing", expected, f"{_seals(expected, seal.number - 1)} missing")
        is_signed = self._is_signed(seal)
        if is_signed and self._has_followed and seal.number == expected and seal.previous != previous:
            add("seal_replaced", seal.number, f"seal {expected - 1} is not the one that seal {seal.number} follows")
        is_same = copy is None or (copy.text, copy.signature) == (seal.text, seal.signature)
        if copy is not None and not is_same and not self._is_forged(copy) and copy.text != seal.text:
            message = f"seal {seal.number} is not the one of the copies{seal.difference_of_logs(copy)}"
            add("seal_replaced", seal.number, message)
        self.last, self.newest = seal, seal if seal.version == 2 else self.newest
        self.result.seals += 1
        self._has_followed = is_signed
        if is_signed:
            self.epochs.add(seal.epoch_began_at)
        return is_signed

    @property
    def length(self) -> int:
        """The number of the last seal; 0 before the first."""
        return self.last.number if self.last else 0

    def end(self, copies: Iterable[Seal]) -> None:
        """Report unknown keys, and what these copies have behind the last seal."""
        last = newest = self.length
        for copy in copies:
            newest = newest if self._is_forged(copy) else copy.number
        if newest > last:
            self.result.add("seal_missing", last + 1, f"{_seals(last + 1, newest)} missing: the copies have them")
        for key_id, (first, latest) in self.unknown.items():
            words = f'{_seals(first, latest)} signed with the key "{key_id}", which is not given'
            self.result.add("seal_of_unknown_key", first, words)

    def _is_signed(self, seal: Seal) -> bool:
        number, result = seal.number, self.result
        if not seal.has_key(self.keys):
            self.unknown[seal.key_id] = (self.unknown.get(seal.key_id, (number, 0))[0], number)
            return False
        if seal.signer(self.keys) is not None:
            return True
        for other in self._changed:
            if seal.signer(self.keys, other.number) and other.signer(self.keys, number):
                result.findings = [each for each in result.findings if each["seal"] != other.number]
                result.add("seals_swapped", other.number, f"seals {other.number} and {number} were exchanged")
                return False
        if len(self._changed) < 20:
            self._changed.append(seal)
        words = "was changed, or signed with another key: its signature is not of its text"
        result.add("seal_changed", number, f"seal {number} {words}")
        return False

    def _is_forged(self, copy: Seal) -> bool:
        """True if there are keys of its id, and the copy has a valid signature of none, which is reported."""
        is_forged = copy.has_key(self.keys) and copy.signer(self.keys) is None
        if is_forged and len(self.result.findings) <= MOST_FINDINGS:
            words = "was changed: its signature is not of its text"
            self.result.add("copy_changed", copy.number, f"the copy of seal {copy.number} {words}")
        return is_forged


def _seals(first: int, last: int) -> str:
    return f"seal {first} is" if first == last else f"seals {first} to {last} are"


# ---- 5. Removals: purges and erasures explain why entries, or their contents, are gone

_ERASED_KEY: Final = re.compile(r'erased:[0-9a-f]{64}|[]\[0-9a-f", nul-]+')


class Removal(NamedTuple):
    """An entry about a purge or an erasure. One that cannot be read explains nothing.

    It tells of a dropped partition: two times between which entries below its own id are gone. Or it has the digest of
    the list of the entries that it concerns.
    """

    leaf: bytes
    xact: int = LOWEST
    dropped: tuple[int, int] | None = None
    digest: bytes | None = None
    is_erasure: bool = False

    @classmethod
    def of(cls, leaf: bytes, who: str, content: str) -> "Removal":
        """The removal of which the entry with this leaf and these parts tells."""
        with suppress(*_MALFORMED):
            [_, xact, table, _, operation, *_, label, _, _, _] = json.loads(who)
            facts, kind = json.loads(content)[2], (table, operation, label)
            is_purge = kind == ("svc.audit_logs", "DELETE", "audit log purged")
            is_erasure = kind == ("svc.audit_logs", "UPDATE", "audit log erased")
            if is_purge and "from" in facts:
                start, end = (since_2000(datetime.fromisoformat(facts[name])) for name in ("from", "before"))
                return cls(leaf, int(xact), dropped=(start, end))
            if (is_purge or is_erasure) and facts.get("digest") is not None:
                return cls(leaf, int(xact), digest=bytes.fromhex(facts["digest"]), is_erasure=is_erasure)
        return cls(leaf)


def is_tombstone(content: str, erasure: int) -> bool:
    """True if this is the second part of an entry that an erasure leaves."""
    with suppress(*_MALFORMED):
        *keys, before, after, description, redacted, context, _ = json.loads(content)
        return (
            all(key is None or _ERASED_KEY.fullmatch(str(key)) is not None for key in keys)
            and all(snapshot is None or snapshot == {"erased": True} for snapshot in (before, after))
            and (description, redacted, context) == ("Erased", ["*"], {"erasure": erasure})
        )
    return False


# ---- 6. Comparison of the entries with the leaves of the seals

_TABLES: Final = """
create table entry (id integer, time integer, xact integer, leaf blob, line integer, is_removal integer, erased text);
create table seal (number integer primary key, text text, signature blob, leaves blob);
create table copy (number integer primary key, text text, signature blob);
create table removed (removal integer, id integer, time integer, digest blob, is_erasure integer);
create table dropped (start integer, stop integer, before_id integer);
create table listed (removal integer primary key, is_erasure integer);
begin;
"""
"""``seal`` has the signed ones of version 2, ``removed`` the lists of removals, ``listed`` those that are unchanged."""
_INDEXES: Final = """
create index entry_xact on entry (xact, id);
create index entry_id on entry (id, time);
"""
_LISTED: Final = """
update removed set is_erasure = (select is_erasure from listed where listed.removal = removed.removal);
create index removed_id on removed (id, is_erasure);
"""
_IS_PURGED: Final = """
select exists (select 1 from dropped where start <= :time and :time < stop and :id < before_id)
    or exists (select 1 from removed where id = :id and time = :time and digest = :digest and is_erasure = 0)
"""
_ERASURE: Final = "select removal, digest from removed where id = ? and is_erasure = 1"
_RETURNED: Final = """
select id, min(removal) from removed where is_erasure = 1 group by id, time
having exists (select 1 from entry where entry.id = removed.id and entry.time = removed.time and erased is null)
 order by id limit 1001
"""
_FACTS: Final = """
count(*), count(*) filter (where is_removal), min(time), max(time), count(*) filter (where time < :sealed_at),
count(*) filter (where time >= :since and time < :until), (select count(*) from entry)
"""
_NEWER: Final = """
from entry where time >= :epoch_began_at and (xact >= :until_xact_id or (xact >= :from_xact_id and id > :until_id))
"""


def verify(
    export: Path, seals: Path, key: Path, *, copies: Path | None = None, since: int = LOWEST, until: int = HIGHEST + 1
) -> Verification:
    """Compare the entries of an export with the seals. Raises UnreadableError."""
    result = Verification()
    chain = Chain(read_keys(key), result)
    with closing(sqlite3.connect("", isolation_level=None)) as store:  # a file of its own, which goes with it
        store.executescript(_TABLES)
        log = _Log(store, chain, result, range(since, until))
        log.load(export)
        log.load_seals(seals, copies)
        if chain.newest is None and not result.findings:
            words = "seals" if chain.last is None else "seal of version 2"
            raise UnreadableError(f"{seals} has no {words}, so nothing can be verified")
        if result.is_complete:
            log.compare()
    result.findings.sort(key=lambda finding: finding["seal"])
    result.is_complete = result.is_complete and len(result.findings) <= MOST_FINDINGS
    del result.findings[MOST_FINDINGS:]
    return result


@dataclass(slots=True)
class _Log:
    """The entries and the seals, in a store.

    ``proven`` are the removals that have an entry in the export or in a seal, ``gone`` those that have none so far, and
    ``disproved`` those of which the export has another entry.
    ``missing`` are the leaves that a seal has and the export lacks, ``extra`` those in the part of a seal that lacks
    them, each with the number of the seal.
    """

    store: sqlite3.Connection
    chain: Chain
    result: Verification
    period: range
    proven: dict[int, Removal] = field(default_factory=dict)
    gone: dict[bytes, Removal] = field(default_factory=dict)
    disproved: list[int] = field(default_factory=list)
    missing: list[tuple[int, bytes]] = field(default_factory=list)
    extra: list[tuple[int, bytes]] = field(default_factory=list)
    compared: int = 0

    def load(self, export: Path) -> None:
        """Keep the entries, and the removals of which some tell."""
        for number, line in lines_of(export):
            try:
                entry = read_entry(line)
            except _MALFORMED as error:
                why = "is no entry as svc-pg evidence writes it"
                if str(error) == "tableOid":
                    why = "lacks tableOid, movedFrom and erasedLeaf: svc-pg evidence writes them"
                raise UnreadableError(f"{export} cannot be verified: line {number} {why}") from error
            erased = entry.content if entry.is_erased else None
            row = (entry.id, entry.time, entry.xact, entry.leaf, number, entry.is_removal, erased)
            self.store.execute("insert into entry values (?, ?, ?, ?, ?, ?, ?)", row)
            if entry.is_removal:
                self.proven[entry.id] = Removal.of(entry.leaf, entry.who, entry.content)

    def load_seals(self, file: Path, file_of_copies: Path | None) -> None:
        """Verify the chain of the seals, and keep those that are signed."""
        chain, store = self.chain, self.store
        copies = ((copy.number, copy.text, copy.signature) for copy, _ in seals_of(file_of_copies or Path()))
        if file_of_copies and store.executemany("insert into copy values (?, ?, ?)", copies).rowcount < 1:
            raise UnreadableError(f"{file_of_copies} has no copies of seals")
        for seal, leaves in seals_of(file, self._take_removal):
            copy = store.execute("select text, signature from copy where number = ?", (seal.number,)).fetchone()
            if chain.take(seal, Seal.of(*copy) if copy else None) and seal.version == 2:
                row = (seal.number, seal.text, seal.signature, leaves)
                store.execute("insert into seal values (?, ?, ?, ?)", row)
                hits = self.gone.keys() & set(split(leaves or b""))
                if hits and seal.has_root_of(split(leaves or b"")):
                    self.proven |= {LEAF.unpack(leaf)[0]: self.gone.pop(leaf) for leaf in hits}
            if len(self.result.findings) + len(chain.unknown) > MOST_FINDINGS:
                self.result.is_complete = False
                break
        rows = "select text, signature from copy where number > ? and ? order by number"
        chain.end(Seal.of(*copy) for copy in store.execute(rows, (chain.length, self.result.is_complete)))
        store.executescript(_INDEXES)

    def _take_removal(self, values: dict[str, Any]) -> None:
        """Keep a removal, or an entry of its list, which are in the file before all seals."""
        key, time = int(values["removal"]), int(values["time"])
        if "who" in values:
            who, content = values["who"], values["content"]
            leaf = LEAF.pack(key, time, digest_of(who, sha256(content.encode()).digest()))
            if key not in self.proven:
                self.gone[leaf] = Removal.of(leaf, who, content)
            elif self.proven[key].leaf != leaf:
                self.disproved.append(key)
            return
        digest = bytes.fromhex(values["digest"])
        if len(digest) != 32:
            raise ValueError("digest")
        self.store.execute("insert into removed values (?, ?, ?, ?, null)", (key, int(values["entry"]), time, digest))

    def compare(self) -> None:
        """Compare each signed seal, then name what differs."""
        store, chain, result, has_chain = self.store, self.chain, self.result, not self.result.findings
        later = self._explain()
        for text, signature, leaves in store.execute("select text, signature, leaves from seal order by number"):
            if len(self.missing) + len(self.extra) + len(result.findings) > MOST_FINDINGS:
                result.is_complete = False
                break
            self._compare(Seal.of(text, signature), None if leaves is None else split(leaves))
        if chain.newest is not None and result.is_complete:
            self._count_newer(chain.newest, later, has_chain=has_chain)
        self._name()
        for key, removal in store.execute(_RETURNED):
            words = f"was changed: it has its contents, which erasure {removal} took away"
            result.add("changed", chain.length, words, key)

    def _explain(self) -> int:
        """Keep what the removals explain, and report those that explain nothing.

        An entry outside of the period that is newer than the last seal can be neither in the export nor in a seal. The
        number of such removals is returned.
        """
        result, newest, number, later = self.result, self.chain.newest, self.chain.length, 0
        for leaf, removal in self.gone.items():
            key, time, _ = LEAF.unpack(leaf)
            if newest is not None and newest.is_before(removal.xact, key, time) and time not in self.period:
                self.proven[key], later = removal, later + 1
            else:
                self.disproved.append(key)
        for key in self.disproved:
            words = "is said to tell of a purge or an erasure, and the log never had such an entry"
            result.add("removal_claimed", number, words, key)
        hashed: dict[int, Any] = {}
        for key, *leaf in self.store.execute("select removal, id, time, digest from removed order by removal, id"):
            hashed.setdefault(key, sha256()).update(LEAF.pack(*leaf))
        for key, removal in self.proven.items():
            digest = hashed[key].digest() if key in hashed else None
            if removal.dropped is not None:
                self.store.execute("insert into dropped values (?, ?, ?)", (*removal.dropped, key))
            elif removal.digest is not None and removal.digest == digest:
                self.store.execute("insert into listed values (?, ?)", (key, removal.is_erasure))
            elif removal.digest is not None and (digest or removal.is_erasure):  # a purge's list goes with its month
                result.add("removal_claimed", number, "tells of a purge or an erasure whose list was changed", key)
        self.store.executescript(_LISTED)
        return later

    def _compare(self, seal: Seal, leaves: list[bytes] | None) -> None:
        """Keep what differs between the leaves of a seal and the entries in its part."""
        result, number = self.result, seal.number
        rows = self.store.execute(*stretch_of(seal, self.chain.epochs)).fetchall()
        found = [leaf for leaf, _ in rows]
        is_known, new = True, Counter[bytes]()
        if leaves is None or not seal.has_root_of(leaves):
            is_known = seal.has_root_of(found)
            if not is_known:
                words = "are not as they were sealed; without its leaves nothing tells which"
                result.add("entries_differ", number, f"the entries of seal {number} {words}")
            elif leaves is not None:
                words = "were changed or removed; its entries are as they were sealed"
                result.add("leaves_changed", number, f"the leaves of seal {number} {words}")
        elif leaves != found:
            before, now = Counter(leaves), Counter(found)  # two entries can have one id, if one is forged
            new = now - before
            self.extra += [(number, leaf) for leaf in new.elements()]
            ids = {leaf[:8] for leaf in new}
            gone = (leaf for leaf in (before - now).elements() if leaf[:8] in ids or not self._is_explained(leaf))
            self.missing += [(number, leaf) for leaf in gone]
        erased = [(leaf, content) for leaf, content in rows if content is not None]
        wrong = sum(leaf not in new and not self._is_as_erased(number, leaf, content) for leaf, content in erased)
        result.entries += len(rows) - new.total() - wrong if is_known else 0
        result.erased += len(erased)
        self.compared += len(rows)

    def _is_explained(self, leaf: bytes) -> bool:
        """True if the export need not have the entry: it was purged as it was sealed, or is not of its time."""
        key, time, digest = LEAF.unpack(leaf)
        [(is_purged,)] = self.store.execute(_IS_PURGED, {"id": key, "time": time, "digest": digest})
        self.result.purged += is_purged
        return is_purged or time not in self.period

    def _is_as_erased(self, seal: int, leaf: bytes, content: str) -> bool:
        """True if an entry that is marked as erased is as an erasure left it; else that is reported."""
        key = LEAF.unpack(leaf)[0]
        if content.endswith(', ""]'):  # it was erased before its seal
            return True
        removal, digest = self.store.execute(_ERASURE, (key,)).fetchone() or (None, None)
        if removal is None:
            self.result.add("erased", seal, "was erased, and no erasure of the log says so", key)
        elif digest != sha256(content.encode()).digest() or not is_tombstone(content, removal):
            self.result.add("changed", seal, f"was changed: it is not as erasure {removal} left it", key)
        else:
            return True
        return False

    def _count_newer(self, last: Seal, later: int, *, has_chain: bool) -> None:
        """Count the entries after the last seal. There are no others, unless seals are missing too."""
        result, until = self.result, self.period.stop
        values = last._asdict() | {"since": self.period.start, "until": min(until, HIGHEST)}
        facts = self.store.execute(f"select {_FACTS} {_NEWER}", values).fetchone()
        count, told, first, latest, early, of_period, entries = facts
        rows = [*self.store.execute(f"select id, line {_NEWER} order by time, id limit {MOST_NAMED}", values)]
        result.unsealed, result.unsealed_early, result.unproven = count, early, told + later
        result.unsealed_first = [{"entry": key, "line": line} for key, line in rows]
        result.last_seal, result.sealed_at = last.number, shown(last.sealed_at)
        result.is_behind = until <= HIGHEST and (of_period > 0 or last.sealed_at < until)
        named = ", ".join(f"{key} (line {line})" for key, line in rows)
        named += f" and {count - MOST_NAMED} more" if count > MOST_NAMED else ""
        times = f"from {shown(first or 0)} to {shown(latest or 0)}"
        why = "their transactions ended after it, or somebody dated them back"
        outside = "purges or erasures outside of that time are newer than the last seal"
        wanting = f"{of_period} entries of that time have no seal"
        wanting = wanting if of_period else "the last seal is older than --until"
        notes = (
            (True, f"The last seal is {last.number}, of {result.sealed_at}."),
            (count, f"Without a seal: {named}; {times}."),
            (early, f"{early} of these have a time before the last seal: {why}."),
            (told, f"{told} of the newer ones tell of a purge or an erasure: seal, and write anew."),
            (later, f"{later} {outside}: seal, and write anew."),
            (result.is_behind, f"The time until --until is not proven, because {wanting}: seal, and write anew."),
        )
        result.notes = [words for is_true, words in notes if is_true]
        lost = entries - self.compared - count
        if has_chain and lost:
            result.add("outside", last.number, f"{lost} entries are in the part of no seal")

    def _name(self) -> None:
        """Name each missing leaf by the entry that has its id now, or else its contents; then the new ones."""
        row = "select leaf, line, xact from entry where id = ? order by leaf = ? desc limit 1"
        in_seal, pairs = {(seal, leaf[:8]): leaf for seal, leaf in self.extra}, []
        for seal, leaf in self.missing:
            values = (LEAF.unpack(leaf)[0], in_seal.get((seal, leaf[:8])))
            pairs.append((seal, leaf, *(self.store.execute(row, values).fetchone() or (None, None, None))))
        sealed = {(seal, leaf[16:]): LEAF.unpack(leaf)[0] for seal, leaf, now, _, _ in pairs if now}
        unexplained = Counter(leaf for _, leaf in self.extra) - Counter(now for _, _, now, _, _ in pairs)
        twins = {leaf[8:]: leaf for leaf in unexplained}
        for seal, leaf, now, line, xact in pairs:
            key, time, digest = LEAF.unpack(leaf)
            new_key, new_time, new_digest = LEAF.unpack(now or twins.get(leaf[8:], leaf))
            moved = f"its time was {shown(time)} and is {shown(new_time)}"
            if new_key != key:
                kind, words = "renumbered", f"got another id: its id is {new_key} now"
                unexplained[twins[leaf[8:]]] -= 1
            elif now is None:
                kind, words = "deleted", f"was deleted: it is not in the export; its time was {shown(time)}"
            elif new_digest == digest:
                kind, words = "redated", f"was re-dated: {moved}"
            elif sealed.get((seal, new_digest), key) != key:
                other = sealed[seal, new_digest]
                kind, words = "swapped", f"was exchanged: it has what entry {other} had when it was sealed"
            else:
                digests = f"the digest of line {line} was {digest.hex()[:16]} and is {new_digest.hex()[:16]}"
                kind, words = "changed", f"was changed: {digests}" + (f"; {moved}" if new_time != time else "")
                words += "" if (seal, leaf[:8]) in in_seal else f"; its transaction is {xact} now"
            self.result.add(kind, seal, words, key)
        for seal, leaf in self.extra:
            unexplained[leaf] -= 1
            if unexplained[leaf] >= 0:
                key, time, _ = LEAF.unpack(leaf)
                words = f"was inserted: seal {seal} does not have it; its time is {shown(time)}"
                self.result.add("inserted", seal, words, key)


def stretch_of(seal: Seal, epochs: Iterable[int]) -> tuple[str, dict[str, Any]]:
    """The query of the entries in the part of a seal, and its values; of far too many entries it finds only some."""
    is_part = seal.after_id > LOWEST and seal.until_id < HIGHEST  # between the first and the last of its transactions
    text = (
        f"select leaf, erased from entry indexed by {'entry_id' if is_part else 'entry_xact'}"  # noqa: S608
        " where xact >= :from_xact_id and xact < :until_xact_id and id > :after_id and id <= :until_id"
        " and time >= :epoch_began_at and time <= :ended order by id limit :most"
    )
    ended = min((time - 1 for time in epochs if time > seal.epoch_began_at), default=HIGHEST)
    return text, seal._asdict() | {"ended": ended, "most": min(seal.entries + MOST_FINDINGS + 1, HIGHEST)}


# ---- 7. Certificates: entries that are proven one by one, each by its way to the root of its seal

Proof = namedtuple("Proof", "seal who content digest leaf root")
"""The proof of an entry: ``who`` has the fields of its first part, ``content`` is None if its second was erased."""


def check_certificate(file: Path, keys: Keys, seals: Path | None = None) -> tuple[list[str], bool]:
    """A line for its subject, one for each entry, and one for its digest, and whether all are proven and about it.

    With ``seals``, those of an entry must be among them.
    """
    found = _read_certificate(file)
    proofs = []
    for number, each in enumerate(found["entries"], 1):
        with explained(f"{file} is damaged: its entry {number} cannot be read"):
            proofs.append(None if each["proof"] is None else _read_proof(each["proof"], str(each["id"])))
    numbers = {proof.seal.number for proof in proofs if proof}
    known = {seal.number: seal for seal, _ in (seals_of(seals) if seals else ()) if seal.number in numbers}
    first = f"entry {found['entries'][0]['id'] if proofs else None}"
    record = f"record {found['record']} of {found['table']}"
    subjects = {"entry": first, "record": record, "erasure": f"the erasure of which {first} tells"}
    lines, leaves = [f"The certificate is about {subjects[found['subject']]}."], []
    is_proven = bool(proofs) and (found["subject"] != "entry" or len(proofs) == 1)
    for number, (each, proof) in enumerate(zip(found["entries"], proofs, strict=True), 1):
        with explained(f"{file} is damaged: its entry {number} cannot be read"):
            problems = _problems(found, each, proof, keys, is_first=number == 1)
            foreign = _foreign(proof.seal, known) if seals and proof else None
            problem = next(problems, foreign)
            words = problem if proof is None or problem else _words(proof, keys)
            lines.append(f"entry {each['id']} {words}")
            leaves += [proof.leaf] if proof and each["state"] == "sealed" else []
        is_proven = is_proven and problem is None
    digest = root_of(leaves).hex() if leaves else None
    if digest != found["digest"]:
        return [*lines, "The digest of the certificate is not that of its entries."], False
    return [*lines, f"The digest of the certificate is {digest}."], is_proven


def _read_certificate(file: Path) -> dict[str, Any]:
    with opened(file) as found:
        given = found.read(LONGEST_CERTIFICATE)
    with explained(f"{file} is no certificate of version 1, or is damaged"):
        values = json.loads(given.decode())
        if (values["kind"], values["version"]) != ("svc-pg audit certificate", 1):
            raise ValueError("kind")
        if len(values["entries"]) > MOST_CERTIFIED or values["subject"] not in ("entry", "record", "erasure"):
            raise ValueError("entries")
        names = ("subject", "table", "record", "digest")
        return {"entries": list(values["entries"]), **{name: values[name] for name in names}}


def _read_proof(proof: Any, key: str) -> Proof:
    """The proof of the entry with this id. Raises ValueError and others."""
    entry, copy = proof["entry"], proof["seal"]
    seal = Seal.of(copy["text"], base64.b64decode(copy["signature"], validate=True))
    who, digest = json.loads(entry["who"]), bytes.fromhex(entry["digest"])
    if (proof["kind"], proof["version"], seal.version) != ("svc-pg audit proof", 2, 2):
        raise ValueError("version")
    if {type(entry["id"]), type(entry["time"])} != {int} or str(entry["id"]) != key:
        raise ValueError("entry")
    if who[0] != 2 or len(who) != 16 or len(digest) != 32 or len(proof["path"]) > _LONGEST_PATH:
        raise ValueError("who")
    leaf = LEAF.pack(entry["id"], entry["time"], digest_of(entry["who"], digest))
    root = root_of([leaf])
    for step in proof["path"]:
        [(side, beside)] = step.items()
        given = bytes.fromhex(beside)
        if side not in ("left", "right") or len(given) != 32:
            raise ValueError("path")
        root = sha256(b"\1" + (given + root if side == "left" else root + given)).digest()
    return Proof(seal, who, entry["content"], digest, leaf, root)


def _problems(
    found: dict[str, Any], certified: Any, proof: Proof | None, keys: Keys, *, is_first: bool
) -> Iterator[str]:
    """The words on what keeps an entry from being proven as the certificate says; the first ones count."""
    if proof is None:
        yield "is not proven: it has no seal yet, or no proof"
        return
    seal, who, content, record, table = proof.seal, proof.who, proof.content, found["record"], found["table"]
    if not seal.has_key(keys):
        yield f'is not proven: seal {seal.number} is signed with the key "{seal.key_id}", which is not given'
    if seal.signer(keys) is None:
        yield f"is not proven: the signature of seal {seal.number} is not of that key"
    if content is not None and sha256(content.encode()).digest() != proof.digest:
        yield "is not proven: its contents have another digest"
    if proof.root.hex() != seal.root:
        yield f"is not proven: it is not in seal {seal.number} as it is here"
    if found["subject"] == "record":
        now_and_before = who[5:7]
        if content is not None:
            decoder = json.JSONDecoder()  # the snapshots behind the keys may be nested too deeply
            key, end = decoder.raw_decode(content, 1)
            now_and_before += [key, decoder.raw_decode(content, end + 2)[0]]
        if who[2] != table or record is None or record not in now_and_before:
            yield f"is not proven to be about record {record} of {table}"
    if found["subject"] == "erasure" and is_first and (who[2], who[12]) != ("svc.audit_logs", "audit log erased"):
        yield "tells of no erasure"
    if certified["state"] != "sealed":
        yield f'has the state "{certified["state"]}"'


def _foreign(seal: Seal, known: dict[int, Seal]) -> str | None:
    """The words on an entry whose seal is not among those of its database."""
    if seal.number not in known:
        return f"is not proven to be of this database, whose seals have no seal {seal.number}"
    logs = seal.difference_of_logs(known[seal.number])
    is_same = known[seal.number].text == seal.text
    return None if is_same else f"is not proven to be of this database: seal {seal.number} is not the one there{logs}"


def _words(proof: Proof, keys: Keys) -> str:
    seal, who = proof.seal, proof.who
    fingerprint = sha256(seal.signer(keys) or b"").hexdigest()
    signed = f"seal {seal.number} of log {seal.epoch}, {shown(seal.sealed_at)}, key {seal.key_id} ({fingerprint})"
    about = f"{who[4]} of {who[2]}{'' if who[5] is None else f' {who[5]}'} by {who[7] or who[9]}"
    left = "; its contents are not in the proof" if proof.content is None else ""
    return f"is proven by {signed}: {about}, {shown(LEAF.unpack(proof.leaf)[1])}{left}"


# ---- 8. The command


def main(arguments: list[str]) -> int:
    """Verify the files that the arguments name, print what differs, and return the exit code."""
    try:
        lines, is_proven = (_certificate if arguments[:1] == ["certificate"] else _export)(arguments)
    except UnreadableError as error:
        words = str(error)
    except sqlite3.Error as error:
        words = f"the temporary file failed: {error}; SQLITE_TMPDIR names another folder for it"
    except MemoryError:
        words = "the memory is too small for these files"
    else:
        for line in lines:
            printed = "".join(char if char.isprintable() else "?" for char in line)
            sys.stdout.write(printed.encode("ascii", "backslashreplace").decode() + "\n")
        return 0 if is_proven else 3
    sys.stderr.write(f"error: {words}\n")
    return 1


def _certificate(arguments: list[str]) -> tuple[list[str], bool]:
    parser = argparse.ArgumentParser(prog="verify_svc_pg.py certificate", description="Verify a certificate.")
    for name in ("certificate", "key"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seals", type=Path, help="the seals of the database that it must be of, or copies of them")
    wanted = parser.parse_args(arguments[1:])
    lines, is_proven = check_certificate(wanted.certificate, read_keys(wanted.key), wanted.seals)
    return [*lines, *([] if is_proven else ["The certificate does not prove what it says."])], is_proven


def _export(arguments: list[str]) -> tuple[list[str], bool]:
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
    bounds = {name: since_2000(time) for name, time in times.items()}
    found = verify(wanted.export, wanted.seals, wanted.key, copies=wanted.copies, **bounds)
    return [json.dumps(asdict(found))] if wanted.json else [*_lines(found)], found.is_proven


def _lines(found: Verification) -> Iterator[str]:
    """The result in words: each finding, the counts, the last seal, and what no seal has."""
    yield from (each["message"] for each in found.findings)
    if not found.entries and any(each["kind"] == "inserted" for each in found.findings):
        yield "No entry is as it was sealed: are the export and the seals of one database?"
    elif not found.entries and not found.findings:
        yield "The files have no entry of that time that has a seal, so none was verified."
    yield (
        f"{found.entries} entries as sealed by {found.seals} seals; {found.unsealed} are newer than the last seal, and"
        f" nothing proves them. {found.purged} were purged, and the contents of {found.erased} erased."
    )
    yield from found.notes
    if not found.is_complete:
        yield "There are too many differences; the rest was not compared."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
