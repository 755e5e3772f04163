"""An egress proxy that notes its requests, and transports through it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.http1_transport import Http1Transport
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.transport import Transport

PUBLIC_ONLY = Guard(allow_http=True)


@dataclass
class EgressProxy:
    """Tunnels and absolute URLs, all to one receiver: the first request of each connection counts.

    ``established`` is its answer to CONNECT.
    """

    address: str = ""
    to: str = ""
    established: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
    headers: list[list[str]] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        header = await reader.readuntil(b"\r\n\r\n")
        self.headers.append(header.decode().splitlines())
        host, _, port = self.to.partition(":")
        upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))
        if header.startswith(b"CONNECT "):
            writer.write(self.established)
        else:
            upstream_writer.write(header)
        try:
            await asyncio.gather(_copy(reader, upstream_writer), _copy(upstream_reader, writer))
        finally:
            upstream_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def through(address: str, guard: Guard = PUBLIC_ONLY) -> AsyncIterator[Transport]:
    """A transport through the proxy at this address, which may begin with ``user:password@``."""
    transport = Http1Transport(guard, concurrency=50, proxy=Proxy.of(f"http://{address}"))
    try:
        yield transport
    finally:
        await transport.close()
        await asyncio.sleep(0)  # aborted connections are closed in the next round of the event loop
