"""A console that only reads, on a standby: it finds sessions and tokens, shows all pages, and refuses each change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import audit, webhooks
from svc_pg.console import Console, register_tenants, webhooks_app
from svc_pg.console.pages.routes import ROUTES
from svc_pg.console.sign_in import api_tokens
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from tests.integration.console.browsing import OWN, Browser, Document, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving, serving_installed, settings
from tests.integration.console.signing_in import Mailbox, magic_settings, serving_magic, sign_in
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import new_database, replicated
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
CONFIG.audit.table("public.orders")
HARMLESS = re.compile(r"/(sign-out|theme|leave)$")
"""The forms that change nothing in the database."""


@dataclass(frozen=True)
class Servers:
    primary: str
    standby: str
    session: dict[str, str]
    """The header with a session that the primary's console made."""


def prepare(primary: str) -> dict[str, str]:
    """Fill the database, and sign in to its console; returns the header of the session."""
    with psycopg.connect(primary, autocommit=True) as conn:
        conn.execute("create table orders (id integer primary key, state text)")
        install(primary, CONFIG)
        given = settings(encryption_keys=SecretStr(KEYS_TEXT))
        webhooks.endpoints.create(
            conn, url="http://127.0.0.1:9/hook", events=["*"], settings=given, config=CONFIG, tenant="acme"
        )
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
        with conn.transaction(), audit.actor(conn, "ann@corp.example"):
            conn.execute("insert into orders values (7, 'new')")
            conn.execute("update orders set state = 'paid'")
            webhooks.send(conn, "order.created", {"id": 7}, tenant="acme")
    mailbox = Mailbox()
    with serving_magic(primary, mailbox) as client:
        return sign_in(client, mailbox, "ann@corp.example")


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with replicated(prepare) as found:
        yield Servers(*found)


def new_console(database: str, **options: Any) -> Console:
    given = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT))
    console = Console(given, config=CONFIG, is_read_only=True, **options)
    register_tenants(console)
    return console


@pytest.fixture(scope="module")
def console(servers: Servers) -> Console:
    return new_console(servers.standby)


@pytest.fixture(scope="module")
def client(console: Console) -> Iterator[httpx.Client]:
    with serving_installed(console) as client:
        yield client


def ids(database: str) -> dict[str, str]:
    """The values of the parameters that addresses of pages have, by the first segment of their path."""
    with psycopg.connect(database) as conn:
        return {
            "deliveries": str(scalar(conn, "select id from svc.webhook_deliveries")),
            "endpoints": str(scalar(conn, "select id from svc.webhook_endpoints")),
            "entries": str(scalar(conn, "select max(id) from svc.audit_logs where table_name = 'public.orders'")),
            "transactions": str(scalar(conn, "select xact_id from svc.audit_logs where operation = 'UPDATE'")),
            "sessions": str(scalar(conn, "select id from svc.console_sessions")),
            "tenants": "acme",
            "events": "order.created",
        }


def address(path: str, known: dict[str, str]) -> str:
    """The address of a page, for the rows that there are."""
    kind = path.removeprefix("/audit/").removeprefix("/").partition("/")[0]
    path = path.replace("/records/:table/:id", "/records/orders/7").replace(":side", "after.json")
    return re.sub(r":\w+", known.get(kind, "00000000-0000-7000-8000-000000000000"), path)


def test_every_page_is_there_without_a_form_that_changes_something(client: httpx.Client, servers: Servers) -> None:
    browser, known = signed_in(client, "admin"), ids(servers.primary)
    changing = [re.compile(re.sub(r":\w+", "[^/]+", each.path) + "$") for each in ROUTES if each.leads_to_change]
    shown = {}
    for route in ROUTES:
        if route.method != "GET" or route.is_stream or route.is_change or route.path.startswith("/tokens/:id"):
            continue
        given = address(route.path, known)
        answer = browser.get(given + ("?time=2026-01-01T00:00:00Z" if given.endswith("/as-of") else ""))
        shown[route.path] = answer.status_code
        for tag, attributes in Document(answer.text).tags if "text/html" in answer.headers["content-type"] else []:
            if tag == "form" and attributes.get("method") == "post" and not route.is_open:
                assert HARMLESS.search(str(attributes["action"])), (route.path, attributes)
            path = urlsplit(attributes.get("href") or "").path.partition("/ui")[2]
            assert not any(each.match(path) for each in changing), (route.path, path)
    missing = {path for path, status in shown.items() if status != 200}
    # no link to the portal was made, no view kept, no sign-in is under way, and no record was there at that time
    assert missing <= {
        "/portal-links/:id", "/sign-in/code", "/audit/records/:table/:id/as-of", "/audit/entries/:id/erasure",
        "/views/:id",
    }, shown  # fmt: skip
    assert "admin, reads only" in browser.get("/overview").text


