"""The pages of webhooks: following a delivery, changing many with a count first, and forms that keep what was typed."""

import os
import re
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb
from pydantic import SecretStr

from svc_pg import Config, webhooks
from svc_pg.config import EventDefinition
from svc_pg.console import Console
from svc_pg.console.pages.routes import ROUTES
from svc_pg.database.query import scalar
from tests.integration.console.browsing import (
    HOSTILE,
    Browser,
    assert_strict,
    hidden,
    shown_secret,
    signed_in,
)
from tests.integration.console.serving import serving_installed, settings
from tests.support.certificates import authority
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import new_database
from tests.support.queue import postpone

URL: Final = "http://127.0.0.1:9/hook?token=hush"
UNKNOWN: Final = "00000000-0000-7000-8000-000000000000"


def config() -> Config:
    made = hooks_config("order.created", "order.paid")
    schema = {"type": "object", "properties": {text: {"const": text} for text in HOSTILE}}
    made.webhooks.events["order.placed"] = EventDefinition(description=HOSTILE[0], json_schema=schema)
    made.audit.table("public.orders")
    return made


CONFIG: Final = config()


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute("create table public.orders (id integer primary key, state text)")
        install(conninfo, CONFIG)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    given = settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=CONFIG)) as client:
        yield client


@pytest.fixture
def writer(client: httpx.Client) -> Browser:
    return signed_in(client, "write")


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


Endpoint = webhooks.endpoints.EndpointWithSecret


@pytest.fixture
def endpoint(installed: str) -> Iterator[Endpoint]:
    """An endpoint for all events, whose messages are gone with it."""
    given = settings(encryption_keys=SecretStr(KEYS_TEXT))
    with psycopg.connect(installed) as conn:
        made = webhooks.endpoints.create(
            conn, url=URL, events=["*"], settings=given, config=CONFIG, description="ERP", headers={"X-Key": "hush"}
        )
    yield made
    empty(installed)


