"""Lease deliveries and acknowledge their results: the two calls between a worker and the database."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal, LiteralString

from psycopg import AsyncConnection

from svc_pg.query import Query, afetch
from svc_pg.webhooks.endpoint_fields import Signature
from svc_pg.webhooks.http.transport import Result

Disposition = Literal["delivered", "retry", "failed", "gone", "released"]

# Ids as text: a conversion to UUID and back would cost twice for each delivery
_CLAIM: Final = """
select delivery_id::text, lease_id::text, attempt, max_attempts, endpoint_id::text, endpoint_version, message_id::text
  from svc.webhook_claim(%s, %s, %s)
"""
# One JSON text, because psycopg takes seven times as long to write eleven arrays
_ACKNOWLEDGE: Final = """
select accepted::text[], disabled::text[] from (
    select array_agg(id) as ids, array_agg(lease_id) as leases, array_agg(disposition) as dispositions,
           array_agg(wait) as waits, array_agg(outcome) as outcomes, array_agg(status) as status_codes,
           array_agg(error) as errors, array_agg(duration_ms) as durations_ms, array_agg(headers) as headers,
           array_agg(body) as bodies, array_agg(remote_ip) as remote_ips
      from json_to_recordset(%s) as r(
          id uuid, lease_id uuid, disposition text, wait float8, outcome text, status integer, error text,
          duration_ms integer, headers json, body text, remote_ip inet
      )
) r,
svc.webhook_acknowledge(
    ids, leases, dispositions, waits, outcomes, status_codes, errors, durations_ms, headers, bodies, remote_ips
)
"""
_MESSAGES: Final[LiteralString] = """
select m.id::text, svc.webhook_envelope(m) as body, m.trace_context
  from svc.webhook_messages m where m.id = any(%s::uuid[])
"""
_ENDPOINTS: Final[LiteralString] = """
select id::text, version, url, timeout, headers, tls, signatures, secret, previous_secret, signing_key,
       previous_signing_key,
       extract(epoch from previous_secret_expires_at - now())::float8 as overlap
  from svc.webhook_endpoints where id = any(%s::uuid[])
"""
_HELD: Final[LiteralString] = """
select d.id::text, d.lease_id::text from svc.webhook_deliveries d where d.id = any(%s::uuid[])
"""
_REPEATED: Final = "sent again on a new connection, because the receiver closed the idle one"
_NEXT_DUE: Final = (
    "select extract(epoch from least(svc.webhook_next_due(), now() + interval '1 day') - now())::float8 as seconds"
)


@dataclass(frozen=True, slots=True)
class Lease:
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


@dataclass(frozen=True, slots=True)
class Message:
    """The envelope as it is signed, and the trace in which the event was sent."""

    id: str
    body: str
    trace_context: str | None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class EndpointSnapshot:
    """An endpoint as it was at ``read_at``; what is bytes is still sealed. ``overlap`` is in seconds."""

    id: str
    version: int
    url: str
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
        """Whether the secret and the key pair before a rotation sign too."""
        return self.overlap is not None and time.monotonic() < self.read_at + self.overlap


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The result of a lease. ``wait`` counts for ``retry``, and for ``released``, when nothing was sent."""

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
    lease_id: str | None


@dataclass(frozen=True, slots=True)
class _Due:
    seconds: float | None


async def claim(conn: AsyncConnection[Any], *, worker: str, batch: int, after: str | None) -> list[Lease]:
    """Lease up to ``batch`` due deliveries, of endpoints after ``after`` first. ``conn`` is in autocommit."""
    return await afetch(conn, Query(_CLAIM, (worker, batch, after), Lease))


async def messages(conn: AsyncConnection[Any], message_ids: Sequence[str]) -> list[Message]:
    """Read the messages of leases, in a statement of its own: a claim blocks other claims until it has been sent."""
    return await afetch(conn, Query(_MESSAGES, (list(message_ids),), Message))


async def endpoints(conn: AsyncConnection[Any], endpoint_ids: Sequence[str]) -> list[EndpointSnapshot]:
    """Read the endpoints of leases."""
    return await afetch(conn, Query(_ENDPOINTS, (list(endpoint_ids),), EndpointSnapshot))


async def next_due(conn: AsyncConnection[Any]) -> timedelta | None:
    """The time until the next delivery comes due that is not due now; None if there is none."""
    [due] = await afetch(conn, Query(_NEXT_DUE, (), _Due))
    return None if due.seconds is None else timedelta(seconds=max(due.seconds, 0))


async def acknowledge(conn: AsyncConnection[Any], batch: Sequence[Acknowledgement]) -> Acknowledged:
    """Record the results of leases."""
    records = json.dumps([_record(item) for item in batch])
    [done] = await afetch(conn, Query(_ACKNOWLEDGE, (records,), Acknowledged))
    return done


async def held(conn: AsyncConnection[Any], batch: Sequence[Acknowledgement]) -> list[Acknowledgement]:
    """Those of the batch whose lease is still there: somebody has locked the delivery, or had until now."""
    query = Query(_HELD, ([item.lease.delivery_id for item in batch],), _Held)
    found = {row.id: row.lease_id for row in await afetch(conn, query)}
    return [item for item in batch if found.get(item.lease.delivery_id) == item.lease.lease_id]


def _noted(result: Result) -> str | None:
    return "; ".join(filter(None, (result.error, _REPEATED if result.repeated else None))) or None


def _record(item: Acknowledgement) -> dict[str, object]:
    lease, result = item.lease, item.result
    record: dict[str, object] = {
        "id": lease.delivery_id,
        "lease_id": lease.lease_id,
        "disposition": item.disposition,
        "wait": item.wait.total_seconds(),
    }
    if result is not None:
        record |= {
            "outcome": result.outcome,
            "status": result.status,
            "error": _noted(result),
            "duration_ms": result.duration_ms,
            "headers": dict(result.headers) or None,
            "body": result.body,
            "remote_ip": result.remote_ip,
        }
    return record
