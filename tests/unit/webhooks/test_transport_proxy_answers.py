"""Whatever a proxy answers is bounded, and only what is surely its fault, or ours, costs no receiver an attempt."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from svc_pg.webhooks.http.guard import Guard, UrlBy
from tests.support.egress_proxy import EgressProxy, through
from tests.support.raw_receiver import (
    OK,
    Answer,
    dripping,
    flooding,
    read_request,
    receiver,
    request,
    saying,
    saying_and_closing,
)
from tests.support.transports import post, send

pytestmark = pytest.mark.anyio

HTTPS = "https://hooks.invalid/"
NOT_HTTP = "the answer of the proxy is not HTTP, or too large"
HUNG_UP = "the proxy hung up without an answer"
LATE = "no connection within 1 s"
A_SECOND = timedelta(seconds=1)  # less, and a busy machine may not get as far as the proxy


def refusing(status: int) -> Answer:
    return saying(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode())


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(407, "local_error"), *((status, "connect_error") for status in (101, 302, 403, 502))],
)
async def test_a_proxy_that_refuses_is_a_failure_that_names_it_and_ours_if_it_refuses_us(
    status: int, outcome: str
) -> None:
    async with receiver(refusing(status)) as address, through(address) as transport:
        result = await send(transport, post(HTTPS))
    assert (result.outcome, result.status, result.error) == (outcome, None, f"the proxy answered {status}")


@pytest.mark.parametrize(("url_by", "outcome"), [("operator", "local_error"), ("customer", "http_error")])
async def test_a_proxy_refuses_us_without_a_tunnel_too_and_no_receiver_of_a_customer_can_feign_it(
    url_by: UrlBy, outcome: str
) -> None:
    guard = Guard(allow_http=True, allow_for_customers=True)
    async with receiver(refusing(407)) as address, through(address, guard) as transport:
        result = await send(transport, request("hooks.invalid", url_by=url_by))
    assert result.outcome == outcome


@pytest.mark.parametrize(
    "answer",
    [
        dripping(b"HTTP/1.1 407 No\r\nContent-Length: 100000\r\n\r\n", b"x"),
        flooding(b"HTTP/1.1 407 No\r\nContent-Length: 1073741824\r\n\r\n", b"x"),
        flooding(b"HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"extension"),
        saying_and_closing(b"HTTP/1.1 407 No\r\nContent-Length: 9\r\n\r\nx"),
    ],
    ids=["slow", "long", "no end of a chunk", "broken off"],
)
@pytest.mark.parametrize("url", [HTTPS, "http://hooks.invalid/"])
async def test_a_proxy_that_refuses_us_is_believed_whatever_body_follows(answer: Answer, url: str) -> None:
    async with receiver(answer) as address, through(address) as transport:
        result = await send(transport, post(url, timeout=A_SECOND))
    assert (result.outcome, result.status, result.body) == ("local_error", None, "")
    assert result.error == "the proxy answered 407"


@pytest.mark.parametrize(
    "answer",
    [
        flooding(b"HTTP/1.1 200 OK\r\n", b"x: a\r\n"),
        flooding(b"HTTP/1.1 200 OK\r\nx: ", b"a"),
        flooding(b"HTTP/1.1 200 OK\r\n", b"x" * 60 + b": " + b"a" * 4000 + b"\r\n"),
        flooding(b"HTTP/1.1 200 ", b"O"),
        flooding(b"HTTP/1.1 2", b"0"),
        flooding(b"HTTP/1.1 407 No\r\n", b"x: a\r\n"),
        flooding(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
        flooding(b"", b"HTTP/1.1 100 Continue\r\nx: " + b"a" * 5000 + b"\r\n\r\n"),
        flooding(b"", b"\r\n"),
        flooding(b"", b"\n"),
        flooding(b"", b"x"),
        flooding(b"", b"\0"),
        saying(b"SSH-2.0-OpenSSH_9.2\r\n"),
        saying(b"\x15\x03\x01\x00\x02\x02\x16"),
        saying(b"CONNECT hooks.invalid:443 HTTP/1.1\r\n\r\n"),
        saying(b"HTTP/1.1 099 No\r\n\r\n"),
        saying(b"HTTP/1.1 20x OK\r\n\r\n"),
        saying(b"HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n"),
        saying(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
    ],
    ids=range(19),
)
async def test_an_answer_that_is_not_http_or_has_no_end_is_the_fault_of_the_proxy(answer: Answer) -> None:
    async with receiver(answer) as address, through(address) as transport:
        result = await send(transport, post(HTTPS))
    assert (result.outcome, result.status, result.error) == ("local_error", None, NOT_HTTP)


@pytest.mark.parametrize(
    "answer",
    [
        dripping(b"", b""),
        dripping(b"HTTP/1.", b""),
        dripping(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\na: ", b"b"),
        dripping(b"HTTP/1.1 103 Early Hints\r\n\r\n", b""),
    ],
    ids=range(5),
)
async def test_an_answer_that_does_not_come_to_an_end_meets_the_deadline(answer: Answer) -> None:
    async with receiver(answer) as address, through(address) as transport:
        started = time.monotonic()
        result = await send(transport, post(HTTPS, connect_timeout=A_SECOND))
        assert time.monotonic() - started < 4
    assert (result.outcome, result.status, result.error) == ("timeout", None, LATE)


@pytest.mark.parametrize(
    "beginning",
    [b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 407 No\r\nx: a\r\n", b"HTTP/1.1 100 Go\r\n\r\n"],
    ids=range(5),
)
@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
async def test_a_proxy_that_hangs_up_without_a_whole_answer_may_do_so_because_of_the_receiver(
    *, beginning: bytes, is_reset: bool
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(beginning)
        if is_reset:
            connected = writer.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async with receiver(answer) as address, through(address) as transport:
        result = await send(transport, post(HTTPS))
    assert (result.outcome, result.status, result.error) == ("connect_error", None, HUNG_UP)


@asynccontextmanager
async def speaking_first(proxy: EgressProxy, *, at_once: bool) -> AsyncIterator[None]:
    """A receiver behind the proxy that waits for no handshake; ``at_once`` comes with the answer of the proxy."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await reader.read()

    if at_once:
        proxy.established += b"220 mail.example.com ESMTP\r\n"
    async with receiver(answer) as proxy.to, receiver(proxy.answer) as proxy.address:
        yield


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_receiver_that_speaks_before_the_handshake_is_at_fault_itself(*, at_once: bool) -> None:
    proxy = EgressProxy()
    async with speaking_first(proxy, at_once=at_once), through(proxy.address) as transport:
        result = await send(transport, post(HTTPS))
    assert (result.outcome, result.status, result.remote_ip) == ("tls_error", None, None)


async def test_a_flood_of_a_proxy_holds_up_nobody_else(loopback: Guard) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        header, _ = await read_request(reader)
        if header[0].startswith("CONNECT"):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await asyncio.Event().wait()
        writer.write(OK)

    async with receiver(answer) as address, through(address, loopback) as transport:
        stuck = [asyncio.create_task(send(transport, post(HTTPS, connect_timeout=A_SECOND))) for _ in range(20)]
        results = [await send(transport, request("hooks.invalid")) for _ in range(20)]
        assert {result.outcome for result in await asyncio.gather(*stuck)} == {"timeout"}
    assert {result.outcome for result in results} == {"success"}
