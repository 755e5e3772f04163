"""Do two things at the same time."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

First = TypeVar("First")
Second = TypeVar("Second")


@asynccontextmanager
async def meanwhile(work: Coroutine[Any, Any, Second]) -> AsyncIterator[asyncio.Task[Second]]:
    """Begin work when the block first waits, and await it at its end. After an error of the block it is cancelled."""
    task = asyncio.create_task(work)
    try:
        yield task
        await task
    except BaseException:  # also if nobody waits any more
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise


async def concurrently(first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]) -> tuple[First, Second]:
    """The results of both. Raises the error of the first, else that of the second, as if they were awaited in turn."""
    async with meanwhile(second) as later:
        result = await first
    return result, later.result()
