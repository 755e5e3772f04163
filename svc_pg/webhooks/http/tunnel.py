"""Open a tunnel to a receiver over a connection to a proxy (CONNECT; RFC 9110, 9.3.6)."""

import asyncio
import io
from socket import socket
from typing import Final

from svc_pg.webhooks.http import hang_ups
from svc_pg.webhooks.http.connection import NoConnection
from svc_pg.webhooks.http.proxy import NO_CREDENTIALS, Proxy, refusal
from svc_pg.webhooks.http.response_reader import BrokenResponse, ResponseReader
from svc_pg.webhooks.http.route import DEFAULT_HEADERS, Site

_READ: Final = 4096  # bytes at a time


async def tunnel(proxy: Proxy, site: Site, over: socket) -> None:
    """Ask the proxy at the other end for a tunnel. Raises NoConnection. The caller sets a limit of time.

    Only the head of the answer is read, within the bounds of ResponseReader.
    """
    loop, answer = asyncio.get_running_loop(), ResponseReader()
    try:
        await loop.sock_sendall(over, _connect(proxy, site))
        while answer.status is None:
            data = await loop.sock_recv(over, _READ)
            if not data:
                raise ConnectionResetError
            received = io.BytesIO(data)
            while answer.status is None and (line := received.readline()):  # a head ends with a line
                answer.feed(line)
    except OSError as error:
        raise NoConnection("connect_error", "the proxy hung up without an answer") from error
    except BrokenResponse as error:
        raise NoConnection("local_error", "the answer of the proxy is not HTTP, or too large") from error
    if not 200 <= answer.status < 300:
        raise NoConnection(
            "local_error" if answer.status == NO_CREDENTIALS else "connect_error", refusal(answer.status)
        )
    if received.read(1):  # the receiver speaks first, so it does not speak TLS
        raise NoConnection("tls_error", hang_ups.in_handshake(site.host, site.tls))


def _connect(proxy: Proxy, site: Site) -> bytes:
    host = f"[{site.host}]" if ":" in site.host else site.host
    headers = {"Host": f"{host}:{site.port}", "User-Agent": DEFAULT_HEADERS["User-Agent"], **proxy.headers}
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"CONNECT {host}:{site.port} HTTP/1.1\r\n{lines}\r\n".encode()
