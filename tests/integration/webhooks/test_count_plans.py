"""Numbers beside the lists of webhooks have a bound in pages of PostgreSQL, whatever the planner knows.

One tenant has nine of ten deliveries, and nearly all that waits; thousands of others have an endpoint each.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg
import pytest
from psycopg import AsyncConnection

from svc_pg import webhooks
from svc_pg.console.built_in import webhook_bulk
from svc_pg.console.built_in.tenant_use import most_counted, use_of
from svc_pg.database import stretches
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_rows import STATUSES
from tests.benchmarks.week import Week
from tests.support.long_log import STATES, apages, know, pages
from tests.support.postgres import new_database

DELIVERIES: Final = 30_000
ENDPOINTS: Final = 3_000
WAITING: Final = 4_000
OF_A_COUNT: Final = 14_000
"""The most pages of the numbers above a list: those of 2,000 deliveries that lead to their messages, and more."""
OF_A_LIST: Final = 1_000
"""Those of 50 deliveries, after what waits was sorted."""
OF_A_DELIVERY: Final = 1.5
"""Those of a delivery in the statistics of an endpoint; before PostgreSQL 17 each attempt is looked up apart."""
OF_A_LOOKUP: Final = 4

Wanted = Callable[[str], DeliveryQuery]


@pytest.fixture(scope="module", params=STATES)
def conninfo(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[str]:
    week = Week(DELIVERIES, ENDPOINTS, have_all_tenants=True, busy_tenths=9)
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            week.grow(conn, parts=100)
            webhooks.send_many(conn, "order.placed", [{}] * WAITING, tenant="tenant-1")
            know(conn, request.param)
        yield conninfo


@pytest.fixture
def busy(conninfo: str) -> str:
    with psycopg.connect(conninfo) as conn:
        found = conn.execute("select id::text from svc.webhook_endpoints where description = 'Partner 1'").fetchall()
        return str(found[0][0])


def own(tenant: str) -> DeliveryQuery:
    return delivery_queries.query().to_endpoints_of(tenant)


COUNTED: Final[dict[str, Wanted]] = {
    "all": lambda _: delivery_queries.query(),
    "a tenant": lambda _: delivery_queries.query().tenant("tenant-1"),
    "another tenant": lambda _: delivery_queries.query().tenant("tenant-10"),
    "an event": lambda _: delivery_queries.query().event("order.paid"),
    "an event of a tenant": lambda _: delivery_queries.query().tenant("tenant-1").event("order.paid"),
    "a rare event of a time": lambda _: delivery_queries.query().since("30d").event("nothing"),
    "a tenant in a time": lambda _: delivery_queries.query().since("30d").tenant("tenant-10"),
    "an endpoint": lambda endpoint: delivery_queries.query().endpoint(endpoint),
    "a tenant's session": lambda _: own("tenant-1"),
    "another one's session": lambda _: own("tenant-10"),
    "an event of a session": lambda _: own("tenant-1").event("order.paid"),
    "a rare event of a session": lambda _: own("tenant-1").event("nothing"),
    "its endpoint": lambda endpoint: own("tenant-1").endpoint(endpoint),
}


@pytest.mark.parametrize("wanted", COUNTED.values(), ids=COUNTED)
def test_the_numbers_above_a_list_are_bounded(conninfo: str, busy: str, wanted: Wanted) -> None:
    async def count(conn: AsyncConnection[Any]) -> None:
        await webhook_bulk.counts(conn, wanted(busy))

    assert asyncio.run(apages(conninfo, count)) <= OF_A_COUNT


@pytest.mark.parametrize("wanted", COUNTED.values(), ids=COUNTED)
def test_the_numbers_above_a_list_are_those_of_the_list_or_less(conninfo: str, busy: str, wanted: Wanted) -> None:
    text = "select count(*) from svc.webhook_deliveries d{}"

    async def count() -> None:
        async with await AsyncConnection.connect(conninfo) as conn:
            found = await webhook_bulk.counts(conn, wanted(busy))
            assert [each.status for each in found] == list(STATUSES)
            for each in found:
                of_status = wanted(busy).status(each.status).filter
                [[number]] = await (
                    await conn.execute(text.format(of_status.clause).encode(), of_status.params)
                ).fetchall()
                if each.is_complete:
                    assert each.count == number
                else:
                    assert each.count is None or each.count <= number

    asyncio.run(count())


def test_the_numbers_of_a_tenant_with_few_deliveries_are_exact(conninfo: str) -> None:
    async def count() -> None:
        async with await AsyncConnection.connect(conninfo) as conn:
            for wanted in (own("tenant-10"), delivery_queries.query().tenant("tenant-10")):
                found = await webhook_bulk.counts(conn, wanted)
                assert all(each.is_complete for each in found)
                assert sum(each.count or 0 for each in found) > 0

    asyncio.run(count())


@pytest.mark.parametrize("wanted", [own("tenant-1"), own("tenant-10"), delivery_queries.query()])
def test_a_page_of_what_waits_looks_up_its_own_deliveries(conninfo: str, wanted: DeliveryQuery) -> None:
    waiting = wanted.status("pending").limit(50)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        page = waiting.list(conn)
        assert {each.status for each in page} <= {"pending"}
        assert pages(conn, lambda: waiting.list(conn)) <= OF_A_LIST
        if page.next_cursor is not None:
            cursor = page.next_cursor
            assert pages(conn, lambda: waiting.after(cursor).list(conn)) <= OF_A_LIST


def test_what_waits_for_a_tenant_is_found_while_much_waits_for_another(
    conninfo: str, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", WAITING // 2)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        webhooks.send_many(conn, "order.placed", [{}] * 3, tenant="tenant-10")
        waiting = own("tenant-10").status("pending").limit(50)
        page = waiting.list(conn)
        assert (len(page.data) >= 3, page.next_cursor) == (True, None)
        assert pages(conn, lambda: waiting.list(conn)) <= OF_A_LIST
        of_busy = own("tenant-10").endpoint(busy).status("pending")  # of another
        assert of_busy.list(conn).data == []
        assert pages(conn, lambda: of_busy.list(conn)) <= OF_A_LIST


def test_a_page_of_a_tenant_does_not_read_the_endpoints_of_others(conninfo: str) -> None:
    wanted = own("tenant-10").limit(50)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        [(number,)] = conn.execute("select pg_relation_size('svc.webhook_endpoints') / 8192").fetchall()
        assert pages(conn, lambda: wanted.list(conn)) < number


def test_the_use_of_many_tenants_is_bounded(conninfo: str) -> None:
    tenants = [f"tenant-{number}" for number in (*range(1, 51), *[1] * 50)]

    async def use(conn: AsyncConnection[Any]) -> None:
        found = await use_of(conn, tenants, has_webhooks=True)
        assert found.data[0].messages == most_counted(len(tenants))

    assert asyncio.run(apages(conninfo, use)) <= 5_000 + 5 * len(tenants) + OF_A_LIST


def test_the_statistics_of_an_endpoint_read_neighbours_together(conninfo: str, busy: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        found = webhooks.endpoints.stats(conn, busy)
        looked_at = sum(found.deliveries.values())
        of_one = OF_A_DELIVERY if conn.info.server_version >= 170_000 else OF_A_LOOKUP
        touched = pages(conn, lambda: webhooks.endpoints.stats(conn, busy))
    assert looked_at > 3_000
    assert touched <= of_one * looked_at + OF_A_LIST
