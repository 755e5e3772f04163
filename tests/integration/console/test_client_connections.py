"""Clients that are slow, or many, on the server of ``svc-pg serve``."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from cli import client_connections
from cli.client_connections import BoundedProtocol
from svc_pg.console import AuthenticatedRequest, Console, ConsoleResponse, Product, ProductEndpoint, adapter
from svc_pg.console.http import body
from tests.integration.console.serving import PREFIX, bearer, serving, settings
from tests.support.waiting import wait_until

INIT = f"POST {PREFIX}/console/session/init HTTP/1.1\r\nHost: localhost\r\n"
MIB = 1024 * 1024


async def _much(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse(200, "x" * 16 * MIB)


PRODUCT = Product(id="much", name="Much", endpoints=[ProductEndpoint(method="GET", path="/it", handler=_much)])


@pytest.fixture
def base_url() -> Iterator[str]:
    with serving(Console(settings(), products=[PRODUCT]).asgi, http=BoundedProtocol) as url:
        yield url


@contextmanager
def client(base_url: str, sent: str = "") -> Iterator[socket.socket]:
    """A connection on which so much was sent."""
    host, _, port = base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        sock.sendall(sent.encode())
        yield sock


def rest(sock: socket.socket) -> bytes:
    """Everything until the server closes the connection; fails if it does not."""
    received = bytearray()
    try:
        while part := sock.recv(MIB):
            received += part
    except ConnectionResetError:
        pass
    return bytes(received)


@pytest.mark.parametrize("sent", ["", "GET / HTTP/1.1\r\nHost: loc"])
def test_a_header_that_is_not_complete_in_time_ends_the_connection(
    base_url: str, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    monkeypatch.setattr(client_connections, "HEADER_SECONDS", 0.3)
    with client(base_url, sent) as sock:
        assert rest(sock) == b""


def test_a_second_header_has_no_more_time_than_the_first(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_connections, "HEADER_SECONDS", 0.3)
    with client(base_url, f"GET {PREFIX}/console/health HTTP/1.1\r\nHost: x\r\n\r\n") as sock:
        answer = b""
        while b'{"status":"ok"}' not in answer:
            part = sock.recv(MIB)
            assert part, answer
            answer += part
        sock.sendall(b"GET / HT")
        assert rest(sock) == b""


def test_a_body_that_is_not_complete_in_time_is_408(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "RECEIVE_SECONDS", 0.3)
    with client(base_url, INIT + "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{") as sock:
        answer = rest(sock)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"body_too_slow"' in answer


def test_a_body_that_nobody_reads_has_its_time_too(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_connections, "BODY_SECONDS", 0.5)
    with client(base_url, f"POST {PREFIX}/none HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n{{") as sock:
        assert rest(sock).startswith(b"HTTP/1.1 404 ")


class _Recorded(BoundedProtocol):
    """Counts the connections that have ended."""

    ended = 0

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _Recorded.ended += 1


def test_a_client_that_stops_reading_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_connections, "READ_SECONDS", 0.3)
    monkeypatch.setattr(adapter, "SEND_SECONDS", 0.1)
    token = bearer("read")["Authorization"]
    request = f"GET {PREFIX}/much/it HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n\r\n"
    with serving(Console(settings(), products=[PRODUCT]).asgi, http=_Recorded) as url, client(url, request):
        wait_until(lambda: _Recorded.ended, "the server has closed the connection")


def test_more_connections_than_are_accepted_are_closed(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_connections, "ACCEPTED", 3)
    with ExitStack() as clients:
        for _ in range(3):
            clients.enter_context(client(base_url))
        with client(base_url) as sock:
            assert rest(sock) == b""
    wait_until(lambda: _answers(base_url), "there is room again")


def _answers(base_url: str) -> bool:
    try:
        return httpx.get(f"{base_url}{PREFIX}/console/health").status_code == 200
    except httpx.TransportError:
        return False
