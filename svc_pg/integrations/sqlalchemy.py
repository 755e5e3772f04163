"""Record the current actor with every change through SQLAlchemy engines, sync and async, on every database.

On PostgreSQL with psycopg this is ``svc_pg.integrations.psycopg``: no round trip, AUTOCOMMIT included. On every other
driver of PostgreSQL the first statement of a transaction is preceded by one that sets the actor, and so is each further
one if the actor has changed; AUTOCOMMIT isolation with an actor raises TransactionError, because the setting would be
lost. On SQLite it is ``svc_pg.integrations.sqlite``. On MySQL and MariaDB a statement for another actor than the one
before is preceded by one that sets the actor, as ``svc_pg.integrations.mysql`` does.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry

from svc_pg.audit.actors.postgres import SET_ACTOR
from svc_pg.audit.context import current_actor, parameters
from svc_pg.database.warn_once import warn_once
from svc_pg.errors import ConfigError, TransactionError
from svc_pg.integrations import mysql, psycopg, sqlite
from svc_pg.integrations.unwatched import is_in_question
from svc_pg.other_databases.actors import mysql as mysql_actor

if TYPE_CHECKING:  # it needs greenlet, which an application that is not async need not have
    from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker

Target = TypeVar(
    "Target",
    bound="Engine | AsyncEngine | Session | AsyncSession | sessionmaker[Any] | async_sessionmaker[Any]",
)

_SET_ACTOR: Final = text(re.sub(r"%\((\w+)\)s", r":\1", SET_ACTOR))
_NAMES: Final = ("postgresql", "sqlite", "mysql", "mariadb")
_SET_FOR: Final = "svc_pg_actor"
_AUDITED: Final = "svc_pg_audited"
_UNSET: Final = object()
_SEVERAL: Final = object()


def with_audit(target: Target) -> Target:
    """Set the current actor for every change through an engine, or the engines of a session or session factory.

    Listens to the engines themselves, also for connections that they have already, and returns ``target``. Idempotent.
    Raises ConfigError if a session or factory is not bound to an engine yet, or an engine is of another database.
    """
    watch_engines()
    binds = _binds(target)
    if not binds:
        raise ConfigError(
            f"{type(target).__name__} is not bound to an engine", hint="Write with_audit(engine) for each engine."
        )
    for bind in binds:
        engine = getattr(bind, "sync_engine", bind).engine
        for name, listener in _events(engine):
            if not _listens(engine, name, listener):
                event.listen(engine, name, listener)
    return target


def is_audited(conn: Connection) -> bool:
    """True if the engine of a connection is ``with_audit``, or the driver's connection behind it."""
    listeners = _events(conn.engine) if conn.engine.dialect.name in _NAMES else ()
    if not listeners or any(_listens(conn.engine, name, listener) for name, listener in listeners):
        return True  # or of a database that has no log
    driver = conn.connection.driver_connection
    return psycopg.is_audited(driver) or mysql.is_audited(driver) or _AUDITED in conn.info


def watch_engines() -> None:
    """Warn, once, if an actor never reaches an engine that writes. Idempotent."""
    if not event.contains(Engine, "before_cursor_execute", _look):
        event.listen(Engine, "before_cursor_execute", _look)


def _look(
    conn: Connection, _cursor: object, statement: str, _parameters: object, _context: object, _executemany: object
) -> None:
    if is_in_question(statement) and not is_audited(conn):
        warn_once(
            "an actor was current while an engine of SQLAlchemy wrote that is not with_audit, so its entries have no"
            " actor: call svc_pg.integrations.sqlalchemy.with_audit(engine)"
        )


def _listens(engine: Engine, name: str, listener: Callable[..., None]) -> bool:
    """True if the engine has the listener, or inherits it as made by ``execution_options``."""
    made_of: Engine | None = getattr(engine, "_proxied", None)
    return event.contains(engine, name, listener) or (made_of is not None and _listens(made_of, name, listener))


def _binds(target: Any) -> list[Any]:
    """An engine itself, the engine or connection of a session, or all of a session factory."""
    if hasattr(target, "dialect"):
        return [target]
    options = getattr(target, "kw", None)
    binds = [target.bind] if options is None else [options.get("bind"), *(options.get("binds") or {}).values()]
    return [bind for bind in binds if bind is not None]


def _events(engine: Engine) -> Sequence[tuple[str, Callable[..., None]]]:
    driver = engine.dialect.driver
    match engine.dialect.name:
        case "postgresql":
            return _PSYCOPG_EVENTS if driver in ("psycopg", "psycopg_async") else _EVENTS
        case "sqlite":
            return _SQLITE_EVENTS
        case "mysql" | "mariadb":
            return _MYSQL_CONNECTION_EVENTS if driver in ("pymysql", "mysqldb") else _MYSQL_EVENTS
        case other:
            raise ConfigError(
                f"an engine of {other} cannot have an actor",
                hint="The audit log is for PostgreSQL, SQLite, MySQL and MariaDB.",
            )


def _audit_psycopg(_dbapi_connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
    connection: Any = record.driver_connection
    psycopg.with_audit(connection)


def _audit_sqlite(_dbapi_connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
    if _AUDITED not in record.info:
        sqlite.with_audit(record.driver_connection)
        record.info[_AUDITED] = True


def _audit_mysql(_dbapi_connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
    mysql.with_audit(record.driver_connection)


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


def _set_session_actor(
    conn: Connection, _cursor: object, _statement: str, _parameters: object, _context: object, _executemany: object
) -> None:
    """Set the variables of the session before a statement for another actor than the one before, also for nobody."""
    actor = current_actor()
    if actor == conn.info.get(_SET_FOR, mysql.UNKNOWN):
        return
    conn.info.pop(_SET_FOR, None)
    with closing(conn.connection.cursor()) as cursor:
        cursor.execute(mysql_actor.set_actor(actor))
    conn.info[_SET_FOR] = actor


def _forget_session(_dbapi_connection: object, record: ConnectionPoolEntry, _state: object) -> None:
    """Forget the actor of a returned connection: some drivers reset sessions then."""
    record.info.pop(_SET_FOR, None)


_PSYCOPG_EVENTS: Final = (("checkout", _audit_psycopg),)
_EVENTS: Final = (("begin", _forget), ("begin_twophase", _forget), ("before_cursor_execute", _set_actor))
_SQLITE_EVENTS: Final = (("checkout", _audit_sqlite),)
_MYSQL_CONNECTION_EVENTS: Final = (("checkout", _audit_mysql),)
_MYSQL_EVENTS: Final = (("before_cursor_execute", _set_session_actor), ("reset", _forget_session))
