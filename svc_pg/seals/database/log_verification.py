"""Verify the log by its seals: report entries changed, deleted, inserted, re-dated or exchanged since."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.database.effects import Effects
from svc_pg.database.performing import atake, take
from svc_pg.errors import ConflictError
from svc_pg.seals.database.leaf_queries import count_of, leaves_of
from svc_pg.seals.database.recorded_verifications import recording
from svc_pg.seals.database.sealed_entries import Progress, SealedEntries
from svc_pg.seals.database.stored_seals import (
    EPOCHS,
    LAST,
    Epoch,
    KeptLeaves,
    after,
    end_of,
    following,
    kept_leaves,
    require_sealable,
)
from svc_pg.seals.database.timestamp_coverage import STAMPED_WITHIN, StampDelay
from svc_pg.seals.database.timestamp_verification import Timestamps
from svc_pg.seals.keys import PublicKeys
from svc_pg.seals.timestamps import TimestampAuthority
from svc_pg.seals.verification.chain import Chain
from svc_pg.seals.verification.comparison import Comparison, compare
from svc_pg.seals.verification.finding import Finding
from svc_pg.seals.verification.seal import MOST_ENTRIES, VERSION, Seal
from svc_pg.settings import Settings

MOST_FINDINGS: Final = 1000
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification.

    - ``seals``: the number of seals that were read
    - ``old_seals``: the number of those of version 1: nothing but their signatures and their order was verified
    - ``entries``: the number of entries found as they were sealed
    - ``unsealed``: the number of entries newer than the last seal, which are not verified
    - ``purged``, ``erased``: the numbers of entries that were purged, or erased, as the log's own entries say
    - ``timestamps``: the number of good timestamps; None without an authority to verify them
    - ``unverified_timestamps``: the number of those that were there, or among the copies, without an authority
    - ``stamped_seal``, ``stamped_at``: the last seal that has one, and its time: this seal and all before are older
    - ``first_stamped``: the first seal that has one
    - ``first_delay``, ``later_delay``: how long after the time that a seal says its timestamp came at most, of
      the seals up to ``first_stamped`` and of those after it: nothing proves that they are older than that
    - ``findings``: the differences in the order of the seals
    - ``is_complete``: false if the verification ended early, after a thousand findings
    - ``is_recorded``: false if the role may only read, or the database is read-only: then ``last_verification`` does
      not show it
    """

    seals: int = 0
    entries: int = 0
    unsealed: int = 0
    old_seals: int = 0
    purged: int = 0
    erased: int = 0
    last_seal: Seal | None = None
    timestamps: int | None = None
    stamped_seal: Seal | None = None
    stamped_at: datetime | None = None
    first_stamped: Seal | None = None
    first_delay: StampDelay | None = None
    later_delay: StampDelay | None = None
    unverified_timestamps: int = 0
    findings: list[Finding] = field(default_factory=list)
    is_complete: bool = True
    is_recorded: bool = False

    @property
    def is_intact(self) -> bool:
        """True if nothing differs."""
        return not self.findings


def verify(
    conn: Connection[Any],
    *,
    public_keys: PublicKeys | None = None,
    copies: Iterable[Seal] = (),
    authority: TimestampAuthority | None = None,
    timestamps: Iterable[tuple[int, bytes]] = (),
    stamped_within: timedelta = STAMPED_WITHIN,
    progress: Progress = lambda _: None,
) -> Verification:
    """Compare the whole log with its seals, and these with ``copies`` that were kept outside, in their order.

    ``public_keys`` default to those of SVC_SEAL_PUBLIC_KEYS, with that of SVC_SEAL_KEY. ``progress`` is called with the
    number of entries so far. With an ``authority`` the timestamps of seals are verified too, and compared with the
    copies ``timestamps``: the numbers of seals and their timestamps, in that order; without one they are only counted.
    A seal after the first that has a timestamp needs one, of its own or of a newer seal, ``stamped_within`` the time
    that it says. Changes nothing, but records the result for ``last_verification`` if the role may. Outside a
    transaction each query has one of its own.

    Raises EncryptionKeyError without a public key, ConflictError if the log has no seals, ConfigError on other
    databases and NotInstalledError.
    """
    require_sealable(conn)
    stamps = Timestamps(authority, timestamps, within=stamped_within)
    return take(conn, _verifying(public_keys or PublicKeys.of(Settings.load()), copies, stamps, progress))


async def averify(
    conn: AsyncConnection[Any],
    *,
    public_keys: PublicKeys | None = None,
    copies: Iterable[Seal] = (),
    authority: TimestampAuthority | None = None,
    timestamps: Iterable[tuple[int, bytes]] = (),
    stamped_within: timedelta = STAMPED_WITHIN,
    progress: Progress = lambda _: None,
) -> Verification:
    """As ``verify``, on an async connection."""
    require_sealable(conn)
    stamps = Timestamps(authority, timestamps, within=stamped_within)
    return await atake(conn, _verifying(public_keys or PublicKeys.of(Settings.load()), copies, stamps, progress))


