"""Clients in one thread that send at a steady rate, each send in a transaction.

As thin as can be, because they share the machine with the server: prepared statements and libpq's asynchronous calls.
"""

import json
import select
import time
from contextlib import ExitStack
from typing import Final

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn

from tests.benchmarks.delivery import stage

_NAME: Final = b"send"
_SEND: Final = b"select svc.send($1, $2, null, $3)"


def send(conninfo: str, *, rate: int, sends: int, clients: int, tenants: int) -> None:
    """Send ``rate`` messages a second to the tenants in turn, each at its time if a client is free."""
    with ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(conninfo, autocommit=True)) for _ in range(clients)]
        for conn in connections:
            conn.pgconn.prepare(_NAME, _SEND)
        _send([conn.pgconn for conn in connections], rate=rate, sends=sends, tenants=tenants)


def _send(free: list[PGconn], *, rate: int, sends: int, tenants: int) -> None:
    ready = select.poll()
    at_work: dict[int, PGconn] = {}
    started, sent = time.perf_counter(), 0
    while sent < sends or at_work:
        wait = started + sent / rate - time.perf_counter()
        if free and sent < sends and wait <= 0:
            client = free.pop()
            payload = json.dumps({"sent": time.monotonic_ns()}).encode()
            client.send_query_prepared(_NAME, [stage.EVENT.encode(), payload, f"tenant-{sent % tenants}".encode()])
            at_work[client.socket] = client
            ready.register(client.socket, select.POLLIN)
            sent += 1
            continue
        may_wait = not free or sent == sends
        for file, _ in ready.poll(None if may_wait else max(0, wait * 1000)):
            client = at_work[file]
            client.consume_input()
            if client.is_busy():
                continue
            while result := client.get_result():
                if result.status != ExecStatus.TUPLES_OK:
                    raise RuntimeError(result.error_message.decode(errors="replace"))
            ready.unregister(file)
            free.append(at_work.pop(file))
