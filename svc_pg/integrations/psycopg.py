"""Put the current actor into every transaction of psycopg connections and pools.

A transaction gets its actor together with BEGIN, in one message, so it costs no round trip. If the actor changes inside
a transaction, each further statement of that transaction is preceded by one that sets its actor, because a rollback to
a savepoint would undo a setting made once. The settings are local to the transaction, so the next user of a pooled
connection, or of PgBouncer's, finds nothing.

On an autocommit connection ``execute`` sends the actor and its statement together: one implicit transaction, one round
trip. A text of several statements and a server-side cursor get a transaction block instead, and with a libpq older than
14 every statement does. ``copy``, ``stream``, such a libpq's ``executemany`` and cursors that were not made by
``conn.cursor()`` raise TransactionError outside ``conn.transaction()``. A statement that cannot run in a transaction,
for example VACUUM, needs ``acting_as(None)``.

COMMIT AND CHAIN, and a COMMIT and BEGIN in one text, begin a transaction unseen: it has no actor.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from inspect import isgeneratorfunction, signature
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from psycopg import (
    AsyncConnection,
    AsyncCursor,
    AsyncServerCursor,
    BaseConnection,
    ClientCursor,
    Connection,
    Cursor,
    Pipeline,
    ServerCursor,
    generators,
)
from psycopg import __version__ as psycopg_version
from psycopg.abc import PQGen, Query
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.sql import Composable
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from svc_pg.audit.actors.postgres import SET_ACTOR
from svc_pg.audit.context import Actor, current_actor, parameters
from svc_pg.database.swap_class import become
from svc_pg.errors import TransactionError

Target = TypeVar(
    "Target", bound=Connection[Any] | AsyncConnection[Any] | ConnectionPool[Any] | AsyncConnectionPool[Any]
)
_SEVERAL: Final = object()
_OVERRIDDEN: Final = {"_exec_command": ["self", "command", "result_format"], "_start_query": ["self"]}


def check_overridden(connection: Any = BaseConnection, cursor: Any = Cursor) -> None:
    """Raise ImportError if psycopg lacks the methods that are overridden here: actors would be lost silently.

    They are private, so another version may rename them or send BEGIN in another way.
    """
    for name, expected in _OVERRIDDEN.items():
        method = getattr(connection, name, None)
        if not isgeneratorfunction(method) or [*signature(method).parameters] != expected:
            break
    else:
        if "_exec_command" in _called(connection._start_query) and "_start_query" in _called(cursor._start_query):
            return
    raise ImportError(
        f"psycopg {psycopg_version} sends statements in a way that with_audit does not know, so no actor could be set;"
        " install another version of psycopg, or a newer svc-pg"
    )


def _called(method: Any) -> Sequence[str]:
    names: tuple[str, ...] = method.__code__.co_names
    return names


check_overridden()


def with_audit(target: Target) -> Target:
    """Set the current actor in every transaction of a connection, or of each connection that a pool hands out.

    Changes the object itself, whenever it was made, and returns it. Idempotent.
    """
    for kind, audited in _AUDITED.items():
        if isinstance(target, kind):
            become(target, audited)
            return target
    raise TypeError(f"{type(target).__name__} is neither a connection nor a pool of psycopg")


def is_audited(conn: object) -> bool:
    """True if a connection is ``with_audit``."""
    return isinstance(conn, _AuditedBase)


class _AuditedBase(BaseConnection[Any]):
    """Overrides psycopg's two methods that send BEGIN and start a statement, for every kind of cursor."""

    _set_for: object = None
    """The actor of the transaction since its BEGIN, or _SEVERAL if it has changed."""

    def _exec_command(self, command: Any, result_format: Format = Format.TEXT) -> PQGen[PGresult | None]:
        if not (isinstance(command, bytes) and command.startswith(b"BEGIN")):
            return (yield from super()._exec_command(command, result_format))
        actor = self._set_for = current_actor()
        if actor is None or self._pipeline:
            result = yield from super()._exec_command(command, result_format)
            if actor is not None:
                yield from super()._exec_command(self._set_actor(actor))
            return result
        self._check_connection_ok()
        self.pgconn.send_query(command + b";" + self._set_actor(actor))
        results: list[PGresult] = yield from generators.execute(self.pgconn)
        for result in results:
            if result.status == ExecStatus.FATAL_ERROR:
                raise error_from_result(result, encoding=self.info.encoding)
        return results[0]

    def _start_query(self) -> PQGen[None]:
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            self._set_for = None
            if self._is_bare():
                raise TransactionError(
                    "an actor needs a transaction, and this autocommit connection is outside one",
                    hint="Write: with conn.transaction():",
                )
        yield from super()._start_query()
        actor = current_actor()
        if actor != self._set_for and self.pgconn.transaction_status != TransactionStatus.INERROR:
            self._set_for = _SEVERAL
            yield from super()._exec_command(self._set_actor(actor))

    def _set_actor(self, actor: Actor | None) -> bytes:
        cursor: ClientCursor[Any] = ClientCursor(cast("Connection[Any]", self))
        return cursor.mogrify(SET_ACTOR, parameters(actor)).encode(self.info.encoding)

    def _is_bare(self) -> bool:
        """True if a statement sent now would be a transaction by itself, with no room for the current actor."""
        return (
            self.autocommit
            and self.pgconn.transaction_status == TransactionStatus.IDLE
            and not self._pipeline
            and current_actor() is not None
        )

    def _is_one_message(self, query: Query, cursor: object) -> bool:
        """True if the statement can share a pipeline with its actor; a text of several statements cannot."""
        if isinstance(cursor, ServerCursor | AsyncServerCursor) or not Pipeline.is_supported():
            return False
        if isinstance(query, Composable):
            query = query.as_bytes(self)
        text = query.encode() if isinstance(query, str) else query
        return isinstance(text, bytes) and b";" not in text.rstrip(b"; \t\r\n")


