"""The portal: a customer manages the webhooks of one tenant, and reaches nothing else by any address."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from svc_pg import webhooks
from svc_pg.config import EventDefinition
from svc_pg.console import Console, webhooks_app
from svc_pg.console.sign_in import api_tokens
from svc_pg.database.query import fetch_one
from svc_pg.errors import ConfigError
from svc_pg.webhooks.endpoints import endpoint_queries
from svc_pg.webhooks.http.guard import Guard
from tests.integration.console.browsing import HOSTILE, OWN
from tests.integration.console.serving import (
    PREFIX,
    assert_problem,
    bearer,
    serving,
    serving_installed,
    settings,
    shop,
)
from tests.integration.console.signing_in import move, rows
from tests.support.hooks import KEYS, KEYS_TEXT, hooks_config, install
from tests.support.postgres import Prepare

CONFIG = hooks_config("order.created", "order.paid")
UI = f"{PREFIX}/ui/portal"
URL = "http://127.0.0.1:9/{}-hook"
FRAME = "https://app.example"
LOGO = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="
_numbers = count(1)


def everybody(conninfo: str) -> None:
    """Two tenants and the operator, each with an endpoint and a delivery."""
    config = CONFIG.model_copy(deep=True)
    config.webhooks.events["order.paid"] = EventDefinition.model_validate(
        {"description": "An order was paid", "schema": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    )
    install(conninfo, config)
    with psycopg.connect(conninfo) as conn:
        for owner, tenant in (("acme", "acme"), ("globex", "globex"), ("operator", None)):
            new = endpoint_queries.create(
                url=URL.format(owner), events=["*"], keys=KEYS, guard=Guard.of(config.webhooks), tenant=tenant,
                description=f"of {owner}",
            )  # fmt: skip
            fetch_one(conn, new)
        for tenant in ("acme", "globex", None):
            webhooks.send(conn, "order.paid", {"of": f"{tenant}-payload"}, tenant=tenant)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return everybody


def console(database: str, **overrides: object) -> Console:
    given = settings(
        database_url=database,
        encryption_keys=SecretStr(KEYS_TEXT),
        portal_title="Tidewater <b>Ceramics</b>",
        portal_accent="#A03E1C",
        portal_logo=LOGO,
        **overrides,
    )
    return Console(given, config=CONFIG, products=[shop()])


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(console(database)) as client:
        yield client


class Customer:
    """A browser that keeps the portal's cookie and follows its pages."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}
        self.set_cookie = ""

    def ask(self, method: str, address: str, fields: Any = None, /, **headers: str) -> httpx.Response:
        path = address if address.startswith("/") else f"{UI}/{address}"
        cookie = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if self.cookies else {}
        url = httpx.URL(str(self.client.base_url)).join(path)
        answer = httpx.request(method, url, headers={**OWN, **cookie, **headers}, data=fields)
        self.set_cookie = answer.headers.get("set-cookie", "")
        if found := re.match(r"((?:__Secure-)?svc_(?:portal|shown|refused))=([^;]*)", self.set_cookie):
            self.cookies[found[1]] = found[2]
        return answer

    def get(self, address: str, /, **headers: str) -> httpx.Response:
        return self.ask("GET", address, **headers)

    def post(self, address: str, fields: Any = None, /, **headers: str) -> httpx.Response:
        return self.ask("POST", address, fields or {"": ""}, **headers)

    def refused(self, address: str, fields: Any = None) -> httpx.Response:
        """The page to which a form is sent back."""
        answer = self.post(address, fields)
        assert answer.status_code == 303
        return self.get(answer.headers["location"])


def link(client: httpx.Client, tenant: str = "acme", **body: object) -> str:
    made = client.post("/webhooks/portal-sessions", json={"tenant": tenant} | body, headers=bearer("admin"))
    assert made.status_code == 201, made.text
    return str(made.json()["path"])


def entered(client: httpx.Client, tenant: str = "acme") -> Customer:
    customer = Customer(client)
    answer = customer.post("enter", {"token": link(client, tenant).partition("token=")[2]})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{UI}/home")
    return customer


# The way in


