"""The differences that the comparisons of tables with the log have left are told until a later one repairs
them, or finds nothing.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from svc_pg import audit
from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import fetch
from svc_pg.status.open_findings import DAYS, OpenFinding, open_findings
from svc_pg.webhooks.worker.database_state import DatabaseState, StateReader
from svc_pg.webhooks.worker.prometheus import exposition
from svc_pg.webhooks.worker.statistics import Statistics
from tests.support.costs import first_cost
from tests.support.postgres import Prepare
from tests.support.roles import new_role
from tests.support.tables import audited, create_and_audit

CONFIG = audited("t", "u")
METRIC = "svc_audit_reconciliation_findings"
READABLE = "svc_audit_reconciliation_readable"
FILL: LiteralString = """
insert into svc.audit_logs ("timestamp", table_name, table_oid, record_id, operation, label)
select now() - n * interval '1 minute', case when n % 2 = 0 then 'public.t' else 'svc.audit_logs' end, 0,
       case when n % 2 = 0 then n::text else n || ' removed' end, 'DELETE', 'audit log purged'
  from generate_series(1, 40000) n
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, "create table t (id int primary key, a int); create table u (id int)", CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into t select n, n from generate_series(1, 5) n")

    return fill


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def unseen(conn: psycopg.Connection[Any], statement: LiteralString) -> None:
    conn.execute("set session_replication_role = replica")
    conn.execute(statement)
    conn.execute("reset session_replication_role")


def left(conn: psycopg.Connection[Any]) -> list[tuple[str, int, int, int, int]]:
    with conn.transaction():
        conn.execute(BY_INDEXES)
        found: list[OpenFinding] = fetch(conn, open_findings())
    return [(each.table_name, each.unrepaired, each.missing, each.differing, each.gone) for each in found]


@pytest.mark.postgres
def test_what_was_found_is_told_until_it_is_repaired(conn: psycopg.Connection[Any]) -> None:
    assert left(conn) == []
    audit.reconcile(conn, CONFIG)
    assert left(conn) == []
    unseen(conn, "insert into t values (9, 9); update t set a = 0 where id = 1; delete from t where id in (2, 3)")
    assert left(conn) == []  # nobody has found it
    audit.reconcile(conn, CONFIG)
    assert left(conn) == [("public.t", 4, 1, 1, 2)]
    audit.reconcile(conn, CONFIG, table="public.u")
    assert left(conn) == [("public.t", 4, 1, 1, 2)]  # of which nothing is known anew
    audit.reconcile(conn, CONFIG, repair=True)
    assert left(conn) == []


def test_what_is_no_longer_different_is_told_no_longer(conn: psycopg.Connection[Any]) -> None:
    unseen(conn, "delete from t where id = 1")
    audit.reconcile(conn, CONFIG)
    assert left(conn) == [("public.t", 1, 0, 0, 1)]
    unseen(conn, "insert into t values (1, 1)")
    audit.reconcile(conn, CONFIG)
    assert left(conn) == []


