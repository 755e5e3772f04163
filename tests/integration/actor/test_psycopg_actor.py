"""Connections of psycopg that know the current actor."""

import asyncio
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import AsyncConnection, Connection, sql
from psycopg.rows import dict_row

from svc_pg.audit import acting, acting_as
from svc_pg.errors import TransactionError
from svc_pg.integrations.psycopg import with_audit
from tests.integration.actor.entries import ACTOR, INSERT, actors, round_trips

UPDATE: LiteralString = "update note set body = 'changed' where id = %s"


@pytest.fixture
def audited(notes: str) -> Iterator[Connection[Any]]:
    with with_audit(psycopg.connect(notes)) as conn:
        yield conn


def one(conn: Connection[Any], statement: LiteralString = ACTOR) -> str | None:
    row = conn.execute(statement).fetchone()
    assert row is not None
    value: str | None = row[0]
    return value


def test_every_transaction_of_a_block_has_the_actor(audited: Connection[Any], notes: str) -> None:
    with acting("alice"):
        audited.execute(INSERT, [1])
        audited.commit()
        audited.execute(INSERT, [2])
        audited.rollback()
        audited.execute(INSERT, [3])
        audited.commit()
    audited.execute(INSERT, [4])
    audited.commit()
    assert actors(notes) == {1: "alice", 3: "alice", 4: None}


def test_a_transaction_without_an_actor_sets_nothing(audited: Connection[Any]) -> None:
    assert one(audited) is None


def test_a_statement_of_an_inner_block_has_its_actor(audited: Connection[Any], notes: str) -> None:
    audited.execute(INSERT, [1])
    with acting("alice"):
        audited.execute(INSERT, [2])
        with acting("bob", tenant="acme"):
            audited.execute(INSERT, [3])
        audited.execute(INSERT, [4])
    audited.execute(INSERT, [5])
    audited.commit()
    assert actors(notes) == {1: None, 2: "alice", 3: "bob", 4: "alice", 5: None}


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_rolled_back_savepoint_leaves_the_right_actor(
    audited: Connection[Any], notes: str, *, autocommit: bool
) -> None:
    audited.autocommit = autocommit
    with acting("alice"), audited.transaction():
        audited.execute(INSERT, [1])
        with acting("bob"):
            with audited.transaction(force_rollback=True):
                audited.execute(INSERT, [2])
            audited.execute(INSERT, [3])
        audited.execute("savepoint before")
        with acting("carol"):
            audited.execute(INSERT, [4])
            with pytest.raises(psycopg.errors.UniqueViolation):
                audited.execute(INSERT, [1])
            audited.execute("rollback to savepoint before")
            audited.execute(INSERT, [5])
        audited.execute(INSERT, [6])
    audited.commit()
    assert actors(notes) == {1: "alice", 3: "bob", 5: "carol", 6: "alice"}


def test_transaction_blocks_of_an_autocommit_connection_have_the_actor(audited: Connection[Any], notes: str) -> None:
    audited.autocommit = True
    with acting("alice"):
        with audited.transaction(), audited.cursor().copy("copy note (id) from stdin") as copy:
            copy.write_row([1])
        audited.execute("begin")
        audited.execute(INSERT, [2])
        audited.execute("commit")
    audited.execute(INSERT, [3])
    assert actors(notes) == {1: "alice", 2: "alice", 3: None}


def test_single_statements_of_an_autocommit_connection_have_the_actor(audited: Connection[Any], notes: str) -> None:
    audited.autocommit = True
    with acting("alice"):
        audited.execute(INSERT, [1])
        audited.execute("insert into note values (2); insert into note values (3);")
        audited.execute(b"insert into note values (4);")
        audited.execute(sql.SQL("insert into {} values (5)").format(sql.Identifier("note")))
        with pytest.raises(psycopg.errors.UniqueViolation):
            audited.execute(INSERT, [1])
        audited.cursor().executemany(INSERT, [[6], [7]])
        with audited.cursor("named", withhold=True) as cursor:
            assert cursor.execute(ACTOR).fetchone() == ("alice",)
        with audited.cursor(row_factory=dict_row) as cursor:
            cursor.execute(UPDATE + " returning id", [1])
            assert cursor.fetchall() == [{"id": 1}]
    assert one(audited) == ""
    assert actors(notes) == dict.fromkeys(range(1, 8), "alice")


def test_an_old_libpq_gives_single_statements_a_transaction_block(
    audited: Connection[Any], notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psycopg.Pipeline, "is_supported", lambda: False)
    audited.autocommit = True
    with acting("alice"):
        audited.execute(INSERT, [1])
        with pytest.raises(psycopg.errors.UniqueViolation):
            audited.execute(INSERT, [1])
        audited.execute(INSERT, [2])
    assert actors(notes) == {1: "alice", 2: "alice"}


