"""Calls take the connections, cursors and sessions that people hold, and name the right call for the wrong kind."""

import asyncio
import io
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import asyncpg
import psycopg
import psycopg2  # type: ignore[import-untyped] # published without types
import pytest
from django.db import connection, connections
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from svc_pg import audit, webhooks
from svc_pg.audit import query
from svc_pg.errors import ConfigError, TransactionError
from tests.integration.actor import django_shop
from tests.integration.actor.entries import INSERT, actors, entries

ADD = "insert into note values (1)"
YEAR = timedelta(days=365)


def engine_of(conninfo: str, driver: Any = psycopg) -> Any:
    return create_engine(f"postgresql+{driver.__name__}://", creator=partial(driver.connect, conninfo))


def async_engine_of(conninfo: str, driver: str = "psycopg") -> Any:
    connect: Any = connect_asyncpg if driver == "asyncpg" else psycopg.AsyncConnection.connect
    return create_async_engine(f"postgresql+{driver}://", async_creator=partial(connect, conninfo))


async def connect_asyncpg(conninfo: str) -> Any:
    parts = conninfo_to_dict(conninfo)
    return await asyncpg.connect(
        **{name: parts.get(name) for name in ("host", "port", "user", "password")}, database=parts["dbname"]
    )


def read(conn: Any) -> list[str | None]:
    assert [change.actor_id for change in audit.last_changes(conn, "public.note", 1)] == ["alice"]
    found = [entry.actor_id for entry in query().list(conn)]
    out = io.BytesIO()
    assert audit.export(conn, query(), out=out, is_settled=False).entries == len(json.loads(out.getvalue())) == 1
    commit = getattr(conn, "commit", None) or conn.connection.commit  # a cursor has none
    commit()
    with closing(audit.follow(conn, query())) as following:
        assert next(following).actor_id == "alice"
    assert audit.purge(conn, YEAR).entries == 0
    assert audit.erase(conn, "note", 1, dry_run=True).entries == 1
    return found


def of_psycopg(conninfo: str) -> list[str | None]:
    with psycopg.connect(conninfo, row_factory=dict_row) as conn, conn.cursor() as cursor:
        with audit.actor(cursor, "alice"):
            cursor.execute(ADD)
        return read(cursor)


def of_psycopg2(conninfo: str) -> list[str | None]:
    with closing(psycopg2.connect(conninfo)) as conn:
        with audit.actor(conn, "alice"):
            conn.cursor().execute(ADD)
        conn.commit()
        with pytest.raises(ConfigError, match="psycopg 3"):
            query().list(conn)
    with psycopg.connect(conninfo) as other:
        return read(other)


def of_a_pool(conninfo: str) -> list[str | None]:
    with ConnectionPool(conninfo, min_size=1, open=True) as pool, pool.connection() as conn:
        with audit.actor(conn, "alice"):
            conn.execute(ADD)
        return read(conn)


def of_sqlalchemy(conninfo: str, driver: Any = psycopg) -> list[str | None]:
    engine = engine_of(conninfo, driver)
    with engine.connect() as conn:
        with audit.actor(conn, "alice"):
            conn.execute(text(ADD))
        conn.commit()
    engine.dispose()
    engine = engine_of(conninfo)
    with engine.connect() as conn:
        found = read(conn)
    engine.dispose()
    return found


def of_sqlalchemy_on_psycopg2(conninfo: str) -> list[str | None]:
    return of_sqlalchemy(conninfo, psycopg2)


class OwnSession(Session):
    """As applications derive theirs."""


def of_a_session(conninfo: str) -> list[str | None]:
    engine = engine_of(conninfo)
    with OwnSession(engine) as session:
        with audit.actor(session, "alice"):
            session.execute(text(ADD))
        session.commit()
    scoped = scoped_session(sessionmaker(engine))
    found = read(scoped)
    scoped.remove()
    engine.dispose()
    return found


def of_django(conninfo: str) -> list[str | None]:
    django_shop.skip_unsupported(conninfo)
    django_shop.use(conninfo)
    connection.set_autocommit(False)
    try:
        with audit.actor(connection, "alice"), connection.cursor() as cursor:
            cursor.execute(ADD)
        connection.commit()
        assert read(connections["default"]) == ["alice"]
        with connection.cursor() as cursor:
            return read(cursor)
    finally:
        connection.close()


