"""The list of transactions: each once, with its first entries; and the deliveries of many at once."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg import Config, audit, webhooks
from svc_pg.console import Console, register_tenants
from svc_pg.database.pagination import encode
from tests.integration.console.browsing import assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.hooks import endpoint
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
for table in ("public.orders", "public.line", "public.product"):
    CONFIG.audit.table(table, redact={"card": "remove"} if table == "public.orders" else {})
CONFIG.audit.enrich("public.product", "UPDATE", label="price changed", severity="high", when={"changed": ["price"]})
CONFIG.webhooks.event("order.placed")
OWN = ["orders", "line", "product"]
DDL = """
create table product (id int primary key, name text, price numeric, stock int);
create table orders (id int primary key, status text, total numeric, card text, customer_id int);
create table line (order_id int, position int, product_id int, primary key (order_id, position));
"""


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        endpoint(conninfo, CONFIG, "https://hooks.example/in", tenant="acme")
        with psycopg.connect(conninfo) as conn, psycopg.connect(conninfo) as other:
            with conn.transaction(), audit.actor(conn, "import"):
                conn.execute("insert into product select n, 'Tent ' || n, 249, 40 from generate_series(1, 230) n")
            for order in range(1, 4):
                with conn.transaction(), audit.actor(conn, "checkout", tenant="acme"):
                    conn.execute("insert into orders values (%s, 'placed', 498, '4242424242424242', 7)", (order,))
                    conn.execute("insert into line values (%s, 1, 1), (%s, 2, 2)", (order, order))
                    conn.execute("update product set stock = stock - 1 where id = 1")
                    webhooks.send(conn, "order.placed", {"id": order}, tenant="acme")
            with other.transaction(), audit.actor(other, "slow", tenant="other"):  # around another one
                other.execute("update orders set status = 'paid' where id = 1")
                with conn.transaction(), audit.actor(conn, "mara"):
                    conn.execute("update product set price = 1 where id = 2")
                other.execute("update orders set status = 'paid' where id = 2")
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        for tenant in ("acme", "other"):
            client.post("/tenant/tenants", headers=bearer("admin"), json={"name": tenant, "id": tenant})
        yield client


@pytest.fixture(scope="module")
def writer() -> dict[str, str]:
    return bearer("write")


def listed(client: httpx.Client, headers: dict[str, str], **query: Any) -> list[dict[str, Any]]:
    """All transactions, page by page."""
    found: list[dict[str, Any]] = []
    position: dict[str, str] = {}
    while True:
        page = client.get("/audit/transactions", headers=headers, params={**query, **position})
        assert page.status_code == 200, page.text
        found += page.json()["data"]
        if page.json()["nextCursor"] is None:
            return found
        position = {"cursor": page.json()["nextCursor"]}


def test_each_transaction_comes_once_newest_first_with_its_first_entries(
    client: httpx.Client, writer: dict[str, str]
) -> None:
    found = listed(client, writer, resource=OWN)
    slow, price, *orders, products = found
    assert [each["recordId"] for each in slow["entries"]] == ["1", "2"]
    assert [each["actorId"] for each in price["entries"]] == ["mara"]
    assert [(each["count"], each["isComplete"]) for each in orders] == [(4, True)] * 3
    names = [each["tableName"].removeprefix("public.") for each in orders[0]["entries"]]
    assert names == ["orders", "line", "line", "product"]
    assert (products["count"], products["isComplete"], len(products["entries"])) == (100, False, 10)
    assert products["timestamp"] >= products["entries"][-1]["timestamp"]


def test_filters_and_searches_select_the_entries_that_make_a_transaction(
    client: httpx.Client, writer: dict[str, str]
) -> None:
    changed = listed(client, writer, resource="product", operation="UPDATE")
    assert [each["count"] for each in changed] == [1] * 4
    assert {each["tableName"] for one in changed for each in one["entries"]} == {"public.product"}
    assert len(listed(client, writer, text="paid")) == 1
    assert listed(client, writer, actor="nobody") == []
    [one] = listed(client, writer, record="1", resource="orders", operation="UPDATE")
    assert one["entries"][0]["actorId"] == "slow"
    [all_of_it] = listed(client, writer, transaction=one["xactId"])
    assert all_of_it["count"] == 2


def test_a_page_of_a_search_ends_where_a_list_ends_its_looking(
    client: httpx.Client, writer: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.audit.read.search.MAX_ENTRIES", 60)
    first = client.get("/audit/transactions", headers=writer, params={"text": "import"}).json()
    second = client.get("/audit/transactions", headers=writer, params={"text": "import", "cursor": first["nextCursor"]})
    assert (first["data"], second.json()["data"], second.json()["nextCursor"] is None) == ([], [], False)
    assert len(listed(client, writer, text="paid")) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_each_entry_is_on_one_page(
    client: httpx.Client, writer: dict[str, str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.console.built_in.transaction_pages._READ", 7)
    monkeypatch.setattr("svc_pg.console.built_in.transaction_pages._READS", 3)
    monkeypatch.setattr("svc_pg.console.built_in.transaction_pages.MOST_SHOWN", 1000)
    found = listed(client, writer, resource=OWN, limit=size)
    ids = [each["id"] for one in found for each in one["entries"]]
    assert (len(ids), len({*ids})) == (245, 245)
    assert sum(change["count"] for one in found for change in one["changes"]) == 245


def test_a_transaction_of_very_many_entries_is_passed_over(
    client: httpx.Client, writer: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.console.built_in.transaction_pages.MOST_COUNTED", 4)
    monkeypatch.setattr("svc_pg.console.built_in.transaction_pages._READ", 10)
    found = listed(client, writer, resource=OWN, limit=100)
    assert [(each["count"], each["isComplete"]) for each in found[-2:]] == [(4, False), (4, False)]
    assert len(found) == 6


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "101"},
        {"cursor": "x"},
        {"cursor": encode(("2026-01-01T00:00:00", "1"))},
        {"cursor": encode(("2026-01-01T00:00:00+00:00", str(2**63)))},
        {"before": "x"},
        {"order": "oldest"},
    ],
)
def test_what_is_no_page_is_refused(client: httpx.Client, writer: dict[str, str], query: dict[str, str]) -> None:
    assert_problem(client.get("/audit/transactions", headers=writer, params=query), 422, "invalid_parameter")


def test_a_tenant_sees_its_own_entries_and_deliveries_alone(client: httpx.Client, writer: dict[str, str]) -> None:
    made = {
        tenant: client.post(
            "/account/tokens",
            headers=bearer("admin"),
            json={"name": f"of-{tenant}", "permission": "read", "tenant": tenant},
        ).json()
        for tenant in ("acme", "other")
    }
    acme, other = ({"Authorization": f"Bearer {made[tenant]['token']}"} for tenant in ("acme", "other"))
    of_acme = listed(client, acme, limit=1)
    assert [each["count"] for each in of_acme if each["entries"][0]["actorId"] == "checkout"] == [4] * 3
    assert {each["tenantId"] for one in of_acme for each in one["entries"]} == {"acme"}
    cursor = client.get("/audit/transactions", headers=acme, params={"limit": 1}).json()["nextCursor"]
    stolen = client.get("/audit/transactions", headers=other, params={"cursor": cursor})
    assert_problem(stolen, 422, "invalid_parameter")
    ids = ",".join(each["xactId"] for each in of_acme)
    for headers, expected in ((writer, 3), (acme, 3), (other, 0)):
        caused = client.get("/webhooks/transactions", headers=headers, params={"ids": ids}).json()
        assert sum(len(each["deliveries"]) for each in caused) == expected


def test_the_list_goes_on_from_a_page_of_entries(client: httpx.Client, writer: dict[str, str]) -> None:
    page = client.get("/audit/entries", headers=writer, params={"limit": 4}).json()
    cursor = page["nextCursor"]
    found = client.get("/audit/transactions", headers=writer, params={"cursor": cursor, "limit": 1}).json()["data"]
    behind = client.get("/audit/entries", headers=writer, params={"cursor": cursor, "limit": 1}).json()["data"]
    assert found[0]["entries"][-1] == behind[0]


@pytest.mark.parametrize("ids", ["", "x", "1,", "-1", "1,2x", str(2**63), ",".join(map(str, range(101)))])
def test_what_names_no_transactions_is_refused(client: httpx.Client, writer: dict[str, str], ids: str) -> None:
    assert_problem(client.get("/webhooks/transactions", headers=writer, params={"ids": ids}), 422, "invalid_parameter")
    assert_problem(client.get("/webhooks/transactions", headers=writer), 422, "invalid_parameter")


def test_deliveries_of_many_transactions_come_apart(client: httpx.Client, writer: dict[str, str]) -> None:
    orders = [each["xactId"] for each in listed(client, writer, actor="checkout")]
    caused = client.get("/webhooks/transactions", headers=writer, params={"ids": ",".join(["1", *orders])}).json()
    assert [each["xactId"] for each in caused] == ["1", *orders]
    assert [len(each["deliveries"]) for each in caused] == [0, 1, 1, 1]
    assert caused[1]["deliveries"][0]["eventName"] == "order.placed"
    twice = client.get("/webhooks/transactions", headers=writer, params={"ids": f"{orders[0]},0{orders[0]}"}).json()
    assert [len(each["deliveries"]) for each in twice] == [1]


def test_the_page_says_what_each_transaction_did_and_whom_it_told(client: httpx.Client) -> None:
    reader = signed_in(client, "read")
    page = reader.get(f"/audit?resource={'&resource='.join(OWN)}")
    assert_strict(page.text)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", unescape(page.text)))
    assert "checkout created orders 3" in text
    assert "total 498" in text
    assert "product Tent 1 stock 38 37" in text
    assert "mara changed product Tent 2 price changed" in text
    assert "price 249 1" in text
    assert "created 2 rows of line" in text
    assert "import created 100 or more rows of product" in text
    assert "told Pending: hooks.example" in text
    assert "4242424242424242" not in page.text
    rows = reader.get("/audit?resource=product&view=rows")
    assert "Price changed" in rows.text or "price changed" in rows.text
    assert reader.get("/audit?view=x").status_code == 422
