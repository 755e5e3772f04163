"""Ports for servers of tests."""

import random
import socket
from collections.abc import Iterator
from itertools import islice
from typing import Final

_PORTS: Final = range(20_000, 32_000)
"""Below those that systems give to connections, or one could have the port before the server does."""


def free_port() -> int:
    """A free port of 127.0.0.1."""
    return next(_free())


def free_ports(number: int) -> list[int]:
    """So many free ports of 127.0.0.1, each another one."""
    return list(islice(_free(), number))


def _free() -> Iterator[int]:
    """Free ports in a random order, because other processes look for one at the same time."""
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        yield port