def test_what_writers_kept_from_a_repair_is_still_told(
    conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.audit.reconciliation.comparing.write", _postponed)
    unseen(conn, "delete from t where id = 1")
    [report] = audit.reconcile(conn, CONFIG, table="public.t", repair=True).tables
    assert (report.repaired, report.unrepaired, report.postponed) == (0, 1, ["public.t"])
    assert left(conn) == [("public.t", 1, 0, 0, 1)]


def _postponed(*_: object) -> Iterator[Any]:
    yield from ()


def served_to(conninfo: str) -> list[str]:
    findings = asyncio.run(StateReader(Conninfo.parse(conninfo)).open_findings())
    text = exposition(Statistics(), DatabaseState(None), (), findings, accept="")[0].decode()
    return [line for line in text.splitlines() if line.startswith((METRIC, READABLE))]


def test_metrics_have_the_tables_that_differ_alone(conn: psycopg.Connection[Any], database: str) -> None:
    def served() -> list[str]:
        *_, readable = lines = served_to(database)
        assert readable == f"{READABLE} 1.0"
        return lines[:-1]

    assert served() == []
    unseen(conn, "delete from t where id < 3")
    audit.reconcile(conn, CONFIG)
    assert served() == [f'{METRIC}{{table="public.t"}} 2.0']
    audit.reconcile(conn, CONFIG, repair=True)
    assert served() == []


def test_a_role_that_may_not_read_them_does_not_pass_for_one_that_finds_none(
    conn: psycopg.Connection[Any], database: str, postgres: str
) -> None:
    unseen(conn, "delete from t where id < 3")
    audit.reconcile(conn, CONFIG)
    with new_role(postgres) as name:
        assert served_to(make_conninfo(database, user=name)) == [f"{READABLE} 0.0"]


def test_a_log_of_any_size_costs_the_same(conn: psycopg.Connection[Any]) -> None:
    unseen(conn, "delete from t where id < 3")
    audit.reconcile(conn, CONFIG)
    conn.execute(FILL)
    with conn.transaction():
        conn.execute(BY_INDEXES)
        query = open_findings()
        cost = first_cost(conn, query.text, query.params)
    assert "audit_logs" not in {name[:10] for name in cost.scanned}
    assert sum(rows for name, rows in cost.rows.items() if name.startswith("audit_logs")) < 20
    assert left(conn) == [("public.t", 2, 0, 0, 2)]


def record(conn: psycopg.Connection[Any], table: str, facts: str, days_ago: int = 0) -> None:
    conn.execute(
        """
        insert into svc.audit_logs ("timestamp", table_name, table_oid, record_id, operation, label, after_data)
        values (now() - %s * interval '1 day', 'svc.audit_logs', 0, %s, 'SNAPSHOT', 'audit log reconciled', %s)
        """,
        (days_ago, table, facts),
    )


def test_an_old_comparison_is_told_no_longer_and_its_partitions_are_not_read(conn: psycopg.Connection[Any]) -> None:
    for year in (2001, 2002):
        conn.execute(
            f"create table svc.audit_logs_{year} partition of svc.audit_logs"
            f" for values from ('{year}-01-01') to ('{year + 1}-01-01')".encode()
        )
    record(conn, "public.t", '{"unrepaired": 1}', DAYS + 1)
    record(conn, "public.u", '{"unrepaired": 1}', DAYS - 1)
    assert left(conn) == [("public.u", 1, 0, 0, 0)]
    with conn.transaction():
        conn.execute(BY_INDEXES)
        query = open_findings()
        plan = str(conn.execute(f"explain (costs off) {query.text}".encode(), query.params).fetchall())
    assert "on audit_logs_" in plan
    assert not any(f"audit_logs_{year}" in plan for year in (2001, 2002))


@pytest.mark.postgres
@pytest.mark.parametrize(
    "odd",
    [
        '{"unrepaired": "x"}',
        '{"unrepaired": 1e30}',
        '{"unrepaired": -1e30}',
        '{"unrepaired": null}',
        '{"unrepaired": {"a": 1}}',
        '{"unrepaired": [1]}',
        '{"unrepaired": true}',
        "{}",
        "[]",
        "7",
    ],
)
def test_an_entry_of_odd_facts_neither_fails_nor_hides_the_one_before(conn: psycopg.Connection[Any], odd: str) -> None:
    record(conn, "public.t", '{"unrepaired": 2, "missing": 2}', 1)
    record(conn, "public.t", odd)
    assert left(conn) == [("public.t", 2, 2, 0, 0)]


@pytest.mark.postgres
def test_odd_numbers_beside_it_count_as_none(conn: psycopg.Connection[Any]) -> None:
    record(conn, "public.t", '{"unrepaired": 1.5, "missing": "x", "differing": 1e30, "gone": [1]}')
    assert left(conn) == [("public.t", 2, 0, 0, 0)]


def test_a_database_without_svc_pg_has_nothing_to_read_and_does_not_fail_the_metrics(empty_database: str) -> None:
    assert asyncio.run(StateReader(Conninfo.parse(empty_database)).open_findings()) is None
