"""A session of one tenant, let loose on every route: it gets and changes what is that tenant's, or nothing."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from itertools import product
from typing import Any, Final
from urllib.parse import urlencode

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import audit, webhooks
from svc_pg.audit.read import search
from svc_pg.console import Console, ConsoleRequest, Session, register_tenants
from svc_pg.console.http.quotas import Limit
from svc_pg.console.sessions import call_limits
from svc_pg.database.pagination import decode, encode
from svc_pg.database.query import fetch_one
from svc_pg.errors import QueryError
from svc_pg.webhooks.endpoints import endpoint_queries
from svc_pg.webhooks.http.guard import Guard
from tests.integration.console.conformance import operations
from tests.integration.console.serving import PREFIX, assert_problem, serving_installed, settings, shop
from tests.support.hooks import KEYS, KEYS_TEXT, hooks_config, install
from tests.support.postgres import Prepare
from tests.support.tables import add_entry
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
OWNERS: Final = {"acme": "acme", "globex": "globex", "ourselves": None}
UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"
FOREIGN: Final = ("globex", "ourselves")
URL = "http://127.0.0.1:9/{}-hook"


def everybody(conninfo: str) -> None:
    """Two tenants and the operator: each with an endpoint, a delivery that failed, one that waits, and entries."""
    install(conninfo, CONFIG)
    with psycopg.connect(conninfo) as conn:
        for owner, tenant in OWNERS.items():
            with audit.actor(conn, f"{owner}-person", tenant=tenant, context={"who": owner}):
                new = endpoint_queries.create(
                    url=URL.format(owner),
                    events=["*"],
                    keys=KEYS,
                    guard=Guard.of(CONFIG.webhooks),
                    tenant=tenant,
                    description=f"of {owner}",
                )
                fetch_one(conn, new)
        for owner, tenant in OWNERS.items():
            for _ in range(2):
                webhooks.send(conn, "order.created", {"of": f"{owner}-payload"}, tenant=tenant)
            conn.execute("insert into svc.tenants (name) values (%s)", (owner,))
        conn.execute(
            "select from svc.webhook_cancel_many(array(select min(id::text)::uuid from svc.webhook_deliveries"
            " group by endpoint_id), 'canceled by hand')"
        )
        conn.execute("""
            insert into svc.webhook_delivery_attempts
                (delivery_id, endpoint_id, attempt, cause, started_at, outcome, response_body, worker)
            select d.id, d.endpoint_id, 1, 'auto', now(), 'http_error', e.description, 'worker-of-ourselves'
              from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id
        """)  # fmt: skip


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return everybody


async def customer(request: ConsoleRequest) -> Session | None:
    """Whoever names a tenant is its administrator, which no real application would believe."""
    tenant = request.headers.get("x-tenant")
    ends_at = datetime.now(UTC) + timedelta(minutes=1)
    return None if tenant is None else Session("customer 1", f"person@{tenant}.example", ALL, ends_at, tenant)


ALL: Final = ("read", "write", "admin")


@pytest.fixture
def client(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr(call_limits, "CALLS", Limit("calls", 1_000_000, 60))
    given = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT))
    console = Console(given, config=CONFIG, products=[shop()], session_of=customer)
    register_tenants(console)
    with serving_installed(console) as client:
        client.headers["x-tenant"] = "acme"
        yield client


@pytest.fixture
def connection(client: httpx.Client) -> Iterator[HTTPConnection]:
    with closing(HTTPConnection(client.base_url.host, client.base_url.port or 80, timeout=60)) as connection:
        yield connection


def ask(connection: HTTPConnection, method: str, target: str, query: dict[str, str], body: Any) -> tuple[int, str]:
    """The status and the text of an answer to acme, in half the time of a client of httpx."""
    content = None if body is None else json.dumps(body)
    headers = {"x-tenant": "acme", "content-type": "application/json"}
    connection.request(method, f"{PREFIX}{target}?{urlencode(query)}", content, headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


def ids(database: str, *owners: str) -> list[str]:
    """All ids of what belongs to these owners, but for the messages: each is known to whoever gets a copy."""
    with psycopg.connect(database) as conn:
        found = conn.execute(
            """
            with endpoint as (select id from svc.webhook_endpoints where description = any (%(of)s)),
                 delivery as (select d.id from svc.webhook_deliveries d join endpoint e on e.id = d.endpoint_id)
            select id::text from endpoint union all select id::text from delivery
             union all select id::text from svc.tenants where name = any (%(owners)s)
             union all select id::text from svc.audit_logs where actor_id = any (%(people)s)
            """,
            {
                "of": [f"of {owner}" for owner in owners],
                "owners": list(owners),
                "people": [f"{owner}-person" for owner in owners],
            },
        )
        return [text for (text,) in found.fetchall()]


def foreign_rows(database: str) -> list[Any]:
    """All that belongs to others, as it is stored."""
    with psycopg.connect(database) as conn:
        return conn.execute(
            """
            with endpoint as (select * from svc.webhook_endpoints where tenant is distinct from 'acme')
            select to_jsonb(e) from endpoint e
             union all select to_jsonb(s) from svc.webhook_endpoint_state s join endpoint e on e.id = s.endpoint_id
             union all select to_jsonb(d) from svc.webhook_deliveries d join endpoint e on e.id = d.endpoint_id
             union all select to_jsonb(q) from svc.webhook_queue q join endpoint e on e.id = q.endpoint_id
             union all select to_jsonb(m) from svc.webhook_messages m where m.tenant is distinct from 'acme'
             union all select to_jsonb(t) from svc.tenants t
             union all select to_jsonb(a) from svc.audit_logs a where a.tenant_id is distinct from 'acme'
            order by 1
            """
        ).fetchall()


def queries(operation: dict[str, Any], foreign: list[str]) -> list[dict[str, str]]:
    """No filter, and each filter with the values of others."""
    names = [each["name"] for each in operation["parameters"] if each["in"] == "query"]
    values = [
        *FOREIGN,
        *(f"{owner}-person" for owner in FOREIGN),
        "30d",
        "true",
        "svc.webhook_endpoints",
        "order.created",
    ]
    return [{}, *({name: value} for name, value in product(names, [*values, *foreign]))]


def bodies(document: Any, operation: dict[str, Any], foreign: list[str]) -> list[Any]:
    """The example, and each member that may name something of others: all of it, or if it is unknown, one thing."""
    if "requestBody" not in operation:
        return [None]
    content = operation["requestBody"]["content"]["application/json"]
    known = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]["properties"]
    example = content.get("example", {})
    naming: dict[str, list[Any]] = {
        "tenant": list(FOREIGN),
        "endpointId": foreign,
        "ids": [[each] for each in foreign],
        "since": ["30d"],
        "event": ["order.created"],
    }
    named = [{name: each} for name, values in naming.items() for each in (values if name in known else values[:1])]
    return [{}, example, *named, *(example | each for each in named), {"since": "30d", "ids": foreign}]


@pytest.mark.timeout(300)  # thousands of requests
def test_a_session_of_one_tenant_gets_and_changes_nothing_of_others_by_any_route(
    client: httpx.Client, connection: HTTPConnection, database: str
) -> None:
    own, foreign = ids(database, "acme"), ids(database, *FOREIGN)
    before = foreign_rows(database)
    document: Any = client.get("/console/openapi.json").json()
    served = set()
    # what removes the tenant's own things comes last
    for name in sorted(operations(document), key=lambda each: ("DELETE" in each, "disable" in each, each)):
        method, _, path = name.partition(" ")
        operation = document["paths"][path][method.lower()]
        if not operation["security"] or "device" in operation["security"][0]:
            continue
        if is_refused(client.request(method, targets(path, [UNKNOWN])[0])):  # before anything of the request is read
            continue
        for target in targets(path, [*own, *foreign]):
            is_foreign = any(each in foreign for each in target.split("/"))
            filters = [{}] if "{" in path else queries(operation, foreign)
            for query, body in product(filters, bodies(document, operation, foreign)):
                status, text = ask(connection, method, target, query, body)
                shown = f"{name} {target} {query} {body}: {status} {text}"
                assert status < 500, shown
                given = text if status < 300 else ""
                is_empty = not given or given.startswith('{"data":[],')  # as the entries of a record that nobody has
                assert not is_foreign or is_empty, shown
                for secret in (*FOREIGN, *(each for each in foreign if len(each) == 36)):
                    assert secret not in given, shown
                if status < 300 and (not given or not is_empty):
                    served.add(name)
    assert foreign_rows(database) == before
    assert served >= {
        "GET /webhooks/endpoints",
        "GET /webhooks/endpoints/{id}/stats",
        "GET /webhooks/deliveries/{id}/attempts",
        "POST /webhooks/deliveries/retry",
        "POST /webhooks/endpoints/{id}/replay",
        "DELETE /webhooks/endpoints/{id}",
        "GET /audit/entries",
        "GET /audit/entries/{id}",
        "GET /audit/facets",
        "GET /audit/stats",
        "GET /account/session",
    }
    assert not served & {"POST /webhooks/events", "GET /shop/orders", "GET /tenant/tenants", "GET /audit/export"}


def is_refused(answer: httpx.Response) -> bool:
    return answer.status_code == 403 and answer.json()["code"] == "not_for_tenants"


def targets(path: str, known: list[str]) -> list[str]:
    if "{" not in path:
        return [path]
    tables = ["svc.webhook_endpoints", "svc.tenants"] if "{table}" in path else [""]
    return [re.sub(r"\{\w+\}", each, path.replace("{table}", table)) for table, each in product(tables, known)]


def test_lists_have_all_that_is_the_tenants_and_nothing_else(client: httpx.Client) -> None:
    [endpoint] = client.get("/webhooks/endpoints").json()["data"]
    assert endpoint["tenant"] == "acme"
    [health] = client.get("/webhooks/endpoints/health").json()["data"]
    assert health["endpointId"] == endpoint["id"]
    deliveries = client.get("/webhooks/deliveries").json()["data"]
    assert {each["endpointId"] for each in deliveries} == {endpoint["id"]}
    assert len(deliveries) == 2
    [attempt] = client.get(f"/webhooks/deliveries/{deliveries[0]['id']}/attempts").json()["data"]
    assert attempt["worker"] is None
    assert sum(each["count"] for each in client.get("/webhooks/deliveries/counts").json()) == 2
    types = {each["name"]: each["endpoints"] for each in client.get("/webhooks/event-types").json()["data"]}
    assert types["order.created"] == 1
    entries = client.get("/audit/entries").json()["data"]
    assert {entry["actorId"] for entry in entries} == {"acme-person"}
    facets = {each["name"]: each["values"] for each in client.get("/audit/facets").json()["facets"]}
    assert facets["tenant"] == [{"value": "acme", "entries": len(entries)}]
    stats = client.get("/audit/stats").json()
    assert (stats["entries"], stats["actors"]) == (len(entries), [{"value": "acme-person", "entries": len(entries)}])
    assert client.get("/account/session").json()["tenant"] == "acme"


@pytest.mark.parametrize("asked", [{"contains": '{"of": "acme"}', "limit": 1}, {"after": "start"}])
def test_a_cursor_tells_a_tenant_nothing_of_others(
    client: httpx.Client, database: str, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    monkeypatch.setattr(search, "MAX_ENTRIES", 1)  # so that a search stops at each entry, whoever's it is
    with psycopg.connect(database) as conn:
        for owner in ("acme", "globex", "acme", "globex"):
            with audit.actor(conn, "somebody", tenant=owner):
                add_entry(conn, "public.t", "INSERT", record_id=owner, after={"of": owner})
    found: list[str] = []
    cursors: list[str] = []
    name = "after" if "after" in asked else "cursor"
    for _ in range(40):
        page = client.get("/audit/entries", params=asked | {"resource": "t"}).json()
        found += [each["recordId"] for each in page["data"]]
        if page["nextCursor"] is None or (name == "after" and not page["data"]):
            break
        cursors.append(page["nextCursor"])
        asked = asked | {name: page["nextCursor"]}
    assert found == ["acme", "acme"]
    assert cursors
    for cursor in cursors:
        with pytest.raises(QueryError):
            decode(cursor, str, str)
    for tenant in ("globex", "acme"):  # of another, altered, and as others have them
        client.headers["x-tenant"] = tenant
        for given in (cursors[0], cursors[0][:-4] + "AAAA", encode(("2026-01-01T00:00:00+00:00", "1")), "é", ""):
            is_own = tenant == "acme" and given == cursors[0]
            answer = client.get("/audit/entries", params=asked | {name: given, "resource": "t"})
            assert (answer.status_code == 200) == is_own, (tenant, given)


def test_what_a_tenant_makes_is_its_own_and_is_recorded_as_its_own(client: httpx.Client) -> None:
    body = {"url": URL.format("acme"), "events": ["order.created"]}
    made = client.post("/webhooks/endpoints", json=body).json()
    assert made["tenant"] == "acme"
    assert client.post("/webhooks/endpoints", json=body | {"tenant": "acme"}).status_code == 201
    assert_problem(client.post("/webhooks/endpoints", json=body | {"tenant": "globex"}), 404, "unknown_tenant")
    [entry] = client.get("/audit/entries", params={"record": made["id"]}).json()["data"]
    assert (entry["actorId"], entry["tenantId"]) == ("person@acme.example", "acme")


@pytest.mark.parametrize("tenant", ["Acme", "acme-", "acm_", "%", "*"])
def test_a_tenant_is_compared_as_it_is_written(client: httpx.Client, tenant: str) -> None:
    client.headers["x-tenant"] = tenant
    for path in ("/webhooks/endpoints", "/webhooks/deliveries", "/audit/entries"):
        assert client.get(path).json()["data"] == []


def test_a_tenant_without_a_name_makes_no_endpoint_that_would_get_the_messages_of_all(
    client: httpx.Client, database: str
) -> None:
    client.headers["x-tenant"] = ""
    before = foreign_rows(database)
    for tenant in ({}, {"tenant": ""}, {"tenant": None}):
        body = {"url": URL.format("nobody"), "events": ["*"]} | tenant
        assert_problem(client.post("/webhooks/endpoints", json=body), 403, "invalid_session")
    assert foreign_rows(database) == before


def test_a_route_that_does_not_serve_tenants_refuses_their_sessions_and_records_that(
    client: httpx.Client, database: str
) -> None:
    for method, path in (("GET", "/shop/orders"), ("POST", "/webhooks/events"), ("GET", "/account/sessions")):
        assert_problem(client.request(method, path), 403, "not_for_tenants")

    def refused() -> bool:
        with psycopg.connect(database) as conn:
            found = conn.execute("select email from svc.console_events where event = 'call_refused'").fetchall()
        return found == [("person@acme.example",)] * 3

    wait_until(refused, "three refusals are recorded")


def test_who_gets_an_endpoint_of_another_tenant_gets_nothing_that_was_sent_to_it(
    client: httpx.Client, database: str
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("update svc.webhook_endpoints set tenant = 'acme' where tenant = 'globex'")
        moved = conn.execute(
            "select d.id::text, d.endpoint_id::text from svc.webhook_deliveries d"
            " join svc.webhook_messages m on m.id = d.message_id"
            " join svc.webhook_endpoints e on e.id = d.endpoint_id"
            " where m.tenant = 'globex' and e.tenant = 'acme'"
        ).fetchall()
    assert len(moved) == 2
    listed = client.get("/webhooks/deliveries").json()["data"]
    assert {each["id"] for each in listed}.isdisjoint(delivery for delivery, _ in moved)
    assert len(listed) == 2
    for delivery, endpoint in moved:
        for path in ("", "/attempts", "/request"):
            assert_problem(client.get(f"/webhooks/deliveries/{delivery}{path}"), 404, "unknown_delivery")
        for verb in ("retry", "cancel"):
            assert_problem(client.post(f"/webhooks/deliveries/{delivery}/{verb}"), 404, "unknown_delivery")
            body = {"ids": [delivery]}
            assert client.post(f"/webhooks/deliveries/{verb}", json=body).json()["count"] == 0
        assert client.post(f"/webhooks/endpoints/{endpoint}/recover", json={}).json()["count"] == 0
        replayed = client.post(f"/webhooks/endpoints/{endpoint}/replay", json={"since": "1d", "dryRun": True})
        assert replayed.json()["count"] == 2  # those of acme, which this endpoint has missed
