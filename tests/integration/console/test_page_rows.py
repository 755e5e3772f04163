"""The rows of the log, of the tail and of a transaction name their records and say what changed."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.console import Console
from tests.integration.console.browsing import Browser, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.hooks import endpoint
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
for _table in ("orders", "wide"):
    CONFIG.audit.table(f"public.{_table}")
CONFIG.audit.table("public.product", title="name", redact=["cost"])
CONFIG.audit.enrich("public.product", "UPDATE", severity="critical", when={"changed": ["price"]})
CONFIG.webhooks.event("order.paid")
COLUMNS = 200
DDL = f"""
create table product (id int primary key, name text, price numeric, cost numeric, seen_at timestamptz, note text);
create table orders (id int primary key, total numeric, status text);
create table wide (id int primary key, {", ".join(f"c{number} text" for number in range(COLUMNS))});
"""


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        endpoint(conninfo, CONFIG, "https://hooks.example/in")
        with psycopg.connect(conninfo) as conn:
            _act(
                conn,
                "insert into product values (6, 'Ridge tent', 249, 120, '2026-01-31 12:00', null)",
                "insert into orders values (900, 49.90, 'placed')",
            )
            _act(
                conn,
                "update orders set status = 'paid'",
                "update product set price = 1, cost = 2, note = '<b>'",
                "select svc.send('order.paid', '{\"id\": 900, \"total\": 49.90}')",
            )
            values = ", ".join(f"'v{number}'" for number in range(COLUMNS))
            _act(conn, f"insert into wide values (1, {values})")
            _act(conn, "update wide set " + ", ".join(f"c{number} = 'w'" for number in range(COLUMNS)))
        yield conninfo


def _act(conn: psycopg.Connection[Any], *statements: str) -> None:
    with conn.transaction(), audit.actor(conn, "mara"):
        for statement in statements:
            conn.execute(statement)


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def rows(page: httpx.Response) -> list[str]:
    """The texts of the rows of the page's first table."""
    table = page.text.partition("<tbody>")[2].partition("</tbody>")[0]
    texts = (unescape(re.sub("<[^>]+>", " ", row)) for row in table.split("<tr")[1:])
    return [" ".join(text.partition(">")[2].split()) for text in texts]


@pytest.mark.parametrize("page", ["/audit?view=rows&resource=orders", "/tail?resource=orders&after=now"])
def test_a_row_has_the_values_of_its_change_and_no_table_twice(reader: Browser, page: str) -> None:
    changed, created = rows(reader.get(page))[:2] if "audit" in page else rows(reader.get("/tail?resource=orders"))[:2]
    assert changed.startswith("Changed status placed paid orders 900")
    assert created.startswith("Created total 49.90 status placed orders 900")


def test_a_row_names_its_record_and_shows_neither_times_nor_what_is_redacted(reader: Browser) -> None:
    changed, created = rows(reader.get("/audit?view=rows&resource=product"))
    assert created.startswith("Created price 249 product Ridge tent")
    assert "2026-01-31" not in created
    assert "120" not in created
    assert "and 1 field more product Ridge tent" in changed


def test_a_name_stands_wherever_a_record_does(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        updates = conn.execute(
            "select table_name, id::text, xact_id::text from svc.audit_logs where operation = 'UPDATE'"
        ).fetchall()
        [(delivery,)] = conn.execute("select id::text from svc.webhook_deliveries").fetchall()
    found = {table: (entry, xact) for table, entry, xact in updates}
    (entry, xact), (other, _) = found["public.product"], found["public.orders"]
    record = "/audit/records/public.product/6"
    for address in (
        "/overview?window=24h",
        "/audit",
        "/audit?view=rows",
        f"/audit/entries/{entry}",
        f"/audit/entries/{other}",
        f"/audit/transactions/{xact}",
        record,
        f"{record}/tracks",
        f"{record}/related",
        f"{record}/as-of",
        f"/deliveries/{delivery}",
    ):
        page = reader.get(address)
        assert page.status_code == 200, address
        assert "Ridge tent" in page.text.partition("<main")[2], address


def test_a_record_of_200_columns_is_a_page_that_can_be_read(reader: Browser) -> None:
    for address in ("/audit?resource=wide", "/audit?view=rows&resource=wide", "/audit/records/public.wide/1"):
        page = reader.get(address)
        assert page.status_code == 200, address
        assert len(page.content) < 250 * 1024, address
    assert f"<summary>{COLUMNS + 1 - 24} fields more</summary>" in page.text, "what it is now is folded after 24 fields"
    [changed, _] = rows(reader.get("/audit?view=rows&resource=wide"))
    assert "Changed c0 v0 w c1 v1 w and 198 fields more" in changed
