"""A receiver or a proxy that sends without end fills no memory: measured in a process of its own."""

import asyncio
import gzip
import json
import sys
from contextlib import AsyncExitStack

import pytest

from tests.support.raw_receiver import OK, Answer, flooding, receiver, saying

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

# Ten at a time to each address: the first is harmless, so that what is loaded for any request is not counted.
CLIENT = """
import asyncio, json, re, sys
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.http1_transport import Http1Transport
from svc_pg.webhooks.http.proxy import Proxy
from tests.support.transports import post, send

def peak():  # not getrusage, whose peak is the parent's at first
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

async def main():
    guard = Guard([ip_network("127.0.0.0/8")], allow_http=True)
    is_proxy = sys.argv[1] == "proxy"
    for number, address in enumerate(sys.argv[2:]):
        proxy = Proxy.of(f"http://{address}") if is_proxy else None
        transport = Http1Transport(guard, concurrency=50, proxy=proxy)
        url = "https://hooks.invalid/" if is_proxy else f"http://{address}/"
        limit = timedelta(milliseconds=500) if number else timedelta(seconds=30)
        request = post(url, timeout=limit, connect_timeout=limit)
        results = await asyncio.gather(*(send(transport, request) for _ in range(10)))
        print(json.dumps({"outcomes": [result.outcome for result in results], "peak": peak()}))
        await transport.close()

asyncio.run(main())
"""
GIGABYTE = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
ZEROS = gzip.compress(b"\0" * 100_000_000, compresslevel=1)
FLOODS: list[Answer] = [
    flooding(GIGABYTE, b"x"),
    flooding(CHUNKED, b"1\r\nx\r\n"),
    flooding(CHUNKED, b"8000\r\n" + b"x" * 0x8000 + b"\r\n"),
    flooding(CHUNKED + b"1;", b"extension"),
    flooding(CHUNKED + b"0\r\n", b"trailer: x\r\n"),
    flooding(GZIPPED + b"%x\r\n" % len(ZEROS) + ZEROS + b"\r\n", b"1\r\nx\r\n"),
    flooding(b"HTTP/1.1 200 OK\r\n", b"x: a\r\n"),
    flooding(b"HTTP/1.1 200 OK\r\nx: ", b"a"),
    flooding(b"HTTP/1.1 200 ", b"O"),
    flooding(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    flooding(b"", OK),
]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the client is a process of its own
@pytest.mark.parametrize(
    ("role", "harmless_answer", "outcome"),
    [("receiver", OK, "success"), ("proxy", b"HTTP/1.1 502 No\r\n\r\n", "connect_error")],
)
async def test_a_receiver_or_a_proxy_that_sends_without_end_fills_no_memory(
    role: str, harmless_answer: bytes, outcome: str
) -> None:
    async with AsyncExitStack() as stack:
        addresses = [await stack.enter_async_context(receiver(answer)) for answer in [saying(harmless_answer), *FLOODS]]
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CLIENT, role, *addresses, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await client.communicate()
    assert client.returncode == 0
    harmless, *floods = map(json.loads, output.splitlines())
    assert len(floods) == len(FLOODS)
    assert set(harmless["outcomes"]) == {outcome}
    assert [flood["peak"] - harmless["peak"] for flood in floods] == pytest.approx([0] * len(floods), abs=32)
