"""Seal the settled entries of the log that no seal has yet."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.effects import Effects
from svc_pg.database.performing import atake, check_idle, take
from svc_pg.database.query import Query
from svc_pg.errors import ConflictError, ProofError
from svc_pg.seals.database.leaf_queries import Count, count_of, leaves_of
from svc_pg.seals.database.stored_seals import EPOCHS, LAST, UNBOUNDED, Epoch, after, end_of, numbered, require_sealable
from svc_pg.seals.keys import SealKey
from svc_pg.seals.verification.leaf import SIZE, split
from svc_pg.seals.verification.seal import BEFORE_FIRST, MOST_ENTRIES, Seal, Stretch
from svc_pg.seals.verification.tree import root_of
from svc_pg.settings import Settings

_MOST_CONFLICTS: Final = 20
"""The most conflicts in a row with others that seal or purge."""

_HORIZON: Final = "select oldest_running from svc.audit_horizon()"
_ADD: Final = """
select svc.audit_add_seal(
           %s, %s, coalesce(%s::timestamptz, '-infinity'), %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s
       ) as is_added
"""
_ADD_AND_SEND: Final = """
with added as materialized ({add})
select a.is_added, case when a.is_added then svc.webhook_emit_seal(%s::json) end::text as nothing from added a
""".replace("{add}", _ADD)
_SENDS: Final = "select pg_catalog.to_regprocedure('svc.webhook_emit_seal(json)') is not null as is_sent"


@dataclass(frozen=True, slots=True)
class _Horizon:
    oldest_running: int


@dataclass(frozen=True, slots=True)
class _Added:
    is_added: bool
    nothing: str | None = None


@dataclass(frozen=True, slots=True)
class _Sends:
    is_sent: bool


def seal(
    conn: Connection[Any],
    *,
    key: SealKey | None = None,
    known: Seal | None = None,
    progress: Callable[[Seal], None] = lambda _: None,
) -> list[Seal]:
    """Seal all settled entries that no seal has yet, and return the new seals: none if all entries have one.

    ``key`` defaults to the one of SVC_SEAL_KEY. ``known`` is a seal that the log had before: if the log no longer has
    it, nothing is sealed, because the chain may be a forged one. ``conn`` must be outside a transaction: each seal of
    up to 32,768 entries has one of its own, so an interruption loses nothing. Several may seal at once. ``progress`` is
    called with each new seal.

    Raises EncryptionKeyError without a key, ProofError for ``known`` and if the last seal has the id of ``key`` but not
    its signature, TransactionError, ConfigError on other databases, ConflictError if the log has entries of another
    server, and NotInstalledError.
    """
    require_sealable(conn)
    driver = psycopg_connection(conn)
    return take(driver, _prepared(driver, key, known, progress))


async def aseal(
    conn: AsyncConnection[Any],
    *,
    key: SealKey | None = None,
    known: Seal | None = None,
    progress: Callable[[Seal], None] = lambda _: None,
) -> list[Seal]:
    """As ``seal``, on an async connection."""
    require_sealable(conn)
    driver = await apsycopg_connection(conn)
    return await atake(driver, _prepared(driver, key, known, progress))


def _prepared(
    conn: Connection[Any] | AsyncConnection[Any],
    key: SealKey | None,
    known: Seal | None,
    progress: Callable[[Seal], None],
) -> Effects[list[Seal]]:
    signing = key or SealKey.of(Settings.load())
    check_idle(conn)
    return _sealing(signing, known, progress)


def _sealing(key: SealKey, known: Seal | None, progress: Callable[[Seal], None]) -> Effects[list[Seal]]:
    made: list[Seal] = []
    [horizon] = yield Query(_HORIZON, (), _Horizon)
    conflicts = 0
    while conflicts < _MOST_CONFLICTS:
        last: Seal | None = next(iter((yield LAST)), None)
        yield from _require_known(known, last)
        _require_signed(key, last)
        epochs: list[Epoch] = yield EPOCHS
        rest = _next(after(last, epochs), epochs[-1], horizon.oldest_running)
        if rest is None:
            return made
        ended_at = end_of(epochs, rest.epoch_began_at)
        [pending] = yield count_of(rest, ended_at=ended_at)
        is_begun = rest.after_id is not None or rest.until_xact_id is None
        if not pending.entries and not is_begun:  # an epoch that ended gets a last seal even so
            return made
        before = len(made)
        is_late = yield from _sealing_rest(rest, ended_at, last, pending, key, made, progress)
        conflicts = conflicts + 1 if is_late and len(made) == before else 0
    raise ConflictError(
        "other sessions kept adding seals or purging meanwhile", hint="One that seals is enough; purge at another time."
    )


def _require_known(known: Seal | None, last: Seal | None) -> Effects[None]:
    """Raise ProofError unless the log still has the known seal; ``last`` is its last one."""
    if known is None:
        return
    found = last
    if last is None or last.number != known.number:
        found = next(iter((yield numbered(known.number))), None)
    if found is None or found.text != known.text:
        raise ProofError(
            f"seal {known.number} {'was replaced' if found else 'is no longer in the log'}, and nothing was sealed",
            hint="Somebody changed the seals, or put an older database in place: svc-pg verify --seals FILE. A worker"
            " that was started anew seals again.",
        )


def _require_signed(key: SealKey, last: Seal | None) -> None:
    """Raise ProofError if the last seal names this key, but has no valid signature of it."""
    if last is None or last.key_id != key.key_id or key.public.has_signed(last.key_id, last.text, last.signature):
        return
    raise ProofError(
        f'seal {last.number} has the key "{key.key_id}" but not its signature, and nothing was sealed',
        hint="A new key needs a new id: svc-pg keys new seal --id s2. If the key is the old one, somebody changed the"
        " seal: svc-pg verify",
    )


def _next(parts: Sequence[Stretch], present: Epoch, oldest_running: int) -> Stretch | None:
    """The part to seal next: the first, all of it if its epoch has ended, else its settled entries."""
    if not parts:
        return None
    part = parts[0]
    if part.until_xact_id is not None or part.epoch != present.name:
        return part
    if part.from_xact_id is not None and part.from_xact_id >= oldest_running:
        return None
    return replace(part, until_xact_id=oldest_running)


def _sealing_rest(
    rest: Stretch,
    ended_at: datetime | None,
    last: Seal | None,
    pending: Count,
    key: SealKey,
    made: list[Seal],
    progress: Callable[[Seal], None],
) -> Effects[bool]:
    """Seal a stretch, in parts if it has many entries. True if another session has sealed or purged meanwhile."""
    lowest_id, left = pending.lowest_id, pending.entries
    while True:
        part = rest
        if left > MOST_ENTRIES and lowest_id is not None:
            part = replace(rest, until_id=lowest_id + MOST_ENTRIES - 1)
        found = yield leaves_of([part], ended_at=ended_at)
        leaves, erased = (found[0].leaves, found[0].erased or ()) if found else (b"", ())
        if not leaves and part.until_id is not None:
            return False  # ids leave out a lot there: count again
        new = _signed(part, leaves, last, pending.at, key)
        [sends] = yield Query(_SENDS, (), _Sends)
        [added] = yield _addition(new, leaves, len(erased), ended_at, is_sent=sends.is_sent)
        if not added.is_added:
            return True
        made.append(new)
        progress(new)
        if part.until_id is None:
            return False
        last, left, lowest_id = new, left - new.entries, part.until_id + 1
        rest = replace(rest, after_id=part.until_id)


def _signed(part: Stretch, leaves: bytes, last: Seal | None, at: datetime, key: SealKey) -> Seal:
    new = Seal(
        **asdict(part),
        number=last.number + 1 if last else 1,
        entries=len(leaves) // SIZE,
        root=root_of(split(leaves)),
        previous=last.digest if last else BEFORE_FIRST,
        sealed_at=at,
        key_id=key.key_id,
    )
    return replace(new, signature=key.sign(new.text))


def _addition(new: Seal, leaves: bytes, erased: int, ended_at: datetime | None, *, is_sent: bool) -> Query[_Added]:
    """Add the seal, and send it to the endpoints that want to know, in one transaction."""
    lowest, highest = UNBOUNDED
    copy = json.dumps({"number": new.number, **new.copy})
    return Query(
        _ADD_AND_SEND if is_sent else _ADD,
        (
            new.number,
            new.epoch,
            new.epoch_began_at,
            ended_at,
            lowest if new.from_xact_id is None else new.from_xact_id,
            highest if new.until_xact_id is None else new.until_xact_id,
            lowest if new.after_id is None else new.after_id,
            highest if new.until_id is None else new.until_id,
            new.entries,
            erased,
            new.root,
            new.previous,
            new.sealed_at,
            new.key_id,
            new.signature,
            leaves,
            *([copy] if is_sent else []),
        ),
        _Added,
    )
