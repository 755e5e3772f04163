"""A page of deliveries reads little more than it shows, and pages show each delivery once."""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.errors import QueryError
from svc_pg.query import scalar
from svc_pg.webhooks import delivery_queries as deliveries
from svc_pg.webhooks.delivery_queries import DeliveryQuery
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare
from tests.support.queue import add_delivered

CONFIG = hooks_config("order.created", "order.paid", "order.read", "order.gone")
COMMON: Final = 20_000
RARE: Final = 20
SENT: Final = 3_000

Connection = psycopg.Connection[Any]


def fill(conninfo: str) -> None:
    """Of rare events and states a few deliveries, older than very many others."""
    for _ in range(2):
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        webhooks.send_many(conn, "order.paid", [{"id": number} for number in range(RARE)])
        webhooks.send(conn, "order.created", {})
        webhooks.deliveries.cancel_all(conn, event="order.created")
        webhooks.send_many(conn, "order.paid", [{"id": number} for number in range(RARE)])
        webhooks.send_many(conn, "order.read", [{}] * SENT)
        add_delivered(conn, COMMON)
        conn.execute("vacuum analyze")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return fill


@pytest.fixture
def conn(database: str) -> Iterator[Connection]:
    with psycopg.connect(database) as conn:
        yield conn


def read_by(conn: Connection, query: DeliveryQuery) -> int:
    """How many deliveries a page of it reads, parallel workers included."""
    text = query._query()
    [(plan,)] = conn.execute(f"explain (analyze, format json, timing off) {text.text}".encode(), text.params)
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes(plan[0]["Plan"])
        if node.get("Relation Name") == "webhook_deliveries"
    )


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (deliveries.matching(event="order.paid"), 4 * RARE),
        (deliveries.matching(event="order.gone"), 0),
        (deliveries.matching(status="canceled"), 2),
        (deliveries.matching(status="failed"), 0),
        (deliveries.matching(status="delivered"), 100),
        (deliveries.matching(), 100),
    ],
)
def test_a_page_reads_what_it_shows(conn: Connection, query: DeliveryQuery, found: int) -> None:
    assert len(query.list(conn).data) == found
    assert read_by(conn, query) <= found + 10


def test_a_later_page_of_an_event_reads_no_more_than_the_first(conn: Connection) -> None:
    first = deliveries.matching(event="order.read").limit(1000)
    page = first.list(conn)
    for _ in range(4):  # of six; near the end it is cheap to read what is left
        assert page.next_cursor is not None
        later = first.after(page.next_cursor)
        assert read_by(conn, later.limit(5)) <= 5 + 10
        page = later.list(conn)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_pages_of_an_event_show_each_delivery_once_newest_first(conn: Connection, size: int) -> None:
    query = deliveries.matching(event="order.paid").limit(size)
    page = query.list(conn)
    shown = list(page)
    while page.next_cursor is not None:
        page = query.after(page.next_cursor).list(conn)
        shown += page
    assert len({delivery.id for delivery in shown}) == len(shown) == 4 * RARE
    assert {delivery.event_name for delivery in shown} == {"order.paid"}
    assert [delivery.message_id for delivery in shown] == sorted((d.message_id for d in shown), reverse=True)


def test_an_event_and_another_condition_find_the_same_in_any_order(conn: Connection) -> None:
    key = scalar(conn, "select endpoint_id::text from svc.webhook_deliveries where event_name = 'order.paid' limit 1")
    one = deliveries.query().event("order.paid").endpoint(key).list(conn)
    other = deliveries.query().endpoint(key).event("order.paid").list(conn)
    assert list(one) == list(other)
    assert len(one.data) == 2 * RARE
    assert len(deliveries.query().event("order.paid").since("1h").list(conn).data) == 4 * RARE
    assert len(deliveries.query().event("order.paid").event("order.created").list(conn).data) == 0


def test_a_cursor_of_another_list_is_refused(conn: Connection) -> None:
    page = deliveries.matching(event="order.paid").limit(1).list(conn)
    assert page.next_cursor is not None
    with pytest.raises(QueryError, match="is not a cursor"):
        deliveries.matching(status="pending").after(page.next_cursor)
