"""Every answer to CONNECT ends in a tunnel or in the outcome of its request, however its bytes are split."""

import socket
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc_pg.webhooks.http.connection import NoConnection
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.response_reader import BrokenResponse, ResponseReader
from svc_pg.webhooks.http.route import Site
from svc_pg.webhooks.http.transport import Outcome
from svc_pg.webhooks.http.tunnel import tunnel

pytestmark = pytest.mark.anyio

SITE = Site("hooks.invalid", 443, is_tls=True, tls=None, url_by="operator")

pieces = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 200 Connection established\r\n\r\n", b"HTTP/1.1 502 No\r\n\r\n"),
        *(b"HTTP/1.1 100 C\r\n\r\n", b"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" * 9, b"HTTP/1.1 407 No\r\n"),
        *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"X: a\r\n b\r\n"),
        *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\x16\x03\x03", b"x" * 9000, b"x: a\r\n" * 100, b"X: \0\r\n"),
    ]
)


def expected(answer: bytes) -> Outcome | None:
    """The outcome by an answer that is read byte by byte, which surely ends with its head; None for a tunnel."""
    reader = ResponseReader()
    for index in range(len(answer)):
        try:
            reader.feed(answer[index : index + 1])
        except BrokenResponse:
            return "local_error"
        if reader.status is not None:
            if not 200 <= reader.status < 300:
                return "local_error" if reader.status == 407 else "connect_error"
            return None if index + 1 == len(answer) else "tls_error"
    return "connect_error"


async def outcome(parts: Sequence[bytes]) -> Outcome | None:
    ours, proxys = socket.socketpair()
    with ours, proxys:
        ours.settimeout(0)
        for part in parts:
            proxys.sendall(part)
        proxys.shutdown(socket.SHUT_WR)
        try:
            await tunnel(Proxy("127.0.0.1", 3128, {}), SITE, ours)
        except NoConnection as error:
            return error.outcome
        return "tls_error" if ours.recv(1) else None  # a read may end where the head does


@given(parts=st.lists(pieces | st.binary(max_size=20), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_an_answer_opens_a_tunnel_if_its_head_is_a_success_and_all_that_came(parts: Sequence[bytes]) -> None:
    assert await outcome(parts) == expected(b"".join(parts))
