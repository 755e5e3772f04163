"""The address of a database: of PostgreSQL, of a file of SQLite, or of a server of MySQL or MariaDB."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from svc_pg.database.conninfo import Conninfo
from svc_pg.database.mysql_tls import tls_arguments
from svc_pg.errors import ConfigError

_SCHEME: Final = re.compile(r"\A([a-z]+)(?:\+\w+)?:", re.IGNORECASE)
_SQLITE: Final = re.compile(
    r"\Asqlite(?:\+\w+)?://(?P<host>[^/]*)/(?P<path>[^?]*)(?:\?.*)?\Z", re.IGNORECASE | re.DOTALL
)
_SQLITE_FORMS: Final = (
    "Write sqlite:///shop.db for a file in this folder, or sqlite:////var/lib/shop.db, with four slashes, for a whole"
    " path."
)
_MYSQL_FORMS: Final = (
    "Write mysql://USER:PASSWORD@HOST:PORT/DATABASE, or mariadb://..., where special characters of the parts are"
    " percent-encoded (@ is %40)."
)
_MYSQL_PORT: Final = 3306


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file of SQLite; a relative path is one below the working folder."""

    path: Path

    def __str__(self) -> str:
        return f"the file {self.path}"


@dataclass(frozen=True, slots=True)
class MySqlServer:
    """A database of MySQL or MariaDB. Its text form shows no secret."""

    host: str
    port: int
    user: str | None
    password: str | None = field(repr=False)
    database: str
    unix_socket: str | None
    tls: Mapping[str, Any] = field(repr=False)
    """The TLS arguments of PyMySQL's ``connect``. Default: those of the server's own client."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of PyMySQL's ``connect``, for a connection that commits each statement."""
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password or "",
            "database": self.database,
            "unix_socket": self.unix_socket,
            "charset": "utf8mb4",
            "autocommit": True,
            **self.tls,
        }

    def __str__(self) -> str:
        place = self.unix_socket or f"{self.host}, port {self.port}"
        return f"database {self.database} at {place}" + (f", as {self.user}" if self.user else "")


DatabaseAddress = Conninfo | SqliteFile | MySqlServer


def parse(text: str, *, name: str = "the address") -> DatabaseAddress:
    """Read an address by its scheme; a driver in it, as in SQLAlchemy's URLs, is ignored.

    Raises ConfigError, which shows nothing of the address. ``name`` stands for it in the error.
    """
    scheme = match[1].lower() if (match := _SCHEME.match(text)) else ""
    if scheme == "sqlite":
        return _sqlite(text, name)
    if scheme in ("mysql", "mariadb"):
        return _mysql(text, name)
    return Conninfo.parse(text, name=name)


def _sqlite(text: str, name: str) -> SqliteFile:
    match = _SQLITE.match(text)
    if match is None or match["host"] or not match["path"]:
        raise ConfigError(f"{name} is not the address of a file of SQLite", hint=_SQLITE_FORMS)
    path = match["path"]
    if path.startswith("file:"):
        raise ConfigError(f"{name} has a URI (file:...), and only a path is read", hint=_SQLITE_FORMS)
    if path == ":memory:" or "\0" in path:
        raise ConfigError(f"{name} must be a file: one in memory would end with the command", hint=_SQLITE_FORMS)
    return SqliteFile(Path(path))


def _mysql(text: str, name: str) -> MySqlServer:
    try:
        parts = urlsplit(text)
        port = parts.port or _MYSQL_PORT
    except ValueError:
        raise ConfigError(f"{name} is not the address of a database of MySQL", hint=_MYSQL_FORMS) from None
    database = unquote(parts.path.removeprefix("/"))
    if not text.partition(":")[2].startswith("//") or not database or "@" in parts.path:
        raise ConfigError(f"{name} is not the address of a database of MySQL", hint=_MYSQL_FORMS)
    options = dict(parse_qsl(parts.query.replace("+", "%2B"), keep_blank_values=True))
    return MySqlServer(
        host=parts.hostname or "localhost",
        port=port,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password is not None else None,
        database=database,
        unix_socket=options.get("unix_socket"),
        tls=tls_arguments(options, name=name),
    )
