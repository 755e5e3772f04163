"""The actor behind PgBouncer in transaction mode, where clients share one server connection."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import psycopg
from psycopg import AsyncConnection

from svc_pg import audit
from svc_pg.audit import acting
from svc_pg.integrations.psycopg import with_audit
from tests.integration.actor.entries import ACTOR, INSERT, actors

BACKEND = "select pg_backend_pid()"


def test_clients_that_share_a_server_connection_find_no_actor_of_each_other(bouncer: str, notes: str) -> None:
    with with_audit(psycopg.connect(bouncer)) as alice, psycopg.connect(bouncer) as nobody:
        for note in range(0, 6, 2):
            with acting("alice"):
                backend = alice.execute(BACKEND).fetchone()
                alice.execute(INSERT, [note])
                alice.commit()
            assert nobody.execute(BACKEND).fetchone() == backend
            assert nobody.execute(ACTOR).fetchone() == ("",)
            nobody.execute(INSERT, [note + 1])
            nobody.commit()
    assert actors(notes) == {0: "alice", 1: None, 2: "alice", 3: None, 4: "alice", 5: None}


def test_an_actor_by_hand_does_not_stay_behind(bouncer: str, notes: str) -> None:
    with psycopg.connect(bouncer) as first, psycopg.connect(bouncer) as second:
        with audit.actor(first, "alice"):
            first.execute(INSERT, [1])
            first.commit()
        second.execute(INSERT, [2])
    assert actors(notes) == {1: "alice", 2: None}


def test_single_statements_of_autocommit_clients_have_their_actors(bouncer: str, notes: str) -> None:
    def write(number: int) -> None:
        with with_audit(psycopg.connect(bouncer, autocommit=True, prepare_threshold=None)) as conn:
            for note in range(number * 100, number * 100 + 20):
                with acting(f"user:{number}"):
                    conn.execute(INSERT, [note])
                assert conn.execute(ACTOR).fetchone() == ("",)

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(write, range(4)))
    assert actors(notes) == {number * 100 + n: f"user:{number}" for number in range(4) for n in range(20)}


def test_concurrent_tasks_have_their_actors(bouncer: str, notes: str) -> None:
    async def write(note: int) -> None:
        async with with_audit(await AsyncConnection.connect(bouncer)) as conn:
            with acting(f"user:{note}"):
                await conn.execute(INSERT, [note])
                await conn.commit()
                await conn.execute(INSERT, [note + 100])
            await conn.commit()

    async def write_all() -> None:
        await asyncio.gather(*map(write, range(20)))

    asyncio.run(write_all())
    assert actors(notes) == {note: f"user:{note % 100}" for note in (*range(20), *range(100, 120))}
