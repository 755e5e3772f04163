"""The silent ways to change a table: each is noticed, repaired, and the past is right again; writers are no fault."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.sql import Identifier

from svc_pg import audit, schema
from svc_pg.errors import NotFoundError
from tests.support.postgres import Prepare
from tests.support.replay import contents, replay
from tests.support.tables import audited, create_and_audit, log

CONFIG = audited("w", "p", "s")
CONFIG.audit.tables[2].level = "statement"
TABLES = """
create table w (id int primary key, v int);
create table p (id int primary key, v int) partition by range (id);
create table p1 partition of p for values from (0) to (10);
create table p2 partition of p for values from (10) to (20);
create table s (id int primary key, v int);
insert into w select n, n from generate_series(1, 9) n;
insert into p select n, n from generate_series(1, 19) n;
insert into s select n, n from generate_series(1, 9) n;
"""
REPLICA = "set session_replication_role = replica; {}; reset session_replication_role"
SILENT: dict[str, tuple[LiteralString, set[str]]] = {
    "a write as a replica": (
        "set session_replication_role = replica; update w set v = 0 where id < 3; delete from p where id in (5, 15);"
        " insert into s values (10, 1); update s set v = 3 where id = 1; reset session_replication_role",
        {"differs", "gone", "missing"},
    ),
    "a trigger that was off": (
        "alter table w disable trigger user; update w set v = 0 where id = 3; insert into w values (10, 1);"
        " alter table w enable trigger user",
        {"differs", "missing"},
    ),
    "a bulk load with triggers off": (
        "alter table p2 disable trigger user; delete from p2;"
        " insert into p2 select n, 7 from generate_series(12, 18) n;"
        " alter table p2 enable trigger user",
        {"differs", "gone"},
    ),
    "an attached partition": (
        "create table p3 (like p including all); insert into p3 values (25, 25), (26, 26);"
        " alter table p attach partition p3 for values from (20) to (30)",
        {"missing"},
    ),
    "a detached partition": ("alter table p detach partition p2", {"gone"}),
    "a truncate without its trigger": (
        "alter table w disable trigger user; truncate w; alter table w enable trigger user;"
        " insert into w values (30, 3)",
        {"gone"},
    ),
    "a swap by renames": (
        "create table w2 (like w including all); insert into w2 select id, v * 100 from w where id < 4;"
        " insert into w2 values (50, 50); alter table w rename to w_old; alter table w2 rename to w",
        {"differs", "gone", "missing"},
    ),
    "a rewritten type": ("alter table w alter v type bigint using v * 100", {"differs"}),
    "a column with a default": ("alter table w add c int default 7", {"differs"}),
    "a restored old table": (
        "create table old as select * from w; update w set v = v + 1; delete from w where id = 1;"
        " set session_replication_role = replica; delete from w; insert into w select * from old;"
        " reset session_replication_role",
        {"differs", "missing"},
    ),
    "a delete with triggers off": (
        "alter table s disable trigger all; delete from s where id > 4; alter table s enable trigger all",
        {"gone"},
    ),
    "a key that changed unseen": (
        "set session_replication_role = replica; update w set id = id + 100 where id < 3;"
        " reset session_replication_role",
        {"gone", "missing"},
    ),
}


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, TABLES, CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            schema.backfill(conn, CONFIG)

    return fill


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def run(conn: psycopg.Connection[Any], changes: LiteralString) -> None:
    for statement in changes.split("; "):  # each in a transaction of its own
        conn.execute(statement)


def check_past(conn: psycopg.Connection[Any]) -> None:
    """The log tells the rows of now, as of now and by replay."""
    for name in ("w", "p", "s"):
        past = audit.as_of(name, datetime.now(UTC)).limit(1000).list(conn).data
        rows = conn.execute(f"select * from {name} order by id::text".encode()).fetchall()
        assert [tuple(row.values.values()) for row in past] == rows
        conn.execute(f"create table rebuilt (like {name})".encode())
        replay(conn, f"public.{name}", into=Identifier("rebuilt"))
        assert contents(conn, Identifier("rebuilt")) == contents(conn, Identifier(name))
        conn.execute("drop table rebuilt")


@pytest.mark.parametrize("way", SILENT)
def test_a_silent_change_is_noticed_repaired_and_the_past_is_right_again(db: psycopg.Connection[Any], way: str) -> None:
    change, kinds = SILENT[way]
    run(db, change)
    found = audit.reconcile(db, CONFIG)
    assert {each.kind for each in found.differences} == kinds
    before = len(log(db))
    repaired = audit.reconcile(db, CONFIG, repair=True)
    assert repaired.is_whole
    assert sorted(map(str, repaired.differences)) == sorted(map(str, found.differences))
    written = [entry for entry in log(db)[before:] if entry["table_name"] != "svc.audit_logs"]
    assert len(written) == len(found.differences)
    for entry in written:
        assert entry["operation"] in ("SNAPSHOT", "GONE")
        assert (entry["actor_id"], entry["tenant_id"], entry["label"]) == (None, None, "found by reconciliation")
    if way not in ("a rewritten type", "a column with a default"):
        schema.install(db, CONFIG)
        assert audit.reconcile(db, CONFIG).differences == []
    else:
        assert audit.reconcile(db, CONFIG).differences == []
        schema.install(db, CONFIG)
    check_past(db)
    assert [each.identity for each in schema.status(db, CONFIG) if each.state != "ok"] == []


def test_nobody_is_named_for_what_was_found(db: psycopg.Connection[Any]) -> None:
    run(db, "set session_replication_role = replica; update w set v = 0 where id = 1; delete from w where id = 2")
    run(db, "reset session_replication_role")
    db.execute("select set_config('svc.actor_id', 'ann', false)")
    audit.reconcile(db, CONFIG, repair=True)
    [state, _] = audit.history("w", 1).order("newest").list(db).data
    assert (state.operation, state.changed_fields, state.is_found, state.actor_id) == ("SNAPSHOT", ["v"], True, None)
    [gone, _] = audit.history("w", 2).order("newest").list(db).data
    assert (gone.operation, gone.is_found, gone.actor_id, gone.after_data) == ("GONE", True, None, None)
    assert gone.valid_to == gone.valid_from
    assert gone.before_data is not None
    assert gone.before_data.value == {"id": 2, "v": 2}
    assert {each.field: each.is_found for each in audit.blame(db, "w", 1)} == {"id": False, "v": True}
    with pytest.raises(NotFoundError, match=r"record 2 .* is gone since"):
        audit.blame(db, "w", 2)
    assert [row.record_id for row in audit.as_of("w", datetime.now(UTC)).list(db)] == ["1", *"3456789"]
    assert [change.is_found for change in audit.last_changes(db, "w", 2)] == [True, False]
    entry = audit.query().resource("w").record("2").operation("GONE").list(db).data[0]
    assert entry.is_found
    assert entry.context is not None
    assert entry.context.value == {"found": "gone"}
    found = db.execute(
        "select operation, valid_to = valid_from, v from svc.history_public_w where record_id = '2' order by entry_id"
    )
    assert found.fetchall()[-1] == ("GONE", True, 2)


def test_nobody_is_named_for_a_row_that_the_log_lacked(db: psycopg.Connection[Any]) -> None:
    run(db, "set session_replication_role = replica; insert into w values (10, 1); reset session_replication_role")
    audit.reconcile(db, CONFIG, repair=True)
    [entry] = audit.query().resource("w").record("10").list(db).data
    assert (entry.operation, entry.changed_fields, entry.is_found) == ("SNAPSHOT", None, True)
    assert [state.is_found for state in audit.history("w", 10).list(db)] == [True]
    assert [change.is_found for change in audit.last_changes(db, "w", 10)] == [True]
    assert {each.field: each.is_found for each in audit.blame(db, "w", 10)} == {"id": True, "v": True}
    [begun] = audit.history("w", 1).list(db)
    assert (begun.operation, begun.is_found) == ("SNAPSHOT", False)
    assert {each.is_found for each in audit.blame(db, "w", 1)} == {False}


def test_a_record_that_came_back_after_it_was_gone_is_there_again(db: psycopg.Connection[Any]) -> None:
    run(db, "set session_replication_role = replica; delete from w where id = 2; reset session_replication_role")
    audit.reconcile(db, CONFIG, repair=True)
    db.execute("insert into w values (2, 22)")
    assert audit.reconcile(db, CONFIG).is_whole
    assert [state.is_in_order for state in audit.history("w", 2).list(db)] == [True] * 3
    check_past(db)


def test_a_repair_that_is_taken_back_changes_no_rows(db: psycopg.Connection[Any]) -> None:
    run(db, "set session_replication_role = replica; delete from w where id = 2; reset session_replication_role")
    audit.reconcile(db, CONFIG, repair=True)
    entry = audit.query().resource("w").operation("GONE").list(db).data[0]
    with pytest.raises(Exception, match="nothing"):
        audit.revert(db, entry=entry.id)


def test_two_repairs_at_once_write_each_entry_once(database: str, db: psycopg.Connection[Any]) -> None:
    run(db, "set session_replication_role = replica; update w set v = 0; delete from p; reset session_replication_role")

    def repair(_: int) -> audit.Reconciliation:
        with psycopg.connect(database) as conn:
            return audit.reconcile(conn, CONFIG, repair=True)

    with ThreadPoolExecutor(2) as pool:
        assert all(found.is_whole for found in pool.map(repair, range(2)))
    assert len([each for each in log(db) if each["label"] == "found by reconciliation"]) == 9 + 19
    check_past(db)


def test_a_writer_who_keeps_a_row_postpones_the_repair_of_its_table(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.audit.reconciliation.locking._IMPATIENCE", timedelta(milliseconds=10))
    monkeypatch.setattr("svc_pg.audit.reconciliation.locking._PAUSE", timedelta(0))
    run(db, "set session_replication_role = replica; update w set v = 0 where id = 1; delete from p where id = 1")
    run(db, "reset session_replication_role")
    with psycopg.connect(database) as writer:
        writer.execute("update w set v = 5 where id = 7")
        found = audit.reconcile(db, CONFIG, repair=True)
        assert not found.is_whole
        assert [each.postponed for each in found.tables] == [["public.w"], [], []]
        writer.commit()
    assert audit.reconcile(db, CONFIG, repair=True).is_whole
    assert audit.reconcile(db, CONFIG).is_whole
    check_past(db)


def test_writers_in_any_order_of_locks_are_no_fault(database: str, db: psycopg.Connection[Any]) -> None:
    is_over = Event()

    def write(seed: int) -> int:
        chosen, done = random.Random(seed), 0
        with psycopg.connect(database) as conn:
            while not is_over.is_set() or done < 20:
                keys = chosen.sample(range(1, 20), 3)
                try:
                    with conn.transaction():
                        for key in keys:
                            table = chosen.choice(["w", "p", "s"])
                            statement = chosen.choice(
                                [
                                    f"update {table} set v = v + 1 where id = %s",
                                    f"delete from {table} where id = %s",
                                    f"insert into {table} values (%s, 1) on conflict (id) do update set v = 0",
                                    f"update {table} set id = id where id = %s",
                                ]
                            )
                            conn.execute(statement.encode(), (key,))
                except psycopg.errors.DeadlockDetected:
                    continue
                done += 1
        return done

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, seed) for seed in range(3)]
        try:
            for _ in range(25):
                found = audit.reconcile(db, CONFIG)
                assert found.is_whole, found
            for _ in range(5):
                found = audit.reconcile(db, CONFIG, repair=True)
                assert [each.repaired for each in found.tables] == [0, 0, 0], found
        finally:
            is_over.set()
        assert all(writer.result() >= 20 for writer in writers)
    assert audit.reconcile(db, CONFIG).is_whole
    check_past(db)
