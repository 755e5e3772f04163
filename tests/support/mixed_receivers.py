"""Receivers of every kind at once, with the request's id in their answers."""

import asyncio
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Final

from svc_pg.webhooks.http.transport import Destination, Request, Result, Transport
from tests.support.raw_receiver import Answer, dripping, flooding, read_request, receiver, silence
from tests.support.transports import send

_TIMEOUT: Final = timedelta(seconds=5)
_SHORT: Final = timedelta(milliseconds=200)
_SEED: Final = 1


def _echo(response: bytes, *, is_last: bool = False, is_split: bool = True) -> Answer:
    """Answer with these bytes, with the request's id, which has a fixed length, in place of ID."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            lines, _ = await read_request(reader)
            [number] = [line.partition(": ")[2] for line in lines if line.startswith("x-id: ")]
            whole = response.replace(b"ID", number.encode())
            cut = random.randrange(len(whole)) if is_split else 0
            writer.write(whole[:cut])
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(whole[cut:])
            if is_last:
                return

    return answer


async def _reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


_HEAD: Final = b"HTTP/1.1 200 OK\r\n"
_GOOD: Final[Mapping[str, Answer]] = {
    "kept": _echo(_HEAD + b"Content-Length: 8\r\n\r\nID"),
    "chunked": _echo(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n8\r\nID\r\n0\r\n\r\n"),
    "closed": _echo(_HEAD + b"Content-Length: 8\r\nConnection: close\r\n\r\nID", is_last=True),
    "dropped": _echo(_HEAD + b"Content-Length: 8\r\n\r\nID", is_last=True),
    "old": _echo(b"HTTP/1.0 200 OK\r\n\r\nID", is_last=True),
    "interim": _echo(b"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" + _HEAD + b"Content-Length: 8\r\n\r\nID"),
    "followed": _echo(_HEAD + b"Content-Length: 8\r\n\r\nIDHTTP/1.1 500 No\r\n\r\n", is_split=False),
}
_BAD: Final[Mapping[str, tuple[Answer, str]]] = {
    "silent": (silence, "timeout"),
    "slow": (dripping(_HEAD, b"x: a\r\n"), "timeout"),
    "reset": (_reset, "connect_error"),
    "garbage": (_echo(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "http_error"),
    "broken": (_echo(_HEAD + b"Content-Length: 99\r\n\r\nID", is_last=True), "connect_error"),
    "extended": (flooding(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a"), "connect_error"),
    "endless": (flooding(b"", b"HTTP/1.1 102 Processing\r\n\r\n"), "http_error"),
}


@asynccontextmanager
async def mixed_receivers() -> AsyncIterator[dict[str, Destination]]:
    """The destinations by kind."""
    async with AsyncExitStack() as stack:
        found = {}
        for kind, answer in _GOOD.items():
            address = await stack.enter_async_context(receiver(answer))
            found[kind] = Destination(f"http://{address}/{kind}", timeout=_TIMEOUT)
        for kind, (answer, _) in _BAD.items():
            address = await stack.enter_async_context(receiver(answer))
            found[kind] = Destination(f"http://{address}/{kind}", timeout=_SHORT)
        yield found


async def soak(transport: Transport, destinations: Mapping[str, Destination], *, requests: int) -> Counter[str]:
    """Send a number of requests to all of them in turn, and return the number of wrong results by kind."""
    chosen = random.Random(_SEED).choices(list(destinations), k=requests)
    wrong: Counter[str] = Counter()
    slots = asyncio.Semaphore(100)

    async def one(number: int, kind: str) -> None:
        async with slots:
            request = Request(destinations[kind], b"{}", {"x-id": f"{number:08}"})
            result = await send(transport, request)
        if not _is_right(kind, number, result):
            wrong[f"{kind}: {result.outcome} {result.body!r} {result.error}"] += 1

    await asyncio.gather(*(one(number, kind) for number, kind in enumerate(chosen)))
    return wrong


def _is_right(kind: str, number: int, result: Result) -> bool:
    if kind in _GOOD:
        return (result.outcome, result.body) == ("success", f"{number:08}")
    return result.outcome in (_BAD[kind][1], "timeout")  # on a busy machine a flood may not get as far as its limit
