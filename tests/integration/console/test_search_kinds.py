"""Each kind of thing that support types is found, by all of it or by the half that people remember."""

import re
from collections.abc import Iterator, Mapping
from html import unescape

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, audit, schema, webhooks
from svc_pg.console import Console, register_tenants
from tests.integration.console.browsing import OWN, Browser, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database

CONFIG = Config.model_validate(
    {
        "audit": {
            "tables": [
                {
                    "name": "public.orders",
                    "enrich": [{"operation": "UPDATE", "label": "Total changed", "compliance": ["sox"]}],
                },
                {"name": "sales.invoice"},
            ]
        },
        "webhooks": {"events": {"order.refunded": {"description": "Money went back"}}},
    }
)
KEYS = settings(encryption_keys=SecretStr(KEYS_TEXT))
REQUEST = "01HXR7Q2-req"
ADDRESS = "203.0.113.77"
ENDPOINTS = 10_000

KINDS = {
    "a request's id": (REQUEST, "/audit?context=01HXR7Q2-req"),
    "an address": (ADDRESS, "/audit?context=203.0.113.77"),
    "a ticket in the context": ("call 4471", "/audit?context=call+4471"),
    "an actor": ("mara.lund@corp.example", "/audit?actor=mara.lund%40corp.example"),
    "half an actor": ("Mara.lund", "/audit?actor=mara.lund%40corp.example"),
    "a label": ("Total changed", "/audit?label=Total+changed"),
    "half a label": ("total ch", "/audit?label=Total+changed"),
    "a tag": ("sox", "/audit?compliance=sox"),
    "a severity": ("critical", "/audit?severity=critical"),
    "a value": ("marbles", "/audit?text=marbles"),
    "words of a value": ("blue marbles", "/audit?text=blue+marbles"),
    "a description": ("by fax", "/audit?text=by+fax"),
    "a table": ("invoice", "/audit?resource=sales.invoice"),
    "a table with its schema": ("sales.invoice", "/audit?resource=sales.invoice"),
    "a record": ("orders 900", "/audit/records/public.orders/900"),
    "a record of a singular": ("order 900", "/audit/records/public.orders/900"),
    "a record with a hash": ("orders#900", "/audit/records/public.orders/900"),
    "a record as its address": ("public.orders/900", "/audit/records/public.orders/900"),
    "a record key of a text": ("R-77/b", "/audit/records/sales.invoice/R-77%2Fb"),
    "an entry": ("{entry}", "/audit/entries/{entry}"),
    "a transaction": ("{transaction}", "/audit?transaction={transaction}"),
    "a delivery": ("{delivery}", "/deliveries/{delivery}"),
    "a message": ("{message}", "/deliveries?messageId={message}"),
    "an endpoint": ("{endpoint}", "/endpoints/{endpoint}"),
    "an endpoint's host": ("host77.example", "/endpoints/{endpoint}"),
    "an endpoint's path": ("/hook-77", "/endpoints/{endpoint}"),
    "an endpoint's description": ("warehouse north", "/endpoints/{endpoint}"),
    "an event": ("order.refunded", "/events/order.refunded"),
    "half an event": ("refunded", "/events/order.refunded"),
    "a tenant": ("acme europe", "/tenants/acme-eu"),
    "half a tenant": ("EUROPE", "/tenants/acme-eu"),
    "a tenant's id": ("acme-eu", "/tenants/acme-eu"),
}


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    with new_database(postgres) as conninfo, psycopg.connect(conninfo) as conn:
        conn.execute("""create schema sales; create table sales.invoice (id text primary key, number int);
                        create table public.orders (id int primary key, total int, note text)""")
        conn.commit()
        schema.install(conn, CONFIG)
        conn.commit()
        endpoint = webhooks.endpoints.create(
            conn,
            url="https://host77.example/hook-77?token=secret",
            events=["*"],
            description="Warehouse North",
            settings=KEYS,
        )
        # as an older one of very many, of which a search must not look at the first alone
        conn.execute(
            "insert into svc.webhook_endpoints (id, url, description, events, secret, status)"
            " select gen_random_uuid(), 'https://a.example/' || n, 'Customer ' || n, '{x.y}', secret, 'paused'"
            "   from svc.webhook_endpoints, generate_series(1, %s) n",
            [ENDPOINTS],
        )
        conn.execute(
            "insert into svc.webhook_endpoint_state (endpoint_id)"
            " select id from svc.webhook_endpoints on conflict do nothing"
        )
        conn.execute("insert into svc.tenants (id, name) values ('acme-eu', 'Acme Europe')")
        conn.execute("insert into svc.tenants (id, name) select 't' || n, 'A ' || n from generate_series(1, 2000) n")
        conn.commit()
        context = {"request_id": REQUEST, "ip": ADDRESS, "ticket": "call 4471"}
        with conn.transaction(), audit.actor(conn, "mara.lund@corp.example", context=context):
            conn.execute("insert into public.orders values (900, 1, 'blue marbles')")
            conn.execute("insert into sales.invoice values ('R-77/b', 900)")
            webhooks.send(conn, "order.refunded", {"id": 900})
        with conn.transaction(), audit.actor(conn, "jon"):
            conn.execute("update public.orders set total = 2")
            audit.capture_log(conn, "files", "UPDATE", severity="critical", description="sent by fax")
        found = conn.execute(
            "select d.id::text, d.message_id::text, l.id::text, l.xact_id::text from svc.webhook_deliveries d,"
            " svc.audit_logs l where l.table_name = 'sales.invoice'"
        ).fetchone()
        assert found is not None
        names = dict(zip(("delivery", "message", "entry", "transaction"), found, strict=True))
        conn.commit()
        yield conninfo, {**names, "endpoint": endpoint.id}


