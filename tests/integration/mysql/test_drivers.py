"""Drivers of MySQL and MariaDB beside PyMySQL: each does all that the library takes a connection for."""

import asyncio
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import aiomysql
import asyncmy
import mysql.connector
import pytest
from sqlalchemy import URL, create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from svc_pg import audit, schema
from svc_pg.audit import acting
from svc_pg.errors import ConfigError, NotInstalledError, TransactionError
from svc_pg.integrations import sqlalchemy
from svc_pg.integrations.mysql import with_audit
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import entries, purge, remake
from tests.support.pages import all_rows
from tests.support.sqlite import config

HOSTILE = "o'\"`\\ %s :x Жени\N{GRINNING FACE}"
TABLE = "create table t (id int primary key, name varchar(200), credit decimal(12, 2))"
CONFIG = config("t")
MONTH = timedelta(days=30)


def of_connector(server: MySqlServer, database: str) -> Any:
    return mysql.connector.connect(
        host="127.0.0.1", port=server.port, user="root", database=database, autocommit=True, use_pure=True
    )


def of_mysqlclient(server: MySqlServer, database: str) -> Any:
    driver = pytest.importorskip("MySQLdb", exc_type=ImportError)  # it needs a library of the system
    return driver.connect(host="127.0.0.1", port=server.port, user="root", database=database, autocommit=True)


DRIVERS: dict[str, Callable[[MySqlServer, str], Any]] = {
    "mysql-connector-python": of_connector,
    "mysqlclient": of_mysqlclient,
}


@pytest.fixture(scope="module", autouse=True)
def real_mysqldb() -> Iterator[None]:
    """MySQLdb is mysqlclient here, and elsewhere may be PyMySQL again, which can take its place."""

    def loaded() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] == "MySQLdb"]

    with pytest.MonkeyPatch.context() as patch:
        for name in loaded():
            patch.delitem(sys.modules, name)
        yield
        for name in loaded():
            del sys.modules[name]


@pytest.fixture
def own(mysql_server: MySqlServer, mysql_database: str) -> Iterator[Any]:
    """A connection of PyMySQL to a database with an empty table t, which is recorded from now on."""
    with mysql_server.connect(mysql_database) as conn:
        remake(conn, TABLE)
        schema.install(conn, CONFIG)
        purge(conn)
        yield conn


@pytest.fixture(params=DRIVERS)
def conn(request: pytest.FixtureRequest, own: Any, mysql_server: MySqlServer) -> Iterator[Any]:
    """A connection of another driver to the same."""
    with closing(DRIVERS[request.param](mysql_server, own.db.decode())) as conn:
        yield conn


def execute(conn: Any, statement: str, *parameters: object) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute(statement, parameters)


def exported(conn: Any) -> bytes:
    out = io.BytesIO()
    audit.export(conn, audit.query(), format="csv", out=out)
    return out.getvalue()


def test_a_sync_driver_writes_and_reads_as_pymysql_does(conn: Any, own: Any) -> None:
    with audit.actor(conn, HOSTILE, tenant="acme", context={"name": HOSTILE}):
        execute(conn, "insert into t values (%s, %s, 1.10)", 1, HOSTILE)
        audit.capture_log(conn, "files", "UPDATE", before={"n": 1.5}, after={"n": HOSTILE}, compliance=["gdpr"])
    execute(conn, "update t set credit = 2.50")
    assert [entry["actor_id"] for entry in entries(own)] == [HOSTILE, HOSTILE, None]
    assert entries(own)[0]["context"] == {"name": HOSTILE}
    query = audit.query()
    assert all_rows(conn, query.limit(2)) == all_rows(own, query)
    assert audit.last_changes(conn, "t", 1, limit=1)[0].fields == audit.last_changes(own, "t", 1, limit=1)[0].fields
    assert exported(conn) == exported(own)
    with closing(audit.follow(conn, query)) as following:
        assert next(following).actor_id == HOSTILE
    assert audit.purge(conn, MONTH).entries == 0


