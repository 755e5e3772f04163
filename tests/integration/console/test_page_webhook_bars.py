"""The bars of deliveries, messages and endpoints: their question, their filters and their completion are the same."""

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, webhooks
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from tests.integration.console.browsing import HOSTILE, Browser, Document, assert_strict, signed_in
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.integration.console.test_page_asking import in_bar
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import new_database

CONFIG: Config = hooks_config("order.created", "order.paid")
LISTS = ("deliveries", "messages", "endpoints")


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    given = settings(encryption_keys=SecretStr(KEYS_TEXT))
    with new_database(postgres) as conninfo:
        install(conninfo, CONFIG)
        with psycopg.connect(conninfo) as conn:
            for tenant, name in (("acme", "Acme's ERP"), ("northwind", HOSTILE[1]), (None, "Ours")):
                webhooks.endpoints.create(
                    conn, url="http://127.0.0.1:9/hook?token=hush", events=["order.*"], tenant=tenant,
                    settings=given, config=CONFIG, description=name,
                )  # fmt: skip
            for event, tenant in (("order.created", "acme"), ("order.paid", "northwind"), ("order.paid", HOSTILE[0])):
                webhooks.send(conn, event, {}, tenant=tenant)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    given = settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


@pytest.mark.parametrize(
    ("list_", "question", "filters", "shown", "rows"),
    [
        (
            "deliveries",
            'tenant:acme status:pending 1d event:"order.created"',
            {"tenant": ["acme"], "status": ["pending"], "since": ["1d"], "event": ["order.created"]},
            "status:pending event:order.created tenant:acme 1d",
            2,
        ),
        ("messages", "1d event:order.paid", {"since": ["1d"], "event": ["order.paid"]}, "event:order.paid 1d", 2),
        (
            "endpoints",
            '"Acme\'s E" status:active needs-attention:false',
            {"text": ["Acme's E"], "status": ["active"], "needsAttention": ["false"]},
            "status:active needs-attention:false Acme's E",
            1,
        ),
    ],
)
def test_a_question_leads_to_the_address_with_its_filters_which_shows_it_again(
    reader: Browser, list_: str, question: str, filters: dict[str, list[str]], shown: str, rows: int
) -> None:
    answer = reader.ask("GET", f"/{list_}?q={quote(question)}&cursor=gone")
    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["location"]).query) == filters
    page = reader.ask("GET", answer.headers["location"])
    assert page.status_code == 200
    assert in_bar(page) == shown
    assert len(re.findall(r'<a class="main"', page.text)) == rows
    again = reader.ask("GET", f"/{list_}?q={quote(shown)}")
    assert parse_qs(urlsplit(again.headers["location"]).query) == filters


@pytest.mark.parametrize("list_", ["deliveries", "messages"])
def test_each_filter_has_a_chip_that_takes_it_away_also_one_with_a_field(reader: Browser, list_: str) -> None:
    page = reader.get(f"/{list_}?event=order.created&tenant=acme&since=1d").text
    chips = re.findall(r'<span class="chip">(.*?) <b><bdi>(.*?)</bdi></b><a href="([^"]*)"', page)
    assert {word: value for word, value, _ in chips} == {
        "Event": "order.created", "Tenant": "acme", "Since": "1 day ago",
    }  # fmt: skip
    for word, _, link in chips:
        assert set(parse_qs(urlsplit(unescape(link)).query)) == {"event", "tenant", "since"} - {word.lower()}


@pytest.mark.parametrize("list_", LISTS)
@pytest.mark.parametrize(
    ("question", "rest", "said"),
    [
        ("aktor:mara", "", "There is no key aktor."),
        ("tenant:a tenant:b", "", "tenant: is given twice."),
        ("tenant:acme", "&tenant=other", "The address has the filter tenant and the question has it too."),
        ('"tent', "", "A quote is not closed"),
        ("x" * 20_000, "", "The question has 20,000 characters"),
        ("a\0b", "", "NUL"),
    ],
)
def test_what_a_bar_does_not_understand_stays_in_it_with_what_is_wrong(
    reader: Browser, list_: str, question: str, rest: str, said: str
) -> None:
    page = reader.ask("GET", f"/{list_}?q={quote(question)}{rest}")
    assert page.status_code == 422
    assert said in unescape(page.text)
    assert in_bar(page) == question[:2000].replace("\0", "")
    assert "data-live" not in page.text
    assert len(page.content) < 60_000


@pytest.mark.parametrize("list_", LISTS)
def test_a_value_that_the_list_refuses_is_said_above_it(reader: Browser, list_: str) -> None:
    page = reader.get(f"/{list_}?q=ids:seven")
    assert page.status_code == 422
    assert "ids is not acceptable" in page.text
    assert in_bar(page) == "ids:seven"


def test_what_no_index_bounds_is_refused_in_place(reader: Browser) -> None:
    page = reader.get("/deliveries?q=finished-since:1h")
    assert page.status_code == 422
    assert in_bar(page) == "finished-since:1h"


