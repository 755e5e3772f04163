"""A receiver that misbehaves costs its own deliveries, nobody else's."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import psycopg
import pytest

from svc_pg import webhooks
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.leases import shorten_leases
from tests.support.raw_receiver import Answer, dripping, flooding, receiver, silence
from tests.support.receiver import receiving

CONFIG = hooks_config("order.created")


@contextmanager
def in_a_thread(answer: Answer) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1, in a loop of its own; enter to get the URL."""
    is_up, loop = Event(), asyncio.new_event_loop()
    is_over = asyncio.Event()
    url: list[str] = []

    async def serve() -> None:
        async with receiver(answer) as address:
            url.append(f"http://{address}/hook")
            is_up.set()
            await is_over.wait()

    thread = Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert is_up.wait(10)
    try:
        yield url[0]
    finally:
        loop.call_soon_threadsafe(is_over.set)
        thread.join()
        loop.close()


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (silence, "timeout"),
        (dripping(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), "timeout"),
        (dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"), "timeout"),
        (flooding(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"extension"), "connect_error"),
        (flooding(b"", b"HTTP/1.1 102 Processing\r\n\r\n"), "http_error"),
    ],
    ids=["silence", "header drip", "body drip", "endless chunk", "endless interim responses"],
)
def test_others_get_theirs_and_no_lease_is_outlived(database: str, answer: Answer, outcome: str) -> None:
    with receiving() as healthy, in_a_thread(answer) as url:
        bad, _ = endpoint(database, CONFIG, url)
        good, _ = endpoint(database, CONFIG, healthy.url)
        shorten_leases(database)
        with psycopg.connect(database) as conn:
            webhooks.send_many(conn, "order.created", [{"id": number} for number in range(40)])
        with working(database, CONFIG, concurrency=20):
            healthy.wait_for(40)
    assert rows(database, "webhook_leases") == []  # stopping waited for them, and their leases still held
    outcomes = Counter((str(row["endpoint_id"]), row["outcome"]) for row in rows(database, "webhook_delivery_attempts"))
    of_bad = {each for key, each in outcomes if key == bad}
    assert of_bad
    assert of_bad <= {outcome, "timeout"}  # on a busy machine a flood may not get as far as its limit
    assert [number for (key, _), number in outcomes.items() if key == good] == [outcomes[good, "success"]] == [40]
