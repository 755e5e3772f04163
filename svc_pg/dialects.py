"""The SQL that a connection speaks: PostgreSQL's, SQLite's, or that of MySQL and MariaDB."""

from typing import Any, Final, Literal, cast, get_args

from svc_pg.errors import ConfigError

Dialect = Literal["postgresql", "sqlite", "mysql"]

_DRIVERS: Final[dict[str, Dialect]] = {
    **dict.fromkeys(("psycopg", "psycopg2", "asyncpg", "pg8000"), "postgresql"),
    **dict.fromkeys(("sqlite3", "pysqlite3", "aiosqlite"), "sqlite"),
    **dict.fromkeys(("pymysql", "MySQLdb", "mysql", "asyncmy", "aiomysql", "mariadb"), "mysql"),
}
_PROXIED: Final = ("driver_connection", "dbapi_connection", "connection")
"""The attributes by which SQLAlchemy and Django hand out the connection of the driver."""


def dialect_of(conn: object) -> Dialect:
    """The dialect of a connection: of a driver's, of SQLAlchemy's raw one, or of Django's.

    Decided by the class alone, subclasses included. Raises ConfigError for anything else.
    """
    if (vendor := getattr(conn, "vendor", None)) in get_args(Dialect):  # Django's, also before it has connected
        return cast(Dialect, vendor)
    return _known(conn)[1]


def driver_connection(conn: Any) -> Any:
    """The connection of the driver behind SQLAlchemy's or Django's, which connects if it has not yet.

    Raises ConfigError as ``dialect_of``.
    """
    if hasattr(conn, "ensure_connection"):
        conn.ensure_connection()
    return _known(conn)[0]


def _known(conn: object) -> tuple[object, Dialect]:
    for kind in type(conn).__mro__:
        if dialect := _DRIVERS.get(kind.__module__.partition(".")[0].removeprefix("_")):
            return conn, dialect
    for attribute in _PROXIED:
        inner = getattr(conn, attribute, None)
        if inner is not None and inner is not conn:
            return _known(inner)
    kind = type(conn)
    raise ConfigError(
        f"{kind.__module__}.{kind.__qualname__} is not a connection to a database that svc-pg knows",
        hint="Pass one of psycopg, sqlite3, PyMySQL or another driver of PostgreSQL, SQLite, MySQL or MariaDB.",
    )


def require_postgres(conn: object, feature: str) -> None:
    """Raise ConfigError unless the connection is one to PostgreSQL: other databases do not have this feature."""
    dialect = dialect_of(conn)
    if dialect != "postgresql":
        names = {"sqlite": "SQLite", "mysql": "MySQL and MariaDB"}
        raise ConfigError(
            f"{feature} is there on PostgreSQL only: on {names[dialect]} the order of changes inside a statement is not"
            " recorded",
            hint="Read the entries instead: audit.query().",
        )
