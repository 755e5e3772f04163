"""A database whose sessions print times and intervals in forms that psycopg does not read."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import audit, schema, webhooks
from svc_pg.console import Console
from svc_pg.database.query import scalar
from svc_pg.errors import ConflictError, NotFoundError
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


def paused(conn: psycopg.Connection[Any]) -> str:
    [endpoint] = webhooks.endpoints.list(conn).data
    return webhooks.endpoints.pause(conn, endpoint.id).id


@pytest.mark.parametrize("is_autocommit", [False, True])
def test_calls_read_it_on_a_given_connection_which_keeps_its_forms(printing: str, *, is_autocommit: bool) -> None:
    with psycopg.connect(printing, autocommit=is_autocommit) as conn:
        assert [each.timeout for each in webhooks.endpoints.list(conn).data] == [timedelta(seconds=15)]
        assert len(audit.query().resource("t").since("6h").list(conn).data) == 2
        assert len(audit.as_of("t", timedelta(milliseconds=1)).list(conn).data) == 1
        with pytest.raises(NotFoundError):
            webhooks.endpoints.get(conn, "0199a4a0-0000-7000-8000-000000000000")
        with pytest.raises(ConflictError), conn.transaction():
            webhooks.endpoints.ping(conn, paused(conn))
        forms = "select current_setting('datestyle') || ', ' || current_setting('intervalstyle')"
        assert scalar(conn, forms) == "German, DMY, sql_standard"
        conn.rollback()
        entries = audit.follow(conn, audit.query().resource("t"))
        assert [next(entries).operation for _ in range(2)] == ["INSERT", "UPDATE"]
        entries.close()
        assert scalar(conn, forms) == "German, DMY, sql_standard"


def test_async_calls_read_it_on_a_given_connection_which_keeps_its_forms(printing: str) -> None:
    async def read(*, is_autocommit: bool) -> None:
        async with await psycopg.AsyncConnection.connect(printing, autocommit=is_autocommit) as conn:
            assert len((await webhooks.endpoints.alist(conn)).data) == 1
            shown = await conn.execute("show datestyle")
            assert await shown.fetchone() == ("German, DMY",)

    for is_autocommit in (False, True):
        asyncio.run(read(is_autocommit=is_autocommit))


def test_nothing_that_is_installed_counts_as_tampered(printing: str) -> None:
    with psycopg.connect(printing) as conn:
        assert schema.plan(conn, CONFIG) == []


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
