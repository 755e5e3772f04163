"""The costs of a claim for a worker, beside many deliveries that cannot start now and many finished ones."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import ExitStack
from statistics import median
from typing import Any, Final

import psycopg

from svc_pg.webhooks.http.transport import Result
from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.leases import Acknowledgement, Lease
from tests.benchmarks.delivery import stage
from tests.benchmarks.delivery.figures import Figures, Section, turns
from tests.benchmarks.delivery.sizes import Size
from tests.benchmarks.delivery.stage import Server

CLAIM: Final = Section("claim and acknowledge, as the worker does", "ms", "a sample is the median of 20 calls in a row")
EMPTY: Final = "claim: nothing is due (10,000 tomorrow)"
BLOCKED: Final = "claim: 10,000 endpoints of which none may be called, all due"
MANY: Final = "claim: 50 rows of 50 endpoints beside a dead one with 50,000 due"
FEW: Final = "claim: the same in a table without finished rows"
ACKNOWLEDGE: Final = "acknowledge 50"
_HEALTHY: Final = 50
_BLOCKED: Final = 10_000
_LATER: Final = 10_000
_BATCH: Final = 50
_CALLS: Final = 20
_NOWHERE: Final = "http://127.0.0.1:9/"

_FINISHED: Final = """
insert into svc.webhook_deliveries
    (id, message_id, endpoint_id, event_name, status, attempts, max_attempts, next_attempt_at, finished_at)
select svc.webhook_uuid7(), gen_random_uuid(), (%s::uuid[])[1 + n %% cardinality(%s::uuid[])], %s,
       'delivered', 1, 5, null, now()
  from generate_series(1, %s) n
"""
_PENDING: Final = """
with delivery as (
    insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts, next_attempt_at)
    select svc.webhook_uuid7(), gen_random_uuid(), (%s::uuid[])[1 + n %% cardinality(%s::uuid[])], %s,
           5, now() + %s::interval
      from generate_series(1, %s) n
    returning id, endpoint_id, next_attempt_at
)
insert into svc.webhook_queue (lane, endpoint_id, next_attempt_at, delivery_id)
select case when next_attempt_at > now() then 'later' else 'due' end::svc.webhook_lane, endpoint_id, next_attempt_at, id
  from delivery
"""
_OPEN_BREAKERS: Final = """
update svc.webhook_endpoint_state set breaker_until = now() + interval '1 hour' where endpoint_id = any(%s::uuid[])
"""
_MULTIPLY: Final = """
with made as (
    insert into svc.webhook_endpoints (id, url, events, secret)
    select svc.webhook_uuid7(), e.url, e.events, e.secret from svc.webhook_endpoints e, generate_series(2, %s)
    returning id
)
insert into svc.webhook_endpoint_state (endpoint_id) select id from made
"""

Connection = psycopg.AsyncConnection[Any]


def measure(figures: Figures, server: Server, size: Size) -> None:
    """Measure the empty poll first, then the others in turn, each in a database of its own."""
    with ExitStack() as stack:
        blocked, many = (stack.enter_context(server.database()) for _ in range(2))
        ids = stage.add_endpoints(many, _NOWHERE, count=_HEALTHY, is_tenants=True)
        with psycopg.connect(many, autocommit=True) as conn:
            conn.execute(_FINISHED, (ids, ids, stage.EVENT, size.finished_rows))
            conn.execute(_PENDING, (ids, ids, stage.EVENT, "1 day", _LATER))
            conn.execute("vacuum analyze svc.webhook_deliveries, svc.webhook_queue, svc.webhook_leases")
        asyncio.run(_measure(figures, size, {EMPTY: many}))
        _add_dead(many, deliveries=size.dead_rows)
        _block(blocked)
        cases = {BLOCKED: blocked, MANY: many}
        if size.is_thorough:
            few = stack.enter_context(server.database())
            stage.add_endpoints(few, _NOWHERE, count=_HEALTHY, is_tenants=True)
            _add_dead(few, deliveries=size.dead_rows)
            cases[FEW] = few
        asyncio.run(_measure(figures, size, cases))


async def _measure(figures: Figures, size: Size, cases: Mapping[str, str]) -> None:
    for number in range(size.claim_rounds + 1):
        for name in turns(cases, number):
            is_busy = name in (FEW, MANY)
            if is_busy:
                stage.fill(cases[name], endpoints=_HEALTHY, deliveries=_BATCH * _CALLS)
            async with await psycopg.AsyncConnection.connect(
                cases[name], autocommit=True, prepare_threshold=None
            ) as conn:
                claimed, acknowledged = await _calls(conn, is_busy=is_busy)
            if number:  # the first fills the server's caches
                figures.add(CLAIM, name, claimed)
                if name == MANY:
                    figures.add(CLAIM, ACKNOWLEDGE, acknowledged)


async def _calls(conn: Connection, *, is_busy: bool) -> tuple[float, float]:
    """The milliseconds of a claim and of an acknowledgement."""
    after: str | None = None
    claim_times, acknowledge_times = [], []
    for _ in range(_CALLS):
        started = time.perf_counter()
        claimed, _ = await leases.claim(conn, worker="benchmark", batch=_BATCH, after=after)
        claim_times.append(time.perf_counter() - started)
        assert len(claimed) == (_BATCH if is_busy else 0), f"{len(claimed)} were claimed"
        if claimed:
            after = claimed[-1].endpoint_id
            started = time.perf_counter()
            await leases.acknowledge(conn, [_delivered(claim) for claim in claimed])
            acknowledge_times.append(time.perf_counter() - started)
    return median(claim_times) * 1000, median(acknowledge_times or [0]) * 1000


def _delivered(claim: Lease) -> Acknowledgement:
    return Acknowledgement(claim, "delivered", Result(outcome="success", status=204, remote_ip="127.0.0.1"))


def _block(database: str) -> None:
    stage.add_endpoints(database, _NOWHERE)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(_MULTIPLY, (_BLOCKED,))
        ids = [row[0] for row in conn.execute("select id from svc.webhook_endpoints").fetchall()]
        conn.execute(_OPEN_BREAKERS, (ids,))
        conn.execute(_PENDING, (ids, ids, stage.EVENT, "-1 hour", _BLOCKED))
        conn.execute("vacuum analyze svc.webhook_deliveries, svc.webhook_queue, svc.webhook_leases")


def _add_dead(database: str, *, deliveries: int) -> None:
    dead = stage.add_endpoints(database, _NOWHERE, tenant="nobody")
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(_OPEN_BREAKERS, (dead,))
        conn.execute(_PENDING, (dead, dead, stage.EVENT, "-1 hour", deliveries))
        conn.execute("vacuum analyze svc.webhook_deliveries, svc.webhook_queue, svc.webhook_leases")
