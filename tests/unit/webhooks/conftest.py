"""A transport that may call this machine."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from svc_pg.webhooks.http.aiohttp_transport import AiohttpTransport
from svc_pg.webhooks.http.guard import Guard


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def loopback() -> Guard:
    """A guard that lets requests go to IPv4 addresses of this machine, over http."""
    return Guard([ip_network("127.0.0.0/8")], allow_http=True)


@pytest.fixture
async def transport(loopback: Guard) -> AsyncIterator[AiohttpTransport]:
    transport = AiohttpTransport(loopback, concurrency=50)
    yield transport
    await transport.close()
