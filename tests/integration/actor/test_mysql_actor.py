"""Connections to MySQL and MariaDB whose sessions have the current actor: bare, and through SQLAlchemy's pools."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import asyncmy
import pymysql
import pytest
from pymysql.cursors import DictCursor, SSCursor
from sqlalchemy import URL, Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from svc_pg import audit
from svc_pg.audit import acting, acting_as
from svc_pg.errors import ConfigError
from svc_pg.integrations import sqlalchemy
from svc_pg.integrations.mysql import with_audit
from tests.integration.actor.mysql_notes import INSERT, Notes
from tests.integration.actor.sqlite_notes import Told

HOSTILE = "o'\"`\\ %s :x Жени\N{GRINNING FACE} */ -- \n"


@pytest.fixture
def conn(mysql_notes: Notes) -> Iterator[Any]:
    conn = mysql_notes.connect()
    yield conn
    if conn.open:
        conn.close()


def execute(conn: Any, statement: str, *parameters: object) -> list[Any]:
    with conn.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def fail(conn: Any, statement: str, *parameters: object) -> None:
    """Execute it, and fail."""
    execute(conn, statement, *parameters)
    raise ZeroDivisionError


def sets(conn: Any) -> int:
    """The number of SETs that the session has run."""
    return int(execute(conn, "show session status like 'Com_set_option'")[0][1])


def test_each_statement_has_the_actor_of_its_moment(mysql_notes: Notes) -> None:
    with closing(mysql_notes.connect(autocommit=False)) as conn:
        assert with_audit(with_audit(conn)) is conn
        with acting(HOSTILE, tenant="acme", context={"request_id": "r-81", "name": HOSTILE}):
            execute(conn, INSERT, 1)
            with acting("bob"), conn.cursor() as cursor:
                cursor.executemany(INSERT, [[2], [3]])
            with acting_as(None):
                execute(conn, INSERT, 4)
            execute(conn, INSERT, 5)
        execute(conn, INSERT, 6)
        conn.commit()
    hostile = Told(HOSTILE, "acme", {"request_id": "r-81", "name": HOSTILE})
    nobody = Told(None, None, None)
    bob = Told("bob", None, hostile.context)
    assert mysql_notes.told() == {1: hostile, 2: bob, 3: bob, 4: nobody, 5: hostile, 6: nobody}


def test_the_same_actor_again_costs_no_round_trip(conn: Any, mysql_notes: Notes) -> None:
    with_audit(conn)
    execute(conn, "select 1")
    before = sets(conn)
    with acting("alice", context={"request_id": "r-81"}):
        execute(conn, INSERT, 1)
        execute(conn, INSERT, 2)
    with acting("alice", context={"request_id": "r-81"}):
        execute(conn, INSERT, 3)
    assert sets(conn) == before + 2  # the last is that to nobody
    assert mysql_notes.actors() == dict.fromkeys((1, 2, 3), "alice")


def test_a_context_that_changes_later_is_not_the_one_that_was_set(conn: Any, mysql_notes: Notes) -> None:
    with_audit(conn)
    context = {"step": 1}
    with acting("alice", context=context):
        execute(conn, INSERT, 1)
    with acting_as(audit.Actor("alice", context=context)):
        context["step"] = 2
        execute(conn, INSERT, 2)
    with acting("alice", context=context):
        execute(conn, INSERT, 3)
    assert [told.context for told in mysql_notes.told().values()] == [{"step": 1}, {"step": 1}, {"step": 2}]


def test_savepoints_rollbacks_and_errors_leave_the_right_actor(mysql_notes: Notes) -> None:
    with closing(with_audit(mysql_notes.connect(autocommit=False))) as conn:
        with acting("alice"):
            execute(conn, INSERT, 1)
            execute(conn, "savepoint a")
            with acting("bob"):
                execute(conn, INSERT, 2)
                execute(conn, "rollback to savepoint a")
                with pytest.raises(pymysql.IntegrityError):
                    execute(conn, INSERT, 1)
                execute(conn, INSERT, 3)
            conn.commit()
            execute(conn, INSERT, 4)
            conn.rollback()
        execute(conn, INSERT, 5)
        conn.commit()
    assert mysql_notes.actors() == {1: "alice", 3: "bob", 5: None}


def test_a_session_that_begins_anew_gets_its_actor_again(conn: Any, mysql_notes: Notes) -> None:
    with_audit(conn)
    with acting("alice"):
        execute(conn, INSERT, 1)
        conn.close()
        conn.connect()
        execute(conn, INSERT, 2)
    assert mysql_notes.actors() == {1: "alice", 2: "alice"}


class Interruptible(pymysql.Connection):
    """Ctrl-C comes while it waits for an answer."""

    is_interrupted = False

    def query(self, sql: Any, unbuffered: bool = False) -> int:  # noqa: FBT001, FBT002 - PyMySQL's
        count = super().query(sql, unbuffered)
        if self.is_interrupted:
            raise KeyboardInterrupt
        return count


def test_an_actor_who_was_perhaps_set_is_not_left_to_the_one_before(conn: Any, mysql_notes: Notes) -> None:
    conn.__class__ = Interruptible
    with_audit(conn)
    with acting("alice"):
        execute(conn, INSERT, 1)
        conn.is_interrupted = True
        with acting("mallory"), pytest.raises(KeyboardInterrupt):
            execute(conn, INSERT, 2)
        conn.is_interrupted = False
        execute(conn, INSERT, 3)
    assert mysql_notes.actors() == {1: "alice", 3: "alice"}


def test_a_rest_that_was_not_read_is_not_mistaken_for_the_answer(conn: Any, mysql_notes: Notes) -> None:
    with_audit(conn)
    with acting("alice"), conn.cursor(SSCursor) as cursor:
        cursor.execute("select 1 union all select 2")
        assert cursor.fetchall() == [(1,), (2,)]
        with acting("bob"):
            cursor.execute(INSERT, [1])
            assert cursor.rowcount == 1
    assert mysql_notes.actors() == {1: "bob"}


def test_other_connections_are_refused() -> None:
    with closing(sqlite3.connect(":memory:")) as conn, pytest.raises(ConfigError, match="not a connection to MySQL"):
        with_audit(conn)
    with pytest.raises(ConfigError, match="does not know how asyncmy"):
        with_audit(asyncmy.Connection.__new__(asyncmy.Connection))


@pytest.mark.parametrize(
    "options",
    [{}, {"cursorclass": DictCursor}, {"cursorclass": SSCursor}, {"charset": "latin1"}, {"autocommit": False}],
    ids=["plain", "mappings", "unbuffered", "latin1", "transactions"],
)
@pytest.mark.parametrize("mode", ["", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"])
def test_an_actor_of_a_block_ends_with_it(mysql_notes: Notes, options: dict[str, Any], mode: str) -> None:
    with closing(mysql_notes.connect(**options, sql_mode=mode)) as conn:
        with audit.actor(conn, HOSTILE, tenant="acme", context={"name": HOSTILE}):
            execute(conn, INSERT, 1)
            with audit.actor(conn, "bob", context={"step": 1}):
                execute(conn, INSERT, 2)
                conn.rollback()
                execute(conn, INSERT, 3)
            execute(conn, INSERT, 4)
            with pytest.raises(ZeroDivisionError), audit.actor(conn, "carol"):
                fail(conn, INSERT, 5)
            execute(conn, INSERT, 6)
        execute(conn, INSERT, 7)
        conn.commit()
    hostile = Told(HOSTILE, "acme", {"name": HOSTILE})
    told = mysql_notes.told()
    assert [told[note] for note in (4, 6, 7)] == [hostile, hostile, Told(None, None, None)]
    assert [told[note] for note in (3, 5)] == [
        Told("bob", None, {"name": HOSTILE, "step": 1}),
        Told("carol", None, {"name": HOSTILE}),
    ]


def test_an_actor_of_a_block_is_that_of_a_wrapped_connection_too(conn: Any, mysql_notes: Notes) -> None:
    with_audit(conn)
    with acting("alice"):
        with audit.actor(conn, "bob"):
            execute(conn, INSERT, 1)
        execute(conn, INSERT, 2)
    with audit.actor(conn, "carol"), acting("dan"):
        execute(conn, INSERT, 3)
    execute(conn, INSERT, 4)
    assert mysql_notes.actors() == {1: "bob", 2: "alice", 3: "dan", 4: None}


def test_a_connection_that_is_lost_in_a_block_raises_its_own_error(conn: Any, mysql_notes: Notes) -> None:
    def lose() -> None:
        with closing(mysql_notes.connect()) as other:
            execute(other, f"kill {conn.thread_id()}")
        execute(conn, INSERT, 1)
        execute(conn, INSERT, 1)  # MariaDB may have answered the first

    with pytest.raises(pymysql.OperationalError), audit.actor(conn, "alice"):
        lose()
    assert not conn.open


def test_a_connection_whose_actor_cannot_be_restored_is_closed(conn: Any) -> None:
    with pytest.raises(TypeError), audit.actor(conn, "alice"):
        conn.cursorclass = int
    assert not conn.open


def url(notes: Notes, driver: str) -> URL:
    return URL.create(f"mysql+{driver}", "root", host="127.0.0.1", port=notes.server.port, database=notes.database)


@pytest.fixture
def engine(mysql_notes: Notes) -> Iterator[Engine]:
    """An engine with a pool of one connection."""
    engine = create_engine(url(mysql_notes, "pymysql"), pool_size=1, max_overflow=0, pool_pre_ping=True)
    engine.connect().close()
    yield sqlalchemy.with_audit(sqlalchemy.with_audit(engine))
    engine.dispose()


def test_the_next_user_of_a_pool_of_one_has_no_actor_of_somebody_else(engine: Engine, mysql_notes: Notes) -> None:
    insert = text("insert into note (id) values (:note)")
    with acting("alice"), engine.begin() as conn:
        conn.execute(insert, {"note": 1})
    with engine.begin() as conn:
        conn.execute(insert, {"note": 2})
    with acting("bob"), pytest.raises(ZeroDivisionError), engine.begin() as conn:
        fail(conn.connection, INSERT, 3)
    with closing(engine.raw_connection()) as raw:
        execute(raw, INSERT, 3)
        raw.commit()
    with acting("carol"), engine.connect() as conn:
        conn.execution_options(isolation_level="AUTOCOMMIT").execute(insert, [{"note": 4}, {"note": 5}])
        conn.invalidate()
    with engine.begin() as conn:
        with acting("dan"), conn.begin_nested() as savepoint:
            conn.execute(insert, {"note": 6})
            savepoint.rollback()
        conn.execute(insert, {"note": 7})
    assert mysql_notes.actors() == {1: "alice", 2: None, 3: None, 4: "carol", 5: "carol", 7: None}


def test_two_phase_transactions_have_the_actor(engine: Engine, mysql_notes: Notes) -> None:
    with engine.connect() as conn:
        with acting("alice"):
            transaction = conn.begin_twophase()
            conn.execute(text("insert into note (id) values (1)"))
            transaction.prepare()
        transaction.commit()
    assert mysql_notes.actors() == {1: "alice"}


def test_threads_that_share_a_pool_write_as_their_own_actors(mysql_notes: Notes) -> None:
    engine = sqlalchemy.with_audit(create_engine(url(mysql_notes, "pymysql"), pool_size=2, max_overflow=0))

    def write(note: int) -> None:
        with acting(f"user:{note}") if note % 5 else acting_as(None), engine.begin() as conn:
            conn.execute(text("insert into note (id) values (:note)"), {"note": note})

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(write, range(50)))
    engine.dispose()
    assert mysql_notes.actors() == {note: f"user:{note}" if note % 5 else None for note in range(50)}


@pytest.mark.parametrize("pool_size", [1, 3])
def test_tasks_that_share_a_pool_write_as_their_own_actors(mysql_notes: Notes, pool_size: int) -> None:
    insert = text("insert into note (id) values (:note)")

    async def write_all() -> None:
        engine = create_async_engine(url(mysql_notes, "asyncmy"), pool_size=pool_size, max_overflow=0)
        sqlalchemy.with_audit(engine)

        async def write(note: int) -> None:
            with acting(f"user:{note}") if note % 5 else acting_as(None):
                async with AsyncSession(engine) as session, session.begin():
                    await session.execute(insert, {"note": note})
                    await session.execute(insert, [{"note": note + 100}])

        async def fail_later() -> None:
            with acting("mallory"):
                async with engine.begin() as conn:
                    await conn.execute(insert, {"note": 99})
                    raise ZeroDivisionError

        await asyncio.gather(*map(write, range(20)))
        with pytest.raises(ZeroDivisionError):
            await fail_later()
        async with AsyncSession(engine) as session, session.begin():
            async with session.begin_nested() as savepoint:
                with acting("somebody"):
                    await session.execute(insert, {"note": 60})
                await savepoint.rollback()
            await session.execute(insert, {"note": 61})
        async with engine.connect() as conn:
            await conn.execution_options(isolation_level="AUTOCOMMIT")
            await conn.execute(insert, {"note": 50})
            with acting("alice"):
                async with conn.stream(text("select 1 union all select 2")) as rows:
                    assert [row[0] async for row in rows] == [1, 2]
                await conn.execute(insert, {"note": 51})
        await engine.dispose()

    asyncio.run(write_all())
    own = {note: f"user:{note}" if note % 5 else None for note in range(20)}
    assert mysql_notes.actors() == {
        **own,
        **{note + 100: actor for note, actor in own.items()},
        50: None,
        51: "alice",
        61: None,
    }


def test_an_async_connection_has_the_actor_of_a_block(mysql_notes: Notes) -> None:
    async def write() -> None:
        conn = await asyncmy.connect(
            host="127.0.0.1", port=mysql_notes.server.port, user="root", db=mysql_notes.database, autocommit=True
        )
        async with conn.cursor() as cursor:

            async def fail_later() -> None:
                async with audit.aactor(conn, "bob"):
                    await cursor.execute(INSERT, [2])
                    raise ZeroDivisionError

            async with audit.aactor(conn, HOSTILE, tenant="acme"):
                await cursor.execute(INSERT, [1])
                with pytest.raises(ZeroDivisionError):
                    await fail_later()
                await cursor.execute(INSERT, [3])
            await cursor.execute(INSERT, [4])
        await conn.ensure_closed()

    asyncio.run(write())
    hostile = Told(HOSTILE, "acme", None)
    assert mysql_notes.told() == {
        1: hostile,
        2: Told("bob", None, None),
        3: hostile,
        4: Told(None, None, None),
    }