def test_a_link_is_opened_once_by_its_button_and_by_nothing_else(client: httpx.Client, database: str) -> None:
    path = link(client, expiresIn=120)
    token = path.partition("token=")[2]
    customer = Customer(client)
    for method in ("GET", "HEAD", "GET"):
        assert customer.ask(method, path).status_code == 200
        assert customer.cookies == {}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert customer.post("enter", {"token": token}, **headers).status_code == 403
    with ThreadPoolExecutor(4) as executor:
        answers = list(executor.map(lambda _: Customer(client).post("enter", {"token": token}), range(4)))
    assert sorted("refused" in each.headers["location"] for each in answers) == [False, True, True, True]
    refused = customer.refused("enter", {"token": token})
    assert (refused.status_code, "Ask for a new link" in refused.text) == (410, True)
    events = rows(database, "select event, email from svc.console_events where event like 'portal%%' order by id")
    assert events == [("portal_link_made", "ann@corp.example"), ("portal_opened", "portal:acme")]
    [(kept,)] = rows(database, "select token_hash from svc.console_portal_links")
    assert token not in str(kept)


def test_a_button_that_is_clicked_twice_opens_one_session_for_whoever_clicks(
    client: httpx.Client, database: str
) -> None:
    path = link(client)
    [key] = re.findall(r'name="key" value="([^"]+)"', Customer(client).get(path).text)
    form = {"key": key, "token": path.partition("token=")[2]}
    with ThreadPoolExecutor(2) as executor:
        answers = list(executor.map(lambda _: Customer(client).post("enter", form), range(2)))
    assert {each.headers["location"] for each in answers} == {f"{UI}/home"}
    assert len({each.headers["set-cookie"] for each in answers}) == 1
    assert Customer(client).refused("enter", form | {"key": "another"}).status_code == 410
    move(database, "update svc.console_forms set answer = 'later'")
    assert Customer(client).refused("enter", form).status_code == 409


def test_the_cookie_lasts_as_long_as_the_session_and_stays_within_the_portal(client: httpx.Client) -> None:
    customer = Customer(client)
    customer.post("enter", {"token": link(client, expiresIn=120).partition("token=")[2]})
    assert f"Path={UI}; Max-Age=120; HttpOnly; SameSite=Strict" in customer.set_cookie
    home = customer.get("home")
    assert (home.status_code, home.headers["cache-control"]) == (200, "no-store")
    assert "frame-ancestors 'none'" in home.headers["content-security-policy"]


def test_a_link_is_ended_before_or_after_it_is_opened_and_nothing_else_is(client: httpx.Client, database: str) -> None:
    admin = bearer("admin")

    def waiting() -> list[str]:
        listed = client.get("/webhooks/portal-sessions", headers=admin).json()["data"]
        return [each["id"] for each in listed if each["tenant"] == "initech"]

    def made() -> tuple[str, str]:
        body = client.post("/webhooks/portal-sessions", json={"tenant": "initech"}, headers=admin).json()
        return body["id"], body["path"].partition("token=")[2]

    (first, token), (second, other), (third, last) = made(), made(), made()
    assert waiting() == [third, second, first]
    for ended, by in ((first, client.delete(f"/webhooks/portal-sessions/{first}", headers=admin)),
                      (second, client.delete(f"/account/sessions/{second}", headers=admin))):  # fmt: skip
        assert by.status_code == 204, ended
    for each in (token, other):
        assert Customer(client).refused("enter", {"token": each}).status_code == 410
    customer = Customer(client)
    assert customer.post("enter", {"token": last}).status_code == 303
    assert waiting() == []
    assert client.delete(f"/webhooks/portal-sessions/{third}", headers=admin).status_code == 204
    assert customer.get("home").status_code == 401
    events = rows(database, "select event, detail from svc.console_events where event like '%%revoked' order by id")
    assert events == [("portal_link_revoked", "of tenant initech")] * 2 + [("session_revoked", "by ann@corp.example")]

    # a session that no link became is not a writer's to end
    with psycopg.connect(database) as conn:
        conn.execute(
            "insert into svc.console_sessions (id, email, permission, token_hash, expires_at)"
            " values (%s, 'bob@corp.example', 'admin', sha256('x'), now() + interval '1 h')",
            [UUID(int=7)],
        )
    for wrong in (str(UUID(int=7)), str(UUID(int=8)), "x"):
        assert_problem(client.delete(f"/webhooks/portal-sessions/{wrong}", headers=admin), 404, "unknown_session")
    assert_problem(client.get("/webhooks/portal-sessions", headers=bearer("write")), 403, "insufficient_scope")


