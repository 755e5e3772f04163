"""A worker's connections, with a limit for every wait, so that a silent server cannot block them."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection, OperationalError
from psycopg.abc import PQGen

from svc_pg.database import datestyle
from svc_pg.database.application_names import of_worker
from svc_pg.database.conninfo import NEVER_PREPARE, Conninfo

Answer = TypeVar("Answer")

_LONGEST_CONNECT: Final = 300.0  # seconds for all hosts and addresses; connect_timeout bounds each
_LONGEST_CANCEL: Final = 1.0  # seconds
_LONGEST_STATEMENT: Final = 30.0  # seconds; those that wait for a lock end after 5


class Connection(AsyncConnection[Any]):
    """A connection that breaks off if the server does not answer a statement within ``longest`` seconds.

    ``answered_at`` is the monotonic time of its last answer.
    """

    longest: float = _LONGEST_STATEMENT
    answered_at: float = 0.0
    _is_silent: bool = False

    async def wait(self, gen: PQGen[Answer], *args: Any, **options: Any) -> Answer:
        """As AsyncConnection.wait, for a limited time. Raises OperationalError after that."""
        timer = asyncio.get_running_loop().call_later(self.longest, self._give_up)
        try:
            answer = await super().wait(gen, *args, **options)
        except OperationalError:
            if self._is_silent:
                raise OperationalError(f"no answer within {self.longest:g} s") from None
            raise
        finally:
            timer.cancel()
        self.answered_at = time.monotonic()
        return answer

    async def cancel_safe(self, *, timeout: float = _LONGEST_CANCEL) -> None:  # noqa: ASYNC109 - psycopg's
        """As AsyncConnection.cancel_safe, for a limited time. If it fails, the connection is broken off."""
        try:
            await super().cancel_safe(timeout=min(timeout, _LONGEST_CANCEL))
        except psycopg.Error:
            break_off(self)
            raise

    def _give_up(self) -> None:
        self._is_silent = True
        break_off(self)


@asynccontextmanager
async def connected(conninfo: Conninfo, *, longest: float | None = None) -> AsyncIterator[Connection]:
    """Enter to open a connection in autocommit; leaving closes it.

    ``longest`` is the limit of each statement, and of connecting, in seconds. Raises OperationalError.
    """
    try:
        async with asyncio.timeout(longest or _LONGEST_CONNECT):
            conn = await Connection.connect(
                conninfo.bounded,
                fallback_application_name=of_worker(),
                autocommit=True,
                prepare_threshold=NEVER_PREPARE,
            )
    except TimeoutError as error:
        raise OperationalError("no connection in time") from error
    conn.longest = longest or _LONGEST_STATEMENT
    conn.answered_at = time.monotonic()
    try:
        await datestyle.achoose(conn)
        yield conn
    finally:
        await conn.close()  # its own ``async with`` does not if the task is cancelled in it


def break_off(conn: "psycopg.Connection[Any] | AsyncConnection[Any]") -> None:
    """Shut the socket down, so that every wait for the server ends. Callable from another thread."""
    with suppress(OSError, OperationalError):  # it is closed already
        end = socket.socket(fileno=conn.pgconn.socket)
        try:
            end.shutdown(socket.SHUT_RDWR)
        finally:
            end.detach()  # libpq closes it
