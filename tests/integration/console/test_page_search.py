"""One field finds what has an id or a name, and says what each reading is."""

from collections.abc import Iterator
from html import unescape
from urllib.parse import quote

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, audit, schema, webhooks
from svc_pg.console import Console, register_tenants
from tests.integration.console.browsing import HOSTILE, OWN, Browser, Document, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database

CONFIG = Config.model_validate(
    {
        "audit": {"tables": [{"name": "shop.orders"}, {"name": "public.orders"}]},
        "webhooks": {"events": {"order.created": {}}},
    }
)

OPENED = "opened"
KEYS = settings(encryption_keys=SecretStr(KEYS_TEXT))


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo, psycopg.connect(conninfo) as conn:
        conn.execute("""create schema shop; create table shop.orders (id text primary key);
                        create table public.orders (id int primary key)""")
        conn.commit()
        schema.install(conn, CONFIG)
        conn.commit()
        with audit.actor(conn, "mara"):
            conn.execute("insert into shop.orders values ('7'), ('a b/c')")
            conn.execute("insert into public.orders values (7)")
        conn.execute("insert into svc.tenants (name) values ('Acme Europe')")
        conn.execute("insert into svc.tenants (name) values ('<b>Hostile</b>')")
        conn.commit()
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def found(browser: Browser, text: str) -> dict[str, str]:
    """The links of the results, each with the text of its row's kind; an only one is opened."""
    page = browser.ask("GET", f"/search?{httpx.QueryParams(q=text)}", **OWN)
    if page.status_code == 303:
        return {page.headers["location"].partition("/ui")[2]: OPENED}
    assert page.status_code == 200
    assert_strict(page.text)
    rows = page.text.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]
    return {
        unescape(row.partition('class="main" href="')[2].partition('"')[0]).partition("/ui")[2]: row.partition(
            "</svg>"
        )[2].partition("<")[0]
        for row in rows
    }


def test_a_table_and_a_key_lead_to_records_with_entries(reader: Browser) -> None:
    assert found(reader, "orders 7") == {
        "/audit/records/public.orders/7": "Record",
        "/audit/records/shop.orders/7": "Record",
    }
    assert found(reader, "shop.orders/a b/c") == {"/audit/records/shop.orders/a%20b%2Fc": OPENED}
    assert found(reader, "ORDERS#8") == {}
    assert found(reader, "order 7") == found(reader, "orders 7"), "the singular of a table's name"


def test_a_key_alone_that_several_things_have_is_a_question(reader: Browser) -> None:
    both = found(reader, "7")
    assert {
        "/audit/records/public.orders/7": "Record",
        "/audit/records/shop.orders/7": "Record",
    }.items() <= both.items()


def test_parts_of_names_lead_to_tables_and_tenants(reader: Browser) -> None:
    assert found(reader, "Orders") == {
        "/audit?resource=public.orders": "Table",
        "/audit?resource=shop.orders": "Table",
    }
    [address] = found(reader, "europe")
    assert reader.get(address).text.count("<bdi>Acme Europe</bdi></h1>") == 1


def test_ids_lead_to_what_has_them(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        [entry] = (
            conn.execute("select id::text from svc.audit_logs where table_name = 'public.orders'").fetchone() or ()
        )
        [tenant] = conn.execute("select id::text from svc.tenants where name like 'Acme%'").fetchone() or ()
    assert found(reader, entry) == {f"/audit/entries/{entry}": OPENED}
    assert found(reader, f" {tenant} ") == {f"/tenants/{tenant}": OPENED}
    assert found(reader, "mara") == {"/audit?actor=mara": OPENED}
    assert found(reader, "MAR") == {"/audit?actor=mara": OPENED}, "a part of an actor"


def test_what_support_types_leads_to_changes(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute(
            "select svc.capture_log('files', 'UPDATE', label => 'file renamed', severity => 'critical',"
            ' after_data => \'{"name": "tide table"}\')'
        )
        [transaction] = conn.execute("select txid_current()::text").fetchone() or ()
    assert found(reader, "Critical") == {"/audit?severity=critical": OPENED}
    assert found(reader, "renam") == {"/audit?label=file+renamed": OPENED}
    assert found(reader, transaction)[f"/audit?transaction={transaction}"] in (OPENED, "Transaction")
    assert found(reader, "tide table") == {"/audit?text=tide+table": OPENED}


def test_endpoints_and_deliveries_are_found_by_url_and_id(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        endpoint = webhooks.endpoints.create(
            conn, url="https://crm.example/in?token=secret", events=["*"], settings=KEYS
        )
        webhooks.send(conn, "order.created", {"id": 7})
        conn.commit()
        found_ids = conn.execute("select id::text, message_id::text from svc.webhook_deliveries").fetchone()
    delivery, message = found_ids or ("", "")
    assert found(reader, "crm.example") == {f"/endpoints/{endpoint.id}": OPENED}
    assert found(reader, delivery) == {f"/deliveries/{delivery}": OPENED}
    assert found(reader, message) == {f"/deliveries?messageId={message}": OPENED}
    assert found(reader, "order.cr") == {"/events/order.created": OPENED}
    page = reader.get("/search?q=e").text
    assert "crm.example" in page
    assert "secret" not in page
    assert found(reader, "token=secret") == {}


@pytest.mark.parametrize("text", [*HOSTILE, "%", "'", "\\", "x" * 501, "0" * 19, "orders " + "9" * 400, "\x00"])
def test_whatever_is_typed_is_a_text(reader: Browser, text: str) -> None:
    page = reader.get(f"/search?{httpx.QueryParams(q=text)}")
    assert page.status_code == 200
    assert_strict(page.text)
    assert "Nothing has this name" in page.text
    [typed] = [tag for _, tag in Document(page.text).tags if tag.get("type") == "search"]
    assert typed["value"] == text


def test_an_empty_search_says_what_to_look_for(reader: Browser) -> None:
    assert "What do you look for?" in reader.get("/search").text


@pytest.mark.parametrize("last", [*HOSTILE, "x" * 900])
def test_an_address_of_no_page_leads_to_a_search_for_its_end(reader: Browser, last: str) -> None:
    page = reader.get(f"/webhooks/deliveries/{quote(last, safe='')}")
    assert page.status_code == 404
    assert_strict(page.text)
    fields = [tag for _, tag in Document(page.text).tags if tag.get("type") == "search"]
    assert [field.get("value") for field in fields] == [None, last[:200]]
