"""A receiver of webhooks for tests: a real HTTP server in a thread that notes every request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

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
        """The requests, once there are so many."""
        wait_until(lambda: len(self.requests) >= number, f"{number} requests have come in")
        return self.requests


@contextmanager
def receiving(answer: Callable[[int], int] = lambda _: 204) -> Iterator[Receiver]:
    """Serve on a free port of 127.0.0.1. ``answer`` may block: each request has a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            receiver.requests.append(Received(self.path, dict(self.headers.items()), body))
            self.send_response(receiver.answer(len(receiver.requests)))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128  # of connections that come together, others wait for a second

    with Server(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(f"http://127.0.0.1:{server.server_port}/hook", answer)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
