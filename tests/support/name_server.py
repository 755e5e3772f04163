"""A DNS server on this machine with answers from a test, or none."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Final, cast

SERVFAIL: Final = 2
NXDOMAIN: Final = 3
REFUSED: Final = 5
Addresses = Callable[[str], Sequence[str] | int | None]
"""The addresses of a name, of either version; the code of an error; None if the server shall never answer."""

_HEADER_SIZE: Final = 12
_VERSIONS: Final = {1: 4, 28: 6}  # of the addresses that A and AAAA ask for


@asynccontextmanager
async def name_server(addresses: Addresses) -> AsyncIterator[str]:
    """Enter to get its address, as host:port.

    Its answers must not be cached: their TTL is 0. But NXDOMAIN may be cached for a day, as of real servers.
    """
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Server(addresses), local_addr=("127.0.0.1", 0))
    try:
        yield f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"
    finally:
        transport.close()


class _Server(asyncio.DatagramProtocol):
    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        name, end = _name(data)
        kind = int.from_bytes(data[end : end + 2])
        known = self._addresses(name)
        if isinstance(known, int):
            self._transport.sendto(_error(data[:2], data[_HEADER_SIZE : end + 4], known), sender)
        elif known is not None:
            found = [ip.packed for ip in map(ip_address, known) if ip.version == _VERSIONS.get(kind)]
            self._transport.sendto(_answer(data[:2], data[_HEADER_SIZE : end + 4], kind, found), sender)


def _name(query: bytes) -> tuple[str, int]:
    """The name in the question, and the position after it."""
    labels, position = [], _HEADER_SIZE
    while size := query[position]:
        labels.append(query[position + 1 : position + 1 + size].decode())
        position += 1 + size
    return ".".join(labels).lower(), position + 1


def _answer(number: bytes, question: bytes, kind: int, found: Sequence[bytes]) -> bytes:
    """RFC 1035, 4: a header, the question, and resources whose name points to that of the question."""
    header = number + b"\x81\x80" + (1).to_bytes(2) + len(found).to_bytes(2) + b"\0\0\0\0"
    fixed = b"\xc0\x0c" + kind.to_bytes(2) + b"\0\x01" + b"\0\0\0\0"
    return header + question + b"".join(fixed + len(address).to_bytes(2) + address for address in found)


def _error(number: bytes, question: bytes, code: int) -> bytes:
    """RFC 2308, 3: with the SOA of the root, whose times say how long it may be kept."""
    header = number + b"\x81" + (0x80 | code).to_bytes(1) + (1).to_bytes(2) + b"\0\0" + (1).to_bytes(2) + b"\0\0"
    day = (86_400).to_bytes(4)
    start = b"\0\0" + (1).to_bytes(4) + day * 4
    return header + question + b"\0\0\x06\0\x01" + day + len(start).to_bytes(2) + start