@pytest.fixture(scope="module")
def client(installed: tuple[str, Mapping[str, str]]) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed[0]), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def asked(browser: Browser, text: str) -> httpx.Response:
    return browser.ask("GET", f"/search?{httpx.QueryParams(q=text)}", **OWN)


def addresses(answer: httpx.Response) -> list[str]:
    """The addresses that an answer names: one that it leads to, or those that it asks about."""
    if answer.status_code == 303:
        return [answer.headers["location"].partition("/ui")[2]]
    rows = answer.text.partition("<tbody>")[2].partition("</tbody>")[0].split('class="main" href="')[1:]
    return [unescape(row.partition('"')[0]).partition("/ui")[2] for row in rows]


@pytest.mark.parametrize(("text", "address"), KINDS.values(), ids=KINDS)
def test_what_support_types_is_found(
    reader: Browser, installed: tuple[str, Mapping[str, str]], text: str, address: str
) -> None:
    assert address.format_map(installed[1]) in addresses(asked(reader, text.format_map(installed[1])))


def test_a_number_that_two_things_have_is_a_question(reader: Browser) -> None:
    answer = asked(reader, "900")
    assert answer.status_code == 200
    assert {"/audit/records/public.orders/900", "/audit?text=900"} <= set(addresses(answer)), "an order, an invoice's"


def test_more_than_a_page_shows_are_a_link_away(reader: Browser) -> None:
    page = asked(reader, "customer 99").text
    assert page.count('class="main"') == 8
    assert "More endpoints have these letters." in page
    more = reader.get("/endpoints?text=customer+99").text
    assert more.count('class="main"') == 25
    assert '<span class="chip">Text <b><bdi>customer 99</bdi></b>' in more
    tenants = asked(reader, "a 19").text
    assert "More tenants have these letters in their names." in tenants
    assert reader.get("/tenants?text=a+1999").text.count('class="main"') == 1
    assert "No tenant has this name" in reader.get("/tenants?text=zzz").text


def test_the_query_of_a_url_is_no_name(client: httpx.Client) -> None:
    assert addresses(asked(signed_in(client, "read", "write"), "token=secret")) == []


def test_half_a_name_is_looked_for_beyond_the_usual_ones(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = signed_in(client, "read")
    monkeypatch.setattr("svc_pg.audit.read.facets.MAX_ENTRIES", 1)
    for kind, text in (("an actor", "mara.lund@c"), ("a label", "total ch")):
        page = asked(reader, text)
        assert KINDS[kind][1] in addresses(page), kind
        assert "were looked at." not in page.text
    monkeypatch.setattr("svc_pg.audit.read.known_values.MAX_ENTRIES", 1)  # without an index of both
    page = asked(reader, "total ch")
    assert "Not all actors were looked at." in page.text
    assert "Not all labels were looked at." in page.text


def test_where_a_search_ends_it_says_so_and_goes_on(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = signed_in(client, "read")
    monkeypatch.setattr("svc_pg.audit.read.search.MAX_ENTRIES", 2)
    page = asked(reader, REQUEST)
    assert addresses(page) == [], "two newer entries have another context"
    assert "The newest entries, up to 10,000, were looked at for requests and addresses, older ones not." in page.text
    [link] = re.findall(r'addresses, older ones not\. <a href="([^"]*)"', page.text)
    older = reader.get(unescape(link).partition("/ui")[2]).text
    assert "Request or address <b><bdi>01HXR7Q2-req</bdi></b>" in older
    assert "/audit/records/public.orders/900" in older
