"""A sender in a thread of its own, which survives lost connections."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import psycopg

from svc_pg import webhooks


@contextmanager
def sending(conninfo: str, event: str) -> Iterator[None]:
    """Send one message after the other until the block ends. A failed send is repeated with its key."""
    is_over = Event()

    def send_all() -> None:
        number = 0
        while not is_over.is_set():
            try:
                with psycopg.connect(conninfo, prepare_threshold=None) as conn:
                    webhooks.send(conn, event, {"id": number}, idempotency_key=str(number))
            except (psycopg.OperationalError, psycopg.InternalError):  # the latter if a commit is broken off
                continue
            number += 1

    thread = Thread(target=send_all)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
