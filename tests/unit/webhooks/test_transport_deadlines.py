"""However slow a receiver is, a Result comes back at the deadline."""

import asyncio
import socket
import time
from datetime import timedelta

import pytest

from svc_pg.webhooks.http.guard import AddrInfo, Guard
from svc_pg.webhooks.http.transport import Transport
from tests.support.raw_receiver import Answer, dripping, receiver, request, silence
from tests.support.transports import post, send
from tests.unit.webhooks.conftest import Making

pytestmark = pytest.mark.anyio

SHORT = timedelta(milliseconds=300)


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (silence, None, ""),
        (dripping(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), None, ""),
        (dripping(b"HTTP/1.1 103 Early Hints\r\n", b"a: b\r\n"), None, ""),
        (dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"), 200, "x"),
        (dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), 200, "x"),
        (dripping(b"HTTP/1.1 200 OK\r\n\r\nx", b""), 200, "x"),
    ],
)
async def test_a_slow_receiver_meets_the_deadline(
    transport: Transport, answer: Answer, status: int | None, body: str
) -> None:
    async with receiver(answer) as address:
        started = time.monotonic()
        result = await send(transport, request(address, timeout=SHORT))
        assert time.monotonic() - started < 2
    assert (result.outcome, result.status, result.body[:1]) == ("timeout", status, body)
    assert result.error == "no complete response within 0.3 s"
    assert result.duration_ms >= 300
    assert result.remote_ip == "127.0.0.1"


class Cramped(Guard):
    """A guard whose sockets hold little, so that a receiver must read before much can be sent."""

    def socket_factory(self, addr_info: AddrInfo) -> socket.socket:
        made = super().socket_factory(addr_info)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return made


async def test_a_receiver_that_never_reads_is_left_at_the_deadline(making: Making, loopback: Guard) -> None:
    transport = making(Cramped(loopback.allow_cidrs, allow_http=True))
    body = b"x" * 1_000_000
    deadline = asyncio.Event()
    received: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await deadline.wait()
        received.set_result(len(await reader.read()))

    async with receiver(answer, receive_buffer=4096) as address:
        result = await send(transport, post(f"http://{address}/", body, timeout=SHORT))
        deadline.set()
        assert await asyncio.wait_for(received, 5) < len(body)
    assert result.outcome == "timeout"


async def test_connecting_has_a_deadline_of_its_own(transport: Transport) -> None:
    async with receiver(silence) as address:
        result = await send(transport, post(f"https://{address}/", connect_timeout=SHORT))
    assert (result.outcome, result.error) == ("timeout", "no connection within 0.3 s")
