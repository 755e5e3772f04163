"""Time every page of the console on a long history, and the effect of 50 readers on the application beside it.

The history is made by SQL: a million entries of the audit log, and 200,000 deliveries of 20 endpoints. Each page that
links lead to is opened again and again by one client. Then an application gets requests at a fixed rate, in turns with
and without 50 readers that each open a page every few seconds, first of a console in the application's own process and
pool, then of one in a process of its own. All share this machine.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import httpx
import uvicorn

from svc_pg.console import Console, register_tenants
from svc_pg.console.pages.routes import ROUTES
from tests.benchmarks import command, saved
from tests.benchmarks.console_pressure import serve
from tests.benchmarks.console_stage import PREFIX, prepare, settings
from tests.benchmarks.week import fill
from tests.support.postgres import new_database, server
from tests.support.walking import Walk

LIMIT_MS: Final = 100
READERS: Final = 50
READ_EVERY: Final = 5.0  # seconds, of each of them


@dataclass(slots=True)
class Times:
    """The times of requests, in milliseconds, and the number with another status than 200."""

    times: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.times)
        return round(ordered[min(int(len(ordered) * share), len(ordered) - 1)], 1) if ordered else float("nan")


def main() -> int:
    options = _parser().parse_args()
    with server(options.postgres) as maintenance, new_database(maintenance) as conninfo:
        versions, began = command.versions(conninfo), time.monotonic()
        sessions = prepare(conninfo, clients=READERS, permission="admin", entries=options.entries)
        fill(conninfo, deliveries=options.deliveries)
        sys.stderr.write(f"the history is made, after {time.monotonic() - began:.0f} s\n")
        with serving(serve, conninfo) as application, serving(_serve_alone, conninfo) as console:
            loads = [os.getloadavg()[0]]
            pages = time_pages(application, sessions, rounds=options.rounds)
            loads.append(os.getloadavg()[0])
            beside = {
                name: asyncio.run(_beside(application, read_from, sessions, list(pages), options))
                for name, read_from in (("in its process", application), ("in another process", console))
                if options.turns
            }
    report = {"entries": options.entries, "deliveries": options.deliveries, "load": loads} | {
        "pages": {name: _summary(each) for name, each in pages.items()},
        "readers": beside,
    }
    sys.stdout.write((json.dumps(report) if options.json else _table(report)) + "\n")
    saved.save(options.save, "pages", report, versions)
    return 0 if all(each.quantile(0.95) < LIMIT_MS and not each.failures for each in pages.values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("pages", __doc__)
    parser.add_argument("--entries", type=int, default=1_000_000, help="of the audit log (default: %(default)s)")
    parser.add_argument("--deliveries", type=int, default=200_000, help="how many (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=40, help="how often each page is opened (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="of each turn of the readers (default: %(default)s)")
    parser.add_argument(
        "--turns", type=int, default=3, help="with readers, and without; 0 for none (default: %(default)s)"
    )
    parser.add_argument("--rate", type=float, default=50, help="requests per second (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    return parser


def _serve_alone(conninfo: str, listener: socket.socket) -> None:
    console = Console(settings(conninfo))
    register_tenants(console)
    uvicorn.Server(uvicorn.Config(console.asgi, log_level="error", ws="none", lifespan="on")).run(sockets=[listener])


@contextmanager
def serving(run: Callable[[str, socket.socket], None], conninfo: str) -> Iterator[str]:
    """Serve a database by a process of its own, and give its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        process = multiprocessing.get_context("fork").Process(target=run, args=(conninfo, listener))
        process.start()
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            _wait_until_up(base_url)
            yield base_url
        finally:
            process.terminate()
            process.join(20)
            process.kill()


def _wait_until_up(base_url: str) -> None:
    for _ in range(200):
        try:
            httpx.get(f"{base_url}/ping")
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise TimeoutError("the server does not answer")


