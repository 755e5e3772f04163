"""Verify the seals themselves: each is signed, each follows the one before, and each equals its copy."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from svc_pg.seals.verification.finding import Finding, FindingKind
from svc_pg.seals.verification.seal import BEFORE_FIRST, VERSION, Seal, has_signed

_MOST_TRIED: Final = 20
_MOST_COPIES: Final = 1000
"""The most copies without a seal that are named as changed."""


class Chain:
    """Takes all seals in their order, and keeps the findings. ``copies`` are in their order too.

    ``public_keys`` are by id, 32 bytes each.
    """

    def __init__(self, public_keys: Mapping[str, bytes], copies: Iterable[Seal] = ()) -> None:
        self.findings: list[Finding] = []
        self.first: Seal | None = None
        self.last: Seal | None = None
        self.taken = self.old = 0
        self._public_keys = public_keys
        self._copies = iter(copies)
        self._copy = next(self._copies, None)
        self.has_copies = self._copy is not None
        self._has_followed = True
        self._unknown: dict[str, tuple[Seal, Seal]] = {}
        self._changed: list[Seal] = []

    def take(self, seal: Seal) -> bool:
        """Verify the next seal; True if its signature is good."""
        expected = self.last.number + 1 if self.last else 1
        if seal.number != expected:
            self._missing(expected, seal.number - 1)
        is_signed = self._is_signed(seal)
        follows = seal.number != expected or seal.previous == (self.last.digest if self.last else BEFORE_FIRST)
        if is_signed and not follows and self._has_followed:
            self._add("seal_replaced", seal, f"seal {expected - 1} is not the one that seal {seal.number} follows")
        self._compare(seal)
        self.first = self.first or seal
        self.last, self._has_followed = seal, is_signed
        self.taken += 1
        self.old += seal.version != VERSION
        return is_signed

    def end(self) -> None:
        """Report the findings of the end: seals that the copies have and the log lacks, and unknown keys."""
        last = self.last.number if self.last else 0
        newest, changed = last, 0
        for copy in self._rest():
            if copy.number <= last or not self._is_forged(copy):
                newest = max(newest, copy.number)
            elif (changed := changed + 1) <= _MOST_COPIES:
                self._add_changed_copy(copy)
        if newest > last:
            self._missing(last + 1, newest, why=": the copies have them")
        for key_id, (first, latest) in self._unknown.items():
            self._add(
                "seal_of_unknown_key",
                first,
                f'{_seals(first.number, latest.number)} signed with the key "{key_id}", whose public key is not given',
            )

    def _is_signed(self, seal: Seal) -> bool:
        if seal.key_id not in self._public_keys:
            first, _ = self._unknown.get(seal.key_id, (seal, seal))
            self._unknown[seal.key_id] = (first, seal)
            return False
        if self._signed(seal):
            return True
        for other in self._changed:
            if self._signed(replace(seal, number=other.number)) and self._signed(replace(other, number=seal.number)):
                self.findings = [each for each in self.findings if each.seal != other.number]
                message = f"seals {other.number} and {seal.number} were exchanged"
                self._add("seals_swapped", other, message)
                return False
        if len(self._changed) < _MOST_TRIED:
            self._changed.append(seal)
        self._add("seal_changed", seal, f"seal {seal.number} was changed: its signature is not of its text")
        return False

    def _signed(self, seal: Seal) -> bool:
        return has_signed(self._public_keys[seal.key_id], seal.text, seal.signature)

    def _compare(self, seal: Seal) -> None:
        while self._copy is not None and self._copy.number < seal.number:
            self._copy = next(self._copies, None)
        copy = self._copy
        if copy is None or copy.number != seal.number or (copy.text, copy.signature) == (seal.text, seal.signature):
            return
        if self._is_forged(copy):
            self._add_changed_copy(copy)
        elif copy.text != seal.text:
            logs = "" if copy.epoch == seal.epoch else f": it is of log {seal.epoch}, and theirs of log {copy.epoch}"
            self._add("seal_replaced", seal, f"seal {seal.number} is not the one of the copies{logs}")

    def _is_forged(self, copy: Seal) -> bool:
        """True if the copy has a known key, but no valid signature of it."""
        return copy.key_id in self._public_keys and not self._signed(copy)

    def _add_changed_copy(self, copy: Seal) -> None:
        self._add("copy_changed", copy, f"the copy of seal {copy.number} was changed: its signature is not of its text")

    def _rest(self) -> Iterator[Seal]:
        if self._copy is not None:
            yield self._copy
        yield from self._copies

    def _missing(self, first: int, last: int, *, why: str = "") -> None:
        self.findings.append(Finding("seal_missing", f"{_seals(first, last)} missing{why}", first))

    def _add(self, kind: FindingKind, seal: Seal, message: str) -> None:
        self.findings.append(Finding(kind, message, seal.number))


def _seals(first: int, last: int) -> str:
    return f"seal {first} is" if first == last else f"seals {first} to {last} are"
