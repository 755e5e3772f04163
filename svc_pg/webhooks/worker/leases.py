"""Claim deliveries and acknowledge what became of them: the two calls between a worker and the database."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal, LiteralString

from psycopg import AsyncConnection

from svc_pg.query import Query, afetch
from svc_pg.webhooks.http.transport import Result

Verdict = Literal["delivered", "retry", "failed", "gone", "released"]

# Ids as text: who makes UUIDs of them pays for it twice at each delivery
_CLAIM: Final = """
select delivery_id::text, lease_id::text, attempt, max_attempts, endpoint_id::text, endpoint_version, message_id::text
  from svc.claim(%s, %s, %s)
"""
# One JSON text, because psycopg takes seven times as long to write eleven arrays
_ACKNOWLEDGE: Final = """
select accepted::text[], disabled::text[] from (
    select array_agg(id) as ids, array_agg(lease_id) as leases, array_agg(verdict) as verdicts,
           array_agg(wait) as waits, array_agg(outcome) as outcomes, array_agg(status) as status_codes,
           array_agg(error) as errors, array_agg(duration_ms) as durations_ms, array_agg(headers) as headers,
           array_agg(body) as bodies, array_agg(remote_ip) as remote_ips
      from json_to_recordset(%s) as r(
          id uuid, lease_id uuid, verdict text, wait float8, outcome text, status integer, error text,
          duration_ms integer, headers json, body text, remote_ip inet
      )
) r,
svc.acknowledge(ids, leases, verdicts, waits, outcomes, status_codes, errors, durations_ms, headers, bodies, remote_ips)
"""
_MESSAGES: Final[LiteralString] = """
select m.id::text, svc.webhook_envelope(m) as body, m.trace_context
  from svc.webhook_messages m where m.id = any(%s::uuid[])
"""
_TARGETS: Final[LiteralString] = """
select id::text, version, url, timeout, secret, headers, previous_secret,
       extract(epoch from previous_secret_expires_at - now())::float8 as overlap
  from svc.webhook_endpoints where id = any(%s::uuid[])
"""
_NEXT_DUE: Final = (
    "select extract(epoch from least(svc.next_due(), now() + interval '1 day') - now())::float8 as seconds"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One delivery that this worker holds until its lease ends.

    ``lease_id`` is None where the last attempt was lost: the delivery has failed.
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
    """What to send: the envelope as it is signed, and the trace that the event was sent in."""

    id: str
    body: str
    trace_context: str | None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Target:
    """Where and how to send; secrets and headers are still sealed. ``overlap`` is in seconds from ``read_at`` on."""

    id: str
    version: int
    url: str
    timeout: timedelta
    secret: bytes
    previous_secret: bytes | None
    headers: bytes | None
    overlap: float | None
    read_at: float = field(default_factory=time.monotonic)

    @property
    def is_overlapping(self) -> bool:
        """Whether the secret before a rotation still signs too."""
        return self.overlap is not None and time.monotonic() < self.read_at + self.overlap


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of a claim. ``wait`` counts for ``retry``, and for ``released``: nothing was sent."""

    claim: Claim
    verdict: Verdict
    result: Result | None = None
    wait: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The ids of the deliveries whose lease was still held, and of the endpoints that this has disabled."""

    accepted: list[str]
    disabled: list[str]


@dataclass(frozen=True, slots=True)
class _Due:
    seconds: float | None


async def claim(conn: AsyncConnection[Any], *, worker: str, batch: int, after: str | None) -> list[Claim]:
    """Lease up to ``batch`` due deliveries, of endpoints after ``after`` first. ``conn`` is in autocommit."""
    return await afetch(conn, Query(_CLAIM, (worker, batch, after), Claim))


async def messages(conn: AsyncConnection[Any], message_ids: Sequence[str]) -> list[Message]:
    """Read the messages of claims, apart from the claim: nobody else claims while one is sent to its worker."""
    return await afetch(conn, Query(_MESSAGES, (list(message_ids),), Message))


async def targets(conn: AsyncConnection[Any], endpoint_ids: Sequence[str]) -> list[Target]:
    """Read the endpoints of claims."""
    return await afetch(conn, Query(_TARGETS, (list(endpoint_ids),), Target))


async def next_due(conn: AsyncConnection[Any]) -> timedelta | None:
    """How long until something comes due that is not due now; None where nothing will."""
    [due] = await afetch(conn, Query(_NEXT_DUE, (), _Due))
    return None if due.seconds is None else timedelta(seconds=max(due.seconds, 0))


async def acknowledge(conn: AsyncConnection[Any], batch: Sequence[Acknowledgement]) -> Acknowledged:
    """Record what became of claims."""
    records = json.dumps([_record(item) for item in batch])
    [done] = await afetch(conn, Query(_ACKNOWLEDGE, (records,), Acknowledged))
    return done


def _record(item: Acknowledgement) -> dict[str, object]:
    claimed, result = item.claim, item.result
    record: dict[str, object] = {
        "id": claimed.delivery_id,
        "lease_id": claimed.lease_id,
        "verdict": item.verdict,
        "wait": item.wait.total_seconds(),
    }
    if result is not None:
        record |= {
            "outcome": result.outcome,
            "status": result.status,
            "error": result.error,
            "duration_ms": result.duration_ms,
            "headers": dict(result.headers) or None,
            "body": result.body,
            "remote_ip": result.remote_ip,
        }
    return record
