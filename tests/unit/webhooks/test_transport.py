"""The contract of a transport, against real sockets: whatever a receiver does, a Result comes back in time."""

import asyncio
import gzip
import socket
import ssl
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc_pg import __version__
from svc_pg.errors import EndpointError
from svc_pg.webhooks.guard import AddrInfo, Guard
from svc_pg.webhooks.transport import AiohttpTransport, Request, Result, Transport

pytestmark = pytest.mark.anyio

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

GUARD = Guard([ip_network("127.0.0.0/8")], allow_http=True)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SHORT = timedelta(milliseconds=300)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def transport() -> AsyncIterator[AiohttpTransport]:
    transport = AiohttpTransport(GUARD, concurrency=50)
    yield transport
    await transport.close()


@asynccontextmanager
async def receiver(
    answer: Answer, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, receive_buffer: int | None = None
) -> AsyncIterator[str]:
    """The address, as host:port, of a server that answers every connection like this and then closes it."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await answer(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    listening = socket.create_server((host, 0))
    if receive_buffer:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    server = await asyncio.start_server(serve, sock=listening, ssl=tls)
    try:
        yield f"{host}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        while tasks:
            await asyncio.wait(tasks)


async def read_request(reader: asyncio.StreamReader) -> tuple[list[str], bytes]:
    """The lines of a request's header, and its body."""
    header = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    [length] = [line.split()[1] for line in header if line.startswith("Content-Length")]
    return header, await reader.readexactly(int(length))


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
    """Begin a response, and then send a little of it now and then, for ever."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(beginning)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.02)

    return answer


async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Read everything and say nothing."""
    while await reader.read(65536):
        pass


def request(
    address: str, *, headers: dict[str, str] | None = None, timeout: timedelta = timedelta(seconds=10)
) -> Request:
    return Request(f"http://{address}/hook?a=%2F", b'{"a": 1.10}', headers or {}, timeout=timeout)


async def test_a_2xx_response_is_a_success(transport: Transport) -> None:
    async with receiver(saying(OK)) as address:
        result = await transport.send(request(address))
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
        assert (await transport.send(request(address))).outcome == "success"


async def test_the_request_arrives_as_it_was_built(transport: Transport) -> None:
    requests = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(OK)

    async with receiver(answer) as address:
        await transport.send(request(address, headers={"X-Tenant": "a", "user-agent": "mine"}))
        await transport.send(request(address))
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
        results = [await transport.send(request(address)) for _ in range(3)]
    assert {(result.outcome, result.remote_ip) for result in results} == {("success", "127.0.0.1")}
    assert len(connections) == 1


async def test_a_connection_that_the_receiver_closed_meanwhile_is_replaced(transport: Transport) -> None:
    async with receiver(saying_and_closing(OK)) as address:
        results = [await transport.send(request(address)) for _ in range(10)]
    assert {result.outcome for result in results} == {"success"}


@pytest.mark.parametrize("status", [300, 400, 404, 410, 429, 500, 503, 599])
async def test_every_other_status_is_an_http_error(transport: Transport, status: int) -> None:
    async with receiver(saying_and_closing(b"HTTP/1.1 %d Any\r\n\r\nwhy" % status)) as address:
        result = await transport.send(request(address))
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
            result = await transport.send(request(address))
    assert (result.outcome, result.status) == ("http_error", status)
    assert result.error == f"the endpoint answered {status}; redirects are not followed"
    assert not followed


async def test_early_hints_do_not_end_a_response(transport: Transport) -> None:
    async with receiver(saying(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 16 + OK)) as address:
        assert (await transport.send(request(address))).outcome == "success"


async def test_a_flood_of_interim_responses_is_cut_off(transport: Transport) -> None:
    async with receiver(dripping(b"HTTP/1.1 102 Processing\r\n\r\n" * 17, b"")) as address:
        result = await transport.send(request(address))
    assert (result.outcome, result.status) == ("http_error", None)


async def test_switching_protocols_is_an_http_error(transport: Transport) -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nanything"
    async with receiver(saying_and_closing(upgrade)) as address:
        result = await transport.send(request(address, timeout=SHORT))
    assert result.outcome != "success"


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (silence, None, ""),
        (dripping(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), None, ""),
        (dripping(b"HTTP/1.1 103 Early Hints\r\n", b"a: b\r\n"), None, ""),
        (dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"), 200, "x"),
        (dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), 200, "x"),
    ],
)
async def test_a_slow_receiver_meets_the_deadline(
    transport: Transport, answer: Answer, status: int | None, body: str
) -> None:
    async with receiver(answer) as address:
        started = time.monotonic()
        result = await transport.send(request(address, timeout=SHORT))
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


