"""Change something once, however often its form is sent: the form is recorded in the transaction of the change."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from hashlib import sha256
from types import TracebackType
from typing import Any, Final, LiteralString, Self

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

Connecting = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]
"""Opens a connection with a transaction of its own."""

_RECORD: Final[LiteralString] = "select svc.console_form(%s, %s)"
_KEEP: Final[LiteralString] = "update svc.console_forms set answer = %s where digest = %s"
_FORGET: Final[LiteralString] = "delete from svc.console_forms where digest = %s"
_KEPT: Final[LiteralString] = """
select coalesce(answer, '') from svc.console_forms where digest = %s and sent_at >= now() - interval '1 day'
"""


class AlreadyMadeError(Exception):
    """The form was sent before. ``answer`` is the answer that was kept; it may be empty."""

    def __init__(self, answer: str) -> None:
        super().__init__("the form was sent before")
        self.answer = answer


class Once:
    """The transaction of a form: it begins with the first change, and ends with the block, after the answer is kept.

    ``digest`` tells the form from all others, of this session and of others. If the block raises, nothing is changed,
    and the form may be sent again.
    """

    def __init__(self, connecting: Connecting, digest: bytes, *, session_id: str) -> None:
        self._connecting = connecting
        self._digest = digest
        self._session_hash = sha256(session_id.encode()).digest()
        self._stack = AsyncExitStack()
        self._conn: AsyncConnection[Any] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[AsyncConnection[Any]]:
        """The connection of the transaction. Raises AlreadyMadeError if the form was sent before, or is now.

        If the block raises, its changes are undone, and its connection is free again.
        """
        if self._conn is not None:
            async with self._conn.transaction():
                yield self._conn
            return
        async with AsyncExitStack() as stack:
            conn = await stack.enter_async_context(self._connecting())
            recorded = await _scalar(conn, _RECORD, self._digest, self._session_hash)
            if recorded is not None:
                raise AlreadyMadeError(recorded)
            yield conn
            # what the database would refuse at the commit it refuses here, where the reason can be told
            await conn.execute("set constraints all immediate")
            self._conn, self._stack = conn, stack.pop_all()

    async def keep(self, answer: str) -> None:
        """Keep the answer for when the form is sent again, if it has changed anything."""
        if self._conn is not None:
            await self._conn.execute(_KEEP, (answer, self._digest))

    async def forget(self) -> None:
        """Let the form be sent again, though its changes stay."""
        if self._conn is not None:
            await self._conn.execute(_FORGET, (self._digest,))

    async def kept(self) -> str | None:
        """The answer that was kept, empty if there was none; None if the form was not sent before."""
        async with self._connecting() as conn:
            return await _scalar(conn, _KEPT, self._digest)


async def _scalar(conn: AsyncConnection[Any], statement: LiteralString, *params: object) -> str | None:
    cursor = conn.cursor(row_factory=scalar_row)
    found: str | None = await (await cursor.execute(statement, params)).fetchone()
    return found
