"""The seals in the database, their leaves and their lag, and the epochs of the log."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.database.dialects import require_postgres
from svc_pg.database.pagination import MAX_SIZE, Keyset, Listing, decode
from svc_pg.database.query import Query, afetch, fetch
from svc_pg.database.statements import statement
from svc_pg.seals.verification.seal import MOST_ENTRIES, VERSION, Seal, Stretch

UNBOUNDED: Final = (-(2**63), 2**63 - 1)
"""The values of the columns for the beginning and for the end."""

COLUMNS: Final = statement("queries/seals/seals.sql")
LAST: Final = Query(COLUMNS + " order by number desc limit 1", (), Seal)
"""The last seal, if there is one; it has version 1 only if all seals have."""

_EPOCHS: Final = statement("queries/seals/epochs.sql")
_OF_ENTRY: Final = statement("queries/seals/seal_of_entry.sql").replace("{seals}", COLUMNS).replace("{epochs}", _EPOCHS)
_KEPT_LEAVES: Final = "select seal, leaves from svc.audit_seal_leaves where seal between %s and %s"
_READABLE_LEAVES: Final = (
    "select seal, leaves from svc.audit_seal_leaves where seal = %s and pg_catalog.octet_length(leaves) = 48 * %s"
)
_LAG: Final = "select number, sealed_at, lag from svc.audit_seal_lag()"


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch of the log, which begins with a restore; the first has no beginning."""

    name: str
    began_at: datetime | None


@dataclass(frozen=True, slots=True)
class KeptLeaves:
    """The leaves of a seal, as the database keeps them."""

    seal: int
    leaves: bytes


@dataclass(frozen=True, slots=True)
class SealLag:
    """The last seal, and the age of the oldest entry without one; zero if all entries have one."""

    number: int
    sealed_at: datetime
    lag: timedelta


EPOCHS: Final = Query(
    "select name, nullif(began_at, '-infinity') as began_at from ({epochs}) e order by e.began_at".replace(
        "{epochs}", _EPOCHS
    ),
    (),
    Epoch,
)
"""All epochs, those of seals too; the last is the present one."""


def following(number: int, limit: int) -> Query[Seal]:
    """The seals after one, in their order."""
    return Query(COLUMNS + " where number > %s order by number limit %s", (number, limit), Seal)


def numbered(number: int) -> Query[Seal]:
    """The seal with this number, if there is one."""
    return Query(COLUMNS + " where number = %s", (number,), Seal)


def kept_leaves(first: int, last: int) -> Query[KeptLeaves]:
    """The leaves that the database keeps of some seals."""
    return Query(_KEPT_LEAVES, (first, last), KeptLeaves)


def readable_leaves(seal: Seal) -> Query[KeptLeaves]:
    """The leaves that the database keeps of a seal, if they are as many as it has entries, which are 32,768 at most."""
    return Query(_READABLE_LEAVES, (seal.number, min(seal.entries, MOST_ENTRIES)), KeptLeaves)


def sealing_of(entry_id: int, time: str | None = None) -> Query[Seal]:
    """The seal of an entry, if it has one: by its epoch, its transaction and its id; ``time`` saves finding it."""
    return Query(_OF_ENTRY, {"id": entry_id, "time": time}, Seal)


def end_of(epochs: Sequence[Epoch], began_at: datetime | None) -> datetime | None:
    """The end of the epoch that began then: the beginning of the next, if there is one. ``epochs`` are in order."""
    return next((epoch.began_at for epoch in _later(epochs, began_at)), None)


def after(last: Seal | None, epochs: Sequence[Epoch]) -> list[Stretch]:
    """The parts of the log that come after the last seal, the oldest first; after one of version 1, all parts."""
    parts: list[Stretch] = []
    if last is not None and last.version != VERSION:
        last = None
    if last is not None and last.until_id is not None:
        ends = (last.from_xact_id, last.until_xact_id)
        parts.append(Stretch(last.epoch, last.epoch_began_at, *ends, after_id=last.until_id, until_id=None))
    if last is not None and last.until_xact_id is not None:
        parts.append(Stretch(last.epoch, last.epoch_began_at, last.until_xact_id, None, None, None))
    rest = epochs if last is None else _later(epochs, last.epoch_began_at)
    return [*parts, *(Stretch(epoch.name, epoch.began_at, None, None, None, None) for epoch in rest)]


def _later(epochs: Iterable[Epoch], began_at: datetime | None) -> Iterator[Epoch]:
    """The epochs that began after one of them, in their order."""
    for epoch in epochs:
        if epoch.began_at is not None and (began_at is None or epoch.began_at > began_at):
            yield epoch


def seals(conn: Connection[Any], *, limit: int = 20, before: int | None = None) -> list[Seal]:
    """The newest seals of the log, the newest first; ``before`` is the number of the last seal on the page before.

    Raises NotInstalledError, and ConfigError on other databases.
    """
    require_sealable(conn)
    return fetch(conn, _newest(limit, before))


async def aseals(conn: AsyncConnection[Any], *, limit: int = 20, before: int | None = None) -> list[Seal]:
    """As ``seals``, on an async connection."""
    require_sealable(conn)
    return await afetch(conn, _newest(limit, before))


_KEYSET: Final = Keyset(
    select=COLUMNS,
    row=Seal,
    order=" order by number desc",
    beyond="number < %s",
    reverse_order=" order by number",
    before="number > %s",
    key=lambda seal: (str(seal.number),),
    read=lambda cursor: decode(cursor, int),
)


def all_seals() -> Listing[Seal]:
    """The seals page by page, the newest first."""
    return Listing(keyset=_KEYSET)


def _newest(limit: int, before: int | None) -> Query[Seal]:
    return Query(
        COLUMNS + " where number < coalesce(%s::bigint, 9223372036854775807) order by number desc limit %s",
        (before, min(limit, MAX_SIZE)),
        Seal,
    )


def seal_lag(conn: Connection[Any]) -> SealLag | None:
    """The lag of the seals; None if there is no seal. Raises NotInstalledError, and ConfigError on other databases."""
    require_sealable(conn)
    return next(iter(fetch(conn, Query(_LAG, (), SealLag))), None)


async def aseal_lag(conn: AsyncConnection[Any]) -> SealLag | None:
    """As ``seal_lag``, on an async connection."""
    require_sealable(conn)
    return next(iter(await afetch(conn, Query(_LAG, (), SealLag))), None)


def require_sealable(conn: object) -> None:
    """Raise ConfigError unless the connection is one to PostgreSQL."""
    require_postgres(
        conn,
        "a seal of the audit log",
        reason="nothing tells which entries can no longer change",
        hint="Export the log to a place outside: svc-pg export --after.",
    )
