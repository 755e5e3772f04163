"""Requests go through an egress proxy where there is one, and nowhere else."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from svc_pg.webhooks.http.guard import Guard, UrlBy
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.http.transport import Transport
from tests.support.certificates import Authority, authority
from tests.support.egress_proxy import EgressProxy, through
from tests.support.raw_receiver import OK, read_request, receiver, request, saying, saying_and_closing, silence
from tests.support.transports import post, send
from tests.unit.webhooks.test_transport_deadlines import SHORT

pytestmark = pytest.mark.anyio


@pytest.fixture
async def proxy() -> AsyncIterator[EgressProxy]:
    proxy = EgressProxy()
    async with receiver(proxy.answer) as proxy.address:
        yield proxy


@pytest.fixture
def signer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that the transport trusts, as it does those of the system."""
    signer = authority(tmp_path)
    trusted = signer.trusted()
    monkeypatch.setattr("svc_pg.webhooks.http.contexts.default_context", lambda: trusted)
    return signer


async def test_https_goes_through_a_tunnel_and_the_proxy_resolves_the_name(
    proxy: EgressProxy, loopback: Guard, signer: Authority
) -> None:
    async with receiver(saying(OK), tls=signer.server()) as proxy.to, through(proxy.address, loopback) as transport:
        results = [await send(transport, post("https://127.0.0.1/hook")) for _ in range(3)]
        unknown = await send(transport, post("https://hooks.invalid/hook"))
    assert [(result.outcome, result.status, result.remote_ip) for result in results] == [("success", 200, None)] * 3
    assert [header[:2] for header in proxy.headers] == [
        ["CONNECT 127.0.0.1:443 HTTP/1.1", "Host: 127.0.0.1:443"],  # one tunnel for three requests
        ["CONNECT hooks.invalid:443 HTTP/1.1", "Host: hooks.invalid:443"],
    ]
    assert (unknown.outcome, unknown.remote_ip) == ("tls_error", None)  # the proxy led us to another receiver


@pytest.mark.parametrize(
    "established",
    [
        b"HTTP/1.0 200 Connection established\r\nProxy-agent: x\r\n\r\n",
        b"HTTP/1.1 200\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\nServer: x\n\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 16 + b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: %b\r\n" % (b"x" * 8000) * 7 + b"\r\n",
    ],
    ids=range(9),
)
async def test_every_success_of_a_proxy_is_a_tunnel_whatever_it_says_of_a_body(
    proxy: EgressProxy, loopback: Guard, signer: Authority, established: bytes
) -> None:
    proxy.established = established
    async with receiver(saying(OK), tls=signer.server()) as proxy.to, through(proxy.address, loopback) as transport:
        results = [await send(transport, post("https://127.0.0.1/hook")) for _ in range(2)]
    assert [(result.outcome, result.body) for result in results] == [("success", "ok")] * 2
    assert len(proxy.headers) == 1


async def test_a_tunnel_to_ipv6_is_asked_for_in_brackets(proxy: EgressProxy, signer: Authority) -> None:
    guard = Guard([ip_network("::1/128")])
    async with receiver(saying(OK), tls=signer.server("::1")) as proxy.to, through(proxy.address, guard) as transport:
        assert (await send(transport, post("https://[::1]:8443/"))).outcome == "success"
    assert proxy.headers[0][:2] == ["CONNECT [::1]:8443 HTTP/1.1", "Host: [::1]:8443"]


async def test_a_private_receiver_behind_the_proxy_sees_the_certificate_of_the_endpoint(
    proxy: EgressProxy, loopback: Guard, tmp_path: Path
) -> None:
    ours = authority(tmp_path)
    async with (
        receiver(saying(OK), tls=ours.asking_server()) as proxy.to,
        through(proxy.address, loopback) as transport,
    ):
        known = await send(transport, post("https://127.0.0.1/", tls=Tls(ours.pem, *ours.client())))
        unknown = await send(transport, post("https://127.0.0.1/", tls=Tls(ours.pem)))
    assert (known.outcome, known.status) == ("success", 200)
    assert unknown.outcome in ("tls_error", "connect_error")  # asyncio's server hangs up without a word


async def test_http_goes_through_the_proxy_that_resolves_the_name(proxy: EgressProxy) -> None:
    async with receiver(saying(OK)) as proxy.to, through(proxy.address) as transport:
        results = [await send(transport, post("http://hooks.invalid:8080/hook?a=%2F")) for _ in range(3)]
    assert [(result.outcome, result.status, result.body, result.remote_ip) for result in results] == [
        ("success", 200, "ok", None)
    ] * 3
    [header] = proxy.headers  # one connection for three requests
    assert header[:2] == ["POST http://hooks.invalid:8080/hook?a=%2F HTTP/1.1", "Host: hooks.invalid:8080"]


