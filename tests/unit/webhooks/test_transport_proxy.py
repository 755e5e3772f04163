"""Requests go through an egress proxy where there is one, and nowhere else."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

import pytest

from svc_pg.webhooks.http.aiohttp_transport import AiohttpTransport
from svc_pg.webhooks.http.guard import Guard, UrlBy
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.http.transport import Transport
from tests.support.certificates import authority
from tests.support.raw_receiver import OK, receiver, request, saying, saying_and_closing, silence
from tests.support.transports import post, send
from tests.unit.webhooks.test_transport_deadlines import SHORT

pytestmark = pytest.mark.anyio

PUBLIC_ONLY = Guard(allow_http=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Proxy:
    """A real proxy, CONNECT and absolute URLs, that sends everything to one receiver; it notes the request headers."""

    address: str = ""
    to: str = ""
    headers: list[list[str]] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        header = await reader.readuntil(b"\r\n\r\n")
        self.headers.append(header.decode().splitlines())
        host, _, port = self.to.partition(":")
        upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))
        if header.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            upstream_writer.write(header)
        try:
            await asyncio.gather(copy(reader, upstream_writer), copy(upstream_reader, writer))
        finally:
            upstream_writer.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()
    writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    proxy = Proxy()
    async with receiver(proxy.answer) as proxy.address:
        yield proxy


@asynccontextmanager
async def through(address: str, guard: Guard = PUBLIC_ONLY) -> AsyncIterator[Transport]:
    transport = AiohttpTransport(guard, concurrency=5, proxy=f"http://{address}")
    yield transport
    await transport.close()


async def test_https_goes_through_a_tunnel_and_the_proxy_resolves_the_name(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = authority(tmp_path)
    trusted = signer.trusted()
    monkeypatch.setattr("svc_pg.webhooks.http.contexts.default_context", lambda: trusted)
    guard = Guard([ip_network("127.0.0.0/8")])
    async with receiver(saying(OK), tls=signer.server()) as proxy.to, through(proxy.address, guard) as transport:
        results = [await send(transport, post("https://127.0.0.1/hook")) for _ in range(3)]
        unknown = await send(transport, post("https://hooks.invalid/hook"))
    assert [(result.outcome, result.status, result.remote_ip) for result in results] == [("success", 200, None)] * 3
    assert [header[0] for header in proxy.headers] == [
        "CONNECT 127.0.0.1:443 HTTP/1.1",  # one tunnel for three requests
        "CONNECT hooks.invalid:443 HTTP/1.1",
    ]
    assert unknown.outcome == "tls_error"  # the proxy led us to a receiver that is not hooks.invalid


async def test_a_private_receiver_behind_the_proxy_sees_the_certificate_of_the_endpoint(
    proxy: Proxy, tmp_path: Path
) -> None:
    ours = authority(tmp_path)
    guard = Guard([ip_network("127.0.0.0/8")])
    async with receiver(saying(OK), tls=ours.asking_server()) as proxy.to, through(proxy.address, guard) as transport:
        known = await send(transport, post("https://127.0.0.1/", tls=Tls(ours.pem, *ours.client())))
        unknown = await send(transport, post("https://127.0.0.1/", tls=Tls(ours.pem)))
    assert (known.outcome, known.status) == ("success", 200)
    assert unknown.outcome in ("tls_error", "connect_error")  # asyncio's server hangs up without a word


async def test_http_goes_through_the_proxy_that_resolves_the_name(proxy: Proxy) -> None:
    async with receiver(saying(OK)) as proxy.to, through(proxy.address) as transport:
        result = await send(transport, post("http://hooks.invalid/hook?a=%2F"))
    assert (result.outcome, result.status, result.body, result.remote_ip) == ("success", 200, "ok", None)
    [header] = proxy.headers
    assert header[0] == "POST http://hooks.invalid/hook?a=%2F HTTP/1.1"


async def test_credentials_go_to_the_proxy_alone(proxy: Proxy) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with receiver(hang_up) as proxy.to, through(f"user:secret@{proxy.address}") as transport:
        await send(transport, post("https://hooks.invalid/"))
    credentials = base64.b64encode(b"user:secret").decode()
    assert f"Proxy-Authorization: Basic {credentials}" in proxy.headers[0]


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/", "https://0x7f.1/"])
async def test_a_private_address_in_a_url_is_blocked_before_the_proxy_hears_of_it(proxy: Proxy, url: str) -> None:
    async with through(proxy.address) as transport:
        result = await send(transport, post(url))
    assert result.outcome == "blocked"
    assert proxy.headers == []


@pytest.mark.parametrize(("status", "outcome"), [(407, "local_error"), (403, "connect_error"), (502, "connect_error")])
async def test_a_proxy_that_refuses_is_a_failure_that_names_it_and_ours_if_it_refuses_us(
    status: int, outcome: str
) -> None:
    async with refusing(status) as address, through(address) as transport:
        result = await send(transport, post("https://hooks.invalid/"))
    assert (result.outcome, result.status, result.error) == (outcome, None, f"the proxy answered {status}")


@asynccontextmanager
async def refusing(status: int) -> AsyncIterator[str]:
    refusal = f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(refusal)

    async with receiver(refuse) as address:
        yield address


@pytest.mark.parametrize(("url_by", "outcome"), [("operator", "local_error"), ("customer", "http_error")])
async def test_a_proxy_refuses_us_without_a_tunnel_too_and_no_receiver_of_a_customer_can_feign_it(
    url_by: UrlBy, outcome: str
) -> None:
    guard = Guard(allow_http=True, allow_for_customers=True)
    async with refusing(407) as address, through(address, guard) as transport:
        result = await send(transport, request("hooks.invalid", url_by=url_by))
    assert result.outcome == outcome


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
            assert result.outcome == "local_error"
            assert words in str(result.error)


async def test_a_proxy_that_waits_for_a_receiver_is_not_at_fault() -> None:
    async with receiver(silence) as address, through(address) as transport:
        result = await send(transport, post("https://hooks.invalid/", connect_timeout=SHORT))
    assert result.outcome == "timeout"


async def test_a_proxy_of_the_environment_is_not_used(
    proxy: Proxy, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://{proxy.address}")
    async with receiver(saying(OK)) as address:
        result = await send(transport, post(f"http://{address}/"))
    assert (result.outcome, proxy.headers) == ("success", [])