def _verifying(
    public_keys: PublicKeys, copies: Iterable[Seal], stamps: Timestamps, progress: Progress
) -> Effects[Verification]:
    chain = Chain(public_keys.keys, copies)
    entries = SealedEntries(progress)
    epochs: list[Epoch] = yield EPOCHS
    is_complete = False
    yield from entries.begin()
    with ThreadPoolExecutor(max_workers=1) as pool:  # hashes the leaves while the server reads the next ones
        waiting: list[Future[list[Comparison]]] = []
        while page := (yield following(chain.last.number if chain.last else 0, _PAGE)):
            signed = [seal for seal in page if chain.take(seal) and seal.version == VERSION]
            for group in _groups(signed):
                if len(entries) + len(chain.findings) > MOST_FINDINGS:
                    break
                found = yield leaves_of(group, ended_at=end_of(epochs, group[0].epoch_began_at))
                kept = yield kept_leaves(group[0].number, group[-1].number)
                for future in waiting:
                    yield from entries.take((yield future))
                waiting = [pool.submit(_compared, group, found, kept)]
            yield from stamps.take(page)
            if len(entries) + len(chain.findings) > MOST_FINDINGS or stamps.is_full:
                break
        else:
            chain.end()
            yield from stamps.end()
            is_complete = True
        for future in waiting:
            yield from entries.take((yield future))
    last: Seal | None = next(iter((yield LAST)), None)
    if last is None and not chain.findings:
        raise ConflictError(
            "the log has no seals, so nothing can be verified",
            hint="Make one: svc-pg seal. If there were seals, somebody removed them.",
        )
    if last is not None and last.version != VERSION and not chain.findings:
        raise ConflictError(
            f"all seals of the log are of version {last.version}, by which nothing can be verified any more",
            hint="Their entries get new ones, which the copies go on with: svc-pg seal",
        )
    last_seal = chain.last.number if chain.last and is_complete else None
    found_in_entries = yield from entries.findings(last_seal=last_seal)
    findings = sorted([*chain.findings, *found_in_entries, *stamps.findings], key=lambda finding: finding.seal)
    result = Verification(
        seals=chain.taken,
        entries=entries.verified,
        unsealed=(yield from _unsealed(last, epochs)),
        old_seals=chain.old,
        purged=entries.purged,
        erased=entries.erased,
        last_seal=last,
        timestamps=stamps.number,
        unverified_timestamps=(yield from stamps.unverified()),
        stamped_seal=stamps.coverage.last,
        stamped_at=stamps.coverage.last_time,
        first_stamped=stamps.coverage.first,
        first_delay=stamps.coverage.first_delay,
        later_delay=stamps.coverage.later_delay,
        findings=findings[:MOST_FINDINGS],
        is_complete=is_complete and len(findings) <= MOST_FINDINGS,
    )
    is_recorded = yield from recording(
        entries=result.entries,
        unsealed=result.unsealed,
        findings=len(result.findings),
        is_complete=result.is_complete,
        first_seal=chain.first.number if chain.first else None,
        last_seal=chain.last.number if chain.last else None,
        has_copies=chain.has_copies,
        key_ids=sorted(public_keys.keys),
        timestamps=result.timestamps,
        unverified_timestamps=result.unverified_timestamps,
    )
    return replace(result, is_recorded=is_recorded)


def _compared(group: Sequence[Seal], found: Sequence[Any], kept: Sequence[KeptLeaves]) -> list[Comparison]:
    leaves = {each.position: each for each in found}
    known = {each.seal: each.leaves for each in kept}
    return [
        compare(
            seal,
            leaves[position].leaves if position in leaves else b"",
            known.get(seal.number),
            (leaves[position].erased or ()) if position in leaves else (),
        )
        for position, seal in enumerate(group, start=1)
    ]


def _groups(seals: Iterable[Seal]) -> Iterator[list[Seal]]:
    """Seals whose entries one query can read: of one epoch, following each other, with a bounded number of entries."""
    group: list[Seal] = []
    for seal in seals:
        if group and not _continues(group, seal):
            yield group
            group = []
        group.append(seal)
    if group:
        yield group


def _continues(group: Sequence[Seal], seal: Seal) -> bool:
    last = group[-1]
    return (
        seal.epoch == last.epoch
        and seal.from_xact_id is not None
        and seal.from_xact_id == last.until_xact_id
        and all(each.after_id is None and each.until_id is None for each in (last, seal))
        and sum(each.entries for each in group) + seal.entries <= MOST_ENTRIES
    )


def _unsealed(last: Seal | None, epochs: Sequence[Epoch]) -> Effects[int]:
    """The number of entries after the last seal."""
    entries = 0
    for stretch in after(last, epochs):
        [counted] = yield count_of(stretch, ended_at=end_of(epochs, stretch.epoch_began_at))
        entries += counted.entries
    return entries
