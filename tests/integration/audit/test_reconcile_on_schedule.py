"""Maintenance compares tables with the log when that is due, some of them in each run."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from svc_pg import schema
from svc_pg.audit.log.reconciliation import Reconciliation, TableReport
from svc_pg.audit.reconciliation.position import Position
from svc_pg.audit.reconciliation.reconciling import reconcile
from svc_pg.audit.reconciliation.recording import recording
from svc_pg.database.effects import Effects
from svc_pg.database.query import fetch, scalar
from svc_pg.errors import AccessError, ConflictError
from svc_pg.maintenance import Maintenance, maintain, reconciling
from svc_pg.status.last_runs import LastRun, last_runs
from tests.support.postgres import Prepare
from tests.support.roles import as_role, new_role
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

LOCKING = "svc_pg.audit.reconciliation.locking"
CONFIG = audited("t", "u")
CONFIG.audit.reconcile = timedelta(days=7)
RESULTS = "select array_agg(record_id order by id) from svc.audit_logs where label = 'audit log reconciled'"


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


def last(conn: psycopg.Connection[Any]) -> LastRun | None:
    return next((run for run in fetch(conn, last_runs()) if run.task == "reconciliation"), None)


def test_it_is_never_due_unless_configured(db: psycopg.Connection[Any]) -> None:
    assert maintain(db, audited("t", "u"))
    assert last(db) is None


def test_it_runs_when_it_is_due_and_names_the_tables_that_differ(db: psycopg.Connection[Any]) -> None:
    assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t", "public.u"]
    assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t", "public.u"]
    db.execute("set session_replication_role = replica")
    db.execute("delete from u where id < 3")
    db.execute("reset session_replication_role")
    db.execute("update svc.maintenance set succeeded_at = succeeded_at - interval '8 days'")
    assert maintain(db, CONFIG)
    run = last(db)
    assert run is not None
    assert run.seconds is not None
    assert run.seconds < 86400
    assert run.problem == "public.u: 2 differences"


def test_a_run_that_ends_early_is_continued_by_the_next(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute("set session_replication_role = replica")
    db.execute("delete from t where id < 3")
    db.execute("reset session_replication_role")
    monkeypatch.setattr(reconciling, "_LONGEST_RUN", timedelta(seconds=-1))
    assert maintain(db, CONFIG)
    assert scalar(db, "select position is not null from svc.maintenance where task = 'reconciliation'")
    monkeypatch.undo()
    run = last(db)
    assert run is not None
    assert run.seconds is None
    assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t", "public.u"]
    run = last(db)
    assert run is not None
    assert run.problem == "public.t: 2 differences"


def test_a_position_in_a_table_that_is_audited_no_longer_begins_anew(db: psycopg.Connection[Any]) -> None:
    assert maintain(db, CONFIG)
    gone = Position("public.gone", datetime.now(UTC), repairs=False).cursor
    db.execute(
        "update svc.maintenance set succeeded_at = null, position = %s, findings = 'public.gone: 7 differences'"
        " where task = 'reconciliation'",
        (gone,),
    )
    assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t", "public.u"] * 2
    run = last(db)
    assert run is not None
    assert run.problem is None


def test_a_table_that_cannot_be_compared_is_named_and_keeps_no_other_from_it(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(f"{LOCKING}._PATIENCE", timedelta(milliseconds=10))
    monkeypatch.setattr(f"{LOCKING}._PAUSE", timedelta(0))
    with psycopg.connect(database) as other:
        other.execute("lock table t in share update exclusive mode")
        assert maintain(db, CONFIG)
        assert scalar(db, RESULTS) == ["public.u"]
        run = last(db)
        assert run is not None
        assert (run.problem or "").startswith('table "public.t" stays locked')
        assert run.seconds is not None
        assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.u"]
    assert sum('"public.t" stays locked' in each.getMessage() for each in caplog.records) == 1


def test_a_run_that_fails_goes_on_behind_the_tables_that_it_has_compared(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute("set session_replication_role = replica")
    db.execute("delete from t where id < 3; delete from u where id = 1")
    db.execute("reset session_replication_role")

    def fail(report: TableReport) -> Effects[bool]:
        if report.table == "public.u":
            raise AccessError("not today")
        return (yield from recording(report))

    monkeypatch.setattr("svc_pg.audit.reconciliation.tables.recording", fail)
    assert not maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t"]
    run = last(db)
    assert run is not None
    assert run.problem == "not today; public.t: 2 differences"
    monkeypatch.undo()
    assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t", "public.u"]
    run = last(db)
    assert run is not None
    assert run.problem == "public.t: 2 differences; public.u: 1 difference"
    db.execute("update svc.maintenance set succeeded_at = null where task = 'reconciliation'")
    assert maintain(db, CONFIG)
    run = last(db)
    assert run is not None
    assert run.problem == "public.t: 2 differences; public.u: 1 difference"


def test_a_failure_is_on_record(db: psycopg.Connection[Any]) -> None:
    other = audited("t")
    other.audit.reconcile = timedelta(days=7)
    assert not maintain(db, other)
    run = last(db)
    assert run is not None
    assert "not those that are installed" in (run.problem or "")


def test_a_comparison_that_compared_no_table_is_a_failure(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{LOCKING}._PATIENCE", timedelta(milliseconds=10))
    monkeypatch.setattr(f"{LOCKING}._PAUSE", timedelta(0))
    with psycopg.connect(database) as other:
        other.execute("lock table t, u in share update exclusive mode")
        for _ in range(2):  # it is due again at once
            assert not maintain(db, CONFIG)
            run = last(db)
            assert run is not None
            assert run.seconds is None
            assert (run.problem or "").startswith('no table could be compared; table "public.t" stays locked')
        problem = scalar(db, "select problem from svc.maintenance where task = 'maintenance'")
        assert problem == "the log's completeness: no table could be compared"
    assert maintain(db, CONFIG)
    run = last(db)
    assert run is not None
    assert (run.seconds is None, run.problem) == (False, None)


def test_tables_that_can_never_be_compared_are_a_failure_too(db: psycopg.Connection[Any]) -> None:
    db.execute("create table bare (a int)")
    config = audited("bare")
    config.audit.reconcile = timedelta(days=7)
    schema.install(db, config, prune=True)
    assert not maintain(db, config)
    run = last(db)
    assert run is not None
    assert run.problem == (
        "no table could be compared; public.bare: not compared: it has no key by which a row has entries"
    )
    config.audit.tables.clear()
    schema.install(db, config, prune=True)
    assert maintain(db, config)  # there is nothing to compare


def test_a_table_that_an_earlier_run_has_compared_counts(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{LOCKING}._PATIENCE", timedelta(milliseconds=10))
    monkeypatch.setattr(f"{LOCKING}._PAUSE", timedelta(0))

    def fail(report: TableReport) -> Effects[bool]:
        if report.table == "public.u":
            raise AccessError("not today")
        return (yield from recording(report))

    with monkeypatch.context() as patched:
        patched.setattr("svc_pg.audit.reconciliation.tables.recording", fail)
        assert not maintain(db, CONFIG)
    with psycopg.connect(database) as other:
        other.execute("lock table u in share update exclusive mode")
        assert maintain(db, CONFIG)
    run = last(db)
    assert run is not None
    assert run.seconds is not None
    assert (run.problem or "").startswith('table "public.u" stays locked')


def test_a_missing_right_is_on_record(database: str, db: psycopg.Connection[Any], postgres: str) -> None:
    with new_role(postgres) as role:
        db.execute(f"grant svc_admin to {role}".encode())
        with as_role(database, role) as conn:
            conn.autocommit = True
            assert not maintain(conn, CONFIG)
        run = last(db)
        assert run is not None
        assert run.seconds is None
        assert (run.problem or "").startswith("no table could be compared; ")
        db.execute(f"revoke svc_admin from {role}".encode())


def test_each_run_is_counted_by_its_result(database: str, db: psycopg.Connection[Any]) -> None:
    db.execute("create table bare (a int)")
    config = audited("bare")
    config.audit.reconcile = timedelta(days=7)
    schema.install(db, config, prune=True)

    async def run() -> dict[str, int]:
        maintenance = Maintenance(database, config=config, every=timedelta(milliseconds=50))
        task = asyncio.create_task(maintenance.run())
        await asyncio.to_thread(wait_until, lambda: maintenance.statistics.maintenance.total())
        maintenance.stop()
        await task
        return dict(maintenance.statistics.maintenance)

    assert asyncio.run(run()).keys() == {"failure"}


def test_a_run_that_is_stopped_keeps_its_position_for_the_next(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def begun(*args: Any, **options: Any) -> Reconciliation:
        asked.set()
        return reconcile(*args, **options)

    monkeypatch.setattr(reconciling, "reconcile", begun)
    assert maintain(db, CONFIG, is_stopping=asked.is_set)
    assert scalar(db, RESULTS) is None
    assert scalar(db, "select position is not null from svc.maintenance where task = 'reconciliation'")
    monkeypatch.undo()
    assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t", "public.u"]


def test_a_run_that_is_cancelled_because_it_is_stopped_is_no_failure(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def cancelled(*_: Any, **__: Any) -> Reconciliation:
        asked.set()
        raise ConflictError("canceling statement due to user request")

    monkeypatch.setattr(reconciling, "reconcile", cancelled)
    assert maintain(db, CONFIG, is_stopping=asked.is_set)
    assert last(db) is None


def test_a_table_whose_comparison_is_cancelled_by_a_stop_is_left_to_the_next_run(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, pid = threading.Event(), db.info.backend_pid
    is_waiting = "select true from pg_stat_activity where pid = %s and wait_event_type = 'Lock'"
    with psycopg.connect(database) as other, psycopg.connect(database, autocommit=True) as stopper:

        def blocked(*args: Any, **options: Any) -> Reconciliation:
            other.execute("lock table t in access exclusive mode")
            return reconcile(*args, **options)

        def stop() -> None:
            wait_until(lambda: stopper.execute(is_waiting, (pid,)).fetchone())
            asked.set()
            stopper.execute("select pg_cancel_backend(%s)", (pid,))

        monkeypatch.setattr(reconciling, "reconcile", blocked)
        stopping = threading.Thread(target=stop)
        stopping.start()
        assert maintain(db, CONFIG, is_stopping=asked.is_set)
        stopping.join()
    assert last(db) is None
    monkeypatch.undo()
    assert maintain(db, CONFIG)
    assert scalar(db, RESULTS) == ["public.t", "public.u"]
