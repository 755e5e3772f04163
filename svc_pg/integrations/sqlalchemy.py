"""Put the current actor into every transaction of SQLAlchemy engines, sync and async.

On the psycopg dialect this is ``svc_pg.integrations.psycopg``: no round trip, AUTOCOMMIT included. On every other
driver the first statement of a transaction is preceded by one that sets the actor, and so is each further one if the
actor has changed; AUTOCOMMIT isolation with an actor raises TransactionError, because the setting would be lost.
"""

import re
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry

from svc_pg.audit.context import SET_ACTOR, current_actor, parameters
from svc_pg.errors import ConfigError, TransactionError
from svc_pg.integrations import psycopg

Target = TypeVar(
    "Target",
    bound=Engine | AsyncEngine | Session | AsyncSession | sessionmaker[Any] | async_sessionmaker[Any],
)

_SET_ACTOR: Final = text(re.sub(r"%\((\w+)\)s", r":\1", SET_ACTOR))
_SET_FOR: Final = "svc_pg_actor"
_UNSET: Final = object()
_SEVERAL: Final = object()


def with_audit(target: Target) -> Target:
    """Set the current actor in every transaction of an engine, or of the engines of a session or session factory.

    Listens to the engines themselves, also for connections that they have already, and returns ``target``. Idempotent.
    Raises ConfigError if a session or factory is not bound to an engine yet.
    """
    engines = [target] if isinstance(target, Engine | AsyncEngine) else _binds(target)
    if not engines:
        raise ConfigError(
            f"{type(target).__name__} is not bound to an engine", hint="Write with_audit(engine) for each engine."
        )
    for bind in engines:
        engine = bind.sync_engine if isinstance(bind, AsyncEngine) else bind.engine
        is_psycopg = engine.dialect.driver in ("psycopg", "psycopg_async")
        for name, listener in _PSYCOPG_EVENTS if is_psycopg else _EVENTS:
            if not event.contains(engine, name, listener):
                event.listen(engine, name, listener)
    return target


def _binds(target: Session | AsyncSession | sessionmaker[Any] | async_sessionmaker[Any]) -> list[Any]:
    if isinstance(target, Session | AsyncSession):
        return [target.bind] if target.bind else []
    binds = (target.kw.get("bind"), *(target.kw.get("binds") or {}).values())
    return [bind for bind in binds if bind is not None]


def _audit_connection(_dbapi_connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
    connection: Any = record.driver_connection
    psycopg.with_audit(connection)


def _forget(conn: Connection, *_xid: object) -> None:
    conn.info.pop(_SET_FOR, None)


def _set_actor(
    conn: Connection, _cursor: object, statement: str, _parameters: object, context: Any, _executemany: object
) -> None:
    """Set the actor before a statement. Runs before each one, its own and those of savepoints included."""
    actor = current_actor()
    if actor == conn.info.setdefault(_SET_FOR, None if actor is None else _UNSET):
        return
    if statement.startswith("ROLLBACK") or getattr(context.compiled, "statement", None) is _SET_ACTOR:
        return
    if actor is not None and getattr(conn.connection.dbapi_connection, "autocommit", False):
        raise TransactionError(
            "an actor needs a transaction, and this connection has the isolation level AUTOCOMMIT",
            hint="Use another isolation level, or the dialect postgresql+psycopg.",
        )
    # a setting made at the beginning stays; a later one would be undone by a rollback to a savepoint before it
    conn.info[_SET_FOR] = actor if conn.info[_SET_FOR] is _UNSET else _SEVERAL
    conn.execute(_SET_ACTOR, parameters(actor))


_PSYCOPG_EVENTS: Final = (("checkout", _audit_connection),)
_EVENTS: Final = (("begin", _forget), ("begin_twophase", _forget), ("before_cursor_execute", _set_actor))