def test_of_opening_and_ending_a_link_at_once_one_wins(client: httpx.Client) -> None:
    for _ in range(5):
        body = client.post("/webhooks/portal-sessions", json={"tenant": "acme"}, headers=bearer("admin")).json()
        customer = Customer(client)
        with ThreadPoolExecutor(2) as executor:
            ended = executor.submit(client.delete, f"/webhooks/portal-sessions/{body['id']}", headers=bearer("admin"))
            executor.submit(customer.post, "enter", {"token": body["path"].partition("token=")[2]}).result()
            assert ended.result().status_code == 204
        assert customer.get("home").status_code == 401


def test_administrators_end_links_on_the_page_of_sessions(client: httpx.Client) -> None:
    token = link(client, "<b>initech").partition("token=")[2]
    cookie = {"Cookie": f"svc_console={bearer('admin')['Authorization'].removeprefix('Bearer ')}", **OWN}
    page = client.get("/ui/sessions", headers=cookie).text
    assert "&lt;b&gt;initech" in page
    [address] = re.findall(r'href="([^"]+/revoke)"', page)
    origin = str(client.base_url.copy_with(path="/"))
    answer = httpx.post(httpx.URL(origin).join(address), headers=cookie, data={"": ""})
    assert answer.status_code == 303
    assert "initech" not in client.get("/ui/sessions", headers=cookie).text
    assert Customer(client).refused("enter", {"token": token}).status_code == 410


@pytest.mark.parametrize("end", ["late", "expired", "idle", "revoked", "left"])
def test_what_has_ended_opens_nothing(client: httpx.Client, database: str, end: str) -> None:
    if end == "late":
        path = link(client)
        move(database, "update svc.console_portal_links set expires_at = now()")
        assert Customer(client).refused("enter", {"token": path.partition("token=")[2]}).status_code == 410
        return
    customer = entered(client)
    assert customer.get("home").status_code == 200
    [(session_id,)] = rows(database, "select id::text from svc.console_sessions")
    match end:
        case "expired":
            move(database, "update svc.console_sessions set expires_at = now()")
        case "idle":
            move(database, "update svc.console_uses set used_at = used_at - interval '9 h'")
        case "revoked":
            assert client.delete(f"/account/sessions/{session_id}", headers=bearer("admin")).status_code == 204
        case "left":
            before = dict(customer.cookies)
            customer.post("leave")
            customer.cookies = before
    for address in ("home", "endpoints"):
        answer = customer.get(address)
        assert (answer.status_code, "This visit is over" in answer.text) == (401, True)
    for address, is_told in (("endpoints", True), ("leave", False)):
        told = customer.refused(address, {"url": "x"}).text
        assert ("This visit is over" in told, "What you sent last was not saved" in told) == (True, is_told)
        assert "Ask for a new link" in told


def test_a_link_begins_with_the_path_of_the_application(database: str) -> None:
    made = console(database, console_public_url="https://shop.example/start")
    app = FastAPI(lifespan=made.lifespan)
    made.install(app)
    app.mount("/api/webhooks", webhooks_app(made))
    for root in ("", "/shop floor"):
        with serving(app, root_path=root) as url, httpx.Client(headers=bearer("admin")) as client:
            for below in (f"{PREFIX}/webhooks", "/api/webhooks"):
                answer = client.post(f"{url}{below}/portal-sessions", json={"tenant": "acme"})
                path = answer.json()["path"]
                assert path.startswith(f"{root.replace(' ', '%20')}{UI}/enter?token=")
                assert answer.headers["location"] == path
                assert answer.json()["url"] == f"https://shop.example{path}"


def test_a_link_that_cannot_be_is_422(client: httpx.Client) -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"tenant": ""},
        {"tenant": "\0"},
        {"tenant": "a" * 401},
        {"tenant": "acme", "expiresIn": 59},
        {"tenant": "acme", "expiresIn": 86401},
        {"tenant": "acme", "permission": "admin"},
    ]
    for body in wrong:
        answer = client.post("/webhooks/portal-sessions", json=body, headers=bearer("admin"))
        assert answer.status_code == 422, body


