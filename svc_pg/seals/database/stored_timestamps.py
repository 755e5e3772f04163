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
class _Number:
    seal: int


@dataclass(frozen=True, slots=True)
class _Added:
    is_added: bool


@dataclass(frozen=True, slots=True)
class _Last:
    seal: int | None


_LAST: Final = "select pg_catalog.max(seal) as seal from svc.audit_seal_timestamps where seal <= %s"
_END: Final = 2**63 - 1


def timestamps_after(number: int, until: int = _END) -> Query[StoredTimestamp]:
    """The first timestamps of the seals after one, up to another, in their order."""
    text = _COLUMNS + " where seal > %s and seal <= %s order by seal limit %s"
    return Query(text, (number, until, PAGE), StoredTimestamp)


def timestamps_of(numbers: list[int]) -> Query[StoredTimestamp]:
    """The timestamps of these seals, in their order."""
    return Query(_COLUMNS + " where seal = any(%s) order by seal", (numbers,), StoredTimestamp)


STAMPED: Final = Query("select seal from svc.audit_seal_timestamps order by seal", (), _Number)
"""The numbers of all seals that have a timestamp, in their order: 24 a day at most."""


def last_stamped(conn: Connection[Any], until: int = _END) -> int | None:
    """The number of the last seal, up to this one, that has a timestamp; None if none has."""
    return fetch(conn, Query(_LAST, (until,), _Last))[0].seal


def add_timestamp(conn: Connection[Any], seal: int, answer: bytes) -> bool:
    """Keep the timestamp of a seal; false if it has one already, or is gone."""
    text = "select svc.audit_add_seal_timestamp(%s, %s) as is_added"
    return fetch(conn, Query(text, (seal, answer), _Added))[0].is_added
