"""A log with a partition for each day: what is made, what stays when the configuration changes, and what is dropped."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from svc_pg.maintenance import maintain
from svc_pg.schema.postgres import partitions
from tests.support.postgres import Prepare, new_database
from tests.support.tables import create_and_audit

ENSURE: LiteralString = "select svc.audit_ensure_partitions()"
RANGES = """
select i.inhrelid::regclass::text as name, svc.audit_partition_start(i.inhrelid) as start,
       svc.audit_partition_end(i.inhrelid) as ending
  from pg_inherits i
 where i.inhparent = 'svc.audit_logs'::regclass and i.inhrelid <> 'svc.audit_logs_default'::regclass
 order by 2
"""


def config(by: str = "day", **options: Any) -> Config:
    given = {"partitions": by, "retention_days": 90, "tables": [AuditedTable(name="t")], **options}
    return Config(audit=AuditConfig(**given))


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def made(conninfo: str) -> None:
        create_and_audit(conninfo, "create table t (id int primary key)", config())
        with psycopg.connect(conninfo, autocommit=True) as conn:
            drop(conn)
            conn.execute(ENSURE)

    return made


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def ranges(db: psycopg.Connection[Any]) -> list[tuple[str, datetime, datetime]]:
    return db.execute(RANGES).fetchall()


def names(db: psycopg.Connection[Any]) -> list[str]:
    return [name.removeprefix("svc.audit_logs_") for name, _, _ in ranges(db)]


def drop(db: psycopg.Connection[Any], *kept: str) -> None:
    """Drop all partitions but the default one and those with these names."""
    for name in {*names(db), *kept} - {*kept}:
        db.execute(f"drop table svc.audit_logs_{name}".encode())


def attached(db: psycopg.Connection[Any], name: str, start: datetime, ending: datetime) -> None:
    """Make a partition by hand."""
    bounds = f"for values from ('{start}') to ('{ending}')"
    db.execute(f"create table svc.audit_logs_{name} partition of svc.audit_logs {bounds}".encode())


def write(db: psycopg.Connection[Any], *times: str) -> None:
    for time in times:
        db.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
            " values ('public.t', 0, 'INSERT', '1', %s)",
            (time,),
        )


def today(db: psycopg.Connection[Any], days: int = 0) -> datetime:
    found: datetime = scalar(db, "select date_trunc('day', now(), 'UTC') + make_interval(days => %s)", (days,))
    return found.astimezone(UTC)


def assert_continuous(db: psycopg.Connection[Any], until: datetime) -> None:
    """Each time from now until then has one partition."""
    reached = today(db)
    for _, start, ending in ranges(db):
        if reached < until and ending > reached:
            assert start <= reached, (reached, ranges(db))
            reached = ending
    assert reached >= until


def state(db: psycopg.Connection[Any], wanted: Config) -> dict[str, str]:
    return {each.identity: each.state for each in schema.status(db, wanted) if each.state != "ok"}


def test_today_and_the_next_fourteen_days_have_partitions(db: psycopg.Connection[Any]) -> None:
    assert names(db) == [f"{today(db, day):%Y_%m_%d}" for day in range(15)]
    assert scalar(db, ENSURE) == []
    assert state(db, config()) == {}
    db.execute("insert into t values (1)")
    assert scalar(db, "select tableoid::regclass::text from svc.audit_logs where table_name = 'public.t'") == (
        f"svc.audit_logs_{today(db):%Y_%m_%d}"
    )
    for guarded in (f"svc.audit_logs_{today(db):%Y_%m_%d}", "svc.audit_logs"):
        with pytest.raises(psycopg.DatabaseError, match="append-only"):
            db.execute(f"truncate {guarded}".encode())


def test_a_new_log_has_days_from_the_beginning(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        schema.install(conn, config(tables=[]))
        assert names(conn) == [f"{today(conn, day):%Y_%m_%d}" for day in range(15)]


def test_today_alone_is_made_if_nothing_is_wanted_ahead(db: psycopg.Connection[Any]) -> None:
    drop(db)
    assert scalar(db, "select svc.audit_ensure_partitions(0)") == [f"audit_logs_{today(db):%Y_%m_%d}"]


def test_entries_of_other_days_wait_in_the_default_partition_and_move(db: psycopg.Connection[Any]) -> None:
    write(db, "2020-02-28 23:59:59.999999+00", "2020-02-29", "2020-03-01 00:00+00", "infinity")
    assert state(db, config()) == {"svc.audit_logs": "outdated"}
    made = scalar(db, ENSURE)
    assert made == ["audit_logs_2020_02_28", "audit_logs_2020_02_29", "audit_logs_2020_03_01"]
    assert scalar(db, "select count(*) from svc.audit_logs_2020_02_29") == 1
    assert scalar(db, "select count(*) from svc.audit_logs_default") == 1
    assert scalar(db, "select count(*) from svc.audit_logs") == 4


def test_many_days_in_the_default_partition_are_made_over_several_calls(db: psycopg.Connection[Any]) -> None:
    drop(db)
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, timestamp)"
        " select 'public.t', 0, 'INSERT', d from generate_series('2020-01-01'::timestamptz, '2020-06-30', '1 day') d"
    )
    made = scalar(db, ENSURE)
    assert len(made) == 150
    assert made[-15:] == [f"audit_logs_{today(db, day):%Y_%m_%d}" for day in range(15)], "the days to come are first"
    assert made[134] == "audit_logs_2020_06_30", "then the youngest"
    assert len(scalar(db, ENSURE)) == 182 - 135
    assert scalar(db, "select count(*) from svc.audit_logs_default") == 0


def test_from_months_to_days_a_month_that_exists_stays_and_days_begin_after_it(db: psycopg.Connection[Any]) -> None:
    drop(db)
    schema.install(db, config("month"))
    months = names(db)
    assert [len(name) for name in months] == [7] * 4
    write(db, "now")
    assert state(db, config()) == {"svc.audit_ensure_partitions": "outdated"}
    schema.install(db, config())
    assert (names(db), state(db, config())) == (months, {})
    drop(db, months[0])  # the months to come are empty: whoever drops them switches sooner
    schema.install(db, config())
    first = ranges(db)[0]
    expected = [f"{day:%Y_%m_%d}" for day in (today(db, n) for n in range(15)) if day >= first[2]]
    assert names(db) == [months[0], *expected]
    assert scalar(db, f"select count(*) from {first[0]} where table_name = 'public.t'") == 1
    assert_continuous(db, today(db, 14))


def test_from_days_to_months_days_fill_the_month_and_months_follow(db: psycopg.Connection[Any]) -> None:
    days = names(db)
    schema.install(db, config("month"))
    assert set(days) < set(names(db))
    assert_continuous(db, today(db, 62))
    by_month: dict[str, list[str]] = {}
    for name in names(db):
        by_month.setdefault(name[:7], []).append(name)
    for month, parts in by_month.items():
        has_days = any(day.startswith(month) for day in days)
        assert all(len(part) == (10 if has_days else 7) for part in parts)
    assert (scalar(db, ENSURE), state(db, config("month"))) == ([], {})
    schema.install(db, config("day"))
    assert (scalar(db, ENSURE), state(db, config("day"))) == ([], {})


def test_partitions_of_others_are_left_in_peace_and_the_rest_is_made_around_them(db: psycopg.Connection[Any]) -> None:
    drop(db)
    for name, start, ending in (
        ("p1", today(db) + timedelta(hours=6), today(db) + timedelta(hours=12)),
        ("p2", today(db, 2) + timedelta(hours=5), today(db, 9) + timedelta(hours=5)),
    ):
        attached(db, name, start, ending)
    db.execute(ENSURE)
    found = state(db, config())
    assert {name for name in found if "p1" in name or "p2" in name} == {*found}, "status names those of another role"
    assert found["audit_guard_truncate on svc.audit_logs_p1"] == "missing"
    for by in ("day", "month", "day"):
        schema.install(db, config(by))
        assert_continuous(db, today(db, 14))
        assert (scalar(db, ENSURE), state(db, config(by))) == ([], {})
    present = names(db)
    assert {"p1", "p2", f"{today(db):%Y_%m_%d}", f"{today(db):%Y_%m_%d}_120000"} < {*present}
    assert f"{today(db, 5):%Y_%m_%d}" not in present


def test_a_detached_day_is_named_and_comes_back_with_the_next_install(db: psycopg.Connection[Any]) -> None:
    write(db, "2020-02-29")
    assert scalar(db, ENSURE) == ["audit_logs_2020_02_29"]
    db.execute("alter table svc.audit_logs detach partition svc.audit_logs_2020_02_29")
    write(db, "2020-02-29 01:00+00")
    assert scalar(db, ENSURE) == [], "its time stays its own"
    assert state(db, config())["svc.audit_logs_2020_02_29"] == "tampered"
    schema.install(db, config())
    assert state(db, config()) == {}
    assert scalar(db, "select count(*) from svc.audit_logs_2020_02_29") == 2


def test_a_detached_month_whose_days_are_there_stops_nothing(db: psycopg.Connection[Any]) -> None:
    month = f"{today(db):audit_logs_%Y_%m}"
    db.execute(f"create table svc.{month} (like svc.audit_logs including all excluding identity)".encode())
    schema.install(db, config())
    assert state(db, config()) == {f"svc.{month}": "tampered"}


def test_two_at_a_time_make_each_day_once(db: psycopg.Connection[Any], database: str) -> None:
    drop(db)

    def ensure(_: int) -> list[str]:
        with psycopg.connect(database, autocommit=True) as conn:
            made: list[str] = scalar(conn, ENSURE)
            return made

    with ThreadPoolExecutor(3) as threads:
        made = [name for names in threads.map(ensure, range(3)) for name in names]
    assert sorted(made) == [f"audit_logs_{today(db, day):%Y_%m_%d}" for day in range(15)]


def test_a_purge_drops_whole_days(db: psycopg.Connection[Any]) -> None:
    write(db, "2020-02-28", "2020-02-29 12:00+00", "2020-03-01")
    db.execute(ENSURE)
    age = scalar(db, "select now() - '2020-02-29 18:00+00'::timestamptz")
    report = audit.purge(db, age, config=config().audit)
    assert report.partitions == ["svc.audit_logs_2020_02_28"]
    assert report.entries == 1
    assert "2020_03_01" in names(db)
    facts = scalar(db, "select before_data from svc.audit_logs where before_data ? 'partition'")
    assert (facts["partition"], facts["from"], facts["before"]) == (
        "svc.audit_logs_2020_02_28",
        "2020-02-28T00:00:00+00:00",
        "2020-02-29T00:00:00+00:00",
    )


def test_maintenance_makes_days_and_builds_an_index_that_is_chosen_later_on_each(db: psycopg.Connection[Any]) -> None:
    write(db, "2020-02-28")
    drop(db)
    chosen = config(retention_days=99, indexes=["record", "time", "severity", "actor"])
    assert maintain(db, config(retention_days=99))
    db.execute("insert into t values (1)")
    assert [each.identity for each in schema.plan(db, chosen) if each.is_later] == ["svc.audit_logs_actor"]
    assert maintain(db, chosen)
    assert state(db, chosen) == {}
    lacking = "select count(*) from pg_inherits where inhparent = 'svc.audit_logs_actor'::regclass"
    assert scalar(db, lacking) == len(ranges(db)) + 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"retention_days": None}, "by day, a log without retention_days has ever more partitions"),
        ({"retention_days": 3650}, "audit.retention_days: by day, the log would have 3650 partitions"),
        (
            {"tables": [AuditedTable(name="t", retention_days=3650)]},
            'table "public.t": retention_days: by day, the log would have 3650 partitions',
        ),
    ],
)
def test_more_days_than_reads_should_plan_for_are_refused(
    db: psycopg.Connection[Any], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        schema.plan(db, config(**options))
    assert refused.value.hint == 'Set retention_days to 400 at most, or keep the log by month: partitions = "month".'
    partitions.check_number(db, config("month", **options).audit)


def test_a_server_without_room_for_the_locks_of_reads_is_refused(db: psycopg.Connection[Any]) -> None:
    room, connections = (
        scalar(db, "select current_setting(%s)::integer", (name,))
        for name in ("max_locks_per_transaction", "max_connections")
    )
    every = ["record", "time", "severity", "table", "actor", "tenant"]
    wanted = config(retention_days=400, indexes=every, search=["contains", "text"])
    assert room * connections < 4 * 416 * 11, "of the servers of tests"
    with pytest.raises(ConfigError, match="a read of a log of 400 days takes 4576 locks") as refused:
        schema.plan(db, wanted)
    assert "Set max_locks_per_transaction = " in str(refused.value.hint)


@pytest.fixture(scope="module")
def shared(postgres: str, module_template: str) -> Iterator[str]:
    with new_database(postgres, template=module_template) as conninfo:
        yield conninfo


PIECES = st.lists(st.tuples(st.integers(-200, 700), st.integers(1, 300)), max_size=3)
"""Hours from today at which others begin partitions, and their lengths."""
ENTRIES = st.lists(st.integers(-300, 900), max_size=3)


@given(pieces=PIECES, entries=ENTRIES, choices=st.lists(st.sampled_from(["day", "month"]), min_size=1, max_size=2))
def test_whatever_is_there_nothing_overlaps_or_moves_and_the_default_partition_is_emptied(
    shared: str, pieces: list[tuple[int, int]], entries: list[int], choices: list[str]
) -> None:
    with psycopg.connect(shared) as db:
        drop(db)
        begin, taken = today(db), list[tuple[datetime, datetime]]()
        for number, (hour, length) in enumerate(pieces):
            start, ending = begin + timedelta(hours=hour), begin + timedelta(hours=hour + length)
            if not any(other[0] < ending and start < other[1] for other in taken):
                taken.append((start, ending))
                attached(db, f"p{number}", start, ending)
        write(db, *(str(begin + timedelta(hours=hour)) for hour in entries))
        kept = {name: scalar(db, f"select count(*) from {name}") for name, _, _ in ranges(db)}
        for by in choices:
            source = scalar(db, "select pg_get_functiondef('svc.audit_ensure_partitions'::regproc)")
            text = source.replace(f"text := '{'month' if by == 'day' else 'day'}'", f"text := '{by}'")
            db.execute(text.encode())
            db.execute("select svc.audit_ensure_partitions(1)")
            assert scalar(db, "select svc.audit_ensure_partitions(1)") == []
            assert scalar(db, "select count(*) from svc.audit_logs_default") == 0
            assert_continuous(db, begin + timedelta(days=14 if by == "day" else 28))
        found = {name: scalar(db, f"select count(*) from {name}") for name, _, _ in ranges(db) if name in kept}
        assert found == kept
        assert scalar(db, "select count(*) from svc.audit_logs where table_name = 'public.t'") == len(entries)
        db.rollback()