def test_readers_and_tenants_make_no_links(client: httpx.Client, database: str) -> None:
    body = {"tenant": "globex"}
    answer = client.post("/webhooks/portal-sessions", json=body, headers=bearer("write"))
    assert_problem(answer, 403, "insufficient_scope")
    with psycopg.connect(database) as conn:
        token = api_tokens.add(conn, "acme", permission="admin", tenant="acme").token
    tenant = {"Authorization": f"Bearer {token}"}
    assert_problem(client.post("/webhooks/portal-sessions", json=body, headers=tenant), 403, "not_for_tenants")


# Within


def test_a_customer_adds_an_endpoint_tests_it_rotates_its_secret_and_sends_again(
    client: httpx.Client, database: str
) -> None:
    customer = entered(client)
    home = customer.get("home").text
    assert "of acme" in home
    assert "order.paid" in home
    assert "An order was paid" in home
    form = customer.get("endpoints/new")
    assert form.status_code == 200
    assert 'name="tenant"' not in form.text
    fields = {"url": URL.format("new"), "description": "ERP", "events": "order.paid", "signatures": "v1"}
    made = customer.post("endpoints", fields)
    assert made.status_code == 303
    assert "whsec_" in customer.get(made.headers["location"]).text
    [(endpoint, tenant)] = rows(
        database, "select id::text, tenant from svc.webhook_endpoints where description = 'ERP'"
    )
    assert tenant == "acme"
    for page in ("", "/edit", "/rotate", "/end"):
        assert customer.get(f"endpoints/{endpoint}{page}").status_code == 200
    pinged = customer.post(f"endpoints/{endpoint}/ping")
    assert pinged.status_code == 303
    delivery = pinged.headers["location"]
    assert delivery.startswith(f"{UI}/deliveries/")
    assert "webhook.ping" in customer.get(delivery).text
    assert customer.post(f"{delivery}/cancel").status_code == 303
    assert customer.post(f"{delivery}/retry").status_code == 303
    [version] = re.findall(r'name="version" value="([0-9]+)"', customer.get(f"endpoints/{endpoint}/rotate").text)
    rotated = customer.post(f"endpoints/{endpoint}/rotate", {"overlap": "3600", "version": version})
    assert "whsec_" in customer.get(rotated.headers["location"]).text
    assert customer.get("deliveries").text.count(delivery) == 1
    for page in ("deliveries", "messages", "endpoints"):
        assert ">Event" in customer.get(page).text
        assert ">Tenant<" not in customer.get(page).text, "all is of its own"
    assert customer.get("events/order.paid").status_code == 200
    assert customer.post(f"endpoints/{endpoint}/delete").status_code == 303
    found = rows(database, "select actor_id, tenant_id from svc.audit_logs where record_id = %s", endpoint)
    assert set(found) == {("portal:acme", "acme")}


def addresses(html: str) -> set[str]:
    return {each for each in re.findall(r'(?:href|action|src)="([^"]+)"', html) if not each.startswith(("#", "data:"))}


def test_every_page_that_the_portal_offers_is_within_it_answers_and_names_nobody_else(
    client: httpx.Client, database: str
) -> None:
    customer = entered(client)
    foreign = [each for (each,) in rows(
        database,
        "select id::text from svc.webhook_endpoints where tenant is distinct from 'acme' union all"
        " select d.id::text from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id"
        "  where e.tenant is distinct from 'acme'",
    )]  # fmt: skip
    seen, waiting = set[str](), [f"{UI}/home"]
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        answer = customer.get(address)
        assert answer.status_code == (303 if address == UI else 200), address
        if "text/html" not in answer.headers.get("content-type", ""):
            continue
        for secret in ("globex", "of operator", "operator-hook", *foreign):
            assert secret not in answer.text, (address, secret)
        for found in addresses(answer.text):
            target = found.replace("&amp;", "&")
            assert target.startswith((f"{UI}/", UI)), (address, found)
            if not re.search(r"/(change|leave|theme|ping|pause|resume|disable|delete|retry|cancel)$", target):
                waiting.append(target)
        assert not re.search("svc-pg [a-z]", answer.text), address  # no command of the operator's
    assert len(seen) > 15


def test_the_head_of_the_portal_has_the_name_of_the_tenant_if_it_is_known(client: httpx.Client, database: str) -> None:
    customer = entered(client)
    assert '<span class="cut" title="acme"><bdi>acme</bdi></span>' in customer.get("home").text
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme <b>& Co'), ('globex', 'Globex')")
        try:
            for page in ("home", "endpoints", "nothing"):
                text = customer.get(page).text
                assert '<span class="cut" title="acme"><bdi>Acme &lt;b&gt;&amp; Co</bdi></span>' in text
                assert "Globex" not in text
        finally:
            conn.execute("delete from svc.tenants")