@pytest.mark.parametrize(
    "hold",
    [
        of_psycopg,
        of_psycopg2,
        of_a_pool,
        of_sqlalchemy,
        partial(of_sqlalchemy, driver=psycopg2),
        of_a_session,
        of_django,
    ],
)
def test_an_actor_is_named_and_the_log_read_with_what_is_held(
    hold: Callable[[str], list[str | None]], notes: str
) -> None:
    assert hold(notes) == ["alice"]
    assert actors(notes) == {1: "alice"}


async def aread(conn: Any) -> list[str | None]:
    assert [change.actor_id for change in await audit.alast_changes(conn, "public.note", 1)] == ["alice"]
    found = [entry.actor_id for entry in await query().alist(conn)]
    out = io.BytesIO()
    report = await audit.aexport(conn, query(), out=out, is_settled=False)
    assert report.entries == len(json.loads(out.getvalue())) == 1
    await conn.commit()
    assert (await audit.apurge(conn, YEAR)).entries == 0
    assert (await audit.aerase(conn, "note", 1, dry_run=True)).entries == 1
    return found


async def of_async_psycopg(conninfo: str) -> list[str | None]:
    async with AsyncConnectionPool(conninfo, min_size=1) as pool, pool.connection() as conn:
        async with conn.cursor() as cursor, audit.aactor(cursor, "alice"):
            await cursor.execute(ADD)
        return await aread(conn)


async def of_an_async_session(conninfo: str) -> list[str | None]:
    engine = async_engine_of(conninfo)
    async with AsyncSession(engine) as session:
        async with audit.aactor(session, "alice"):
            await session.execute(text(ADD))
        await session.commit()
        found = await aread(session)
    async with engine.connect() as conn:
        assert await aread(conn) == found
    await engine.dispose()
    return found


async def of_asyncpg(conninfo: str) -> list[str | None]:
    conn = await connect_asyncpg(conninfo)
    with pytest.raises(TransactionError, match="outside one"):
        async with audit.aactor(conn, "alice"):
            pass
    with pytest.raises(asyncpg.UniqueViolationError):
        async with conn.transaction(), audit.aactor(conn, "mallory"):
            await conn.execute("insert into note values (2), (2)")
    async with conn.transaction():
        async with audit.aactor(conn, "alice"):
            await conn.execute(ADD)
        assert await conn.fetchval("select current_setting('svc.actor_id')") == ""
    assert [change.actor_id for change in await audit.alast_changes(conn, "public.note", 1)] == ["alice"]
    with pytest.raises(ConfigError, match="psycopg 3"):
        await query().alist(conn)
    await conn.close()
    return ["alice"]


async def of_a_session_on_asyncpg(conninfo: str) -> list[str | None]:
    engine = async_engine_of(conninfo, "asyncpg")
    async with AsyncSession(engine) as session:
        async with audit.aactor(session, "alice"):
            await session.execute(text(ADD))
        await session.commit()
        [change] = await audit.alast_changes(session, "public.note", 1)
    await engine.dispose()
    return [change.actor_id]


@pytest.mark.parametrize("hold", [of_async_psycopg, of_an_async_session, of_asyncpg, of_a_session_on_asyncpg])
def test_an_actor_is_named_and_the_log_read_with_what_is_held_async(
    hold: Callable[[str], Awaitable[list[str | None]]], notes: str
) -> None:
    async def held() -> list[str | None]:
        return await hold(notes)

    assert asyncio.run(held()) == ["alice"]
    assert actors(notes) == {1: "alice"}


def test_an_actor_of_a_session_ends_with_its_rollback(notes: str) -> None:
    engine = engine_of(notes)
    with Session(engine) as session:
        with audit.actor(session, "alice"):
            session.execute(text(ADD))
        session.rollback()
    engine.dispose()
    assert entries(notes) == []


SYNC: dict[str, tuple[Callable[..., Any], str]] = {
    "send": (partial(webhooks.send, event="order.created", payload={}), r"await webhooks\.asend\(conn"),
    "send_many": (partial(webhooks.send_many, event="a", payloads=[]), r"await webhooks\.asend_many\(conn"),
    "actor": (lambda conn: audit.actor(conn, "alice").__enter__(), r"async with audit\.aactor\(conn"),
    "list": (lambda conn: query().list(conn), r"await query\.alist\(conn"),
    "last_changes": (partial(audit.last_changes, table="note", record=1), r"await audit\.alast_changes\(conn"),
    "export": (lambda conn: audit.export(conn, query(), out=io.BytesIO()), r"await audit\.aexport\(conn"),
    "follow": (lambda conn: next(audit.follow(conn, query())), "with a sync connection"),
    "purge": (partial(audit.purge, older_than=YEAR), r"await audit\.apurge\(conn"),
    "erase": (partial(audit.erase, table="note", record=1), r"await audit\.aerase\(conn"),
    "history": (lambda conn: audit.history("note", 1).list(conn), "alist for list"),
    "an endpoint": (lambda conn: webhooks.endpoints.get(conn, str(uuid4())), "alist for list"),
}


