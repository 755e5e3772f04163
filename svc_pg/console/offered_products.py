"""The products that the console offers: those registered, without webhooks if its database has none."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from psycopg import Error

from svc_pg.console.database import Database
from svc_pg.console.requests import Problem

REMEMBERED_SECONDS: Final = 1
_LONGEST_SECONDS: Final = 0.5


class OfferedProducts:
    """Asks the database at most once a second, because anybody may ask this, and no more once it has webhooks.

    A database that does not answer is taken for one that is as it was, at first with webhooks.
    """

    def __init__(self, database: Database, registered: Callable[[], Sequence[str]]) -> None:
        self._database = database
        self._registered = registered
        self._has_webhooks = True
        self._asked_at = float("-inf")

    async def ids(self) -> Sequence[str]:
        """The ids of the products, in the order of registration. Never raises."""
        if self._database.is_opened and time.monotonic() > self._asked_at + REMEMBERED_SECONDS:
            self._asked_at = time.monotonic()  # others are not kept waiting meanwhile
            self._has_webhooks = await self._ask()
        return [each for each in self._registered() if each != "webhooks" or self._has_webhooks]

    async def _ask(self) -> bool:
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                return await self._database.finds_webhooks()
        except (Problem, Error, TimeoutError):
            return self._has_webhooks
