"""Sign and POST: ``python -m tests.benchmarks.delivery.peer_jobs WAY JOBS URL``, in SVC_BENCHMARK_CONNINFO.

Installs the tool (ours is there) and fills its queue. Then prints ``ready``, waits for a line, and lets its worker do
all the jobs. Last it takes some more jobs, one by one and in batches. Prints its figures as JSON.
"""

import asyncio
import json
import logging
import os
import sys
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from hmac import digest
from typing import Any, Final, LiteralString
from uuid import uuid4

import psycopg
import uvloop
from psycopg.conninfo import conninfo_to_dict

from svc_pg import webhooks
from svc_pg.webhooks.worker.worker import Worker
from tests.benchmarks.delivery import stage

CONNINFO_VARIABLE: Final = "SVC_BENCHMARK_CONNINFO"
CONCURRENCY: Final = 100
ENDPOINTS: Final = 50
_SECRET: Final = b"secret" * 4
_BATCH: Final = 500
_WORKERS: Final = 5
"""Workers of one process, for tools whose worker has one connection or fetches one job at a time."""
_DEFERRED: Final = 200  # one by one
_BATCHES: Final = 4
_ASK_AGAIN: Final = 0.02  # seconds

Connection = psycopg.AsyncConnection[Any]
Post = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Way:
    """A tool that does jobs. ``stop`` ends ``work``; ``unfinished`` tells if jobs remain."""

    defer: Callable[[], Awaitable[object]]
    defer_batch: Callable[[], Awaitable[object]]
    fill: Callable[[int], Awaitable[object]]
    work: Callable[[], Awaitable[None]]
    stop: Callable[[], object]
    unfinished: LiteralString


@asynccontextmanager
async def posting(url: str) -> AsyncIterator[Post]:
    """The handler of a job that follows Standard Webhooks."""
    import aiohttp  # readers of the tables do not need it

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(payload: str) -> None:
            message, timestamp, body = str(uuid4()), str(int(time.time())), payload.encode()
            signature = digest(_SECRET, f"{message}.{timestamp}.".encode() + body, sha256)
            headers = {
                "content-type": "application/json",
                "webhook-id": message,
                "webhook-timestamp": timestamp,
                "webhook-signature": f"v1,{b64encode(signature).decode()}",
            }
            async with session.post(url, data=body, headers=headers) as response:
                response.raise_for_status()

        yield post


