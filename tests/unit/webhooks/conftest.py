"""Transports that may call this machine: each test runs on both event loops."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from ipaddress import ip_network

import pytest
from aiodns import DNSResolver

from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.http1_transport import Http1Transport
from svc_pg.webhooks.http.transport import Transport

Making = Callable[..., Transport]
"""Makes a transport, closed after the test, from a guard, ``concurrency``, and a name server for ``names``."""


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture(scope="session")
def loopback() -> Guard:
    """A guard that allows requests to IPv4 addresses of this machine, over http."""
    return Guard([ip_network("127.0.0.0/8")], allow_http=True)


@pytest.fixture
async def making(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Making]:
    made: list[Transport] = []

    def make(guard: Guard, *, concurrency: int = 100, names: str | None = None) -> Transport:
        if names is not None:
            asking = partial(DNSResolver, nameservers=[names])
            monkeypatch.setattr("svc_pg.webhooks.http.resolver.DNSResolver", asking)
        made.append(Http1Transport(guard, concurrency=concurrency))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()
    await asyncio.sleep(0)  # aborted connections are closed in the next round of the event loop


@pytest.fixture
async def transport(making: Making, loopback: Guard) -> Transport:
    return making(loopback, concurrency=50)
