"""Tasks that no answer waits for."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


class Background:
    """Runs tasks beside the answers. Its length is the number of those under way."""

    def __init__(self, *, shutdown_seconds: float) -> None:
        self._shutdown_seconds = shutdown_seconds
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work, which handles its own errors, as soon as there is nothing else to do."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Wait, at the end of the block and for a limited time, for the tasks under way."""
        try:
            yield
        finally:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self._shutdown_seconds)