@asynccontextmanager
async def procrastinate(conninfo: str, conn: Connection, url: str) -> AsyncIterator[Way]:  # noqa: ARG001 - has a pool
    """A row a job, which stays when it is done. A worker fetches one job at a time, so several share the process."""
    from procrastinate import App, PsycopgConnector
    from procrastinate.types import JSONValue

    app = App(connector=PsycopgConnector(conninfo=conninfo, max_size=4 * _WORKERS))
    batch: list[dict[str, JSONValue]] = [{"payload": stage.PAYLOAD}] * _BATCH
    async with posting(url) as post, app.open_async():

        @app.task(name="post")
        async def task(payload: str) -> None:
            await post(payload)

        async def work() -> None:
            share = CONCURRENCY // _WORKERS
            await asyncio.gather(
                *(
                    app.run_worker_async(concurrency=share, wait=False, install_signal_handlers=False)
                    for _ in range(_WORKERS)
                )
            )

        await app.schema_manager.apply_schema_async()
        yield Way(
            defer=lambda: task.defer_async(payload=stage.PAYLOAD),
            defer_batch=lambda: task.batch_defer_async(*batch),
            fill=lambda jobs: _repeat(jobs // _BATCH, lambda: task.batch_defer_async(*batch)),
            work=work,
            stop=lambda: None,  # wait=False: it ends where nothing is left
            unfinished="select exists (select from procrastinate_jobs where status in ('todo', 'doing'))",
        )


@asynccontextmanager
async def pgqueuer(conninfo: str, conn: Connection, url: str) -> AsyncIterator[Way]:  # noqa: ARG001 - by asyncpg
    """A row a job, which moves to its log when it is done. As in its own benchmark: asyncpg, five that dequeue."""
    import asyncpg
    from pgqueuer import PgQueuer
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.models import Job
    from pgqueuer.queries import Queries

    async with AsyncExitStack() as stack:
        post = await stack.enter_async_context(posting(url))

        async def driver() -> AsyncpgDriver:
            own = await asyncpg.connect(**_asyncpg_arguments(conninfo))
            stack.push_async_callback(own.close)
            return AsyncpgDriver(own)

        queries = Queries(await driver())
        await queries.install()
        queuers = [PgQueuer(await driver()) for _ in range(_WORKERS)]
        payload = stage.PAYLOAD.encode()

        async def do(job: Job) -> None:
            await post((job.payload or b"").decode())

        for queuer in queuers:
            queuer.entrypoint("post")(do)

        def enqueue() -> Awaitable[object]:
            return queries.enqueue(["post"] * _BATCH, [payload] * _BATCH, [0] * _BATCH)

        async def work() -> None:
            await asyncio.gather(*(queuer.qm.run(batch_size=CONCURRENCY // _WORKERS) for queuer in queuers))

        def stop() -> None:
            for queuer in queuers:
                queuer.shutdown.set()

        yield Way(
            defer=lambda: queries.enqueue("post", payload),
            defer_batch=enqueue,
            fill=lambda jobs: _repeat(jobs // _BATCH, enqueue),
            work=work,
            stop=stop,
            unfinished="select exists (select from pgqueuer)",
        )


def _asyncpg_arguments(conninfo: str) -> dict[str, Any]:
    parts = conninfo_to_dict(conninfo)
    parts["database"] = parts.pop("dbname")
    return {name: value for name, value in parts.items() if name in {"host", "port", "user", "password", "database"}}


@asynccontextmanager
async def svc_pg(conninfo: str, conn: Connection, url: str) -> AsyncIterator[Way]:
    """Ours with its defaults, which keeps each attempt, and guards, bounds and takes turns between endpoints."""
    stage.add_endpoints(conninfo, url, count=ENDPOINTS, is_tenants=True)
    worker = Worker(conninfo, keys=stage.KEYS, config=stage.CONFIG)
    yield Way(
        defer=lambda: webhooks.asend(conn, stage.EVENT, stage.PAYLOAD, tenant="tenant-0"),
        defer_batch=lambda: webhooks.asend_many(conn, stage.EVENT, [stage.PAYLOAD] * _BATCH, tenant="tenant-0"),
        fill=lambda jobs: asyncio.to_thread(stage.fill, conninfo, endpoints=ENDPOINTS, deliveries=jobs),
        work=worker.run,
        stop=worker.stop,
        unfinished="select exists (select from svc.webhook_deliveries where status = 'pending')",
    )


WAYS: Final = {"svc-pg": svc_pg, "procrastinate": procrastinate, "pgqueuer": pgqueuer}


async def _repeat(times: int, step: Callable[[], Awaitable[object]]) -> None:
    for _ in range(times):
        await step()


async def figures(name: str, conninfo: str, jobs: int, url: str) -> dict[str, float]:
    """The seconds from the worker's start to the last record, of the clock and of this process; and jobs a second."""
    async with (
        await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn,
        WAYS[name](conninfo, conn, url) as way,
    ):
        await way.fill(jobs)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        started, used = time.perf_counter(), time.process_time()
        working = asyncio.ensure_future(way.work())
        while await (await conn.execute(way.unfinished)).fetchone() != (False,):  # noqa: ASYNC110 - a table is no event
            await asyncio.sleep(_ASK_AGAIN)
        found = {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}
        sys.stdout.write(f"{json.dumps(found)}\n")
        sys.stdout.flush()
        sys.stdin.readline()
        way.stop()
        await working
        return {
            "defer": await _rate(_DEFERRED, way.defer),
            "batch": _BATCH * await _rate(_BATCHES, way.defer_batch),
        }


async def _rate(times: int, step: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await _repeat(times, step)
    return times / (time.perf_counter() - started)


def main() -> None:
    """Run one way and print its figures."""
    logging.disable()
    way, jobs, url = sys.argv[1:]
    found = uvloop.run(figures(way, os.environ[CONNINFO_VARIABLE], int(jobs), url))
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
