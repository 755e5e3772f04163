"""Forms that are sent twice change once, refused ones lead to a page that can be reloaded, and sessions may end."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import unescape
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr

from svc_pg import webhooks
from svc_pg.console import Console, register_tenants
from svc_pg.database.query import scalar
from tests.integration.console.browsing import OWN, Browser, Document, hidden, shown_secret, sign_in_page, signed_in
from tests.integration.console.serving import PREFIX, serving_installed, serving_with_pool, settings
from tests.integration.console.signing_in import Mailbox, new_address, new_ip, rows
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import new_database
from tests.support.waiting import wait_until

CONFIG: Final = hooks_config("order.created", "order.paid")
BASE: Final = f"{PREFIX}/ui"
URL: Final = "http://127.0.0.1:9/hook"


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        install(conninfo, CONFIG)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT)), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


@pytest.fixture
def admin(client: httpx.Client) -> Browser:
    return signed_in(client, "admin")


@pytest.fixture
def made(installed: str) -> Iterator[dict[str, str]]:
    """An endpoint, a delivery of each kind, a tenant and a token, by their names; gone after the case."""
    given = settings(encryption_keys=SecretStr(KEYS_TEXT))
    with psycopg.connect(installed) as conn:
        endpoint = webhooks.endpoints.create(conn, url=URL, events=["*"], settings=given, config=CONFIG)
        message = webhooks.send(conn, "order.created", {})
        delivery = scalar(conn, "select id::text from svc.webhook_deliveries where message_id = %s", [message])
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
        conn.execute("select svc.console_add_token(gen_random_uuid(), 'old', 'read', null, sha256('t'), '1 h')")
        token = scalar(conn, "select id::text from svc.console_tokens where name = 'old'")
        conn.execute("select svc.console_add_view(gen_random_uuid(), 'deliveries', null, 'old', 'status:failed')")
        view = scalar(conn, "select id::text from svc.console_views where name = 'old'")
    made = {"endpoint": str(endpoint.id), "delivery": str(delivery), "tenant": "acme", "token": str(token)}
    yield made | {"view": str(view)}
    with psycopg.connect(installed) as conn:
        conn.execute(
            "truncate svc.webhook_messages, svc.webhook_deliveries, svc.webhook_queue, svc.webhook_endpoints,"
            " svc.webhook_delivery_attempts, svc.tenants, svc.console_tokens, svc.console_portal_links,"
            " svc.console_forms, svc.console_views cascade"
        )


@dataclass(frozen=True)
class Kind:
    """A form: the page that has it, where it is sent, what is typed, and a number that tells what it changed."""

    page: str
    address: str
    typed: dict[str, str]
    changed: str


ADDED: Final = {"url": f"{URL}/new", "events": "order.paid", "signatures": "v1"}
CHANGES: Final = "select count(*) from svc.audit_logs where table_name = 'svc.{}' and operation = '{}'"
EVENTS: Final = "select count(*) from svc.console_events where event = '{}'"
KINDS: Final = {
    "add an endpoint": Kind("/endpoints/new", "/endpoints", ADDED, "select count(*) from svc.webhook_endpoints"),
    "edit": Kind(
        "/endpoints/{endpoint}/edit",
        "/endpoints/{endpoint}/edit",
        ADDED | {"description": "ERP"},
        "select max(version) from svc.webhook_endpoints",
    ),
    "rotate": Kind(
        "/endpoints/{endpoint}/rotate",
        "/endpoints/{endpoint}/rotate",
        {"overlap": "86400"},
        "select max(version) from svc.webhook_endpoints",
    ),
    "test": Kind(
        "/endpoints/{endpoint}", "/endpoints/{endpoint}/ping", {}, "select count(*) from svc.webhook_deliveries"
    ),
    "pause": Kind(
        "/endpoints/{endpoint}", "/endpoints/{endpoint}/pause", {}, "select max(version) from svc.webhook_endpoints"
    ),
    "disable": Kind(
        "/endpoints/{endpoint}/end",
        "/endpoints/{endpoint}/disable",
        {"reason": "spam"},
        "select max(version) from svc.webhook_endpoints",
    ),
    "delete an endpoint": Kind(
        "/endpoints/{endpoint}/end",
        "/endpoints/{endpoint}/delete",
        {},
        CHANGES.format("webhook_endpoints", "DELETE"),
    ),
    "cancel": Kind(
        "/deliveries/{delivery}",
        "/deliveries/{delivery}/cancel",
        {},
        "select count(*) from svc.webhook_deliveries where status = 'canceled'",
    ),
    "cancel many": Kind(
        "/deliveries/change?do=cancel&id={delivery}",
        "/deliveries/change",
        {"do": "cancel", "id": "{delivery}"},
        "select count(*) from svc.webhook_deliveries where status = 'canceled'",
    ),
    "add a tenant": Kind("/new-tenant", "/tenants", {"name": "New", "id": "new"}, "select count(*) from svc.tenants"),
    "rename": Kind(
        "/tenants/{tenant}", "/tenants/{tenant}/rename", {"name": "Apex"}, CHANGES.format("tenants", "UPDATE")
    ),
    "delete a tenant": Kind(
        "/tenants/{tenant}", "/tenants/{tenant}/delete", {"name": "Acme"}, CHANGES.format("tenants", "DELETE")
    ),
    "make a portal link": Kind(
        "/tenants/{tenant}",
        "/portal-links",
        {"tenant": "{tenant}", "lasts": "900"},
        "select count(*) from svc.console_portal_links",
    ),
    "add a token": Kind(
        "/tokens/new", "/tokens", {"name": "nightly", "permission": "read", "days": "7"}, EVENTS.format("token_added")
    ),
    "keep a question": Kind(
        "/deliveries?status=failed",
        "/views",
        {"of": "deliveries", "name": "failures", "question": "status:failed", "whose": "team"},
        EVENTS.format("view_added"),
    ),
    "change a view": Kind(
        "/views/{view}/edit",
        "/views/{view}/edit",
        {"whose": "team", "name": "lost", "question": "status:failed", "was": "status:failed"},
        EVENTS.format("view_changed"),
    ),
    "delete a view": Kind(
        "/views/{view}/edit",
        "/views/{view}/delete",
        {"whose": "team", "of": "deliveries", "was": ""},
        EVENTS.format("view_deleted"),
    ),
    "revoke a token": Kind("/tokens/{token}/revoke", "/tokens/{token}/revoke", {}, EVENTS.format("token_revoked")),
}


COUNTED: Final = ("select count(*) from svc.console_tokens", "select count(*) from svc.webhook_endpoints")


def number(conninfo: str, text: str) -> int:
    with psycopg.connect(conninfo) as conn:
        return int(conn.execute(text.encode()).fetchone()[0])  # type: ignore[index]


def both(browser: Browser, installed: str, address: str, fields: dict[str, str], *, times: int = 2) -> list[Any]:
    """The answers of forms that arrive at the same time: none can record that it was sent before all are there."""
    with psycopg.connect(installed) as conn, ThreadPoolExecutor(times) as executor:
        conn.execute("lock table svc.console_forms in share mode")
        sent = [executor.submit(browser.ask, "POST", address, fields, **OWN) for _ in range(times)]
        wait_until(lambda: waiting(installed) == times, "all forms wait")
        conn.rollback()
        return [each.result() for each in sent]


def waiting(installed: str) -> int:
    with psycopg.connect(installed) as conn:
        return int(
            scalar(conn, "select count(*) from pg_locks where not granted and relation = 'svc.console_forms'::regclass")
        )


@pytest.mark.parametrize("name", KINDS)
def test_a_form_that_is_sent_twice_at_a_time_changes_once_and_has_one_answer(
    admin: Browser, installed: str, made: dict[str, str], name: str
) -> None:
    kind = KINDS[name]
    page, address = kind.page.format(**made), kind.address.format(**made)
    typed = {field: text.format(**made) for field, text in kind.typed.items()}
    fields = {k: v for k, v in hidden(admin, page).items() if k in ("key", "version", "seen")} | typed
    before = number(installed, kind.changed)
    one, two = both(admin, installed, address, fields)
    assert (one.status_code, two.status_code, one.headers["location"]) == (303, 303, two.headers["location"])
    assert "refused" not in one.headers["location"]
    assert number(installed, kind.changed) == before + 1
    again = admin.ask("POST", address, fields, **OWN)
    assert again.headers["location"] == one.headers["location"]
    assert number(installed, kind.changed) == before + 1
    if "secret" in one.headers["location"] or "made" in one.headers["location"]:
        assert shown_secret(admin.get(one.headers["location"])), "each answer has the secret"


def test_a_form_needs_one_connection_at_a_time(installed: str, made: dict[str, str]) -> None:
    given = settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT))
    pool = AsyncConnectionPool[Any](installed, min_size=0, max_size=2, open=False)  # of which the console takes half
    console = Console(given, config=CONFIG, pool=pool)
    register_tenants(console)
    with serving_with_pool(console, pool) as client:
        admin = signed_in(client, "admin")
        for name in ("rename", "edit", "test", "cancel many", "add a token", "delete a tenant", "delete an endpoint"):
            kind = KINDS[name]
            typed = {field: text.format(**made) for field, text in kind.typed.items()}
            typed |= {"name": "Apex"} if name == "delete a tenant" else {}
            fields = hidden(admin, kind.page.format(**made)) | typed
            answer = admin.ask("POST", kind.address.format(**made), fields, **OWN)
            assert (answer.status_code, "refused" in answer.headers["location"]) == (303, False), name


def test_the_kinds_are_all_that_the_pages_have() -> None:
    folder, without = files("svc_pg.console.pages").joinpath("templates"), set[str]()
    for template in folder.iterdir():
        forms = re.findall(r'<form[^>]*method="post".*?</form>', template.read_text(), re.DOTALL)
        without |= {re.sub(r".*action=\"([^\"]*)\".*", r"\1", form, flags=re.DOTALL) for form in forms
                    if not re.search(r"\bkey\(\)", form)}  # fmt: skip
    # those that change nothing twice: to leave, to choose a theme, and to sign in, where a code is good once
    leaving = {"{{ url('sign-out') }}", "{{ url('leave') }}", "{{ url('theme') }}"}
    assert without == leaving | {f"{{{{ url('sign-in'{more}) }}}}" for more in ("", ", 'code'", ", 'link'")}


def test_the_same_key_with_something_else_and_of_another_session_is_another_form(
    admin: Browser, client: httpx.Client, installed: str, made: dict[str, str]
) -> None:
    fields = {"key": hidden(admin, "/endpoints/new")["key"]} | ADDED
    secrets = {shown_secret(admin.post("/endpoints", fields | {"description": each})) for each in ("a", "b", "a")}
    assert len(secrets) == 2
    assert shown_secret(signed_in(client, "admin").post("/endpoints", fields | {"description": "a"})) not in secrets
    assert number(installed, "select count(*) from svc.webhook_endpoints") == 4
    kept = rows(installed, "select f::text from svc.console_forms f")
    assert not [each for each in kept for secret in secrets if secret in each[0] or made["endpoint"] in each[0]]
    with psycopg.connect(installed) as conn:
        conn.execute("update svc.console_forms set answer = 'x'")
    refused = admin.post("/endpoints", fields | {"description": "a"})
    assert (refused.status_code, "This form was sent before" in refused.text) == (409, True)


def test_a_form_that_was_refused_may_be_sent_again_with_its_key(
    admin: Browser, installed: str, made: dict[str, str]
) -> None:
    before = number(installed, "select count(*) from svc.console_forms")
    fields = {"key": hidden(admin, "/new-tenant")["key"], "name": "Acme", "id": "second"}
    assert admin.post("/tenants", fields).status_code == 409
    with psycopg.connect(installed) as conn:
        conn.execute("delete from svc.tenants where id = %s", [made["tenant"]])
    assert admin.post("/tenants", fields).status_code == 200
    assert number(installed, "select count(*) from svc.console_forms") == before + 1


def test_what_the_database_refuses_at_the_end_is_told_as_such(
    admin: Browser, installed: str, made: dict[str, str]
) -> None:
    path = f"/tenants/{made['tenant']}"
    with psycopg.connect(installed) as conn:
        conn.execute("create table late (tenant text references svc.tenants deferrable initially deferred)")
        conn.execute("insert into late values (%s)", [made["tenant"]])
    refused = admin.post(f"{path}/delete", {"key": hidden(admin, path)["key"], "name": "Acme"})
    with psycopg.connect(installed) as conn:
        conn.execute("drop table late")
    assert (refused.status_code, "Other rows refer to this tenant" in refused.text) == (409, True)
    assert admin.post(f"{path}/delete", {"key": hidden(admin, path)["key"], "name": "Acme"}).status_code == 200


# Refused


def test_a_refused_form_is_a_page_that_keeps_what_was_typed_when_it_is_reloaded(admin: Browser) -> None:
    typed = {"name": "no name", "tenant": "<b>acme", "days": "7", "permission": "write"}
    answer = admin.ask("POST", "/tokens", typed, **OWN)
    assert (answer.status_code, answer.headers["cache-control"]) == (303, "no-store")
    [cookie] = admin.set_cookies
    assert len(cookie) < 4096
    assert "no name" not in cookie
    for _ in range(2):
        page = admin.get(answer.headers["location"])
        assert (page.status_code, 'value="no name"' in page.text) == (422, True)
        assert 'value="&lt;b&gt;acme"' in page.text
        assert '<option value="write" selected>' in page.text
        assert 'role="alert"' in page.text
    fresh = admin.get("/tokens/new")
    assert (fresh.status_code, "no name" in fresh.text, 'role="alert"' in fresh.text) == (200, False, False)


@pytest.mark.parametrize(
    ("path", "typed", "wrong"),
    [
        ("/tenants", {"name": "", "id": "x" * 3000}, ["name", "id"]),
        ("/tokens", {"name": "ok", "tenant": "", "days": "7", "permission": "all"}, ["permission"]),
        ("/tokens", {"name": "", "tenant": "", "days": "8", "permission": "read"}, ["name", "days"]),
        ("/tenants/{tenant}/rename", {"name": "x" * 201}, ["name"]),
        ("/tenants/{tenant}/delete", {"name": "Other"}, ["name"]),
        ("/portal-links", {"tenant": "{tenant}", "lasts": "1"}, ["lasts"]),
        ("/endpoints/{endpoint}/rotate", {"overlap": "9", "version": "1"}, ["overlap"]),
        (
            "/endpoints",
            {
                "url": "",
                "description": "d" * 5000,
                "filter": "$[",
                "max_in_flight": "x",
                "timeout": "y",
                "headers": "z",
            },
            ["url", "description", "filter", "max_in_flight", "timeout", "headers"],
        ),
        ("/tokens", {"name": "ok" * 500, "tenant": "t" * 3000, "days": "7", "permission": "read"}, ["name", "tenant"]),
    ],
)
def test_all_that_is_wrong_in_a_form_is_told_at_once_and_marked(
    admin: Browser, made: dict[str, str], path: str, typed: dict[str, str], wrong: list[str]
) -> None:
    host = f"http://{admin.client.base_url.netloc.decode()}{BASE}"
    page = admin.post(
        path.format(**made),
        {name: text.format(**made) for name, text in typed.items()},
        **({"Referer": f"{host}/tenants/{made['tenant']}"} if "{tenant}" in typed.values() else {}),
    )
    assert page.status_code == 422
    marked = [tag["name"] for _, tag in Document(page.text).tags if tag.get("aria-invalid") == "true"]
    assert marked == wrong
    [told] = [tag for _, tag in Document(page.text).tags if tag.get("id") == "refused"]
    assert told["role"] == "alert"
    assert "autofocus" not in page.text, "the focus is on what is wrong"


@pytest.mark.parametrize(
    ("path", "typed", "wrong"),
    [
        ("/tokens", {"name": "old", "tenant": "nobody", "days": "7", "permission": "read"}, ["name", "tenant"]),
        ("/tokens", {"name": "no name", "tenant": "nobody", "days": "7", "permission": "read"}, ["name", "tenant"]),
        ("/tokens", {"name": "old", "tenant": "t" * 3000, "days": "7", "permission": "read"}, ["name", "tenant"]),
        ("/tokens", {"name": "old", "tenant": "\u20ac" * 400, "days": "7", "permission": "read"}, ["name", "tenant"]),
        ("/tokens", {"name": "fresh", "tenant": "nobody", "days": "7", "permission": "read"}, ["tenant"]),
        ("/endpoints", ADDED | {"url": "ftp://x", "tenant": "nobody", "timeout": "999"}, ["url", "tenant", "timeout"]),
        (
            "/endpoints/{endpoint}/edit",
            ADDED | {"version": "1", "url": "ftp://x", "timeout": "999"},
            ["url", "timeout"],
        ),
        ("/endpoints", ADDED | {"tenant": "nobody", "max_in_flight": "0"}, ["tenant", "max_in_flight"]),
        (
            "/views/{other}/edit",
            {"whose": "team", "name": "old", "question": "no:key", "was": ""},
            ["name", "question"],
        ),
    ],
)
def test_what_only_the_database_knows_is_told_with_all_else(
    admin: Browser, installed: str, made: dict[str, str], path: str, typed: dict[str, str], wrong: list[str]
) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("select svc.console_add_view(gen_random_uuid(), 'deliveries', null, 'other', 'status:failed')")
        other = scalar(conn, "select id::text from svc.console_views where name = 'other'")
        before = [conn.execute(text.encode()).fetchone() for text in COUNTED]
    page = admin.post(path.format(other=other, **made), typed)
    assert page.status_code in (404, 422)
    marked = [tag["name"] for _, tag in Document(page.text).tags if tag.get("aria-invalid") == "true"]
    assert marked == wrong
    with psycopg.connect(installed) as conn:
        assert [conn.execute(text.encode()).fetchone() for text in COUNTED] == before, "nothing is made"


def test_a_form_whose_address_would_fill_a_cookie_has_its_reason_beside_the_field(
    admin: Browser, installed: str
) -> None:
    tenant = "\u20ac" * 340
    with psycopg.connect(installed) as conn:
        conn.execute("insert into svc.tenants (id, name) values (%s, 'Long')", [tenant])
    try:
        page = admin.post(f"/tenants/{quote(tenant)}/rename", {"name": "x" * 201})
    finally:
        with psycopg.connect(installed) as conn:
            conn.execute("delete from svc.tenants where id = %s", [tenant])
    assert page.status_code == 422
    [field] = [tag for _, tag in Document(page.text).tags if tag.get("aria-invalid") == "true"]
    assert (field["value"], field["aria-describedby"]) == ("x" * 201, "wrong-name")


def test_a_refused_form_comes_back_to_the_page_that_the_browser_names(admin: Browser, made: dict[str, str]) -> None:
    host = f"http://{admin.client.base_url.netloc.decode()}"
    paths = [f"{BASE}/endpoints/new?tenant=x&event=order.paid", f"{BASE}/endpoints/new?refused=old&tenant=y"]
    for path in paths:
        answer = admin.ask("POST", "/endpoints", {"url": "x"}, **OWN, Referer=host + path)
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        assert answer.headers["location"].startswith(f"{BASE}/endpoints/new?")
        assert (len(query["refused"]), len(query["tenant"])) == (1, 1)
    for away in ("https://evil.example/", f"https://evil.example{BASE}/x", f"{host}/x", f"{host}{BASE}/../x", "//x"):
        answer = admin.ask("POST", "/endpoints", {"url": "x"}, **OWN, Referer=away)
        assert answer.headers["location"].startswith(f"{BASE}/endpoints/new?refused="), away
    busy = admin.post(f"/endpoints/{made['endpoint']}/rotate", {"overlap": "9", "version": "1"})
    assert (busy.status_code, busy.url.path) == (422, f"{BASE}/endpoints/{made['endpoint']}/rotate")


def test_of_too_much_nothing_is_kept_and_secrets_never_are(admin: Browser) -> None:
    typed = {"url": "ftp://x", "filter": "".join(map(str, range(5000))), "events": "order.paid", "signatures": "v1"}
    page = admin.post("/endpoints", typed)
    assert (page.status_code, "What you typed could not be kept" in page.text) == (422, True)
    assert 'id="wrong-' in page.text
    page = admin.post("/endpoints", typed | {"filter": "", "headers": "Authorization: hush"})
    assert (page.status_code, "hush" in page.text, "Type the headers again" in page.text) == (422, False, True)
    assert "ftp://x" in page.text


def test_a_refusal_is_for_one_person_and_for_a_while(admin: Browser, client: httpx.Client) -> None:
    answer = admin.ask("POST", "/tokens", {"name": "no name"}, **OWN)
    forgotten = "the reason is known no longer"
    admin.cookies["svc_refused"] = admin.cookies["svc_refused"][:-6] + "AAAAAA"
    for each in (admin, signed_in(client, "admin")):
        page = each.get(answer.headers["location"])
        assert (page.status_code, forgotten in page.text, "no name" in page.text) == (409, True, False)


def test_what_somebody_unknown_typed_is_in_no_form_of_a_person(admin: Browser, client: httpx.Client) -> None:
    """Another site of the domain may plant the cookie of a visitor without a session."""
    nobody = Browser(client)
    answer = nobody.ask("POST", "/sign-in", {"email": "x", "url": "https://evil.example/"}, **OWN)
    [[refused]] = parse_qs(urlsplit(answer.headers["location"]).query).values()
    admin.cookies["svc_refused"] = nobody.cookies["svc_refused"]
    page = admin.get(f"/endpoints/new?refused={refused}")
    assert (page.status_code, "evil.example" in page.text) == (422, False)
    assert nobody.get(answer.headers["location"]).status_code == 422


def test_a_refusal_is_told_on_the_page_to_which_its_page_leads(admin: Browser) -> None:
    host = f"http://{admin.client.base_url.netloc.decode()}"
    for gone in ("/tokens/made", "/tenants/acme/gone"):
        answer = admin.ask("POST", "/tokens", {"name": "no name"}, **OWN, Referer=f"{host}{BASE}{gone}")
        assert answer.headers["location"].startswith(f"{BASE}{gone}?refused=")
        page = admin.get(answer.headers["location"])
        assert (page.status_code, 'role="alert"' in page.text) == (422, True), page.url
        assert page.url.path != f"{BASE}{gone}"


def test_a_session_keeps_its_last_forms_and_locks_none_of_them(installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("truncate svc.console_forms")
        conn.execute(
            "insert into svc.console_forms (digest, session_hash, sent_at)"
            " select sha256(n::text::bytea), sha256(''), now() - n * interval '1 s' from generate_series(1, 1200) n"
        )
        assert scalar(conn, "select svc.console_form(sha256('new'), sha256(''))") is None
        assert scalar(conn, "select count(*) from svc.console_forms") == 1000
        assert scalar(conn, "select count(*) from svc.console_forms where xmax <> 0") == 0
        assert scalar(conn, "select svc.console_form(sha256('new'), sha256(''))") == ""


def test_a_page_without_the_right_is_refused_as_before(client: httpx.Client) -> None:
    refused = signed_in(client, "read").post("/tokens", {"name": "x"})
    assert (refused.status_code, "This needs the permission admin" in refused.text) == (403, True)


# Sessions that end meanwhile


def person(magic: httpx.Client, mailbox: Mailbox, email: str) -> Browser:
    browser = Browser(magic, **{"X-Forwarded-For": new_ip()})
    sign_in_page(browser, mailbox, email)
    return browser


@pytest.mark.parametrize("end", ["revoked_at = now(), revoked_by = 'x'", "expires_at = now()"])
def test_a_form_whose_session_has_ended_says_so_and_comes_back_with_what_was_typed(
    magic: httpx.Client, mailbox: Mailbox, console_database: str, end: str
) -> None:
    email = new_address("admin.example")
    browser = person(magic, mailbox, email)
    rows(console_database, f"update svc.console_sessions set {end} where email = %s returning id", email)
    rows(console_database, "delete from svc.console_rate returning key")
    page = browser.post("/tokens", {"name": "after-hours", "days": "30", "permission": "write"})
    assert ("Your session had ended, so nothing was changed" in page.text, page.url.path) == (True, f"{BASE}/sign-in")
    wanted = page.url.params["next"]
    mailbox.messages.clear()
    begun = browser.post("/sign-in", {"email": email, "next": wanted})
    form = browser.post("/sign-in/code", {"code": mailbox.code(email), "next": begun.url.params["next"]})
    assert form.url.path == f"{BASE}/tokens/new"
    assert 'value="after-hours"' in form.text
    assert "Your session had ended, so nothing was changed" in form.text
    assert rows(console_database, "select 1 from svc.console_tokens where name = 'after-hours'") == []
    other = person(magic, mailbox, new_address("admin.example"))
    other.cookies["__Secure-svc_refused"] = browser.cookies["__Secure-svc_refused"]
    assert "after-hours" not in other.get(wanted).text


def test_a_page_whose_session_has_ended_says_so_and_one_without_a_session_does_not(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address("admin.example")
    browser = person(magic, mailbox, email)
    rows(console_database, "update svc.console_sessions set expires_at = now() where email = %s returning id", email)
    page = browser.get("/sessions?state=ended")
    assert ("Your session has ended" in page.text, page.url.params["next"]) == (True, f"{BASE}/sessions?state=ended")
    assert "Your session" not in Browser(magic).get("/sessions").text
    lost = Browser(magic).post("/tokens", {"name": "typed"})
    assert "Your session had ended, so nothing was changed" in lost.text
    assert lost.url.params["next"].startswith(f"{BASE}/tokens/new?refused=")
    assert "Your session" not in browser.post("/sign-out").text


def test_an_application_that_knows_nobody_any_more_keeps_nothing_that_was_typed(client: httpx.Client) -> None:
    stranger = Browser(client)
    stranger.post("/tokens", {"name": "typed"})
    back = stranger.get("/sign-in").text
    assert "typed" not in back
    entered = signed_in(client, "admin")
    entered.cookies["svc_refused"] = stranger.cookies["svc_refused"]
    address = Browser(client).ask("POST", "/tokens", {"name": "typed"}, **OWN).headers["location"]
    assert "typed" not in entered.get(unescape(parse_qs(urlsplit(address).query)["next"][0])).text
