"""Lease deliveries and acknowledge their results: the two calls between a worker and the database."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final, Literal, LiteralString, NamedTuple, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from svc_pg.database.query import Query, afetch
from svc_pg.database.sqlstates import translating
from svc_pg.database.statements import statement
from svc_pg.webhooks.endpoints.endpoint_fields import Signature
from svc_pg.webhooks.http.guard import UrlBy
from svc_pg.webhooks.http.transport import Result
from svc_pg.webhooks.worker.protocol import NEWEST, THROTTLED

Row = TypeVar("Row")

Disposition = Literal["delivered", "retry", "failed", "gone", "throttled", "released"]

_CLAIM: Final = statement("queries/webhooks/claim.sql")
# Arrays as texts: psycopg takes seven times as long to write them, and JSON costs the server a second parser
_ACKNOWLEDGE: Final = """
select accepted::text[], disabled::text[] from svc.webhook_acknowledge(
    %s::uuid[], %s::uuid[], %s::text[], %s::float8[], %s::text[], %s::integer[], %s::text[], %s::integer[],
    %s::json[], %s::text[], %s::inet[]
)
"""
_MESSAGES: Final[LiteralString] = """
select m.id::text, svc.webhook_envelope(m) as body, m.trace_context
  from svc.webhook_messages m where m.id = any(%s::uuid[])
"""
_ENDPOINTS: Final[LiteralString] = """
select id::text, version, url, url_by, timeout, headers, tls, signatures, secret, previous_secret, signing_key,
       previous_signing_key,
       extract(epoch from previous_secret_expires_at - now())::float8 as overlap
  from svc.webhook_endpoints where id = any(%s::uuid[])
"""
_HELD: Final[LiteralString] = """
select l.delivery_id::text as id, l.lease_id::text
  from svc.webhook_deliveries d join svc.webhook_leases l on l.endpoint_id = d.endpoint_id and l.delivery_id = d.id
 where d.id = any(%s::uuid[])
"""
_THROTTLED_LEAST: Final = timedelta(minutes=1)
_REPEATED: Final = "sent again on a new connection, because the receiver closed the idle one"
_NEXT_DUE: Final[LiteralString] = """
select extract(epoch from least(d.at, now() + interval '1 day') - now())::float8 as seconds
  from svc.webhook_next_due(coalesce(to_timestamp(%s), now())) d(at)
"""
_NEXT_DUE_BEFORE: Final[LiteralString] = """
select extract(epoch from least(svc.webhook_next_due(), now() + interval '1 day') - now())::float8 as seconds
"""


class Lease(NamedTuple):
    """One delivery that this worker holds until the lease ends.

    ``lease_id`` is None if the last attempt was lost: the delivery has failed.
    """

    delivery_id: str
    lease_id: str | None
    attempt: int
    max_attempts: int
    endpoint_id: str
    endpoint_version: int
    message_id: str


class Message(NamedTuple):
    """The signed envelope, and the trace in which the event was sent."""

    id: str
    body: str
    trace_context: str | None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class EndpointSnapshot:
    """An endpoint as it was at ``read_at``; fields of bytes are still sealed. ``overlap`` is in seconds."""

    id: str
    version: int
    url: str
    url_by: UrlBy
    timeout: timedelta
    headers: bytes | None
    tls: bytes | None
    signatures: Sequence[Signature]
    secret: bytes
    previous_secret: bytes | None
    signing_key: bytes | None
    previous_signing_key: bytes | None
    overlap: float | None
    read_at: float = field(default_factory=time.monotonic)

    @property
    def is_overlapping(self) -> bool:
        """True if the secret and the key pair before a rotation sign too."""
        return self.overlap is not None and time.monotonic() < self.read_at + self.overlap


class Acknowledgement(NamedTuple):
    """The result of a lease. ``wait`` counts for ``retry``, and for ``released``, when nothing was sent.

    For ``throttled`` it is the wait that the receiver asks for, 0 if it gives none.
    """

    lease: Lease
    disposition: Disposition
    result: Result | None = None
    wait: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The ids of the deliveries whose results are recorded, and of the endpoints that were disabled by the results."""

    accepted: list[str]
    disabled: list[str]


@dataclass(frozen=True, slots=True)
class _Held:
    id: str
    lease_id: str


@dataclass(frozen=True, slots=True)
class _Due:
    seconds: float | None


