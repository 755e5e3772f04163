"""Twenty-eight phrases that an auditor types into the search, each with what it finds or what the page says."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, audit, webhooks
from svc_pg.audit.read import facets, search
from svc_pg.console import Console, ConsoleRequest, Session, register_tenants
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
OF_NORTHWIND = {"Authorization": "Bearer of-northwind"}
LONG = "\U0001f600" * 200
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
PERHAPS: Mapping[str, tuple[str, str]] = {
    "an actor and a time": ("last week by mara", "/audit?since=7d&actor=mara.lund%40corp.example"),
    "an operation": ("deleted customers", "/audit?operation=DELETE&resource=public.customer"),
    "reads": ("who read customer 116", "/audit?operation=READ&resource=public.customer&record=116"),
    "no actor": ("changes without an actor", "/audit?missing=actor"),
    "who changed a record": ("who changed order 900?", "/audit/records/public.orders/900"),
    "an actor in a phrase": ("what did jonas do today", "/audit?actor=jonas&since={today}"),
    "a typing error in a name": ("refnud", "/audit?label=refund"),
    "a user of the database": ("dba_temp", "/audit?dbUser=dba_temp"),
}
"""Phrases that a page reads as a question, which it offers and does not take."""
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
            for actor in (
                "tamara",
                LONG,
                *(f"a{number:02}-tam" for number in range(12)),
                "tam",
                "marta",
                "marta",
                "maria",
            ):
                with conn.transaction(), audit.actor(conn, actor):
                    conn.execute("update orders set note = 'by ' || %s", (actor[:20],))
            found = conn.execute("select id::text from svc.audit_logs where operation = 'DELETE'").fetchone()
        assert found is not None
        yield conninfo, {"endpoint": endpoint.id, "entry": found[0], "today": datetime.now(UTC).date().isoformat()}


def customer(request: ConsoleRequest) -> Session | None:
    """A session of the tenant nw, by a token of the application's own."""
    is_northwind = request.headers.get("authorization") == OF_NORTHWIND["Authorization"]
    ends_at = datetime.now(UTC) + timedelta(minutes=5)
    return Session("customer", "ann@northwind.example", ("read",), ends_at, "nw") if is_northwind else None


@pytest.fixture(scope="module")
def client(installed: tuple[str, Mapping[str, str]]) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed[0]), config=CONFIG, session_of=customer)
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


@pytest.mark.parametrize(("phrase", "address"), PERHAPS.values(), ids=PERHAPS)
def test_a_phrase_of_several_words_is_offered_as_a_question(
    auditor: Browser, installed: tuple[str, Mapping[str, str]], phrase: str, address: str
) -> None:
    wanted = address.format_map(installed[1])
    in_search = auditor.get(f"/search?{httpx.QueryParams(q=phrase)}")
    assert "Perhaps you ask" in in_search.text
    assert wanted in unescape(in_search.text)
    in_log = auditor.get(f"/audit?{httpx.QueryParams(text=phrase)}")
    assert "No entry matches" in in_log.text
    assert wanted in unescape(in_log.text)
    assert_strict(in_log.text)


def test_words_that_no_filter_has_are_named_and_a_phrase_with_a_not_is_not_read(auditor: Browser) -> None:
    left_out = auditor.get(f"/search?{httpx.QueryParams(q='<b>xyz</b> of jonas')}").text
    assert 'which leaves out <bdi class="wrap">“&lt;b&gt;xyz&lt;/b&gt;”</bdi>' in left_out
    assert "Perhaps" not in auditor.get(f"/search?{httpx.QueryParams(q='not by jonas')}").text


def test_changes_by_a_user_of_the_database_are_asked_for(
    auditor: Browser, installed: tuple[str, Mapping[str, str]]
) -> None:
    entry = auditor.get(f"/audit/entries/{installed[1]['entry']}").text
    [address] = re.findall(r'<dt>Database user</dt><dd class="wrap"><a href="[^"]*?/ui(/[^"]*)"', entry)
    listed = auditor.get(unescape(address)).text
    assert "customer deleted" in listed
    assert "Database user" in listed
    assert "No entry matches" in auditor.get("/audit?dbUser=nobody_else").text


def test_a_value_that_no_entry_has_is_said_beside_those_with_its_letters(auditor: Browser) -> None:
    page = auditor.get("/audit?actor=mara&severity=high").text
    assert 'No entry has the actor <bdi class="wrap">“mara”</bdi>.' in page
    assert "/audit?severity=high&actor=mara.lund%40corp.example" in unescape(page)
    both = auditor.get("/audit?actor=jonas&table=orders&resource=orders").text
    assert not re.search("No entry (has|is of)", both)
    assert 'No entry is of the table <bdi class="wrap">“oders”</bdi>.' in auditor.get("/audit?resource=oders").text
    assert "record_reads" in auditor.get("/audit?operation=READ").text


