"""Databases with one audited table, and PgBouncer in front of one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, schema
from tests.integration.actor import mysql_notes as notes_on_mysql
from tests.integration.actor import sqlite_notes as notes_on_sqlite
from tests.support.mysql import MySqlServer
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import copied, new_database

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
def notes(maintenance: psycopg.Connection[Any], postgres: str, notes_template: str) -> Iterator[str]:
    """The conninfo of the test's own database, in which the table ``note`` is audited."""
    with copied(maintenance, postgres, template=notes_template) as conninfo:
        yield conninfo


@pytest.fixture
def bouncer(notes: str) -> Iterator[str]:
    """The conninfo of the same database through PgBouncer in transaction mode, with one server connection."""
    with pgbouncer(notes) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def audited_mysql(mysql_server: MySqlServer, mysql_database: str) -> str:
    """The name of the module's database of MariaDB or MySQL, in which the table ``note`` is audited."""
    notes_on_mysql.make(mysql_server, mysql_database)
    return mysql_database


@pytest.fixture
def mysql_notes(mysql_server: MySqlServer, audited_mysql: str) -> notes_on_mysql.Notes:
    """As ``audited_mysql``, with an empty table."""
    return notes_on_mysql.begin(mysql_server, audited_mysql)


@pytest.fixture
def sqlite_notes(tmp_path: Path) -> notes_on_sqlite.Notes:
    """The test's own file of SQLite, in which the table ``note`` is audited."""
    return notes_on_sqlite.Notes(notes_on_sqlite.make(tmp_path / "notes.db"))