async def claim(
    conn: AsyncConnection[Any], *, worker: str, batch: int, after: str | None
) -> tuple[list[Lease], dict[str, Message]]:
    """Lease up to ``batch`` due deliveries, of endpoints after ``after`` first. ``conn`` is in autocommit.

    Returns the messages of some of them too, by id.
    """
    rows = await _rows(conn, _CLAIM, (worker, batch, after), tuple)
    held = [Lease._make(row[: len(Lease._fields)]) for row in rows]
    return held, {row[6]: Message(*row[6:]) for row in rows if row[7] is not None}


async def messages(conn: AsyncConnection[Any], message_ids: Sequence[str]) -> list[Message]:
    """Read messages, in a statement of its own: a claim blocks other claims until its answer has been sent."""
    return await _rows(conn, _MESSAGES, (_array(message_ids),), Message._make)


async def _rows(
    conn: AsyncConnection[Any], text: LiteralString, params: Sequence[object], make: Callable[[Iterable[Any]], Row]
) -> list[Row]:
    """Read rows by position: column names would cost a tenth of the work for a delivery."""
    with translating():
        cursor = await conn.cursor(row_factory=tuple_row).execute(text, params)
        return list(map(make, await cursor.fetchall()))


async def endpoints(conn: AsyncConnection[Any], endpoint_ids: Sequence[str]) -> list[EndpointSnapshot]:
    """Read the endpoints of leases."""
    return await afetch(conn, Query(_ENDPOINTS, (list(endpoint_ids),), EndpointSnapshot))


async def next_due(conn: AsyncConnection[Any], *, since: float | None = None, newest: int = NEWEST) -> timedelta | None:
    """The time until the next delivery after ``since`` is due; None if there is none.

    ``since`` is in unix seconds by the server's clock, and now by default. ``newest`` is the newest protocol of the
    database.
    """
    query = Query(_NEXT_DUE_BEFORE, (), _Due) if newest < THROTTLED else Query(_NEXT_DUE, (since,), _Due)
    [due] = await afetch(conn, query)
    return None if due.seconds is None else timedelta(seconds=max(due.seconds, 0))


async def acknowledge(
    conn: AsyncConnection[Any], batch: Sequence[Acknowledgement], *, newest: int = NEWEST
) -> Acknowledged:
    """Record the results of leases. ``newest`` is the newest protocol of the database."""
    if newest < THROTTLED:
        batch = [_retried(item) if item.disposition == "throttled" else item for item in batch]
    [done] = await afetch(conn, Query(_ACKNOWLEDGE, _columns(batch), Acknowledged))
    return done


async def held(conn: AsyncConnection[Any], batch: Sequence[Acknowledgement]) -> list[Acknowledgement]:
    """Those of the batch that still have their lease: another session locks the delivery, or did until now."""
    query = Query(_HELD, ([item.lease.delivery_id for item in batch],), _Held)
    found = {row.id: row.lease_id for row in await afetch(conn, query)}
    return [item for item in batch if found.get(item.lease.delivery_id) == item.lease.lease_id]


def _retried(item: Acknowledgement) -> Acknowledgement:
    """A throttled result as a retry, for older functions: they fail a delivery that has no attempt left."""
    return item._replace(disposition="retry", wait=max(item.wait, _THROTTLED_LEAST))


def _error(result: Result) -> str | None:
    return "; ".join(filter(None, (result.error, _REPEATED if result.repeated else None))) or None


def _columns(batch: Sequence[Acknowledgement]) -> list[str]:
    results = [item.result for item in batch]
    return [
        _array([item.lease.delivery_id for item in batch]),
        _array([item.lease.lease_id for item in batch]),
        _array([item.disposition for item in batch]),
        _array([str(item.wait.total_seconds()) if item.wait else "0" for item in batch]),
        _array([result.outcome if result else None for result in results]),
        _array([str(result.status) if result and result.status is not None else None for result in results]),
        _array([_quoted(_error(result)) if result else None for result in results]),
        _array([str(result.duration_ms) if result else None for result in results]),
        _array([_quoted_json(tuple(result.headers.items())) if result else None for result in results]),
        _array([_quoted(result.body) if result else None for result in results]),
        _array([result.remote_ip if result else None for result in results]),
    ]


def _array(items: Iterable[str | None]) -> str:
    """The text of an array of these elements, None for null."""
    return "{" + ",".join([item or "NULL" for item in items]) + "}"


def _quoted(text: str | None) -> str | None:
    return None if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@lru_cache(maxsize=256)  # most of a receiver's responses have the same headers within one second
def _quoted_json(headers: tuple[tuple[str, str], ...]) -> str | None:
    return _quoted(json.dumps(dict(headers))) if headers else None
