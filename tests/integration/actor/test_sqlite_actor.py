"""Connections to SQLite that tell the triggers the current actor: of sqlite3, a newer pysqlite3, and aiosqlite."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Lock
from types import ModuleType
from typing import Any

import aiosqlite
import pysqlite3
import pytest

from svc_pg import audit
from svc_pg.audit import acting, acting_as
from svc_pg.errors import ConfigError
from svc_pg.integrations.sqlite import with_audit
from tests.integration.actor.sqlite_notes import INSERT, Notes, Told


@pytest.fixture(params=[sqlite3, pysqlite3], ids=["sqlite3", "pysqlite3"])
def driver(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def conn(driver: ModuleType, sqlite_notes: Notes) -> Iterator[Any]:
    """A connection that is not wrapped."""
    with closing(driver.connect(sqlite_notes.path, check_same_thread=False)) as conn:
        yield conn


def test_each_row_has_the_actor_of_its_moment(conn: Any, sqlite_notes: Notes) -> None:
    assert with_audit(with_audit(conn)) is conn
    with conn:
        with acting("alice", tenant="acme", context={"request_id": "r-81", "name": "Жени \"'"}):
            conn.execute(INSERT, [1])
            with acting("bob", context={"name": "Bob", "step": 1}):
                conn.executemany(INSERT, [[2], [3]])
            with acting_as(None):
                conn.execute(INSERT, [4])
        conn.execute("update note set body = 'x' where id = 1")
    alice = Told("alice", "acme", {"request_id": "r-81", "name": "Жени \"'"})
    bob = Told("bob", None, {"request_id": "r-81", "name": "Bob", "step": 1})
    assert sqlite_notes.told() == [alice, bob, bob, *[Told(None, None, None)] * 2]


def test_savepoints_rollbacks_and_autocommit_need_nothing(driver: ModuleType, sqlite_notes: Notes) -> None:
    with closing(with_audit(driver.connect(sqlite_notes.path, isolation_level=None))) as conn, acting("alice"):
        conn.execute(INSERT, [1])
        conn.execute("begin")
        conn.execute("savepoint a")
        conn.execute(INSERT, [2])
        conn.execute("rollback to a")
        with acting("bob"):
            conn.execute(INSERT, [3])
        conn.execute("commit")
        conn.execute("begin")
        conn.execute(INSERT, [4])
        conn.execute("rollback")
        conn.execute(INSERT, [4])
    assert sqlite_notes.actors() == {1: "alice", 3: "bob", 4: "alice"}


def test_a_statement_that_was_prepared_before_has_the_actor_too(conn: Any, sqlite_notes: Notes) -> None:
    conn.execute(INSERT, [1])
    reading = conn.execute("select id from note union all select 7")
    assert next(reading) == (1,)
    with_audit(conn)
    with acting("alice"):
        conn.execute(INSERT, [2])
    conn.commit()
    assert list(reading) == [(7,)]
    assert sqlite_notes.actors() == {1: None, 2: "alice"}


def test_printf_with_arguments_stays_that_of_sqlite(conn: Any) -> None:
    assert with_audit(conn).execute("select printf('%d', 3), format('%d', 4)").fetchone() == ("3", "4")


def test_threads_that_take_turns_write_as_their_own_actors(driver: ModuleType, sqlite_notes: Notes) -> None:
    conn = with_audit(driver.connect(sqlite_notes.path, isolation_level=None, check_same_thread=False))
    turn = Lock()

    def write(note: int) -> None:
        with acting(f"user:{note}"), turn:
            conn.execute(INSERT, [note])

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(write, range(50)))
    conn.close()
    assert sqlite_notes.actors() == {note: f"user:{note}" for note in range(50)}


def test_an_application_may_shape_its_rows_and_texts_as_it_likes(conn: Any, sqlite_notes: Notes) -> None:
    conn.row_factory = lambda cursor, row: {name[0]: value for name, value in zip(cursor.description, row, strict=True)}
    conn.text_factory = bytes
    with acting("alice"):
        with_audit(conn).execute(INSERT, [1])
    conn.commit()
    assert sqlite_notes.actors() == {1: "alice"}


def test_a_connection_that_trusts_no_schema_is_refused(conn: Any) -> None:
    conn.execute("pragma trusted_schema = off")
    with pytest.raises(ConfigError, match="trusted_schema is off"):
        with_audit(conn)


def test_trust_that_ends_later_fails_writes(driver: Any, conn: Any, sqlite_notes: Notes) -> None:
    with_audit(conn).execute("pragma trusted_schema = off")
    with acting("alice"), pytest.raises(driver.OperationalError, match="unsafe use of"):
        conn.execute(INSERT, [1])
    assert sqlite_notes.told() == []


def test_the_keyed_hash_is_that_of_rfc_4231(conn: Any) -> None:
    hashed = "select svc_hash(cast('what do ya want for nothing?' as blob), x'4a656665'), svc_hash(null, x'4a656665')"
    assert with_audit(conn).execute(hashed).fetchone() == (
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        None,
    )


def test_another_database_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a connection to SQLite"):
        with_audit(type("Connection", (), {"__module__": "pymysql.connections"})())


def test_an_actor_of_a_block_is_that_of_the_connection(conn: Any, sqlite_notes: Notes) -> None:
    with audit.actor(conn, "alice", tenant="acme"):
        conn.execute(INSERT, [1])
        with audit.actor(conn, "bob"):
            conn.execute(INSERT, [2])
        conn.commit()
        conn.execute(INSERT, [3])
    conn.execute(INSERT, [4])
    with pytest.raises(ZeroDivisionError), audit.actor(conn, "carol"):
        raise ZeroDivisionError
    conn.execute(INSERT, [5])
    conn.commit()
    assert sqlite_notes.actors() == {1: "alice", 2: "bob", 3: "alice", 4: None, 5: None}


def test_tasks_with_connections_of_aiosqlite_write_as_their_own_actors(sqlite_notes: Notes) -> None:
    async def write_all() -> None:
        async with with_audit(with_audit(aiosqlite.connect(sqlite_notes.path))) as conn:

            async def write(note: int) -> None:
                with acting(f"user:{note}"):
                    await conn.execute(INSERT, [note])
                    await asyncio.sleep(0)
                    cursor = await conn.executemany("update note set body = 'x' where id = ?", [[note]])
                    await cursor.close()  # dropped, Python 3.11 resets its statement here, beside the next one's use

            await asyncio.gather(*map(write, range(20)))
            await conn.execute(INSERT, [20])
            await conn.commit()

    asyncio.run(write_all())
    assert sqlite_notes.actors() == {**{note: f"user:{note}" for note in range(20)}, 20: None}
    assert len(sqlite_notes.told()) == 41


def test_an_open_connection_of_aiosqlite_has_the_actor_of_a_block(sqlite_notes: Notes) -> None:
    async def write() -> None:
        async with aiosqlite.connect(sqlite_notes.path) as conn:
            await conn.execute(INSERT, [1])
            async with audit.aactor(conn, "alice"), conn.execute(f"{INSERT} returning id", [2]) as cursor:
                assert await cursor.fetchone() == (2,)
            await conn.execute(INSERT, [3])
            await conn.commit()

    asyncio.run(write())
    assert sqlite_notes.actors() == {1: None, 2: "alice", 3: None}


def test_a_connection_of_aiosqlite_that_trusts_no_schema_fails_and_closes(sqlite_notes: Notes) -> None:
    async def write() -> None:
        async with aiosqlite.connect(sqlite_notes.path) as conn:
            await conn.execute("pragma trusted_schema = off")
            with_audit(conn)
            with pytest.raises(ConfigError, match="trusted_schema is off"):
                await conn.execute(INSERT, [1])
            await conn.rollback()

    asyncio.run(write())
    assert sqlite_notes.told() == []
