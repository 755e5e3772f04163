"""An HTTP server on this machine, in threads: each POST gets the status that a function returns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

MAX_BYTES: Final = 1024 * 1024
"""The longest body; a longer one is answered 413."""

Handle = Callable[[str, dict[str, str], bytes], int]
"""Takes path, headers and body, returns the status, and may block: each connection has a thread of its own."""


@contextmanager
def serving(handle: Handle) -> Iterator[str]:
    """Enter to serve on a free port of 127.0.0.1, and get the URL; leaving ends it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            if length > MAX_BYTES:
                self.close_connection = True
                self.send_response(413)
            else:
                body = self.rfile.read(length)
                self.send_response(handle(self.path, dict(self.headers.items()), body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128  # of connections that come together, others wait for a second

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
