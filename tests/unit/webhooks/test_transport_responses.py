"""Whatever a receiver answers, a Result comes back, bounded and fit for the database."""

import asyncio
import gzip
import socket
import struct
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc_pg.webhooks.deliveries import attempt_waits
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.transport import Transport
from tests.support.raw_receiver import (
    OK,
    dripping,
    flooding,
    read_request,
    receiver,
    request,
    saying,
    saying_and_closing,
)
from tests.support.transports import post, send
from tests.unit.webhooks.conftest import Making
from tests.unit.webhooks.test_transport_deadlines import Cramped

pytestmark = pytest.mark.anyio

SHORT = timedelta(milliseconds=300)


@pytest.mark.parametrize("status", [300, 400, 404, 410, 429, 500, 503, 599])
async def test_every_other_status_is_an_http_error(transport: Transport, status: int) -> None:
    async with receiver(saying_and_closing(b"HTTP/1.1 %d Any\r\n\r\nwhy" % status)) as address:
        result = await send(transport, request(address))
    assert (result.outcome, result.status) == ("http_error", status)
    assert result.body == "why"
    assert str(status) in str(result.error)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(transport: Transport, status: int) -> None:
    followed = []

    async def elsewhere(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        followed.append(writer)

    async with receiver(elsewhere) as other:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: http://{other}/\r\nContent-Length: 0\r\n\r\n"
        async with receiver(saying(moved.encode())) as address:
            result = await send(transport, request(address))
    assert (result.outcome, result.status) == ("http_error", status)
    assert result.error == f"the endpoint answered {status}; redirects are not followed"
    assert not followed


async def test_a_redirect_to_itself_is_asked_once(transport: Transport) -> None:
    requests = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /hook\r\n\r\n")

    async with receiver(answer) as address:
        assert (await send(transport, request(address))).status == 302
    assert len(requests) == 1


async def test_early_hints_do_not_end_a_response(transport: Transport) -> None:
    async with receiver(saying(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 16 + OK)) as address:
        assert (await send(transport, request(address))).outcome == "success"


async def test_a_flood_of_interim_responses_is_cut_off(transport: Transport) -> None:
    async with receiver(dripping(b"HTTP/1.1 102 Processing\r\n\r\n" * 17, b"")) as address:
        result = await send(transport, request(address))
    assert (result.outcome, result.status) == ("http_error", None)


async def test_switching_protocols_is_an_http_error(transport: Transport) -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nanything"
    async with receiver(saying_and_closing(upgrade)) as address:
        result = await send(transport, request(address, timeout=SHORT))
    assert result.outcome != "success"


async def test_a_connection_that_speaks_another_protocol_now_carries_no_other_request(transport: Transport) -> None:
    connections = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        upgrade = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
        await saying(upgrade)(reader, writer)

    async with receiver(answer) as address:
        results = [await send(transport, request(address, timeout=SHORT)) for _ in range(2)]
    assert "success" not in {result.outcome for result in results}
    assert len(connections) == 2


async def test_at_most_16_kib_of_a_body_are_read_and_the_connection_is_closed(transport: Transport) -> None:
    closed = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 1024)
                await writer.drain()
        except ConnectionError:
            closed.set()

    async with receiver(answer) as address:
        result = await send(transport, request(address))
        await asyncio.wait_for(closed.wait(), 5)
    assert (result.outcome, result.truncated, result.body) == ("success", True, "x" * 16384)


async def test_a_compressed_body_is_not_decompressed(transport: Transport) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    header = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with receiver(saying(header + bomb)) as address:
        result = await send(transport, request(address))
    assert result.outcome == "success"
    assert result.body.startswith("\x1f")
    assert len(result.body) <= len(bomb)


