"""The database of a command: its address, and the error if it cannot be opened."""

import logging
import re
import shlex
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final
from urllib.parse import quote

import psycopg
import typer

from svc_pg.database import addresses, datestyle
from svc_pg.database.addresses import DatabaseAddress, MySqlServer, SqliteFile
from svc_pg.database.conninfo import FORMS, NEVER_PREPARE, Conninfo
from svc_pg.database.dialects import dialect_of
from svc_pg.errors import SvcError
from svc_pg.settings import Settings

# A signal between sending a statement and waiting for it makes the rollback fail, of which psycopg would warn
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_ANOTHER: Final = "For another: --database-url, DATABASE_URL or libpq's PGHOST, PGPORT, PGDATABASE."
_ATTEMPT: Final = re.compile(r"(- host: .*?, hostaddr: \S+: )?(connection (failed|is bad): )?(?P<words>.*)")
_CONNECT_SECONDS: Final = 10


def address(database_url: str | None) -> DatabaseAddress:
    """The database: the given one, else the environment's, else the empty conninfo, which libpq completes.

    Raises ConfigError if it cannot be read.
    """
    if database_url is not None:
        return addresses.parse(database_url, name="--database-url")
    configured = Settings.load().database_url
    return addresses.parse(configured.get_secret_value() if configured else "", name="DATABASE_URL")


def conninfo(database_url: str | None, *, instead: str | None = None) -> Conninfo:
    """The database of a command that needs PostgreSQL. Raises ConfigError, and wrong usage for another database.

    ``instead`` is the call for such databases.
    """
    found = address(database_url)
    if isinstance(found, Conninfo):
        return found
    refusal = f"this command needs PostgreSQL, and the address is that of {found}"
    raise typer.BadParameter(refusal if instead is None else f"{refusal}; {instead}")


def connect(database_url: str | None, *, instead: str | None = None) -> "psycopg.Connection[Any]":
    """Open a connection to PostgreSQL for one command.

    Raises SvcError, which names the address without the password, and wrong usage for another database.
    """
    return _postgres(conninfo(database_url, instead=instead))


def log_instead(table: str | None = None, key: str | None = None) -> str:
    """The ``log`` command that shows the changes of a table or a record, for any database."""
    named = {"--table": table, "--record": key}
    options = " ".join(f"{option} {shlex.quote(value)}" for option, value in named.items() if value is not None)
    return f"svc-pg log {options or '--table TABLE'} shows the changes there, and with --json whole rows"


@contextmanager
def open_database(database_url: str | None) -> Iterator[Any]:
    """A connection to a database of any kind for one command. Raises SvcError, which names the address."""
    match address(database_url):
        case SqliteFile() as file:
            with closing(_sqlite(file)) as conn:
                yield conn
        case MySqlServer() as server:
            opened = _mysql(server)
            try:
                yield opened
            finally:
                if opened.open:  # or it was lost, and PyMySQL would raise another error than that
                    opened.close()
        case found:
            with _postgres(found) as conn:
                yield conn


def is_postgresql(conn: Any) -> bool:
    """True if a connection of ``open_database`` leads to PostgreSQL, so that the command can do all of its work."""
    return dialect_of(conn) == "postgresql"


def _postgres(database: Conninfo) -> "psycopg.Connection[Any]":
    try:
        conn = psycopg.connect(database.bounded, application_name="svc-pg", prepare_threshold=NEVER_PREPARE)
        datestyle.choose(conn)
        return conn
    except psycopg.OperationalError as error:
        if not database.is_distinct:
            raise SvcError("no connection to the database: its address has an @ or / too many", hint=FORMS) from None
        raise SvcError(
            f"no connection to the database: {_tidy(str(error))}", hint=f"Tried {database}. {_ANOTHER}"
        ) from error


def _sqlite(file: SqliteFile) -> sqlite3.Connection:
    """Open an existing file: a wrong address must not create a new database."""
    from svc_pg.integrations.sqlite import with_audit  # they load modules that most commands do not need
    from svc_pg.other_databases.schema.sqlite.session import hint_of

    path = file.path.absolute()
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise SvcError(
            f"there is no file {path}", hint="svc-pg makes no database: let the application make its tables."
        ) from None
    except OSError as error:
        raise SvcError(f"{path} cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise SvcError(f"{path} is not a file")
    conn = None
    try:
        conn = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None)
        return with_audit(conn)
    except sqlite3.Error as error:
        if conn is not None:
            conn.close()
        raise SvcError(f"{path} cannot be opened: {error}", hint=hint_of(error)) from error


def _mysql(server: MySqlServer) -> Any:
    import pymysql  # of the extra mysql

    try:
        return pymysql.connect(**server.arguments, connect_timeout=_CONNECT_SECONDS)
    except pymysql.Error as error:
        raise SvcError(f"no connection to the database: {error.args[-1]}", hint=f"Tried {server}.") from error


def _tidy(text: str) -> str:
    """libpq's message in one line, without its repetitions for each address and its indented hints."""
    attempts = [
        " ".join(match["words"].split())
        for line in text.splitlines()
        if line.strip() and line[0] != "\t" and (match := _ATTEMPT.fullmatch(line))
        if not line.startswith("Multiple connection attempts failed")
    ]
    by_reason: dict[str, str] = {}
    for attempt in attempts:
        by_reason.setdefault(attempt.rpartition(" failed: ")[2], attempt)
    return "; ".join(by_reason.values())
