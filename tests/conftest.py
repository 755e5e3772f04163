"""The servers of a test session, and databases and connections on them."""

import gc
import os
import signal
from collections.abc import Collection, Generator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, schema
from tests.quick import first_cases, quick_cases
from tests.support import mysql
from tests.support.mysql import MySqlServer
from tests.support.postgres import URL_VARIABLE, Prepare, copied, new_database, server

VERSION = pytest.StashKey[str | None]()

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # under any load of the machine
settings.register_profile("quick", patient, max_examples=20, derandomize=True)
settings.register_profile("thorough", patient, max_examples=400, print_blob=True)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--postgres",
        metavar="DIR|docker[:TAG]",
        help=f"folder with initdb and postgres, or a container; else the server that {URL_VARIABLE} names, or embedded",
    )
    parser.addoption("--first-cases", action="store_true", help="of each test that has several cases, run the first")
    parser.addoption("--quick", action="store_true", help="run first cases of quick tests; the default for the suite")
    parser.addoption("--whole", action="store_true", help="run every case of the suite, as of files that are named")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run what is quick of the suite on all cores, if neither files, folders, words nor markers are named.

    With a server in SVC_TEST_DATABASE_URL, the suite does too, because seals wait for all transactions of a server.
    """
    is_suite = config.args_source is not pytest.Config.ArgsSource.ARGS
    if is_suite and not (config.option.whole or config.option.keyword or config.option.markexpr):
        config.option.quick = True
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):  # not there, or one of its own
        return
    if config.option.numprocesses is None and is_suite and not os.environ.get(URL_VARIABLE):
        config.option.numprocesses = "auto"
    if config.option.numprocesses and config.option.dist == "no":
        config.option.dist = "loadfile"  # cases of a module share what they prepare, and always come in one order


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use more processes than cores, because a case waits for a third of its time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 2


def pytest_configure(config: pytest.Config) -> None:
    # No authority that a machine trusts vouches for a server of a test; a client takes 30 ms to read them all
    os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "unused_authority.pem")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in its background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # or every program that a test starts ignores Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # or the server would outlive the session
    choice: str | None = config.getoption("--postgres")
    if choice is None:
        return
    if os.environ.get(URL_VARIABLE):
        raise pytest.UsageError(f"both --postgres and {URL_VARIABLE} name a server; give one")
    if choice.partition(":")[0] != "docker" and not Path(choice, "postgres").is_file():
        raise pytest.UsageError(f"--postgres={choice}: the folder has no program postgres")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection: modules and cases stay alive, and scanning them would take a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "postgres_choice" in item.fixturenames:
            item.add_marker("postgres")
    if config.getoption("--first-cases"):
        _select(config, items, set(first_cases(item.nodeid for item in items).values()))
    if config.getoption("--quick"):
        _select(config, items, quick_cases(item.nodeid for item in items))


def _select(config: pytest.Config, items: list[pytest.Item], names: Collection[str]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
    items[:] = [item for item in items if item.nodeid in names]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if VERSION in config.stash:
        terminalreporter.write_sep("-", f"PostgreSQL {config.stash[VERSION]}")


@pytest.fixture(scope="session")
def postgres_choice(pytestconfig: pytest.Config) -> str | None:
    """The server that --postgres chooses. Each case that uses one has the marker ``postgres``."""
    choice: str | None = pytestconfig.getoption("--postgres")
    return choice


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config, postgres_choice: str | None) -> Iterator[str]:
    """The conninfo of a maintenance database, with superuser rights. One server a session."""
    with server(postgres_choice) as conninfo:
        with psycopg.connect(conninfo) as conn:
            pytestconfig.stash[VERSION] = conn.info.parameter_status("server_version")
        yield conninfo


@pytest.fixture(scope="session")
def maintenance(postgres: str) -> Iterator[psycopg.Connection[Any]]:
    """The connection that creates and drops databases: a new one for each would cost more than its work."""
    with psycopg.connect(postgres, autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="session")
def template(postgres: str) -> Iterator[str]:
    """The name of a database with svc installed. It can be copied only without connections to it."""
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            schema.install(conn, Config())
            conn.execute("vacuum full")  # leaves an eighth less to copy
        psycopg.connect(conninfo).close()  # which writes the file of cached catalogs that begins each other connection
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture(scope="session")
def installed_database(postgres: str, template: str) -> Iterator[str]:
    """The conninfo of a database with only svc installed, in which no test commits."""
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Prepare the template of a module's databases, once. A module overrides it to prepare something."""
    return None


@pytest.fixture(scope="module")
def module_template(
    maintenance: psycopg.Connection[Any], postgres: str, template: str, prepare: Prepare
) -> Iterator[str]:
    """The name of a database with svc installed and the module's preparation."""
    if prepare is None:
        yield template
        return
    with copied(maintenance, postgres, template=template) as conninfo:
        prepare(conninfo)
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture(scope="module")
def shared_database(
    maintenance: psycopg.Connection[Any], postgres: str, installed_database: str, module_template: str, prepare: Prepare
) -> Iterator[str]:
    """The conninfo of a database with svc installed and the module's preparation, in which no test commits."""
    if prepare is None:
        yield installed_database
        return
    with copied(maintenance, postgres, template=module_template) as conninfo:
        yield conninfo


@pytest.fixture
def database(maintenance: psycopg.Connection[Any], postgres: str, module_template: str) -> Iterator[str]:
    """The conninfo of the test's own database with svc installed, for tests that commit."""
    with copied(maintenance, postgres, template=module_template) as conninfo:
        yield conninfo


@pytest.fixture
def empty_database(maintenance: psycopg.Connection[Any], postgres: str) -> Iterator[str]:
    """The conninfo of the test's own database with nothing in it."""
    with copied(maintenance, postgres) as conninfo:
        yield conninfo


@pytest.fixture
def conn(shared_database: str) -> Iterator[psycopg.Connection]:
    """A connection to the shared database, rolled back after the test."""
    with psycopg.connect(shared_database) as conn:
        yield conn
        if not conn.closed:
            conn.rollback()


@pytest.fixture(scope="session")
def mysql_servers() -> Iterator[mysql.Find]:
    """Finds the servers of MariaDB and MySQL. One of each a session, started when a case first asks for it."""
    with mysql.servers() as find:
        yield find


@pytest.fixture(scope="module", params=mysql.KINDS)
def mysql_server(request: pytest.FixtureRequest, mysql_servers: mysql.Find) -> MySqlServer:
    """A server of MariaDB, then one of MySQL; a case is skipped if there is none, and fails with CI=true."""
    return mysql.found(mysql_servers, request.param)


@pytest.fixture(scope="module")
def mysql_database(mysql_server: MySqlServer) -> Iterator[str]:
    """The name of the module's database, on a server without schema svc until the module installs it."""
    with mysql_server.new_database() as name:
        yield name
