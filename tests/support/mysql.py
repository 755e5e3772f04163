"""Real servers of MariaDB and MySQL, and databases on them."""

import os
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import pymysql
import pytest

from tests import mysql_programs
from tests.matrix import MatrixError
from tests.support.ports import free_port
from tests.support.server_programs import memory, server_account
from tests.support.waiting import wait_until

Kind = Literal["mariadb", "mysql"]

KINDS: Final[tuple[Kind, ...]] = ("mariadb", "mysql")
MARIADB: Final = Path("/usr/sbin/mariadbd")
MARIADB_SCRIPTS: Final = Path("/usr/share/mysql")
TIME_ZONE: Final = "CET-1CEST,M3.5.0,M10.5.0/3"
"""The time zone of the servers, with summer time: in autumn, two points in time have one local time."""
OPTIONS: Final = (
    "--skip-name-resolve",
    "--bind-address=127.0.0.1",
    "--secure-file-priv=",
    "--log-bin=binlog",  # as in production: rights to make triggers depend on it
    "--sync-binlog=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-buffer-size=1M",
    "--performance-schema=OFF",
    "--max-connections=100",
    "--max-allowed-packet=16M",
)
"""The options of a quick server, whose data need not survive a power cut: it is in memory if there is room."""
ONLY_MARIADB: Final = ("--innodb-log-file-size=8M", "--server-id=1", "--local-infile=1", "--binlog-format=MIXED")
ONLY_MYSQL: Final = ("--innodb-redo-log-capacity=8M", "--mysqlx=OFF", "--local-infile=1")


@dataclass(frozen=True, slots=True)
class MySqlServer:
    """A running server; ``process`` is its id. Its superuser is root, without a password."""

    kind: Kind
    port: int
    process: int

    def connect(self, database: str | None = None, **options: Any) -> "pymysql.Connection[Any]":
        """Connect, as root unless told, with autocommit unless told."""
        defaults: dict[str, Any] = {
            "user": "root",
            "autocommit": True,
            "charset": "utf8mb4",
            "local_infile": True,
            "ssl_disabled": True,  # a killed connection is a killed connection
        }
        return pymysql.connect(host="127.0.0.1", port=self.port, database=database, **defaults | options)

    def address(self, database: str) -> str:
        """The address of a database for ``--database-url``."""
        return f"{self.kind}://root@127.0.0.1:{self.port}/{database}"

    def in_django(self, database: str) -> dict[str, Any]:
        """Django's settings of a database."""
        place = {"NAME": database, "USER": "root", "HOST": "127.0.0.1", "PORT": self.port}
        return {"ENGINE": "django.db.backends.mysql", **place}

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """Enter to get the name of an empty database on a server without schema ``svc``; leaving drops both."""
        name = f"svc_test_{secrets.token_hex(6)}"
        self._execute("drop database if exists svc", f"create database {name} character set utf8mb4")
        try:
            yield name
        finally:
            self._execute(f"drop database if exists {name}", "drop database if exists svc")

    def _execute(self, *statements: str) -> None:
        with self.connect() as conn, conn.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


Find = Callable[[Kind], MySqlServer]
"""Returns the server of a kind, started at the first call. Raises MatrixError if it is not available."""


def found(find: Find, kind: Kind) -> MySqlServer:
    """The server of that kind. If there is none the case is skipped, or fails with CI=true."""
    try:
        return find(kind)
    except MatrixError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@contextmanager
def servers() -> Iterator[Find]:
    """Enter to get a function that finds servers; leaving stops the started ones."""
    running: dict[Kind, MySqlServer] = {}
    with ExitStack() as stack:

        def find(kind: Kind) -> MySqlServer:
            if kind not in running:
                running[kind] = stack.enter_context(server(kind))
            return running[kind]

        yield find


