"""Send mixed requests by the HTTP client to receivers of all kinds, and count wrong results and files left open.

Some receivers are hostile, and 100 requests are under way at a time.
"""

import argparse
import asyncio
import sys
import time
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.http1_transport import Http1Transport
from tests.benchmarks import command
from tests.benchmarks.command import words
from tests.support.mixed_receivers import mixed_receivers, soak

_FILES: Final = Path("/proc/self/fd")
_PATIENCE: Final = 5.0  # seconds


def main() -> int:
    """Run the command line; returns the exit code."""
    command.end_on_sigterm()
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.transport", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, metavar="N", help="how many (default: 20000)")
    requests = parser.parse_args().requests
    before = _open_files()
    started, cpu = time.perf_counter(), time.process_time()
    wrong = asyncio.run(_soak(requests))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    words.print(f"{requests} requests in {seconds:.1f} s, {cpu:.1f} s of them on the CPU, receivers included")
    for description, number in wrong.items():
        words.print(f"wrong, {number} times: {description}", markup=False)
    left = _left_open(before)
    words.print(f"{sum(wrong.values())} wrong results, {left} files left open")
    return 1 if wrong or left > 0 else 0


async def _soak(requests: int) -> dict[str, int]:
    transport = Http1Transport(Guard([ip_network("127.0.0.0/8")], allow_http=True), concurrency=100)
    try:
        async with mixed_receivers() as destinations:
            return await soak(transport, destinations, requests=requests)
    finally:
        await transport.close()
        await asyncio.sleep(0)


def _left_open(before: int) -> int:
    """The number of additional open files; c-ares closes its own a moment later, in a thread."""
    end = time.monotonic() + _PATIENCE
    while (left := _open_files() - before) > 0 and time.monotonic() < end:
        time.sleep(0.1)
    return left


def _open_files() -> int:
    return len(list(_FILES.iterdir())) if _FILES.is_dir() else 0


if __name__ == "__main__":
    sys.exit(main())
