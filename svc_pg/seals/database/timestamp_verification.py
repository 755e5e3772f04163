"""Verify the timestamps of seals: each is of its seal, by the authority, and the one of the copies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from svc_pg.database.effects import Effects
from svc_pg.seals.database.stored_timestamps import StoredTimestamp, timestamps_after
from svc_pg.seals.timestamps import BadTimestamp, TimestampAuthority
from svc_pg.seals.verification.finding import Finding, FindingKind
from svc_pg.seals.verification.seal import Seal

_END: Final = 2**63 - 1
_MOST: Final = 1000
"""The most findings; with as many, a verification ends."""


class Timestamps:
    """Takes the seals page by page, in their order, and keeps the findings of their timestamps.

    ``copies`` are in the same order: the number of a seal, and its timestamp. ``number`` counts good timestamps,
    ``last`` is the newest seal that has one, and ``last_time`` the time in it.
    """

    def __init__(self, authority: TimestampAuthority, copies: Iterable[tuple[int, bytes]] = ()) -> None:
        self.findings: list[Finding] = []
        self.number = 0
        self.last: Seal | None = None
        self.last_time: datetime | None = None
        self._authority = authority
        self._copies = iter(copies)
        self._copy = next(self._copies, None)
        self._at = 0

    @property
    def is_full(self) -> bool:
        """True if there are too many findings to go on."""
        return len(self.findings) > _MOST

    def take(self, seals: Sequence[Seal]) -> Effects[None]:
        """Verify the timestamps of a page of seals, and those of seals that lack before."""
        yield from self._verified({seal.number: seal for seal in seals}, seals[-1].number)

    def end(self) -> Effects[None]:
        """Report timestamps of no seal, and that there is none at all."""
        last = self._at
        yield from self._verified({}, _END)
        if last and not self.number and not self.findings:
            self._add("timestamp_missing", last, "no seal has a timestamp of the authority")

    def _verified(self, seals: Mapping[int, Seal], until: int) -> Effects[None]:
        copies = dict(self._copies_up_to(until))
        while page := (yield timestamps_after(self._at, until)):
            for stamp in page:
                self._take(stamp, seals.get(stamp.seal), copies.pop(stamp.seal, None))
            self._at = page[-1].seal
            if self.is_full:
                return
        for number, copy in copies.items():
            self._take_copy(number, copy, seals.get(number))
        self._at = until

    def _copies_up_to(self, until: int) -> Iterator[tuple[int, bytes]]:
        while self._copy is not None and self._copy[0] <= until and not self.is_full:
            yield self._copy
            self._copy = next(self._copies, None)

    def _take(self, stamp: StoredTimestamp, seal: Seal | None, copy: bytes | None) -> None:
        if seal is None:
            self._add("timestamp_foreign", stamp.seal, f"the timestamp of seal {stamp.seal} is of no seal of this log")
            return
        name = f"the timestamp of seal {seal.number}"
        try:
            time = self._authority.time_of(stamp.answer, seal)
        except BadTimestamp as error:
            self._add(error.kind, seal.number, f"{name} is not good: {error}")
            return
        if copy is not None and copy != stamp.answer:
            self._add("timestamp_exchanged", seal.number, f"{name} is not the one of the copies")
            return
        self.number += 1
        self.last, self.last_time = seal, time

    def _take_copy(self, number: int, copy: bytes, seal: Seal | None) -> None:
        """Take a copy whose timestamp the log lacks."""
        if seal is None:
            self._add("timestamp_foreign", number, f"the copies have a timestamp of seal {number}, which the log lacks")
            return
        try:
            self._authority.time_of(copy, seal)
        except BadTimestamp as error:
            self._add(error.kind, number, f"the copy of the timestamp of seal {number} is not good: {error}")
            return
        self._add("timestamp_missing", number, f"the timestamp of seal {number} is missing: the copies have it")

    def _add(self, kind: FindingKind, seal: int, message: str) -> None:
        self.findings.append(Finding(kind, message, seal))