def test_the_portal_offers_no_views(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            "select svc.console_add_view(gen_random_uuid(), 'deliveries', owner, 'Of globex', 'tenant:globex')"
            " from unnest(array[null, 'portal of acme']) owner"
        )
    customer = entered(client)
    for page in ("deliveries?status=failed", "messages?since=1h", "endpoints?status=active"):
        answer = customer.get(f"{UI}/{page}")
        assert answer.status_code == 200
        assert ("Keep this question" in answer.text, "Of globex" in answer.text) == (False, False)
    [(view,)] = rows(database, "select id::text from svc.console_views where owner is null")
    for path in ("views", f"views/{view}", f"views/{view}/edit"):
        assert customer.get(f"{UI}/{path}").status_code == 404
    form = {"of": "deliveries", "name": "x", "question": "status:failed", "whose": "own"}
    for path in ("views", f"views/{view}/edit", f"views/{view}/delete"):
        assert customer.post(path, form).status_code == 404
    assert rows(database, "select count(*) from svc.console_views") == [(2,)]


def test_no_address_of_the_portal_or_of_the_console_leads_a_customer_to_another_tenant(
    client: httpx.Client, database: str
) -> None:
    customer = entered(client)
    token = next(iter(customer.cookies.values()))
    theirs = rows(
        database,
        "select e.id::text, d.id::text from svc.webhook_deliveries d"
        "  join svc.webhook_endpoints e on e.id = d.endpoint_id where e.tenant is distinct from 'acme'",
    )
    before = rows(
        database, "select to_jsonb(e) from svc.webhook_endpoints e where tenant is distinct from 'acme' order by 1"
    )
    assert len(theirs) >= 2
    for endpoint, delivery in theirs:
        for page in ("", "/edit", "/rotate", "/end"):
            assert customer.get(f"endpoints/{endpoint}{page}").status_code == 404
        for verb in ("edit", "pause", "resume", "ping", "rotate", "disable", "delete"):
            fields = {"url": "https://evil.example/", "events": "*", "signatures": "v1", "overlap": "0", "version": "1"}
            assert customer.refused(f"endpoints/{endpoint}/{verb}", fields).status_code == 404
        assert customer.get(f"deliveries/{delivery}").status_code == 404
        for verb in ("retry", "cancel"):
            assert customer.refused(f"deliveries/{delivery}/{verb}").status_code == 404
        assert delivery not in customer.get(f"deliveries?endpointId={endpoint}").text
        for do in ("retry", "cancel"):
            customer.post("deliveries/change", {"do": do, "id": delivery})
            customer.post("deliveries/change", {"do": do, "endpointId": endpoint})
    globex = {"url": URL.format("x"), "events": "*", "signatures": "v1", "tenant": "globex"}
    added = customer.refused("endpoints", globex)
    assert added.status_code == 404
    for path in (
        "audit",
        "tenants",
        "sessions",
        "tokens",
        "overview",
        "system",
        "search?q=glob",  # the page says its own address
        "..",
        "%2e%2e/sessions",
    ):
        assert customer.get(path).status_code in (303, 404), path
        text = re.sub(r'<p class="on-paper s">.*?</p>', "", customer.get(path).text)  # the address that was typed
        assert "globex" not in text
    # the portal's session is none of the console's, whatever carries it
    for name in ("svc_console", "svc_portal"):
        answer = client.get("/ui/endpoints", headers={"Cookie": f"{name}={token}"})
        assert (answer.status_code, "sign-in" in answer.headers["location"]) == (303, True)
    assert_problem(
        client.get("/webhooks/endpoints", headers={"Authorization": f"Bearer {token}"}), 401, "invalid_token"
    )
    after = rows(
        database, "select to_jsonb(e) from svc.webhook_endpoints e where tenant is distinct from 'acme' order by 1"
    )
    assert before == after


def test_a_session_of_the_console_opens_no_portal(client: httpx.Client) -> None:
    admin = bearer("admin")["Authorization"].removeprefix("Bearer ")
    for name in ("svc_console", "svc_portal"):
        assert client.get("/ui/portal/home", headers={"Cookie": f"{name}={admin}"}).status_code == 401