def time_pages(base_url: str, sessions: Sequence[str], *, rounds: int) -> dict[str, Times]:
    """Open each page that differs from others, by its address; the first time does not count.

    Each page has another session, so that none exceeds its limit of calls a minute.
    """
    found: dict[str, Times] = {}
    base_path = f"{PREFIX}/ui"
    cookies = {"svc_console": sessions[0]}
    with httpx.Client(base_url=base_url, cookies=cookies, timeout=30, follow_redirects=True) as http:

        def look(address: str) -> str:
            response = http.get(address)
            if response.status_code != httpx.codes.OK:
                raise RuntimeError(f"{response.status_code} for {address}")
            return response.text

        walk = Walk(str(http.get(base_path).url), ROUTES, base_path, term="orders", each=1)
        addresses = [address for address, _ in walk.pages(look)]
        for number, address in enumerate(addresses):
            http.cookies = httpx.Cookies({"svc_console": sessions[number % len(sessions)]})
            seen = found[address.removeprefix(base_url + base_path)] = Times()
            for _ in range(rounds):
                began = time.perf_counter()
                response = http.get(address)
                seen.times.append((time.perf_counter() - began) * 1000)
                if response.status_code != httpx.codes.OK:
                    seen.failures.append(str(response.status_code))
    return found


async def _beside(
    application: str, console: str, sessions: Sequence[str], pages: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    """The times of the application's own requests with and without readers of that console, in turns."""
    alone, together, read = Times(), Times(), Times()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        for _ in range(options.turns):
            await _apply(http, application, alone, options)
            readers = [asyncio.create_task(_read(http, console, session, pages, read)) for session in sessions]
            try:
                await _apply(http, application, together, options)
            finally:
                for reader in readers:
                    reader.cancel()
                await asyncio.gather(*readers, return_exceptions=True)
    summaries = {name: _summary(each) for name, each in (("without", alone), ("with", together), ("read", read))}
    return summaries | {
        "pagesPerSecond": round(len(read.times) / (options.turns * options.seconds), 1),
        "ratio": {name: round(together.quantile(share) / alone.quantile(share), 2) for name, share in _SHARES.items()},
    }


async def _apply(http: aiohttp.ClientSession, application: str, seen: Times, options: argparse.Namespace) -> None:
    """Send the application's requests at a fixed rate, without waiting for answers."""
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(int(options.seconds * options.rate)):
            due = began + number / options.rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(_get(http, f"{application}/work", {}, seen, due))


async def _read(http: aiohttp.ClientSession, console: str, session: str, pages: Sequence[str], seen: Times) -> None:
    headers = {"Cookie": f"svc_console={session}"}
    while True:
        await asyncio.sleep(random.uniform(0, 2 * READ_EVERY))
        address = f"{console}{PREFIX}/ui{random.choice(pages)}"
        await _get(http, address, headers, seen, time.perf_counter())


async def _get(http: aiohttp.ClientSession, address: str, headers: dict[str, str], seen: Times, began: float) -> None:
    async with http.get(address, headers=headers) as response:
        await response.read()
    seen.times.append((time.perf_counter() - began) * 1000)
    if response.status != 200:
        seen.failures.append(str(response.status))


_SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def _summary(seen: Times) -> dict[str, Any]:
    quantiles = {f"{name}Ms": seen.quantile(share) for name, share in _SHARES.items()}
    return {"requests": len(seen.times), **quantiles, "failures": len(seen.failures)}


def _table(report: dict[str, Any]) -> str:
    lines = ["the load of the machine before and after: " + ", ".join(f"{each:.1f}" for each in report["load"])]
    lines += [_line(each, name) for name, each in sorted(report["pages"].items(), key=lambda row: -row[1]["p95Ms"])]
    for place, found in report["readers"].items():
        lines.append(f"a console {place}: {found['pagesPerSecond']} pages per second; the ratio: {found['ratio']}")
        lines += [_line(found[name], name) for name in ("without", "with", "read")]
    return "\n".join(lines)


def _line(summary: dict[str, Any], name: str) -> str:
    times = (f"{share} {summary[f'{share}Ms']:>7} ms" for share in _SHARES)
    return "  ".join([*times, f"failures {summary['failures']}", name])


if __name__ == "__main__":
    sys.exit(main())
