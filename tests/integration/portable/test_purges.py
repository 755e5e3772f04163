import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from svc_pg import audit
from svc_pg.audit.log.purge_report import Ages
from svc_pg.config import Config
from svc_pg.errors import NotInstalledError, QueryError, TransactionError
from svc_pg.other_databases.log import other_log, purge
from svc_pg.other_databases.log.entries import log_dialect_of
from svc_pg.other_databases.log.log_dialects import SQLITE
from svc_pg.other_databases.log.statements import run
from tests.support.logs import Log, records

MONTH = timedelta(days=30)


@pytest.fixture
def aged(log: Log, conn: Any) -> Log:
    """A log with five entries from 50 to 90 days ago, and one of now."""
    now = datetime.now(UTC)
    for record in range(1, 6):
        log.write(conn, str(record), timestamp=now - timedelta(days=100 - 10 * record))
    log.write(conn, "6", timestamp=now)
    return log


def delete(log: Log, conn: Any) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute(f"delete from {log.name}")


def test_a_purge_removes_what_is_old_and_records_that(aged: Log, conn: Any) -> None:
    with audit.actor(conn, "ops", context={"ticket": 7}):
        report = audit.purge(conn, timedelta(days=65))
    assert (report.entries, report.partitions, report.postponed) == (3, [], [])
    about, *left = audit.query().list(conn)
    assert [entry.record_id for entry in left] == ["6", "5", "4"]
    assert (about.operation, about.label, about.severity, about.actor_id) == (
        "DELETE",
        "audit log purged",
        "medium",
        "ops",
    )
    assert about.table_name in ("svc.audit_logs", "main.svc_audit_logs")
    assert about.before_data is not None
    assert about.before_data.value["entries"] == 3
    assert datetime.fromisoformat(about.before_data.value["before"]) == report.before
    assert about.context is not None
    assert about.context.value == {"ticket": 7}
    assert abs(about.timestamp - datetime.now(UTC)) < timedelta(minutes=1)
    assert (about.db_user is None) == isinstance(aged.at, Path)


@pytest.mark.usefixtures("aged")
def test_a_dry_run_only_counts(conn: Any) -> None:
    assert audit.purge(conn, MONTH, dry_run=True).entries == 5
    assert len(audit.query().list(conn).data) == 6


@pytest.mark.usefixtures("aged")
def test_a_purge_that_finds_nothing_records_nothing(conn: Any) -> None:
    assert audit.purge(conn, timedelta(days=365)).entries == 0
    assert len(audit.query().list(conn).data) == 6


def test_each_table_is_kept_as_long_as_it_says(aged: Log, conn: Any) -> None:
    for table in ("session", "Session"):  # MySQL's collations would take them for one
        aged.write(conn, table, table_name=f"{aged.schema}.{table}", timestamp=datetime.now(UTC) - timedelta(days=40))
    tables = [{"name": "t", "retention_days": 75}, {"name": "session", "retention_days": 30}]
    config = Config.model_validate({"audit": {"retention_days": 365, "tables": tables}}).audit
    planned = audit.purge(conn, config=config, dry_run=True)
    report = audit.purge(conn, config=config)
    assert planned.tables == report.tables == {f"{aged.schema}.t": 2, f"{aged.schema}.session": 1}
    assert (planned.entries, report.entries, report.postponed) == (3, 3, [])
    assert set(records(conn, audit.query())) >= {"6", "5", "4", "3", "Session"}


@pytest.mark.usefixtures("aged")
def test_each_batch_is_recorded(conn: Any) -> None:
    report = run(conn, purge.purging(log_dialect_of(conn), Ages(MONTH), dry_run=False, batch=2))
    assert report.entries == 5
    counts = [
        entry.before_data.value["entries"]
        for entry in audit.query().label("audit log purged").order("oldest").list(conn)
        if entry.before_data
    ]
    assert counts == [2, 2, 1]


@pytest.mark.usefixtures("aged")
def test_a_purge_whose_time_is_over_postpones_the_rest(conn: Any) -> None:
    ends: Iterator[bool] = iter([False, True])
    wanted = purge.purging(log_dialect_of(conn), Ages(MONTH), dry_run=False, batch=2, is_over=lambda: next(ends))
    report = run(conn, wanted)
    assert (report.entries, len(report.postponed)) == (2, 1)


