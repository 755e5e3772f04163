"""A receiver that counts: ``python -m tests.benchmarks.delivery.receiver``, steered by lines on its standard input.

It knows as much of HTTP as a well-behaved sender needs. A payload's ``sent`` is the sender's monotonic clock, which all
processes of a machine share.
"""

import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final, cast

_ANSWER: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
# after a 503 senders wait for a minute
_REFUSAL: Final = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"
_SECONDS_TO_ANSWER: Final = {b"/ok": 0.0, b"/slow": 0.1, b"/hang": None, b"/flaky": 0.0, b"/outage": 0.0}
_FLAKY_EVERY: Final = 5
_SECOND_NS: Final = 1_000_000_000
_ID: Final = b"\r\nwebhook-id: "
_LENGTH: Final = b"\r\ncontent-length: "


@dataclass
class _Received:
    """The counts of all connections."""

    arrivals_ns: list[int] = field(default_factory=list)  # of every POST
    by_delivery: Counter[bytes] = field(default_factory=Counter)
    delays_ns: list[int] = field(default_factory=list)
    latest: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))  # sequence of each key
    backwards: int = 0
    refused: int = 0
    is_down: bool = False

    def refuses(self, path: bytes) -> bool:
        """Count a POST and decide if it is answered 500: each fifth one to /flaky, and while it is down to /outage."""
        self.arrivals_ns.append(time.monotonic_ns())
        is_refused = {
            b"/flaky": len(self.arrivals_ns) % _FLAKY_EVERY == 0,
            b"/outage": self.is_down,
        }.get(path, False)
        self.refused += is_refused
        return is_refused

    def note(self, delivery: bytes, body: bytes) -> None:
        """Count a delivery that is taken, and at its first arrival its delay and its place in its key."""
        now = self.arrivals_ns[-1]
        self.by_delivery[delivery] += 1
        if self.by_delivery[delivery] > 1:
            return
        envelope = json.loads(body)
        if sent := envelope.get("data", {}).get("sent"):
            self.delays_ns.append(now - sent)
        if "key" in envelope:
            key, sequence = envelope["key"], envelope["sequence"]
            self.backwards += sequence < self.latest[key]
            self.latest[key] = max(self.latest[key], sequence)

    def counts(self) -> dict[str, object]:
        """The counts for a control connection; delays are returned only once."""
        delays, self.delays_ns = self.delays_ns, []
        return {
            "posts": len(self.arrivals_ns),
            "deliveries": len(self.by_delivery),
            "repeated": sum(number > 1 for number in self.by_delivery.values()),
            "delays_ms": [delay / 1e6 for delay in delays],
            "backwards": self.backwards,
            "refused": self.refused,
            "busiest_second": self._busiest_second(),
            "seconds": (self.arrivals_ns[-1] - self.arrivals_ns[0]) / 1e9 if self.arrivals_ns else 0,
        }

    def _busiest_second(self) -> int:
        """The most POSTs within any second, wherever it begins."""
        busiest = first = 0
        for last, at in enumerate(self.arrivals_ns):
            while at - self.arrivals_ns[first] >= _SECOND_NS:
                first += 1
            busiest = max(busiest, last - first + 1)
        return busiest


class _Connection(asyncio.Protocol):
    def __init__(self, received: _Received) -> None:
        self._received = received
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[: end + 2]
            lowered = head.lower()
            whole = end + 4 + int(_value(lowered, _LENGTH) or 0)
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            path = head.split(b" ", 2)[1]
            if self._received.refuses(path):
                self._write(_REFUSAL)
                continue
            self._received.note(_value(lowered, _ID), body)
            seconds = _SECONDS_TO_ANSWER[path]
            if seconds == 0:
                self._answer()
            elif seconds is not None:
                asyncio.get_running_loop().call_later(seconds, self._answer)

    def _answer(self) -> None:
        self._write(_ANSWER)

    def _write(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


def _value(head: bytes, name: bytes) -> bytes:
    start = head.find(name)
    return head[start + len(name) : head.index(b"\r\n", start + 2)] if start >= 0 else b""


async def main() -> None:
    """Serve until the input ends."""
    loop = asyncio.get_running_loop()
    received = _Received()
    server = await loop.create_server(lambda: _Connection(received), "127.0.0.1", 0, backlog=1024)
    ended = asyncio.Event()

    def answer() -> None:
        question = sys.stdin.readline().strip()
        if not question:
            loop.remove_reader(sys.stdin)
            ended.set()
            return
        if question in ("down", "up"):
            received.is_down = question == "down"
        what = server.sockets[0].getsockname()[1] if question == "port" else received.counts()
        sys.stdout.write(f"{json.dumps(what)}\n")
        sys.stdout.flush()

    loop.add_reader(sys.stdin, answer)
    await ended.wait()


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(main())
    else:
        uvloop.run(main())
