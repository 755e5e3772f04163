"""Fixtures of pytest: ``pytest_plugins = ["svc_pg.testing.fixtures"]`` in the ``conftest.py`` beside your tests' root.

No entry point: pytest would rewrite all modules of the distribution, in every run in an environment that has it. A
fixture imports its modules when a test first uses it.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from svc_pg.errors import SvcError

if TYPE_CHECKING:
    from psycopg import Connection

    from svc_pg.config import Config
    from svc_pg.testing import Receiver, SentWebhook
    from svc_pg.webhooks import KeyRing

__all__ = [
    "svc_config",
    "svc_conn",
    "svc_database",
    "svc_deliver",
    "svc_keys",
    "svc_prepare",
    "svc_receiver",
    "svc_rollback_database",
    "svc_sent",
    "svc_server",
    "svc_session_database",
    "svc_template",
]


@contextmanager
def _explained() -> Iterator[None]:
    """Fail with the message and the hint alone: the reason is not in the code of a fixture."""
    try:
        yield
    except SvcError as error:
        pytest.fail("\n".join([error.message, *getattr(error, "__notes__", ())]), pytrace=False)


@pytest.fixture(scope="session")
def svc_config(pytestconfig: pytest.Config) -> "Config":
    """The configuration, by default ``svc-pg.toml`` in the root folder of pytest; override it for another."""
    from svc_pg.config import DEFAULT_FILE, Config

    file = pytestconfig.rootpath / DEFAULT_FILE
    if not file.is_file():
        pytest.fail(f"there is no {file}\nhint: Override the fixture svc_config.", pytrace=False)
    with _explained():
        return Config.from_toml(file)


@pytest.fixture(scope="session")
def svc_prepare() -> Callable[[str], object]:
    """A function that creates your tables in the new, empty database with this address; override it."""
    return lambda _address: None


@pytest.fixture(scope="session")
def svc_server() -> Iterator[str]:
    """The address of a server for test databases: SVC_TEST_DATABASE_URL, or else an embedded one."""
    from svc_pg.testing import databases

    with _explained(), databases.server(os.environ.get(databases.VARIABLE)) as address:
        yield address


@pytest.fixture(scope="session")
def svc_template(svc_server: str, svc_prepare: Callable[[str], object], svc_config: "Config") -> Iterator[str]:
    """The name of the template database, with your tables and svc-pg. Nobody may connect to it."""
    import psycopg

    from svc_pg.database.query import scalar
    from svc_pg.testing import databases

    with _explained(), databases.connected(svc_server):
        pass  # it is there, and of tests
    with databases.new_database(svc_server) as address:
        svc_prepare(address)
        with _explained():
            databases.install(address, svc_config)
        with psycopg.connect(address) as conn:
            name: str = scalar(conn, "select current_database()")
        databases.disconnect(svc_server, name)
        yield name


@pytest.fixture(scope="session")
def svc_session_database(svc_server: str, svc_template: str) -> Iterator[str]:
    """The address of one database for all tests, for an application with one address for its lifetime."""
    from svc_pg.testing.databases import new_database

    with new_database(svc_server, template=svc_template) as address:
        yield address


@pytest.fixture
def svc_database(svc_server: str, svc_template: str) -> Iterator[str]:
    """The address of the test's own database, for tests that commit. Dropped afterwards."""
    from svc_pg.testing.databases import new_database

    with new_database(svc_server, template=svc_template) as address:
        yield address


@pytest.fixture(scope="session")
def svc_rollback_database(svc_server: str, svc_template: str) -> Iterator[str]:
    """The address of the database of ``svc_conn``, where nothing is committed."""
    from svc_pg.testing.databases import new_database

    with new_database(svc_server, template=svc_template) as address:
        yield address


@pytest.fixture
def svc_conn(svc_rollback_database: str) -> "Iterator[Connection[Any]]":
    """A connection ``with_audit`` in a transaction that is rolled back after the test, and cannot be committed."""
    import psycopg

    from svc_pg.integrations.psycopg import with_audit

    with psycopg.connect(svc_rollback_database) as conn, with_audit(conn).transaction(force_rollback=True):
        yield conn


@pytest.fixture
def svc_sent(svc_session_database: str) -> "Callable[..., list[SentWebhook]]":
    """``svc_sent()`` or ``svc_sent("order.paid")``: this test's committed webhooks in the session's database."""
    from svc_pg.testing.sent_webhooks import mark, sent

    return partial(sent, svc_session_database, since=mark(svc_session_database))


@pytest.fixture(scope="session")
def svc_keys() -> "KeyRing":
    """The keys that seal secrets: SVC_ENCRYPTION_KEYS, or a new one."""
    from svc_pg.settings import Settings
    from svc_pg.webhooks.secrets import KeyRing, new_key

    with _explained():
        settings = Settings.load()
        return KeyRing.parse(new_key("test")) if settings.encryption_keys is None else KeyRing.of(settings)


@pytest.fixture
def svc_receiver(svc_keys: "KeyRing") -> "Iterator[Receiver]":
    """A receiver on this machine: subscribe it, deliver, and look at its ``webhooks``."""
    from svc_pg.testing import receiving

    with receiving(svc_keys) as receiver:
        yield receiver


@pytest.fixture
def svc_deliver(svc_keys: "KeyRing", svc_config: "Config") -> Callable[..., None]:
    """``svc_deliver(address)``: deliver the due webhooks of that database with a real worker, until none is due."""
    from svc_pg.testing import deliver

    def run(where: Any, *, timeout: timedelta = timedelta(seconds=30)) -> None:
        with _explained():
            deliver(where, keys=svc_keys, config=svc_config, timeout=timeout)

    return run
