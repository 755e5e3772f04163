"""Connections for the console: from the application's pool, or from one that the console opens and closes itself."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Final, LiteralString

import psycopg
from psycopg import AsyncClientCursor, AsyncConnection, AsyncCursor, errors
from psycopg.conninfo import make_conninfo
from psycopg.rows import scalar_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout, TooManyRequests
from pydantic import SecretStr

from svc_pg.audit.actors.postgres import SET_ACTOR
from svc_pg.audit.context import Actor, acting_as, parameters
from svc_pg.console.database import idle_checks
from svc_pg.console.database.reachability import Reachability
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleRequest, Problem, read_only, unavailable
from svc_pg.database import datestyle
from svc_pg.database.application_names import CONSOLE
from svc_pg.database.conninfo import NEVER_PREPARE, Conninfo
from svc_pg.database.effects import Statement
from svc_pg.database.sqlstates import translate
from svc_pg.errors import AccessError, NotInstalledError, SvcError

STATEMENT_TIMEOUT_SECONDS: Final = 5
POOL_TIMEOUT_SECONDS: Final = 5
OWN_POOL_SIZE: Final = 10
CALLS_OF_A_SESSION: Final = 4
"""The most calls of one session at a time; fewer if the console has less than twice as many connections."""

PROBLEMS: Final = dict.fromkeys(
    ("database_unavailable", "database_busy", "database_timeout", "not_installed", "access_denied"), 503
)
"""The codes and the status of problems that make a connection unusable."""

_ADDRESS: Final = frozenset({"host", "hostaddr", "port", "dbname", "user", "password", "service", "sslmode"})
_UNREACHABLE: Final = "The database cannot be reached at the moment."
_STANDBY: Final = "The database cannot be written: it is a standby, or default_transaction_read_only is on."
# Statements are short: to compile one takes longer than to run it. The time formats are those of a given pool too.
_SETTINGS: Final = "select set_config('statement_timeout', %s, true), set_config('jit', 'off', true), " + (
    datestyle.READABLE.replace("{0}", "true")
)
_READ_ONLY: Final = _SETTINGS + ", set_config('transaction_read_only', 'on', true)"

logger = logging.getLogger("svc_pg.console")


def actor_of(request: AuthenticatedRequest) -> Actor:
    """The session of a request as an actor; its context names the session, the request and the address."""
    return Actor(request.session.email, request.session.tenant, request.audit_context(request.session.session_id))


async def execute_last(conn: AsyncConnection[Any], last: Statement, *, is_private: bool) -> Any:
    """Execute the last statement in a transaction of ``Database.connection``, with the commit in the same round trip.

    A message of two statements has its values in its text, which the server's log of errors and its list of sessions
    show. So a statement with private values has parameters, and the commit comes after it. The result is the first
    column of its first row.
    """
    if is_private or conn.autocommit:
        cursor = AsyncCursor(conn, row_factory=scalar_row)
        return await (await cursor.execute(last.text, last.params)).fetchone()
    both: LiteralString = last.text + "; commit"
    return await (await AsyncClientCursor(conn, row_factory=scalar_row).execute(both, last.params)).fetchone()


def _transaction(conn: AsyncConnection[Any]) -> AbstractAsyncContextManager[object]:
    """A transaction on a connection with autocommit. Without it the pool commits or rolls back when it gets it back."""
    return conn.transaction() if conn.autocommit else nullcontext()


class Database:
    """The source of the console's connections: at most half of a given pool. Without one, ``opened`` makes one.

    If it ``is_read_only``, so is each transaction.
    """

    def __init__(
        self, url: SecretStr | None, pool: AsyncConnectionPool[Any] | None, *, is_read_only: bool = False
    ) -> None:
        self.is_read_only = is_read_only
        # libpq reads PG* if it is empty
        self._conninfo = Conninfo.parse("" if url is None else url.get_secret_value(), name="DATABASE_URL")
        self._pool = pool
        self._is_own = pool is None
        # the size of a null pool may be 0: no limit
        self._share = OWN_POOL_SIZE if pool is None or not pool.max_size else max(1, pool.max_size // 2)
        self._free = asyncio.Semaphore(self._share)
        self._reachability = Reachability()

    @property
    def conninfo(self) -> str | None:
        """The address for a connection beside the pool, with limits of time; None if a given pool does not tell it."""
        if self._pool is None or self._is_own:
            return self._conninfo.bounded
        conninfo, kwargs = self._pool.conninfo, self._pool.kwargs
        if not isinstance(conninfo, str) or not (kwargs is None or isinstance(kwargs, dict)):
            return None
        known = {name: value for name, value in (kwargs or {}).items() if name in _ADDRESS}
        return Conninfo.parse(make_conninfo(conninfo, **known)).bounded

    @property
    def is_opened(self) -> bool:
        """True if there is a pool."""
        return self._pool is not None

    @property
    def calls_of_a_session(self) -> int:
        """The calls of one session at a time that leave connections to other sessions."""
        return min(CALLS_OF_A_SESSION, max(1, self._share // 2))

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Provide a pool until the end of the block. A given pool is used unchanged, and stays open."""
        if self._pool is not None:
            yield
            return
        async with AsyncConnectionPool(
            self._conninfo.bounded,
            kwargs={"fallback_application_name": CONSOLE, "prepare_threshold": NEVER_PREPARE},
            check=idle_checks.check,
            min_size=0,  # the application starts without its database, and an idle console holds no connection
            max_size=OWN_POOL_SIZE,
            open=False,
            name="svc-pg console",
        ) as pool:
            self._pool = pool
            try:
                yield
            finally:
                self._pool = None

    @asynccontextmanager
    async def acting(self, request: AuthenticatedRequest) -> AsyncIterator[AsyncConnection[Any]]:
        """As ``connection``, with the session's e-mail address as the actor of every change that the block makes.

        The entries' context names the session, the request and the address it came from; their tenant is the session's.
        """
        actor = actor_of(request)
        with acting_as(actor):
            async with self.once(request) as conn:
                await conn.execute(SET_ACTOR, parameters(actor))
                yield conn

    def once(self, request: ConsoleRequest) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """As ``connection``; for a form of the pages that has a key, its transaction, which goes on after the block.

        A form that is sent again raises AlreadyMadeError.
        """
        return self.connection() if request.once is None else request.once.changing()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection in a transaction of its own, in which a statement ends after 5 seconds.

        Raises Problem 503 if there is no connection, it breaks, a statement takes too long, other transactions are in
        the way, or schema svc is missing or closed to its role, and 422 if a value does not fit its type.
        """
        if self._pool is None:
            logger.error("the console has no pool: give it one, or run its lifespan")
            raise unavailable("database_unavailable", "The console is not connected to a database.")
        try:
            async with self._pooled(self._pool) as conn, _transaction(conn):
                settings = _READ_ONLY if self.is_read_only else _SETTINGS
                await conn.execute(settings, [f"{STATEMENT_TIMEOUT_SECONDS}s"])
                idle_checks.note_use(conn)
                yield conn
        except (PoolTimeout, TooManyRequests) as error:
            if not await self._reachability.is_reached(self._pool):
                raise unavailable("database_unavailable", _UNREACHABLE) from error
            raise unavailable("database_busy", "No connection to the database became free in time.") from error
        except errors.QueryCanceled as error:
            raise unavailable("database_timeout", "The database took too long; ask for less.") from error
        except (errors.DeadlockDetected, errors.LockNotAvailable, errors.SerializationFailure) as error:
            raise unavailable("database_busy", "Other transactions are in the way; try again.") from error
        except errors.ReadOnlySqlTransaction as error:
            raise (read_only() if self.is_read_only else unavailable("database_unavailable", _STANDBY)) from error
        except psycopg.OperationalError as error:
            raise unavailable("database_unavailable", _UNREACHABLE) from error
        except psycopg.DataError as error:
            raise Problem(422, "invalid_value", "The database cannot read a value of the request.") from error
        except (psycopg.ProgrammingError, NotInstalledError, AccessError) as error:
            match error if isinstance(error, SvcError) else translate(error):
                case NotInstalledError() as missing:
                    detail = f"{missing.message[0].upper()}{missing.message[1:]}. {missing.hint}"
                    raise unavailable("not_installed", detail) from error
                case AccessError():
                    detail = "The console's role lacks rights in schema svc: it needs those of svc_admin."
                    raise unavailable("access_denied", detail) from error
            raise

    @asynccontextmanager
    async def _pooled(self, pool: AsyncConnectionPool[Any]) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection of the pool, within the console's share of them. Raises PoolTimeout and TooManyRequests."""
        ends_at = time.monotonic() + POOL_TIMEOUT_SECONDS
        try:
            async with asyncio.timeout(POOL_TIMEOUT_SECONDS):
                await self._free.acquire()
        except TimeoutError as error:
            raise PoolTimeout("all connections of the console's share are in use") from error
        try:
            async with pool.connection(max(0.0, ends_at - time.monotonic())) as conn:
                yield conn
        finally:
            self._free.release()
