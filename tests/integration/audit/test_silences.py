"""Maintenance notices triggers that are not right, records since when, and compares the tables with the log."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.audit.past.silences import silences as silences_of
from svc_pg.config import AuditConfig, AuditedTable, Grants
from svc_pg.database.query import fetch, scalar
from svc_pg.maintenance import maintain, silences
from svc_pg.schema.postgres.watched import watched
from svc_pg.schema.status import Status
from svc_pg.status.last_runs import LastRun, last_runs
from svc_pg.webhooks.worker.database_state import DatabaseState
from svc_pg.webhooks.worker.prometheus import exposition
from svc_pg.webhooks.worker.statistics import Statistics
from tests.support.postgres import Prepare
from tests.support.roles import as_role, new_role
from tests.support.tables import create_and_audit

CONFIG = Config(audit=AuditConfig(ddl=True, reconcile=timedelta(days=7), tables=[AuditedTable(name="t")]))


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key, v int)", CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def capture(conn: psycopg.Connection[Any]) -> LastRun:
    return next(run for run in fetch(conn, last_runs()) if run.task == "capture")


def entries(conn: psycopg.Connection[Any]) -> list[tuple[str, str, dict[str, str]]]:
    text = "select label, table_name, after_data from svc.audit_logs where label ^@ 'capture ' order by id"
    return conn.execute(text).fetchall()


def comparisons(conn: psycopg.Connection[Any]) -> int:
    found: int = scalar(conn, "select count(*) from svc.audit_logs where label = 'audit log reconciled'")
    return found


SILENCES: list[tuple[LiteralString, LiteralString, str, str, str]] = [
    (
        'alter table t disable trigger "00_svc_audit_update"',
        'alter table t enable trigger "00_svc_audit_update"',
        "00_svc_audit_update on public.t",
        "disabled",
        "public.t",
    ),
    ('drop trigger "00_svc_audit_write" on t', "", "00_svc_audit_write on public.t", "missing", "public.t"),
    (
        "alter table svc.audit_logs disable trigger audit_guard_row",
        "alter table svc.audit_logs enable always trigger audit_guard_row",
        "audit_guard_row on svc.audit_logs",
        "disabled",
        "svc.audit_logs",
    ),
    ("drop event trigger svc_audit_ddl", "", "svc_audit_ddl", "missing", "svc.audit_logs"),
    (
        "alter event trigger svc_audit_drop disable",
        "alter event trigger svc_audit_drop enable",
        "svc_audit_drop",
        "disabled",
        "svc.audit_logs",
    ),
]


@pytest.mark.parametrize(("silence", "end", "identity", "state", "table"), SILENCES)
def test_a_silence_is_on_record_with_when_all_was_last_seen_right(
    db: psycopg.Connection[Any], silence: LiteralString, end: LiteralString, identity: str, state: str, table: str
) -> None:
    assert maintain(db, CONFIG)
    assert (capture(db).problem, entries(db), comparisons(db)) == (None, [], 1)
    seen = scalar(db, "select succeeded_at from svc.maintenance where task = 'capture'")
    db.execute(silence)
    for _ in range(2):
        assert maintain(db, CONFIG)
        assert identity in (capture(db).problem or "")
        [(label, of, facts)] = entries(db)
        assert (label, of, facts[identity]) == ("capture not right", table, state)
        assert scalar(db, "select %s::timestamptz", (facts["last seen right"],)) == seen
        assert comparisons(db) == 2  # at once, and not with each run
    assert scalar(db, "select succeeded_at from svc.maintenance where task = 'capture'") == seen
    if end:
        db.execute(end)
    schema.install(db, CONFIG)
    assert maintain(db, CONFIG)
    over = [(of, facts) for label, of, facts in entries(db) if label == "capture right again"]
    assert (table, identity) in [(of, name) for of, facts in over for name in facts]
    assert comparisons(db) == 3


def test_a_trigger_that_was_off_between_two_looks_is_noticed(db: psycopg.Connection[Any]) -> None:
    assert maintain(db, CONFIG)
    with db.transaction():
        db.execute("set local session_replication_role = replica")
        db.execute("alter table t disable trigger user; insert into t values (1, 1); alter table t enable trigger user")
    assert maintain(db, CONFIG)
    [(label, table, facts)] = entries(db)
    assert (label, table) == ("capture not right", "public.t")
    assert any("was off, gone or another for a time" in name for name in facts)
    assert "public.t: 1 difference" in [run.problem for run in fetch(db, last_runs())]


def test_a_silence_is_not_over_because_many_others_come_before_it(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.maintenance.silences.MOST", 1)
    assert maintain(db, CONFIG)
    for trigger in ("update", "truncate", "write"):
        db.execute(sql.SQL("alter table t disable trigger {}").format(sql.Identifier(f"00_svc_audit_{trigger}")))
        assert maintain(db, CONFIG)
    assert [label for label, *_ in entries(db)] == ["capture not right"] * 2
    assert "00_svc_audit_update on public.t" in entries(db)[0][2]


def test_if_more_objects_are_not_right_than_are_told_apart_that_concerns_every_table(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.maintenance.silences.MOST", 1)
    assert maintain(db, CONFIG)
    db.execute("alter table t disable trigger user")
    for _ in range(2):
        assert maintain(db, CONFIG)
        assert [each.until for each in silences_of(db, "other")] == [None]
    assert len(entries(db)) == 2
    db.execute("alter table t enable trigger user")
    schema.backfill(db, CONFIG)
    schema.install(db, CONFIG)
    for _ in range(2):
        assert maintain(db, CONFIG)
    assert [each.until is None for table in ("t", "other") for each in silences_of(db, table)] == [False, False]


def test_the_silences_of_many_tables_are_told_to_readers_of_each_and_end(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound in ("_MOST_TABLES", "_MOST_FACTS"):
        monkeypatch.setattr(f"svc_pg.maintenance.silences.{bound}", 2)
    config = Config(audit=AuditConfig(ddl=True, tables=[AuditedTable(name="t"), AuditedTable(name="many.*")]))
    tables = [f"many.m{number}" for number in range(8)]
    db.execute("create schema many")
    for table in tables:
        db.execute(f"create table {table} (id int primary key)".encode())
    schema.install(db, config)
    assert maintain(db, config)
    off = ";".join(f"alter table {table} disable trigger user" for table in tables[2:-1])
    tampered = "create or replace function svc.capture_many_m7() returns trigger language plpgsql as 'begin end'"
    for change in (off.split(";")[0], f"{off};{tampered}", "alter table many.m1 disable trigger user"):
        db.execute(change.encode())
        assert maintain(db, config)
    assert [[each.until for each in silences_of(db, table)] for table in tables] == [[], *([[None]] * 7)]
    assert silences_of(db, "t") == []
    db.execute(";".join(f"alter table {table} enable trigger user" for table in tables).encode())
    schema.install(db, config)
    db.execute("delete from svc.audit_gaps")  # as a backfill does
    assert maintain(db, config)
    assert capture(db).problem is None
    assert [[each.until is None for each in silences_of(db, table)] for table in tables] == [[], *([[False]] * 7)]
    assert all(len(facts) <= 2 + 1 for _, _, facts in entries(db))


def test_the_times_in_which_changes_of_a_table_may_be_missing_are_read(db: psycopg.Connection[Any]) -> None:
    def now() -> Any:
        return scalar(db, "select clock_timestamp()")

    assert maintain(db, CONFIG)
    assert silences_of(db, "t") == []
    begin = now()
    db.execute('drop event trigger svc_audit_ddl; alter table t disable trigger "00_svc_audit_update"')
    assert maintain(db, CONFIG)
    [silence] = silences_of(db, "public.t")
    seen = scalar(db, "select succeeded_at from svc.maintenance where task = 'capture'")
    assert (silence.since, silence.until, seen < begin) == (seen, None, True)
    assert silences_of(db, "other") == []
    db.execute('alter table t enable trigger "00_svc_audit_update"')
    schema.backfill(db, CONFIG)
    schema.install(db, CONFIG)
    assert maintain(db, CONFIG)
    [over] = silences_of(db, "t")
    assert over.since == seen
    assert over.until is not None
    assert begin < over.until < now()
    # the next one has a beginning of its own
    name = sql.Identifier(db.info.dbname)
    db.execute(sql.SQL("alter database {} set session_replication_role = replica").format(name))
    assert maintain(db, CONFIG)
    assert [each.until is None for each in silences_of(db, "t")] == [False, True]
    assert [each.until is None for each in silences_of(db, "other")] == [True]


@pytest.mark.parametrize("facts", [None, "[]", '{"last seen right": "x", "a": 1}', '{"last seen right": {}, "a": 1}'])
def test_facts_that_cannot_be_read_are_a_silence_of_unknown_times(
    db: psycopg.Connection[Any], facts: str | None
) -> None:
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, label, after_data)"
        " values ('public.t', 0, 'DDL', 'capture not right', %s)",
        [facts],
    )
    assert [(each.since, each.until) for each in silences_of(db, "t")] == [(None, None)]


CHANGES: list[LiteralString] = [
    *(silence for silence, *_ in SILENCES),
    'drop trigger "00_svc_audit_truncate" on t',
    "create or replace function svc.capture_public_t() returns trigger language plpgsql as 'begin return null; end'",
    "delete from svc.installed_objects where identity = 'svc.capture_public_t'",
    "delete from svc.installed_objects where kind = 'trigger'; alter table t disable trigger user",
    "alter table t rename to t2; create table t (id int primary key, v int)",
    "alter table t add column w int",
    "alter event trigger svc_audit_ddl enable replica",
    "alter table svc.audit_logs_default disable trigger user",
    "alter table svc.audit_holds disable trigger user",
    """do $$ begin
    execute format('alter database %I set session_replication_role = replica', current_database()); end $$""",
    "create trigger mine after insert on t execute function svc.capture_public_t()",
]


@pytest.mark.parametrize("change", CHANGES)
def test_it_looks_at_the_same_states_as_status(db: psycopg.Connection[Any], change: LiteralString) -> None:
    db.execute(change)
    recorded = {identity for (identity,) in db.execute("select identity from svc.installed_objects")}
    looked, all_states = (
        {(each.kind, each.identity, each.state, each.audited_table) for each in entries if is_silence(each, recorded)}
        for entries in (watched(db, CONFIG), schema.status(db, CONFIG))
    )
    assert looked == all_states
    assert looked or "add column" in change or "create table t" in change or "mine" in change


def is_silence(entry: Status, recorded: set[str]) -> bool:
    return silences.is_silence(entry, recorded, saw_ddl=True)


def metrics(conn: psycopg.Connection[Any]) -> str:
    state = DatabaseState(None, last_runs=tuple(fetch(conn, last_runs())))
    return exposition(Statistics(), state, accept="")[0].decode()


def test_nothing_is_told_of_capture_once_no_table_is_audited(db: psycopg.Connection[Any]) -> None:
    row = 'svc_maintenance_age_seconds{task="capture"}'
    config = CONFIG.model_copy(update={"audit": AuditConfig(ddl=True)})
    assert maintain(db, CONFIG)
    db.execute("alter table t disable trigger user")
    assert maintain(db, CONFIG)
    assert maintain(db, Config())  # a worker without the configuration: nobody looks
    assert (capture(db).problem is None, row in metrics(db)) == (False, True)
    schema.install(db, config, prune=True)
    assert maintain(db, config)
    assert ("capture" in {run.task for run in fetch(db, last_runs())}, row in metrics(db)) == (False, False)
    [silence] = silences_of(db, "t")
    assert silence.until is not None
    assert maintain(db, config)


def test_nothing_is_told_of_capture_once_only_webhooks_are_installed(db: psycopg.Connection[Any]) -> None:
    assert maintain(db, CONFIG)
    db.execute("alter table t disable trigger user")
    assert maintain(db, CONFIG)
    config = Config(products=["webhooks"])
    schema.install(db, config, prune=True)
    old = Config(audit=AuditConfig(tables=CONFIG.audit.tables))
    for each in (old, config):  # the first is of a worker that was not started again
        assert maintain(db, each)
        assert "capture" not in {run.task for run in fetch(db, last_runs())}


def test_nothing_is_told_of_capture_once_the_log_is_a_copy(db: psycopg.Connection[Any]) -> None:
    assert maintain(db, CONFIG)
    assert "capture" in metrics(db)
    db.execute(
        "insert into pg_subscription_rel (srsubid, srrelid, srsubstate) values (1, 'svc.audit_logs'::regclass, 'r')"
    )
    assert scalar(db, "select svc.audit_is_copy()")
    assert maintain(db, CONFIG)
    assert "capture" not in metrics(db)


def test_it_renders_nothing(db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a maintenance renders the objects of each table")

    monkeypatch.setattr("svc_pg.schema.postgres.target.capture_objects", fail)
    with pytest.raises(AssertionError):
        schema.status(db, CONFIG)
    assert maintain(db, CONFIG)
    assert capture(db).problem is None


def test_event_triggers_that_were_never_there_are_no_silence(db: psycopg.Connection[Any]) -> None:
    db.execute(
        "drop event trigger svc_audit_ddl; drop event trigger svc_audit_drop; drop event trigger svc_audit_capture"
    )
    assert maintain(db, CONFIG)
    assert (capture(db).problem, entries(db)) == (None, [])


def test_it_is_for_those_who_maintain_and_a_problem_fails_no_maintenance(
    postgres: str, database: str, db: psycopg.Connection[Any]
) -> None:
    with new_role(postgres) as role:
        config = CONFIG.model_copy(update={"grants": Grants(admin=[role])})
        schema.install(db, config)
        db.execute(sql.SQL("grant select, update on t to {}").format(sql.Identifier(role)))
        with as_role(database, role) as conn:
            conn.autocommit = True
            assert maintain(conn, config)
            db.execute("alter table t disable trigger user")
            assert maintain(conn, config)
            assert [label for label, *_ in entries(db)] == ["capture not right"]
            db.execute("drop table t")
            maintain(conn, config)
            assert "does not exist" in (capture(db).problem or "")
        schema.install(db, Config(), prune=True)
        db.execute(sql.SQL("drop owned by {} cascade").format(sql.Identifier(role)))
