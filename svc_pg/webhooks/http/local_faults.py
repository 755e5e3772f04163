"""Tell faults of this machine, which do not count against receivers, from faults of receivers."""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Set
from secrets import token_hex
from typing import Final, Literal, assert_never

from aiodns import error as dns

_FRESH: Final = 5.0  # seconds
_LONGEST_PROBE: Final = 2.0  # seconds for each of two questions; a lease outlives its attempt by 15
_NO_NAMES: Final = "invalid"  # none below it exists (RFC 6761)

_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
_UNREACHABLE: Final = frozenset({errno.ENETUNREACH, errno.ENETDOWN})
_NO_RESOLVER: Final = frozenset(
    {
        dns.ARES_ECONNREFUSED,  # c-ares reached no name server, or could open no socket
        dns.ARES_EFILE,
        dns.ARES_ENOMEM,
        dns.ARES_ENOTINITIALIZED,
        dns.ARES_EDESTRUCTION,
        dns.ARES_ECANCELLED,
    }
)
_NO_ANSWER: Final = frozenset({dns.ARES_ETIMEOUT, dns.ARES_ESERVFAIL})  # SERVFAIL: also of a forwarder without another
_REFUSED: Final = frozenset({dns.ARES_EREFUSED, dns.ARES_ENOTIMP, dns.ARES_EFORMERR, dns.ARES_EBADRESP})
# Documentation addresses (RFC 5737, RFC 3849). To connect a UDP socket sends nothing: the kernel looks for a route.
_SOMEWHERE: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def local_fault(error: BaseException) -> str | None:
    """The fault of this machine behind an error or a cause of it; None if it is the receiver's.

    A machine without IPv6 is not at fault for a receiver with IPv6 alone: it is only if no public address has a route.
    If there is a route, an address that cannot be assigned means that all ports are in use.
    """
    for cause in _causes(error):
        if isinstance(cause, dns.DNSError):
            if cause.args and cause.args[0] in _NO_RESOLVER:
                return f"no name server can be asked: {cause.args[-1]}"
        elif isinstance(cause, MemoryError):
            return os.strerror(errno.ENOMEM)
        elif isinstance(cause, OSError) and cause.errno is not None:
            if cause.errno in _EXHAUSTED:
                return os.strerror(cause.errno)
            if cause.errno in _UNREACHABLE and not has_route():
                return "no public address has a route"
            if cause.errno == errno.EADDRNOTAVAIL:
                if has_route(socket.AF_INET):
                    return "no port is free for another connection"
                return None if has_route() else "no public address has a route"
    return None


def is_no_answer(error: BaseException) -> bool:
    """True if no name server told whether the name exists."""
    return _is_one_of(_NO_ANSWER | _REFUSED, error)


def has_route(only: socket.AddressFamily | None = None) -> bool:
    """True if a public address, of the one family, has a route. A lack of files counts as a route."""
    return any(_has_route(family, address) for family, address in _SOMEWHERE if only in (None, family))


def _has_route(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
    except OSError as error:
        return error.errno in _EXHAUSTED
    return True


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _is_one_of(codes: Set[int], error: BaseException) -> bool:
    return any(
        isinstance(cause, dns.DNSError) and cause.args[:1] and cause.args[0] in codes for cause in _causes(error)
    )


class ResolverProbe:
    """Checks if any name server answers, when a name got no answer: the fault may be of the name's own servers.

    Each question is for another name. Otherwise c-ares, or a name server, would give the answer from before the fault.
    A name server may know the names of its own network alone, and refuse all others. ``known_name`` is the last
    resolved name: if a question below it is refused as well, everything is.
    """

    def __init__(self, resolve: Callable[[str], Awaitable[object]]) -> None:
        self.known_name: str | None = None
        self._resolve = resolve
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._fault: str | None = None

    async def fault(self) -> str | None:
        """The fault of the resolver, if it is one. At most two questions in 5 s, and at most 2 s for each."""
        async with self._asking:
            clock = asyncio.get_running_loop().time
            if clock() - self._asked_at > _FRESH:
                self._fault = await self._ask()
                self._asked_at = clock()
            return self._fault

    async def _ask(self) -> str | None:
        match await self._answer(_NO_NAMES):
            case "none":
                return "no name server answers"
            case "refused":
                is_all = self.known_name is None or await self._answer(self.known_name) == "refused"
                return "the name server refuses all questions" if is_all else None
            case "given":
                return None
            case other:
                assert_never(other)

    async def _answer(self, domain: str) -> Literal["given", "refused", "none"]:
        """The answer to a question for a name below this domain; NXDOMAIN is an answer too."""
        try:
            async with asyncio.timeout(_LONGEST_PROBE):
                await self._resolve(f"{token_hex(8)}.{domain}")
        except TimeoutError:
            return "none"
        except OSError as error:
            if _is_one_of(_REFUSED, error):
                return "refused"
            return "none" if is_no_answer(error) or local_fault(error) is not None else "given"
        return "given"
