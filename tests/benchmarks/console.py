"""Load the console: many users at once read the audit log and wait for a sign-in, on one process of the server.

Each client has a session of its own, reads pages of ``/audit/entries`` without a pause, and polls a sign-in every two
seconds. The criterion is that no client gets an error: the pool of ten connections makes clients wait, and those that
would wait too long get 503 and Retry-After, never 500.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import socket
import sys
import time
from collections import Counter
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import uvicorn

from svc_pg.console import Console
from tests.benchmarks import command, saved
from tests.benchmarks.console_stage import ENTRIES, PREFIX, prepare, settings
from tests.support.postgres import new_database, server

POLL_EVERY: Final = 2.2  # seconds; the console asks for 2
READS: Final = ("", "?resource=orders", "?actor=actor-7", "?since=1h", "?operation=DELETE&limit=20")


@dataclass(slots=True)
class Seen:
    """Every answer of one kind of request: its time in milliseconds, and its status."""

    times: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def summary(self, seconds: float) -> dict[str, object]:
        ordered = sorted(self.times)
        return {
            "requests": len(ordered),
            "perSecond": round(len(ordered) / seconds, 1),
            "p50Ms": round(_quantile(ordered, 0.5), 1),
            "p99Ms": round(_quantile(ordered, 0.99), 1),
            "statuses": dict(self.statuses),
        }


def main() -> int:
    options = _parser().parse_args()
    with server(options.postgres) as maintenance, new_database(maintenance) as conninfo:
        versions = command.versions(conninfo)
        sessions = prepare(conninfo, clients=options.clients)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            process = multiprocessing.get_context("fork").Process(target=_serve, args=(conninfo, listener))
            process.start()
            try:
                seen = asyncio.run(_load(base_url, sessions, seconds=options.seconds))
            finally:
                process.terminate()
                process.join()
    report = {name: each.summary(options.seconds) for name, each in seen.items()}
    sys.stdout.write((json.dumps(report) if options.json else _table(report, options)) + "\n")
    saved.save(options.save, "console", report, versions)
    acceptable = {"200", "503 with Retry-After"}
    return 0 if all(each.times and not each.statuses.keys() - acceptable for each in seen.values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("console", __doc__)
    parser.add_argument("--seconds", type=float, default=30, help="how long (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=200, help="how many at once (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def _serve(conninfo: str, listener: socket.socket) -> None:
    config = uvicorn.Config(Console(settings(conninfo)).asgi, log_level="warning", ws="none", lifespan="on")
    uvicorn.Server(config).run(sockets=[listener])


async def _load(base_url: str, sessions: list[str], *, seconds: float) -> dict[str, Seen]:
    seen = {"entries": Seen(), "init": Seen(), "poll": Seen()}
    async with aiohttp.ClientSession(base_url, connector=aiohttp.TCPConnector(limit=0)) as http:
        await _until_up(http)
        ends_at = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for number, token in enumerate(sessions):
                group.create_task(_read(http, token, seen["entries"], ends_at))
                group.create_task(_poll(http, number, seen, ends_at))
    return seen


async def _until_up(http: aiohttp.ClientSession) -> None:
    while True:
        with suppress(aiohttp.ClientConnectionError):
            async with http.get(f"{PREFIX}/console/health"):
                return
        await asyncio.sleep(0.05)


async def _read(http: aiohttp.ClientSession, token: str, seen: Seen, ends_at: float) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    while time.monotonic() < ends_at:
        path = f"{PREFIX}/audit/entries{random.choice(READS)}"
        await _answer(http.get(path, headers=headers), seen)


async def _poll(http: aiohttp.ClientSession, number: int, seen: dict[str, Seen], ends_at: float) -> None:
    """Begin a sign-in that is never completed, from an address of its own, and poll its state."""
    await asyncio.sleep(POLL_EVERY * random.random())
    address = {"X-Forwarded-For": f"198.51.{number // 250}.{number % 250 + 1}"}
    asked = {"email": f"stranger{number}@elsewhere.example"}
    begun: dict[str, str] = {}
    while time.monotonic() < ends_at:
        if not begun:
            begun = await _answer(
                http.post(f"{PREFIX}/console/session/init", json=asked, headers=address), seen["init"]
            )
        else:
            url = f"{PREFIX}/console/session/poll?sessionId={begun['sessionId']}"
            headers = address | {"Authorization": f"Bearer {begun['deviceToken']}"}
            await _answer(http.get(url, headers=headers), seen["poll"])
        await asyncio.sleep(POLL_EVERY)


async def _answer(request: AbstractAsyncContextManager[aiohttp.ClientResponse], seen: Seen) -> dict[str, str]:
    """The document of a successful answer, or nothing."""
    began = time.perf_counter()
    async with request as response:
        document: dict[str, str] = await response.json(content_type=None)
    seen.times.append((time.perf_counter() - began) * 1000)
    has_retry_after = response.status == 503 and "Retry-After" in response.headers
    seen.statuses[f"{response.status} with Retry-After" if has_retry_after else str(response.status)] += 1
    return document if response.status == 200 else {}


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else float("nan")


def _table(report: dict[str, dict[str, object]], options: argparse.Namespace) -> str:
    lines = [f"{options.clients} clients, {options.seconds:g} s, {ENTRIES:,} entries"]
    for name, each in report.items():
        lines.append(
            f"{name:8} {each['requests']:>7} requests  {each['perSecond']:>7}/s  p50 {each['p50Ms']:>7} ms"
            f"  p99 {each['p99Ms']:>7} ms  {each['statuses']}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
