"""The page of an outage: it tells since when an endpoint fails, shows hostile answers as texts, and sends again."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row
from pydantic import SecretStr

from svc_pg import Config, webhooks
from svc_pg.console import Console
from svc_pg.database.query import scalar
from tests.integration.console.browsing import HOSTILE, Browser, assert_strict, hidden, signed_in
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, hooks_config
from tests.support.hooks import endpoint as new_endpoint
from tests.support.postgres import new_database

CONFIG: Final[Config] = hooks_config("order.created")
URL: Final = "http://127.0.0.1:9/hook"
UNKNOWN: Final = "00000000-0000-7000-8000-000000000000"
BIDI: Final = "\u202eevil\u2066"
KEPT: Final = 16 * 1024


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        new_endpoint(conninfo, CONFIG, URL, description="Northwind <b>ERP</b>", max_in_flight=100)
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
def db(installed: str) -> Iterator[psycopg.Connection[Any]]:
    """In autocommit, with one endpoint that has had nothing yet."""
    with psycopg.connect(installed, autocommit=True) as conn:
        yield conn
        for table in ("delivery_attempts", "queue", "leases", "deliveries", "messages", "parked_endpoints"):
            conn.execute(f"delete from svc.webhook_{table}".encode())
        conn.execute(
            """update svc.webhook_endpoint_state
                  set failure_streak = 0, failing_since = null, breaker_until = null, breaker_count = 0,
                      outage_since = null, first_failure_at = null, recovered_at = null, last_success_at = null,
                      last_failure_at = null, last_failure = null, throttled_until = null, throttled_since = null,
                      breaker_opened_at = '{}', breaker_opened_until = '{}'"""
        )
        conn.execute("update svc.webhook_endpoints set status = 'active', disabled_reason = null")


def send(db: psycopg.Connection[Any], number: int = 1) -> None:
    webhooks.send_many(db, "order.created", [{}] * number)


def attempt(
    db: psycopg.Connection[Any], disposition: str, number: int = 1, *, body: str = "", wait: float = 60.0, **head: str
) -> None:
    """Claim and acknowledge so many deliveries."""
    claim = db.cursor(row_factory=dict_row).execute("select * from svc.webhook_claim('w', %s)", (number,)).fetchall()
    is_success = disposition == "delivered"
    accepted = scalar(
        db,
        "select cardinality(accepted) from svc.webhook_acknowledge("
        "%s, %s, %s, %s, %s, %s, %s, %s, %s::json[], %s, '{}')",
        (
            [each["delivery_id"] for each in claim],
            [each["lease_id"] for each in claim],
            [disposition] * number,
            [wait] * number,
            ["success" if is_success else "http_error"] * number,
            [204 if is_success else 503] * number,
            [None if is_success else "the endpoint answered 503"] * number,
            [70] * number,
            [json.dumps(head)] * number,
            [body] * number,
        ),
    )
    assert accepted == number


def key(db: psycopg.Connection[Any]) -> str:
    found: str = scalar(db, "select id::text from svc.webhook_endpoints")
    return found


def shown(browser: Browser, db: psycopg.Connection[Any]) -> str:
    page = browser.get(f"/endpoints/{key(db)}/outage")
    assert page.status_code == 200
    assert_strict(page.text)
    return re.sub(r"\s+", " ", page.text)


def test_an_endpoint_that_was_never_used_says_so(writer: Browser, db: psycopg.Connection[Any]) -> None:
    page = shown(writer, db)
    assert "Nothing was delivered to it yet" in page
    assert "Northwind &lt;b&gt;ERP" in page


def test_it_turns_green_by_itself_and_tells_how_long_it_lasted(writer: Browser, db: psycopg.Connection[Any]) -> None:
    send(db, 4)
    attempt(db, "delivered")
    assert "It is well." in shown(writer, db)
    attempt(db, "retry", body="full")
    page = shown(writer, db)
    assert "It has failed since" in page
    assert "1 failure in a row" in page
    assert "3 deliveries wait" in page
    assert re.findall(r"data-live[^ >]*", page) == ['data-live="15"'] * 3, "it is a costly page"
    attempt(db, "delivered")
    page = shown(writer, db)
    assert "It is well again" in page
    assert "The last outage lasted" in page


def test_each_state_has_its_words(writer: Browser, db: psycopg.Connection[Any]) -> None:
    send(db, 30)
    attempt(db, "retry", 10)
    assert "Attempts are held back until" in shown(writer, db)
    webhooks.endpoints.pause(db, key(db))
    page = shown(writer, db)
    assert "It is paused." in page
    assert "Before that it failed" in page
    webhooks.endpoints.resume(db, key(db))
    assert "It was resumed, and has not succeeded since" in shown(writer, db)
    webhooks.endpoints.disable(db, key(db), reason=HOSTILE[0])
    assert "It is disabled:" in shown(writer, db)
    webhooks.endpoints.resume(db, key(db))
    send(db, 2)
    attempt(db, "delivered")
    attempt(db, "throttled")
    assert "That is no outage" in shown(writer, db)


@pytest.mark.parametrize("body", [*HOSTILE, BIDI, "\0".join("ab").replace("\0", "\x01"), "€" * (KEPT // 3)])
def test_hostile_answers_are_texts(writer: Browser, db: psycopg.Connection[Any], body: str) -> None:
    send(db, 2)
    attempt(db, "retry", body=body, server=body[:1000])
    attempt(db, "failed", body=body, server=body[:1000])
    page = shown(writer, db)
    assert "\u202e" not in page
    assert "<script>alert" not in page
    assert len(page.encode()) < 250 * 1024


def test_what_failed_is_sent_again_once_and_never_more_than_was_shown(
    writer: Browser, db: psycopg.Connection[Any]
) -> None:
    send(db, 6)
    attempt(db, "failed", 2)
    page = shown(writer, db)
    assert "2 deliveries</b> failed since" in page
    [link] = re.findall(r'href="[^"]*?/ui(/deliveries/change\?[^"]*)"', page)
    address = link.replace("&amp;", "&")
    attempt(db, "failed", 1)  # after the page was made
    assert "since=" not in address.replace("finishedSince=", ""), "what was sent before may have failed in it too"
    confirmation = writer.get(address).text
    assert "Send 2 deliveries again?" in confirmation
    assert confirmation.count("order.created") >= 2
    fields = hidden(writer, address)
    for _ in range(2):
        done = writer.post("/deliveries/change", fields)
        assert "<b>2 deliveries are sent again.</b>" in done.text, "the list has none of them any more"
        assert "None matches any more" in done.text
    [sent] = re.findall(r'href="[^"]*?/ui(/deliveries[^"]*)">See them on their way', done.text)
    assert "finished" not in sent
    assert "order.created" in writer.get(sent.replace("&amp;", "&")).text
    states = dict(db.execute("select status, count(*) from svc.webhook_deliveries group by 1").fetchall())
    assert states == {"pending": 5, "failed": 1}
    manual = scalar(db, "select count(*) from svc.webhook_deliveries where manual_attempt is not null")
    assert manual == 2


@pytest.mark.parametrize("told", ["x", "retry", "2", '["retry", 9]', "A" * 200, BIDI])
def test_nobody_makes_up_that_deliveries_were_sent_again(
    writer: Browser, db: psycopg.Connection[Any], told: str
) -> None:
    send(db, 1)
    page = writer.get(f"/deliveries?{urlencode({'done': told})}")
    assert page.status_code == 200
    assert "sent again.</b>" not in page.text
    assert "done=" not in page.text.replace("search?", ""), "no link keeps it"


def test_the_time_since_which_they_failed_can_be_chosen(writer: Browser, db: psycopg.Connection[Any]) -> None:
    send(db, 6)
    attempt(db, "failed", 1)
    db.execute("update svc.webhook_deliveries set finished_at = now() - interval '3 days' where status = 'failed'")
    attempt(db, "failed", 2)
    address = f"/endpoints/{key(db)}/outage"
    assert "2 deliveries</b> failed since" in shown(writer, db)
    days_ago = scalar(db, "select to_char(now() at time zone 'UTC' - interval '4 days', 'YYYY-MM-DD\"T\"HH24:MI:07')")
    page = writer.get(f"{address}?finishedSince={days_ago}").text
    assert_strict(page)
    assert f'value="{days_ago}"' in page, "the form keeps the time"
    assert "3 deliveries</b> failed since" in page
    [link] = re.findall(r'href="[^"]*?/ui(/deliveries/change\?[^"]*)"', page)
    assert "Send 3 deliveries again?" in writer.get(link.replace("&amp;", "&")).text
    tomorrow = scalar(db, "select to_char(now() at time zone 'UTC' + interval '1 day', 'YYYY-MM-DD')")
    page = writer.get(f"{address}?finishedSince={tomorrow}").text
    assert "Nothing of it has failed since" in page
    assert "/deliveries/change" not in page, "there is nothing to send"


@pytest.mark.parametrize(
    "since", ["soon", "2026-13-45", "'; drop", '"><script>alert(1)</script>', BIDI, "0" * 5000, "9999-12-31T23:59:60"]
)
def test_a_time_that_cannot_be_read_is_said_at_its_field(
    writer: Browser, db: psycopg.Connection[Any], since: str
) -> None:
    send(db, 1)
    attempt(db, "failed", 1)
    page = writer.get(f"/endpoints/{key(db)}/outage?{urlencode({'finishedSince': since})}")
    assert page.status_code == 422
    assert_strict(page.text)
    assert 'aria-invalid="true"' in page.text
    assert "Write it as 2026-11-27" in page.text
    assert "1 delivery</b> failed since" in re.sub(r"\s+", " ", page.text), "the outage's own time stays"
    assert "<script>alert" not in page.text
    assert "data-live" not in page.text, "each answer would be the refusal again"


@pytest.mark.parametrize("since", ["0001-01-01", "9999-12-31T23:59:59"])
def test_the_ends_of_time_are_times(writer: Browser, db: psycopg.Connection[Any], since: str) -> None:
    send(db, 1)
    attempt(db, "failed", 1)
    assert writer.get(f"/endpoints/{key(db)}/outage?finishedSince={since}").status_code == 200


def test_an_endpoint_that_is_not_there_is_not_found(writer: Browser, client: httpx.Client) -> None:
    assert writer.get(f"/endpoints/{UNKNOWN}/outage").status_code == 404
    assert client.get(f"/webhooks/endpoints/{UNKNOWN}/outage", headers=bearer("read")).status_code == 404


def test_a_delivery_that_waits_for_its_endpoint_leads_to_the_outage(
    writer: Browser, db: psycopg.Connection[Any]
) -> None:
    send(db, 1)
    attempt(db, "retry", wait=-60)
    [delivery] = db.execute("select id::text from svc.webhook_deliveries").fetchone() or [""]
    outage = f'/ui/endpoints/{key(db)}/outage">See the outage</a>'
    before = writer.get(f"/deliveries/{delivery}").text
    assert outage not in before
    assert "<dt>Due</dt>" in before, "the next attempt is not in the past"
    db.execute("update svc.webhook_endpoint_state set failing_since = now(), breaker_until = now() + interval '1 h'")
    page = writer.get(f"/deliveries/{delivery}").text
    assert_strict(page)
    assert outage in page
    assert re.search(r'class="m clock">\d\d:\d\d:\d\d</span>', page), "attempts have their time of day"


def test_a_failed_delivery_says_the_last_answer_if_no_reason_is_on_record(
    writer: Browser, db: psycopg.Connection[Any]
) -> None:
    send(db, 1)
    attempt(db, "failed")
    [delivery] = db.execute("select id::text from svc.webhook_deliveries").fetchone() or [""]
    assert "The last answer" not in writer.get(f"/deliveries/{delivery}").text, "the reason has it"
    db.execute("update svc.webhook_delivery_attempts set error = null")
    page = writer.get(f"/deliveries/{delivery}").text
    assert "<p>The last answer: HTTP 503, below.</p>" in page