class _AuditedConnection(_AuditedBase, Connection[Any]):
    def cursor(self, *args: Any, **options: Any) -> Any:
        return _audited_cursor(super().cursor(*args, **options))

    def _room(self, query: Query, cursor: object) -> AbstractContextManager[object]:
        if not self._is_bare():
            return nullcontext()
        return self.pipeline() if self._is_one_message(query, cursor) else self.transaction()


class _AuditedAsyncConnection(_AuditedBase, AsyncConnection[Any]):
    def cursor(self, *args: Any, **options: Any) -> Any:
        return _audited_cursor(super().cursor(*args, **options))

    def _room(self, query: Query, cursor: object) -> AbstractAsyncContextManager[object]:
        if not self._is_bare():
            return nullcontext()
        return self.pipeline() if self._is_one_message(query, cursor) else self.transaction()


if TYPE_CHECKING:
    _Sync = Cursor[Any]
    _Async = AsyncCursor[Any]
else:
    _Sync = _Async = object  # otherwise a subclass has another memory layout than a cursor class of Django's


class _AuditedCursor(_Sync):
    __slots__ = ()
    _conn: _AuditedConnection

    def execute(self, query: Query, *args: Any, **options: Any) -> Self:
        with self._conn._room(query, self):
            return super().execute(query, *args, **options)


class _AuditedAsyncCursor(_Async):
    __slots__ = ()
    _conn: _AuditedAsyncConnection

    async def execute(self, query: Query, *args: Any, **options: Any) -> Self:
        async with self._conn._room(query, self):
            return await super().execute(query, *args, **options)


class _AuditedPool(ConnectionPool[Any]):
    def getconn(self, *args: Any, **options: Any) -> Any:
        return with_audit(super().getconn(*args, **options))


class _AuditedAsyncPool(AsyncConnectionPool[Any]):
    async def getconn(self, *args: Any, **options: Any) -> Any:
        return with_audit(await super().getconn(*args, **options))


_AUDITED: Final[dict[type, type]] = {
    Connection: _AuditedConnection,
    AsyncConnection: _AuditedAsyncConnection,
    ConnectionPool: _AuditedPool,
    AsyncConnectionPool: _AuditedAsyncPool,
}


def _audited_cursor(cursor: Any) -> Any:
    become(cursor, _AuditedCursor if isinstance(cursor, Cursor) else _AuditedAsyncCursor)
    return cursor
