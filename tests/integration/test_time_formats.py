"""A database whose sessions print times and intervals in forms that psycopg does not read."""

from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import webhooks
from svc_pg.console import Console
from svc_pg.query import scalar
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support.commands import svc_pg
from tests.support.hooks import endpoint, hooks_config, working
from tests.support.receiver import receiving
from tests.support.tables import audited
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created").model_copy(update={"audit": audited("t").audit})
URL = "http://127.0.0.1:9/hook"


@pytest.fixture
def printing(database: str) -> str:
    """The conninfo of a database with an audited table and an endpoint, which prints as its locale does."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table t (id int primary key, a text)")
    endpoint(database, CONFIG, URL)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into t values (1, 'a'); update t set a = 'b'")
        name = Identifier(conn.info.dbname)
        conn.execute(SQL("alter database {} set datestyle = 'German'").format(name))
        conn.execute(SQL("alter database {} set intervalstyle = 'sql_standard'").format(name))
    return database


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["log", "--table", "t"], "public.t"),
        (["history", "t", "1"], "UPDATE"),
        (["purge", "--older-than", "90d", "--dry-run"], ""),
        (["webhooks", "list"], URL),
    ],
)
def test_commands_read_it(printing: str, tmp_path: Path, command: list[str], words: str) -> None:
    done = svc_pg(*command, folder=tmp_path, variables={"DATABASE_URL": printing})
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


def test_a_worker_delivers_its_messages(printing: str) -> None:
    with receiving() as receiver, working(printing, CONFIG), psycopg.connect(printing) as conn:
        conn.execute("set datestyle = 'ISO'; set intervalstyle = 'postgres'")
        conn.execute("update svc.webhook_endpoints set url = %s", (receiver.url,))
        webhooks.send(conn, "order.created", {"id": 7})
        conn.commit()
        receiver.wait_for(1)
        status = "select status from svc.webhook_deliveries"
        wait_until(lambda: scalar(conn, status) == "delivered", "the delivery is on record")


def test_the_console_shows_it(printing: str) -> None:
    with serving_installed(Console(settings(database_url=printing), config=CONFIG)) as client:
        for path in ("/audit/entries", "/webhooks/endpoints"):
            response = client.get(path, headers=bearer("read"))
            assert response.status_code == 200, response.text
    with psycopg.connect(printing) as conn:
        assert scalar(conn, "show datestyle") == "German, DMY"