@contextmanager
def server(kind: Kind) -> Iterator[MySqlServer]:
    """Enter to get a private server; leaving stops and removes it. Raises MatrixError if it is not available."""
    program = _mariadb() if kind == "mariadb" else _mysql()
    with TemporaryDirectory(prefix="svc-pg-", dir=memory()) as name:
        folder = Path(name)
        if who := server_account():
            os.chown(folder, who["user"], who["group"])
        at = [*program, f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}"]
        at.append(f"--tmpdir={folder}")  # at its start, a server removes the files of others in a shared folder
        own = ONLY_MARIADB if kind == "mariadb" else ONLY_MYSQL
        _initialise(kind, at, folder)
        with _started(kind, [*at, *OPTIONS, *own], folder) as running:
            yield running


def _mariadb() -> list[str]:
    if not MARIADB.is_file():
        raise MatrixError(f"{MARIADB} is missing; install the package mariadb-server-core")
    return [str(MARIADB), "--no-defaults"]


def _mysql() -> list[str]:
    unpacked = mysql_programs.path() / "usr"
    return [
        *mysql_programs.command("sbin/mysqld"),
        "--no-defaults",
        f"--lc-messages-dir={unpacked / 'share' / 'mysql'}",
        f"--character-sets-dir={unpacked / 'share' / 'mysql' / 'charsets'}",
    ]


def _initialise(kind: Kind, program: Sequence[str], folder: Path) -> None:
    """Create the system's tables, with a superuser for connections to 127.0.0.1."""
    (folder / "root.sql").write_text(
        "create user if not exists root@'127.0.0.1' identified by '';\n"
        "grant all privileges on *.* to root@'127.0.0.1' with grant option;\n"
    )
    if kind == "mysql":
        small = ("--innodb-redo-log-capacity=8M", "--innodb-doublewrite=0", "--performance-schema=OFF")
        _wait(_run([*program, "--initialize-insecure", *small], folder), folder)
        return
    (folder / "data").mkdir()
    if who := server_account():
        os.chown(folder / "data", who["user"], who["group"])
    scripts = ("mysql_system_tables", "mysql_performance_tables", "mysql_system_tables_data")
    texts = [(MARIADB_SCRIPTS / f"{script}.sql").read_text() for script in scripts]
    bootstrap = "create database mysql;\nuse mysql;\nset @auth_root_socket = null;\n" + "".join(texts)
    _wait(_run([*program, "--bootstrap", "--innodb-log-file-size=8M"], folder, words=bootstrap), folder)


@contextmanager
def _started(kind: Kind, program: Sequence[str], folder: Path) -> Iterator[MySqlServer]:
    port = free_port()
    process = _run([*program, f"--port={port}", f"--init-file={folder / 'root.sql'}"], folder)

    def is_ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"{kind} did not start:\n{_output(folder)}")
        at = str(folder / "socket")  # which no other server can have
        with socket.socket(socket.AF_UNIX) as probe:  # PyMySQL leaves one open that finds nobody
            if probe.connect_ex(at) != 0:
                return False
        try:
            pymysql.connect(unix_socket=at, user="root", ssl_disabled=True).close()
        except pymysql.OperationalError:
            return False
        return True

    try:
        wait_until(is_ready, f"{kind} accepts connections", limit=timedelta(minutes=1))
        yield MySqlServer(kind, port, process.pid)
    finally:
        process.kill()  # nothing of its data is needed any more
        process.wait()


def _run(command: Sequence[str], folder: Path, *, words: str | None = None) -> "subprocess.Popen[bytes]":
    given = folder / "input"
    given.write_text(words or "")
    with (folder / "output").open("ab") as output, given.open("rb") as text:
        return subprocess.Popen(
            command,
            **server_account(),
            cwd=folder,
            env={"TZ": TIME_ZONE, "PATH": os.defpath},
            stdin=text,
            stdout=output,
            stderr=output,
            process_group=0,  # Ctrl-C is for the tests, which stop the server when they have finished
        )


def _wait(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    if process.wait() != 0:
        raise RuntimeError(f"{process.args!r} failed:\n{_output(folder)}")


def _output(folder: Path) -> str:
    return (folder / "output").read_text(errors="replace")
