"""Twenty-eight phrases that an auditor types into the search, each with what it finds or what the page says."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import unescape

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, audit, webhooks
from svc_pg.console import Console, register_tenants
from tests.integration.console.browsing import Browser, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.integration.console.test_search_kinds import addresses, asked
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
for _table in ("customer", "orders", "payment"):
    CONFIG.audit.table(f"public.{_table}")
CONFIG.audit.enrich("public.payment", "UPDATE", label="refund", severity="high", compliance=["pci"])
CONFIG.audit.enrich("public.customer", "DELETE", label="customer deleted", severity="critical", compliance=["gdpr"])
CONFIG.webhooks.event("order.refunded", description="Money went back")
KEYS = settings(encryption_keys=SecretStr(KEYS_TEXT))
DDL = """
create table customer (id int primary key, name text, email text);
create table orders (id int primary key, customer_id int, total numeric, note text);
create table payment (id int primary key, order_id int, status text, amount numeric);
"""
NOTHING = "Nothing has this name"
FOUND: Mapping[str, tuple[str, str]] = {
    "a person": ("Ines Okafor", "/audit?text=Ines+Okafor"),
    "half a person": ("Okafor", "/audit?text=Okafor"),
    "an e-mail in a row": ("ines@mail.example", "/audit?text=ines%40mail.example"),
    "an actor": ("mara.lund@corp.example", "/audit?actor=mara.lund%40corp.example"),
    "half an actor, in capitals": ("MARA.LU", "/audit?actor=mara.lund%40corp.example"),
    "an order": ("orders 900", "/audit/records/public.orders/900"),
    "an order with a hash": ("order #900", "/audit/records/public.orders/900"),
    "a number alone": ("900", "/audit/records/public.orders/900"),
    "a total": ("4711.95", "/audit?text=4711.95"),
    "a table": ("payment", "/audit?resource=public.payment"),
    "half a table": ("paym", "/audit?resource=public.payment"),
    "a request": ("01HXR7Q2-req", "/audit?context=01HXR7Q2-req"),
    "an address": ("203.0.113.77", "/audit?context=203.0.113.77"),
    "a ticket": ("call 4471", "/audit?context=call+4471"),
    "deleted": ("deleted", "/audit?label=customer+deleted"),
    "refund": ("refund", "/audit?label=refund"),
    "a tag": ("gdpr", "/audit?compliance=gdpr"),
    "critical": ("critical", "/audit?severity=critical"),
    "a quoted text": ('"gift wrap"', "/audit?text=%22gift+wrap%22"),
    "an endpoint's host": ("erp.northwind.example", "/endpoints/{endpoint}"),
    "a tenant": ("northwind", "/tenants/nw"),
    "an event": ("order.refunded", "/events/order.refunded"),
    "an entry by its id": ("{entry}", "/audit/entries/{entry}"),
    "a day": ("today", "/audit?since={today}"),
    "an action": ("portal link for northwind", "/tenants/nw"),
}
"""An action is a link of its own above the findings."""
SAID: Mapping[str, tuple[str, str]] = {
    "a typing error": ("Okafro", NOTHING),
    "signs of LIKE": ("%_%", NOTHING),
    "a date that there is not": ("2026-13-45", NOTHING),
}


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into svc.tenants (id, name) values ('nw', 'Northwind')")
            endpoint = webhooks.endpoints.create(
                conn, url="https://erp.northwind.example/in", events=["*"], tenant="nw", settings=KEYS, config=CONFIG
            )
            conn.commit()
            context = {"request_id": "01HXR7Q2-req", "ip": "203.0.113.77", "ticket": "call 4471"}
            with conn.transaction(), audit.actor(conn, "mara.lund@corp.example", tenant="nw", context=context):
                conn.execute("insert into customer values (116, 'Ines Okafor', 'ines@mail.example'), (117, 'X', 'y')")
                conn.execute("insert into orders values (900, 116, 4711.95, 'with gift wrap')")
                conn.execute("insert into payment values (5140, 900, 'captured', 4711.95)")
            with conn.transaction(), audit.actor(conn, "jonas"):
                conn.execute("update payment set status = 'refunded'")
                conn.execute("delete from customer where id = 117")
                webhooks.send(conn, "order.refunded", {"id": 900}, tenant="nw")
            found = conn.execute("select id::text from svc.audit_logs where operation = 'DELETE'").fetchone()
        assert found is not None
        yield conninfo, {"endpoint": endpoint.id, "entry": found[0], "today": datetime.now(UTC).date().isoformat()}


@pytest.fixture(scope="module")
def client(installed: tuple[str, Mapping[str, str]]) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed[0]), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


@pytest.fixture
def auditor(client: httpx.Client) -> Browser:
    return signed_in(client, "admin")


def test_there_are_twenty_eight() -> None:
    assert len(FOUND) + len(SAID) == 28


@pytest.mark.parametrize(("phrase", "address"), FOUND.values(), ids=FOUND)
def test_a_phrase_of_an_auditor_leads_to_what_it_means(
    auditor: Browser, installed: tuple[str, Mapping[str, str]], phrase: str, address: str
) -> None:
    answer = asked(auditor, phrase.format_map(installed[1]))
    wanted = address.format_map(installed[1])
    actions = answer.text.partition('class="card hits"')[2].partition("</section>")[0].split('href="')[1:]
    named = [*addresses(answer), *(unescape(link.partition('"')[0]).partition("/ui")[2] for link in actions)]
    assert wanted in named, named
    assert auditor.get(wanted).status_code == 200


@pytest.mark.parametrize(("phrase", "said"), SAID.values(), ids=SAID)
def test_a_phrase_that_finds_nothing_is_told_so_and_what_could_be_typed(
    auditor: Browser, phrase: str, said: str
) -> None:
    page = auditor.get(f"/search?{httpx.QueryParams(q=phrase)}")
    assert_strict(page.text)
    assert said in page.text
    assert "Type the whole id" in page.text
    assert addresses(page) == []
