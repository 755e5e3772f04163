"""Resolve names with c-ares: in threads, names without an answer would delay the others."""

import asyncio
import socket
from collections import Counter, deque
from typing import Final, NamedTuple

from aiodns import DNSResolver
from aiodns import error as dns

from svc_pg.webhooks.http.guard import AddrInfo

_KEPT: Final = 10.0  # seconds
_MOST: Final = 1000  # names
_MOST_ADDRESSES: Final = 8  # of each family: a name's owner could choose any number of targets


class _Answer(NamedTuple):
    addresses: deque[AddrInfo]
    until: float


class Resolver:
    """Resolves names for TCP connections. Answers are kept for 10 s; a name is asked for once at a time.

    Of a name's addresses at most eight of each family count.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._resolver = DNSResolver()
        self._answers: dict[str, _Answer] = {}
        self._asking: dict[str, asyncio.Task[deque[AddrInfo]]] = {}

    async def resolve(self, name: str) -> list[AddrInfo]:
        """The addresses of a name, rotated at each call, with port 0. Raises OSError, whose cause is a DNSError."""
        answer = self._answers.get(name)
        if answer is not None and self._loop.time() < answer.until:
            addresses = answer.addresses
        else:
            asking = self._asking.get(name)
            if asking is None:
                asking = self._asking[name] = self._loop.create_task(self._ask(name))
                asking.add_done_callback(_noted)
            # a cancelled wait leaves the question open: the answer may still come in time for the next wait
            addresses = await asyncio.shield(asking)
        found = list(addresses)
        addresses.rotate(-1)
        return found

    async def close(self) -> None:
        """Break off all questions."""
        for asking in self._asking.values():
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        await self._resolver.close()

    async def _ask(self, name: str) -> deque[AddrInfo]:
        try:
            found = await self._resolver.getaddrinfo(
                name, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
            )
        except dns.DNSError as error:
            raise OSError(None, str(error.args[-1])) from error
        finally:
            del self._asking[name]
        addresses: deque[AddrInfo] = deque()
        families: Counter[int] = Counter()
        for node in found.nodes:
            families[node.family] += 1
            if families[node.family] <= _MOST_ADDRESSES:
                end = (node.addr[0].decode(), 0, *node.addr[2:])
                addresses.append((node.family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", end))
        if not addresses:
            raise OSError(None, "it has no addresses")
        if len(self._answers) >= _MOST:
            del self._answers[next(iter(self._answers))]
        self._answers[name] = _Answer(addresses, self._loop.time() + _KEPT)
        return addresses


def _noted(asking: asyncio.Task[deque[AddrInfo]]) -> None:
    """Retrieve an error, which asyncio would report if nobody waits for it any longer."""
    if not asking.cancelled():
        asking.exception()
