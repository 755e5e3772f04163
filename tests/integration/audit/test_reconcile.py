"""Changes that no trigger tells of are found by a comparison with the log, and what is no fault is not called one."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.errors import (
    AccessError,
    ConfigError,
    QueryError,
    TransactionError,
    UnknownTableError,
)
from tests.support.postgres import Prepare
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited, create_and_audit

CONFIG = audited("t", "p", "k")
TABLES = """
create table t (id int primary key, a text, n numeric);
create table p (id int primary key, a text) partition by range (id);
create table p1 partition of p for values from (0) to (10);
create table p2 partition of p for values from (10) to (20);
create table k (a text);
create view v as select * from t;
insert into t select n, 'a', n from generate_series(1, 5) n;
insert into p select n, 'a' from generate_series(1, 19) n;
"""


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


def unseen(conn: psycopg.Connection[Any], change: LiteralString) -> None:
    conn.execute("set session_replication_role = replica")
    conn.execute(change)
    conn.execute("reset session_replication_role")


def report(found: audit.Reconciliation, table: str = "public.t") -> audit.TableReport:
    [one] = [each for each in found.tables if each.table == table]
    return one


def differences(found: audit.Reconciliation) -> list[tuple[str, str, list[str]]]:
    return sorted((each.kind, each.record_id, each.fields) for each in found.differences)


def test_a_log_that_knows_all_is_whole(db: psycopg.Connection[Any]) -> None:
    found = audit.reconcile(db, CONFIG)
    assert found.is_whole
    assert [(each.table, each.rows, each.differences) for each in found.tables] == [
        ("public.t", 5, 0),
        ("public.p", 19, 0),
        ("public.k", 0, 0),
    ]
    assert report(found, "public.k").notes == ["not compared: it has no key by which a row has entries"]


def test_what_is_missing_differs_or_is_gone_is_named_with_its_fields(db: psycopg.Connection[Any]) -> None:
    unseen(
        db,
        "insert into t values (9, 'new', 1); update t set a = 'b', n = 7 where id = 1; delete from t where id = 2;"
        " update p set a = 'b' where id = 15; delete from p where id = 3",
    )
    found = audit.reconcile(db, CONFIG, table="t")
    assert differences(found) == [("differs", "1", ["a", "n"]), ("gone", "2", []), ("missing", "9", [])]
    one = report(found)
    assert (one.rows, one.missing, one.unrecorded, one.differing, one.gone) == (5, 1, 1, 1, 1)
    assert not found.is_whole
    assert differences(audit.reconcile(db, CONFIG, table="p")) == [("differs", "15", ["a"]), ("gone", "3", [])]


def test_a_row_whose_record_the_log_calls_deleted_is_missing(db: psycopg.Connection[Any]) -> None:
    db.execute("delete from t where id = 1; update t set id = 22 where id = 2; truncate p1")
    unseen(db, "insert into t values (1, 'back', 1), (2, 'back', 2); insert into p values (5, 'back')")
    found = audit.reconcile(db, CONFIG)
    assert differences(found) == [("missing", "1", []), ("missing", "2", []), ("missing", "5", [])]
    assert report(found).unrecorded == 0


def test_entries_of_running_transactions_make_no_difference(database: str, db: psycopg.Connection[Any]) -> None:
    with psycopg.connect(database) as writer:
        writer.execute(
            "update t set a = 'w' where id = 1; delete from t where id = 2; insert into t values (9, 'w', 1)"
        )
        assert audit.reconcile(db, CONFIG).is_whole
        writer.commit()
    assert audit.reconcile(db, CONFIG).is_whole


def test_the_number_of_named_differences_is_bounded_and_that_of_all_is_not(db: psycopg.Connection[Any]) -> None:
    unseen(db, "insert into t select n, 'x', n from generate_series(100, 400) n; delete from t where id < 3")
    found = audit.reconcile(db, CONFIG, table="t", most=3)
    assert len(found.differences) == 3
    assert (report(found).missing, report(found).gone) == (301, 2)
    assert audit.reconcile(db, CONFIG, table="t", most=0).differences == []


def test_an_async_call_says_the_same(database: str, db: psycopg.Connection[Any]) -> None:
    unseen(db, "delete from t where id = 2")

    async def found() -> audit.Reconciliation:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            return await audit.areconcile(conn, CONFIG, table="t")

    assert differences(asyncio.run(found())) == [("gone", "2", [])]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("p1", 'table "public.p1" is not audited'),
        ("v", "is a view, not a table"),
        ("nothing", "does not exist"),
        ("svc.audit_logs", "belongs to svc-pg"),
    ],
)
def test_a_table_that_cannot_be_compared_is_named(db: psycopg.Connection[Any], table: str, message: str) -> None:
    with pytest.raises(UnknownTableError, match=message):
        audit.reconcile(db, CONFIG, table=table)


def test_another_configuration_than_the_installed_one_is_refused(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(ConfigError, match=r"the rules of public.t are not those that are installed"):
        audit.reconcile(
            db,
            Config.model_validate(
                {"audit": {"tables": [{"name": "t", "redact": ["a"]}, {"name": "p"}, {"name": "k"}]}}
            ),
        )


@pytest.mark.parametrize("cursor", ["x", "WyJhIl0", audit.__name__])
def test_a_cursor_that_is_none_is_refused(db: psycopg.Connection[Any], cursor: str) -> None:
    with pytest.raises(QueryError, match="is not a cursor"):
        audit.reconcile(db, CONFIG, after=cursor)


def test_it_needs_a_connection_outside_a_transaction(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("select")
        with pytest.raises(TransactionError):
            audit.reconcile(conn, CONFIG)


def test_a_role_that_may_not_read_the_log_is_told(database: str, postgres: str) -> None:
    with new_role(postgres) as role:
        execute(database, "grant select on t, p, k to {}", role)
        with as_role(database, role) as conn, pytest.raises(AccessError):
            audit.reconcile(conn, CONFIG)
        execute(database, "drop owned by {}", role)


def test_rows_that_a_policy_hides_are_an_error(database: str, postgres: str) -> None:
    with new_role(postgres) as role:
        execute(database, "grant svc_owner, svc_writer to {}", role)
        execute(database, "alter table t owner to {}", role)
        execute(database, "alter table t enable row level security")
        execute(database, "alter table t force row level security")
        with as_role(database, role) as conn:
            problem = report(audit.reconcile(conn, CONFIG, table="t")).problem
        assert "row-level security" in (problem or "")
        execute(database, "reassign owned by {} to current_user", role)
        execute(database, "drop owned by {}", role)


def test_a_column_that_is_newer_than_the_log_counts_if_it_has_values(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table t add column c int; alter table t drop column n cascade")
    assert audit.reconcile(db, CONFIG, table="t").is_whole
    db.execute("alter table t add column d int default 7")
    assert {(each.kind, *each.fields) for each in audit.reconcile(db, CONFIG, table="t").differences} == {
        ("differs", "d")
    }


def test_it_rests_after_each_piece_if_asked(db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr("svc_pg.database.effects.time.sleep", rests.append)
    assert audit.reconcile(db, CONFIG, table="t").is_whole
    assert not rests
    assert audit.reconcile(db, CONFIG, table="t", nice_ratio=3).is_whole
    *naps, last = rests  # of one rest, after its only piece of rows
    assert all(each == 0.2 for each in naps)
    assert 0 < last <= 0.2
    assert sum(rests) <= 10


@pytest.mark.parametrize("ratio", [-1.0, 100.5, float("nan")])
def test_a_ratio_that_is_none_is_refused(db: psycopg.Connection[Any], ratio: float) -> None:
    with pytest.raises(QueryError, match="is no ratio of rest to work"):
        audit.reconcile(db, CONFIG, nice_ratio=ratio)


def test_the_result_is_an_entry_of_the_log(db: psycopg.Connection[Any]) -> None:
    unseen(db, "delete from t where id = 2")
    found = audit.reconcile(db, CONFIG, table="t")
    assert report(found).is_recorded
    [entry] = audit.query().resource("svc.audit_logs").list(db).data
    assert (entry.operation, entry.label, entry.severity, entry.record_id) == (
        "SNAPSHOT",
        "audit log reconciled",
        "high",
        "public.t",
    )
    assert entry.after_data is not None
    facts = entry.after_data.value
    assert (facts["rows"], facts["gone"], facts["missing"]) == (4, 1, 0)
    assert datetime.fromisoformat(facts["since"]) <= datetime.fromisoformat(facts["until"])
    assert scalar(db, "select count(*) from svc.audit_logs where label = 'audit log reconciled'") == 1
