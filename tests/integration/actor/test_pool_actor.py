"""Pools of psycopg whose connections know the current actor."""

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from psycopg_pool import AsyncConnectionPool, ConnectionPool

from svc_pg.audit import acting, acting_as
from svc_pg.integrations.psycopg import with_audit
from tests.integration.actor.entries import ACTOR, INSERT, actors


def test_threads_that_share_two_connections_write_as_their_own_actors(notes: str) -> None:
    with with_audit(ConnectionPool(notes, min_size=1, max_size=2)) as pool:

        def write(note: int) -> None:
            with acting_as(None) if note % 5 == 0 else acting(f"user:{note}"), pool.connection() as conn:
                conn.execute(INSERT, [note])
                conn.commit()
                conn.execute(INSERT, [note + 1000])

        with ThreadPoolExecutor(8) as executor:
            list(executor.map(write, range(100)))
    expected = {note: f"user:{note}" if note % 5 else None for note in range(100)}
    assert actors(notes) == expected | {note + 1000: actor for note, actor in expected.items()}


def test_transactions_that_overlap_have_their_own_actors(notes: str) -> None:
    meeting = Barrier(2, timeout=10)
    with with_audit(ConnectionPool(notes, min_size=2, max_size=2)) as pool:

        def write(note: int) -> None:
            with acting(f"user:{note}"), pool.connection() as conn:
                conn.execute(ACTOR)
                meeting.wait()
                conn.execute(INSERT, [note])
                meeting.wait()

        with ThreadPoolExecutor(2) as executor:
            list(executor.map(write, [1, 2]))
    assert actors(notes) == {1: "user:1", 2: "user:2"}


def test_tasks_that_share_two_connections_write_as_their_own_actors(notes: str) -> None:
    async def write_all() -> None:
        async with with_audit(AsyncConnectionPool(notes, min_size=1, max_size=2, open=False)) as pool:

            async def write(note: int) -> None:
                with acting(f"user:{note}"):
                    async with pool.connection() as conn:
                        await conn.execute(INSERT, [note])

            await asyncio.gather(*map(write, range(100)))
            async with pool.connection() as conn:
                await conn.execute(INSERT, [100])

    asyncio.run(write_all())
    assert actors(notes) == {**{note: f"user:{note}" for note in range(100)}, 100: None}


def test_the_next_user_of_a_connection_finds_no_actor(notes: str) -> None:
    with with_audit(ConnectionPool(notes, min_size=1, max_size=1)) as pool:
        with acting("alice"), pool.connection() as conn:
            conn.execute(INSERT, [1])
            backend = conn.info.backend_pid
        with pool.connection() as conn:
            assert conn.info.backend_pid == backend
            assert conn.execute(ACTOR).fetchone() == ("",)
            conn.execute(INSERT, [2])
    assert actors(notes) == {1: "alice", 2: None}


def test_connections_that_a_pool_had_before_are_audited(notes: str) -> None:
    with ConnectionPool(notes, min_size=1, max_size=1) as pool:
        pool.wait()
        with acting("alice"), with_audit(pool).connection() as conn:
            conn.execute(INSERT, [1])
    assert actors(notes) == {1: "alice"}


def test_an_autocommit_pool_that_checks_its_connections_has_the_actor(notes: str) -> None:
    options = {"autocommit": True}
    check = ConnectionPool.check_connection
    with with_audit(ConnectionPool(notes, min_size=1, max_size=1, kwargs=options, check=check)) as pool:
        with acting("alice"), pool.connection() as conn:
            conn.execute(INSERT, [1])
        with pool.connection() as conn:
            conn.execute(INSERT, [2])
    assert actors(notes) == {1: "alice", 2: None}


def test_a_copied_context_brings_the_actor_into_a_thread(notes: str) -> None:
    with with_audit(ConnectionPool(notes, min_size=1, max_size=1)) as pool, ThreadPoolExecutor(1) as executor:

        def write(note: int) -> None:
            with pool.connection() as conn:
                conn.execute(INSERT, [note])

        with acting("alice"):
            executor.submit(contextvars.copy_context().run, write, 1).result()
        executor.submit(write, 2).result()
    assert actors(notes) == {1: "alice", 2: None}