def test_an_autocommit_connection_refuses_what_cannot_have_the_actor(audited: Connection[Any]) -> None:
    audited.autocommit = True
    with acting("alice"):
        with pytest.raises(TransactionError), audited.cursor().copy("copy note from stdin"):
            pass
        with pytest.raises(TransactionError):
            next(audited.cursor().stream(ACTOR))
        with pytest.raises(TransactionError):
            psycopg.ClientCursor(audited).execute(ACTOR)
        with pytest.raises(psycopg.errors.ActiveSqlTransaction):
            audited.execute("vacuum note")
        with acting_as(None):
            audited.execute("vacuum note")


def test_pipelines_have_the_actor(audited: Connection[Any], notes: str) -> None:
    with acting("alice"), audited.pipeline():
        audited.execute(INSERT, [1])
        with acting("bob"):
            audited.execute(INSERT, [2])
        audited.commit()
        audited.execute(INSERT, [3])
        audited.commit()
    assert actors(notes) == {1: "alice", 2: "bob", 3: "alice"}


def test_pipelines_of_an_autocommit_connection_have_the_actor(audited: Connection[Any], notes: str) -> None:
    audited.autocommit = True
    with audited.pipeline():
        audited.execute(INSERT, [1])
        with acting("alice"):
            audited.execute(INSERT, [2])
            with audited.transaction():
                audited.execute(INSERT, [3])
            audited.execute(INSERT, [4])
        audited.execute(INSERT, [5])
    assert actors(notes) == {1: None, 2: "alice", 3: "alice", 4: "alice", 5: None}


def test_every_kind_of_cursor_has_the_actor(audited: Connection[Any], notes: str) -> None:
    with acting("alice"):
        audited.cursor().executemany(INSERT, [[1], [2]])
        audited.commit()
        with audited.cursor().copy("copy note (id) from stdin") as copy:
            copy.write_row([3])
        audited.commit()
        psycopg.ClientCursor(audited).execute(INSERT, [4])
        audited.commit()
        psycopg.RawCursor(audited).execute("insert into note values ($1)", [5])
        audited.commit()
        assert [row[0] for row in audited.cursor().stream(ACTOR)] == ["alice"]
        audited.commit()
        with audited.cursor("named") as cursor:
            assert cursor.execute(ACTOR).fetchone() == ("alice",)
    audited.commit()
    assert actors(notes) == dict.fromkeys(range(1, 6), "alice")


def test_two_phase_transactions_have_the_actor(audited: Connection[Any]) -> None:
    with acting("alice"):
        audited.tpc_begin(audited.xid(1, "a", "b"))
        assert one(audited) == "alice"
        audited.tpc_rollback()


def test_an_actor_cannot_leave_its_quotes(audited: Connection[Any], notes: str) -> None:
    hostile = "o'hara\\'; drop table note; -- %s \N{SNOWMAN}"
    with acting(hostile):
        audited.execute(INSERT, [1])
        audited.commit()
    assert actors(notes) == {1: hostile}


def test_a_closed_connection_says_so(audited: Connection[Any]) -> None:
    audited.close()
    with acting("alice"), pytest.raises(psycopg.OperationalError, match="closed"):
        audited.execute(ACTOR)


def test_the_actor_costs_no_round_trip(notes: str) -> None:
    def trips(conn: Connection[Any], *, autocommit: bool) -> list[int]:
        conn.autocommit = autocommit
        counts = []
        with round_trips(conn) as implicit:
            conn.execute(ACTOR)
            conn.execute(ACTOR)
            conn.commit()
        counts.append(implicit.count)
        with round_trips(conn) as block, conn.transaction():
            conn.execute(ACTOR)
        counts.append(block.count)
        return counts

    with psycopg.connect(notes) as plain, with_audit(psycopg.connect(notes)) as audited:
        for autocommit in (False, True):
            expected = trips(plain, autocommit=autocommit)
            with acting("alice"):
                assert trips(audited, autocommit=autocommit) == expected


def test_async_connections_are_as_sync_ones(notes: str) -> None:
    async def write(conn: AsyncConnection[Any]) -> None:
        async with conn:
            with acting("alice"):
                await conn.execute(INSERT, [1])
                await conn.commit()
                async with conn.transaction():
                    await conn.execute(INSERT, [2])
                await conn.set_autocommit(True)
                await conn.execute(INSERT, [3])
                await conn.execute("insert into note values (4); insert into note values (5)")
                with pytest.raises(TransactionError):
                    async with conn.cursor().copy("copy note from stdin"):
                        pass
                await conn.cursor().executemany(INSERT, [[6], [7]])
            await conn.execute(INSERT, [8])

    async def connect_and_write() -> None:
        await write(with_audit(await AsyncConnection.connect(notes)))

    asyncio.run(connect_and_write())
    assert actors(notes) == {**dict.fromkeys(range(1, 8), "alice"), 8: None}


def test_only_connections_and_pools_can_be_audited() -> None:
    with pytest.raises(TypeError, match="int is neither"):
        with_audit(7)  # type: ignore[type-var] # what the test is about


def test_auditing_twice_is_auditing_once(audited: Connection[Any]) -> None:
    once = type(audited)
    assert type(with_audit(audited)) is once
