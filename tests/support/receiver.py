"""A receiver of webhooks for tests: a real HTTP server in a thread that notes every request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from svc_pg.testing.http_server import serving
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Received:
    """One received request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """The requests so far, and the answers: ``answer`` gets the number of the request, the first being 1."""

    url: str
    answer: Callable[[int], int] = lambda _: 204
    requests: list[Received] = field(default_factory=list)

    def wait_for(self, number: int) -> list[Received]:
        """Wait for a number of requests, and return them."""
        wait_until(lambda: len(self.requests) >= number, f"{number} requests have come in")
        return self.requests


@contextmanager
def receiving(answer: Callable[[int], int] = lambda _: 204) -> Iterator[Receiver]:
    """Serve on a free port of 127.0.0.1. ``answer`` may block: each request has a thread of its own."""

    def handle(path: str, headers: dict[str, str], body: bytes) -> int:
        receiver.requests.append(Received(path, headers, body))
        return receiver.answer(len(receiver.requests))

    with serving(handle) as url:
        receiver = Receiver(f"{url}/hook", answer)
        yield receiver
