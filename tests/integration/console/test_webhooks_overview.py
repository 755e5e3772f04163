"""The routes of webhooks that pages and programs need: counts, traffic, messages, requests, changes of many."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, webhooks
from svc_pg.config import EventDefinition
from svc_pg.console import Console
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, hooks_config, install, rows, working
from tests.support.postgres import Prepare
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

URL = "http://127.0.0.1:9/hook"
UNKNOWN = "00000000-0000-7000-8000-000000000000"
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer", "examples": [7]}, "at": {"format": "date-time"}}}


def config() -> Config:
    made = hooks_config("order.created", "order.paid")
    made.webhooks.events["order.placed"] = EventDefinition(description="An order was placed", json_schema=SCHEMA)
    made.audit.table("public.orders")
    return made


CONFIG = config()


def fill(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute("create table public.orders (id integer primary key, state text)")
    install(conninfo, CONFIG)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return fill


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    """A signed-in client."""
    given = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=CONFIG)) as client:
        token = client.post("/console/session/init", json={}).json()["sessionToken"]
        client.headers["authorization"] = f"Bearer {token}"
        yield client


def created(client: httpx.Client, **body: Any) -> dict[str, Any]:
    response = client.post("/webhooks/endpoints", json={"url": URL, "events": ["*"]} | body)
    assert response.status_code == 201
    endpoint: dict[str, Any] = response.json()
    return endpoint


def send(client: httpx.Client, **body: Any) -> str:
    return str(client.post("/webhooks/events", json={"event": "order.created", "payload": {}} | body).json()["id"])


def found(client: httpx.Client, path: str, **query: str) -> Any:
    answer = client.get(f"/webhooks{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def counts(client: httpx.Client, **query: str) -> dict[str, int]:
    return {each["status"]: each["count"] for each in found(client, "/deliveries/counts", **query) if each["count"]}


def test_deliveries_are_counted_by_state_and_changed_by_ids_or_filter(client: httpx.Client) -> None:
    endpoint = created(client)["id"]
    acme = [send(client, tenant="acme") for _ in range(3)]
    send(client, event="order.paid")
    assert counts(client) == {"pending": 4}
    assert counts(client, tenant="acme") == {"pending": 3}
    assert counts(client, event="order.paid", endpointId=endpoint) == {"pending": 1}
    [first] = found(client, "/deliveries", messageId=acme[0])["data"]
    for body, count in (({"ids": [first["id"], UNKNOWN]}, 1), ({"tenant": "acme"}, 3), ({"messageId": acme[1]}, 1)):
        dry = client.post("/webhooks/deliveries/cancel", json=body | {"dryRun": True})
        assert dry.json() == {"count": count, "isComplete": True}
    assert counts(client) == {"pending": 4}
    assert client.post("/webhooks/deliveries/cancel", json={"ids": [first["id"]]}).json()["count"] == 1
    assert client.post("/webhooks/deliveries/cancel", json={"tenant": "acme"}).json()["count"] == 2
    assert counts(client) == {"pending": 1, "canceled": 3}
    assert client.post("/webhooks/deliveries/retry", json={"tenant": "acme", "ids": [first["id"]]}).json()["count"] == 1
    assert counts(client, tenant="acme") == {"pending": 1, "canceled": 2}
    assert client.post("/webhooks/deliveries/retry", json={"tenant": "other"}).json()["count"] == 0
    for verb in ("retry", "cancel"):
        for nothing in ({}, {"dryRun": True}):
            assert_problem(client.post(f"/webhooks/deliveries/{verb}", json=nothing), 422, "invalid_body")
        too_many = {"ids": [UNKNOWN] * 10_001}
        assert_problem(client.post(f"/webhooks/deliveries/{verb}", json=too_many), 422, "invalid_body")
        read = client.post(f"/webhooks/deliveries/{verb}", json={"tenant": "acme"}, headers=bearer("read"))
        assert_problem(read, 403, "insufficient_scope")
    assert_problem(client.get("/webhooks/deliveries/counts?status=failed"), 422, "invalid_parameter")


def test_what_is_too_dear_to_count_is_said_to_be_unknown(client: httpx.Client, database: str) -> None:
    created(client)
    send(client)
    with psycopg.connect(database) as conn:
        conn.execute("lock table svc.webhook_queue")  # nobody can read it for as long as this lasts
        counted = {each["status"]: each for each in found(client, "/deliveries/counts")}
    assert counted["pending"] == {"status": "pending", "count": None, "isComplete": False}
    assert counted["delivered"] == {"status": "delivered", "count": 0, "isComplete": True}
    assert counts(client) == {"pending": 1}


def test_what_a_change_sent_leads_to_its_audit_entry_and_back(client: httpx.Client, database: str) -> None:
    created(client)
    with psycopg.connect(database) as conn:
        conn.execute("insert into orders values (7, 'new')")
        message = webhooks.send(conn, "order.created", {"id": 7}, tenant="acme", key="order-7")
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.paid", {"id": 8})
    [entry] = [e for e in client.get("/audit/entries").json()["data"] if e["tableName"] == "public.orders"]
    [delivery] = found(client, "/deliveries", transaction=entry["xactId"])["data"]
    assert delivery["messageId"] == str(message)
    detail = found(client, f"/deliveries/{delivery['id']}")
    assert (detail["xactId"], detail["tenant"], detail["copyOf"]) == (entry["xactId"], "acme", None)
    back = client.get("/audit/entries", params={"transaction": detail["xactId"]}).json()["data"]
    assert [each["id"] for each in back] == [entry["id"]]
    [listed] = found(client, "/messages", transaction=entry["xactId"])["data"]
    assert [listed["id"]] == [each["id"] for each in found(client, "/messages", tenant="acme")["data"]]
    assert "payload" not in listed
    whole = found(client, f"/messages/{message}")
    assert (whole["payload"], whole["key"]) == ({"id": 7}, "order-7")
    assert whole["sequence"] == rows(database, "webhook_keys")[0]["sequence"]
    assert whole["xactId"] == entry["xactId"]
    assert [each["id"] for each in whole["deliveries"]] == [delivery["id"]]
    assert len(found(client, "/messages", event="order.paid", since="1h")["data"]) == 1
    page = found(client, "/messages", limit="1")
    assert len(found(client, "/messages", limit="1", cursor=page["nextCursor"])["data"]) == 1
    for path in (f"/messages/{UNKNOWN}", "/messages/seven"):
        assert_problem(client.get(f"/webhooks{path}"), 404, "unknown_message")
    for query in ("transaction=x", "transaction=" + "9" * 19, "event=%00"):
        assert_problem(client.get(f"/webhooks/messages?{query}"), 422, "invalid_parameter")


def test_a_copy_of_a_message_keeps_the_transaction_of_the_first(client: httpx.Client) -> None:
    endpoint = created(client)["id"]
    message = send(client)
    xact_id = found(client, f"/messages/{message}")["xactId"]
    replay = client.post(f"/webhooks/endpoints/{endpoint}/replay", json={"since": "1h", "newIds": True})
    assert replay.json()["count"] == 0  # it waits still
    client.post("/webhooks/deliveries/cancel", json={"messageId": message})
    client.post(f"/webhooks/endpoints/{endpoint}/replay", json={"since": "1h", "newIds": True})
    sent = found(client, "/messages", transaction=xact_id)["data"]
    assert [each["copyOf"] for each in sent] == [message, None]


def test_the_request_of_a_delivery_is_rebuilt_and_can_be_checked(client: httpx.Client, database: str) -> None:
    payload = b'{"event": "order.created", "payload": {"n": 12345678901234567.10, "who": "\xd7\x90 \xf0\x9f\x98\x80"}}'
    with receiving() as receiver:
        made = created(
            client, url=f"{receiver.url}?token=hush", headers={"Authorization": "Bearer hush"}, signatures=["v1", "v1a"]
        )
        client.post("/webhooks/events", content=payload, headers={"content-type": "application/json"})
        with working(database, CONFIG):
            [arrived] = receiver.wait_for(1)
            wait_until(lambda: rows(database, "webhook_deliveries")[0]["status"] == "delivered", "it is delivered")
    [delivery] = found(client, "/deliveries")["data"]
    path = f"/webhooks/deliveries/{delivery['id']}/request"
    shown = client.get(path).json()
    assert shown["body"].encode() == arrived.body
    values = {header["name"].lower(): header["value"] for header in shown["headers"]}
    sent = {name.lower(): value for name, value in arrived.headers.items()}
    assert values.keys() == sent.keys()
    assert values["authorization"] is None
    assert "Bearer hush" not in client.get(path).text
    assert {name: sent[name] for name in ("user-agent", "content-type", "webhook-id")} == {
        name: values[name] for name in ("user-agent", "content-type", "webhook-id")
    }
    assert shown["url"].endswith("?token=hush")
    for key in (made["secret"], made["publicKey"]):
        headers = {name: value for name, value in values.items() if value is not None}
        assert webhooks.verify_webhook_signature(headers=headers, body=shown["body"], secret=key)
    reader = client.get(path, headers=bearer("read")).json()
    assert reader["url"].endswith("?hidden")
    values = {header["name"].lower(): header["value"] for header in reader["headers"]}
    assert values["webhook-id"] == delivery["id"]
    assert (values["webhook-signature"], values["webhook-timestamp"]) == (None, None)
    assert reader["body"] == shown["body"]


def test_a_request_without_its_endpoint_its_message_or_the_keys_says_what_is_missing(database: str) -> None:
    with serving_installed(Console(settings(database_url=database), config=CONFIG)) as client:
        client.headers.update(bearer("write"))
        install_keys = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT))
        with psycopg.connect(database) as conn:
            endpoint = webhooks.endpoints.create(
                conn, url=URL, events=["*"], settings=install_keys, config=CONFIG, headers={"X-A": "hush"}
            )
            webhooks.send(conn, "order.created", {})
        [delivery] = found(client, "/deliveries")["data"]
        shown = found(client, f"/deliveries/{delivery['id']}/request")
        assert shown["hasUnnamedHeaders"]
        assert {h["name"]: h["value"] for h in shown["headers"]}["webhook-signature"] is None
        with psycopg.connect(database) as conn:
            webhooks.endpoints.delete(conn, endpoint.id)
            conn.execute("delete from svc.webhook_messages")
        shown = found(client, f"/deliveries/{delivery['id']}/request")
        assert (shown["url"], shown["body"]) == (None, None)
        assert_problem(client.get(f"/webhooks/deliveries/{UNKNOWN}/request"), 404, "unknown_delivery")


def test_an_endpoint_changes_only_as_it_was_read(client: httpx.Client) -> None:
    made = created(client)
    path = f"/webhooks/endpoints/{made['id']}"
    read = client.get(path)
    tag = read.headers["etag"]
    assert read.json()["version"] == 1
    first = client.patch(path, json={"description": "a"}, headers={"if-match": tag})
    assert (first.status_code, first.json()["version"]) == (200, 2)
    late = client.patch(path, json={"description": "b"}, headers={"if-match": tag})
    assert_problem(late, 412, "precondition_failed")
    assert late.headers["etag"] == first.headers["etag"] == client.get(path).headers["etag"] != tag
    assert client.get(path).json()["description"] == "a"
    never = client.patch(path, json={"description": "b", "timeout": -1}, headers={"if-match": tag})
    assert_problem(never, 422, "invalid_body")
    for wrong in ("nonsense", '"a', f'{tag} "b"'):
        assert_problem(client.patch(path, json={}, headers={"if-match": wrong}), 422, "invalid_if_match")
    weak = client.patch(path, json={"description": "b"}, headers={"if-match": f"W/{late.headers['etag']}"})
    assert_problem(weak, 412, "precondition_failed")
    either = client.patch(path, json={"description": "c"}, headers={"if-match": f"{tag}, {late.headers['etag']}"})
    assert either.status_code == 200
    assert client.patch(path, json={"description": "d"}, headers={"if-match": "*"}).status_code == 200
    gone = client.patch(f"/webhooks/endpoints/{UNKNOWN}", json={"description": "d"}, headers={"if-match": tag})
    assert_problem(gone, 404, "unknown_endpoint")


def test_of_two_changes_at_once_one_is_refused(client: httpx.Client) -> None:
    made = created(client)
    path = f"/webhooks/endpoints/{made['id']}"
    tag = client.get(path).headers["etag"]

    async def both() -> list[int]:
        async with httpx.AsyncClient(base_url=client.base_url, headers=client.headers) as each:
            bodies = [{"description": str(n)} for n in range(4)]
            sent = [each.patch(path, json=body, headers={"if-match": tag}) for body in bodies]
            return sorted(answer.status_code for answer in await asyncio.gather(*sent))

    assert asyncio.run(both()) == [200, 412, 412, 412]


def test_event_types_come_with_an_example_and_the_number_of_their_endpoints(client: httpx.Client) -> None:
    created(client, events=["order.placed"])
    paused = created(client, events=["order.*"])["id"]
    client.post(f"/webhooks/endpoints/{paused}/pause")
    disabled = created(client)["id"]
    client.post(f"/webhooks/endpoints/{disabled}/disable", json={})
    types = {each["name"]: each for each in found(client, "/event-types")["data"]}
    placed = types["order.placed"]
    assert (placed["endpoints"], placed["description"]) == (2, "An order was placed")
    assert placed["example"] == {"id": 7, "at": "2026-01-31T12:00:00Z"}
    assert (types["order.created"]["endpoints"], types["order.created"]["example"]) == (1, None)


def test_the_traffic_and_the_backlog_are_shown(client: httpx.Client) -> None:
    endpoint, other = created(client)["id"], created(client, events=["order.paid"])["id"]
    for _ in range(3):
        send(client)
    stats = found(client, "/stats", by="minute")
    assert (stats["sent"], stats["isEstimate"], stats["successRate"], stats["by"]) == (3, False, None, "minute")
    assert len(stats["buckets"]) in (61, 62)
    assert found(client, "/stats", endpointId=other)["sent"] == 0
    assert found(client, "/stats", by="day", since="30d", until="1s")["sent"] <= 3
    activity = found(client, "/endpoints/activity", ids=f"{endpoint},{other}", hours="12")
    assert {each["endpointId"]: sum(hour["sent"] for hour in each["hours"]) for each in activity} == {
        endpoint: 3,
        other: 0,
    }
    queue = found(client, "/backlog")
    assert queue["waiting"] == {"due": 3, "later": 0, "behind": 0, "parked": 0, "inFlight": 0}
    assert queue["backlog"]["oldestDueSeconds"] >= 0
    assert queue["backlog"]["active"] == 2
    assert [each["id"] for each in found(client, "/endpoints", ids=f"{other},{UNKNOWN}")["data"]] == [other]
    for path in ("/endpoints/activity", "/stats?by=week", "/endpoints/activity?ids=x&hours=1x"):
        assert_problem(client.get(f"/webhooks{path}"), 422, "invalid_parameter")
    for path in ("/stats?since=900d", "/stats?endpointId=x", "/endpoints/activity?ids=x", "/stats?since=1h&until=2h"):
        assert_problem(client.get(f"/webhooks{path}"), 422, "invalid_value")