@pytest.mark.parametrize("failing", ["insert_entry", "count"])
def test_a_purge_that_fails_leaves_nothing_open(
    aged: Log, conn: Any, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    if failing == "insert_entry":
        monkeypatch.setattr(purge, "insert_entry", broken)
    else:
        known = log_dialect_of(conn)
        name = "SQLITE" if known is SQLITE else "MYSQL"
        monkeypatch.setattr(other_log, name, replace(known, deleted="select 1 from nowhere"))
    with pytest.raises((KeyboardInterrupt, Exception)):
        audit.purge(conn, MONTH)
    monkeypatch.undo()
    assert records(conn, audit.query()) == ["6", "5", "4", "3", "2", "1"]
    with pytest.raises(Exception, match="append-only"):
        delete(aged, conn)
    assert audit.purge(conn, MONTH).entries == 5


def test_a_killed_purge_leaves_nothing_open(aged: Log) -> None:
    killed = aged.connect()
    steps = purge.purging(log_dialect_of(killed), Ages(MONTH), dry_run=False)
    cursor, answer = killed.cursor(), None
    while "delete" not in (step := next(steps) if answer is None else steps.send(answer)).text.partition(" ")[0]:
        text = step.text.replace("%s", "?") if isinstance(aged.at, Path) else step.text
        cursor.execute(text, step.params)
        answer = cursor.fetchall() if cursor.description else []
    killed.close() if isinstance(aged.at, Path) else killed._force_close()
    with closing(aged.connect()) as conn:
        with pytest.raises(Exception, match="append-only"):
            delete(aged, conn)
        assert len(audit.query().list(conn).data) == 6


def test_what_others_keep_locked_is_postponed(aged: Log, conn: Any) -> None:
    with closing(aged.connect()) as other, closing(other.cursor()) as holding, closing(conn.cursor()) as cursor:
        holding.execute("begin immediate" if isinstance(aged.at, Path) else "begin")
        if isinstance(aged.at, Path):
            cursor.execute("pragma busy_timeout = 100")
        else:
            holding.execute("select * from svc.audit_logs for update")
            cursor.execute("set innodb_lock_wait_timeout = 1")
        report = audit.purge(conn, MONTH)
        assert (report.entries, len(report.postponed)) == (0, 1)
        holding.execute("rollback")
    assert audit.purge(conn, MONTH).entries == 5


@pytest.mark.parametrize("age", [timedelta(0), timedelta(hours=23), timedelta(days=36501)])
def test_other_ages_are_refused(conn: Any, age: timedelta) -> None:
    with pytest.raises(QueryError, match="is not an age to purge by"):
        audit.purge(conn, age)


@pytest.mark.usefixtures("aged")
def test_a_purge_inside_a_transaction_is_refused(conn: Any) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute("begin")
        with pytest.raises(TransactionError):
            audit.purge(conn, MONTH)


def test_nobody_else_removes_or_changes_entries(aged: Log, conn: Any) -> None:
    with pytest.raises(Exception, match="append-only"):
        delete(aged, conn)
    with pytest.raises(Exception, match="append-only"), closing(conn.cursor()) as cursor:
        cursor.execute(f"update {aged.name} set label = 'x'")


def test_an_async_purge_is_the_same(aged: Log, conn: Any) -> None:
    async def remove() -> int:
        async with aged.connect_async() as own, audit.aactor(own, "ops"):
            return (await audit.apurge(own, MONTH)).entries

    assert asyncio.run(remove()) == 5
    assert audit.query().list(conn).data[0].actor_id == "ops"


def test_what_no_trigger_sees_is_written_by_hand(conn: Any) -> None:
    with audit.actor(conn, "ann", tenant="acme", context={"ip": "::1"}):
        entry_id = audit.capture_log(
            conn,
            "files",
            "UPDATE",
            record_id="a.txt",
            before={"n": 1, "s": "ä", "same": 1, "list": [1, {"x": True}], "gone": None},
            after={"n": True, "s": "b", "same": 1.0, "list": [1, {"x": 1}], "ne'w": "'; drop table x"},
            label="l",
            severity="low",
            compliance=["gdpr"],
            description='"%s"',
        )
    [entry] = audit.query().list(conn)
    assert entry.id == entry_id
    assert (entry.actor_id, entry.tenant_id, entry.table_name, entry.record_id) == ("ann", "acme", "files", "a.txt")
    assert entry.changed_fields == ["gone", "list", "n", "ne'w", "s"]
    assert (entry.label, entry.severity, entry.compliance, entry.description) == ("l", "low", ["gdpr"], '"%s"')
    assert entry.after_data is not None
    assert entry.after_data.value["ne'w"] == "'; drop table x"
    audit.capture_log(conn, "files", "DELETE")
    newest = audit.query().limit(1).list(conn).data[0]
    assert (newest.actor_id, newest.context, newest.changed_fields, newest.compliance) == (None, None, None, None)


@pytest.mark.parametrize("wrong", [{"operation": "UPSERT"}, {"severity": "bad"}, {"label": "a\0b"}])
def test_an_entry_that_no_trigger_would_write_is_refused(conn: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(QueryError):
        audit.capture_log(conn, **({"table_name": "t", "operation": "DELETE"} | wrong))
    assert records(conn, audit.query()) == []


def test_a_rollback_removes_what_was_written_by_hand(conn: Any) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute("begin")
        audit.capture_log(conn, "t", "DELETE")
        cursor.execute("rollback")
    assert records(conn, audit.query()) == []


def test_a_database_without_a_log_has_nothing_to_purge(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as conn, pytest.raises(NotInstalledError):
        audit.purge(conn, MONTH)
