"""Real servers on free ports of the loopback interface, for ASGI and WSGI applications."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from wsgiref.types import WSGIApplication

import uvicorn
from werkzeug.serving import make_server

from tests.support.waiting import wait_until


@contextmanager
def serving_asgi(app: Any, *, ws: Literal["none", "websockets-sansio"] = "none") -> Iterator[str]:
    """Serve the application by uvicorn and give its base URL."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", ws=ws))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), "the server listens")
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serving_wsgi(app: WSGIApplication) -> Iterator[str]:
    """Serve the application by Werkzeug, a thread for each request, and give its base URL."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
