"""The products that the console offers: those registered, without webhooks if its database has none."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from psycopg import Error

from svc_pg.console.database import Database
from svc_pg.console.reachability import PING_SECONDS
from svc_pg.console.requests import Problem
from svc_pg.database.query import afetch_one
from svc_pg.status.webhooks_installed import webhooks_installed

REMEMBERED_SECONDS: Final = 1
_FIRST_SECONDS: Final = PING_SECONDS
_LONGEST_SECONDS: Final = 0.5


class OfferedProducts:
    """Asks the database at most once a second, because anybody may ask this.

    All who ask first wait for the answer together, as long as a database has to be reached; later one alone waits, and
    for less. A database that does not answer is taken for one that is as it was, at first with webhooks.
    """

    def __init__(self, database: Database, registered: Callable[[], Sequence[str]]) -> None:
        self._database = database
        self._registered = registered
        self._asking = asyncio.Lock()
        self._has_webhooks: bool | None = None
        self._asked_at = float("-inf")

    async def ids(self) -> Sequence[str]:
        """The ids of the products, in the order of registration. Never raises."""
        if self._database.is_opened and (self._has_webhooks is None or not self._asking.locked()):
            async with self._asking:
                if time.monotonic() > self._asked_at + REMEMBERED_SECONDS:
                    await self._ask(_LONGEST_SECONDS if self._asked_at > 0 else _FIRST_SECONDS)
                    self._asked_at = time.monotonic()
        return [each for each in self._registered() if each != "webhooks" or self._has_webhooks is not False]

    async def _ask(self, longest: float) -> None:
        with suppress(Problem, Error, TimeoutError):
            async with asyncio.timeout(longest), self._database.connection() as conn:
                self._has_webhooks = await afetch_one(conn, webhooks_installed())
