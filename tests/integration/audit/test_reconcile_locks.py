"""A table that cannot be compared keeps no other from it, and a wait for its lock disturbs nobody."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit.log.reconciliation import Progress
from svc_pg.database.query import scalar
from tests.support.postgres import Prepare
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited, create_and_audit

LOCKING = "svc_pg.audit.reconciliation.locking"
CONFIG = audited("t", "u")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, "create table t (id int primary key); create table u (id int primary key)", CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into t select generate_series(1, 5); insert into u select generate_series(1, 5)")

    return fill


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{LOCKING}._PATIENCE", timedelta(milliseconds=10))
    monkeypatch.setattr(f"{LOCKING}._PAUSE", timedelta(0))


def problems(found: audit.Reconciliation) -> dict[str, str | None]:
    return {each.table: each.problem for each in found.tables}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("mode", ["share update exclusive", "access exclusive"])
def test_a_table_that_stays_locked_is_named_and_the_others_are_compared(
    database: str, db: psycopg.Connection[Any], mode: str
) -> None:
    with psycopg.connect(database) as other:
        other.execute(f"lock table t in {mode} mode".encode())
        found = audit.reconcile(db, CONFIG)
    assert not found.is_whole
    assert found.after is None
    [t, u] = found.tables
    assert (t.is_complete, t.is_recorded, u.is_complete, u.rows, u.problem) == (False, False, True, 5, None)
    assert t.problem is not None
    assert t.problem.startswith('table "public.t" stays locked; ')
    assert audit.reconcile(db, CONFIG).is_whole


def test_a_table_whose_planner_would_run_code_of_its_owner_is_named_and_the_others_are_compared(
    database: str, db: psycopg.Connection[Any], postgres: str
) -> None:
    with new_role(postgres) as role:
        execute(database, "create function even(int) returns boolean language sql immutable as 'select true'")
        execute(database, "alter function even owner to {}", role)
        execute(database, "create index on t (id) where even(7)")
        found = problems(audit.reconcile(db, CONFIG))
        assert "would run with your rights" in (found["public.t"] or "")
        assert found["public.u"] is None
        execute(database, "drop function even cascade")
        execute(database, "drop owned by {}", role)


def test_a_table_without_rights_is_named_and_the_others_are_compared(database: str, postgres: str) -> None:
    with new_role(postgres) as role:
        execute(database, "grant svc_owner, svc_writer to {}", role)
        execute(database, "grant select, update on u to {}", role)
        with as_role(database, role) as conn:
            found = audit.reconcile(conn, CONFIG)
        assert "permission denied for table t" in (problems(found)["public.t"] or "")
        assert [each.is_complete for each in found.tables] == [False, True]
        execute(database, "drop owned by {}", role)


def test_a_table_that_is_dropped_meanwhile_is_named_and_the_others_are_compared(
    database: str, db: psycopg.Connection[Any]
) -> None:
    def drop(now: Progress) -> None:
        if now.table == "public.t":
            execute(database, "drop table if exists u")

    found = audit.reconcile(db, CONFIG, progress=drop)
    assert problems(found) == {
        "public.t": None,
        "public.u": 'table "public.u" was changed during the reconciliation; Run it again.',
    }


def test_a_statement_that_the_server_ends_ends_the_comparison_of_its_table_alone(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{LOCKING}._PATIENCE", timedelta(minutes=1))
    db.execute("set deadlock_timeout = '5min'; set statement_timeout = '3s'")
    with psycopg.connect(database) as other:
        other.execute("lock table t in share update exclusive mode")
        found = problems(audit.reconcile(db, CONFIG))
    assert "statement timeout" in (found["public.t"] or "")
    assert found["public.u"] is None


def test_a_wait_for_a_lock_ends_before_the_server_looks_who_stands_in_its_way(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That look is when a VACUUM that PostgreSQL began by itself is canceled."""
    monkeypatch.setattr(f"{LOCKING}._TRIES", 2)
    monkeypatch.setattr(f"{LOCKING}._PAUSE", timedelta(0))
    looks: list[str] = []
    db.add_notice_handler(lambda told: looks.append(told.message_primary or ""))
    db.execute("set deadlock_timeout = '100ms'; set log_lock_waits = on; set client_min_messages = log")
    with psycopg.connect(database) as other:
        other.execute("lock table t in share update exclusive mode")
        assert "stays locked" in (problems(audit.reconcile(db, CONFIG))["public.t"] or "")
    assert [each for each in looks if "waiting" in each] == []


def test_what_was_compared_stays_in_the_log_whatever_comes_after(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{LOCKING}._PATIENCE", timedelta(milliseconds=10))
    monkeypatch.setattr(f"{LOCKING}._PAUSE", timedelta(0))
    reached: list[Progress] = []
    with psycopg.connect(database) as other:
        other.execute("lock table u in share update exclusive mode")
        audit.reconcile(db, CONFIG, progress=reached.append)
    ended = [(each.table, each.report is not None and each.report.problem is None) for each in reached if each.report]
    assert ended == [("public.t", True), ("public.u", False)]
    assert reached[-1].cursor is None
    [begins] = [each.cursor for each in reached if each.table == "public.t" and each.report]
    found = audit.reconcile(db, CONFIG, after=begins)
    assert [(each.table, each.rows) for each in found.tables] == [("public.u", 5)]
    assert scalar(db, "select count(*) from svc.audit_logs where label = 'audit log reconciled'") == 2
