"""A receiver of webhooks that answers with given bytes, as a hostile one, and requests to it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from threading import Event, Thread
from typing import Final

from svc_pg.webhooks.http.guard import UrlBy
from svc_pg.webhooks.http.transport import Destination, Request

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def receiver(
    answer: Answer,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    receive_buffer: int | None = None,
) -> AsyncIterator[str]:
    """The address, as host:port, of a server that answers every connection by this function and then closes it."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            # what uvloop raises where a connection is lost is a RuntimeError
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, RuntimeError):
                await answer(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    is_ipv6 = ":" in host
    listening = socket.create_server((host, port), family=socket.AF_INET6 if is_ipv6 else socket.AF_INET)
    if receive_buffer:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    server = await asyncio.start_server(serve, sock=listening, ssl=tls)
    try:
        yield f"{f'[{host}]' if is_ipv6 else host}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        while tasks:
            await asyncio.wait(tasks)


@contextmanager
def in_a_thread(answer: Answer, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve on a free port, in a loop of its own; enter to get the URL."""
    is_up, loop = Event(), asyncio.new_event_loop()
    is_over = asyncio.Event()
    url: list[str] = []

    async def serve() -> None:
        async with receiver(answer, host=host, tls=tls) as address:
            url.append(f"{'http' if tls is None else 'https'}://{address}/hook")
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


async def read_request(reader: asyncio.StreamReader) -> tuple[list[str], bytes]:
    """The lines of a request's header, and its body."""
    header = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    lengths = [int(line.split()[1]) for line in header if line.startswith("Content-Length")]
    return header, await reader.readexactly(sum(lengths))  # CONNECT has none


def saying(response: bytes) -> Answer:
    """Answer every request of a connection with these bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            writer.write(response)
            await writer.drain()

    return answer


def saying_and_closing(response: bytes) -> Answer:
    """Answer one request with these bytes and hang up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response)
        await writer.drain()

    return answer


def dripping(beginning: bytes, drop: bytes) -> Answer:
    """Begin a response, and then drip a few bytes at a time, forever."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(beginning)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.02)

    return answer


def flooding(beginning: bytes, unit: bytes) -> Answer:
    """Begin a response, and then send these bytes as fast as the client reads, forever."""
    block = unit * (65536 // len(unit))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(beginning)
        while True:
            writer.write(block)
            await writer.drain()

    return answer


async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Read everything and say nothing."""
    while await reader.read(65536):
        pass


def request(
    address: str,
    *,
    headers: dict[str, str] | None = None,
    timeout: timedelta = timedelta(seconds=10),
    url_by: UrlBy = "operator",
) -> Request:
    destination = Destination(f"http://{address}/hook?a=%2F", headers or {}, timeout, url_by=url_by)
    return Request(destination, b'{"a": 1.10}')
