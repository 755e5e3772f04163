"""The queries that workers repeat read little, also when the planner believes that the queue is empty.

So it is if the queue was empty when it was last analysed: then all indexes seem equally good, and the planner may take
one that reads the whole queue for each endpoint. Tuples are counted, because time depends on the machine.
"""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.webhooks.endpoints import endpoint_health
from svc_pg.webhooks.traffic.backlog import backlog
from tests.support.costs import first_cost
from tests.support.postgres import Prepare
from tests.support.queue import add_delivered, add_due, add_endpoints

Connection = psycopg.Connection[Any]

ENDPOINTS: Final = 100
DUE: Final = 50_000
FINISHED: Final = 10_000
BATCH: Final = 50
TABLES: Final = ("endpoints", "endpoint_state", "messages", "deliveries", "queue", "leases", "delivery_attempts")


def fill(conninfo: str) -> None:
    """Finished deliveries, statistics, and then a burst: much for one endpoint, a little for all others."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for table in TABLES:
            conn.execute(f"alter table svc.webhook_{table} set (autovacuum_enabled = off)".encode())
        endpoints = add_endpoints(conn, ENDPOINTS)
        add_delivered(conn, FINISHED)
        conn.execute("vacuum analyze")
        add_due(conn, endpoints[:1], DUE)
        add_due(conn, endpoints[1:], 5)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return fill


@pytest.fixture
def conn(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def read(conn: Connection, text: Any, *params: object) -> int:
    """The number of deliveries, and of rows of the queue and of leases, that the statement reads."""
    rows = first_cost(conn, text, params).rows
    return rows["webhook_deliveries"] + rows["webhook_queue"] + rows["webhook_leases"]


def first_endpoint(conn: Connection) -> object:
    [(found,)] = conn.execute("select id from svc.webhook_endpoints order by id limit 1")
    return found


def test_a_claim_reads_what_it_claims_and_the_first_of_each_endpoint(conn: Connection) -> None:
    assert read(conn, "select * from svc.webhook_claim('worker', %s)", BATCH) <= 5 * BATCH


def test_what_is_due_next_is_read_alone(conn: Connection) -> None:
    assert read(conn, "select svc.webhook_next_due()") <= 2


def test_an_acknowledgement_reads_what_it_acknowledges(conn: Connection) -> None:
    arrays = """select array_agg(delivery_id), array_agg(lease_id), array_agg('retry'::text), array_agg(60::float8),
                       array_agg('http_error'::text), array_agg(500), array_agg('error'::text), array_agg(5)
                  from svc.webhook_claim('worker', %s)"""
    [claimed] = conn.execute(arrays, (BATCH,))
    text = "select svc.webhook_acknowledge(%s, %s, %s, %s, %s, %s, %s, %s, '{}', '{}', '{}')"
    assert read(conn, text, *claimed) <= 4 * BATCH


def test_canceling_what_is_due_at_a_closed_endpoint_reads_what_it_cancels(conn: Connection) -> None:
    conn.execute(
        "update svc.webhook_endpoints set status = 'disabled', disabled_reason = 'test' where id = %s",
        (first_endpoint(conn),),
    )
    assert read(conn, "select * from svc.webhook_claim('worker', %s)", BATCH) <= 6 * 1000 + 5 * BATCH


@pytest.mark.parametrize("function", ["webhook_cancel_pending(%s, 'test', 5000)", "webhook_set_status(%s, 'disabled')"])
def test_closing_an_endpoint_reads_what_it_cancels(conn: Connection, function: str) -> None:
    assert read(conn, f"select svc.{function}", first_endpoint(conn)) <= 2 * DUE + 10


def test_the_health_of_an_endpoint_reads_the_first_of_its_queue(conn: Connection) -> None:
    text = "select * from svc.webhook_endpoint_health where endpoint_id = %s"
    assert read(conn, text, first_endpoint(conn)) <= 2
    assert read(conn, "select * from svc.webhook_endpoint_health") <= 2 * ENDPOINTS


def test_a_page_of_healths_looks_at_a_hundred_failures_of_each_endpoint(conn: Connection) -> None:
    conn.execute("select svc.webhook_cancel_pending(%s, 'test', 5000)", (first_endpoint(conn),))
    page = endpoint_health.query()._query()
    assert isinstance(page.params, tuple)
    assert read(conn, page.text, *page.params) <= 2 * ENDPOINTS + 100


def test_the_backlog_reads_the_first_of_each_queue(conn: Connection) -> None:
    with conn.transaction():
        conn.execute(BY_INDEXES)
        assert read(conn, backlog().text) <= 6 * ENDPOINTS


def test_canceling_by_hand_reads_what_it_cancels(conn: Connection) -> None:
    [(chosen,)] = conn.execute(
        "select array_agg(id) from (select id from svc.webhook_deliveries where status = 'pending' limit 1000) q"
    )
    assert read(conn, "select svc.webhook_cancel_many(%s, 'test')", chosen) <= 4 * 1000


def test_retention_reads_what_it_deletes_however_many_are_due(conn: Connection) -> None:
    assert read(conn, "select svc.webhook_prune('7 days', '30 days', 1000)") == 0
    assert read(conn, "select svc.webhook_prune('0', '30 days', 1000)") <= 4 * 1000