async def test_texts_are_fit_for_the_database(transport: Transport) -> None:
    response = b"HTTP/1.1 200 OK\r\nX-A: \xff\xe4\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\na\0\xffb"
    async with receiver(saying(response)) as address:
        result = await send(transport, request(address))
    assert result.body == "a\ufffdb"
    assert result.headers == {"x-a": "\ufffd\ufffd", "content-length": "4"}


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (b"", None),
        (b"HTTP/1.1 200 OK\r\nContent-Le", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbeginning", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbeginning\r\n", 200),
    ],
)
@pytest.mark.parametrize("is_reset", [True, False])
async def test_a_response_that_breaks_off_is_a_failure(
    transport: Transport, response: bytes, status: int | None, *, is_reset: bool
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying_and_closing(response)(reader, writer)
        if is_reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async with receiver(answer) as address:
        result = await send(transport, request(address))
    assert (result.outcome, result.status) == ("connect_error", status)
    assert result.error == "the connection was lost before the response was complete"


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 9000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: a\r\n" % n for n in range(200)) + b"\r\n",
        b"HTTP/1.1 200 " + b"O" * 9000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\n" + b"x: a\r\n" * 20_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\nok",
    ],
)
async def test_a_response_that_is_not_acceptable_http_is_an_http_error(transport: Transport, response: bytes) -> None:
    async with receiver(saying_and_closing(response)) as address:
        result = await send(transport, request(address))
    assert (result.outcome, result.status) == ("http_error", None)
    assert result.error == "the response is not HTTP, or its headers are too many or too large"


@pytest.mark.parametrize(
    "chunks",
    [
        *(b"zz\r\nx\r\n", b"-1\r\nx\r\n", b"+1\r\nx\r\n", b"0x1\r\nx\r\n", b" 1\r\nx\r\n", b"1\nx\n0\n\n", b"\r\n"),
        *(b"f" * 20 + b"\r\nx", b"1\r\nabc\r\n0\r\n\r\n", b"0\r\n" + b"a: b\r\n" * 20_000 + b"\r\n"),
    ],
)
async def test_invalid_chunks_are_a_failure(transport: Transport, chunks: bytes) -> None:
    header = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with receiver(saying_and_closing(header + chunks)) as address:
        assert (await send(transport, request(address))).outcome in ("http_error", "connect_error")


async def test_what_a_receiver_says_unasked_is_not_the_answer_to_the_next_request(transport: Transport) -> None:
    connections = []
    is_answered, has_spoken = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await read_request(reader)
        if len(connections) > 1:
            writer.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(OK)
        await is_answered.wait()
        writer.write(OK)
        await writer.drain()
        has_spoken.set()
        await reader.read()

    async with receiver(answer) as address, receiver(saying(OK)) as other:
        first = await send(transport, request(address))
        is_answered.set()
        await asyncio.wait_for(has_spoken.wait(), 5)
        await send(transport, request(other))  # meanwhile it comes in
        second = await send(transport, request(address))
    assert (first.status, second.status) == (200, 500)


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "ok"),
        (HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nok", "ok"),
        (HEAD + b"Transfer-Encoding: gzip, Chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nX-Trailer: a\r\n\r\n", "ok"),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\nuntil the end", "until the end"),
        (HEAD + b"Content-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "ok"),
        (b"HTTP/1.1 100 Continue\r\nContent-Length: 9\r\n\r\n" + OK, "ok"),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "ok"),
        (HEAD + b"X: a\r\n  b\r\nContent-Length: 2\r\n\r\nok", "ok"),
        (HEAD + b"Content-Length: 16384\r\n\r\n" + b"x" * 16384, "x" * 16384),
    ],
    ids=range(11),
)
async def test_a_response_that_ends_its_connection_is_a_success_and_the_next_is_its_own(
    transport: Transport, response: bytes, body: str
) -> None:
    """Whatever follows a response is not the answer to the next request (smuggling)."""
    async with receiver(saying_and_closing(response)) as address:
        results = [await send(transport, request(address)) for _ in range(3)]
    assert [(result.outcome, result.body, result.truncated) for result in results] == [("success", body, False)] * 3
    assert "x-trailer" not in results[0].headers
    assert results[0].headers.get("x") in (None, "a b", "a  b", "ab")


