from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.types.json import Jsonb

from svc_pg import Config, audit
from svc_pg.audit.keep import purging
from svc_pg.database.query import scalar
from svc_pg.errors import QueryError
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

DDL = "create table customer (id int primary key); create table session (id int primary key)"
CONFIG = Config.model_validate(
    {
        "audit": {
            "retention_days": 400,
            "tables": [{"name": "customer", "retention_days": 4000}, {"name": "ses*", "retention_days": 30}],
        }
    }
).audit


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, DDL, audited("customer", "session"))


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def write(conn: psycopg.Connection[Any], table: str, *ages: int) -> None:
    """An entry of each age in days, in the partition of its month."""
    for age in ages:
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
            " values (%s, 0, 'INSERT', %s::int, now() - make_interval(days => %s))",
            (f"public.{table}", age, age),
        )
    conn.execute("select svc.audit_ensure_partitions()")


def left(conn: psycopg.Connection[Any]) -> set[str]:
    """The entries, as the name of their table and their age."""
    rows = conn.execute("select table_name, record_id from svc.audit_logs where table_name <> 'svc.audit_logs'")
    return {f"{table.removeprefix('public.')} {record}" for table, record in rows}


def test_each_table_is_kept_as_long_as_it_says(db: psycopg.Connection[Any]) -> None:
    write(db, "customer", 4100, 3900, 500, 10)
    write(db, "session", 4100, 500, 40, 20)
    write(db, "other", 4200, 500, 300)
    planned = audit.purge(db, config=CONFIG, dry_run=True)
    assert left(db) == {f"customer {age}" for age in (4100, 3900, 500, 10)} | {
        f"session {age}" for age in (4100, 500, 40, 20)
    } | {f"other {age}" for age in (4200, 500, 300)}
    report = audit.purge(db, config=CONFIG)
    assert left(db) == {"customer 3900", "customer 500", "customer 10", "session 20", "other 300"}
    assert (report.partitions, report.tables, report.entries) == (planned.partitions, planned.tables, planned.entries)
    assert report.tables["public.session"] >= 1
    assert len(report.partitions) >= 1  # nothing of that month is kept
    again = audit.purge(db, config=CONFIG)
    assert (again.partitions, again.entries) == ([], 0)


def test_a_month_that_one_table_keeps_stays_without_the_others(db: psycopg.Connection[Any]) -> None:
    write(db, "customer", 1000)
    write(db, "other", 1000)
    report = audit.purge(db, config=CONFIG)
    assert (report.partitions, report.tables) == ([], {"public.other": 1})
    assert left(db) == {"customer 1000"}


def test_a_month_goes_as_a_whole_once_no_table_keeps_it(db: psycopg.Connection[Any]) -> None:
    only = Config.model_validate({"audit": {"tables": [{"name": "session", "retention_days": 30}]}}).audit
    write(db, "session", 100, 101)
    report = audit.purge(db, config=only)
    assert report.before is None
    assert len(report.partitions) >= 1
    write(db, "session", 200)
    write(db, "other", 200)
    report = audit.purge(db, config=only)
    assert (report.partitions, report.tables) == ([], {"public.session": 1})
    assert left(db) == {"other 200"}


def test_an_age_takes_the_place_of_the_logs_own_but_not_of_a_tables(db: psycopg.Connection[Any]) -> None:
    write(db, "customer", 60)
    write(db, "other", 60)
    assert audit.purge(db, timedelta(days=50), config=CONFIG).tables == {"public.other": 1}
    assert left(db) == {"customer 60"}


def test_batches_go_on_from_table_to_table(db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "BATCH", 3)
    write(db, "customer", 1)
    for table in ("a", "b", "session"):
        write(db, table, *[600] * 4)
    write(db, "customer", 600)
    report = audit.purge(db, config=CONFIG)
    assert report.tables == {"public.a": 4, "public.b": 4, "public.session": 4}
    purges = audit.query().label("audit log purged").order("oldest").list(db).data
    facts = [entry.before_data.value for entry in purges if entry.before_data]
    assert [each["entries"] for each in facts] == [3, 3, 3, 3]
    assert {table: each["entries"] for table, each in facts[1]["tables"].items()} == {"public.a": 1, "public.b": 2}
    assert datetime.fromisoformat(facts[0]["tables"]["public.a"]["before"]) == report.before