def test_a_session_of_one_tenant_is_offered_no_names_of_others(installed: tuple[str, Mapping[str, str]]) -> None:
    def session_of(_request: object) -> Session:
        ends_at = datetime.now(UTC) + timedelta(minutes=1)
        return Session("theirs", "nw@customer.example", ("read",), ends_at, tenant="nw")

    console = Console(settings(database_url=installed[0]), config=CONFIG, session_of=session_of)
    with serving_installed(console) as client:
        customer = Browser(client)
        for phrase, is_theirs in (("last week by mara", True), ("last week by jonas", False), ("refunds", False)):
            for address in ("/search?q=", "/audit?text="):
                page = customer.get(f"{address}{phrase}")
                assert page.status_code == 200
                assert ("<code><bdi>actor:mara.lund@corp.example" in page.text) is is_theirs, (address, phrase)
                assert "actor:jonas" not in page.text
                assert "label:refund" not in page.text
        assert customer.get("/search?q=order 900").url.path.endswith("/ui/audit/records/public.orders/900")
        assert "mara.lund" in customer.get("/audit?actor=mara").text
        assert "These have its letters" not in customer.get("/audit?actor=jon").text
        assert "No entry has" not in customer.get("/audit?actor=jon").text, "it may see a part alone"


@pytest.mark.parametrize("actor", ["tam", LONG])
def test_an_actor_with_entries_is_never_said_to_have_none(auditor: Browser, actor: str) -> None:
    """One that is the twelfth by its letters, and one that is longer than a list of known values has."""
    page = auditor.get(f"/audit?{httpx.QueryParams(actor=actor, severity='critical')}").text
    assert "No entry matches" in page
    assert "has the actor" not in page


def test_a_phrase_beside_filters_says_all_of_its_words(auditor: Browser) -> None:
    filters = httpx.QueryParams(text="deleted orders last week", operation="INSERT", until="2026-01-01", actor="jonas")
    page = unescape(auditor.get(f"/audit?{filters}").text)
    offered = page.partition("Perhaps you ask")[2].partition('href="')[2].partition('"')[0]
    assert dict(httpx.URL(offered).params) == {
        "actor": "jonas",
        "operation": "DELETE",
        "resource": "public.orders",
        "since": "7d",
    }, "its time is no mixture"


def test_a_phrase_is_offered_before_the_whole_log_was_searched(
    auditor: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_ENTRIES", 2)
    page = unescape(auditor.get("/audit?text=deleted+customers+by+jonas").text)
    assert "Nothing found up to here" in page
    assert "/audit?operation=DELETE&resource=public.customer&actor=jonas" in page


def test_a_known_actor_is_meant_before_one_that_is_written_nearly_so(
    auditor: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "MAX_VALUES", 3)
    page = unescape(auditor.get("/search?q=changes+by+maria+in+the+last+2+days").text)
    assert "/audit?actor=maria&since=2d" in page


def test_a_session_of_a_tenant_searches_and_is_offered_names_of_its_own_alone(client: httpx.Client) -> None:
    customer = Browser(client, **OF_NORTHWIND)
    assert "/audit?actor=mara.lund%40corp.example&since=7d" in unescape(customer.get("/search?q=mara+last+week").text)
    for address in ("/search?q=jona+last+week", "/audit?text=jona+last+week", "/audit?actor=jona"):
        page = customer.get(address)
        assert page.status_code == 200
        assert "actor=jonas" not in page.text
    assert "No entry has" not in customer.get("/audit?actor=jona").text, "it has not seen all"


@pytest.mark.parametrize(
    ("question", "address"),
    [
        ("actor:jonas operation:delete", "/audit?q=actor%3Ajonas+operation%3Adelete"),
        ("status:failed tenant:nw", "/deliveries?q=status%3Afailed+tenant%3Anw"),
    ],
)
def test_a_question_with_keys_goes_to_the_bar_of_its_list(auditor: Browser, question: str, address: str) -> None:
    answer = asked(auditor, question)
    assert answer.status_code == 303
    assert addresses(answer) == [address]


def test_a_thing_that_two_readings_find_is_named_once(auditor: Browser) -> None:
    assert addresses(asked(auditor, "nw")).count("/tenants/nw") == 1
    assert "Search in the values" not in asked(auditor, "900").text, "a finding leads there already"


def test_a_day_without_changes_is_no_name_that_is_not_known(auditor: Browser) -> None:
    assert addresses(asked(auditor, "2001-03-01")) == ["/audit?since=2001-03-01&until=2001-03-02"]


@pytest.mark.parametrize(("phrase", "said"), SAID.values(), ids=SAID)
def test_a_phrase_that_finds_nothing_is_told_so_and_what_could_be_typed(
    auditor: Browser, phrase: str, said: str
) -> None:
    page = auditor.get(f"/search?{httpx.QueryParams(q=phrase)}")
    assert_strict(page.text)
    assert said in page.text
    assert "<dt>the whole id</dt>" in page.text
    assert addresses(page) == []
