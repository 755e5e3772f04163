"""One transaction for all that an answer reads of the log, and for the record of it: one commit ends both."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from svc_pg.console.database.pool import Database


class SharedTransaction:
    """A connection of ``database``, from its first use to the end of the answer.

    An error ends its transaction, and the next use begins another; so does a page that was cut.
    """

    def __init__(self, database: Database) -> None:
        self._database: Final = database
        self._conn: AsyncConnection[Any] | None = None
        self._stack = AsyncExitStack()
        self._is_used = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """As ``Database.connection``.

        Raises RuntimeError while it is in use: answers that held one connection and waited for another could do so
        until none goes on.
        """
        if self._is_used:
            raise RuntimeError("the reads of one answer use its connection one after another")
        self._is_used = True
        try:
            if self._conn is None:
                self._conn = await self._stack.enter_async_context(self._database.connection())
            yield self._conn
            if self._conn.info.transaction_status != TransactionStatus.INTRANS:
                await self._end()
        except BaseException:
            self._conn = None
            if not await self._stack.__aexit__(*sys.exc_info()):  # which explains errors of the database
                raise
        finally:
            self._is_used = False

    @asynccontextmanager
    async def apart(self) -> AsyncIterator[AsyncConnection[Any]]:
        """As ``connection``, in a transaction that ends with the block, because its settings are not for others."""
        await self._end()
        async with self.connection() as conn:
            yield conn
        await self._end()

    @asynccontextmanager
    async def whole(self) -> AsyncIterator[None]:
        """Commit at the end of the block; roll back after an error."""
        async with self._stack:
            yield

    async def _end(self) -> None:
        self._conn = None
        await self._stack.aclose()


_shared: ContextVar[SharedTransaction | None] = ContextVar("svc_pg_shared_transaction", default=None)


@asynccontextmanager
async def sharing(database: Database) -> AsyncIterator[None]:
    """Let the block's reads of the log share a transaction. It needs no other connection while it has that one."""
    shared = SharedTransaction(database)
    token = _shared.set(shared)
    try:
        async with shared.whole():
            yield
    finally:
        _shared.reset(token)


def shared_transaction() -> SharedTransaction | None:
    """The transaction that this code shares, if there is one."""
    return _shared.get()