def test_pages_of_other_sites_cannot_act_for_a_customer(client: httpx.Client, database: str) -> None:
    customer = entered(client)
    [(endpoint,)] = rows(database, "select id::text from svc.webhook_endpoints where tenant = 'acme'")
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "", "Origin": "null"},
        {"Sec-Fetch-Site": ""},
    ):
        assert customer.post(f"endpoints/{endpoint}/delete", None, **headers).status_code == 403
    assert rows(database, "select id::text from svc.webhook_endpoints where tenant = 'acme'") == [(endpoint,)]


def test_what_the_operator_may_set_is_refused_to_a_customer(client: httpx.Client) -> None:
    customer = entered(client)
    fields = {"url": URL.format("new"), "events": "*", "signatures": "v1"}
    form = customer.get("endpoints/new").text
    assert re.findall(r">1 to (\d+)<", form) == ["8", "15"]
    assert 'name="tenant"' not in form + customer.get("deliveries").text
    for more in ({"max_in_flight": "9"}, {"timeout": "16"}):
        answer = customer.refused("endpoints", fields | more)
        assert answer.status_code == 422, answer.text
    assert customer.post("endpoints", fields | {"max_in_flight": "8", "timeout": "15"}).status_code == 303


def test_the_operators_network_is_closed_to_customers_and_open_to_the_operator(database: str) -> None:
    strict = CONFIG.model_copy(deep=True)
    strict.webhooks.allow_for_customers = False
    given = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=strict)) as client:
        customer, operator = entered(client), bearer("write")
        fields = {"events": "*", "signatures": "v1"}
        for url in (URL.format("mine"), "https://127.0.0.1/", "https://localhost/", "http://example.com/"):
            answer = customer.refused("endpoints", fields | {"url": url})
            assert answer.status_code == 422, url
            assert "allow_" not in answer.text  # which is the operator's to set
        assert customer.post("endpoints", fields | {"url": "https://8.8.8.8/"}).status_code == 303
        ids = {each["url"]: each["id"] for each in client.get("/webhooks/endpoints", headers=operator).json()["data"]}
        given_by = {name: customers_or_operators(database, name) for name in ids}
        assert given_by["https://8.8.8.8/"] == "customer"
        assert {*given_by.values()} == {"customer", "operator"}

        # what is the operator's stays so, as long as its URL does
        acme = ids[URL.format("acme")]
        kept = {"version": "1", "url": URL.format("acme"), "description": "ours", **fields}
        assert customer.post(f"endpoints/{acme}/edit", kept).status_code == 303
        assert customers_or_operators(database, URL.format("acme")) == "operator"
        inside = kept | {"version": "2", "url": URL.format("x")}
        assert customer.refused(f"endpoints/{acme}/edit", inside).status_code == 422
        public = kept | {"version": "2", "url": "https://8.8.4.4/"}
        assert customer.post(f"endpoints/{acme}/edit", public).status_code == 303
        assert customers_or_operators(database, "https://8.8.4.4/") == "customer"

        # an operator vouches for a URL by giving it, or by saying so, and not by changing something else
        made = client.post("/account/tokens", json={"name": "acme", "permission": "write", "tenant": "acme"},
                           headers=bearer("admin")).json()  # fmt: skip
        tenant = {"Authorization": f"Bearer {made['token']}"}
        for owner, body, status, by in (
            (operator, {"url": "https://8.8.4.4/", "description": "x"}, 200, "customer"),
            (tenant, {"urlBy": "operator"}, 403, "customer"),
            (tenant, {"url": "https://9.9.9.9/", "urlBy": "operator"}, 403, "customer"),
            (operator, {"urlBy": "operator"}, 200, "operator"),
            (operator, {"url": URL.format("acme"), "urlBy": "customer"}, 422, "operator"),
            (operator, {"url": URL.format("acme")}, 200, "operator"),
            (tenant, {"url": "https://9.9.9.9/"}, 200, "customer"),
        ):
            answer = client.patch(f"/webhooks/endpoints/{acme}", json=body, headers=owner)
            shown = client.get(f"/webhooks/endpoints/{acme}", headers=operator).json()["urlBy"]
            assert (answer.status_code, shown) == (status, by), (body, answer.text)


def customers_or_operators(database: str, url: str) -> str:
    [(by,)] = rows(database, f"select url_by from svc.webhook_endpoints where url = '{url}'")
    return str(by)