def test_the_next_run_reads_nothing_of_what_is_kept(db: psycopg.Connection[Any]) -> None:
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, timestamp)"
        " select 'public.customer', 0, 'INSERT', now() - interval '1000 days' from generate_series(1, 50000)"
    )
    db.execute("select svc.audit_ensure_partitions()")
    db.execute("vacuum analyze svc.audit_logs")
    partition = scalar(db, "select tableoid::regclass::text from svc.audit_logs limit 1")
    if db.info.server_version < 150000:
        pytest.skip("older servers tell what was read some time later")
    rows_read: LiteralString = "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relid = %s::regclass"
    db.execute("select pg_stat_force_next_flush()")
    before = scalar(db, rows_read, [partition])
    audit.purge(db, config=CONFIG)
    db.execute("select pg_stat_force_next_flush()")
    assert scalar(db, rows_read, [partition]) - before < 1000


def test_nothing_that_says_how_long_is_an_error(db: psycopg.Connection[Any]) -> None:
    for config in (None, Config().audit, audited("customer").audit):
        with pytest.raises(QueryError, match="nothing says how long"):
            audit.purge(db, config=config)


def seal(conn: psycopg.Connection[Any]) -> None:
    """A seal of all that is there, as far as a purge looks at it."""
    conn.execute(
        "insert into svc.audit_seals select coalesce(max(number), 0) + 1, 'e', '-infinity', 1,"
        " txid_snapshot_xmax(txid_current_snapshot()), 0, 9223372036854775807, 0, sha256(''), sha256(''), now(), 'k',"
        " sha256('') || sha256(''), 2 from svc.audit_seals"
    )


def test_a_log_with_seals_keeps_what_is_not_sealed(db: psycopg.Connection[Any]) -> None:
    write(db, "other", 600)
    seal(db)
    write(db, "other", 700, 500)
    report = audit.purge(db, timedelta(days=400))
    assert left(db) == {"other 700", "other 600", "other 500"}
    assert report.before is not None
    assert report.before < datetime.now(UTC) - timedelta(days=650)
    assert audit.purge(db, timedelta(days=650), unsealed=True).partitions != []
    assert left(db) == {"other 600", "other 500"}
    seal(db)
    audit.purge(db, timedelta(days=400))
    assert left(db) == set()


def test_single_entries_leave_their_leaf_to_their_seal(db: psycopg.Connection[Any]) -> None:
    write(db, "customer", 600)
    write(db, "other", 600)
    [leaf] = db.execute("select svc.audit_leaf(l) from svc.audit_logs l where table_name = 'public.other'").fetchall()
    seal(db)
    write(db, "other", 600)
    audit.purge(db, config=CONFIG, unsealed=True)
    assert db.execute("select digest from svc.audit_removed_leaves").fetchall() == [leaf]
    assert left(db) == {"customer 600"}


def test_a_copy_keeps_a_month_of_which_an_entry_about_a_dropped_month_was_purged(db: psycopg.Connection[Any]) -> None:
    write(db, "customer", 500)
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, label, before_data, timestamp)"
        " select 'svc.audit_logs', 0, 'DELETE', 'audit log purged', %s, timestamp"
        "   from svc.audit_logs where table_name = 'public.customer'",
        (Jsonb({"partition": "svc.audit_logs_2019_01", "from": "2019-01-01", "before": "2019-02-01T00:00:00+00:00"}),),
    )
    assert audit.purge(db, config=CONFIG).entries == 1
    db.execute("create or replace function svc.audit_is_copy() returns boolean language sql stable as 'select true'")
    assert scalar(db, "select svc.audit_follow_purges()") == []
    assert left(db) == {"customer 500"}
