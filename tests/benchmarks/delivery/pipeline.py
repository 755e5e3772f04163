"""The whole way by one worker process: claimed, signed, posted, answered 204, and the attempt recorded."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import psycopg

from tests.benchmarks.delivery import processor, receivers, stage
from tests.benchmarks.delivery.figures import Figures, Section, turns
from tests.benchmarks.delivery.sizes import Setup, Size
from tests.benchmarks.delivery.stage import Server
from tests.support.waiting import wait_until

PIPELINE: Final = Section(
    "the whole pipeline, one worker process unless told",
    "deliveries/s",
    "a queue that is full at the start; one message a delivery; the tenth that is first and the last are not counted",
)
WORKER: Final = Section("the whole pipeline: the processor's time of the worker", "microseconds a delivery")
POSTGRES: Final = Section(
    "the whole pipeline: the processor's time of PostgreSQL",
    "microseconds a delivery",
    "filling the queue is not in it",
)
FAIRNESS: Final = Section(
    "fairness: deliveries of 50 healthy endpoints",
    "deliveries/s",
    "the dead one hangs for its timeout of 15 s, then its breaker opens; its deliveries are the oldest",
)
ALONE: Final = "healthy endpoints alone"
BESIDE_DEAD: Final = "beside a dead one with 50,000 due"
MEMORY: Final = Section("one worker process, 200 receivers that never answer", "MB resident", "concurrency 200")
TARPITS: Final = "worker"
_HEALTHY: Final = 50
_HANGING: Final = 200
_LIMIT: Final = timedelta(minutes=2)

_RATE: Final = """
with finished as (
    select percentile_disc(array[0.1, 0.9]) within group (order by finished_at) as at, count(*) as number
      from svc.webhook_deliveries where status = 'delivered'
)
select 0.8 * number / extract(epoch from at[2] - at[1])::float8 from finished
"""
_UNFINISHED: Final = """
select exists (select from svc.webhook_deliveries where status = 'pending' and endpoint_id <> all(%s::uuid[]))
"""
_OLD: Final = """
with message as (
    insert into svc.webhook_messages (id, event_name, payload)
    select svc.webhook_uuid7(), %s, %s from generate_series(1, %s) returning id, event_name
), delivery as (
    insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts, next_attempt_at)
    select svc.webhook_uuid7(), id, %s, event_name, 5, now() - interval '1 hour' from message
    returning id, endpoint_id, next_attempt_at
)
insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)
select endpoint_id, next_attempt_at, id from delivery
"""


@dataclass(frozen=True, slots=True)
class _Run:
    """The cost of delivering a full queue: deliveries a second, and microseconds of the processor for each."""

    rate: float
    worker: float
    postgres: float | None


def measure(figures: Figures, server: Server, size: Size) -> dict[str, str]:
    """Measure each set-up in turn, with a new worker each time. Returns the name of the receiver."""
    with ExitStack() as stack:
        url, receiver = stack.enter_context(receivers.fast())
        slow = stack.enter_context(receivers.counting())
        databases = {}
        for setup in size.pipelines:
            databases[setup] = stack.enter_context(server.database())
            stage.add_endpoints(
                databases[setup],
                f"{slow.url}/slow" if setup.is_slow else url,
                count=setup.endpoints,
                is_tenants=True,
                max_in_flight=setup.max_in_flight,
            )
        for number in range(size.pipeline_rounds):
            for setup in turns(size.pipelines, number):
                run = _run(databases[setup], setup, deliveries=size.deliveries)
                figures.add(PIPELINE, setup.title, run.rate)
                figures.add(WORKER, setup.title, run.worker)
                if run.postgres is not None:
                    figures.add(POSTGRES, setup.title, run.postgres)
    return {"receiver": receiver}


def _run(database: str, setup: Setup, *, deliveries: int) -> _Run:
    """Fill the queue at once beside a sleeping worker. The costs of filling and polling it are not counted."""
    stage.empty(database)
    with (
        psycopg.connect(database, autocommit=True) as conn,
        stage.worker(database, concurrency=setup.concurrency, processes=setup.processes) as worker,
    ):
        worker.wait_until_asleep(database)
        worker.wait_until_idle()
        postmaster, own = processor.postmaster(conn), conn.info.backend_pid

        def used() -> tuple[float, float]:
            server = processor.seconds(postmaster) - processor.seconds(own) if postmaster else 0
            return processor.seconds(worker.process.pid), server

        before = used()
        with conn.transaction():
            stage.send_to_each(conn, endpoints=setup.endpoints, deliveries=deliveries)
            conn.execute("analyze svc.webhook_messages, svc.webhook_deliveries, svc.webhook_queue")
        wait_until(lambda: not _is_unfinished(conn, worker, None), "everything is delivered", limit=_LIMIT)
        after = used()
        costs = [(later - earlier) / deliveries * 1e6 for earlier, later in zip(before, after, strict=True)]
        return _Run(_measured_rate(conn), costs[0], costs[1] if postmaster else None)


def measure_fairness(figures: Figures, server: Server, size: Size) -> None:
    """Measure the same work with and without an endpoint that takes everything and never answers."""
    with ExitStack() as stack:
        url, _ = stack.enter_context(receivers.fast())
        hanging = stack.enter_context(receivers.counting())
        database = stack.enter_context(server.database())
        [dead] = stage.add_endpoints(database, f"{hanging.url}/hang", tenant="nobody")
        stage.add_endpoints(database, url, count=_HEALTHY, is_tenants=True)
        for number in range(size.fairness_rounds):
            for is_dead_there in turns((False, True), number):
                rate = _rate(
                    database,
                    endpoints=_HEALTHY,
                    deliveries=size.deliveries,
                    dead=dead,
                    dead_rows=size.dead_rows if is_dead_there else 0,
                )
                figures.add(FAIRNESS, BESIDE_DEAD if is_dead_there else ALONE, rate)


def _rate(database: str, *, endpoints: int, deliveries: int, dead: str | None = None, dead_rows: int = 0) -> float:
    stage.empty(database)
    stage.fill(database, endpoints=endpoints, deliveries=deliveries)
    with psycopg.connect(database, autocommit=True) as conn:
        if dead_rows:
            conn.execute(_OLD, (stage.EVENT, stage.PAYLOAD, dead_rows, dead))
        conn.execute("analyze svc.webhook_messages, svc.webhook_deliveries, svc.webhook_queue")
        with stage.worker(database) as worker:
            wait_until(lambda: not _is_unfinished(conn, worker, dead), "everything is delivered", limit=_LIMIT)
        return _measured_rate(conn)


def _measured_rate(conn: psycopg.Connection) -> float:
    row = conn.execute(_RATE).fetchone()
    assert row is not None
    rate: float = row[0]
    return rate


def measure_memory(figures: Figures, server: Server, size: Size) -> None:  # noqa: ARG001 - as all sections
    """Measure a worker with all slots taken by receivers that never answer."""
    with receivers.counting() as hanging, server.database() as database:
        stage.add_endpoints(database, f"{hanging.url}/hang", count=_HANGING, is_tenants=True)
        stage.fill(database, endpoints=_HANGING, deliveries=_HANGING)
        with stage.worker(database, concurrency=_HANGING) as worker:
            wait_until(lambda: hanging.counts().posts == _HANGING, "every receiver has its request", limit=_LIMIT)
            figures.add(MEMORY, TARPITS, resident_mb(worker.process.pid))


def resident_mb(pid: int) -> float:
    """The resident memory of a process, or 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0)


def _is_unfinished(conn: psycopg.Connection, worker: stage.WorkerProcess, dead: str | None) -> bool:
    worker.check()
    time.sleep(0.1)  # asking is work for the server
    row = conn.execute(_UNFINISHED, ([dead] if dead else [],)).fetchone()
    assert row is not None
    return bool(row[0])