def test_a_customer_tests_an_endpoint_five_times_a_minute(client: httpx.Client, database: str) -> None:
    customer = entered(client)
    [(acme,)] = rows(database, "select id::text from svc.webhook_endpoints where description = 'of acme'")
    for _ in range(5):
        assert "/deliveries/" in customer.post(f"endpoints/{acme}/ping").headers["location"]
    for _ in range(2):
        assert customer.refused(f"endpoints/{acme}/ping").status_code == 429
    assert client.post(f"/webhooks/endpoints/{acme}/ping", headers=bearer("write")).status_code == 202
    move(database, "update svc.console_rate set ends_at = now() where key like 'pings %%'")
    assert customer.post(f"endpoints/{acme}/ping").status_code == 303


def test_a_customer_reads_what_a_failing_endpoint_answered(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(
            "update svc.webhook_endpoint_state set failure_streak = 3, failing_since = now(),"
            " last_failure = 'the endpoint answered 503'"
        )
    page = entered(client).get("home")
    assert "<b><bdi>of acme</bdi> fails.</b> <bdi>The endpoint answered 503</bdi>. 3 failures in a row" in page.text


def test_a_customer_reads_why_a_delivery_waits_and_no_name_of_the_operators_machines(
    client: httpx.Client, database: str
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("select svc.webhook_claim('machine 7', 10)")
        [(own,), (foreign,)] = conn.execute(
            "select d.id::text from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id"
            " where e.tenant in ('acme', 'globex') order by e.tenant"
        ).fetchall()
        token = api_tokens.add(conn, "acme", permission="read", tenant="acme").token
    customer = entered(client)
    page = customer.get(f"deliveries/{own}").text
    assert "A worker has been sending it since" in page
    assert "machine 7" not in page
    headers = {"Authorization": f"Bearer {token}"}
    [reason] = client.get(f"/webhooks/deliveries/{own}/why", headers=headers).json()
    assert (reason["reason"], "machine 7" in reason["sentence"]) == ("sending", False)
    assert_problem(client.get(f"/webhooks/deliveries/{foreign}/why", headers=headers), 404, "unknown_delivery")
    [told] = client.get(f"/webhooks/deliveries/{own}/why", headers=bearer("read")).json()
    assert told["sentence"].startswith("Worker machine 7 has been sending it since")


@pytest.mark.parametrize("list_", ["deliveries", "messages", "endpoints"])
def test_a_question_is_of_the_own_tenant_and_the_fields_keep_it(client: httpx.Client, list_: str) -> None:
    customer = entered(client)
    for question in ("tenant:", "tenant:g", "endpoint:", "endpoint:glob"):
        offered = customer.get(f"{list_}/offers?q={question}")
        assert offered.status_code == 200
        assert "globex" not in offered.text
        is_known = question == "tenant:" or (list_, question) == ("deliveries", "endpoint:")
        assert offered.text.count('role="option"') == is_known
    leads_to = customer.ask("GET", f"{list_}?q=tenant:globex event:order.paid").headers["location"]
    page = customer.get(leads_to).text
    assert '<a class="main"' not in page
    [form] = re.findall(r'<form class="filter".*?</form>', page, re.DOTALL)
    assert '<input type="hidden" name="tenant" value="globex">' in form


def test_hostile_texts_are_inert(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database) as conn:
        for text in HOSTILE:
            conn.execute("update svc.webhook_endpoints set description = %s where tenant = 'acme'", (text,))
            conn.commit()
            page = entered(client).get("home").text
            assert "<script>alert" not in page
            assert "<img src=x" not in page
    other = entered(client, "<script>alert(1)</script>").get("home")
    assert other.status_code == 200
    assert "<script>alert" not in other.text
    assert "&lt;script&gt;alert" in other.text


# The look


def test_title_colour_and_logo_are_the_applications(client: httpx.Client) -> None:
    customer = entered(client)
    home = customer.get("home").text
    assert "Tidewater &lt;b&gt;Ceramics&lt;/b&gt;" in home
    assert f'href="{UI}/look.css"' in home
    look = customer.get("look.css")
    assert (look.text, look.headers["content-type"]) == (":root { --accent: #a03e1c }\n", "text/css; charset=utf-8")
    logo = customer.get("logo")
    assert (logo.status_code, logo.headers["content-type"]) == (200, "image/svg+xml")
    assert "script-src 'self'" in logo.headers["content-security-policy"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"portal_accent": "red"},
        {"portal_accent": "#fff; } body { background: url(//evil.example) } :root {"},
        {"portal_logo": "/etc/passwd"},
        {"portal_logo": "data:text/html;base64,PHNjcmlwdD4="},
        {"portal_logo": "data:image/png;base64,%%%"},
        {"portal_logo": "data:image/png;base64," + "A" * 200_000},
        {"portal_title": ""},
        {"portal_frame_ancestors": ["*"]},
        {"portal_frame_ancestors": ["https://app.example; script-src *"]},
    ],
)
def test_a_look_that_cannot_be_is_refused_at_the_start(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="SVC_PORTAL_"):
        settings(**wrong)


