"""Claim deliveries and acknowledge what became of them: the two calls between a worker and the database."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from svc_pg.query import Query, afetch
from svc_pg.webhooks.transport import Result

Verdict = Literal["delivered", "retry", "failed", "gone", "released"]

_CLAIM: Final = "select * from svc.claim(%s, %s, %s)"
_ACKNOWLEDGE: Final = """
select accepted::text[], disabled::text[] from svc.acknowledge(
    %s::uuid[], %s::uuid[], %s::text[], %s::float8[], %s::text[], %s::integer[],
    %s::text[], %s::integer[], %s::json[], %s::text[], %s::inet[])
"""
_TARGETS: Final[LiteralString] = """
select id, version, url, timeout, secret, headers, previous_secret,
       extract(epoch from previous_secret_expires_at - now())::float8 as overlap
  from svc.webhook_endpoints where id = any(%s)
"""
_NEXT_DUE: Final = "select extract(epoch from svc.next_due() - now())::float8 as seconds"


@dataclass(frozen=True, slots=True)
class Claim:
    """One delivery that this worker holds until its lease ends, and the body to send."""

    delivery_id: UUID
    lease_id: UUID
    attempt: int
    max_attempts: int
    endpoint_id: UUID
    endpoint_version: int
    body: str
    trace_context: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """Where and how to send; secrets and headers are still sealed. ``overlap`` is in seconds from ``read_at`` on."""

    id: UUID
    version: int
    url: str
    timeout: timedelta
    secret: bytes
    previous_secret: bytes | None
    headers: bytes | None
    overlap: float | None
    read_at: float = field(default_factory=time.monotonic)

    @property
    def secrets(self) -> list[bytes]:
        """The secret and, while a rotation overlaps, the one before."""
        is_over = self.overlap is None or time.monotonic() > self.read_at + self.overlap
        return [self.secret] if self.previous_secret is None or is_over else [self.secret, self.previous_secret]


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of a claim. ``wait`` counts for ``retry``; ``result`` is None for ``released``: nothing was sent."""

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


async def claim(conn: AsyncConnection[Any], *, worker: str, batch: int, after: UUID | None) -> list[Claim]:
    """Lease up to ``batch`` due deliveries, of endpoints after ``after`` first. ``conn`` is in autocommit."""
    return await afetch(conn, Query(_CLAIM, (worker, batch, after), Claim))


async def targets(conn: AsyncConnection[Any], endpoint_ids: Sequence[UUID]) -> list[Target]:
    """Read the endpoints of claims."""
    return await afetch(conn, Query(_TARGETS, (list(endpoint_ids),), Target))


async def next_due(conn: AsyncConnection[Any]) -> timedelta | None:
    """How long until something comes due that is not due now; None where nothing will."""
    [due] = await afetch(conn, Query(_NEXT_DUE, (), _Due))
    return None if due.seconds is None else timedelta(seconds=max(due.seconds, 0))


async def acknowledge(conn: AsyncConnection[Any], batch: Sequence[Acknowledgement]) -> Acknowledged:
    """Record what became of claims."""
    columns = zip(*(_columns(item) for item in batch), strict=True)
    [done] = await afetch(conn, Query(_ACKNOWLEDGE, [list(column) for column in columns], Acknowledged))
    return done


def _columns(item: Acknowledgement) -> tuple[object, ...]:
    claimed, result = item.claim, item.result
    head = (claimed.delivery_id, claimed.lease_id, item.verdict, item.wait.total_seconds())
    if result is None:
        return (*head, *[None] * 7)
    return (
        *head,
        result.outcome,
        result.status,
        result.error,
        result.duration_ms,
        _json(result.headers),
        result.body,
        result.remote_ip,
    )


def _json(headers: Mapping[str, str] | None) -> str | None:
    return json.dumps(dict(headers)) if headers else None
