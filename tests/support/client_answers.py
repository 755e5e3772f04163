"""Servers of the API for its clients, which answer with given bytes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.support.raw_receiver import Answer, in_a_thread

EMPTY: Final = b'{"data": [], "nextCursor": null, "prevCursor": null}'
"""A page of a list, without rows."""


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer with its length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def serving(behaviour: Answer) -> Iterator[str]:
    """Serve so; enter to get the ``base_url`` of a client."""
    with in_a_thread(behaviour) as url:
        yield url.removesuffix("/hook")
