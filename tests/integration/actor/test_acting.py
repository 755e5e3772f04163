"""The current actor, and actors given to one connection by hand."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import anyio.to_thread
import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit import Actor, acting, acting_as, current_actor
from svc_pg.errors import TransactionError
from svc_pg.integrations.psycopg import with_audit
from tests.integration.actor.entries import ACTOR, INSERT, actors, entries


def name() -> str | None:
    actor = current_actor()
    return actor.id if actor else None


def test_blocks_nest_and_restore_the_actor_before() -> None:
    with acting("alice", tenant="acme"):
        with acting("bob"):
            assert current_actor() == Actor("bob")
        with acting_as(None):
            assert current_actor() is None
        with pytest.raises(ZeroDivisionError), acting("carol"):
            raise ZeroDivisionError
        assert current_actor() == Actor("alice", "acme")
    assert current_actor() is None


def test_an_actor_is_named_by_an_id_or_as_it_is(notes: str) -> None:
    ann = Actor("ann", "acme", {"request_id": "r-1"})

    async def write() -> None:
        async with await psycopg.AsyncConnection.connect(notes) as conn, audit.aactor(conn, ann):
            await conn.execute(INSERT, [1])

    with psycopg.connect(notes) as conn, acting(ann), audit.actor(conn, current_actor() or "nobody"):
        conn.execute(INSERT, [2])
    asyncio.run(write())
    found = [
        (entry.actor_id, entry.tenant_id, entry.context and entry.context["request_id"]) for entry in entries(notes)
    ]
    assert found == [("ann", "acme", "r-1")] * 2
    for options in (dict[str, Any](tenant="acme"), dict[str, Any](context={})):
        with pytest.raises(TypeError, match="has its own tenant and context"), acting(ann, **options):
            pass


def test_a_block_has_the_context_of_those_around_it_and_its_own_members_win() -> None:
    given: dict[str, object] = {"request_id": "r-1", "step": 1}
    with acting("alice", context=given):
        given["later"] = True
        with acting("bob", context={"step": 2, "job": "import"}):
            assert current_actor() == Actor("bob", None, {"request_id": "r-1", "step": 2, "job": "import"})
            with acting_as(Actor("carol", "acme")):
                assert current_actor() == Actor("carol", "acme", {"request_id": "r-1", "step": 2, "job": "import"})
            with acting_as(None), acting("dave", context={"step": 3}):
                assert current_actor() == Actor("dave", None, {"step": 3})
        assert current_actor() == Actor("alice", None, {"request_id": "r-1", "step": 1})


@pytest.mark.parametrize("setting", ['{"batch": 7, "step": 1}', "[1]", "7", "", '{"broken', '{"n": 1e999}', "NaN"])
def test_an_actor_by_hand_has_the_context_that_sql_gave_the_transaction(notes: str, setting: str) -> None:
    async def write() -> None:
        async with await psycopg.AsyncConnection.connect(notes) as conn:
            await conn.execute("select set_config('svc.context', %s, true)", [setting])
            async with audit.aactor(conn, "alice", context={"step": 2}):
                await conn.execute(INSERT, [2])

    asyncio.run(write())
    with psycopg.connect(notes) as conn:
        conn.execute("select set_config('svc.context', %s, true)", [setting])
        with acting("zoe", context={"request_id": "r-1", "batch": 6}), audit.actor(conn, "alice", context={"step": 2}):
            conn.execute(INSERT, [1])
        assert conn.execute("select current_setting('svc.context')").fetchone() == (setting,)
    found = {int(entry.record_id or 0): entry.context for entry in entries(notes)}
    batch = {"batch": 7} if "batch" in setting else {}
    assert {note: context and context.value for note, context in found.items()} == {
        1: {"request_id": "r-1", "batch": 6, "step": 2} | batch,
        2: {"step": 2} | batch,
    }


def test_threads_of_asyncio_and_anyio_and_tasks_keep_the_actor() -> None:
    async def names() -> list[str | None]:
        with acting("alice"):
            task = asyncio.create_task(asyncio.to_thread(name))
            in_anyio = await anyio.to_thread.run_sync(name)
        return [await task, in_anyio, name()]

    assert asyncio.run(names()) == ["alice", "alice", None]


def test_a_bare_thread_and_an_executor_have_no_actor_of_somebody_else() -> None:
    found: list[str | None] = []
    with ThreadPoolExecutor(1) as executor:
        with acting("alice"):
            thread = threading.Thread(target=lambda: found.append(name()))
            thread.start()
            thread.join()
            executor.submit(contextvars.copy_context().run, name).result()
        found.append(executor.submit(name).result())
    assert found == [None, None]


def test_tasks_do_not_see_the_actors_of_each_other() -> None:
    async def both() -> list[str | None]:
        meeting = asyncio.Barrier(2)

        async def act(actor_id: str) -> str | None:
            with acting(actor_id):
                await meeting.wait()
                return name()

        return list(await asyncio.gather(act("alice"), act("bob")))

    assert asyncio.run(both()) == ["alice", "bob"]


@pytest.mark.parametrize("actor_id", ["", "a\0b", "\udcff", "x" * 513])
def test_an_actor_that_postgresql_cannot_store_is_refused(actor_id: str) -> None:
    with pytest.raises(ValueError, match="an actor"):
        Actor(actor_id)
    with pytest.raises(ValueError, match="a tenant"):
        Actor("alice", tenant=actor_id)


@pytest.mark.parametrize("actor_id", [None, True, 7.5, b"7"])
def test_what_is_no_id_is_refused(actor_id: Any) -> None:
    with pytest.raises(TypeError, match="an actor is named by a text, a number or a UUID"):
        Actor(actor_id)


def test_ids_may_be_numbers_and_uuids(notes: str) -> None:
    key = UUID(int=7)
    with psycopg.connect(notes) as conn:
        with audit.actor(conn, 42, tenant=key, context={"order": key, "at": datetime(2026, 1, 31, tzinfo=UTC)}):
            conn.execute(INSERT, [1])
        [entry] = audit.query().actor(42).tenant(key).record(1).list(conn)
    assert (entry.actor_id, entry.tenant_id) == ("42", str(key))
    assert entry.context is not None
    assert entry.context.value == {"order": str(key), "at": "2026-01-31T00:00:00.000000Z"}
    with pytest.raises(ValueError, match=r"\$\.files\[0\] is bytes; write base64"):
        Actor(42, context={"files": [b""]})


def test_actors_are_values() -> None:
    assert Actor(42) == Actor("42")
    assert Actor("alice", "acme", {"a": 1}) == Actor("alice", "acme", {"a": 1})
    assert len({Actor("alice", None, {"a": 1}), Actor("alice", None, {"a": 1})}) == 1


def test_a_setting_that_is_unset_or_empty_is_nobody(notes: str) -> None:
    with psycopg.connect(notes) as conn:
        conn.execute(INSERT, [1])
        conn.commit()
        with audit.actor(conn, "alice"):
            conn.execute(INSERT, [2])
        conn.commit()
        assert conn.execute(ACTOR).fetchone() == ("",)
        conn.execute(INSERT, [3])
    assert actors(notes) == {1: None, 2: "alice", 3: None}


def test_an_actor_by_hand_brings_tenant_and_context(notes: str) -> None:
    with psycopg.connect(notes) as conn, audit.actor(conn, "alice", tenant="acme", context={"request_id": "r-1"}):
        conn.execute(INSERT, [1])
    (entry,) = entries(notes)
    assert (entry.actor_id, entry.tenant_id) == ("alice", "acme")
    assert entry.context is not None
    assert entry.context.value == {"request_id": "r-1"}


def test_an_actor_by_hand_ends_with_the_transaction_of_a_plain_connection(notes: str) -> None:
    with psycopg.connect(notes) as conn, audit.actor(conn, "alice"):
        conn.execute(INSERT, [1])
        conn.commit()
        conn.execute(INSERT, [2])
    assert actors(notes) == {1: "alice", 2: None}


def test_an_audited_connection_goes_on_with_an_actor_by_hand(notes: str) -> None:
    with with_audit(psycopg.connect(notes)) as conn:
        with acting("bob"):
            with audit.actor(conn, "alice"):
                conn.execute(INSERT, [1])
                conn.commit()
                conn.execute(INSERT, [2])
                with acting("carol"):
                    conn.execute(INSERT, [3])
                conn.execute(INSERT, [4])
            conn.execute(INSERT, [5])
        conn.execute(INSERT, [6])
    assert actors(notes) == {1: "alice", 2: "alice", 3: "carol", 4: "alice", 5: "bob", 6: None}


def test_an_autocommit_connection_outside_a_transaction_refuses_an_actor_by_hand(notes: str) -> None:
    with psycopg.connect(notes, autocommit=True) as conn:
        with pytest.raises(TransactionError, match="needs a transaction"), audit.actor(conn, "alice"):
            pass
        with conn.transaction(), audit.actor(conn, "alice"):
            conn.execute(INSERT, [1])
    assert actors(notes) == {1: "alice"}


def test_an_async_actor_by_hand_is_as_a_sync_one(notes: str) -> None:
    async def write() -> None:
        async with await psycopg.AsyncConnection.connect(notes) as conn:
            async with audit.aactor(conn, "alice"):
                await conn.execute(INSERT, [1])
            await conn.execute(INSERT, [2])

    asyncio.run(write())
    assert actors(notes) == {1: "alice", 2: None}
