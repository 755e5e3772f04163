"""Count the messages between a connection and its server, as libpq traces them."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, Final

import psycopg
from psycopg.pq import Trace

_MESSAGE: Final = re.compile(rb"^[FB]\t\d+\t(\w+)", re.MULTILINE)


@dataclass(slots=True)
class Traffic:
    """The messages by kind, after the block has ended."""

    messages: Counter[str] = field(default_factory=Counter)

    @property
    def statements(self) -> int:
        """The round trips: a script of several statements is one."""
        return self.messages["Query"] + self.messages["Execute"]

    @property
    def rows(self) -> int:
        """The rows that the server returned."""
        return self.messages["DataRow"]


@contextmanager
def counting(conn: psycopg.Connection[Any]) -> Iterator[Traffic]:
    """Count the messages that the connection sends and receives inside the block."""
    traffic = Traffic()
    with TemporaryFile() as file:
        conn.pgconn.trace(file.fileno())
        conn.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield traffic
        finally:
            conn.pgconn.untrace()
            file.seek(0)
            traffic.messages.update(kind.decode() for kind in _MESSAGE.findall(file.read()))
