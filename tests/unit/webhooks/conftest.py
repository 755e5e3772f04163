"""Transports that may call this machine: each test that takes one runs over both."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from ipaddress import ip_network

import pytest
from aiodns import DNSResolver
from aiohttp.resolver import AsyncResolver

from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.transport import Transport
from tests.support.transports import TRANSPORTS, UVLOOP

Making = Callable[..., Transport]
"""Makes a transport that is closed after the test: a guard, ``concurrency``, and a name server for ``names``."""


@pytest.fixture
def anyio_backend(kind: str) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": kind == UVLOOP}


@pytest.fixture(scope="session")
def loopback() -> Guard:
    """A guard that lets requests go to IPv4 addresses of this machine, over http."""
    return Guard([ip_network("127.0.0.0/8")], allow_http=True)


@pytest.fixture(params=list(TRANSPORTS))
def kind(request: pytest.FixtureRequest) -> str:
    """The name of the transport."""
    return str(request.param)


@pytest.fixture
async def making(kind: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Making]:
    made: list[Transport] = []

    def make(guard: Guard, *, concurrency: int = 100, names: str | None = None) -> Transport:
        if names is not None:
            resolvers = {
                "svc_pg.webhooks.http.resolver.DNSResolver": partial(DNSResolver, nameservers=[names]),
                "svc_pg.webhooks.http.aiohttp_transport.AsyncResolver": partial(AsyncResolver, nameservers=[names]),
            }
            for path, resolver in resolvers.items():
                monkeypatch.setattr(path, resolver)
        made.append(TRANSPORTS[kind](guard, concurrency=concurrency))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()
    await asyncio.sleep(0)  # aborted connections are closed in the next round of the event loop


@pytest.fixture
async def transport(making: Making, loopback: Guard) -> Transport:
    return making(loopback, concurrency=50)