@pytest.mark.parametrize("list_", LISTS)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_question_stays_a_text(reader: Browser, list_: str, text: str) -> None:
    for question in (text, f"{text}:x", f'tenant:"{text}', f"tenant:{text.replace(' ', '')}"):
        page = reader.get(f"/{list_}?q={quote(question)}")
        assert page.status_code in (200, 422)
        assert_strict(page.text)
        offered(reader, list_, question)


def offered(browser: Browser, list_: str, text: str) -> list[str]:
    page = browser.ask("GET", f"/{list_}/offers?q={quote(text)}")
    assert page.status_code == 200
    assert_strict(page.text)
    return [*Document(page.text).values("data-text")]


def test_completion_offers_what_the_list_knows(reader: Browser, client: httpx.Client) -> None:
    assert offered(reader, "deliveries", "status:f") == ["status:failed "]
    assert offered(reader, "deliveries", "fini") == ["finished-since:", "finished-until:"]
    assert offered(reader, "messages", "24h event:paid") == ["24h event:order.paid "]
    assert offered(reader, "messages", "tenant:NORTH") == ["tenant:northwind "]
    assert offered(reader, "endpoints", "needs-attention:") == ["needs-attention:true ", "needs-attention:false "]
    listed = client.get("/webhooks/endpoints", params={"text": "Acme"}, headers=bearer("read")).json()["data"]
    assert offered(reader, "deliveries", "endpoint:acme") == [f"endpoint:{listed[0]['id']} "]
    assert offered(reader, "deliveries", "endpoint:hush") == []
    assert offered(reader, "deliveries", "tenant:" + "x" * 1_000) == []
    assert offered(reader, "deliveries", "x" * 20_000) == []


def test_a_tenant_is_offered_nothing_of_others(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        token = api_tokens.add(conn, "acme", permission="read", tenant="acme").token
    for of, text, expected in (
        ("tenant", "", ["acme"]),
        ("tenant", "north", []),
        ("endpoint", "", ["Acme's ERP"]),
        ("endpoint", "ours", []),
    ):
        answer = client.get(
            "/webhooks/values", params={"of": of, "text": text}, headers={"Authorization": f"Bearer {token}"}
        )
        assert [each["name"] for each in answer.json()["data"]] == expected
    events = client.get("/webhooks/values?of=event", headers={"Authorization": f"Bearer {token}"}).json()["data"]
    assert not [each for each in events if each["value"].startswith("audit.")]


def test_what_is_asked_for_is_bounded(client: httpx.Client) -> None:
    for query in ("of=colour", "text=a", f"of=tenant&text={'x' * 201}", "of=event&text=%00"):
        assert client.get(f"/webhooks/values?{query}", headers=bearer("read")).status_code == 422
    found = client.get("/webhooks/values?of=tenant", headers=bearer("read")).json()
    assert found["isComplete"] is True
    assert {each["value"] for each in found["data"]} == {"acme", "northwind", HOSTILE[0]}


@pytest.mark.parametrize("list_", ["deliveries", "messages", "audit"])
def test_times_of_a_calendar_take_the_place_of_others_and_keep_the_other_filters(reader: Browser, list_: str) -> None:
    name = "actor" if list_ == "audit" else "tenant"
    chosen = f"/{list_}?{name}=a&since=1h&cursor=gone&from=2026-11-27T09:30&to=2026-11-27"
    answer = reader.ask("GET", chosen)
    assert answer.status_code == 303
    filters = {name: ["a"], "since": ["2026-11-27T09:30:00Z"], "until": ["2026-11-28"]}
    assert parse_qs(urlsplit(answer.headers["location"]).query) == filters
    page = reader.ask("GET", answer.headers["location"])
    fields = [attributes for tag, attributes in Document(page.text).tags if attributes.get("type") == "datetime-local"]
    assert [(each["name"], each["value"]) for each in fields] == [
        ("from", "2026-11-27T09:30"),
        ("to", "2026-11-28T00:00"),
    ]
    assert_strict(page.text)
    form = page.text[page.text.index('class="filter between"') :]
    assert f'<input type="hidden" name="{name}" value="a">' in form[: form.index("</form>")]
    answer = reader.ask("GET", f"/{list_}?since=1h&until=2026-11-27&from=&to=")
    assert parse_qs(urlsplit(answer.headers["location"]).query) == {}
    refused = reader.ask("GET", f"/{list_}?from=nonsense&to=")
    assert refused.status_code == 422
    assert "The beginning of the time cannot be read" in refused.text
    refused = reader.ask("GET", f"/{list_}?from=2026-11-28T10:00&to=2026-11-27T10:00")
    assert "The end of the time must be after its beginning" in refused.text
    assert 'value="2026-11-28T10:00"' in refused.text, "what was chosen stays"


def test_endpoints_have_no_times_to_choose(reader: Browser) -> None:
    assert "datetime-local" not in reader.ask("GET", "/endpoints").text
    assert reader.ask("GET", "/endpoints?from=2026-11-27").status_code == 422
