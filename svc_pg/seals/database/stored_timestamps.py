"""The timestamps of seals in the database."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.query import Query, fetch

PAGE: Final = 100
"""Timestamps of a page: 16 KiB each at most."""
_COLUMNS: Final = "select seal, answer from svc.audit_seal_timestamps"


@dataclass(frozen=True, slots=True)
class StoredTimestamp:
    """The answer of an authority about the seal with this number, in DER."""

    seal: int
    answer: bytes


@dataclass(frozen=True, slots=True)
class StampedNumber:
    """The number of a seal that has a timestamp."""

    seal: int


@dataclass(frozen=True, slots=True)
class _Added:
    is_added: bool


@dataclass(frozen=True, slots=True)
class _Count:
    number: int


COUNT: Final = Query("select pg_catalog.count(*) as number from svc.audit_seal_timestamps", (), _Count)
"""The number of all of them."""
_LAST: Final = _COLUMNS + " where seal <= %s order by seal desc limit 1"
_NUMBERS: Final = "select seal from svc.audit_seal_timestamps where seal > %s and seal <= %s order by seal limit %s"
_NUMBERS_PAGE: Final = 10_000
_END: Final = 2**63 - 1


def timestamps_after(number: int, until: int = _END) -> Query[StoredTimestamp]:
    """The first timestamps of the seals after one, up to another, in their order."""
    text = _COLUMNS + " where seal > %s and seal <= %s order by seal limit %s"
    return Query(text, (number, until, PAGE), StoredTimestamp)


def timestamps_of(numbers: list[int]) -> Query[StoredTimestamp]:
    """The timestamps of these seals, in their order."""
    return Query(_COLUMNS + " where seal = any(%s) order by seal", (numbers,), StoredTimestamp)


def numbers_after(number: int, until: int) -> Query[StampedNumber]:
    """The numbers of the seals after one, up to another, that have a timestamp, in their order: some thousands."""
    return Query(_NUMBERS, (number, until, _NUMBERS_PAGE), StampedNumber)


def last_timestamp(conn: Connection[Any], until: int) -> StoredTimestamp | None:
    """The timestamp of the last seal, up to this one, that has one; None if none has. It may be forged."""
    return next(iter(fetch(conn, Query(_LAST, (until,), StoredTimestamp))), None)


def add_timestamp(conn: Connection[Any], seal: int, answer: bytes) -> bool:
    """Keep the timestamp of a seal; false if it has one already, or is gone."""
    text = "select svc.audit_add_seal_timestamp(%s, %s) as is_added"
    return fetch(conn, Query(text, (seal, answer), _Added))[0].is_added
