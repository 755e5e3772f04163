"""The contract of a transport, against real sockets: what is sent, over which connection, and when."""

import asyncio
import socket
from contextlib import suppress
from datetime import timedelta

import pytest

from svc_pg import __version__
from svc_pg.errors import EndpointError
from svc_pg.webhooks.http import http1_transport, pool
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.transport import Destination, Request, Result, Transport
from tests.support.name_server import name_server
from tests.support.raw_receiver import OK, read_request, receiver, request, saying, saying_and_closing, silence
from tests.support.transports import post, send
from tests.unit.webhooks.conftest import Making

pytestmark = pytest.mark.anyio

SHORT = timedelta(milliseconds=300)


async def test_a_2xx_response_is_a_success(transport: Transport) -> None:
    async with receiver(saying(OK)) as address:
        result = await send(transport, request(address))
    assert result == Result(
        "success",
        200,
        duration_ms=result.duration_ms,
        remote_ip="127.0.0.1",
        headers={"content-length": "2"},
        body="ok",
    )
    assert 0 <= result.duration_ms < 10_000


async def test_a_response_without_a_body_is_a_success(transport: Transport) -> None:
    async with receiver(saying(b"HTTP/1.1 204 No Content\r\n\r\n")) as address:
        assert (await send(transport, request(address))).outcome == "success"


async def test_the_request_arrives_as_it_was_built(transport: Transport) -> None:
    requests = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(OK)

    async with receiver(answer) as address:
        await send(transport, request(address, headers={"X-Tenant": "a", "user-agent": "mine"}))
        await send(transport, request(address))
    (first, body), (second, _) = requests
    assert first[0] == "POST /hook?a=%2F HTTP/1.1"
    assert body == b'{"a": 1.10}'
    assert {f"Host: {address}", "X-Tenant: a", "user-agent: mine", "Content-Type: application/json"} <= set(first)
    assert {f"User-Agent: svc-pg/{__version__}", "Accept-Encoding: identity"} <= set(second)


async def test_a_connection_is_used_again(transport: Transport) -> None:
    connections = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await saying(OK)(reader, writer)

    async with receiver(answer) as address:
        results = [await send(transport, request(address)) for _ in range(3)]
    assert {(result.outcome, result.remote_ip) for result in results} == {("success", "127.0.0.1")}
    assert len(connections) == 1


async def test_connections_that_have_rested_too_long_are_closed_one_after_the_other(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_LONGEST_REST", 0.2)
    are_closed: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        are_closed.put_nowait(await reader.read())

    async with receiver(answer) as first, receiver(answer) as second:
        for address in (first, second):
            assert (await send(transport, request(address))).outcome == "success"
        for _ in range(2):
            assert await asyncio.wait_for(are_closed.get(), 30) == b""


async def test_a_connection_that_the_receiver_closed_meanwhile_is_replaced(transport: Transport) -> None:
    async with receiver(saying_and_closing(OK)) as address:
        results = [await send(transport, request(address)) for _ in range(10)]
    assert {result.outcome for result in results} == {"success"}


async def test_a_receiver_that_drops_pooled_connections_gets_a_request_twice_at_most(transport: Transport) -> None:
    number, requests, closed, is_pooling, are_closed = 20, 0, 0, asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests, closed
        await read_request(reader)
        requests += 1
        if requests == number:
            is_pooling.set()
        await is_pooling.wait()  # so that each request has a connection of its own
        writer.write(OK)
        try:
            await read_request(reader)
        except asyncio.IncompleteReadError:
            closed += 1
            if closed == number - 1:
                are_closed.set()
        else:
            requests += 1

    async with receiver(answer) as address, asyncio.timeout(10):
        await asyncio.gather(*(send(transport, request(address)) for _ in range(number)))
        assert requests == number
        result = await send(transport, request(address))
        await are_closed.wait()  # the others would be dropped too
    assert (result.outcome, result.repeated) == ("success", True)
    assert requests == number + 2


async def test_a_request_that_a_new_connection_drops_too_has_failed(transport: Transport) -> None:
    requests = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await read_request(reader)
        requests += 1
        if requests == 1:
            writer.write(OK)
            await read_request(reader)
            requests += 1

    async with receiver(answer) as address:
        first = await send(transport, request(address))
        second = await send(transport, request(address))
    assert (first.outcome, first.repeated) == ("success", False)
    assert (second.outcome, second.repeated) == ("connect_error", True)
    assert requests == 3


async def test_a_connection_that_the_receiver_never_closes_is_closed_in_the_end(
    making: Making, loopback: Guard
) -> None:
    transport = making(loopback)
    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=99999\r\nContent-Length: 0\r\n\r\n"
        )
        await reader.read()
        ended.set()

    async with receiver(answer) as address:
        assert (await send(transport, request(address))).outcome == "success"
        assert not ended.is_set()
        await transport.close()
        await asyncio.wait_for(ended.wait(), 5)


async def test_cookies_are_not_sent_back(transport: Transport) -> None:
    headers: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers.extend((await read_request(reader))[0])
        writer.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")

    async with receiver(answer) as address:
        for _ in range(2):
            await send(transport, request(address))
    assert len([line for line in headers if line.startswith("POST")]) == 2
    assert not [line for line in headers if line.startswith("Cookie")]


async def test_more_requests_than_fit_wait_and_their_clocks_with_them(making: Making, loopback: Guard) -> None:
    transport = making(loopback, concurrency=1)
    async with receiver(silence) as silent, receiver(saying(OK)) as prompt:
        slow = asyncio.create_task(send(transport, request(silent, timeout=2 * SHORT)))
        await asyncio.sleep(0)
        quick = await send(transport, request(prompt, timeout=SHORT))
        assert slow.done()
    assert (slow.result().outcome, quick.outcome) == ("timeout", "success")


