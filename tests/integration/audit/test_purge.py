import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit.keep import purging
from svc_pg.audit.keep.retention import apurge, purge
from svc_pg.audit.log.purge_report import Ages
from svc_pg.database.performing import Apart
from svc_pg.database.query import Query, fetch, scalar
from svc_pg.errors import AccessError, NotInstalledError, QueryError, TransactionError
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit, log
from tests.support.waiting import wait_until

DAY = timedelta(days=1)
OURS = "table_name = 'public.t'"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key)", audited("t"))


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def write(conn: psycopg.Connection[Any], *moments: datetime, into_default: bool = False) -> None:
    """An entry at each moment, in a partition of its month unless told otherwise."""
    for number, moment in enumerate(moments):
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
            " values ('public.t', 0, 'INSERT', %s, %s)",
            (str(number), moment),
        )
    if not into_default:
        conn.execute("select svc.audit_ensure_partitions()")
    conn.commit()


def ages(conn: psycopg.Connection[Any]) -> list[datetime]:
    with conn.transaction():
        return [entry["timestamp"] for entry in log(conn) if entry["table_name"] == "public.t"]


def partitions(conn: psycopg.Connection[Any]) -> set[str]:
    names: LiteralString = "select array_agg(inhrelid::regclass::text) from pg_inherits where inhparent = %s::regclass"
    with conn.transaction():
        return set(scalar(conn, names, ("svc.audit_logs",)))


def age_of(conn: psycopg.Connection[Any], moment: datetime) -> timedelta:
    """The retention that puts the boundary a little after that moment."""
    with conn.transaction():
        now: datetime = scalar(conn, "select now()")
    return now - moment - timedelta(seconds=1)


def test_whole_months_are_dropped_and_of_the_boundary_month_only_what_is_older(db: psycopg.Connection[Any]) -> None:
    edge = datetime(2020, 3, 1, tzinfo=UTC)
    boundary = datetime(2020, 3, 10, tzinfo=UTC)
    kept = [boundary + timedelta(minutes=1), datetime(2020, 3, 31, 23, 59, 59, 999999, tzinfo=UTC)]
    older = [datetime(2020, 1, 1, tzinfo=UTC), edge - timedelta(microseconds=1), edge, boundary]
    write(db, *older, *kept)
    report = purge(db, age_of(db, boundary))
    assert report.partitions == ["svc.audit_logs_2020_01", "svc.audit_logs_2020_02"]
    assert (report.entries, report.postponed) == (2, [])
    assert ages(db) == kept
    assert not set(report.partitions) & partitions(db)


@pytest.mark.parametrize("microseconds", [-1, 0, 1])
def test_at_the_edge_of_a_month_nothing_young_is_lost(db: psycopg.Connection[Any], microseconds: int) -> None:
    edge = datetime(2020, 3, 1, tzinfo=UTC)
    last, first = edge - timedelta(microseconds=1), edge
    write(db, last, first)
    boundary = edge + timedelta(microseconds=microseconds)
    parts = db.execute("select partition_name, is_whole, entries from svc.audit_purge_plan(%s)", (boundary,)).fetchall()
    db.rollback()
    whole = ("svc.audit_logs_2020_02", True, 1)
    assert parts == {-1: [], 0: [whole], 1: [whole, ("svc.audit_logs_2020_03", False, 1)]}[microseconds]
    dropped = scalar(db, "select svc.audit_purge_partition('svc.audit_logs_2020_02'::regclass, %s)", (boundary,))
    db.commit()
    assert dropped == (microseconds >= 0)
    assert ages(db) == ([first] if dropped else [last, first])


def test_a_partition_is_known_by_its_bounds_and_not_by_its_name(db: psycopg.Connection[Any]) -> None:
    old, young = datetime(2020, 1, 15, tzinfo=UTC), datetime(2020, 2, 15, tzinfo=UTC)
    write(db, old, young)
    db.execute("alter table svc.audit_logs_2020_01 rename to kept")
    db.execute("alter table svc.audit_logs_2020_02 rename to audit_logs_2020_01")
    db.commit()
    report = purge(db, age_of(db, datetime(2020, 2, 1, tzinfo=UTC)))
    assert report.partitions == ["svc.kept"]
    assert ages(db) == [young]


