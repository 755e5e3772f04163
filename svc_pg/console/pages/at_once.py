"""Ask two questions of a page at the same time: each waits for the database, and holds one connection of its own."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

First = TypeVar("First")
Second = TypeVar("Second")


async def both(first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]) -> tuple[First, Second]:
    """The answers of both. Raises the error of the first, else that of the second, as if they were asked in turn."""
    later = asyncio.create_task(second)
    try:
        return await first, await later
    except BaseException:  # also if nobody waits any more
        later.cancel()
        await asyncio.gather(later, return_exceptions=True)
        raise
