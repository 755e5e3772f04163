"""Engines and sessions of SQLAlchemy that know the current actor, on psycopg and on another driver."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL, Engine, create_engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from svc_pg.audit import acting
from svc_pg.errors import ConfigError, TransactionError
from svc_pg.integrations.sqlalchemy import with_audit
from tests.integration.actor.entries import ACTOR, actors, round_trips


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "note"
    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str] = mapped_column(default="")


def url(conninfo: str, driver: str = "psycopg") -> URL:
    server = conninfo_to_dict(conninfo)
    return URL.create(
        f"postgresql+{driver}",
        username=str(server["user"]),
        host=str(server["host"]),
        port=int(server["port"] or 0),
        database=str(server["dbname"]),
    )


@pytest.fixture(params=["psycopg", "psycopg2"])
def engine(request: pytest.FixtureRequest, notes: str) -> Iterator[Engine]:
    engine = with_audit(create_engine(url(notes, request.param), pool_size=2, max_overflow=0, pool_pre_ping=True))
    yield engine
    engine.dispose()


def test_every_transaction_of_a_session_has_the_actor(engine: Engine, notes: str) -> None:
    with Session(engine) as session:
        with acting("alice"):
            session.add(Note(id=1))
            session.commit()
            session.add(Note(id=2))
            session.commit()
        session.add(Note(id=3))
        session.commit()
    assert actors(notes) == {1: "alice", 2: "alice", 3: None}


def test_a_rolled_back_savepoint_leaves_the_right_actor(engine: Engine, notes: str) -> None:
    with acting("alice"), Session(engine) as session, session.begin():
        session.add(Note(id=1))
        session.flush()
        with acting("bob"):
            with session.begin_nested() as savepoint:
                session.execute(text("insert into note values (2)"))
                savepoint.rollback()
            with pytest.raises(IntegrityError), session.begin_nested():
                session.execute(text("insert into note values (1)"))
            session.execute(text("insert into note values (3)"))
        with session.begin_nested() as savepoint:
            session.connection()  # or else the savepoint would be set with the next statement
            with acting("carol"):
                session.execute(text("insert into note values (4)"))
            savepoint.rollback()
        with acting("carol"):
            session.execute(text("insert into note values (5)"))
        session.add(Note(id=6))
    assert actors(notes) == {1: "alice", 3: "bob", 5: "carol", 6: "alice"}


def test_a_savepoint_at_the_beginning_has_the_actor(engine: Engine, notes: str) -> None:
    with acting("alice"), Session(engine) as session, session.begin():
        with pytest.raises(ZeroDivisionError), session.begin_nested():
            raise ZeroDivisionError
        session.add(Note(id=1))
    assert actors(notes) == {1: "alice"}


def test_two_phase_transactions_have_the_actor(engine: Engine) -> None:
    with engine.connect() as conn:
        for name in ("alice", "alice", "bob"):
            with acting(name), conn.begin_twophase() as transaction:
                assert conn.scalar(text(ACTOR)) == name
                transaction.rollback()


def test_threads_that_share_two_connections_write_as_their_own_actors(engine: Engine, notes: str) -> None:
    def write(note: int) -> None:
        with acting(f"user:{note}"), engine.begin() as conn:
            conn.execute(text("insert into note values (:note)"), {"note": note})

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(write, range(50)))
    assert actors(notes) == {note: f"user:{note}" for note in range(50)}


def test_the_next_user_of_a_connection_finds_no_actor(notes: str) -> None:
    engine = with_audit(create_engine(url(notes), pool_size=1, max_overflow=0))
    with acting("alice"), engine.begin() as conn:
        conn.execute(text("insert into note values (1)"))
    with engine.connect() as conn:
        assert conn.scalar(text(ACTOR)) == ""
    engine.dispose()


def test_connections_that_an_engine_had_before_are_audited(notes: str) -> None:
    engine = create_engine(url(notes), pool_size=1, max_overflow=0)
    engine.connect().close()
    with acting("alice"), with_audit(with_audit(engine)).begin() as conn:
        conn.execute(text("insert into note values (1)"))
    engine.dispose()
    assert actors(notes) == {1: "alice"}


def test_autocommit_statements_have_the_actor_on_psycopg(notes: str) -> None:
    engine = with_audit(create_engine(url(notes), isolation_level="AUTOCOMMIT", pool_pre_ping=True))
    with engine.connect() as conn:
        with acting("alice"):
            conn.execute(text("insert into note values (1)"))
        conn.execute(text("insert into note values (2)"))
    engine.dispose()
    assert actors(notes) == {1: "alice", 2: None}


def test_autocommit_with_an_actor_is_refused_on_other_drivers(notes: str) -> None:
    engine = with_audit(create_engine(url(notes, "psycopg2")))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        with acting("alice"), pytest.raises(TransactionError, match="AUTOCOMMIT"):
            conn.execute(text("insert into note values (1)"))
        conn.execute(text("insert into note values (2)"))
    engine.dispose()
    assert actors(notes) == {2: None}


def test_session_factories_are_audited(notes: str) -> None:
    engine = create_engine(url(notes))
    factories = (
        sessionmaker(engine),
        sessionmaker(binds={Base: engine}),
    )
    for number, factory in enumerate(factories):
        with acting("alice"), with_audit(factory).begin() as session:
            session.add(Note(id=number))
    with acting("alice"), with_audit(Session(engine)) as session, session.begin():
        session.add(Note(id=2))
    engine.dispose()
    assert actors(notes) == dict.fromkeys(range(3), "alice")


def test_a_factory_without_an_engine_is_refused() -> None:
    with pytest.raises(ConfigError, match="not bound to an engine"):
        with_audit(sessionmaker())


def test_async_engines_and_sessions_have_the_actor(notes: str) -> None:
    async def write_all() -> None:
        engine = create_async_engine(url(notes), pool_size=2, max_overflow=0)
        factory = with_audit(async_sessionmaker(engine))

        async def write(note: int) -> None:
            with acting(f"user:{note}"):
                async with factory.begin() as session:
                    session.add(Note(id=note))

        await asyncio.gather(*map(write, range(30)))
        async with with_audit(AsyncSession(engine)) as session, session.begin():
            session.add(Note(id=30))
        async with with_audit(engine).connect() as conn:
            with acting("alice"):
                await conn.execution_options(isolation_level="AUTOCOMMIT")
                await conn.execute(text("insert into note values (31)"))
        await engine.dispose()

    asyncio.run(write_all())
    assert actors(notes) == {**{note: f"user:{note}" for note in range(30)}, 30: None, 31: "alice"}


def test_the_actor_costs_no_round_trip_on_psycopg(notes: str) -> None:
    def trips(engine: Engine) -> int:
        with engine.connect() as conn:
            driver: psycopg.Connection[Any] | Any = conn.connection.driver_connection
            with round_trips(driver) as counted:
                conn.execute(text(ACTOR))
                conn.commit()
        return counted.count

    engine = create_engine(url(notes))
    plain = trips(engine)
    with acting("alice"):
        assert trips(with_audit(engine)) == plain
    engine.dispose()
