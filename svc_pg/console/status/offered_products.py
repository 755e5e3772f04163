"""The products that the console offers: those registered, without one that its database lacks."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from psycopg import Error

from svc_pg.console.database.pool import Database
from svc_pg.console.database.reachability import PING_SECONDS
from svc_pg.console.http.requests import Problem
from svc_pg.database.query import afetch_one
from svc_pg.status.installed_products import InstalledProducts, installed_products

REMEMBERED_SECONDS: Final = 1
_FIRST_SECONDS: Final = PING_SECONDS
_LONGEST_SECONDS: Final = 0.5


class OfferedProducts:
    """Asks the database at most once a second, because anybody may ask this.

    All who ask first wait for the answer together, as long as a database has to be reached; later one alone waits, and
    for less. A database that does not answer is taken for one that is as it was, at first with both products. An audit
    log that is not here is in another database, which is not asked.
    """

    def __init__(
        self, database: Database, registered: Callable[[], Sequence[str]], *, is_log_here: bool = True
    ) -> None:
        self._database = database
        self._registered = registered
        self._asking = asyncio.Lock()
        self._is_log_here = is_log_here
        self._installed: InstalledProducts | None = None
        self._asked_at = float("-inf")

    async def ids(self) -> Sequence[str]:
        """The ids of the products, in the order of registration. Never raises."""
        if self._database.is_opened and (self._installed is None or not self._asking.locked()):
            async with self._asking:
                if time.monotonic() > self._asked_at + REMEMBERED_SECONDS:
                    await self._ask(_LONGEST_SECONDS if self._asked_at > 0 else _FIRST_SECONDS)
                    self._asked_at = time.monotonic()
        return [each for each in self._registered() if not self._lacks(each)]

    def _lacks(self, product: str) -> bool:
        if self._installed is None:
            return False
        lacks_audit = self._is_log_here and not self._installed.has_audit
        return {"audit": lacks_audit, "webhooks": not self._installed.has_webhooks}.get(product, False)

    async def _ask(self, longest: float) -> None:
        with suppress(Problem, Error, TimeoutError):
            async with asyncio.timeout(longest), self._database.connection() as conn:
                self._installed = await afetch_one(conn, installed_products())
