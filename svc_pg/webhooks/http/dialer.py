"""Open connections to receivers: resolve, ask the guard about each address, connect, shake hands."""

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SO_RCVBUF, SOCK_STREAM, SOL_SOCKET, socket
from typing import Final

import aiohappyeyeballs

from svc_pg.webhooks.http import hang_ups
from svc_pg.webhooks.http.connection import Connection, NoConnection
from svc_pg.webhooks.http.contexts import Contexts, UnusableTls
from svc_pg.webhooks.http.guard import AddrInfo, BlockedAddress, Guard
from svc_pg.webhooks.http.local_faults import ResolverProbe, is_no_answer, local_fault
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.resolver import Resolver
from svc_pg.webhooks.http.response import MAX_BODY_BYTES
from svc_pg.webhooks.http.route import Site
from svc_pg.webhooks.http.transport import Outcome
from svc_pg.webhooks.http.tunnel import tunnel

_NEXT_ADDRESS: Final = 0.25  # seconds to wait for one address before another is tried as well (RFC 8305)


@dataclass(slots=True)
class Dial:
    """One attempt to open a connection, with the last address of the receiver that it tried; None behind a proxy."""

    site: Site
    remote_ip: str | None = None
    is_resolved: bool = False
    is_reached: bool = False  # the receiver or the proxy
    blocked: BlockedAddress | None = None
    refused: OSError | None = None  # the socket that this machine did not give


class Dialer:
    """Opens connections to addresses that a guard allows, or through a proxy, which may have any address."""

    def __init__(self, guard: Guard, proxy: Proxy | None) -> None:
        self._guard = guard
        self._proxy = proxy
        self._loop = asyncio.get_running_loop()
        self._contexts = Contexts()
        self._resolver = Resolver()
        self._probe = ResolverProbe(self._resolver.resolve)

    async def open(self, dial: Dial, make: Callable[[], Connection], within: float, late: str) -> Connection:
        """A new connection, made with ``make``, within ``within`` seconds. Raises NoConnection.

        ``late`` is the error after that time. A check of the resolver takes up to 4 s more.
        """
        try:
            async with asyncio.timeout(within):
                return await self._open(dial, make)
        except NoConnection as error:
            failure = error
        except TimeoutError as error:
            failure = NoConnection("timeout", late)
            failure.__cause__ = error
        fault = local_fault(dial.refused or failure)
        if fault is None and not dial.is_resolved and (failure.outcome == "timeout" or is_no_answer(failure)):
            fault = await self._probe.fault()
        if fault is None and failure.outcome == "timeout" and self._proxy is not None and not dial.is_reached:
            fault = "cannot connect to the proxy: it does not answer"
        raise failure if fault is None else NoConnection("local_error", fault)

    async def close(self) -> None:
        """Break off all lookups."""
        await self._resolver.close()

    async def _open(self, dial: Dial, make: Callable[[], Connection]) -> Connection:
        site = dial.site
        try:
            context = self._contexts.of(site.tls) if site.is_tls else None
        except UnusableTls as error:
            raise NoConnection("tls_error", str(error)) from error
        connected = await self._connected(dial)
        if self._proxy is not None and context is not None:
            try:
                await tunnel(self._proxy, site, connected)
            except BaseException:
                connected.close()
                raise
        try:
            _, connection = await self._loop.create_connection(make, sock=connected)
            if self._proxy is not None:
                connection.remote_ip = None
            if context is not None:
                await _encrypted(connection, context, site)
        except ssl.SSLError as error:
            raise NoConnection("tls_error", f"no TLS connection to {site.host}: {error.strerror or error}") from error
        except (OSError, RuntimeError) as error:  # uvloop's may be a RuntimeError
            raise NoConnection("connect_error", f"cannot connect to {site.host}: {_reason(error)}") from error
        return connection

    async def _connected(self, dial: Dial) -> socket:
        """A socket connected to the receiver, or to the proxy, whose failure does not count against the receiver."""
        host, port, *_ = dial.site
        end = host
        if self._proxy is not None:
            host, port, end = self._proxy.host, self._proxy.port, "the proxy"
        try:
            addresses = await self._addresses(host, port)
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a name"
            raise self._no_connection("dns_error", f"cannot resolve {end}: {reason}") from error
        dial.is_resolved = True
        try:
            connected = await aiohappyeyeballs.start_connection(
                addresses, happy_eyeballs_delay=_NEXT_ADDRESS, socket_factory=lambda info: self._socket(dial, info)
            )
        except (OSError, RuntimeError) as error:
            if dial.blocked is not None:
                raise NoConnection("blocked", str(dial.blocked.strerror)) from error
            raise self._no_connection("connect_error", f"cannot connect to {end}: {_reason(error)}") from error
        dial.is_reached = True
        return connected

    def _no_connection(self, outcome: Outcome, error: str) -> NoConnection:
        return NoConnection(outcome if self._proxy is None else "local_error", error)

    async def _addresses(self, host: str, port: int) -> list[AddrInfo]:
        try:
            ip = ip_address(host)
        except ValueError:
            found = await self._resolver.resolve(host)
            self._probe.known_name = host
            return [(*info[:4], (info[4][0], port, *info[4][2:])) for info in found]
        if ip.version == 4:
            return [(AF_INET, SOCK_STREAM, IPPROTO_TCP, "", (host, port))]
        return [(AF_INET6, SOCK_STREAM, IPPROTO_TCP, "", (host, port, 0, 0))]

    def _socket(self, dial: Dial, addr_info: AddrInfo) -> socket:
        try:
            if self._proxy is None:
                dial.remote_ip = str(addr_info[4][0])
                made = self._guard.given_by(dial.site.url_by).socket_factory(addr_info)
            else:  # the operator's, with any address
                made = socket(*addr_info[:3])
        except BlockedAddress as error:  # noted, because the errors of several addresses are merged into one
            dial.blocked = error
            raise
        except OSError as error:
            dial.refused = error
            raise
        made.setsockopt(SOL_SOCKET, SO_RCVBUF, MAX_BODY_BYTES)  # so that a flood costs little until it is cut off
        return made


def _reason(error: OSError | RuntimeError) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else "none of its addresses accepts"


async def _encrypted(connection: Connection, context: ssl.SSLContext, site: Site) -> None:
    try:
        await connection.encrypt(context, site.host)
    except ConnectionError as error:
        raise NoConnection("tls_error", hang_ups.in_handshake(site.host, site.tls)) from error
