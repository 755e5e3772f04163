import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from random import Random
from typing import Any, cast

import psycopg
import pytest

from svc_pg import audit, schema
from svc_pg.audit.keep import purging
from svc_pg.database.query import scalar
from svc_pg.database.sqlstates import translating
from svc_pg.errors import (
    AccessError,
    AppendOnlyError,
    ConfigError,
    ConflictError,
    NotFoundError,
    QueryError,
    TransactionError,
)
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

CONFIG = audited("customer", "orders")
OLD = timedelta(days=400)
LONG = Random(1).randbytes(4000).hex()  # which no index takes, not even compressed
WAITS = "select exists (select from pg_locks where not granted)"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    ddl = "create table customer (id int primary key); create table orders (id int primary key)"
    return lambda conninfo: create_and_audit(conninfo, ddl, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        for table, record, age in (
            ("customer", "5", 600),
            ("customer", "6", 600),
            ("customer", "5", 800),
            ("orders", "5", 600),
            ("orders", "7", 900),
        ):
            conn.execute(
                "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
                " values (%s, 0, 'INSERT', %s, now() - make_interval(days => %s))",
                (f"public.{table}", record, age),
            )
        conn.execute("select svc.audit_ensure_partitions()")
        yield conn


def left(conn: psycopg.Connection[Any]) -> list[str]:
    """The entries of the tables, in order of age."""
    return [
        f"{table.removeprefix('public.')} {record}"
        for table, record in conn.execute(
            "select table_name, record_id from svc.audit_logs where table_name like 'public.%' order by timestamp, id"
        )
    ]


def test_what_a_record_is_held_for_stays_and_the_report_names_it(db: psycopg.Connection[Any]) -> None:
    audit.hold(db, "customer", 5, reason="case 17")
    planned = audit.purge(db, OLD, dry_run=True)
    report = audit.purge(db, OLD)
    assert planned.held == report.held == ["public.customer 5"]
    assert (planned.partitions, planned.tables) == (report.partitions, report.tables)
    assert report.tables == {"public.customer": 1, "public.orders": 1}
    assert len(report.partitions) == 1  # the month of order 7
    assert left(db) == ["customer 5", "customer 5"]
    audit.lift_hold(db, "customer", 5, reason="case 17 is closed")
    report = audit.purge(db, OLD)
    assert (report.held, len(report.partitions), left(db)) == ([], 2, [])


def test_what_a_table_is_held_for_stays(db: psycopg.Connection[Any]) -> None:
    audit.hold(db, "orders", reason="tax audit")
    report = audit.purge(db, OLD)
    assert report.held == ["public.orders"]
    assert left(db) == ["orders 7", "orders 5"]


def test_a_record_that_was_moved_is_held_by_its_key_of_before(db: psycopg.Connection[Any]) -> None:
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, record_id, moved_from, timestamp)"
        " values ('public.customer', 0, 'UPDATE', '9', '8', now() - interval '500 days')"
    )
    audit.hold(db, "customer", 8, reason="case 18")
    assert audit.purge(db, OLD).held == ["public.customer 8"]
    assert left(db) == ["customer 9"]


def test_a_hold_and_its_end_are_entries_with_actor_and_reason(db: psycopg.Connection[Any]) -> None:
    with db.transaction(), audit.actor(db, "user:lawyer"):
        number = audit.hold(db, "customer", 5, reason="case 17")
    with db.transaction(), audit.actor(db, "user:judge"):
        assert audit.lift_hold(db, "customer", 5, reason="closed") == number
    lifted, placed = audit.query().resource("svc.audit_holds").record(number).list(db).data
    assert (placed.operation, placed.actor_id, lifted.operation, lifted.actor_id) == (
        "INSERT",
        "user:lawyer",
        "UPDATE",
        "user:judge",
    )
    assert placed.after_data is not None
    assert lifted.after_data is not None
    assert (placed.after_data.value["reason"], lifted.after_data.value["lift_reason"]) == ("case 17", "closed")
    assert audit.holds().list(db).data == []
    [hold] = audit.holds(lifted=True).list(db).data
    assert (hold.id, hold.held_by, hold.lifted_by) == (number, "user:lawyer", "user:judge")


def test_what_cannot_be_held_or_lifted_is_told(db: psycopg.Connection[Any]) -> None:
    audit.hold(db, "customer", 5, reason="case 17")
    audit.hold(db, "customer", reason="case 18")  # beside that of a record of it
    held: list[tuple[object, ...]] = [("customer", 5), ("customer",)]
    for table, *record in held:
        with pytest.raises(ConflictError, match="is held already"):
            audit.hold(db, str(table), *record, reason="again")
    unknown: list[tuple[object, ...]] = [("customer", 99), ("customer", "five"), ("nowhere",), ("nowhere", 5)]
    unknown += [("customer", LONG), (LONG,)]
    for table, *record in unknown:
        with pytest.raises(NotFoundError):
            audit.hold(db, str(table), *record, reason="x")
    free: list[tuple[object, ...]] = [("customer", 6), ("orders",)]
    for table, *record in free:
        with pytest.raises(NotFoundError, match="is not held"):
            audit.lift_hold(db, str(table), *record, reason="x")
    for change in (audit.hold, audit.lift_hold):
        with pytest.raises(QueryError, match="None is not the key of a record"):
            change(db, "customer", None, reason="x")
        for reason in ("", "x" * 2001):
            with pytest.raises(QueryError, match="needs a reason of at most 2000 characters"):
                change(db, "customer", 5, reason=reason)
        with pytest.raises(QueryError, match="NUL"):
            change(db, "orders", 5, reason="a\0b")
    with pytest.raises(QueryError, match="key is empty cannot be held by itself") as refused:
        audit.hold(db, "customer", "", reason="x")
    assert refused.value.hint == "Hold its table."
    with pytest.raises(ConfigError, match="not a table name"):
        audit.hold(db, "a.b.c", reason="x")
    assert [(hold.table_name, hold.record_id) for hold in audit.holds().list(db)] == [
        ("public.customer", None),
        ("public.customer", "5"),
    ]