async def test_closing_breaks_off_lookups(making: Making, loopback: Guard) -> None:
    is_asked, results = asyncio.Event(), list[Result]()

    async with name_server(lambda _: is_asked.set()) as names:
        transport, before = making(loopback, names=names), asyncio.all_tasks()
        transport.start(post("http://shop.test/"), results.append)
        await asyncio.wait_for(is_asked.wait(), 30)
        assert asyncio.all_tasks() > before
        await transport.close()
        assert asyncio.all_tasks() == before
    assert results == []


async def test_closing_waits_for_the_end_of_what_is_connecting(making: Making, loopback: Guard) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        transport, before = making(loopback), asyncio.all_tasks()
        transport.start(post(f"https://127.0.0.1:{listening.getsockname()[1]}/"), lambda _: None)
        accepted, _ = await asyncio.wait_for(asyncio.get_running_loop().sock_accept(listening), 30)
        with accepted:  # it does not shake hands
            assert asyncio.all_tasks() > before
            await transport.close()
            assert asyncio.all_tasks() == before


async def test_requests_beyond_those_that_may_wait_fail_at_once_and_the_others_go_on(
    making: Making, loopback: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http1_transport, "_MOST_WAITING", 1)
    transport, may_answer = making(loopback, concurrency=1), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may_answer.wait()
        await saying(OK)(reader, writer)

    async with receiver(answer) as address:
        first, waiting, full = (asyncio.create_task(send(transport, request(address))) for _ in range(3))
        refused = await asyncio.wait_for(full, 30)
        assert (refused.outcome, refused.error) == ("local_error", "1 requests wait already")
        assert not first.done()
        may_answer.set()
        assert [(await each).outcome for each in (first, waiting)] == ["success", "success"]


@pytest.mark.parametrize("broken", ["http1_transport.route", "dialer.Dialer.open"])
async def test_a_fault_of_the_program_ends_the_request_and_not_the_transport(
    transport: Transport, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiver(saying(OK)) as address:
        with monkeypatch.context() as patched:
            patched.setattr(f"svc_pg.webhooks.http.{broken}", lambda *_: [][0])
            failed = await asyncio.wait_for(send(transport, request(address)), 30)
        assert failed.outcome == "connect_error"
        assert (await send(transport, request(address))).outcome == "success"


async def test_requests_that_closing_breaks_off_have_no_result(making: Making, loopback: Guard) -> None:
    transport = making(loopback, concurrency=3)
    arrived, left = asyncio.Event(), asyncio.Event()
    results: list[Result] = []

    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_request(reader)
        arrived.set()
        with suppress(ConnectionError):
            await reader.read()
        left.set()

    async with receiver(answer) as address, receiver(silence) as silent:
        transport.start(request(address), results.append)
        transport.start(post(f"https://{silent}/"), results.append)  # still shaking hands
        await asyncio.wait_for(arrived.wait(), 5)
        transport.start(post("https://127.0.0.1:0/"), results.append)  # blocked
        transport.start(request(address), results.append)  # waiting for a slot
        await transport.close()
        await asyncio.wait_for(left.wait(), 5)
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="closed"):
            transport.start(request(address), results.append)
    assert results == []


async def test_a_caller_that_fails_harms_nobody_else(
    making: Making, loopback: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    transport = making(loopback, concurrency=1)

    def fail(result: Result) -> None:
        raise ValueError(result.outcome)

    async with receiver(saying(OK)) as address:
        transport.start(request(address), fail)
        results = [await send(transport, request(address)) for _ in range(2)]
    assert [result.outcome for result in results] == ["success", "success"]
    assert caplog.text.count("a result was lost") == 1


async def test_headers_of_a_request_replace_those_of_its_destination(transport: Transport) -> None:
    arrived: list[list[str]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            arrived.append((await read_request(reader))[0])
            writer.write(OK)

    async with receiver(answer) as address:
        destination = Destination(f"http://{address}", {"x-a": "1", "traceparent": "its own"})
        await send(transport, Request(destination, b"", {"TraceParent": "ours", "X-B": "\t2"}))
        await send(transport, Request(destination, b""))
    assert [line for line in arrived[0] if line.lower().startswith(("traceparent", "x-"))] == [
        *("x-a: 1", "TraceParent: ours", "X-B: \t2"),
    ]
    assert arrived[0][0] == "POST / HTTP/1.1"
    assert "traceparent: its own" in arrived[1]
    assert [line for line in arrived[1] if line.startswith("Content-Length")] == ["Content-Length: 0"]


@pytest.mark.parametrize("headers", [{"X-A": "b\r\nHost: c"}, {"X-A\n": "b"}, {"Host": "c"}, {"X-A": "\xe4"}])
async def test_a_header_of_a_request_that_would_change_it_blocks_it(
    transport: Transport, headers: dict[str, str]
) -> None:
    result = await send(transport, Request(Destination("http://127.0.0.1:9/"), b"", headers))
    assert (result.outcome, result.remote_ip) == ("blocked", None)
    assert "header" in str(result.error) or "name" in str(result.error)


@pytest.mark.parametrize("headers", [{"X-A": "b\r\nHost: c"}, {"X-A\n": "b"}, {"Host": "c"}, {"Content-Length": "0"}])
def test_a_header_that_would_change_the_request_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(EndpointError):
        Destination("https://example.com", headers)