async def test_a_receiver_that_never_reads_is_left_at_the_deadline() -> None:
    transport = AiohttpTransport(Cramped(GUARD.allow_cidrs, allow_http=True), concurrency=1)
    body = b"x" * 1_000_000
    deadline = asyncio.Event()
    received: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await deadline.wait()
        received.set_result(len(await reader.read()))

    async with receiver(answer, receive_buffer=4096) as address:
        result = await transport.send(Request(f"http://{address}/", body, {}, timeout=SHORT))
        deadline.set()
        assert await asyncio.wait_for(received, 5) < len(body)
    await transport.close()
    assert result.outcome == "timeout"


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
        result = await transport.send(request(address))
        await asyncio.wait_for(closed.wait(), 5)
    assert (result.outcome, result.truncated, result.body) == ("success", True, "x" * 16384)


async def test_a_compressed_body_is_not_decompressed(transport: Transport) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    header = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with receiver(saying(header + bomb)) as address:
        result = await transport.send(request(address))
    assert result.outcome == "success"
    assert result.body.startswith("\x1f")
    assert len(result.body) <= len(bomb)


async def test_texts_are_fit_for_the_database(transport: Transport) -> None:
    response = b"HTTP/1.1 200 OK\r\nX-A: \xff\xe4\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\na\0\xffb"
    async with receiver(saying(response)) as address:
        result = await transport.send(request(address))
    assert result.body == "a\ufffdb"
    assert result.headers == {"x-a": "\ufffd\ufffd", "content-length": "4"}


async def test_cookies_are_not_sent_back(transport: Transport) -> None:
    headers: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers.extend((await read_request(reader))[0])
        writer.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")

    async with receiver(answer) as address:
        for _ in range(2):
            await transport.send(request(address))
    assert len([line for line in headers if line.startswith("POST")]) == 2
    assert not [line for line in headers if line.startswith("Cookie")]


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
        result = await transport.send(request(address))
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
    ],
)
async def test_a_response_that_is_not_acceptable_http_is_an_http_error(transport: Transport, response: bytes) -> None:
    async with receiver(saying_and_closing(response)) as address:
        result = await transport.send(request(address))
    assert (result.outcome, result.status) == ("http_error", None)
    assert result.error == "the response is not HTTP, or its headers are too many or too large"


pieces = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 500 E\r\n", b"HTTP/1.1 100 C\r\n\r\n", b"HTTP/1.1 101 S\r\n", b"\r\n\r\n"),
        *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"5\r\nabcde\r\n", b"0\r\n\r\n", b"\r\n"),
        *(b"Content-Encoding: gzip\r\n", b"Connection: upgrade\r\n", b"Upgrade: h2c\r\n", b"Location: //[\r\n"),
        *(b"Retry-After: ", b"Set-Cookie: \xff=;\r\n"),
    ]
)


@given(response=st.lists(pieces | st.binary(max_size=20)).map(b"".join))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_a_receiver_answers_there_is_a_result(transport: Transport, response: bytes) -> None:
    async with receiver(saying_and_closing(response)) as address:
        result = await transport.send(request(address, timeout=SHORT))
    assert result.outcome in ("success", "http_error", "connect_error", "timeout")
    assert (result.outcome == "success") <= (200 <= (result.status or 0) < 300)


async def test_a_refused_connection_is_a_connect_error(transport: Transport) -> None:
    async with receiver(silence) as address:
        pass
    result = await transport.send(request(address))
    assert (result.outcome, result.status, result.remote_ip) == ("connect_error", None, "127.0.0.1")
    assert result.error == "cannot connect to 127.0.0.1: Connection refused"


class Deceived(Guard):
    """A guard that was shown another address when the URL was checked (DNS rebinding)."""

    def check_url(self, url: str) -> str:
        return url


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_connection_to_a_private_address_is_blocked_however_it_is_named(host: str) -> None:
    connected = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)

    transport = AiohttpTransport(Deceived(allow_http=True), concurrency=1)
    async with receiver(answer) as address:
        result = await transport.send(request(address.replace("127.0.0.1", host)))
    await transport.close()
    assert (result.outcome, result.remote_ip) == ("blocked", "127.0.0.1")
    assert result.error == "127.0.0.1 is not a public address"
    assert not connected


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
@pytest.mark.parametrize("guard", [Guard(allow_http=True), Deceived(allow_http=True)])
async def test_an_odd_spelling_of_a_private_address_goes_nowhere(host: str, guard: Guard) -> None:
    transport = AiohttpTransport(guard, concurrency=1)
    result = await transport.send(request(host))
    await transport.close()
    assert result.outcome != "success"
    assert result.remote_ip is None or result.outcome == "blocked"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "//a",
        "ftp://127.0.0.1/",
        "http://127.0.0.1:x/",
        "http://\ud800/",
        "http://127.0.0.1/\r\nHost: a",
        "http://[",
    ],
)
async def test_a_url_that_was_never_checked_is_blocked(transport: Transport, url: str) -> None:
    result = await transport.send(Request(url, b"{}", {}))
    assert (result.outcome, result.remote_ip) == ("blocked", None)
    assert str(result.error).startswith(("the URL", '"127.0.0.1:x"', '"["'))


