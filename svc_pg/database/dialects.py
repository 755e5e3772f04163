"""The SQL that a connection speaks: PostgreSQL's, SQLite's, or that of MySQL and MariaDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import ismethod
from typing import Any, Final, Literal, cast, get_args

from svc_pg.errors import ConfigError

Dialect = Literal["postgresql", "sqlite", "mysql"]

_DRIVERS: Final[dict[str, Dialect]] = {
    **dict.fromkeys(("psycopg", "psycopg2", "asyncpg", "pg8000"), "postgresql"),
    **dict.fromkeys(("sqlite3", "pysqlite3", "aiosqlite"), "sqlite"),
    **dict.fromkeys(("pymysql", "MySQLdb", "mysql", "asyncmy", "aiomysql", "mariadb"), "mysql"),
}
_ASYNC_CONNECTOR: Final = "mysql.connector.aio"
_PROXIED: Final = ("driver_connection", "dbapi_connection", "connection")
"""The attributes that hold the driver's connection, in SQLAlchemy, in Django and in cursors."""
_SQLALCHEMY: Final[dict[str, Dialect]] = {
    "postgresql": "postgresql",
    "sqlite": "sqlite",
    "mysql": "mysql",
    "mariadb": "mysql",
}
_OPENERS: Final = {
    "Engine": "with engine.begin() as conn:",
    "AsyncEngine": "async with engine.begin() as conn:",
    "sessionmaker": "with Session() as session:",
    "async_sessionmaker": "async with Session() as session:",
    "ConnectionPool": "with pool.connection() as conn:",
    "AsyncConnectionPool": "async with pool.connection() as conn:",
    "Pool": "async with pool.acquire() as conn:",
}
"""The call that opens a connection, for each class that people pass instead of one."""


def dialect_of(conn: Any) -> Dialect:
    """The dialect of a connection: of a driver's or its cursor, of SQLAlchemy's or a session, or of Django's.

    Decided by the class alone, subclasses included. Raises ConfigError for anything else, and for a session that is
    not bound to one engine.
    """
    if (vendor := getattr(conn, "vendor", None)) in get_args(Dialect):  # Django's, also before it has connected
        return cast(Dialect, vendor)
    bound = conn
    if is_session(conn):
        with naming_its_engine():
            bound = conn.get_bind()
    if (dialect := _SQLALCHEMY.get(getattr(getattr(bound, "dialect", None), "name", ""))) and _opener(conn) is None:
        return dialect
    return _known(conn)[1]


def is_session(conn: object) -> bool:
    """True if it is a session of SQLAlchemy, or a scoped one, sync or async."""
    return is_of(conn, "sqlalchemy") and hasattr(conn, "get_bind")


@contextmanager
def naming_its_engine() -> Iterator[None]:
    """Raise ConfigError if the block asks a session of SQLAlchemy for a connection, and it has no one engine."""
    from sqlalchemy.exc import UnboundExecutionError

    try:
        yield
    except UnboundExecutionError as error:
        raise ConfigError(
            "the session is not bound to one engine",
            hint="Pass a connection of the session: session.connection(bind_arguments={...}).",
        ) from error


def is_of(value: object, *packages: str) -> bool:
    """True if the class of the value, or a base of it, is in one of these packages."""
    return any(kind.__module__.partition(".")[0] in packages for kind in type(value).__mro__)


def driver_connection(conn: Any) -> Any:
    """The connection of the driver behind SQLAlchemy's or Django's, which connects if it has not yet.

    Raises ConfigError as ``dialect_of``.
    """
    if hasattr(conn, "ensure_connection"):
        conn.ensure_connection()
    return _known(conn)[0]


def _known(conn: object) -> tuple[object, Dialect]:
    opener = _opener(conn)
    if opener is None:
        if not type(conn).__name__.lower().endswith("cursor"):
            for kind in type(conn).__mro__:
                if kind.__module__.startswith(_ASYNC_CONNECTOR):
                    raise ConfigError(
                        f"svc-pg does not know how {_ASYNC_CONNECTOR} sends statements",
                        hint="Use asyncmy or aiomysql, or mysql.connector with the sync calls.",
                    )
                if dialect := _DRIVERS.get(kind.__module__.partition(".")[0].removeprefix("_")):
                    return conn, dialect
        for attribute in _PROXIED:
            inner = getattr(conn, attribute, None)
            if inner is not None and inner is not conn and not ismethod(inner):
                return _known(inner)
    kind = type(conn)
    raise ConfigError(
        f"{kind.__module__}.{kind.__qualname__} is not a connection to a database that svc-pg knows",
        hint=f"Write: {opener}"
        if opener
        else "Pass one of psycopg, sqlite3, PyMySQL or another driver of PostgreSQL, SQLite, MySQL or MariaDB.",
    )


def _opener(conn: object) -> str | None:
    return next((line for kind in type(conn).__mro__ if (line := _OPENERS.get(kind.__name__))), None)


def require_postgres(
    conn: object,
    feature: str,
    *,
    reason: str = "the order of changes inside a statement is not recorded",
    hint: str | None = "Read the entries instead: audit.query().",
) -> None:
    """Raise ConfigError unless the connection is one to PostgreSQL: other databases do not have this feature."""
    dialect = dialect_of(conn)
    if dialect != "postgresql":
        names = {"sqlite": "SQLite", "mysql": "MySQL and MariaDB"}
        raise ConfigError(f"{feature} is there on PostgreSQL only: on {names[dialect]} {reason}", hint=hint)
