"""Ask two questions of a page at the same time: each waits for the database, and holds one connection of its own."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from svc_pg.console.http.concurrently import concurrently
from svc_pg.console.pages.page_request import PageRequest

First = TypeVar("First")
Second = TypeVar("Second")


async def both(
    request: PageRequest, first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]
) -> tuple[First, Second]:
    """The answers of both. Raises the error of the first, else that of the second, as if they were asked in turn.

    They are, if the pages of the session have as many connections as leave some to other sessions.
    """
    with request.api.second() as has_second:
        return await (concurrently(first, second) if has_second else _in_turn(first, second))


async def _in_turn(first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]) -> tuple[First, Second]:
    try:
        return await first, await second
    finally:
        second.close()  # if the first failed