def test_every_page_that_changes_something_is_refused(client: httpx.Client, servers: Servers) -> None:
    browser, known = signed_in(client, "admin"), ids(servers.primary)
    tried = [route for route in ROUTES if route.is_change]
    assert len(tried) > 25
    for route in tried:
        refused = browser.ask(route.method, address(route.path, known), {"key": "k"}, **OWN)
        assert refused.status_code == 403, route.path
        assert "This console only reads. Make the change in a console of the primary." in refused.text


def test_every_route_that_changes_something_is_refused(
    console: Console, client: httpx.Client, servers: Servers
) -> None:
    known = ids(servers.primary)
    changes = [route for route in console._core.routes if route.permission and route.method != "GET"]
    assert len(changes) > 20
    for route in changes:
        answer = client.request(route.method, address(route.path, known), headers=bearer("admin"), json={})
        assert_problem(answer, 403, "read_only")
    assert_problem(client.post("/portal/open", json={"token": "x"}), 404, "not_found")
    assert_problem(client.post("/console/portal/open", json={"token": "x"}), 403, "read_only")
    with serving(webhooks_app(console)) as base_url:
        assert_problem(httpx.post(f"{base_url}/endpoints", json={}, headers=bearer("write")), 403, "read_only")


def test_every_route_that_reads_answers(console: Console, client: httpx.Client, servers: Servers) -> None:
    known = ids(servers.primary)
    needs = {"/audit/records/:table/:id/as-of": {"time": "2026-01-01"}, "/tenant/use": {"id": "acme"}}
    for route in console._core.routes:
        if route.method != "GET" or not route.permission or route.path == "/account/changes":
            continue
        path = address(re.sub(r"^/(webhooks|tenant|account)", "", route.path), known)
        path = path if route.path.startswith("/audit") else route.path.split("/", 2)[1].join(["/", path])
        answer = client.get(path, headers=bearer("admin"), params=needs.get(route.path))
        assert answer.status_code < 500, (route.path, answer.text)
        assert answer.status_code == 200 or answer.json()["detail"], (route.path, answer.text)


def test_sessions_and_tokens_of_the_primary_are_good_and_nothing_is_written(servers: Servers) -> None:
    with psycopg.connect(servers.primary, autocommit=True) as conn:
        with conn.transaction(), audit.actor(conn, "ann@corp.example"):
            made = api_tokens.add(conn, "report", permission="write")
        with psycopg.connect(servers.standby, autocommit=True) as follower:
            wait_until(lambda: scalar(follower, "select count(*) from svc.console_tokens") == 1, "the token is there")
        program = {"Authorization": f"Bearer {made.token}"}
        before = conn.execute("select * from svc.console_uses").fetchall()
        # the primary itself, so that whatever is written is seen
        for database in (servers.standby, servers.primary):
            given = magic_settings(database, console_mail_from=None)
            with serving_installed(Console(given, config=CONFIG, is_read_only=True)) as client:
                assert client.get("/account/session", headers=servers.session).json()["email"] == "ann@corp.example"
                assert client.get("/account/session", headers=program).json()["email"] == "token:report"
                assert client.get("/audit/export", headers=program).status_code == 200
                assert client.get("/console/capabilities").json()["authMethods"] == []
                begun = client.post("/console/session/init", json={"email": "ann@corp.example"})
                assert_problem(begun, 403, "read_only")
                assert "This console only reads, so it makes no sessions" in Browser(client).get("/sign-in").text
                wrong = {"Authorization": servers.session["Authorization"] + "x"}
                assert_problem(client.get("/account/session", headers=wrong), 401, "invalid_token")
        assert conn.execute("select * from svc.console_uses").fetchall() == before
        assert scalar(conn, "select count(*) from svc.console_events where event = 'log_exported'") == 0
        with conn.transaction(), audit.actor(conn, "ann@corp.example"):
            api_tokens.revoke(conn, "report")


def test_calls_are_bounded_in_the_process(client: httpx.Client) -> None:
    given = bearer("read")
    statuses = [client.get("/account/session", headers=given).status_code for _ in range(601)]
    assert (set(statuses[:600]), statuses[600]) == ({200}, 429)


def test_an_export_and_a_refused_call_are_told_the_log_of_the_program(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "svc_pg.console")
    assert (
        client.get("/audit/export?resource=orders&actor=ann@corp.example", headers=bearer("write")).text.count("\n")
        == 2
    )
    assert client.get("/account/tokens", headers=bearer("read")).status_code == 403
    told = [record.getMessage() for record in caplog.records]
    assert [each for each in told if each.startswith("log_exported: ") and "resource=orders" in each]
    assert [each for each in told if each.startswith("call_refused: ") and "/account/tokens" in each]


