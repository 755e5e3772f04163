"""A console with sign-in by magic link, shared by its tests: each test uses addresses of its own."""

from collections.abc import Iterator

import httpx
import psycopg
import pytest

from tests.integration.console.signing_in import Mailbox, serving_magic
from tests.support.postgres import new_database


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search may take its time: on a busy machine the pages of a case would be other ones."""
    monkeypatch.setattr("svc_pg.audit.read.search._TIMEOUT", "60000")


@pytest.fixture(scope="session")
def _console_database(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture
def console_database(_console_database: str) -> str:
    """The conninfo of that console's database, before any call was counted."""
    with psycopg.connect(_console_database) as conn:
        conn.execute("truncate svc.console_rate")
    return _console_database


@pytest.fixture(scope="session")
def mailbox() -> Mailbox:
    """The folder for that console's mail."""
    return Mailbox()


@pytest.fixture(scope="session")
def _magic(_console_database: str, mailbox: Mailbox) -> Iterator[httpx.Client]:
    with serving_magic(_console_database, mailbox) as client:
        yield client


@pytest.fixture
def magic(_magic: httpx.Client, console_database: str) -> httpx.Client:  # noqa: ARG001 - it resets the limits
    """A client of that console."""
    return _magic
