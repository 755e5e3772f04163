"""A page of deliveries reads little more than it shows, and pages show each delivery once."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database import stretches
from svc_pg.database.by_indexes import by_indexes
from svc_pg.database.performing import run
from svc_pg.database.query import scalar
from svc_pg.errors import QueryError
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.deliveries.caused_deliveries import MOST_DELIVERIES, MOST_MESSAGES, acaused_by
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_rows import DeliveryCount
from tests.support.hooks import endpoint, hooks_config
from tests.support.plans import first_query, page_query, rows_read
from tests.support.postgres import Prepare
from tests.support.queue import add_delivered

CONFIG = hooks_config("order.created", "order.paid", "order.read", "order.gone")
COMMON: Final = 20_000
RARE: Final = 20
SENT: Final = 3_000
FEW: Final = 70
"""The rows that an incremental sort takes before it gives the first."""

Connection = psycopg.Connection[Any]


def fill(conninfo: str) -> None:
    """Of rare events and states a few deliveries, older than very many others."""
    for _ in range(2):
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        webhooks.send_many(conn, "order.paid", [{"id": number} for number in range(RARE)])
        webhooks.send(conn, "order.created", {})
        webhooks.deliveries.cancel_all(conn, event="order.created")
        with conn.transaction():
            webhooks.send_many(conn, "order.paid", [{"id": number} for number in range(RARE)])
        webhooks.send_many(conn, "order.read", [{}] * RARE, tenant="acme")
        webhooks.send_many(conn, "order.read", [{}] * (SENT - RARE), tenant="big")
        add_delivered(conn, COMMON)
        conn.execute("vacuum analyze")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return fill


def read_by(conn: Connection, query: DeliveryQuery) -> int:
    """The number of deliveries that a page of it reads."""
    with by_indexes(conn):
        return rows_read(conn, page_query(query), "webhook_deliveries")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (deliveries.matching(event="order.paid"), 4 * RARE),
        (deliveries.matching(event="order.gone"), 0),
        (deliveries.matching(tenant="acme"), 2 * RARE),
        (deliveries.matching(tenant="big"), 100),
        (deliveries.matching(tenant="gone"), 0),
        (deliveries.matching(status="canceled"), 2),
        (deliveries.matching(status="failed"), 0),
        (deliveries.matching(status="delivered"), 100),
        (deliveries.matching(), 100),
    ],
)
def test_a_page_reads_what_it_shows(conn: Connection, query: DeliveryQuery, found: int) -> None:
    assert len(query.list(conn).data) == found
    assert read_by(conn, query) <= found + FEW


def test_a_page_of_old_deliveries_reads_none_of_the_later_ones(conn: Connection) -> None:
    conn.execute(
        "insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, status, next_attempt_at,"
        "                                    finished_at, max_attempts, created_at, updated_at)"
        " select overlay(svc.uuid7_at(x.at)::text placing to_char(n, 'FM000000000000') from 25)::uuid,"
        "        gen_random_uuid(), gen_random_uuid(), 'order.paid', 'delivered', null, x.at, 1, x.at, x.at"
        "   from generate_series(1, 20) n "
        "  cross join lateral (select now() - interval '29 d' - n * interval '1 s') x(at)"
    )
    conn.execute("analyze svc.webhook_deliveries")
    for until in ("28d", "29d"):
        query = deliveries.matching(until=until)
        assert len(query.list(conn).data) == 20
        assert read_by(conn, query) <= 20 + 10


def test_a_later_page_of_an_event_reads_no_more_than_the_first(conn: Connection) -> None:
    first = deliveries.matching(event="order.read").limit(1000)
    page = first.list(conn)
    for _ in range(4):  # of six; near the end it is cheap to read what is left
        assert page.next_cursor is not None
        later = first.after(page.next_cursor)
        assert read_by(conn, later.limit(5)) <= 5 + FEW
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


def walked(conn: Connection, query: DeliveryQuery) -> list[str]:
    """The ids of all deliveries of a list, whose pages may be of stretches without any."""
    page = query.list(conn)
    found = [each.id for each in page]
    while page.next_cursor is not None:
        page = query.after(page.next_cursor).list(conn)
        found += [each.id for each in page]
    return found


def test_an_event_and_another_condition_find_the_same_in_any_order(conn: Connection) -> None:
    key = scalar(conn, "select endpoint_id::text from svc.webhook_deliveries where event_name = 'order.paid' limit 1")
    one = walked(conn, deliveries.query().event("order.paid").endpoint(key))
    other = walked(conn, deliveries.query().endpoint(key).event("order.paid"))
    assert one == other
    assert len(one) == 2 * RARE
    assert len(walked(conn, deliveries.query().event("order.paid").since("1h"))) == 4 * RARE
    assert len(deliveries.query().event("order.paid").event("order.created").list(conn).data) == 0


def test_a_transaction_finds_what_it_sent_and_reads_no_more(conn: Connection) -> None:
    page = deliveries.matching(event="order.paid").limit(1).list(conn)
    xact_id = scalar(conn, "select xact_id from svc.webhook_messages where id = %s", (page.data[0].message_id,))
    query = deliveries.matching(transaction=xact_id)
    assert len(query.list(conn).data) == 2 * RARE
    assert read_by(conn, query) <= 2 * RARE + 10
    assert deliveries.matching(transaction=1).list(conn).data == []
    conn.execute(  # as of a time when one transaction had sent all
        "update pg_statistic set stadistinct = 1, stakind1 = 0, stakind2 = 0, stakind3 = 0, stakind4 = 0, stakind5 = 0"
        "  from pg_attribute a where a.attrelid = starelid and a.attnum = staattnum and a.attname = 'xact_id'"
        "   and starelid = 'svc.webhook_messages'::regclass"
    )
    assert rows_read(conn, page_query(query), "webhook_deliveries") <= 2 * RARE + 10
    assert rows_read(conn, first_query(query.retry(dry_run=True)), "webhook_deliveries") <= 3 * 2 * RARE + 10


def test_pages_of_a_tenant_show_each_delivery_once(conn: Connection) -> None:
    query = deliveries.matching(tenant="acme").limit(7)
    page = query.list(conn)
    shown = list(page)
    while page.next_cursor is not None:
        page = query.after(page.next_cursor).list(conn)
        shown += page
    assert len({delivery.id for delivery in shown}) == len(shown) == 2 * RARE


@pytest.mark.parametrize(
    ("which", "count"),
    [
        ({"event": "order.paid"}, 4 * RARE),
        ({"tenant": "big"}, 2 * (SENT - RARE)),
        ({"status": "canceled"}, 2),
        ({"tenant": "acme", "event": "order.read", "status": "pending"}, 2 * RARE),
        ({"ids": []}, 0),
    ],
)
def test_deliveries_are_counted_up_to_a_bound(conn: Connection, which: Any, count: int) -> None:
    assert run(conn, deliveries.matching(**which).count()) == DeliveryCount(count, is_complete=True)
    if count > 1:
        assert run(conn, deliveries.matching(**which).count(most=1)) == DeliveryCount(1, is_complete=False)


def test_a_count_stops_at_its_bound(conn: Connection) -> None:
    assert webhooks.deliveries.count(conn, status="delivered") == DeliveryCount(10_000, is_complete=False)
    assert run(conn, deliveries.matching(tenant="acme").count(status="delivered")) == DeliveryCount(0, is_complete=True)
    waiting = deliveries.matching(tenant="big").count(status="pending", most=5)
    assert run(conn, waiting) == DeliveryCount(5, is_complete=False)


def test_a_count_of_what_is_rare_tells_that_it_looked_at_a_part(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", 100)
    rare = deliveries.matching(event="order.paid", status="delivered")
    assert run(conn, rare.count(most=50)) == DeliveryCount(0, is_complete=False)


def test_ids_choose_deliveries_and_are_bounded(conn: Connection) -> None:
    ids = [delivery.id for delivery in deliveries.matching(event="order.paid").list(conn)][:3]
    assert {found.id for found in deliveries.matching(ids=ids).list(conn)} == set(ids)
    assert webhooks.deliveries.cancel_all(conn, ids=ids, dry_run=True).count == 3
    with pytest.raises(QueryError, match="too many"):
        deliveries.matching(ids=ids * 4000)
    with pytest.raises(QueryError, match="is not an id"):
        deliveries.matching(ids=["x"])


def test_a_cursor_of_another_list_is_refused(conn: Connection) -> None:
    page = deliveries.matching(event="order.paid").limit(1).list(conn)
    assert page.next_cursor is not None
    with pytest.raises(QueryError, match="is not a cursor"):
        deliveries.matching(status="pending").after(page.next_cursor)


_READ = """
select sum(seq_tup_read + idx_tup_fetch)::int
  from pg_stat_xact_user_tables where relid in ('svc.webhook_messages'::regclass, 'svc.webhook_deliveries'::regclass)
