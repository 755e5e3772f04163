"""Verify the timestamps of seals: each is of its seal, by the authority, in time, and the one of the copies."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from svc_pg.database.effects import Effects
from svc_pg.formats import durations
from svc_pg.seals.database.stored_timestamps import COUNT, StoredTimestamp, timestamps_after
from svc_pg.seals.database.timestamp_coverage import STAMPED_WITHIN, Coverage, StampDelay
from svc_pg.seals.timestamps import BadTimestamp, TimestampAuthority
from svc_pg.seals.verification.finding import Finding, FindingKind
from svc_pg.seals.verification.seal import Seal

_END: Final = 2**63 - 1
_MOST: Final = 1000
"""The most findings; with as many, a verification ends."""


class Timestamps:
    """Takes the seals page by page, in their order, and keeps the findings of their timestamps.

    ``copies`` are in the same order: the number of a seal, and its timestamp. ``number`` counts good timestamps, and
    ``coverage`` has what they prove; without an authority, ``number`` is None, and there are no findings.

    Of the seals after the first one with a timestamp, a finding names those whose timestamp came later than ``within``
    after the time that they say: somebody with the key may have dated them back.
    """

    def __init__(
        self,
        authority: TimestampAuthority | None,
        copies: Iterable[tuple[int, bytes]] = (),
        *,
        within: timedelta = STAMPED_WITHIN,
    ) -> None:
        self.findings: list[Finding] = []
        self.number = None if authority is None else 0
        self.coverage = Coverage()
        self._authority = authority
        self._copies = iter(copies)
        self._copy = None if authority is None else next(self._copies, None)
        self._within = within
        self._at = 0

    @property
    def is_full(self) -> bool:
        """True if there are too many findings to go on."""
        return len(self.findings) > _MOST

    def take(self, seals: Sequence[Seal]) -> Effects[None]:
        """Verify the timestamps of a page of seals, and those of seals that lack before."""
        if self._authority is not None:
            yield from self._verified(self._authority, seals, seals[-1].number)

    def end(self) -> Effects[None]:
        """Report timestamps of no seal, seals that lack one for too long, and that there is none at all."""
        if self._authority is None:
            return
        last = self._at
        yield from self._verified(self._authority, (), _END)
        waiting = self.coverage.waiting()
        if last and not self.number and not self.findings:
            self._add("timestamp_missing", last, "no seal has a timestamp of the authority")
        elif self.number and waiting is not None and waiting.delay > self._within:
            self._add_late(waiting, f"neither it nor a newer one, of {_rounded(waiting)} later, has a timestamp")

    def unverified(self) -> Effects[int]:
        """The number of timestamps of the log or, if they have more, of the copies; 0 with an authority."""
        if self._authority is not None:
            return 0
        [stored] = yield COUNT
        number: int = stored.number
        return max(number, sum(1 for _ in self._copies))

    def _verified(self, authority: TimestampAuthority, seals: Sequence[Seal], until: int) -> Effects[None]:
        """Go through seals, timestamps and copies side by side, so that of each a page or one is in memory."""
        known, left = {seal.number: seal for seal in seals}, deque(seals)
        while page := (yield timestamps_after(self._at, until)):
            for stamp in page:
                self._pass(left, stamp.seal)
                self._take_copies(authority, stamp.seal - 1, known)
                self._take(authority, stamp, known.get(stamp.seal))
                if self.is_full:
                    return
            self._at = page[-1].seal
        self._pass(left, until)
        self._take_copies(authority, until, known)
        self._at = until

    def _pass(self, left: deque[Seal], until: int) -> None:
        while left and left[0].number <= until:
            self.coverage.add(left.popleft())

    def _take_copies(self, authority: TimestampAuthority, until: int, known: Mapping[int, Seal]) -> None:
        """Take the copies up to a number, whose timestamps the log lacks."""
        while self._copy is not None and self._copy[0] <= until and not self.is_full:
            self._take_copy(authority, *self._copy, known.get(self._copy[0]))
            self._copy = next(self._copies, None)

    def _copy_of(self, number: int) -> bytes | None:
        """The copy of the timestamp of a seal, if it is the next one."""
        if self._copy is None or self._copy[0] != number:
            return None
        copy, self._copy = self._copy[1], next(self._copies, None)
        return copy

    def _take(self, authority: TimestampAuthority, stamp: StoredTimestamp, seal: Seal | None) -> None:
        copy = self._copy_of(stamp.seal)
        if seal is None:
            self._add("timestamp_foreign", stamp.seal, f"the timestamp of seal {stamp.seal} is of no seal of this log")
            return
        name = f"the timestamp of seal {seal.number}"
        try:
            time = authority.time_of(stamp.answer, seal)
        except BadTimestamp as error:
            self._add(error.kind, seal.number, f"{name} is not good: {error}")
            return
        if copy is not None and copy != stamp.answer:
            self._add("timestamp_exchanged", seal.number, f"{name} is not the one of the copies")
            return
        self.number = (self.number or 0) + 1
        is_first = self.coverage.first is None
        late = self.coverage.stamp(seal, time)
        if not is_first and late.delay > self._within:
            self._add_late(late, f"its first timestamp is of {_rounded(late)} later")

    def _take_copy(self, authority: TimestampAuthority, number: int, copy: bytes, seal: Seal | None) -> None:
        """Take a copy whose timestamp the log lacks."""
        if seal is None:
            self._add("timestamp_foreign", number, f"the copies have a timestamp of seal {number}, which the log lacks")
            return
        try:
            authority.time_of(copy, seal)
        except BadTimestamp as error:
            self._add(error.kind, number, f"the copy of the timestamp of seal {number} is not good: {error}")
            return
        self._add("timestamp_missing", number, f"the timestamp of seal {number} is missing: the copies have it")

    def _add_late(self, late: StampDelay, words: str) -> None:
        number, time = late.seal.number, late.seal.sealed_at.isoformat(timespec="seconds")
        self._add("timestamp_late", number, f"seal {number} says that it is of {time}, and {words}")

    def _add(self, kind: FindingKind, seal: int, message: str) -> None:
        self.findings.append(Finding(kind, message, seal))


def _rounded(late: StampDelay) -> str:
    return durations.rounded(late.delay.total_seconds())
