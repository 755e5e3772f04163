"""PgBouncer in transaction mode in front of a test database."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support import debian
from tests.support.ports import free_port
from tests.support.waiting import wait_until


@contextmanager
def pgbouncer(conninfo: str) -> Iterator[str]:
    """Enter to get the conninfo of the same database through one shared server connection; leaving stops it."""
    port = free_port()
    with running(_settings(conninfo, port), make_conninfo(conninfo, host="127.0.0.1", port=port)) as pooled:
        yield pooled


@contextmanager
def running(settings: str, conninfo: str, *, users: str = "") -> Iterator[str]:
    """Run PgBouncer with these files, and yield the conninfo when it answers; leaving stops it.

    Without the program the test is skipped, but in CI it fails.
    """
    program = debian.program("pgbouncer", package="pgbouncer")
    with TemporaryDirectory(prefix="svc-pgbouncer-") as name:
        folder = Path(name)
        (folder / "pgbouncer.ini").write_text(settings.replace("/etc/pgbouncer/", f"{folder}/"))
        (folder / "userlist.txt").write_text(users)
        (folder / "output").touch()
        user = os.geteuid() or pwd.getpwnam("nobody").pw_uid  # it refuses root
        for path in (folder, *folder.iterdir()):
            os.chown(path, user, -1)
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen([program, folder / "pgbouncer.ini"], stdout=output, stderr=output, user=user)
        try:
            yield _ready(process, conninfo, folder / "output")
        finally:
            process.terminate()
            process.wait()


def _settings(conninfo: str, port: int) -> str:
    server = conninfo_to_dict(conninfo)
    target = " ".join(f"{key}={server[key]}" for key in ("host", "port", "dbname", "user"))
    return f"""[databases]
{server["dbname"]} = {target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
"""


def _ready(process: "subprocess.Popen[bytes]", conninfo: str, output: Path) -> str:
    def is_ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"PgBouncer did not start:\n{output.read_text()}")
        try:
            psycopg.connect(conninfo, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(is_ready, "PgBouncer accepts connections", limit=timedelta(seconds=30))
    return conninfo