@pytest.mark.parametrize("name", SYNC)
def test_a_sync_call_refuses_an_async_connection_and_names_its_twin(name: str, notes: str) -> None:
    call, twin = SYNC[name]

    async def refused() -> None:
        engine = async_engine_of(notes)
        async with await psycopg.AsyncConnection.connect(notes) as conn, engine.connect() as held:
            for wrong in (conn, conn.cursor(), held, AsyncSession(engine)):
                with pytest.raises(ConfigError, match="is async, and this call is sync") as error:
                    call(wrong)
                check_hint(error.value, twin)
        conn2 = await connect_asyncpg(notes)
        with pytest.raises(ConfigError, match="asyncpg's Connection is async"):
            call(conn2)
        await conn2.close()
        await engine.dispose()

    asyncio.run(refused())


def check_hint(error: ConfigError, twin: str) -> None:
    assert re.search(twin, str(error.hint)), error.hint


ASYNC: dict[str, tuple[Callable[..., Awaitable[Any]], str]] = {
    "asend": (partial(webhooks.asend, event="order.created", payload={}), r"webhooks\.send\(conn"),
    "asend_many": (partial(webhooks.asend_many, event="a", payloads=[]), r"webhooks\.send_many\(conn"),
    "aactor": (lambda conn: audit.aactor(conn, "alice").__aenter__(), r"with audit\.actor\(conn"),
    "alist": (lambda conn: query().alist(conn), r"query\.list\(conn"),
    "alast_changes": (partial(audit.alast_changes, table="note", record=1), r"audit\.last_changes\(conn"),
    "aexport": (lambda conn: audit.aexport(conn, query(), out=io.BytesIO()), r"audit\.export\(conn"),
    "apurge": (partial(audit.apurge, older_than=YEAR), r"audit\.purge\(conn"),
    "aerase": (partial(audit.aerase, table="note", record=1), r"audit\.erase\(conn"),
    "an endpoint": (lambda conn: webhooks.endpoints.aget(conn, str(uuid4())), "list for alist"),
}


@pytest.mark.parametrize("name", ASYNC)
def test_an_async_call_refuses_a_sync_connection_and_names_its_twin(name: str, notes: str) -> None:
    call, twin = ASYNC[name]

    async def refused() -> None:
        engine = engine_of(notes)
        with psycopg.connect(notes) as conn, Session(engine) as session, engine.connect() as held:
            for wrong in (conn, conn.cursor(), session, held, connection):
                with pytest.raises(ConfigError, match="is sync, and this call is async") as error:
                    await call(wrong)
                check_hint(error.value, twin)
        engine.dispose()

    django_shop.use(notes)
    asyncio.run(refused())


def test_what_opens_connections_is_refused_with_the_line_to_write(notes: str) -> None:
    engine = engine_of(notes)
    with ConnectionPool(notes, min_size=1, open=True) as pool:
        for opener, line in (
            (engine, "with engine.begin() as conn:"),
            (sessionmaker(engine), "with Session() as session:"),
            (pool, "with pool.connection() as conn:"),
        ):
            with pytest.raises(ConfigError, match="is not a connection") as error:
                webhooks.send(opener, "order.created", {})
            assert error.value.hint == f"Write: {line}"

    async def refused() -> None:
        engine = async_engine_of(notes)
        for opener in (engine, async_sessionmaker(engine), AsyncConnectionPool(notes, open=False)):
            with pytest.raises(ConfigError, match="is not a connection") as error:
                await webhooks.asend(opener, "order.created", {})
            assert str(error.value.hint).startswith("Write: async with")

    asyncio.run(refused())
    engine.dispose()


def test_many_notes_of_one_session_have_their_actors(notes: str) -> None:
    engine = engine_of(notes)
    with Session(engine) as session:
        for number, name in enumerate(("alice", "bob")):
            with audit.actor(session, name):
                session.connection().exec_driver_sql(INSERT, (number,))
        session.commit()
    engine.dispose()
    assert actors(notes) == {0: "alice", 1: "bob"}
