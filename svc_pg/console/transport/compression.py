"""Compress answers with gzip (RFC 1952), but those that another site could make grow and measure (BREACH).

An answer is compressed if its route says so, which none does that is made to show a secret, and if no page of another
site can have made the browser ask for it. Its length is blurred besides, as Django blurs it ("Heal the Breach").
"""

import asyncio
import secrets
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from struct import pack
from typing import Final

from starlette.datastructures import Headers

from svc_pg.console.http.requests import EncodedResponse

LEVEL: Final = 3
"""A page takes a third of the time of zlib's default, 6, and a tenth more bytes."""
MINIMUM_BYTES: Final = 1024
"""Shorter answers are sent as they are: they fit into one packet."""
PART_BYTES: Final = 64 * 1024
_PADDING: Final = 100

_NAMED: Final = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"  # deflate, with a file name, of no time and an unknown system
_OWN_SITES: Final = ("same-origin", "none")


def compressed(answer: EncodedResponse, asked: Headers) -> EncodedResponse:
    """The answer, compressed if it may be and the client accepts that. A long one is compressed as it is sent."""
    if answer.compression == "never":
        return answer
    answer.headers.add_vary_header("Accept-Encoding")
    content, headers = answer.content, answer.headers
    is_short = isinstance(content, bytes) and len(content) < MINIMUM_BYTES
    is_marked = "content-encoding" in headers or "etag" in headers  # a strong tag is one of these very bytes
    if is_short or is_marked or not accepts_gzip(asked):
        return answer
    if answer.compression == "own" and not _is_own(asked):
        return answer
    headers["Content-Encoding"] = "gzip"
    padding = 0 if answer.compression == "always" else secrets.randbelow(_PADDING)
    if isinstance(content, bytes) and len(content) <= PART_BYTES:
        return replace(answer, content=gzip_member(content, padding=padding))
    return replace(answer, content=_parts(content, padding))


def _is_own(asked: Headers) -> bool:
    """True if no page of another site can have asked: the browser says so, or a program that has a token.

    Browsers add the credentials of Basic to whatever another site asks for; to Bearer they add nothing.
    """
    site = asked.get("sec-fetch-site")
    return site in _OWN_SITES if site else asked.get("authorization", "").lower().startswith("bearer ")


def accepts_gzip(asked: Headers) -> bool:
    """True if the client accepts gzip, and not rather an answer as it is (RFC 9110, section 12.5.3)."""
    weights: dict[str, float] = {}
    for each in ",".join(asked.getlist("accept-encoding")).lower().split(","):
        name, _, parameter = each.partition(";")
        weights[name.strip()] = _weight(parameter)
    gzip = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0)))
    return gzip > 0 and gzip >= weights.get("identity", 0.0)


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


def gzip_member(content: bytes, *, level: int = LEVEL, padding: int = 0) -> bytes:
    """The content as one file of gzip, with a name of ``padding`` characters."""
    member = _Member(level, padding)
    return member.begin() + member.add(content) + member.end()


class _Member:
    """One file of gzip, written in parts."""

    def __init__(self, level: int, padding: int) -> None:
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._padding, self._crc, self._size = padding, 0, 0

    def begin(self) -> bytes:
        return _NAMED + b"a" * self._padding + b"\0"

    def add(self, content: bytes) -> bytes:
        self._crc = zlib.crc32(content, self._crc)
        self._size += len(content)
        return self._deflate.compress(content)

    def flush(self) -> bytes:
        """All that was added and not given out, so that the client can read it now."""
        return self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._deflate.flush() + pack("<LL", self._crc, self._size & 0xFFFFFFFF)


async def _parts(content: bytes | AsyncIterator[bytes], padding: int) -> AsyncIterator[bytes]:
    """The compressed parts. What is made as it is sent is flushed with each of its parts; if it breaks off, so do they.

    A part of the answer is compressed in the loop, in less than 2 ms: the server asks for the next when the client has
    taken the one before, and others have their turn after a part that compresses to nothing.
    """
    member = _Member(LEVEL, padding)
    yield member.begin()
    if isinstance(content, bytes):
        async for part in _added(member, content):
            yield part
    else:
        async for piece in content:
            async for part in _added(member, piece):
                yield part
            yield member.flush()
    yield member.end()


async def _added(member: _Member, content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), PART_BYTES):
        if part := member.add(content[start : start + PART_BYTES]):
            yield part
        else:
            await asyncio.sleep(0)