def test_old_entries_of_the_default_partition_go_and_the_young_stay(db: psycopg.Connection[Any]) -> None:
    write(db, datetime(2019, 5, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC), into_default=True)
    report = purge(db, 365 * DAY)
    assert (report.partitions, report.entries) == ([], 1)
    assert ages(db) == [datetime(2099, 1, 1, tzinfo=UTC)]


def test_a_plan_reads_nothing_of_months_that_are_young(db: psycopg.Connection[Any]) -> None:
    write(db, datetime.now(UTC))
    month = scalar(db, "select to_char(now(), 'YYYY_MM')")
    index = f"svc.audit_logs_{month}_table_name_record_id_timestamp_idx"
    pages = "select pg_stat_get_xact_blocks_fetched(%s::regclass)"
    plan = "select count(*) from svc.audit_purge_plan(%s, '{public.t}', array[%s])"
    now, old = scalar(db, "select now()"), scalar(db, "select now() - interval '200 days'")
    for default, own, is_read in ((old, old, False), (None, old, False), (now, old, True), (None, now, True)):
        with db.transaction():
            before = scalar(db, pages, (index,))
            scalar(db, plan, (default, own))
            assert (scalar(db, pages, (index,)) > before) is is_read


def test_a_dry_run_tells_the_same_and_changes_nothing(db: psycopg.Connection[Any]) -> None:
    write(db, datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 2, 2, tzinfo=UTC), datetime(2020, 2, 9, tzinfo=UTC))
    age = age_of(db, datetime(2020, 2, 3, tzinfo=UTC))
    before = ages(db)
    planned = purge(db, age, dry_run=True)
    assert (planned.partitions, planned.entries) == (["svc.audit_logs_2020_01"], 1)
    assert ages(db) == before
    done = purge(db, age)
    assert (done.partitions, done.entries) == (planned.partitions, planned.entries)


def test_each_removal_is_on_record_with_its_actor_and_its_facts(db: psycopg.Connection[Any]) -> None:
    write(db, datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 2, 2, tzinfo=UTC))
    db.execute("set svc.actor_id = 'maintenance'")
    db.commit()
    purge(db, age_of(db, datetime(2020, 2, 3, tzinfo=UTC)))
    dropped, removed = audit.query().resource("svc.audit_logs").order("oldest").list(db).data
    assert {dropped.operation, removed.operation} == {"DELETE"}
    assert {dropped.actor_id, removed.actor_id} == {"maintenance"}
    assert {dropped.label, removed.label} == {"audit log purged"}
    assert dropped.before_data
    assert removed.before_data
    assert dropped.before_data.value["partition"] == "svc.audit_logs_2020_01"
    assert removed.before_data.value["entries"] == 1
    assert removed.description == "Removed 1 entry from svc.audit_logs_2020_02, whose retention has ended"


