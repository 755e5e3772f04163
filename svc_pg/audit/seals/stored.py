"""The seals in the database, and the epochs of the log that they are of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.seals.seal import VERSION, Seal, Stretch
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import MAX_SIZE, Keyset, Listing, decode
from svc_pg.database.query import Query, afetch, fetch
from svc_pg.errors import ProofError

UNBOUNDED: Final = (-(2**63), 2**63 - 1)
"""The values of the columns for the beginning and for the end."""

COLUMNS: Final = """
select number, epoch, nullif(epoch_began_at, '-infinity') as epoch_began_at,
       nullif(from_xact_id, -9223372036854775808) as from_xact_id,
       nullif(until_xact_id, 9223372036854775807) as until_xact_id,
       nullif(after_id, -9223372036854775808) as after_id, nullif(until_id, 9223372036854775807) as until_id,
       entries, root, previous, sealed_at, key_id, signature, version
  from svc.audit_seals
"""
LAST: Final = Query(COLUMNS + " order by number desc limit 1", (), Seal)
"""The last seal, if there is one: of version 1 only if there is no other."""

# With a restore that no install has recorded yet
_EPOCHS: Final = """(
    select name, began_at from svc.audit_epochs
    union
    select epoch, epoch_began_at from svc.audit_seals
    union
    select e.here ->> 'epoch', (e.here ->> 'at')::timestamptz from svc.audit_epoch e
     where not exists (select from svc.audit_epochs k where k.name = e.here ->> 'epoch')
) e"""
# Seals of an epoch follow each other, so the first one that ends after the entry is its own, or there is none
_OF_ENTRY: Final = """
 where number = (
    select s.number
      from svc.audit_logs l
     cross join lateral (
        select s.number, s.from_xact_id
          from svc.audit_seals s
         where s.epoch_began_at = (
                select max(e.began_at) from {epochs} where e.began_at <= l."timestamp"
            )
           and s.version = 2 and s.until_xact_id > l.xact_id and s.until_id >= l.id and s.after_id < l.id
         order by s.until_xact_id, s.number
         limit 1
      ) s
     where l.id = %s and s.from_xact_id <= l.xact_id
     limit 1
 )
""".replace("{epochs}", _EPOCHS)


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch of the log, which begins with a restore; the first has always been."""

    name: str
    began_at: datetime | None


EPOCHS: Final = Query(
    "select name, nullif(began_at, '-infinity') as began_at from {epochs} order by e.began_at".replace(
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


def require_known(known: Seal | None, last: Seal | None) -> Effects[None]:
    """Raise ProofError unless the log still has a seal that is known of it; ``last`` is the last that it has."""
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


def sealing_of(entry_id: int) -> Query[Seal]:
    """The seal of an entry, if it has one: by its epoch, its transaction and its id."""
    return Query(COLUMNS + _OF_ENTRY, (entry_id,), Seal)


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
    """The newest seals of the log, the newest first; ``before`` is the number of the last one of the page before.

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


def require_sealable(conn: object) -> None:
    """Raise ConfigError unless the connection is one to PostgreSQL."""
    require_postgres(
        conn,
        "a seal of the audit log",
        reason="nothing tells which entries can no longer change",
        hint="Export the log to a place outside: svc-pg export --after.",
    )