"""


@pytest.mark.parametrize("known", ["right", "of few transactions", "none yet"])
def test_the_deliveries_of_a_large_transaction_are_found_without_reading_its_messages(
    conn: Connection, known: str
) -> None:
    [(newest,)] = conn.execute("select max(xact_id) from svc.webhook_messages")
    [(largest, sent)] = conn.execute(
        "select xact_id, count(*) from svc.webhook_messages group by 1 order by 2 desc limit 1"
    )
    assert sent > 2 * MOST_MESSAGES
    changes = {
        "right": "analyze svc.webhook_messages",
        "of few transactions": "update pg_statistic set stadistinct = 1 where starelid = %s::regclass",
        "none yet": "with gone as (delete from pg_statistic where starelid = %s::regclass)"
        " update pg_class set reltuples = -1, relpages = 0 where oid = %s::regclass",
    }

    async def looked_up(transactions: Sequence[int]) -> tuple[int, bool, int]:
        """The number of deliveries, if they are all, and the number of rows that were read for them."""
        async with await psycopg.AsyncConnection.connect(conn.info.dsn) as other:
            await other.execute(changes[known].replace("%s", "'svc.webhook_messages'").encode())
            [before] = await (await other.execute(_READ)).fetchall()
            found = await acaused_by(other, transactions, tenant=None)
            [after] = await (await other.execute(_READ)).fetchall()
            await other.rollback()
        is_complete = all(each.is_complete for each in found.values())
        return sum(len(each.deliveries) for each in found.values()), is_complete, after[0] - before[0]

    for transactions, most in (([largest], MOST_MESSAGES), (range(newest + 1, newest + 101), 0)):
        found, is_complete, read = asyncio.run(looked_up(transactions))
        assert (found, is_complete) == (min(MOST_DELIVERIES, most), not most)
        assert read <= most + 2 * MOST_DELIVERIES
