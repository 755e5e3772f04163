"""The management API of webhooks, over HTTP."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from pydantic import SecretStr

from svc_pg import webhooks
from svc_pg.console import Console
from svc_pg.database.query import scalar
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.certificates import authority
from tests.support.hooks import KEYS_TEXT, hooks_config, install, rows, working
from tests.support.pages import all_data
from tests.support.postgres import Prepare, new_database
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
URL = "http://127.0.0.1:9/hook"
OPERATIONAL = [
    "audit.sealed",
    "webhook.delivery.exhausted",
    "webhook.endpoint.disabled",
    "webhook.endpoint.failing",
    "webhook.endpoint.recovered",
]
UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@contextmanager
def signed_in(conninfo: str, **options: Any) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=conninfo, **options), config=CONFIG)) as client:
        token = client.post("/console/session/init", json={}).json()["sessionToken"]
        client.headers["authorization"] = f"Bearer {token}"
        yield client


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    """A signed-in client."""
    with signed_in(database, encryption_keys=SecretStr(KEYS_TEXT)) as client:
        yield client


@pytest.fixture(scope="module")
def refused(postgres: str, module_template: str) -> Iterator[httpx.Client]:
    """As ``client``, for all cases of requests that are refused, and store nothing."""
    with new_database(postgres, template=module_template) as conninfo:
        with signed_in(conninfo, encryption_keys=SecretStr(KEYS_TEXT)) as client:
            yield client
        with psycopg.connect(conninfo) as conn:
            for table in ("webhook_endpoints", "webhook_messages", "webhook_deliveries"):
                assert conn.execute(SQL("select from svc.{}").format(Identifier(table))).fetchall() == []


def created(client: httpx.Client, **body: Any) -> dict[str, Any]:
    response = client.post("/webhooks/endpoints", json={"url": URL, "events": ["*"]} | body)
    assert response.status_code == 201
    assert response.headers["location"].endswith(f"/webhooks/endpoints/{response.json()['id']}")
    endpoint: dict[str, Any] = response.json()
    return endpoint


def test_an_endpoint_is_created_changed_and_deleted_and_its_secret_is_shown_once(
    client: httpx.Client, database: str
) -> None:
    made = created(client, headers={"Authorization": "Bearer hush"}, timeout=2.5, maxInFlight=3)
    secret = made.pop("secret")
    assert (secret.startswith("whsec_"), made.pop("isNewTenant")) == (True, False)
    assert (made["status"], made["timeout"], made["maxInFlight"], made["hasHeaders"]) == ("active", 2.5, 3, True)
    path = f"/webhooks/endpoints/{made['id']}"
    assert client.get(path).json() == made
    assert client.get("/webhooks/endpoints").json() == {"data": [made], "nextCursor": None, "prevCursor": None}
    changed = client.patch(path, json={"events": ["order.created"], "headers": {}, "timeout": 7}).json()
    assert (changed["events"], changed["hasHeaders"], changed["timeout"]) == (["order.created"], False, 7)
    assert secret not in client.get(path).text
    assert "hush" not in client.get(path).text
    assert client.delete(path).status_code == 204
    assert_problem(client.get(path), 404, "unknown_endpoint")
    with psycopg.connect(database) as conn:
        entries = conn.execute("select operation, actor_id, context ->> 'request_id' from svc.audit_logs order by id")
        found = entries.fetchall()
    assert [row[:2] for row in found] == [(kind, "dev@localhost") for kind in ("INSERT", "UPDATE", "DELETE")]
    assert None not in {row[2] for row in found}


def test_the_options_of_an_endpoint_are_set_and_taken_back_and_its_tls_is_never_shown(
    client: httpx.Client, tmp_path: Path
) -> None:
    ours = authority(tmp_path)
    certificate, key = ours.client()
    tls = {"caBundle": ours.pem, "clientCertificate": certificate, "clientKey": key}
    made = created(client, filter="$.n > 1", ordering="strict", ratePerSecond=5, signatures=["v1", "v1a"], tls=tls)
    assert (made["filter"], made["ordering"], made["ratePerSecond"], made["hasTls"]) == ("$.n > 1", "strict", 5, True)
    assert made["publicKey"].startswith("whpk_")
    assert "BEGIN" not in json.dumps(made)
    path = f"/webhooks/endpoints/{made['id']}"
    taken_back = {"filter": None, "ratePerSecond": None, "tls": None}
    changed = client.patch(path, json=taken_back).json()
    assert [changed[name] for name in ("filter", "ratePerSecond", "hasTls", "ordering")] == [
        None,
        None,
        False,
        "strict",
    ]
    assert changed["clientCertificateExpiresAt"] is None
    for wrong in ({"tls": {"clientKey": key}}, {"filter": "$.a == $.b"}):
        assert_problem(client.patch(path, json=wrong), 422, "invalid_endpoint")
    unreadable: list[dict[str, Any]] = [{"ratePerSecond": 0}, {"ordering": "x"}, {"signatures": []}, {"url": None}]
    for wrong in unreadable:
        assert_problem(client.patch(path, json=wrong), 422, "invalid_body")


def test_the_refusal_of_a_field_points_to_it(client: httpx.Client) -> None:
    path = f"/webhooks/endpoints/{created(client)['id']}"
    for pointer, value in {
        "/url": "https://10.0.0.1/",
        "/events": ["order.unknown"],
        "/filter": "$.a == $.b",
        "/headers": {"Host": "x"},
        "/description": "x" * 1001,
        "/tls": {"caBundle": "x"},
        "/maxInFlight": 0,  # which the schema of the body tells
    }.items():
        refused = client.patch(path, json={"description": "", pointer.strip("/"): value})
        problem = refused.json()
        assert (refused.status_code, [each["pointer"] for each in problem["errors"]]) == (422, [pointer])
        assert pointer == "/maxInFlight" or problem["errors"][0]["detail"] == problem["detail"]
    wrong = {"url": "ftp://a", "headers": {"Host": "x"}, "description": "x" * 1001, "timeout": 10}
    several = client.patch(path, json=wrong).json()["errors"]
    assert {each["pointer"] for each in several} == {"/url", "/headers", "/description"}
    assert len({each["detail"] for each in several}) == 3
    refused = client.post("/webhooks/endpoints", json={"url": URL, "events": ["*"], "tenant": ""})
    assert [each["pointer"] for each in refused.json()["errors"]] == ["/tenant"]


def test_an_event_is_sent_delivered_and_looked_at(client: httpx.Client, database: str) -> None:
    with receiving() as receiver:
        endpoint = created(client, url=receiver.url)
        body = b'{"event": "order.created", "key": "order-1", "payload": {"n": 12345678901234567.10, "x": 1.0}}'
        headers = {"content-type": "application/json", "idempotency-key": "order-1"}
        sent = [client.post("/webhooks/events", content=body, headers=headers) for _ in range(2)]
        assert [response.status_code for response in sent] == [202, 202]
        assert sent[0].json() == sent[1].json()
        with working(database, CONFIG):
            [request] = receiver.wait_for(1)
            wait_until(lambda: rows(database, "webhook_deliveries")[0]["status"] == "delivered", "it is delivered")
    assert b'{"n": 12345678901234567.10, "x": 1.0}' in request.body
    assert webhooks.verify_webhook_signature(headers=request.headers, body=request.body, secret=endpoint["secret"])
    [listed] = client.get("/webhooks/deliveries", params={"messageId": sent[0].json()["id"]}).json()["data"]
    detail = client.get(f"/webhooks/deliveries/{listed['id']}")
    assert '"payload":{"n": 12345678901234567.10, "x": 1.0}' in detail.text
    assert [detail.json()[name] for name in ("idempotencyKey", "key")] == ["order-1", "order-1"]
    assert f'"sequence":{detail.json()["sequence"]},'.encode() in request.body
    [attempt] = client.get(f"/webhooks/deliveries/{listed['id']}/attempts").json()["data"]
    assert (attempt["outcome"], attempt["statusCode"], attempt["cause"]) == ("success", 204, "auto")
    stats = client.get(f"/webhooks/endpoints/{endpoint['id']}/stats", params={"window": "1h"}).json()
    assert (stats["deliveries"], stats["window"]) == ({"delivered": 1}, 3600)


@pytest.mark.parametrize("key", ["", "k" * 2048, "é" * 200, "a\0b"])
def test_a_key_is_neither_empty_nor_long(refused: httpx.Client, key: str) -> None:
    answer = refused.post("/webhooks/events", json={"event": "order.created", "payload": 1, "key": key})
    assert answer.status_code == 422
    assert "key" in answer.text


def test_a_tenant_that_is_too_long_is_refused(refused: httpx.Client) -> None:
    body = {"event": "order.created", "payload": 1, "tenant": "é" * 513}
    assert_problem(refused.post("/webhooks/events", json=body), 422, "invalid_value")


@pytest.mark.parametrize("keys", [[""], ["order-1", "order-1"], ["k" * 1025]])
def test_an_idempotency_key_is_given_once_and_is_neither_empty_nor_long(refused: httpx.Client, keys: list[str]) -> None:
    headers = [("idempotency-key", key) for key in keys]
    body = {"event": "order.created", "payload": 1}
    assert_problem(refused.post("/webhooks/events", json=body, headers=headers), 422, "invalid_idempotency_key")


def test_deliveries_are_canceled_retried_and_recovered(client: httpx.Client) -> None:
    endpoint = created(client)["id"]
    client.post("/webhooks/events", json={"event": "order.created", "payload": 1})
    [delivery] = client.get("/webhooks/deliveries").json()["data"]
    path = f"/webhooks/deliveries/{delivery['id']}"
    assert client.post(f"{path}/cancel").json()["status"] == "canceled"
    assert_problem(client.post(f"{path}/cancel"), 409, "conflict")
    assert client.post(f"{path}/retry").json()["status"] == "pending"
    assert [reason["reason"] for reason in client.get(f"{path}/why").json()] == ["due", "no_worker"]
    client.post(f"{path}/cancel")
    assert [reason["reason"] for reason in client.get(f"{path}/why").json()] == ["canceled"]
    bulk = {"endpointId": endpoint, "status": "canceled", "since": "1h"}
    counted = client.post("/webhooks/deliveries/retry", json=bulk | {"dryRun": True})
    assert counted.json() == {"count": 1, "isComplete": True}
    assert client.post("/webhooks/deliveries/retry", json=bulk).json()["count"] == 1
    client.post(f"{path}/cancel")
    assert client.post(f"/webhooks/endpoints/{endpoint}/recover").json() == {"count": 1, "isComplete": True}
    assert_problem(client.post("/webhooks/deliveries/retry", json={}), 422, "invalid_body")
    empty = {"until": None, "status": None, "dryRun": True}
    assert_problem(client.post("/webhooks/deliveries/retry", json=empty), 422, "invalid_body")
    client.post(f"{path}/cancel")
    replay = {"since": "1h", "status": "canceled", "event": "order.created"}
    replayed = [
        client.post(f"/webhooks/endpoints/{endpoint}/replay", json=replay | more)
        for more in ({"dryRun": True}, {"dryRun": True, "by": "finished"}, {"newIds": True}, {}, {})
    ]
    assert [each.json() for each in replayed] == [{"count": n, "nextCursor": None} for n in (1, 1, 1, 1, 0)]
    assert len(client.get("/webhooks/deliveries", params={"status": "pending"}).json()["data"]) == 2


def test_an_endpoint_is_paused_resumed_disabled_rotated_and_pinged(client: httpx.Client) -> None:
    made = created(client)
    path = f"/webhooks/endpoints/{made['id']}"
    assert client.post(f"{path}/pause").json()["status"] == "paused"
    assert_problem(client.post(f"{path}/ping"), 409, "conflict")
    assert client.post(f"{path}/resume").json()["status"] == "active"
    assert client.post(f"{path}/ping").json()["eventName"] == "webhook.ping"
    rotated = client.post(f"{path}/rotate-secret", json={"overlap": 60}).json()
    assert rotated["secret"] != made["secret"]
    assert rotated["previousSecretExpiresAt"] is not None
    assert client.post(f"{path}/disable", json={"reason": "spam"}).json()["disabledReason"] == "spam"
    assert_problem(client.post(f"{path}/recover"), 409, "conflict")


def test_the_health_of_endpoints_is_listed_and_filtered(client: httpx.Client, database: str) -> None:
    good, bad = created(client)["id"], created(client)["id"]
    client.post("/webhooks/events", json={"event": "order.created", "payload": 1})
    with psycopg.connect(database) as conn:
        failing = (
            "update svc.webhook_endpoint_state set failure_streak = 1, failing_since = now() where endpoint_id = %s"
        )
        conn.execute(failing, (bad,))
    assert [row["endpointId"] for row in client.get("/webhooks/endpoints/health").json()["data"]] == [bad, good]
    for query in ({"needsAttention": "true"}, {"health": "failing"}):
        [row] = client.get("/webhooks/endpoints/health", params=query).json()["data"]
        assert (row["endpointId"], row["health"], row["failureStreak"], row["backlogAge"] >= 0) == (
            bad,
            "failing",
            1,
            True,
        )
    for wrong in ({"needsAttention": "yes"}, {"health": "ill"}):
        assert_problem(client.get("/webhooks/endpoints/health", params=wrong), 422, "invalid_parameter")


def test_event_types_are_listed(client: httpx.Client) -> None:
    names = [event["name"] for event in client.get("/webhooks/event-types").json()["data"]]
    assert names == sorted(["order.created", *OPERATIONAL])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/endpoints", {}, 422, "invalid_body"),
        ("POST", "/endpoints", {"url": URL, "events": ["order.unknown"]}, 422, "invalid_endpoint"),
        ("POST", "/endpoints", {"url": URL, "events": []}, 422, "invalid_endpoint"),
        ("POST", "/endpoints", {"url": URL, "events": ["*"], "secret": "mine"}, 422, "invalid_body"),
        ("POST", "/endpoints", {"url": "https://10.0.0.1/", "events": ["*"]}, 422, "invalid_endpoint"),
        ("POST", "/endpoints", {"url": URL, "events": ["*"], "headers": {"Host": "x"}}, 422, "invalid_endpoint"),
        ("POST", "/endpoints", {"url": URL, "events": ["*"], "tenant": "\0"}, 422, "invalid_endpoint"),
        ("POST", "/events", {"event": "order.unknown", "payload": {}}, 422, "unknown_event"),
        ("POST", "/events", {"event": "order.created"}, 422, "invalid_body"),
        ("POST", "/events", {"event": "order.created", "payload": "x" * 300_000}, 422, "invalid_payload"),
        ("POST", "/events", {"event": "order.created", "payload": {"a": ["\0"]}}, 422, "invalid_payload"),
        ("POST", "/deliveries/retry", {"status": "lost"}, 422, "invalid_body"),
        ("POST", f"/endpoints/{UNKNOWN}/pause", None, 404, "unknown_endpoint"),
        ("POST", f"/endpoints/{UNKNOWN}/ping", None, 404, "unknown_endpoint"),
        ("POST", f"/endpoints/{UNKNOWN}/recover", None, 404, "unknown_endpoint"),
        ("POST", f"/endpoints/{UNKNOWN}/replay", {"since": "1h"}, 404, "unknown_endpoint"),
        ("POST", f"/endpoints/{UNKNOWN}/replay", {}, 422, "invalid_value"),
        ("POST", f"/endpoints/{UNKNOWN}/replay", {"after": "eA"}, 422, "invalid_value"),
        ("POST", f"/endpoints/{UNKNOWN}/replay", {"since": "1h", "status": "pending"}, 422, "invalid_body"),
        (
            "POST",
            f"/endpoints/{UNKNOWN}/replay",
            {"since": "1h", "status": "missing", "by": "finished"},
            422,
            "invalid_value",
        ),
        ("POST", f"/endpoints/{UNKNOWN}/rotate-secret", None, 404, "unknown_endpoint"),
        ("GET", f"/endpoints/{UNKNOWN}/stats", None, 404, "unknown_endpoint"),
        ("DELETE", f"/endpoints/{UNKNOWN}", None, 404, "unknown_endpoint"),
        ("GET", f"/deliveries/{UNKNOWN}/attempts", None, 404, "unknown_delivery"),
        ("GET", f"/deliveries/{UNKNOWN}/why", None, 404, "unknown_delivery"),
        ("POST", f"/deliveries/{UNKNOWN}/cancel", None, 404, "unknown_delivery"),
        ("POST", f"/endpoints/{UNKNOWN}/unknown", None, 404, "not_found"),
        ("GET", f"/endpoints/{UNKNOWN}", None, 404, "unknown_endpoint"),
        ("PATCH", f"/endpoints/{UNKNOWN}", {"description": ""}, 404, "unknown_endpoint"),
        ("POST", f"/deliveries/{UNKNOWN}/retry", None, 404, "unknown_delivery"),
        ("GET", "/endpoints/seven", None, 404, "unknown_endpoint"),
        ("GET", "/deliveries/seven", None, 404, "unknown_delivery"),
        ("GET", f"/endpoints/{UNKNOWN}/stats?window=8d", None, 422, "invalid_parameter"),
    ],
)
def test_a_bad_request_is_a_problem_with_a_code(
    refused: httpx.Client, method: str, path: str, body: object, status: int, code: str
) -> None:
    assert_problem(refused.request(method, f"/webhooks{path}", json=body), status, code)


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/deliveries/retry", {"since": "rubbish"}, "/since"),
        ("/deliveries/retry", {"until": "2026-01"}, "/until"),
        ("/deliveries/retry", {"endpointId": "seven"}, "/endpointId"),
        ("/deliveries/retry", {"event": "a\0b"}, "/event"),
        (f"/endpoints/{UNKNOWN}/recover", {"since": "rubbish"}, "/since"),
        ("/events", {"event": "a\0b", "payload": 1}, "/event"),
        ("/events", {"event": "order.created", "payload": 1, "tenant": "\0"}, "/tenant"),
        ("/events", {"event": "order.created", "payload": 1, "tenant": "t" * 1001}, "/tenant"),
    ],
)
def test_a_wrong_member_of_a_body_is_named(
    refused: httpx.Client, path: str, body: dict[str, object], pointer: str
) -> None:
    answer = refused.post(f"/webhooks{path}", json=body)
    assert_problem(answer, 422, "invalid_body")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert "query parameter" not in answer.text


def test_without_encryption_keys_what_needs_them_is_503_and_the_rest_goes_on(database: str) -> None:
    with signed_in(database) as client:
        body = {"url": "https://example.com", "events": ["*"]}
        assert_problem(client.post("/webhooks/endpoints", json=body), 503, "encryption_key_missing")
        assert client.get("/webhooks/endpoints").json()["data"] == []
    with psycopg.connect(database) as conn:
        assert scalar(conn, "select count(*) from svc.webhook_endpoints") == 0


@pytest.mark.parametrize("permission", ["read", "nothing"])
def test_changing_needs_the_permission_to_write(refused: httpx.Client, permission: str) -> None:
    headers = bearer("read") if permission == "read" else {"authorization": ""}
    status, code = (403, "insufficient_scope") if permission == "read" else (401, "not_authenticated")
    for method, path in (
        ("POST", "/endpoints"),
        ("PATCH", f"/endpoints/{UNKNOWN}"),
        ("DELETE", f"/endpoints/{UNKNOWN}"),
        ("POST", f"/endpoints/{UNKNOWN}/rotate-secret"),
        ("POST", f"/endpoints/{UNKNOWN}/pause"),
        ("POST", "/deliveries/retry"),
        ("POST", f"/deliveries/{UNKNOWN}/cancel"),
        ("POST", "/events"),
    ):
        assert_problem(refused.request(method, f"/webhooks{path}", json={}, headers=headers), status, code)


def test_the_attempts_of_a_delivery_come_in_pages(client: httpx.Client, database: str) -> None:
    endpoint = created(client)
    delivery = client.post(f"/webhooks/endpoints/{endpoint['id']}/ping").json()["id"]
    with psycopg.connect(database) as conn:
        conn.execute(
            "insert into svc.webhook_delivery_attempts"
            " (delivery_id, endpoint_id, attempt, cause, started_at, outcome, response_body)"
            " select %s, %s, n, 'manual', now(), 'http_error', repeat('x', 16000) from generate_series(1, 400) n",
            [delivery, endpoint["id"]],
        )
    path = f"/webhooks/deliveries/{delivery}/attempts"
    first = client.get(f"{path}?limit=1000")
    assert len(first.content) < 4_500_000
    second = client.get(path, params={"limit": 1000, "cursor": first.json()["nextCursor"]}).json()
    found = [attempt["attempt"] for attempt in first.json()["data"] + second["data"]]
    assert (found, second["nextCursor"]) == (list(range(1, 401)), None)
    assert (
        client.get(path, params={"limit": 1000, "before": second["prevCursor"]}).json()["data"] == first.json()["data"]
    )
    assert [attempt["attempt"] for attempt in all_data(client, path)] == found
    assert_problem(client.get(f"/webhooks/deliveries/{delivery}/attempts?order=newest"), 422, "invalid_parameter")


def test_every_list_can_be_read_backwards(client: httpx.Client) -> None:
    for _ in range(3):
        client.post(f"/webhooks/endpoints/{created(client)['id']}/ping")
    for path, query in (
        ("/webhooks/endpoints", {}),
        ("/webhooks/deliveries", {}),
        ("/webhooks/deliveries", {"event": "webhook.ping"}),
        ("/webhooks/deliveries", {"event": "webhook.ping", "status": "pending"}),
    ):
        assert len(all_data(client, path, limit=1, **query)) == 3
    # their backlogs grow older while they are read
    first = client.get("/webhooks/endpoints/health", params={"limit": 1}).json()
    second = client.get("/webhooks/endpoints/health", params={"limit": 1, "cursor": first["nextCursor"]}).json()
    back = client.get("/webhooks/endpoints/health", params={"limit": 1, "before": second["prevCursor"]}).json()
    assert back["data"][0]["endpointId"] == first["data"][0]["endpointId"]


def test_a_session_that_only_reads_sees_no_query_of_an_url_which_may_be_a_token(
    client: httpx.Client, database: str
) -> None:
    secret = "hush?2&x=1"
    made = created(client, url=f"{URL}?token={secret}", events=["webhook.endpoint.disabled"])
    other = created(client, url=f"{URL}?token={secret}")
    assert client.post(f"/webhooks/endpoints/{other['id']}/disable", json={}).status_code == 200
    with psycopg.connect(database) as conn:
        [[told]] = conn.execute("select id::text from svc.webhook_deliveries").fetchall()
        [[entry]] = conn.execute("select max(id)::text from svc.audit_logs").fetchall()
    paths = [
        "/webhooks/endpoints",
        f"/webhooks/endpoints/{made['id']}",
        "/webhooks/endpoints/health",
        "/audit/entries",
        f"/audit/entries/{entry}",
        f"/audit/records/svc.webhook_endpoints/{other['id']}",
    ]
    for path in paths:
        seen = client.get(path, headers=bearer("read"))
        assert seen.status_code == 200
        assert f"{URL}?hidden" in seen.text
        assert "hush" not in seen.text
        assert seen.json().keys() == client.get(path).json().keys()
        assert "hush" in client.get(path, headers=bearer("write")).text
    assert client.get(f"/webhooks/deliveries/{told}").json()["payload"]["url"] == URL
