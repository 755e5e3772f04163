"""End a stream soon after its session: it may last long, and was allowed at its beginning."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from svc_pg.console.http.requests import Problem

CHECK_SECONDS: Final = 3
CHECK_TIMEOUT_SECONDS: Final = 1.5


class SessionEnded(Exception):
    """The session of a file ended while it was being sent: the server cuts the connection, so the end is missing."""


async def until_ended(
    parts: AsyncIterator[bytes], find: Callable[[], Awaitable[object]], *, is_file: bool = False
) -> AsyncIterator[bytes]:
    """``parts``, until ``find`` raises Problem because the session has ended: within 5 seconds.

    An answer that does not come in time counts as none: the client asks again, and then has to show its session. A file
    that is cut short raises SessionEnded.
    """
    iterator = aiter(parts)
    part = asyncio.ensure_future(_next(iterator))
    checked_at = time.monotonic()
    try:
        while True:
            await asyncio.wait({part}, timeout=max(0.0, checked_at + CHECK_SECONDS - time.monotonic()))
            if time.monotonic() >= checked_at + CHECK_SECONDS:
                if not await _is_live(find):
                    if is_file:
                        raise SessionEnded
                    return
                checked_at = time.monotonic()
            if part.done():
                found = part.result()
                if found is None:
                    return
                yield found
                part = asyncio.ensure_future(_next(iterator))
    finally:
        part.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await part
        closable: Any = parts
        async with aclosing(closable):
            pass


async def _next(parts: AsyncIterator[bytes]) -> bytes | None:
    return await anext(parts, None)


async def _is_live(find: Callable[[], Awaitable[object]]) -> bool:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            await find()
    except (Problem, TimeoutError):
        return False
    return True
