"""A change of many deliveries, and the outage of an endpoint, look at each candidate once, whatever the planner knows.

One tenant has nine of ten deliveries, and its endpoint nearly all that waits.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.performing import run
from svc_pg.database.query import fetch_one
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.endpoints.outages import MOST_READ, outage
from tests.benchmarks.week import Week
from tests.support.long_log import STATES, know, pages
from tests.support.postgres import new_database

DELIVERIES: Final = 20_000
WAITING: Final = 4_000
OF_A_ROW: Final = 20
"""The most pages for each delivery that is looked at."""
OF_A_LOOKUP: Final = 8
"""Those for the delivery and the message of an attempt."""
BESIDE: Final = 500
SEEM_FEW: Final = """
update pg_class set reltuples = 1, relpages = 10000
 where oid in ('svc.webhook_deliveries'::regclass, 'svc.webhook_messages'::regclass)
"""
FAILED: Final = DELIVERIES * 3 // 100
LATER: Final = DELIVERIES // 100

Change = Callable[[DeliveryQuery], Any]
Wanted = Callable[[str], DeliveryQuery]


@pytest.fixture(scope="module", params=STATES)
def conn(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[psycopg.Connection[Any]]:
    week = Week(DELIVERIES, have_all_tenants=True, busy_tenths=9)
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        week.grow(conn, parts=100)
        webhooks.send_many(conn, "order.placed", [{}] * WAITING, tenant="tenant-1")
        conn.execute("update svc.webhook_endpoint_state set first_failure_at = now() - interval '8 days'")
        know(conn, request.param)
        yield conn


@pytest.fixture
def busy(conn: psycopg.Connection[Any]) -> str:
    found = conn.execute("select id::text from svc.webhook_endpoints where description = 'Partner 1'").fetchall()
    return str(found[0][0])


def own(_: str) -> DeliveryQuery:
    return delivery_queries.query().to_endpoints_of("tenant-1")


WANTED: Final[dict[str, Wanted]] = {
    "a tenant's session": own,
    "its endpoint": lambda endpoint: own(endpoint).endpoint(endpoint),
    "an endpoint": lambda endpoint: delivery_queries.query().endpoint(endpoint),
    "a tenant": lambda _: delivery_queries.query().tenant("tenant-1"),
    "an event": lambda _: delivery_queries.query().event("order.placed"),
    "an event of an endpoint": lambda endpoint: own(endpoint).endpoint(endpoint).event("order.placed"),
    "a rare event": lambda endpoint: own(endpoint).endpoint(endpoint).event("nothing"),
    "a long time": lambda endpoint: own(endpoint).since("3650d"),
}
CHANGES: Final[dict[str, tuple[Change, int]]] = {
    "retry": (lambda wanted: wanted.retry(dry_run=True), FAILED + LATER),
    "retry of failures": (lambda wanted: wanted.status("failed").retry(dry_run=True), FAILED),
    "retry of what waits": (lambda wanted: wanted.status("pending").retry(dry_run=True), LATER),
    "cancellation": (lambda wanted: wanted.cancel(dry_run=True), WAITING + LATER),
    "cancellation of failures": (lambda wanted: wanted.status("failed").cancel(dry_run=True), 0),
}


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize(("change", "candidates"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_many_looks_at_each_candidate_once(
    conn: psycopg.Connection[Any], busy: str, wanted: Wanted, change: Change, candidates: int
) -> None:
    touched = pages(conn, lambda: run(conn, change(wanted(busy))))
    assert touched <= OF_A_ROW * candidates + BESIDE


@pytest.mark.parametrize(("change", "of"), [("retry", FAILED), ("cancel", WAITING)])
def test_the_candidates_are_all_that_a_change_has(
    conn: psycopg.Connection[Any], busy: str, change: str, of: int
) -> None:
    found = run(conn, getattr(own(busy).endpoint(busy), change)(dry_run=True))
    assert found.is_complete
    assert of * 0.8 < found.count


@pytest.mark.parametrize("is_empty", [False, True], ids=["", "deliveries seem to be few"])
@pytest.mark.parametrize("tenant", [None, "tenant-1", "tenant-2"])
def test_the_outage_of_an_endpoint_looks_at_what_it_counts(
    conn: psycopg.Connection[Any], busy: str, tenant: str | None, *, is_empty: bool
) -> None:
    with conn.transaction(force_rollback=True):
        if is_empty:
            conn.execute(SEEM_FEW)
        found = fetch_one(conn, outage(busy, tenant=tenant))
        assert found.is_waiting_complete == (tenant == "tenant-2")
        looked_at = 3 * MOST_READ + FAILED
        assert pages(conn, lambda: fetch_one(conn, outage(busy, tenant=tenant))) <= OF_A_LOOKUP * looked_at + BESIDE