def empty(installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute(
            "truncate svc.webhook_messages, svc.webhook_deliveries, svc.webhook_queue,"
            " svc.webhook_delivery_attempts, svc.webhook_endpoints cascade"
        )


def send(installed: str, event: str = "order.created", payload: Any = None, **options: Any) -> str:
    """Send an event, and give the id of its delivery."""
    with psycopg.connect(installed) as conn:
        message = webhooks.send(conn, event, {} if payload is None else payload, **options)
    with psycopg.connect(installed) as conn:
        return str(scalar(conn, "select id from svc.webhook_deliveries where message_id = %s limit 1", [message]))


def fail(installed: str, delivery: str, *, body: str = "no", error: str = "the endpoint answered 503") -> None:
    """Let a delivery have failed after two attempts."""
    with psycopg.connect(installed) as conn:
        conn.execute("delete from svc.webhook_queue where delivery_id = %s", [delivery])
        conn.execute(
            "update svc.webhook_deliveries set status = 'failed', failure = 'failed', attempts = 2,"
            " finished_at = now(), next_attempt_at = null, last_status_code = 503, last_error = %s where id = %s",
            [error, delivery],
        )
        conn.execute(
            "insert into svc.webhook_delivery_attempts (delivery_id, endpoint_id, attempt, started_at, duration_ms,"
            " outcome, status_code, error, response_headers, response_body, remote_ip, worker)"
            " select id, endpoint_id, n, now() - interval '1 h' / n, 1204, 'http_error', 503, %s, %s, %s,"
            " '203.0.113.4', %s"
            " from svc.webhook_deliveries, generate_series(1, 2) n where id = %s",
            [error, Jsonb({"x-why": body}), body[:16000], "worker-1", delivery],
        )


@pytest.mark.usefixtures("endpoint")
def test_a_failing_delivery_is_followed_to_its_cause_and_sent_again(writer: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("insert into orders values (7, 'new') on conflict (id) do update set state = 'new'")
        message = webhooks.send(conn, "order.created", {"id": 7}, tenant="acme")
        xact_id = scalar(conn, "select txid_current()")
    with psycopg.connect(installed) as conn:
        delivery = str(scalar(conn, "select id from svc.webhook_deliveries where message_id = %s", [message]))
    fail(installed, delivery)
    listed = writer.get("/deliveries?status=failed")
    assert f'href="/.well-known/svc/ui/deliveries/{delivery}"' in listed.text
    assert "Send the failed one again" in listed.text
    assert "acme" in listed.text
    assert writer.get(f"/deliveries?transaction={xact_id}").text.count('name="id"') == 1
    page = writer.get(f"/deliveries/{delivery}")
    assert page.status_code == 200
    for part in (
        "the endpoint answered 503",
        "203.0.113.4",
        "1,204 ms",
        "HTTP 503",
        "X-Key: •••• (custom header, sealed)",
    ):
        assert part in page.text
    assert re.search(r"It failed \d+ \w{3} \d{4}, \d\d:\d\d:\d\d UTC, after 2 attempts", page.text), "times of pages"
    assert "hush" not in page.text.replace(URL, "").replace("token=hush", "")
    assert '<h1><bdi>order.created</bdi> <span class="q"><bdi>id 7</bdi></span>' in page.text, "it names its message"
    assert "Caused by" in page.text
    [cause] = re.findall(r'href="/.well-known/svc/ui(/audit/entries/[0-9]+)"', page.text)
    assert delivery in writer.get(cause).text  # and back
    asked = writer.get("/deliveries/change?do=retry&status=failed").text
    assert ('<bdi class="about">id 7</bdi>' in asked, "The latest 1" in asked) == (True, False), "it is all of them"
    again = writer.post(f"/deliveries/{delivery}/retry")
    assert ("Pending" in again.text, "<dt>Due</dt>" in again.text) == (True, True)
    assert "Send now" not in again.text
    assert writer.post(f"/deliveries/{delivery}/retry").status_code == 409
    with psycopg.connect(installed, autocommit=True) as conn:
        postpone(conn, timedelta(hours=2))
    assert "Send now" in writer.get(f"/deliveries/{delivery}").text
    assert "Send now" not in writer.post(f"/deliveries/{delivery}/retry").text
    assert "Canceled" in writer.post(f"/deliveries/{delivery}/cancel").text


def test_the_axis_of_failures_has_an_end_only_if_there_are_any(
    reader: Browser, installed: str, endpoint: Endpoint
) -> None:
    delivery = send(installed)
    assert "<span>\N{MINUS SIGN}" not in reader.get(f"/endpoints/{endpoint.id}").text
    fail(installed, delivery)
    assert "<span>\N{MINUS SIGN}2</span>" in reader.get(f"/endpoints/{endpoint.id}").text


def test_a_delivery_says_what_it_waits_for_and_leads_to_the_one_that_comes_first(
    reader: Browser, installed: str, endpoint: Endpoint
) -> None:
    with psycopg.connect(installed) as conn:
        webhooks.endpoints.update(conn, endpoint.id, ordering="key", config=CONFIG)
        webhooks.endpoints.pause(conn, endpoint.id)
    first, second = (send(installed, key="order <7>") for _ in range(2))
    page = unescape(reader.get(f"/deliveries/{second}").text)
    for sentence in (
        "Its endpoint is paused, until somebody resumes it.",
        f"An older message of its key comes first: delivery {first}.",
        "No worker is seen: it waits until one runs.",
    ):
        assert f"<bdi>{sentence}</bdi>" in page
    [address] = re.findall(r'href="/.well-known/svc/ui(/deliveries/[^"]+)">See that delivery', page)
    assert address == f"/deliveries/{first}"
    assert "See that delivery" not in reader.get(address).text
    fail(installed, first, error="<b>the endpoint answered 503</b>")
    assert "&lt;b&gt;the endpoint answered 503&lt;/b&gt;" in reader.get(address).text


def test_the_command_of_the_page_verifies_the_signature(
    writer: Browser, installed: str, endpoint: Endpoint, tmp_path: Any
) -> None:
    delivery = send(installed, payload={"who": 'it\'s "Ann"\n$(id) `id` \\ 😀 שלום', "n": "%s"})
    page = unescape(writer.get(f"/deliveries/{delivery}").text)
    [command] = re.findall(r'<pre id="check"[^>]*>(.*?)</pre>', page, re.DOTALL)
    [signature] = re.findall(r"^webhook-signature: v1,(\S+)", page, re.MULTILINE)
    command = command.replace("whsec_...", endpoint.secret)
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout.strip() == signature
    [curl] = re.findall(r'<pre class="sr" id="curl"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert curl.splitlines()[0] == command.splitlines()[3] or "printf %s" in curl
    assert "X-Key" not in curl


@pytest.mark.usefixtures("endpoint")
def test_many_are_changed_only_after_their_number_was_shown(writer: Browser, installed: str) -> None:
    ids = [send(installed, tenant="acme") for _ in range(3)]
    for delivery in ids:
        fail(installed, delivery)
    asked = writer.get(f"/deliveries/change?do=retry&id={ids[0]}&id={ids[1]}")
    assert "Send 2 deliveries again?" in asked.text
    one = writer.get(f"/deliveries/change?do=cancel&id={send(installed)}").text
    assert all(words in one for words in ("Cancel 1 delivery?", "It is not sent.", "Cancel it</button>"))
    with psycopg.connect(installed) as conn:
        [(to,)] = conn.execute(
            "select endpoint_id::text from svc.webhook_deliveries where id = %s", [ids[0]]
        ).fetchall()
    asked_by_filter = writer.get(f"/deliveries/change?do=retry&status=failed&since=1d&endpointId={to}").text
    for words in ("<dt>State</dt><dd><bdi>failed", "<dt>Since</dt><dd><bdi>1 day ago", "<dt>Endpoint</dt>"):
        assert words in asked_by_filter
    assert f"<bdi>{to}</bdi>" not in asked_by_filter
    assert f"<bdi>{to}</bdi>" not in writer.get(f"/deliveries?endpointId={to}").text
    assert asked.text.count('<input type="hidden" name="id"') == 2
    assert writer.get("/deliveries?status=failed").text.count('name="id"') == 3
    writer.post("/deliveries/change", {"do": "retry", "id": ids[:2]})
    assert writer.get("/deliveries?status=failed").text.count('name="id"') == 1
    assert "Cancel all 2 pending" in writer.get("/deliveries?status=pending&tenant=acme").text
    assert "Cancel 2 deliveries?" in writer.get("/deliveries/change?do=cancel&tenant=acme").text
    writer.post("/deliveries/change", {"do": "cancel", "tenant": "acme"})
    canceled = writer.get("/deliveries?status=canceled&tenant=acme").text
    assert (canceled.count('name="id"'), "Send all 2 canceled again" in canceled) == (2, True)
    assert "No delivery to cancel" in writer.get(f"/deliveries/change?do=cancel&id={ids[0]}").text
    assert "None of them waits" in writer.get(f"/deliveries/change?do=cancel&id={ids[0]}").text
    for wrong in ("do=delete&tenant=acme", "tenant=acme", "do=retry&id=x", "do=cancel&since=rubbish"):
        assert writer.get(f"/deliveries/change?{wrong}").status_code == 422


def test_no_endpoint_is_said_to_need_attention_only_if_that_was_asked(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("truncate svc.webhook_endpoints, svc.webhook_deliveries cascade")
    for asked, is_said in (("true", True), ("false", False)):
        page = reader.get(f"/endpoints?needsAttention={asked}").text
        assert ("No endpoint needs attention" in page, "No endpoint matches" in page) == (is_said, not is_said)


@pytest.mark.usefixtures("endpoint")
def test_a_change_reaches_those_alone_that_were_counted(writer: Browser, installed: str) -> None:
    failed, canceled, other = [send(installed, tenant=tenant) for tenant in ("acme", "acme", "beta")]
    for delivery in (failed, other):
        fail(installed, delivery)
    writer.post("/deliveries/change", {"do": "cancel", "id": [canceled]})
    question = f"ids:{failed},{canceled},{other} tenant:acme"
    listed = writer.get(f"/deliveries?q={quote(question)}").text
    [link] = re.findall(r'href="([^"]+)">(?:<svg[^>]*>.*?</svg>)?Send the failed one again', listed)
    confirm = unescape(link).partition("/ui")[2]
    asked = writer.get(confirm).text
    assert "Send 1 delivery again?" in asked
    assert f"/deliveries/{failed}" in asked
    [back] = re.findall(r'href="([^"]+)">Keep it as it is', asked)
    assert parse_qs(urlsplit(unescape(back)).query) == {
        "ids": [f"{failed},{canceled},{other}"], "tenant": ["acme"], "status": ["failed"],
    }  # fmt: skip
    fields = hidden(writer, confirm)
    writer.post("/deliveries/change", {name: fields[name] for name in ("do", "status", "ids", "tenant")})
    with psycopg.connect(installed) as conn:
        states: dict[str, str] = dict(conn.execute("select id::text, status from svc.webhook_deliveries").fetchall())
    assert [states[each] for each in (failed, canceled, other)] == ["pending", "canceled", "failed"]


@pytest.mark.usefixtures("endpoint")
def test_the_pages_of_deliveries_lead_on_and_back(
    reader: Browser, installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.console.pages.page_request.ROWS", 1)
    newest_first = [send(installed) for _ in range(3)][::-1]
    page, shown = reader.get("/deliveries?event=order.created"), []
    for word in ("Older", "Older", "Newer", "Newer", None):
        shown += [delivery for delivery in newest_first if f"/deliveries/{delivery}" in page.text]
        if word:
            [link] = re.findall(rf'href="([^"]+)">(?:<svg[^>]*>.*?</svg>)?{word}', page.text)
            page = reader.get(unescape(link).partition("/ui")[2])
    assert shown == [*newest_first, *newest_first[1::-1]]


@pytest.mark.usefixtures("endpoint")
@pytest.mark.parametrize(
    ("payload", "key", "shown"),
    [
        ({"id": 7731, "total": "49.90"}, None, "id 7731, total 49.90"),
        ({"lines": [1]}, "order-7732", "order-7732"),
        ({"id": "<b>7733</b>\u202e"}, None, "id &lt;b&gt;7733&lt;/b&gt;"),
        ({"id": 7734, "huge": "x" * 200_000}, "order-7734", "id 7734"),
        ({"random": os.urandom(40_000).hex()}, "order-7735", "order-7735"),
    ],
)
def test_the_list_says_what_each_delivery_is_about(
    reader: Browser, installed: str, payload: Any, key: str | None, shown: str
) -> None:
    delivery = send(installed, payload=payload, key=key)
    page = reader.get("/deliveries").text
    assert_strict(page)
    [row] = re.findall(rf'<a class="main" href="[^"]*{delivery}">(.*?)</a>', page)
    assert row == f'<bdi>order.created</bdi> <bdi class="about">{shown}</bdi>'


@pytest.mark.usefixtures("endpoint")
def test_a_change_of_ticked_rows_leads_back_to_the_question_of_their_list(writer: Browser, installed: str) -> None:
    ids = [send(installed, tenant="acme") for _ in range(2)]
    for delivery in ids:
        fail(installed, delivery)
    question = {"status": ["failed"], "tenant": ["acme"], "since": ["1d"]}
    fields = hidden(writer, "/deliveries?status=failed&tenant=acme&since=1d")
    asked = "&".join(f"{name}={quote(value)}" for name, value in fields.items() if name.startswith("list."))
    for chosen, words in (("", "Back to the list"), (f"&id={ids[0]}", "Keep it as it is")):
        page = writer.get(f"/deliveries/change?do=retry{chosen}&{asked}").text
        [back] = re.findall(rf'href="([^"]+)">{words}', page)
        assert parse_qs(urlsplit(unescape(back)).query) == question
    assert writer.get(f"/deliveries/change?do=retry&id={ids[0]}&list.other=x").status_code == 422
    confirmed = hidden(writer, f"/deliveries/change?do=retry&id={ids[0]}&{asked}")
    done = writer.post("/deliveries/change", confirmed)
    listed = urlsplit(str(done.url))
    assert "<b>1 delivery is sent again.</b>" in done.text
    assert (listed.path.endswith("/ui/deliveries"), parse_qs(listed.query).items() >= question.items()) == (True, True)


def test_nothing_is_changed_if_nothing_is_selected(writer: Browser) -> None:
    assert "Nothing is selected." in writer.get("/deliveries/change?do=cancel").text
    assert writer.post("/deliveries/change", {"do": "cancel"}).status_code == 422


def test_who_only_reads_is_offered_no_change_and_refused_each(
    reader: Browser, installed: str, endpoint: Endpoint
) -> None:
    delivery = send(installed)
    fail(installed, delivery)
    for path in (f"/deliveries/{delivery}", f"/endpoints/{endpoint.id}", "/deliveries", "/endpoints"):
        page = reader.get(path)
        assert page.status_code == 200
        actions = re.findall(r'method="post" action="[^"]*/ui([^"]*)"', page.text)
        assert set(actions) == {"/sign-out", "/theme"}
        assert page.text.count('method="post"') == len(actions)
        assert "hush" not in page.text
        assert 'type="checkbox" name="id"' not in page.text
    verbs = ("pause", "resume", "ping", "rotate", "edit", "disable", "delete")
    fields = {"overlap": "0", "url": URL, "patterns": "*", "signatures": "v1", "version": "1"}
    refused = [reader.post(f"/endpoints/{endpoint.id}/{verb}", fields) for verb in verbs]
    refused += [reader.post(f"/deliveries/{delivery}/{verb}") for verb in ("retry", "cancel")]
    refused += [reader.post("/deliveries/change", {"do": "retry", "id": delivery}), reader.post("/endpoints", fields)]
    refused += [reader.get(f"/endpoints/{endpoint.id}/{verb}") for verb in ("edit", "rotate", "end")]
    refused += [reader.get("/endpoints/new"), reader.get(f"/deliveries/change?do=retry&id={delivery}")]
    assert {answer.status_code for answer in refused} == {403}
    assert "write" in refused[0].text


def test_the_form_names_a_tenant_that_is_unknown_beside_its_field(writer: Browser, installed: str) -> None:
    typed = hidden(writer, "/endpoints/new") | {"url": URL + "&known", "events": "order.paid", "signatures": "v1"}
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("insert into svc.tenants (id, name) values ('known', 'Known')")
        try:
            refused = writer.post("/endpoints", typed | {"tenant": "knwon"})
            made = writer.post("/endpoints", typed | {"tenant": "known"})
        finally:
            conn.execute("delete from svc.tenants where id = 'known'")
    assert "No tenant has the id knwon" in refused.text
    assert 'value="knwon"' in refused.text
    assert str(made.url).endswith("/secret")


def test_a_filter_is_tried_before_it_is_saved(writer: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        before = conn.execute("select count(*) from svc.webhook_endpoints").fetchall()
        webhooks.send(conn, "order.paid", {"amount": 7, "note": "<b>"}, tenant="<i>t")
        conn.commit()
    typed = hidden(writer, "/endpoints/new") | {"url": URL + "&tried", "patterns": "order.paid", "headers": "A: b"}
    met = writer.post("/endpoints", typed | {"filter": "$.amount == 7", "try": "filter"})
    assert met.status_code == 200
    assert_strict(met.text)
    assert "Nothing is saved yet." in met.text
    assert re.search(r"lets [1-9][0-9]* of the newest [0-9]+ messages? through", met.text)
    assert "Type the headers again" in met.text
    assert 'value="$.amount == 7"' in met.text
    assert f'value="{URL.replace("&", "&amp;")}&amp;tried"' in met.text
    undecided = writer.post("/endpoints", typed | {"filter": "strict $.lost > 7", "try": "filter"})
    assert "cannot be decided" in undecided.text
    wrong = writer.post("/endpoints", typed | {"filter": "$.amount ==", "try": "filter"})
    assert 'id="wrong-filter"' in wrong.text
    assert "is not an SQL/JSON path" in wrong.text
    long = os.urandom(4_000).hex()  # which no cookie holds
    lost = writer.post("/endpoints", typed | {"filter": "$.amount == 7", "description": long, "try": "filter"})
    assert "What you typed could not be kept." in lost.text
    assert "lets" not in lost.text
    empty = writer.post("/endpoints", typed | {"try": "filter"})
    assert "Write the filter that is to be tried." in empty.text
    none = writer.post("/endpoints", typed | {"filter": "$.a > 1", "patterns": "nothing.at.all", "try": "filter"})
    assert "No message of these events" in none.text
    with psycopg.connect(installed) as conn:
        assert conn.execute("select count(*) from svc.webhook_endpoints").fetchall() == before


def test_a_filter_of_an_endpoint_is_tried_on_messages_of_its_tenant(writer: Browser, installed: str) -> None:
    typed = hidden(writer, "/endpoints/new") | {"url": URL + "&own", "patterns": "*", "signatures": "v1"}
    writer.post("/endpoints", typed | {"tenant": "of one", "description": "before"})
    with psycopg.connect(installed) as conn:
        for tenant in ("of one", "of another"):
            webhooks.send(conn, "order.paid", {"amount": 7}, tenant=tenant)
        conn.commit()
        [(endpoint,)] = conn.execute(
            "select id::text from svc.webhook_endpoints where url = %s", [URL + "&own"]
        ).fetchall()
    path = f"/endpoints/{endpoint}/edit"
    edit = typed | hidden(writer, path) | {"description": "after", "filter": "$.amount > 6", "try": "filter"}
    assert "lets 1 of the newest 1 message through" in writer.post(path, edit).text
    assert "before" in writer.get(path).text


def test_tls_of_a_private_receiver_is_given_kept_replaced_and_taken_away(
    writer: Browser, installed: str, tmp_path: Path
) -> None:
    ours = authority(tmp_path)
    certificate, key = ours.client()
    texts = {"ca_bundle": ours.pem, "client_certificate": certificate, "client_key": key}
    sent = {name: text.replace("\n", "\r\n") for name, text in texts.items()}  # as browsers do
    typed = hidden(writer, "/endpoints/new") | {"url": URL + "&tls", "patterns": "*", "signatures": "v1"}

    def facts() -> tuple[str, bool, bool]:
        with psycopg.connect(installed) as conn:
            [found] = conn.execute(
                "select id::text, tls is not null, client_certificate_expires_at is not null"
                " from svc.webhook_endpoints where url = %s", [URL + "&tls"]
            ).fetchall()  # fmt: skip
        return found

    assert str(writer.post("/endpoints", typed | sent).url).endswith("/secret")
    endpoint, *has = facts()
    assert has == [True, True]
    path = f"/endpoints/{endpoint}/edit"

    def edited(**fields: str) -> str:
        return writer.post(path, typed | hidden(writer, path) | fields).text

    edited(description="with what it has")
    assert facts()[1:] == (True, True)
    edited(ca_bundle=sent["ca_bundle"])
    assert facts()[1:] == (True, False), "new texts replace all"
    refused = edited(client_key=sent["client_key"], description="typed")
    assert 'id="wrong-tls"' in refused
    assert "Type the client key again" in refused
    assert 'value="typed"' in refused
    assert "PRIVATE KEY" not in refused
    assert facts()[1:] == (True, False)
    edited(remove_tls="yes")
    assert facts()[1:] == (False, False)


def test_a_form_that_is_sent_again_makes_nothing_more(writer: Browser, client: httpx.Client, installed: str) -> None:
    typed = hidden(writer, "/endpoints/new") | {"url": URL + "&again", "events": "order.paid", "signatures": "v1"}
    made = writer.post("/endpoints", typed)
    assert shown_secret(writer.post("/endpoints", typed)) == shown_secret(made)
    with psycopg.connect(installed) as conn:
        [(endpoint_id,)] = conn.execute(
            "select id::text from svc.webhook_endpoints where url = %s", [URL + "&again"]
        ).fetchall()
    path = f"/endpoints/{endpoint_id}"
    assert str(made.url).endswith(f"{path}/secret")
    assert shown_secret(writer.get(f"{path}/secret")) == shown_secret(made), "a reload shows the same"
    form = hidden(writer, f"{path}/rotate") | {"overlap": "86400"}
    rotated = shown_secret(writer.post(f"{path}/rotate", form))
    assert rotated != shown_secret(made)
    assert shown_secret(writer.post(f"{path}/rotate", form)) == rotated
    other = signed_in(client, "write")
    assert other.post(f"{path}/rotate", form).status_code == 412, "by who has no cookie: the receiver's secret stays"
    assert rotated not in other.get(f"{path}/secret").text
    other.cookies |= {name: value for name, value in writer.cookies.items() if name == "svc_shown"}
    assert rotated not in other.get(f"{path}/secret").text, "it is sealed for one session"
    other.cookies["svc_shown"] = "x"
    assert other.get(f"{path}/secret").status_code == 200


def test_an_endpoint_is_added_with_a_secret_that_is_shown_once(writer: Browser) -> None:
    form = writer.get("/endpoints/new?event=order.paid").text
    assert 'value="order.paid" checked' in form
    typed = {
        "url": "ftp://x",
        "description": "Keep <me>",
        "patterns": "",
        "filter": "$.a > 1",
        "timeout": "abc",
        "max_in_flight": "8",
        "headers": "no colon",
        "signatures": "v1",
    }
    refused = writer.post("/endpoints", typed)
    assert refused.status_code == 422
    for kept in ("ftp://x", "Keep &lt;me&gt;", "$.a &gt; 1", 'value="abc"', "Type the headers again"):
        assert kept in refused.text
    assert "no colon" not in refused.text, "headers are secrets"
    for told in ("Choose at least one event.", "Write a number of seconds.", "Write one header a line"):
        assert told in refused.text
    for no_number in ("nan", "inf", "9" * 400):
        assert "Write a number of seconds." in writer.post("/endpoints", typed | {"timeout": no_number}).text
    typed |= {"timeout": "2.5", "headers": "X-Key: hush", "events": "order.paid", "patterns": "order.created"}
    refused = writer.post("/endpoints", typed)
    assert (refused.status_code, 'id="wrong-url"' in refused.text) == (422, True)
    refused = writer.post("/endpoints", typed | {"url": URL, "patterns": "order.unknown"})
    assert (refused.status_code, 'id="wrong-events"' in refused.text) == (422, True)
    refused = writer.post("/endpoints", typed | {"url": URL, "max_in_flight": "5000"})
    assert (refused.status_code, 'id="wrong-max_in_flight"' in refused.text) == (422, True)
    made = writer.post("/endpoints", typed | {"url": URL})
    secret = shown_secret(made)
    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
    [path] = re.findall(r'href="/.well-known/svc/ui(/endpoints/[0-9a-f-]{36})">I have stored it', made.text)
    page = writer.get(path).text
    assert secret not in page
    assert "Keep &lt;me&gt;" in page
    assert secret not in writer.get(f"{path}/edit").text
    rotated = writer.post(f"{path}/rotate", hidden(writer, f"{path}/rotate") | {"overlap": "3600"})
    new_secret = shown_secret(rotated)
    assert new_secret != secret
    assert writer.post(f"{path}/rotate", {"overlap": "9"}).status_code == 422
    edit = {"url": URL, "patterns": "*", "timeout": "3", "signatures": "v1", "keep_headers": "yes", "version": "2"}
    assert "3 s" in writer.post(f"{path}/edit", edit).text
    for version in ("2", "9" * 5000):  # int() reads no more than 4,300 digits
        late = writer.post(f"{path}/edit", edit | {"description": "Late", "version": version})
        assert (late.status_code, "Somebody has changed this endpoint" in late.text) == (412, True)
    assert 'value="Late"' in late.text
    assert "some, sealed" in writer.get(path).text
    assert "Paused" in writer.post(f"{path}/pause").text
    assert "Active" in writer.post(f"{path}/resume").text
    assert "webhook.ping" in writer.post(f"{path}/ping").text
    assert "1 delivery that waits is canceled" in writer.get(f"{path}/end").text
    assert "spam" in writer.post(f"{path}/disable", {"reason": "spam"}).text
    assert writer.post(f"{path}/delete").status_code == 200
    assert writer.get(path).status_code == 404


@pytest.mark.usefixtures("endpoint")
def test_what_attackers_store_stays_text_on_every_page(writer: Browser, installed: str) -> None:
    pages = ["/events/order.placed", "/events", "/endpoints/new"]
    for number, text in enumerate(HOSTILE):
        delivery = send(installed, payload={text: text * 3}, tenant=text, idempotency_key=text, key=text)
        fail(installed, delivery, body=text, error=text)
        pages.append(f"/deliveries/{delivery}")
        with psycopg.connect(installed) as conn:
            conn.execute(
                """with made as (
                       insert into svc.webhook_endpoints
                           (id, url, description, tenant, events, secret, status, disabled_reason)
                       values (svc.webhook_uuid7(), %s, %s, %s, '{*}', '', 'disabled', %s) returning id
                   )
                   insert into svc.webhook_endpoint_state (endpoint_id) select id from made""",
                [text, text if number % 2 else "", text, text],
            )
            pages.append(f"/endpoints/{scalar(conn, 'select max(id::text) from svc.webhook_endpoints')}")
            pages.append(f"{pages[-1]}/edit")
    huge = send(installed, payload={"huge": "<script>" * 30_000})
    fail(installed, huge, body="<img src=x onerror=alert(1)>" * 600)
    pages += [f"/deliveries/{huge}", "/deliveries", "/endpoints", f"/deliveries?tenant={HOSTILE[0]}"]
    pages += [f"/deliveries?event={HOSTILE[1]}", "/deliveries?since=rubbish", "/deliveries?endpointId=x"]
    for path in pages:
        page = writer.get(path)
        assert page.status_code in (200, 422), path
        assert_strict(page.text)
        assert "<script>alert" not in page.text
        assert "<img" not in page.text.replace('<img src="/.well-known', "")
        assert ">49<" not in page.text
        assert len(page.content) < 300_000


def test_lists_say_what_is_empty_and_what_matches_nothing(reader: Browser, installed: str) -> None:
    empty(installed)
    assert "Nothing was sent yet" in reader.get("/deliveries").text
    assert "No delivery matches" in reader.get("/deliveries?tenant=none").text
    assert "There are no endpoints yet" in reader.get("/endpoints").text
    assert "No endpoint needs attention" in reader.get("/endpoints?needsAttention=true").text
    assert "No endpoint matches" in reader.get("/endpoints?status=paused").text
    for path in (f"/deliveries/{UNKNOWN}", f"/endpoints/{UNKNOWN}", "/events/none", "/endpoints/x", "/deliveries/x"):
        assert reader.get(path).status_code == 404
    refused = reader.get("/deliveries?endpointId=seven")
    assert (refused.status_code, "is not an id" in refused.text) == (422, True)
    assert "seven" in refused.text


def test_endpoints_are_listed_with_what_was_sent_to_them(
    reader: Browser, installed: str, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.console.pages.alarms.SECONDS", 0)
    assert "nothing sent" in reader.get("/endpoints").text
    needs_attention = '<span class="n">1<span class="sr"> needs attention</span></span>'
    assert needs_attention not in reader.get("/audit").text
    delivery = send(installed)
    fail(installed, delivery)
    with psycopg.connect(installed) as conn:
        conn.execute(
            "update svc.webhook_endpoint_state set failure_streak = 3, failing_since = now(),"
            " breaker_until = now() + interval '1 h'"
        )
    page = reader.get("/endpoints").text
    assert ('class="spark"' in page, "Held back" in page, "l-bad" in page) == (True, True, True)
    assert needs_attention in reader.get("/audit").text
    monkeypatch.setattr("svc_pg.console.pages.alarms.SECONDS", 1000)
    with psycopg.connect(installed) as conn:
        conn.execute(
            "update svc.webhook_endpoint_state set failure_streak = 0, failing_since = null, breaker_until = null"
        )
    assert needs_attention in reader.get("/audit").text  # it is not counted for each page
    monkeypatch.setattr("svc_pg.console.pages.alarms.SECONDS", 0)
    assert needs_attention not in reader.get("/audit").text
    with psycopg.connect(installed) as conn:
        conn.execute(
            "update svc.webhook_endpoint_state set failure_streak = 3, failing_since = now(),"
            " breaker_until = now() + interval '1 h', last_failure = 'the endpoint answered 503'"
        )
    assert "ERP" in reader.get("/endpoints?needsAttention=true").text
    page = reader.get(f"/endpoints/{endpoint.id}").text
    assert "<bdi>The endpoint answered 503</bdi>. 3 failures in a row" in page
    for part in ("Attempts are held back until", "Data as a table", "2 of 5", "some, sealed"):
        assert part in page
    assert ">1<" in page


_LISTS = [route for route in ROUTES if route.method == "GET" and not route.is_open and not route.is_stream]


@pytest.mark.parametrize("path", [route.path.replace(":", "") for route in _LISTS])
def test_no_page_drops_a_filter_that_it_does_not_know(client: httpx.Client, path: str) -> None:
    admin = signed_in(client, "admin")
    refused = admin.get(f"{path}?sicne=1h")
    assert refused.status_code == 422
    assert "does not know the filter" in unescape(refused.text)
    assert admin.get(f"{path}?sicne=").status_code == 422


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("/deliveries?since=1h&since=2h", "since may occur once"),
        ("/endpoints?needsAttention=odd", "needsAttention"),
        ("/endpoints?status=odd", "status"),
        ("/sessions?state=odd", "'odd' is none of the choices of state"),
        ("/tokens?state=odd", "'odd' is none of the choices of state"),
        ("/sessions?whose=odd", "'odd' is none of the choices of whose"),
        ("/overview?window=2h", "'2h' is none of the choices of window"),
        ("/audit/records/public.t/1?since=1h", "does not know the filter 'since'"),
    ],
)
def test_a_filter_that_selects_nothing_is_refused(client: httpx.Client, address: str, named: str) -> None:
    refused = signed_in(client, "admin").get(address)
    assert (refused.status_code, named in unescape(refused.text)) == (422, True)


def test_deliveries_before_a_time_are_listed_counted_and_changed_as_such(
    writer: Browser, installed: str, endpoint: Endpoint
) -> None:
    with psycopg.connect(installed) as conn:
        webhooks.send(conn, "order.created", {"id": 1})
    address = f"/deliveries?endpointId={endpoint.id}&until="
    assert "No delivery matches" in writer.get(address + "1h").text
    shown = writer.get(address + "2100-01-01")
    assert "order.created" in shown.text
    assert "Until" in shown.text
    assert 'name="until" value="2100-01-01"' in shown.text
    asked = writer.get(f"/deliveries/change?do=cancel&endpointId={endpoint.id}&until=1h")
    assert 'name="until" value="1h"' in asked.text
    assert "Until" in asked.text
