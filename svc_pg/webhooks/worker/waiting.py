"""Wait for an answer, unless an event comes first."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Answer = TypeVar("Answer")


async def before(waiting: Awaitable[Answer], *events: asyncio.Event) -> Answer | None:
    """Wait for an answer; None if one of the events comes first."""
    answering = asyncio.ensure_future(waiting)
    tasks = {answering, *(asyncio.create_task(event.wait()) for event in events)}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
