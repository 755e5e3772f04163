"""A claim reads what it claims and little more, however much is finished and whatever the planner has been told."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest

from svc_pg.database.query import scalar
from tests.support.costs import settled_cost
from tests.support.queue import add_delivered, add_due, add_endpoints, postpone

Connection = psycopg.Connection[Any]

MOST: Final = 100 + 100 + 2 * 50 + 1  # picked, taken, and twice the first of each endpoint; anything at all
CLAIM: Final = "select * from svc.webhook_claim('worker', 100)"


@pytest.fixture
def conn(database: str) -> Iterator[Connection]:
    """50 endpoints with 20 due deliveries each, and a queue that is never analysed or vacuumed by itself."""
    with psycopg.connect(database, autocommit=True) as conn:
        for table in ("deliveries", "queue", "leases"):
            conn.execute(f"alter table svc.webhook_{table} set (autovacuum_enabled = off)".encode())
        add_due(conn, add_endpoints(conn, 50), 20)
        yield conn


def test_a_claim_costs_the_same_whatever_is_finished_and_known(conn: Connection) -> None:
    first = settled_cost(conn, CLAIM)
    assert not first.scanned
    assert (first.rows["webhook_queue"] <= MOST, first.rows["webhook_deliveries"]) == (True, 100)
    for number in (10_000, 190_000):
        add_delivered(conn, number)
        for is_known in (False, True):
            if is_known:
                conn.execute("analyze svc.webhook_deliveries, svc.webhook_queue, svc.webhook_leases")
            later = settled_cost(conn, CLAIM)
            assert not later.scanned
            assert (later.rows["webhook_queue"] <= MOST, later.rows["webhook_deliveries"]) == (True, 100)
            assert later.pages < 1.5 * first.pages  # indexes are a level deeper


def test_a_claim_of_few_looks_at_few_endpoints(conn: Connection) -> None:
    few = settled_cost(conn, "select * from svc.webhook_claim('worker', 5)")
    assert few.rows["webhook_endpoint_state"] <= 5
    postpone(conn, timedelta(hours=1))
    postpone(conn, timedelta(0), "d.endpoint_id = (select max(endpoint_id::text)::uuid from svc.webhook_deliveries)")
    # but goes on if those have nothing due
    assert scalar(conn, "select count(*) from svc.webhook_claim('worker', 5)") == 5


def test_a_claim_of_nothing_reads_nothing(conn: Connection) -> None:
    add_delivered(conn, 10_000)
    postpone(conn, timedelta(hours=1))
    nothing = settled_cost(conn, CLAIM)
    assert (nothing.scanned, nothing.rows["webhook_deliveries"], nothing.rows["webhook_queue"]) == (frozenset(), 0, 0)
    assert nothing.pages < 10


def test_what_a_worker_waits_for_costs_the_same_whatever_is_finished(conn: Connection) -> None:
    first = settled_cost(conn, "select svc.webhook_next_due()")
    add_delivered(conn, 10_000)
    later = settled_cost(conn, "select svc.webhook_next_due()")
    assert not {"webhook_deliveries", "webhook_queue", "webhook_leases"} & later.scanned
    assert (later.rows["webhook_deliveries"], later.rows["webhook_queue"]) == (0, 0)
    assert later.pages <= first.pages + 10
