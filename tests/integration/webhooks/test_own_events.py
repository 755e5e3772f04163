"""The events that svc-pg itself sends are those of one list, and their requests are as the OpenAPI document says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from jsonschema import Draft202012Validator

from svc_pg import audit
from svc_pg.audit import SealKey
from svc_pg.console.published_document import published_document
from svc_pg.database.query import fetch_one
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.events.own_events import OWN_EVENTS
from tests.integration.webhooks.test_operational_events import CONFIG, Connection, attempt, new, send
from tests.support.hooks import install
from tests.support.postgres import Prepare

DOCUMENT: Final[Any] = published_document()
FUNCTIONS: Final = Path("sql/webhooks")
PING: Final = "webhook.ping"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def test_the_database_knows_the_same_events_with_the_same_words(db: Connection) -> None:
    found = db.execute(
        "select name, description from svc.webhook_event_types where not '*' = any (patterns)"
    ).fetchall()
    assert dict(found) == {event.name: event.description for event in OWN_EVENTS if event.name != PING}


def test_every_event_that_a_function_sends_is_in_the_list() -> None:
    texts = [path.read_text(encoding="utf-8") for path in FUNCTIONS.glob("*.sql")]
    sent = {name for text in texts for name in re.findall(r"'((?:webhook|audit)(?:\.[a-z]+)+)'", text)}
    assert sent == {event.name for event in OWN_EVENTS}
    assert list(DOCUMENT["webhooks"]) == [event.name for event in OWN_EVENTS]


def test_every_request_is_as_the_document_says(db: Connection) -> None:
    shop = new(db, "https://shop.example/hook?token=hush", "order.*")
    new(db, "https://monitor.example", "webhook.*", "audit.sealed")
    audit.capture_log(db, "a", "INSERT")
    audit.seal(db, key=SealKey("s1", b"k" * 32))
    db.execute("select svc.webhook_ping(%s)", (shop,))
    send(db, 10)
    attempt(db, shop)
    db.execute("update svc.webhook_deliveries set next_attempt_at = now() where status = 'pending'")
    fetch_one(db, endpoints.resume(shop))
    attempt(db, shop, "delivered")
    send(db, 1)
    attempt(db, shop, "failed")
    fetch_one(db, endpoints.disable(shop, reason="moved"))
    text = (
        "select svc.webhook_envelope(m) from svc.webhook_messages m where m.event_name <> 'order.created' order by m.id"
    )
    bodies = [json.loads(body) for (body,) in db.execute(text).fetchall()]
    assert {body["type"] for body in bodies} == {event.name for event in OWN_EVENTS}
    for body in bodies:
        content = DOCUMENT["webhooks"][body["type"]]["post"]["requestBody"]["content"]["application/json"]
        Draft202012Validator({"components": DOCUMENT["components"], **content["schema"]}).validate(body)
        [reference] = re.findall(r"[^/]+$", content["schema"]["properties"]["data"]["$ref"])
        assert body["data"].keys() == DOCUMENT["components"]["schemas"][reference]["properties"].keys()
