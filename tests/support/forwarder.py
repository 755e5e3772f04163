"""A forwarder to a server that can cut connections, swallow data and recover, as a network can."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock, Thread
from typing import Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.ports import free_port

_BLOCK: Final = 65536


class Forwarder:
    """Listens on a fixed port of 127.0.0.1; while it is closed, connections are refused.

    While ``is_silent``, it accepts connections and swallows everything, in both directions.
    """

    is_silent = False

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self.port = free_port()
        self._listener: socket.socket | None = None
        self._ends: list[socket.socket] = []
        self._lock = Lock()

    def open(self) -> None:
        """Accept connections."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Break all connections, and refuse others."""
        with self._lock:
            ends = [*([self._listener] if self._listener else []), *self._ends]
            self._ends, self._listener = [], None
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._join(listener, client)

    def _join(self, listener: socket.socket, client: socket.socket) -> None:
        """Forward between a client and the server, unless the listener was closed meanwhile."""
        with ExitStack() as ends:
            ends.callback(client.close)
            server = socket.create_connection(self._target)
            ends.callback(server.close)
            with self._lock:
                if self._listener is not listener:
                    return
                self._ends += [client, server]
            ends.pop_all()
        for source, sink in ((client, server), (server, client)):
            Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while block := source.recv(_BLOCK):
                if not self.is_silent:
                    sink.sendall(block)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def forwarding(conninfo: str) -> Iterator[tuple[Forwarder, str]]:
    """Enter to get a forwarder to this database, closed at first, and the conninfo of the way through it."""
    server = conninfo_to_dict(conninfo)
    forwarder = Forwarder(str(server["host"]), int(str(server["port"])))
    try:
        yield forwarder, make_conninfo(conninfo, host="127.0.0.1", port=forwarder.port)
    finally:
        forwarder.close()
