"""Put the console in front of any ASGI application, whether or not that has a lifespan of its own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc_pg.console.transport.prefix import PrefixMiddleware

logger = logging.getLogger("svc_pg.console")


class Wrapped:
    """An ASGI application with the console in front of it; the console lives longer than the application does."""

    def __init__(
        self, app: ASGIApp, *, console: ASGIApp, lifespan: Callable[[], AbstractAsyncContextManager[None]]
    ) -> None:
        self._app = app
        self._serving = PrefixMiddleware(app, console)
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, or live from start-up to shutdown (ASGI)."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        else:
            await self._serving(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        phase = "startup"
        try:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._lifespan())
                await stack.enter_async_context(_lifespan_of(self._app, scope))
                await send({"type": "lifespan.startup.complete"})
                await receive()
                phase = "shutdown"
        except Exception as error:
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def _lifespan_of(app: ASGIApp, scope: Scope) -> AsyncIterator[None]:
    """Run an application's lifespan, if it has one: it raises at once if not, as Django's does."""
    told: asyncio.Queue[Message] = asyncio.Queue()
    answers: asyncio.Queue[Message] = asyncio.Queue()
    task = asyncio.create_task(_lived(app, scope, told.get, answers.put))
    is_live = False
    try:
        await told.put({"type": "lifespan.startup"})
        is_live = await _answer(task, answers, "startup")
        yield
    finally:
        if is_live:
            await told.put({"type": "lifespan.shutdown"})
            await _answer(task, answers, "shutdown")
        task.cancel()
        await asyncio.wait({task})


async def _lived(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    try:
        await app(scope, receive, send)
    except Exception:  # what it failed in, it has said before
        logger.debug("the application's lifespan ended", exc_info=True)


async def _answer(task: "asyncio.Task[None]", answers: "asyncio.Queue[Message]", phase: str) -> bool:
    """True if the application answered before it ended. Raises RuntimeError if it has failed."""
    asking = asyncio.create_task(answers.get())
    await asyncio.wait({task, asking}, return_when=asyncio.FIRST_COMPLETED)
    if not asking.done():
        asking.cancel()
        return False
    answer: dict[str, Any] = dict(asking.result())
    if answer["type"] == f"lifespan.{phase}.failed":
        raise RuntimeError(f"the application's {phase} failed: {answer.get('message', '')}")
    return True