def test_a_purge_with_nothing_to_remove_leaves_no_entry(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into t values (1)")
    db.commit()
    report = purge(db, DAY)
    assert (report.partitions, report.entries, report.postponed) == ([], 0, [])
    assert [entry["table_name"] for entry in log(db)] == ["public.t"]


def test_batches_remove_everything_and_leave_the_guard_on(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "BATCH", 10)
    moments = [datetime(2020, 2, 1, tzinfo=UTC) + timedelta(minutes=number // 3) for number in range(95)]
    write(db, *moments, datetime(2020, 2, 28, tzinfo=UTC))
    assert purge(db, age_of(db, datetime(2020, 2, 27, tzinfo=UTC))).entries == 95
    assert ages(db) == [datetime(2020, 2, 28, tzinfo=UTC)]
    for statement in ("delete from svc.audit_logs", "delete from svc.audit_logs_2020_02"):
        with pytest.raises(psycopg.DatabaseError, match="append-only"):
            db.execute(statement)
        db.rollback()


def test_a_purge_that_fails_leaves_guard_and_entries(db: psycopg.Connection[Any]) -> None:
    old = datetime(2020, 2, 1, tzinfo=UTC)
    write(db, old, datetime(2020, 2, 28, tzinfo=UTC))
    db.execute("create function fail() returns trigger language plpgsql as $$ begin raise 'no'; end $$")
    db.execute("create trigger fail before delete on svc.audit_logs_2020_02 for each row execute function fail()")
    db.commit()
    with pytest.raises(psycopg.DatabaseError, match="no"):
        purge(db, age_of(db, datetime(2020, 2, 2, tzinfo=UTC)))
    db.execute("drop trigger fail on svc.audit_logs_2020_02")
    db.commit()
    assert old in ages(db)
    with pytest.raises(psycopg.DatabaseError, match="append-only"):
        db.execute("delete from svc.audit_logs_2020_02")


def test_what_a_reader_keeps_locked_is_postponed_and_the_next_purge_takes_it(
    db: psycopg.Connection[Any], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "TRIES", 2)
    write(db, datetime(2020, 1, 1, tzinfo=UTC))
    with psycopg.connect(database) as reader:
        reader.execute("select count(*) from svc.audit_logs")
        report = purge(db, 365 * DAY)
        assert (report.partitions, report.postponed) == ([], ["svc.audit_logs_2020_01"])
        db.execute("insert into t values (1)")  # and captures go on
        db.commit()
    assert purge(db, 365 * DAY).partitions == ["svc.audit_logs_2020_01"]


def test_a_reader_that_ends_in_time_is_waited_for(db: psycopg.Connection[Any], database: str) -> None:
    write(db, datetime(2020, 1, 1, tzinfo=UTC))
    told: list[str] = []
    waits = "select exists (select from pg_locks where not granted and mode = 'AccessExclusiveLock')"
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database) as reader:
        reader.execute("select count(*) from svc.audit_logs")
        purging = pool.submit(lambda: purge(db, 365 * DAY, progress=told.append))
        with psycopg.connect(database, autocommit=True) as observer:
            wait_until(lambda: scalar(observer, waits), "the purge waits for the reader")
        reader.rollback()
        report = purging.result(timeout=20)
    assert report.partitions == told == ["svc.audit_logs_2020_01"]


def test_captures_go_on_beside_a_purge(db: psycopg.Connection[Any], database: str) -> None:
    write(db, *(datetime(2020, month, 2, tzinfo=UTC) for month in range(1, 13)))

    def work(writer: int) -> None:
        with psycopg.connect(database) as conn:
            for number in range(100):
                conn.execute("insert into t values (%s)", (writer * 1000 + number,))
                conn.commit()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(work, number) for number in range(1, 5)]
        report = purge(db, 365 * DAY)
        for writer in writers:
            writer.result(timeout=30)
    assert len(report.partitions) == 12
    assert len(ages(db)) == 400


def test_two_purges_at_a_time_remove_each_thing_once(db: psycopg.Connection[Any], database: str) -> None:
    write(db, *(datetime(2020, month, 2, tzinfo=UTC) for month in range(1, 13)), datetime(2021, 1, 2, tzinfo=UTC))
    age = age_of(db, datetime(2021, 1, 3, tzinfo=UTC))

    def run() -> audit.PurgeReport:
        with psycopg.connect(database) as conn:
            return purge(conn, age)

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.submit(run), pool.submit(run)
        reports = [one.result(timeout=30), two.result(timeout=30)]
    assert sorted(name for report in reports for name in report.partitions) == [
        f"svc.audit_logs_2020_{month:02d}" for month in range(1, 13)
    ]
    assert sum(report.entries for report in reports) == 1
    assert ages(db) == []


def test_what_another_purge_dropped_meanwhile_is_not_postponed(db: psycopg.Connection[Any], database: str) -> None:
    write(db, datetime(2020, 1, 2, tzinfo=UTC))
    age = age_of(db, datetime(2020, 2, 2, tzinfo=UTC))
    steps = purging.purging(Ages(age), dry_run=False, tries=1, batch=10)
    with db.transaction():
        followed = steps.send(fetch(db, query(next(steps))))
        parts = steps.send(fetch(db, query(followed)))
        planned = fetch(db, query(parts))
        drop = query(steps.send(planned))
    with psycopg.connect(database) as other:
        assert purge(other, age).partitions == ["svc.audit_logs_2020_01"]
    entries = query(steps.send(fetch(db, drop)))
    again = query(steps.send(fetch(db, entries)))
    with pytest.raises(StopIteration) as end:
        steps.send(fetch(db, again))
    report = end.value.value
    assert (report.partitions, report.entries, report.postponed) == ([], 0, [])


def query(effect: object) -> Query[Any]:
    assert isinstance(effect, Apart)
    return effect.query


def test_an_async_purge_removes_the_same_and_postpones_what_is_locked(
    db: psycopg.Connection[Any], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "TRIES", 2)
    monkeypatch.setattr(purging, "BATCH", 2)
    write(db, datetime(2020, 1, 2, tzinfo=UTC), *(datetime(2020, 2, day, tzinfo=UTC) for day in (1, 2, 3, 4, 28)))
    age = age_of(db, datetime(2020, 2, 20, tzinfo=UTC))
    told: list[str] = []

    async def run(**options: Any) -> audit.PurgeReport:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            return await apurge(conn, age, progress=told.append, **options)

    planned = asyncio.run(run(dry_run=True))
    assert (planned.partitions, planned.entries) == (["svc.audit_logs_2020_01"], 4)
    with psycopg.connect(database) as reader:
        reader.execute("select from svc.audit_logs_2020_01")
        report = asyncio.run(run())
    assert (report.partitions, report.entries, report.postponed) == ([], 4, ["svc.audit_logs_2020_01"])
    report = asyncio.run(run())
    assert (report.partitions, report.postponed) == (["svc.audit_logs_2020_01"], [])
    assert ages(db) == [datetime(2020, 2, 28, tzinfo=UTC)]
    assert told == ["svc.audit_logs_2020_01", "svc.audit_logs_2020_02", "svc.audit_logs_2020_01"]


def test_an_async_connection_inside_a_transaction_is_refused(database: str) -> None:
    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            await conn.execute("select 1")
            await apurge(conn, DAY)

    with pytest.raises(TransactionError, match="inside a transaction"):
        asyncio.run(run())


@pytest.mark.parametrize("age", [timedelta(0), timedelta(hours=23), -DAY, 36501 * DAY, timedelta.max])
def test_an_age_that_must_be_a_mistake_is_refused(db: psycopg.Connection[Any], age: timedelta) -> None:
    with pytest.raises(QueryError) as caught:
        purge(db, age)
    assert caught.value.hint


def test_a_connection_inside_a_transaction_is_refused_and_a_closed_one_as_its_driver_does(
    db: psycopg.Connection[Any],
) -> None:
    db.execute("select 1")
    with pytest.raises(TransactionError, match="inside a transaction"):
        purge(db, DAY)
    db.close()
    with pytest.raises(psycopg.OperationalError, match="closed"):
        purge(db, DAY)


def test_other_tables_cannot_be_purged_through_our_functions(db: psycopg.Connection[Any]) -> None:
    assert scalar(db, "select svc.audit_purge_partition('public.t'::regclass, 'infinity')") is False
    assert scalar(db, "select svc.audit_purge_partition('svc.audit_logs_default'::regclass, 'infinity')") is False
    purge_entries = "select entries from svc.audit_purge_entries(%s::regclass, null, null, 'infinity', '{}', '{}', 1)"
    assert scalar(db, purge_entries, ("public.t",)) == 0


def test_an_administrator_purges_and_a_reader_may_not(db: psycopg.Connection[Any]) -> None:
    write(db, datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 2, 2, tzinfo=UTC))
    age = age_of(db, datetime(2020, 2, 3, tzinfo=UTC))
    db.execute("set role svc_reader")
    db.commit()
    with pytest.raises(AccessError):
        purge(db, age)
    db.execute("set role svc_admin")
    db.commit()
    report = purge(db, age)
    assert (report.partitions, report.entries) == (["svc.audit_logs_2020_01"], 1)


def test_without_svc_there_is_nothing_to_purge(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn, pytest.raises(NotInstalledError) as caught:
        purge(conn, DAY)
    assert caught.value.hint == "Run: svc-pg install"