def test_with_frame_ancestors_those_sites_alone_may_have_it_in_a_frame_with_cookies_of_its_own(database: str) -> None:
    with serving_installed(console(database, portal_frame_ancestors=[FRAME])) as client:
        path = link(client)
        customer = Customer(client)
        framed = customer.get(path, **{"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site"})
        assert f"frame-ancestors {FRAME};" in framed.headers["content-security-policy"]
        assert " data-submit" in framed.text
        assert " data-submit" not in customer.get(path, **{"Sec-Fetch-Dest": "document"}).text
        customer.post("enter", {"token": path.partition("token=")[2]})
        assert customer.set_cookie.startswith("__Secure-svc_portal=")
        assert "SameSite=None; Secure; Partitioned" in customer.set_cookie
        assert customer.get("home").status_code == 200
        assert customer.post("leave", None, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
        console_page = client.get("/ui/sign-in")
        assert "frame-ancestors 'none'" in console_page.headers["content-security-policy"]


# The outage of an endpoint


def test_a_customer_sees_the_outage_of_its_own_endpoint_in_its_own_words(client: httpx.Client, database: str) -> None:
    ids = {each: key for key, each in rows(database, "select id::text, tenant from svc.webhook_endpoints")}
    move(
        database,
        """with failed as (
               update svc.webhook_deliveries d
                  set status = 'failed', failure = 'failed', attempts = 1, finished_at = now(), next_attempt_at = null,
                      last_status_code = 503
                 from svc.webhook_messages m where m.id = d.message_id
               returning d.id, d.endpoint_id, m.tenant
           ), taken as (
               delete from svc.webhook_queue
           ), attempt as (
               insert into svc.webhook_delivery_attempts (delivery_id, endpoint_id, attempt, started_at, duration_ms,
                                                          outcome, status_code, response_body, worker)
               select id, endpoint_id, 1, now(), 5, 'http_error', 503, 'the answer of ' || tenant, 'worker-of-ours'
                 from failed
           )
           update svc.webhook_endpoint_state
              set failure_streak = 1, failing_since = now(), first_failure_at = now(), last_failure_at = now(),
                  last_failure = 'the endpoint answered 503'""",
    )
    customer = entered(client)
    home = customer.get("home").text
    assert f'href="{UI}/endpoints/{ids["acme"]}/outage"' in home
    page = customer.get(f"endpoints/{ids['acme']}/outage")
    assert page.status_code == 200
    assert "Your system has not taken our messages since" in page.text
    assert "the answer of acme" in page.text
    for others in ("globex", "worker-of-ours", "operator", "Pause"):
        assert others not in page.text
    assert "Send it to me again" in page.text
    chosen = customer.get(f"endpoints/{ids['acme']}/outage?finishedSince=2020-01-31T12:00:07")
    assert (chosen.status_code, "since 31 Jan 2020, 12:00:07 UTC" in chosen.text) == (200, True)
    for others in ("globex", "worker-of-ours", "operator"):
        assert others not in chosen.text
    for tenant in ("globex", None):
        for address in (f"endpoints/{ids[tenant]}/outage", f"endpoints/{ids[tenant]}/outage?finishedSince=2020-01-31"):
            assert customer.get(address).status_code == 404
    # an endpoint that was another tenant's before shows nothing of that time
    move(database, "update svc.webhook_messages set tenant = 'globex' where tenant = 'acme'")
    later = customer.get(f"endpoints/{ids['acme']}/outage").text
    assert "We no longer keep its answers" in later
    assert "the answer of" not in later
