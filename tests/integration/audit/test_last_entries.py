"""The last entries of a record, looked for stretch by stretch of the log, are those that a plain statement finds."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from svc_pg.capture.postgres.catalog import read_tables
from svc_pg.capture.postgres.comparing import SETTINGS, Comparison
from svc_pg.capture.postgres.log_stretches import LOG_BOUNDS, LogBounds, Stretch
from svc_pg.capture.rules import rules_for
from svc_pg.config import AuditedTable
from svc_pg.database.query import fetch_one, scalar
from svc_pg.database.table_names import TableName
from svc_pg.rendering.templates import render
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

NAME: Final = TableName("public", "t")
RECORDS: Final = 4
MONTHS: Final = ["2025-01-01T00:00:00+00:00", "2025-02-01T00:00:00+00:00", "2025-03-01T00:00:00+00:00"]
"""The beginnings of partitions. Years that are far away are in the default partition."""
TIMES: Final = [
    *MONTHS,
    "2025-01-31T23:59:59.999999+00:00",
    "2025-02-11T12:00:00+00:00",
    "2025-04-01T00:00:00+00:00",
    "2019-05-05T05:05:05+00:00",
    "2099-01-01T00:00:00+00:00",
    "-infinity",
    "infinity",
]
PLAIN: Final = """
select record_id, id from (
    select l.record_id, l.id,
           row_number() over (partition by l.record_id order by l."timestamp" desc, l.id desc) as number
      from svc.audit_logs l where l.table_name = 'public.t'
) e where number <= %s order by record_id, number
"""
WRITE: Final = """
insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id, after_data)
values (%s, 'public.t', 't'::regclass, %s, %s, case when %s <> 'DELETE' then jsonb_build_object('id', %s, 'a', %s) end)
"""
Entry = tuple[str, str, int, int]
entries = st.lists(
    st.tuples(
        st.sampled_from(TIMES), st.sampled_from(["INSERT", "DELETE"]), st.integers(1, RECORDS), st.integers(1, 2)
    ),
    max_size=12,
)
bounds = st.none() | st.sets(st.sampled_from([each for each in TIMES if "infinity" not in each]))
"""None are those of the log; others are of partitions that were made or dropped meanwhile."""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, "create table t (id int primary key, a int)", audited("t"))
        with psycopg.connect(conninfo, autocommit=True) as conn:
            for month in MONTHS:
                conn.execute(
                    'insert into svc.audit_logs ("timestamp", table_name, table_oid, operation)'
                    " values (%s, 'public.months', 0, 'INSERT')",
                    (month,),
                )
            conn.execute("select svc.audit_ensure_partitions()")
            conn.execute("set session_replication_role = replica")
            conn.execute("insert into t select n, 1 from generate_series(2, %s) n", (RECORDS,))

    return fill


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def stretches_of(conn: psycopg.Connection[Any], chosen: set[str] | None) -> Sequence[Stretch]:
    if chosen is None:
        return fetch_one(conn, LOG_BOUNDS).stretches()
    return LogBounds(sorted(chosen, reverse=True)).stretches()


def last_entries(conn: psycopg.Connection[Any], stretches: Sequence[Stretch], most: int) -> list[tuple[str, int]]:
    text = render(
        "include/last_entries.sql.j2",
        stretches=stretches,
        table_name=str(NAME),
        record=("r", "record_id"),
        most_entries=most,
    )
    statement = (
        f"select r.record_id, e.id from (select n::text from generate_series(1, {RECORDS}) n) r(record_id)"
        f' cross join lateral ({text}) e order by r.record_id, e."timestamp" desc, e.id desc'
    )
    return conn.execute(statement.encode()).fetchall()


def compared(conn: psycopg.Connection[Any], stretches: Sequence[Stretch]) -> list[Any]:
    """The reports about all rows and all records."""
    rules = rules_for(read_tables(conn, [NAME])[NAME], AuditedTable(name="t"))
    comparison = Comparison.of(rules, "reconciliation", has_plain_key=True, stretches=stretches)
    conn.execute(SETTINGS, prepare=False)
    rows, ended = comparison.rows(NAME, None, "report", most=9), comparison.ended("", "report", records=99, most=9)
    return [conn.execute(text.encode(), prepare=False).fetchall() for text in (rows, ended)]


def test_the_log_has_several_stretches_and_all_times_are_in_one(db: psycopg.Connection[Any]) -> None:
    found = fetch_one(db, LOG_BOUNDS).stretches()
    assert len(found) > len(MONTHS)
    assert (found[0].until, found[-1].since) == (None, None)
    assert [each.since for each in found[:-1]] == [each.until for each in found[1:]]


@pytest.mark.parametrize("number", [0, 1, 6, 7, 8, 24, 400])
def test_many_bounds_become_few_stretches_without_a_hole(number: int) -> None:
    found = LogBounds([str(each) for each in range(number, 0, -1)]).stretches()
    assert len(found) <= min(number + 1, 17)
    assert (found[0].until, found[-1].since) == (None, None)
    assert [each.since for each in found[:-1]] == [each.until for each in found[1:]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # rolled back
@given(written=entries, chosen=bounds)
@example(written=[("2025-01-01T00:00:00+00:00", "INSERT", 2, 1), (TIMES[3], "INSERT", 2, 2)], chosen=None)
@example(written=[("2019-05-05T05:05:05+00:00", "INSERT", 2, 1), ("infinity", "DELETE", 2, 1)], chosen=None)
@example(written=[(TIMES[4], "INSERT", 2, 1), (TIMES[4], "DELETE", 2, 1), (TIMES[4], "INSERT", 2, 2)], chosen=None)
def test_stretch_by_stretch_the_same_entries_are_the_last(
    db: psycopg.Connection[Any], written: list[Entry], chosen: set[str] | None
) -> None:
    with db.transaction(force_rollback=True):
        for time, operation, record, value in written:
            db.execute(WRITE, (time, operation, str(record), operation, record, value))
        stretches = stretches_of(db, chosen)
        for most in (1, 2):
            assert last_entries(db, stretches, most) == db.execute(PLAIN, (most,)).fetchall()
        assert compared(db, stretches) == compared(db, [Stretch()])


@pytest.mark.parametrize(("later", "is_missing"), [(-1, False), (0, True), (1, True)])
def test_a_row_whose_key_left_with_its_last_entry_or_later_is_missing(
    db: psycopg.Connection[Any], later: int, *, is_missing: bool
) -> None:
    with db.transaction(force_rollback=True):
        db.execute(WRITE, (TIMES[4], "INSERT", "2", "INSERT", 2, 1))
        db.execute(
            'insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id, moved_from,'
            " before_data, after_data, changed_fields) values (%s::timestamptz + %s * interval '1 month', 'public.t',"
            """ 't'::regclass, 'UPDATE', '9', '2', '{"id": 2, "a": 1}', '{"id": 9, "a": 1}', '{id}')""",
            (TIMES[4], later),
        )
        [[[*_, found]], _] = compared(db, stretches_of(db, None))
        assert (["missing", "2", None] in found) is is_missing


def test_a_month_is_looked_into_for_rows_that_younger_ones_do_not_have_if_it_has_entries_of_the_table(
    db: psycopg.Connection[Any],
) -> None:
    for month, table in ((MONTHS[0], "public.t"), (MONTHS[1], "public.other")):
        db.execute(
            'insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id)'
            " select %s, %s, 0, 'INSERT', n from generate_series(1, 100) n",
            (month, table),
        )
    db.execute("insert into t select n, 1 from generate_series(10, 1000) n")  # each has an entry of now
    with db.transaction():
        before = {month: looks(db, month) for month in ("2025_01", "2025_02")}
        [[[rows, *_]], _] = compared(db, stretches_of(db, None))
        assert rows > 990
        assert all(0 < looks(db, month) - before[month] < 60 for month in before)


def looks(conn: psycopg.Connection[Any], month: str) -> int:
    """The pages of the index of records of a month that this transaction has touched."""
    index = f"svc.audit_logs_{month}_table_name_record_id_timestamp_idx"
    found: int = scalar(conn, "select pg_stat_get_xact_blocks_fetched(%s::regclass)", (index,))
    return found
