"""The driver's connection behind the argument of a call: a connection or cursor, or one of SQLAlchemy or Django.

A connection or session of SQLAlchemy is in its transaction afterwards, as if it had executed a statement itself, so
that its ``commit`` and ``rollback`` apply to the call.
"""

import re
import sys
from itertools import count
from typing import TYPE_CHECKING, Any, Final, LiteralString

from svc_pg.database.dialects import driver_connection, is_of, is_session, naming_its_engine
from svc_pg.errors import ConfigError

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

_TWIN: Final = 'its twin with an "a" before the name, such as alist for list, and await it'
_PLAIN: Final = 'its twin without the "a" before the name, such as list for alist'
_ASYNC_DRIVERS: Final = ("asyncpg", "aiosqlite", "asyncmy", "aiomysql")


def dbapi_connection(conn: Any, *, twin: str = _TWIN) -> Any:
    """The DB-API connection behind the argument of a sync call, in the same transaction.

    Raises ConfigError if it is async, with ``twin`` as the call to use instead, or if it is no connection.
    """
    if _is_of_psycopg(conn, "Connection") or _is_of_django(conn):
        return conn
    opened = None if _is_async_of_sqlalchemy(conn) else _opened(conn)
    if opened is None or _is_async(opened) or is_asyncpg(driver_connection(opened)):
        raise _wrong_kind(conn, "async", twin)
    return opened


def refuse_async(conn: object, *, twin: str) -> None:
    """Raise ConfigError, with ``twin`` as the call to use instead, if a connection is async."""
    if _is_async_of_sqlalchemy(conn) or _is_async(driver_connection(conn)):
        raise _wrong_kind(conn, "async", twin)


def sync_connection(conn: Any, *, twin: str = _TWIN) -> Any:
    """As ``dbapi_connection``, but the driver's own connection."""
    driver = driver_connection(dbapi_connection(conn, twin=twin))
    if _is_async(driver):
        raise _wrong_kind(driver, "async", twin)
    return driver


async def async_connection(conn: Any, *, twin: str = _PLAIN) -> Any:
    """The async driver's connection behind the argument, in the same transaction. Raises ConfigError if it is sync."""
    if _is_of_psycopg(conn, "AsyncConnection"):
        return conn
    if _is_of_django(conn):
        raise _wrong_kind(conn, "sync", f"{twin}, within sync_to_async")
    if _is_async_of_sqlalchemy(conn):
        driver = await _aopened(conn)
    else:
        driver = None if is_session(conn) else driver_connection(conn)
    if not _is_async(driver):
        raise _wrong_kind(conn, "sync", twin)
    return driver


def psycopg_connection(conn: Any, *, twin: str = _TWIN) -> "Connection[Any]":
    """As ``sync_connection``. Raises ConfigError too if the driver is another."""
    driver: Connection[Any] = sync_connection(conn, twin=twin)
    if not _is_of_psycopg(driver, "Connection"):
        raise _not_psycopg(driver)
    return driver


async def apsycopg_connection(conn: Any, *, twin: str = _PLAIN) -> "AsyncConnection[Any]":
    """As ``async_connection``. Raises ConfigError too if the driver is another."""
    driver: AsyncConnection[Any] = await async_connection(conn, twin=twin)
    if not _is_of_psycopg(driver, "AsyncConnection"):
        raise _not_psycopg(driver)
    return driver


def is_asyncpg(conn: object) -> bool:
    """True if it is a connection of asyncpg, which has no cursors as other drivers have them."""
    return is_of(conn, "asyncpg")


def numbered(text: LiteralString) -> str:
    """A statement with asyncpg's parameters, $1 and $2, for ``%s``. It has no other %."""
    counter = count(1)
    return re.sub("%s", lambda _hole: f"${next(counter)}", text)


def _opened(conn: Any) -> Any:
    """A DB-API connection; of SQLAlchemy's, in its transaction."""
    if not is_of(conn, "sqlalchemy"):
        return driver_connection(conn)
    from sqlalchemy import Connection as SqlAlchemyConnection

    if is_session(conn):
        with naming_its_engine():
            conn = conn.connection()
    if not isinstance(conn, SqlAlchemyConnection):
        return conn
    if not conn.in_transaction():
        conn.begin()  # as its own first statement does
    return conn.connection


async def _aopened(conn: Any) -> Any:
    """The driver's connection behind SQLAlchemy's async one or a session, in its transaction."""
    if not hasattr(conn, "get_raw_connection"):
        with naming_its_engine():
            conn = await conn.connection()
    if not conn.in_transaction():
        await conn.begin()
    driver = (await conn.get_raw_connection()).driver_connection
    if is_asyncpg(driver) and not driver.is_in_transaction():
        await conn.exec_driver_sql("select")  # SQLAlchemy begins a transaction of asyncpg with the first statement
    return driver


def _is_async_of_sqlalchemy(conn: object) -> bool:
    module = sys.modules.get("sqlalchemy.ext.asyncio")  # an object of it exists, so it is loaded
    if module is None:
        return False
    return isinstance(conn, module.AsyncSession | module.async_scoped_session | module.AsyncConnection)


def _is_of_psycopg(conn: object, kind: str) -> bool:
    module = sys.modules.get("psycopg")  # an application on another driver need not load it
    return module is not None and isinstance(conn, getattr(module, kind))


def _is_of_django(conn: object) -> bool:
    return hasattr(conn, "ensure_connection")


def _is_async(driver: object) -> bool:
    return _is_of_psycopg(driver, "AsyncConnection") or is_of(driver, *_ASYNC_DRIVERS)


def _wrong_kind(conn: object, kind: str, twin: str) -> ConfigError:
    other = "sync" if kind == "async" else "async"
    return ConfigError(f"{_name(conn)} is {kind}, and this call is {other}", hint=f"Write: {twin}")


def _not_psycopg(conn: object) -> ConfigError:
    return ConfigError(
        f"{_name(conn)} cannot be read from: only psycopg 3 keeps the texts that PostgreSQL wrote",
        hint="Pass a connection of psycopg 3, or SQLAlchemy's or Django's on it. Sending works with every driver.",
    )


def _name(conn: object) -> str:
    return f"{type(conn).__module__.partition('.')[0]}'s {type(conn).__name__}"