def test_somebody_signs_in_and_out_on_ones_own_machine(client: httpx.Client) -> None:
    browser = Browser(client)
    assert browser.post("/sign-in").status_code == 200
    assert "svc_console" in browser.cookies
    assert "Sign in on this machine" in browser.post("/sign-out").text
    assert "svc_console" not in browser.cookies


def test_a_console_that_writes_says_so_on_a_standby(servers: Servers) -> None:
    with serving_installed(Console(settings(database_url=servers.standby), config=CONFIG)) as client:
        refused = client.post("/account/tokens", json={"name": "x", "permission": "read"}, headers=bearer("admin"))
        assert_problem(refused, 503, "database_unavailable")
        assert "it is a standby" in refused.json()["detail"]
    with serving_magic(servers.standby, Mailbox()) as client:
        for refused in (
            client.get("/account/session", headers=servers.session),
            client.post("/console/session/init", json={"email": "ann@corp.example"}),
        ):
            assert_problem(refused, 503, "database_unavailable")
            assert "it is a standby" in refused.json()["detail"]


@pytest.fixture(scope="module")
def own_database(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def apart(own_database: str, servers: Servers) -> Iterator[httpx.Client]:
    """A console that writes its own database, and shows the log of the standby."""
    given = settings(database_url=own_database)
    with serving_installed(Console(given, config=CONFIG, audit_log=servers.standby)) as client:
        yield client


def test_a_log_apart_is_read_with_its_past(apart: httpx.Client, servers: Servers) -> None:
    known, headers = ids(servers.primary), bearer("admin")
    entries = apart.get("/audit/entries?resource=orders&actor=ann@corp.example", headers=headers).json()["data"]
    assert [entry["operation"] for entry in entries] == ["UPDATE", "INSERT"]
    for path in (
        "/audit/records/orders/7",
        "/audit/facets",
        "/audit/stats",
        "/audit/tables",
        "/audit/holds",
        "/audit/seals",
        "/audit/export",
        "/audit/entries?text=paid",
        "/audit/entries?after=start",
        f"/audit/entries/{known['entries']}/seal",
        "/account/system",
    ):
        assert apart.get(path, headers=headers).status_code == 200, path
    browser = signed_in(apart, "admin")
    for path in (
        "/overview",
        "/audit",
        "/tail",
        f"/audit/entries/{known['entries']}",
        f"/audit/transactions/{known['transactions']}",
        f"/audit/entries/{known['entries']}/revert",
        "/audit/records/orders/7",
        "/search?q=orders+7",
        "/system",
    ):
        answer = browser.get(path)
        assert answer.status_code == 200, path
    assert "Search in values" in browser.get("/audit").text


def test_a_log_apart_is_not_purged_but_what_would_be_is_told(apart: httpx.Client) -> None:
    refused = apart.delete("/audit/entries?olderThan=1d", headers=bearer("admin"))
    assert_problem(refused, 409, "log_elsewhere")
    assert "svc-pg purge" in refused.json()["detail"]


def test_sessions_and_exports_of_a_log_apart_are_in_the_own_database(apart: httpx.Client, own_database: str) -> None:
    assert apart.get("/audit/export", headers=bearer("write")).status_code == 200
    with psycopg.connect(own_database) as conn:
        assert scalar(conn, "select count(*) > 0 from svc.console_events where event = 'log_exported'")


def test_a_stream_tells_that_a_log_apart_grows(apart: httpx.Client, servers: Servers) -> None:
    with apart.stream("GET", "/account/changes", headers=bearer("read"), timeout=60) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if line == "event: following")
        with psycopg.connect(servers.primary, autocommit=True) as conn:
            conn.execute("insert into orders values (8, 'new')")
        assert "audit" in next(line for line in lines if line.startswith('data: ["'))


def test_a_console_that_only_reads_shows_a_log_apart(own_database: str, servers: Servers) -> None:
    with serving_installed(new_console(own_database, audit_log=servers.standby)) as client:
        assert client.get("/audit/entries?resource=orders", headers=bearer("read")).json()["data"]
        assert_problem(client.delete("/audit/entries?olderThan=1d", headers=bearer("admin")), 403, "read_only")
        assert client.get("/audit/export", headers=bearer("write")).status_code == 200


def test_a_log_apart_without_svc_says_so(own_database: str, postgres: str) -> None:
    with (
        new_database(postgres) as empty,
        serving_installed(Console(settings(database_url=own_database), audit_log=empty)) as client,
    ):
        assert_problem(client.get("/audit/entries", headers=bearer("read")), 503, "not_installed")
        assert client.get("/account/session", headers=bearer("read")).status_code == 200


def test_an_address_that_cannot_be_read_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError):
        Console(settings(), audit_log="postgresql://[")