def test_a_sync_driver_installs_and_says_what_is_missing(conn: Any, own: Any) -> None:
    assert schema.uninstall(conn, drop_data=True)
    with pytest.raises(NotInstalledError):
        audit.query().list(conn)
    assert schema.install(conn, CONFIG)
    assert {status.state for status in schema.status(own, CONFIG)} == {"ok"}
    execute(conn, "insert into t values (1, null, null)")
    assert [*schema.backfill(conn, CONFIG).values()] == [0]
    execute(conn, "start transaction")
    execute(conn, "insert into t values (2, null, null)")
    for inside in (lambda: exported(conn), lambda: schema.install(conn, CONFIG), lambda: audit.purge(conn, MONTH)):
        with pytest.raises(TransactionError):
            inside()


def test_a_connection_has_the_actor_of_its_moment_or_says_what_has(conn: Any, own: Any) -> None:
    if type(conn).__module__.startswith("mysql.connector"):
        with pytest.raises(ConfigError, match=r"does not know how mysql\.connector") as error:
            with_audit(conn)
        assert "audit.actor(conn, ...)" in str(error.value.hint)
        return
    with_audit(conn)
    with acting(HOSTILE):
        execute(conn, "insert into t values (1, null, null)")
    execute(conn, "insert into t values (2, null, null)")
    assert [entry["actor_id"] for entry in entries(own)] == [HOSTILE, None]


@pytest.mark.parametrize("driver", ["mysqlconnector", "mysqldb", "aiomysql"])
def test_a_pool_of_one_gives_nobody_the_actor_of_another(
    own: Any, mysql_server: MySqlServer, mysql_database: str, driver: str
) -> None:
    if driver == "mysqldb":
        pytest.importorskip("MySQLdb", exc_type=ImportError)
    url = URL.create(f"mysql+{driver}", "root", host="127.0.0.1", port=mysql_server.port, database=mysql_database)
    add = text("insert into t values (:id, null, null)")

    def write() -> None:
        engine = sqlalchemy.with_audit(create_engine(url, pool_size=1, max_overflow=0))
        for number, name in enumerate(("alice", None, "bob")):
            with acting(name) if name else audit.acting_as(None), engine.begin() as conn:
                conn.execute(add, {"id": number})
        with engine.connect() as conn:
            assert len(audit.query().list(conn).data) == 3
        engine.dispose()

    async def awrite() -> None:
        engine = sqlalchemy.with_audit(create_async_engine(url, pool_size=1, max_overflow=0))
        for number, name in enumerate(("alice", None, "bob")):
            with acting(name) if name else audit.acting_as(None):
                async with engine.begin() as conn:
                    await conn.execute(add, {"id": number})
        async with engine.connect() as conn:
            assert len((await audit.query().alist(conn)).data) == 3
        await engine.dispose()

    asyncio.run(awrite()) if driver == "aiomysql" else write()
    assert [entry["actor_id"] for entry in entries(own)] == ["alice", None, "bob"]


@pytest.mark.parametrize("driver", [aiomysql, asyncmy])
def test_an_async_driver_without_sqlalchemy_writes_and_reads_as_pymysql_does(
    own: Any, mysql_server: MySqlServer, mysql_database: str, driver: Any
) -> None:
    async def work() -> bytes:
        conn = await driver.connect(
            host="127.0.0.1", port=mysql_server.port, user="root", db=mysql_database, autocommit=True
        )
        async with conn.cursor() as cursor:
            async with audit.aactor(conn, HOSTILE, tenant="acme", context={"name": HOSTILE}):
                await cursor.execute("insert into t values (1, %s, 1.10)", [HOSTILE])
            await cursor.execute("update t set credit = 2.50")
        assert (await audit.query().alist(conn)).data == audit.query().list(own).data
        changes = await audit.alast_changes(conn, "t", 1, limit=1)
        assert changes[0].fields == audit.last_changes(own, "t", 1, limit=1)[0].fields
        out = io.BytesIO()
        await audit.aexport(conn, audit.query(), format="csv", out=out)
        assert (await audit.apurge(conn, MONTH)).entries == 0
        await conn.ensure_closed()
        return out.getvalue()

    assert asyncio.run(work()) == exported(own)
    assert [(entry["actor_id"], entry["tenant_id"]) for entry in entries(own)] == [(HOSTILE, "acme"), (None, None)]
