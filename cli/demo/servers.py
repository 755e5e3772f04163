"""The demo's HTTP servers: uvicorn in threads."""

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from fastapi import FastAPI

from svc_pg.errors import SvcError

_GRACE_SECONDS: Final = 1


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve an application on a free port of this machine, in a thread, and yield its address once it answers."""
    started = threading.Event()
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GRACE_SECONDS)
    server = _Server(config, started)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            if not started.wait(timeout=10):
                raise SvcError("the demo's HTTP server did not start within 10 s")
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # that open streams are canceled is no error
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    """A server that signals its start."""

    def __init__(self, config: uvicorn.Config, started: threading.Event) -> None:
        super().__init__(config)
        self._on_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started.set()
