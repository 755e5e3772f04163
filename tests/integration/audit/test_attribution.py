"""The entries of the last day without an actor are told, table by table, at a cost that no log makes larger."""

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import fetch
from svc_pg.status.attribution import Attribution, attribution
from svc_pg.webhooks.worker.database_state import StateReader
from svc_pg.webhooks.worker.prometheus import exposition
from svc_pg.webhooks.worker.statistics import Statistics
from tests.support.costs import first_cost
from tests.support.tables import add_entry

FILL = """
insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, actor_id, db_user)
select now() - n * interval '1 s' - %s * interval '1 day', 'public.t' || n %% 20, 0, 'INSERT',
       case when n %% 40 < 20 then 'alice' end, 'shop'
  from generate_series(1, %s) n
"""


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def test_each_table_has_its_share(conn: psycopg.Connection[Any], database: str) -> None:
    with audit.actor(conn, "alice"):
        add_entry(conn, "public.a", "INSERT")
        add_entry(conn, "public.b", "INSERT")
    for _ in range(3):
        add_entry(conn, "public.b", "INSERT")
    conn.execute(FILL, (2, 20))  # of two days ago
    conn.execute(  # a backfill is of no actor by nature
        "insert into svc.audit_logs (table_name, table_oid, operation)"
        " values ('public.b', 0, 'SNAPSHOT'), ('public.c', 0, 'SNAPSHOT')"
    )
    conn.commit()
    found = fetch(conn, attribution())
    assert found == [Attribution("public.a", 1, 0), Attribution("public.b", 4, 3)]
    assert [each.share for each in found] == [0.0, 0.75]
    reader = StateReader(Conninfo.parse(database))
    attributed = asyncio.run(reader.attributed())
    assert attributed == found
    text = exposition(Statistics(), None, attributed, accept="")[0].decode()
    assert 'svc_audit_entries_without_actor_ratio{table="public.b"} 0.75' in text


def test_a_database_without_svc_pg_has_no_shares_and_does_not_fail_the_metrics(empty_database: str) -> None:
    assert asyncio.run(StateReader(Conninfo.parse(empty_database)).attributed()) == []
    assert asyncio.run(StateReader(Conninfo.parse(empty_database)).state()) is None


def test_a_log_of_any_size_costs_the_same(conn: psycopg.Connection[Any]) -> None:
    for old, number in ((0, 40_000), (40, 60_000)):
        conn.execute(FILL, (old, number))
    conn.execute(BY_INDEXES)
    cost = first_cost(conn, attribution().text)
    assert not cost.scanned
    assert sum(cost.rows.values()) <= 20 * 1000 + 300
    found = fetch(conn, attribution())
    assert (len(found), {each.entries for each in found}) == (20, {1000})
    assert sum(each.without_actor for each in found) == pytest.approx(10_000, abs=1000)
