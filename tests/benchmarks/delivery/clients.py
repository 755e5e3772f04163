"""Clients in one thread that each execute one statement after the other, each in a transaction of its own.

As thin as can be, because they share the machine with the server: prepared statements and libpq's asynchronous calls.
"""

import select
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.pq import ExecStatus

_WARM_UP_SECONDS: Final = 0.2  # of each statement, all at once: loads catalogs, compiles functions, settles plans


class Clients:
    """Connections that keep their statements prepared between bursts."""

    def __init__(self, connections: list[psycopg.Connection[Any]]) -> None:
        self._connections = connections

    def rate(self, name: str, *, clients: int, seconds: float) -> float:
        """The transactions a second of a number of clients within a number of seconds."""
        at_work = {conn.fileno(): conn.pgconn for conn in self._connections[:clients]}
        ready = select.poll()
        statement = name.encode()
        started = time.perf_counter()
        for file, pgconn in at_work.items():
            ready.register(file, select.POLLIN)
            pgconn.send_query_prepared(statement, [])
        done, under_way = 0, len(at_work)
        while under_way:
            for file, _ in ready.poll():
                pgconn = at_work[file]
                pgconn.consume_input()
                if pgconn.is_busy():
                    continue
                while result := pgconn.get_result():
                    if result.status != ExecStatus.TUPLES_OK:
                        raise RuntimeError(f"{name}: {result.error_message.decode(errors='replace')}")
                done += 1
                if time.perf_counter() - started < seconds:
                    pgconn.send_query_prepared(statement, [])
                else:
                    under_way -= 1
        return done / (time.perf_counter() - started)


@contextmanager
def connected(conninfo: str, statements: Mapping[str, sql.Composed], *, count: int) -> Iterator[Clients]:
    """Connect clients with these prepared statements, and warm them up."""
    with ExitStack() as stack:
        connections = [psycopg.connect(conninfo, autocommit=True) for _ in range(count)]
        for conn in connections:
            stack.callback(conn.close)
            for name, statement in statements.items():
                conn.pgconn.prepare(name.encode(), statement.as_bytes(conn))
        clients = Clients(connections)
        for name in statements:
            clients.rate(name, clients=count, seconds=_WARM_UP_SECONDS)
        yield clients
