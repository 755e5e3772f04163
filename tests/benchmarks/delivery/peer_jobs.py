"""No-op jobs in one process: ``python -m tests.benchmarks.delivery.peer_jobs WAY JOBS``, in SVC_BENCHMARK_CONNINFO.

Installs the tool (ours is there), defers the jobs one by one, lets its worker do them all, and defers some in batches.
Prints the rates as JSON.
"""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg

from svc_pg import webhooks
from svc_pg.webhooks.http.transport import Done, Request, Result
from svc_pg.webhooks.worker.worker import Worker
from tests.benchmarks.delivery import stage

CONNINFO_VARIABLE: Final = "SVC_BENCHMARK_CONNINFO"
CONCURRENCY: Final = 50
_BATCH: Final = 500
_ASK_AGAIN: Final = 0.02  # seconds

Connection = psycopg.AsyncConnection[Any]


@dataclass(frozen=True, slots=True)
class Way:
    """How a tool takes jobs that do nothing, one or many; how it does them; and the query that finds any not done."""

    defer: Callable[[], Awaitable[object]]
    defer_batch: Callable[[], Awaitable[object]]
    work: Callable[[], Awaitable[None]]
    stop: Callable[[], object]
    unfinished: LiteralString


@asynccontextmanager
async def procrastinate(conninfo: str, conn: Connection) -> AsyncIterator[Way]:  # noqa: ARG001 - it has a pool
    """A row a job, which stays when it is done."""
    from procrastinate import App, PsycopgConnector
    from procrastinate.types import JSONValue

    app = App(connector=PsycopgConnector(conninfo=conninfo, max_size=8))
    batch: list[dict[str, JSONValue]] = [{"payload": stage.PAYLOAD}] * _BATCH

    @app.task(name="nothing")
    async def nothing(payload: str) -> None:
        """Do nothing."""

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        yield Way(
            defer=lambda: nothing.defer_async(payload=stage.PAYLOAD),
            defer_batch=lambda: nothing.batch_defer_async(*batch),
            work=lambda: app.run_worker_async(concurrency=CONCURRENCY, wait=False, install_signal_handlers=False),
            stop=lambda: None,  # wait=False: it ends where nothing is left
            unfinished="select exists (select from procrastinate_jobs where status in ('todo', 'doing'))",
        )


@asynccontextmanager
async def pgqueuer(conninfo: str, conn: Connection) -> AsyncIterator[Way]:
    """A row a job, which moves to its log when it is done."""
    from pgqueuer import PgQueuer
    from pgqueuer.db import PsycopgDriver
    from pgqueuer.models import Job
    from pgqueuer.queries import Queries

    queries = Queries(PsycopgDriver(conn))
    await queries.install()
    payload = stage.PAYLOAD.encode()
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as own:
        queuer = PgQueuer(PsycopgDriver(own))

        @queuer.entrypoint("nothing")
        async def nothing(job: Job) -> None:
            """Do nothing."""

        yield Way(
            defer=lambda: queries.enqueue("nothing", payload),
            defer_batch=lambda: queries.enqueue(["nothing"] * _BATCH, [payload] * _BATCH, [0] * _BATCH),
            work=lambda: queuer.qm.run(batch_size=CONCURRENCY),
            stop=queuer.shutdown.set,
            unfinished="select exists (select from pgqueuer)",
        )


@asynccontextmanager
async def svc_pg(conninfo: str, conn: Connection) -> AsyncIterator[Way]:
    """Ours with a transport that answers at once: all is done but HTTP."""
    stage.add_endpoints(conninfo, "http://127.0.0.1:9/", max_in_flight=CONCURRENCY)
    worker = Worker(conninfo, keys=stage.KEYS, config=stage.CONFIG, concurrency=CONCURRENCY, transport=_Nowhere())
    yield Way(
        defer=lambda: webhooks.asend(conn, stage.EVENT, stage.PAYLOAD),
        defer_batch=lambda: webhooks.asend_many(conn, stage.EVENT, [stage.PAYLOAD] * _BATCH),
        work=worker.run,
        stop=worker.stop,
        unfinished="select exists (select from svc.webhook_deliveries where status = 'pending')",
    )


class _Nowhere:
    """A transport that sends nothing and finds it delivered."""

    def start(self, _: Request, done: Done) -> None:
        asyncio.get_running_loop().call_soon(done, Result("success", 204, remote_ip="127.0.0.1"))

    async def close(self) -> None:
        """There is nothing to close."""


_WAYS: Final = {"procrastinate": procrastinate, "pgqueuer": pgqueuer, "svc-pg": svc_pg}


async def rates(name: str, conninfo: str, jobs: int) -> dict[str, float]:
    """Jobs a second: one by one, done from the worker's start to the last record, and in batches."""
    async with (
        await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn,
        _WAYS[name](conninfo, conn) as way,
    ):
        found = {"defer": await _rate(jobs, way.defer)}
        started = time.perf_counter()
        working = asyncio.ensure_future(way.work())
        while await (await conn.execute(way.unfinished)).fetchone() != (False,):  # noqa: ASYNC110 - a table is no event
            await asyncio.sleep(_ASK_AGAIN)
        found["work"] = jobs / (time.perf_counter() - started)
        way.stop()
        await working
        return found | {"batch": _BATCH * await _rate(max(1, jobs // _BATCH), way.defer_batch)}


async def _rate(times: int, step: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    for _ in range(times):
        await step()
    return times / (time.perf_counter() - started)


def main() -> None:
    """Run one way and print its rates."""
    logging.disable()
    found = asyncio.run(rates(sys.argv[1], os.environ[CONNINFO_VARIABLE], int(sys.argv[2])))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
