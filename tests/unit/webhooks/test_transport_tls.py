"""A receiver that cannot prove who it is gets nothing."""

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.transport import Request, Transport
from tests.support.certificates import Authority, authority, self_signed
from tests.support.raw_receiver import OK, read_request, receiver, saying
from tests.support.transports import post, send
from tests.unit.webhooks.conftest import Making
from tests.unit.webhooks.test_transport_deadlines import Cramped

pytestmark = pytest.mark.anyio


@pytest.fixture
def signer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that the transport trusts, as it does those of the system."""
    signer = authority(tmp_path)
    trusted = signer.trusted()
    monkeypatch.setattr("svc_pg.webhooks.http.contexts.default_context", lambda: trusted)
    return signer


def post_to(address: str) -> Request:
    return post(f"https://{address}/")


async def test_a_certificate_that_holds_is_accepted(transport: Transport, signer: Authority) -> None:
    async with receiver(saying(OK), tls=signer.server()) as address:
        assert (await send(transport, post_to(address))).outcome == "success"


@pytest.mark.parametrize(
    ("host", "expires", "reason"),
    [
        ("127.0.0.1", -timedelta(hours=1), "certificate has expired"),
        ("127.0.0.1", timedelta(days=3), "certificate is not yet valid"),
        ("127.0.0.2", timedelta(days=1), "IP address mismatch"),
    ],
)
async def test_a_certificate_that_does_not_hold_is_a_tls_error_and_nothing_is_sent(
    transport: Transport, signer: Authority, host: str, expires: timedelta, reason: str
) -> None:
    requests = []

    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))

    async with receiver(answer, tls=signer.server(host, expires=expires)) as address:
        result = await send(transport, post_to(address))
    assert (result.outcome, result.status, result.remote_ip) == ("tls_error", None, "127.0.0.1")
    assert reason in str(result.error)
    assert not requests


async def test_a_self_signed_certificate_is_a_tls_error(transport: Transport, tmp_path: Path) -> None:
    async with receiver(saying(OK), tls=self_signed(tmp_path)) as address:
        result = await send(transport, post_to(address))
    assert (result.outcome, result.status, result.remote_ip) == ("tls_error", None, "127.0.0.1")
    assert "self-signed certificate" in str(result.error)


async def test_a_receiver_that_does_not_speak_tls_is_a_tls_error(transport: Transport) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with receiver(answer) as address:
        assert (await send(transport, post_to(address))).outcome == "tls_error"


async def test_a_receiver_that_hangs_up_during_the_handshake_is_a_failure(transport: Transport) -> None:
    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read(1)

    async with receiver(answer) as address:
        assert (await send(transport, post_to(address))).outcome in ("tls_error", "connect_error")


async def test_a_response_before_the_request_was_read_ends_the_connection(
    making: Making, loopback: Guard, signer: Authority
) -> None:
    """asyncio's receiver would read on: this one shakes hands by itself, and leaves the rest of the body unread."""
    transport, context = making(Cramped(loopback.allow_cidrs)), signer.server()
    connections = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        came, leaving, header = ssl.MemoryBIO(), ssl.MemoryBIO(), b""
        tls = context.wrap_bio(came, leaving, server_side=True)
        while b"\r\n\r\n" not in header:
            try:
                header += tls.read()
            except ssl.SSLWantReadError:  # also while it shakes hands
                writer.write(leaving.read())
                came.write(await reader.readexactly(1) + await reader.read(1000))
        tls.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        writer.write(leaving.read())
        await asyncio.Event().wait()

    async with receiver(answer, receive_buffer=4096) as address:
        for _ in range(2):
            result = await send(transport, post(f"https://{address}/", b"x" * 1_000_000))
            assert result.status == 413
    assert len(connections) == 2