def test_holds_are_on_postgresql_only() -> None:
    with closing(sqlite3.connect(":memory:")) as conn, pytest.raises(ConfigError, match="legal hold"):
        audit.hold(cast(Any, conn), "customer", reason="x")


def test_async_connections_hold_and_lift(database: str, db: psycopg.Connection[Any]) -> None:
    async def run() -> list[str]:
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
            await audit.ahold(conn, "customer", 5, reason="case 17")
            await audit.ahold(conn, "orders", reason="case 18")
            await audit.alift_hold(conn, "customer", 5, reason="closed")
            for change in (audit.ahold, audit.alift_hold):
                with pytest.raises(QueryError, match="None is not the key of a record"):
                    await change(conn, "orders", None, reason="x")
            return [hold.table_name for hold in (await audit.holds().alist(conn)).data]

    assert asyncio.run(run()) == ["public.orders"]
    assert left(db) != []


@pytest.mark.parametrize(
    "statement",
    [
        "delete from svc.audit_holds",
        "truncate svc.audit_holds",
        "update svc.audit_holds set record_id = '6'",
        "update svc.audit_holds set lifted_at = now(), lifted_by = 'x', lift_reason = 'x', table_name = 'y'",
    ],
)
def test_a_hold_cannot_be_changed_behind_the_log(db: psycopg.Connection[Any], statement: Any) -> None:
    audit.hold(db, "customer", 5, reason="case 17")
    with pytest.raises(AppendOnlyError, match="a hold ends by being lifted"), translating():
        db.execute(statement)
    db.execute("alter table svc.audit_holds disable trigger audit_guard_row")
    different = [found for found in schema.status(db, CONFIG) if found.state != "ok"]
    assert [(found.identity, found.state) for found in different] == [
        ("audit_guard_row on svc.audit_holds", "disabled")
    ]


def test_who_reads_sees_holds_and_only_administrators_place_them(db: psycopg.Connection[Any]) -> None:
    db.execute("set role svc_reader")
    assert audit.holds().list(db).data == []
    for change in (audit.hold, audit.lift_hold):
        with pytest.raises(AccessError):
            change(db, "customer", 5, reason="x")
    db.execute("set role svc_admin")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("insert into svc.audit_holds (table_name, reason, held_by) values ('x', 'x', 'x')")
    audit.hold(db, "customer", 5, reason="x")
    audit.lift_hold(db, "customer", 5, reason="x")


def test_a_hold_that_comes_while_a_batch_is_removed_waits_and_finds_nothing(
    db: psycopg.Connection[Any], database: str
) -> None:
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database) as purging, psycopg.connect(database) as holding:
        part = scalar(db, "select tableoid from svc.audit_logs where record_id = '7'")
        assert scalar(purging, "select svc.audit_purge_partition(%s, now() - interval '850 days')", [part])
        placed = pool.submit(lambda: audit.hold(holding, "orders", 7, reason="too late"))
        wait_until(lambda: scalar(db, WAITS), "the hold waits")
        purging.commit()
        with pytest.raises(NotFoundError):
            placed.result(timeout=20)


def test_a_purge_that_comes_while_a_hold_is_placed_waits_for_it(db: psycopg.Connection[Any], database: str) -> None:
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database) as holding:
        audit.hold(holding, "customer", 5, reason="in time")

        def run() -> audit.PurgeReport:
            with psycopg.connect(database) as conn:
                conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # an older snapshot would not show it
                return audit.purge(conn, OLD)

        purging = pool.submit(run)
        wait_until(lambda: scalar(db, WAITS), "the purge waits")
        holding.commit()
        purging.result(timeout=20)
    assert left(db) == ["customer 5", "customer 5"]


def test_entries_are_not_removed_by_an_older_snapshot(db: psycopg.Connection[Any]) -> None:
    db.execute("begin isolation level repeatable read")
    with pytest.raises(TransactionError, match="READ COMMITTED"), translating():
        db.execute("select svc.audit_purge_entries('public.orders'::regclass, null, null, 'infinity', '{}', '{}', 1)")


def test_a_hold_is_not_placed_by_an_older_snapshot(
    db: psycopg.Connection[Any], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "TRIES", 1)  # the snapshot's locks stay
    with psycopg.connect(database) as holding:
        holding.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holding.execute("select from svc.audit_logs")
        audit.purge(db, OLD)
        with pytest.raises(TransactionError, match="READ COMMITTED"):
            audit.hold(holding, "customer", 5, reason="too late")
    assert audit.holds().list(db).data == []


def test_a_record_that_got_another_key_is_held_by_each_of_them(db: psycopg.Connection[Any]) -> None:
    for number, (operation, record, before) in enumerate([("INSERT", "8", None), ("UPDATE", "9", "8")]):
        db.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, moved_from, timestamp)"
            " values ('public.customer', 0, %s, %s, %s, now() - make_interval(days => %s))",
            (operation, record, before, 500 - number),
        )
    audit.hold(db, "customer", 9, reason="case 19")
    assert audit.purge(db, OLD, dry_run=True).tables == {"public.customer": 1}  # that of key 8 alone
    audit.hold(db, "customer", 8, reason="case 19")
    assert audit.purge(db, OLD).tables == {}
    assert left(db) == ["customer 8", "customer 9"]