async def test_a_name_from_the_hosts_file_is_resolved(transport: Transport) -> None:
    async with receiver(saying(OK)) as address:
        result = await transport.send(request(address.replace("127.0.0.1", "localhost")))
    assert (result.outcome, result.remote_ip) == ("success", "127.0.0.1")


async def test_a_name_that_does_not_exist_is_a_dns_error(transport: Transport) -> None:
    result = await transport.send(request("svc-pg.onion"))  # never asked of a name server (RFC 7686)
    assert (result.outcome, result.remote_ip) == ("dns_error", None)
    assert str(result.error).startswith("cannot resolve svc-pg.onion: ")


async def test_the_remote_address_belongs_to_its_own_request(transport: Transport) -> None:
    async with (
        receiver(saying(OK), host="127.0.0.1") as first,
        receiver(saying(OK), host="127.0.0.2") as second,
    ):
        addresses = [first, second] * 50
        results = await asyncio.gather(*(transport.send(request(address)) for address in addresses))
    assert [result.remote_ip for result in results] == [address.partition(":")[0] for address in addresses]


async def test_retry_after_is_read(transport: Transport) -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n"
    async with receiver(saying(busy)) as address:
        assert (await transport.send(request(address))).retry_after == timedelta(seconds=120)


async def test_a_self_signed_certificate_is_a_tls_error(transport: Transport, tmp_path: Path) -> None:
    async with receiver(saying(OK), tls=self_signed(tmp_path)) as address:
        result = await transport.send(Request(f"https://{address}/", b"{}", {}))
    assert (result.outcome, result.status, result.remote_ip) == ("tls_error", None, "127.0.0.1")
    assert "self-signed certificate" in str(result.error)


async def test_a_receiver_that_does_not_speak_tls_is_a_tls_error(transport: Transport) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with receiver(answer) as address:
        assert (await transport.send(Request(f"https://{address}/", b"{}", {}))).outcome == "tls_error"


async def test_connecting_has_a_deadline_of_its_own(transport: Transport) -> None:
    async with receiver(silence) as address:
        result = await transport.send(Request(f"https://{address}/", b"{}", {}, connect_timeout=SHORT))
    assert (result.outcome, result.error) == ("timeout", "no connection within 0.3 s")


async def test_more_requests_than_fit_wait_and_their_clocks_with_them() -> None:
    transport = AiohttpTransport(GUARD, concurrency=1)
    async with receiver(silence) as silent, receiver(saying(OK)) as prompt:
        slow = asyncio.create_task(transport.send(request(silent, timeout=2 * SHORT)))
        await asyncio.sleep(0)
        quick = await transport.send(request(prompt, timeout=SHORT))
        assert slow.done()
    await transport.close()
    assert (slow.result().outcome, quick.outcome) == ("timeout", "success")


async def test_a_proxy_of_the_environment_is_not_used(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with receiver(saying(OK)) as address:
        assert (await transport.send(request(address))).outcome == "success"


async def test_a_cancellation_is_not_a_result(transport: Transport) -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_request(reader)
        arrived.set()
        with suppress(ConnectionError):
            await reader.read()
        left.set()

    async with receiver(answer) as address:
        sending = asyncio.create_task(transport.send(request(address)))
        await asyncio.wait_for(arrived.wait(), 5)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(left.wait(), 5)


@pytest.mark.parametrize("headers", [{"X-A": "b\r\nHost: c"}, {"X-A\n": "b"}, {"Host": "c"}, {"Content-Length": "0"}])
def test_a_header_that_would_change_the_request_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(EndpointError):
        Request("https://example.com", b"", headers)


def self_signed(folder: Path) -> ssl.SSLContext:
    """The TLS context of a server whose certificate nobody else vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .sign(key, SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "receiver.pem"
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
