"""The pages of a worker answer whoever watches it, and nobody who connects harms it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from svc_pg.webhooks.worker import page_server
from svc_pg.webhooks.worker.page_server import Answer, Page
from tests.support.ports import free_port

pytestmark = pytest.mark.anyio


async def echo(accept: str) -> Answer:
    return Answer(accept.encode(), "text/x-echo")


async def broken(_: str) -> Answer:
    raise ValueError("a bug")


@asynccontextmanager
async def serving(**pages: Page) -> AsyncIterator[int]:
    port = free_port()
    served = {f"/{name}": page for name, page in pages.items()}
    async with page_server.page_server(served, host="127.0.0.1", port=port):
        yield port


async def said(port: int, request: bytes) -> bytes:
    """All that comes back until the connection ends; its other end sends no more than this."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


def get(path: str, *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


@pytest.mark.parametrize("path", ["/echo", "/echo?verbose=1", "http://127.0.0.1:9464/echo"])
async def test_a_page_answers_by_its_path_alone_and_ends_the_connection(path: str) -> None:
    async with serving(echo=echo) as port:
        answer = await said(port, get(path, "accept: text/plain"))
    assert answer == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/x-echo\r\nContent-Length: 10\r\nConnection: close\r\n\r\ntext/plain"
    )


async def test_head_has_the_header_of_get_and_no_body() -> None:
    async with serving(echo=echo) as port:
        answer = await said(port, get("/echo", "Accept: x", method="HEAD"))
    assert b"Content-Length: 1\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("/other"), b"404 Not Found"),
        (get("*"), b"404 Not Found"),
        (get("/echo", method="POST"), b"405 Method Not Allowed"),
        (b"\r\n\r\n", b"400 Bad Request"),
        (b"GET /echo\r\n\r\n", b"400 Bad Request"),
        (b"\x16\x03\x01\xff\r\n\r\n", b"400 Bad Request"),
        (get("http://[::1/echo"), b"400 Bad Request"),
        (get("/echo", *["a: b"] * 200), b"400 Bad Request"),
    ],
    ids=range(8),
)
async def test_what_is_no_request_for_a_page_is_refused(request_: bytes, status: bytes) -> None:
    async with serving(echo=echo) as port:
        answer = await said(port, request_)
    assert answer.startswith(b"HTTP/1.1 %b\r\n" % status)
    assert (b"\r\nAllow: GET, HEAD\r\n" in answer) == (b"405" in status)


async def test_a_header_in_several_lines_cannot_add_one_to_the_answer() -> None:
    async def reflecting(accept: str) -> Answer:
        return Answer(content_type=accept)

    async with serving(reflecting=reflecting) as port:
        answer = await said(port, get("/reflecting", "Accept: a", " X-Injected: b"))
    assert b"\r\nContent-Type: a X-Injected: b\r\n" in answer


async def test_a_page_that_fails_says_so_in_the_log_and_the_next_request_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(echo=echo, broken=broken) as port:
        assert (await said(port, get("/broken"))).startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert (await said(port, get("/echo"))).startswith(b"HTTP/1.1 200 OK\r\n")
    assert "/broken cannot be answered" in caplog.text


async def test_a_request_without_end_is_hung_up_on() -> None:
    async with serving(echo=echo) as port:
        assert await said(port, b"GET /echo HTTP/1.1\r\nx: " + b"a" * 100_000) == b""


async def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_server, "_PATIENCE", 0.1)
    async with serving(echo=echo) as port:
        assert await said(port, b"GET /echo HTTP/1.1\r\n") == b""


async def test_connections_beyond_the_most_are_closed_and_make_room_when_they_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_server, "_MOST_CONNECTIONS", 1)
    arrived, may_go = asyncio.Event(), asyncio.Event()

    async def waiting(_: str) -> Answer:
        arrived.set()
        await may_go.wait()
        return Answer()

    async with serving(echo=echo, waiting=waiting) as port:
        first = asyncio.create_task(said(port, get("/waiting")))
        await arrived.wait()
        assert await said(port, get("/echo")) == b""
        may_go.set()
        assert b"200 OK" in await first
        while b"200 OK" not in await said(port, get("/echo")):  # the server forgets the first a moment later
            pass


async def test_the_end_of_the_server_breaks_off_what_is_under_way() -> None:
    arrived = asyncio.Event()

    async def waiting(_: str) -> Answer:
        arrived.set()
        await asyncio.Event().wait()
        return Answer()

    async with serving(waiting=waiting) as port:
        request = asyncio.create_task(said(port, get("/waiting")))
        await arrived.wait()
    assert await request == b""