async def test_credentials_go_to_the_proxy_alone(proxy: EgressProxy, loopback: Guard, signer: Authority) -> None:
    seen: list[list[str]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[0])
        writer.write(OK)

    async with (
        receiver(answer, tls=signer.server()) as proxy.to,
        through(f"user:secret@{proxy.address}", loopback) as transport,
    ):
        await send(transport, post("https://127.0.0.1/"))
    credentials = base64.b64encode(b"user:secret").decode()
    assert f"Proxy-Authorization: Basic {credentials}" in proxy.headers[0]
    assert "secret" not in repr(Proxy.of("http://user:secret@127.0.0.1"))
    [header] = seen
    assert credentials not in "".join(header)


async def test_every_request_without_a_tunnel_has_the_credentials_and_no_header_of_an_endpoint_replaces_them() -> None:
    seen: list[list[str]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            seen.append((await read_request(reader))[0])
            writer.write(OK)

    async with receiver(answer) as address, through(f"user:p%40ss@{address}") as transport:
        for _ in range(2):
            await send(transport, request("hooks.invalid", headers={"proxy-authorization": "Basic other"}))
    credentials = base64.b64encode(b"user:p@ss").decode()
    assert [[line for line in header if line.lower().startswith("proxy-")] for header in seen] == [
        [f"Proxy-Authorization: Basic {credentials}"]
    ] * 2


@pytest.mark.parametrize(
    ("url", "host", "port", "credentials"),
    [
        ("http://proxy.internal", "proxy.internal", 80, None),
        ("http://[::1]:3128/", "::1", 3128, None),
        ("http://us%65r@10.0.0.1:3128", "10.0.0.1", 3128, b"user:"),
        ("http://user:p%40%3Ass@proxy", "proxy", 80, b"user:p@:ss"),
        ("http://user:%C3%A9@proxy", "proxy", 80, "user:é".encode()),
    ],
)
def test_the_url_of_a_proxy_has_its_address_and_our_credentials(
    url: str, host: str, port: int, credentials: bytes | None
) -> None:
    headers = {}
    if credentials is not None:
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(credentials).decode()}"
    assert Proxy.of(url) == Proxy(host, port, headers)


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/", "https://0x7f.1/"])
async def test_a_private_address_in_a_url_is_blocked_before_the_proxy_hears_of_it(proxy: EgressProxy, url: str) -> None:
    async with through(proxy.address) as transport:
        result = await send(transport, post(url))
    assert result.outcome == "blocked"
    assert proxy.headers == []


@pytest.mark.parametrize("url", ["https://hooks.invalid/", "http://hooks.invalid/"])
async def test_a_proxy_that_is_not_there_is_no_fault_of_the_receiver(url: str) -> None:
    async with receiver(saying_and_closing(OK)) as closed:
        pass
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        proxies = {
            closed: "cannot connect to the proxy: ",
            "proxy.invalid:3128": "cannot resolve the proxy: ",
            f"127.0.0.1:{full.getsockname()[1]}": "cannot connect to the proxy: it does not answer",
        }
        for address, words in proxies.items():
            async with through(address) as transport:
                result = await send(transport, post(url, connect_timeout=SHORT))
            assert (result.outcome, result.remote_ip) == ("local_error", None)
            assert words in str(result.error)


async def test_a_proxy_that_waits_for_a_receiver_is_not_at_fault() -> None:
    async with receiver(silence) as address, through(address) as transport:
        result = await send(transport, post("https://hooks.invalid/", connect_timeout=timedelta(seconds=1)))
    assert (result.outcome, result.error) == ("timeout", "no connection within 1 s")


@pytest.mark.parametrize("url_by", ["operator", "customer"])
async def test_a_connection_that_the_proxy_closed_while_it_rested_costs_nobody_an_attempt(url_by: UrlBy) -> None:
    guard = Guard(allow_http=True, allow_for_customers=True)
    answers = iter([saying_and_closing(OK), saying(OK)])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next(answers)(reader, writer)
        await reader.read(1)  # the second request, which it does not answer

    async with receiver(answer) as address, through(address, guard) as transport:
        results = [await send(transport, request("hooks.invalid", url_by=url_by)) for _ in range(2)]
    assert [(result.outcome, result.repeated) for result in results] == [("success", False), ("success", True)]


async def test_a_proxy_of_the_environment_is_not_used(
    proxy: EgressProxy, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        for spelling in (name, name.upper()):
            monkeypatch.setenv(spelling, f"http://{proxy.address}")
    async with receiver(saying(OK)) as address:
        result = await send(transport, post(f"http://{address}/"))
    assert (result.outcome, proxy.headers) == ("success", [])
