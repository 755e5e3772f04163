"""Load a console that shares a process and a pool with its application, to see the effect of one session on others.

Four figures: a page of 200 entries of 1 MiB and the longest silence of the application meanwhile, the export of these
entries, the memory of the server while ten clients ask for pages and read nothing, and the answers to others while one
session makes 100 parallel reads that no index serves.
"""

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import psycopg
import uvicorn
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from svc_pg.console import Console, register_tenants
from tests.benchmarks import command, saved
from tests.benchmarks.console_stage import PREFIX, prepare, settings
from tests.support.postgres import new_database, server

ENTRIES: Final = 1_000_000
LARGE: Final = 200
_LARGE: Final = """
insert into svc.audit_logs (table_name, table_oid, operation, record_id, after_data)
select 'public.files', 0, 'INSERT', n::text, jsonb_build_object('body', repeat(md5(n::text), 32768))
  from generate_series(1, %s) n
"""
IDLE_ROWS: Final = 60  # as many as one statement of ten at once reads in time
READS: Final = 100
OTHERS: Final = 141


def main() -> int:
    parser = command.parser("console_pressure", __doc__)
    options = parser.parse_args()
    with server(options.postgres) as maintenance, new_database(maintenance) as conninfo:
        versions, figures = command.versions(conninfo), {}
        sessions = prepare(conninfo, clients=2, permission="write", entries=ENTRIES)
        with psycopg.connect(conninfo) as conn:
            conn.execute(_LARGE, [LARGE])
        for measure in (_page, _export, _idle_readers, _parallel_reads):
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                process = multiprocessing.get_context("fork").Process(target=serve, args=(conninfo, listener))
                process.start()
                try:
                    found = asyncio.run(_measured(measure, listener.getsockname()[1], process.pid, sessions))
                finally:
                    process.terminate()
                    process.join(20)
                    process.kill()
            name = measure.__name__.strip("_")
            figures[name] = found
            sys.stdout.write(f"{name:15} {json.dumps(found)}\n")
            sys.stdout.flush()
    saved.save(options.save, "console_pressure", figures, versions)
    return 0


async def _measured(measure: Any, port: int, pid: int | None, sessions: list[str]) -> dict[str, object]:
    timeout = aiohttp.ClientTimeout(total=60)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=connector, timeout=timeout) as http:
        for _ in range(200):
            try:
                async with http.get("/ping"):
                    break
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)
        found: dict[str, object] = await measure(http, port, pid, sessions)
        return found | {"rssMiB": _rss(pid), "peakMiB": _rss(pid, "VmHWM")}


def serve(conninfo: str, listener: socket.socket) -> None:
    """Serve an application with the console in it, both on one pool."""
    pool = AsyncConnectionPool[Any](conninfo, min_size=2, max_size=10, open=False)
    console = Console(settings(conninfo), pool=pool)
    register_tenants(console)

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        async with pool, console.lifespan():
            yield

    async def ping(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("pong")

    async def work(_request: Request) -> PlainTextResponse:
        try:
            async with pool.connection(timeout=5) as conn:
                await conn.execute("select 1")
        except PoolTimeout:
            return PlainTextResponse("no connection", 503)
        return PlainTextResponse("done")

    app = Starlette(routes=[Route("/ping", ping), Route("/work", work)], lifespan=lifespan)
    console.install(app)
    config = uvicorn.Config(app, log_level="error", ws="none", lifespan="on", timeout_graceful_shutdown=2)
    uvicorn.Server(config).run(sockets=[listener])


async def _page(http: aiohttp.ClientSession, _port: int, _pid: int, sessions: list[str]) -> dict[str, object]:
    path = f"{PREFIX}/audit/entries?limit={LARGE}&resource=files"
    async with _silence(http) as silence, http.get(path, headers=_bearer(sessions[0])) as response:
        content = await response.read()
    entries = len(json.loads(content).get("data", []))
    return {"status": response.status, "bytes": len(content), "entries": entries, "silenceMs": silence[0]}


async def _export(http: aiohttp.ClientSession, _port: int, _pid: int, sessions: list[str]) -> dict[str, object]:
    received, began = 0, time.perf_counter()
    path = f"{PREFIX}/audit/export?resource=files"
    async with _silence(http) as silence, http.get(path, headers=_bearer(sessions[0])) as response:
        async for part in response.content.iter_any():
            received += len(part)
    seconds = round(time.perf_counter() - began, 1)
    return {"status": response.status, "bytes": received, "seconds": seconds, "silenceMs": silence[0]}


async def _idle_readers(http: aiohttp.ClientSession, port: int, pid: int, sessions: list[str]) -> dict[str, object]:
    before, target = _rss(pid), f"{PREFIX}/audit/entries?limit={IDLE_ROWS}&resource=files"
    request = f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: {_bearer(sessions[0])['Authorization']}\r\n\r\n"
    writers = []
    for _ in range(10):
        _reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(request.encode())
        writers.append(writer)
    await asyncio.sleep(25)
    async with http.get("/ping") as response:
        found: dict[str, object] = {"status": response.status, "addedMiB": round(_rss(pid) - before, 1)}
    for writer in writers:
        writer.transport.abort()
    return found


async def _parallel_reads(http: aiohttp.ClientSession, _port: int, _pid: int, sessions: list[str]) -> dict[str, object]:
    """One session makes 100 parallel reads of a label without entries; others call the application and the console."""
    hog, other = _bearer(sessions[0]), _bearer(sessions[1])
    statuses: Counter[str] = Counter()

    async def get(who: str, path: str, headers: dict[str, str], *, delay: float = 0) -> None:
        await asyncio.sleep(delay)
        async with http.get(path, headers=headers) as response:
            await response.read()
        statuses[f"{who} {response.status}"] += 1

    async with _silence(http) as silence, asyncio.TaskGroup() as group:
        for number in range(READS):
            group.create_task(get("reads", f"{PREFIX}/audit/entries?label=none-{number}", hog))
        for number in range(OTHERS):
            who, path = ("application", "/work") if number % 2 else ("console", f"{PREFIX}/audit/entries?limit=1")
            group.create_task(get(who, path, other, delay=number * 0.05))
    refused = sum(count for name, count in statuses.items() if name.endswith(" 503"))
    return {
        "503": f"{refused} of {READS + OTHERS}",
        "statuses": dict(sorted(statuses.items())),
        "silenceMs": silence[0],
    }


@asynccontextmanager
async def _silence(http: aiohttp.ClientSession) -> AsyncIterator[list[float]]:
    """The longest time, in milliseconds, of a route of the application without a database."""
    longest = [0.0]

    async def ping() -> None:
        while True:
            began = time.perf_counter()
            async with http.get("/ping") as response:
                await response.read()
            longest[0] = max(longest[0], round((time.perf_counter() - began) * 1000, 1))
            await asyncio.sleep(0.01)

    task = asyncio.create_task(ping())
    try:
        yield longest
    finally:
        task.cancel()


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _rss(pid: int | None, field: str = "VmRSS") -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024, 1)


if __name__ == "__main__":
    sys.exit(main())
