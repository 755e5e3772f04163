"""Call a handler, sync or async."""

import inspect
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse

Request = TypeVar("Request", bound=ConsoleRequest)


async def call(handler: Callable[[Request], object], request: Request) -> ConsoleResponse:
    """The response of a handler; a sync one runs in a thread. Raises TypeError if it answers with anything else."""
    is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)
    response = handler(request) if is_async else await run_in_threadpool(handler, request)
    if inspect.isawaitable(response):
        response = await response
    if not isinstance(response, ConsoleResponse):
        raise TypeError(f"the handler returned {type(response).__name__}, not a ConsoleResponse")
    return response