@pytest.mark.parametrize(
    "response",
    [HEAD + b"Content-Length: 2\r\n\r\nokgarbage", b"HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nstray"],
)
async def test_bytes_after_a_response_change_nothing_in_it(transport: Transport, response: bytes) -> None:
    async with receiver(saying(response)) as address:
        results = [await send(transport, request(address)) for _ in range(3)]
    assert {(result.outcome, result.repeated) for result in results} == {("success", False)}


async def test_a_response_before_the_request_was_read_ends_the_connection(making: Making, loopback: Guard) -> None:
    transport = making(Cramped(loopback.allow_cidrs, allow_http=True))
    connections = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await asyncio.Event().wait()

    async with receiver(answer, receive_buffer=4096) as address:
        for _ in range(2):
            result = await send(transport, post(f"http://{address}/", b"x" * 1_000_000))
            assert result.status == 413
    assert len(connections) == 2


async def test_a_flood_holds_up_nobody_else(transport: Transport) -> None:
    floods = [flooding(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a"), flooding(HEAD, b"x: a\r\n")]
    async with receiver(floods[0]) as first, receiver(floods[1]) as second, receiver(saying(OK)) as good:
        flooded = [
            asyncio.create_task(send(transport, request(address, timeout=SHORT))) for address in [first, second] * 10
        ]
        results = [await send(transport, request(good)) for _ in range(20)]
        await asyncio.gather(*flooded)
    assert {result.outcome for result in results} == {"success"}


pieces = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 500 E\r\n", b"HTTP/1.1 100 C\r\n\r\n", b"HTTP/1.1 101 S\r\n", b"\r\n\r\n"),
        *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"5\r\nabcde\r\n", b"0\r\n\r\n", b"\r\n"),
        *(b"Content-Encoding: gzip\r\n", b"Connection: upgrade\r\n", b"Upgrade: h2c\r\n", b"Location: //[\r\n"),
        *(b"Retry-After: ", b"Set-Cookie: \xff=;\r\n"),
    ]
)


@given(response=st.lists(pieces | st.binary(max_size=20)).map(b"".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_whatever_a_receiver_answers_there_is_a_result(transport: Transport, response: bytes) -> None:
    async with receiver(saying_and_closing(response)) as address:
        result = await send(transport, request(address, timeout=SHORT))
    assert result.outcome in ("success", "http_error", "connect_error", "timeout")
    assert (result.outcome == "success") <= (200 <= (result.status or 0) < 300)


@pytest.mark.parametrize("before", [b"", b"".join(b"X-%d: 1\r\n" % number for number in range(40))])
async def test_retry_after_is_read(transport: Transport, before: bytes) -> None:
    """Also after as many headers as are kept, and with spaces around it."""
    busy = b"HTTP/1.1 503 Busy\r\n" + before + b"Retry-After:\t120 \t\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
    async with receiver(saying(busy)) as address:
        assert (await send(transport, request(address))).retry_after == timedelta(seconds=120)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    "value",
    [
        *("-1", "0", "-999999999999", "9" * 9, "9" * 30, "1e9", "inf", "nan", "", "soon", "60, 120", "\xff", "0x10"),
        *("Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 99999 23:59:59 +9999"),
    ],
)
async def test_an_absurd_retry_after_leaves_the_wait_within_bounds(
    transport: Transport, status: int, value: str
) -> None:
    response = f"HTTP/1.1 {status} Busy\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n"
    async with receiver(saying(response.encode("latin-1"))) as address:
        result = await send(transport, request(address))
    assert (result.outcome, result.status) == ("http_error", status)
    wait = attempt_waits.wait("default", attempt=1, retry_after=result.retry_after, overloaded=True)
    assert timedelta(seconds=60) <= wait <= timedelta(hours=24)
