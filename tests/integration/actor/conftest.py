"""A database with one audited table, and PgBouncer in front of it."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, schema
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import new_database

TABLE = "create table note (id int primary key, body text not null default '')"


@pytest.fixture(scope="session")
def notes_template(postgres: str, template: str) -> Iterator[str]:
    """The name of a database in which the table ``note`` is audited."""
    config = Config()
    config.audit.table("public.note")
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TABLE)
            conn.commit()
            schema.install(conn, config)
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture
def notes(postgres: str, notes_template: str) -> Iterator[str]:
    """The conninfo of the test's own database, in which the table ``note`` is audited."""
    with new_database(postgres, template=notes_template) as conninfo:
        yield conninfo


@pytest.fixture
def bouncer(notes: str) -> Iterator[str]:
    """The conninfo of the same database through PgBouncer in transaction mode, with one server connection."""
    with pgbouncer(notes) as conninfo:
        yield conninfo
