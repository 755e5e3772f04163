"""Links to the portal on the pages of tenants and endpoints: made by a button, shown once, ended after a question."""

from collections.abc import Iterator
from html import unescape

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg.console import Console, register_tenants
from tests.integration.console.browsing import HOSTILE, OWN, Browser, Document, assert_strict, shown_secret, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.integration.console.signing_in import rows
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.support.postgres import Prepare

CONFIG = hooks_config("order.created")
URL = "http://127.0.0.1:9/hook"
LOCAL = "The customer cannot open this link."


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def of_acme(conninfo: str) -> None:
        endpoint(conninfo, CONFIG, URL, tenant="acme")
        endpoint(conninfo, CONFIG, f"{URL}/all")
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme'), ('globex', 'Globex')")

    return of_acme


def console(database: str, **overrides: object) -> Console:
    given = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT), **overrides)
    made = Console(given, config=CONFIG)
    register_tenants(made)
    return made


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(console(database)) as client:
        yield client


@pytest.fixture
def admin(client: httpx.Client) -> Browser:
    return signed_in(client, "admin")


def fields(page: str) -> dict[str, str]:
    """What the form of the button sends."""
    form = page.partition("/portal-links")[2].partition("</form>")[0]
    hidden = {str(tag["name"]): str(tag["value"]) for _, tag in Document(form).tags if tag.get("type") == "hidden"}
    return hidden | {"lasts": "900"}


def test_a_link_is_made_on_the_page_of_a_tenant_shown_once_and_opens_the_portal(
    client: httpx.Client, admin: Browser, database: str
) -> None:
    given = fields(admin.get("/tenants/acme").text)
    assert given["tenant"] == "acme"
    page = admin.post("/portal-links", given)
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    assert_strict(page.text)
    for words in ("Copy it now", "<bdi>acme</bdi>", "lasts 15 minutes", "once, until", "rotates their secrets"):
        assert words in page.text
    assert LOCAL in page.text
    link = shown_secret(page)
    assert link.startswith(f"{client.base_url.copy_with(path='/')}.well-known/svc/ui/portal/enter?token=")
    [(lasts, tenant)] = rows(database, "select session_lifetime, tenant from svc.console_portal_links")
    assert (lasts.total_seconds(), tenant) == (900, "acme")
    address = page.url.path.partition("/ui")[2]
    assert shown_secret(admin.get(address)) == link  # a reload, and the form sent once more, make no other
    assert shown_secret(admin.post("/portal-links", given)) == link
    assert rows(database, "select count(*) from svc.console_portal_links") == [(1,)]
    somebody_else = signed_in(client, "admin")
    assert link not in somebody_else.get(address).text
    token = link.partition("token=")[2]
    opened = httpx.post(link.partition("?")[0], data={"token": token}, headers=OWN)
    assert (opened.status_code, opened.headers["location"].endswith("/ui/portal/home")) == (303, True)
    assert "It opens nothing any more:</b> somebody opened it" in admin.get(address).text


def test_a_link_is_made_on_the_page_of_an_endpoint_that_is_a_tenants(admin: Browser, database: str) -> None:
    pages = {tenant: admin.get(f"/endpoints/{endpoint_id}").text for endpoint_id, tenant in rows(
        database, "select id::text, tenant from svc.webhook_endpoints"
    )}  # fmt: skip
    assert "/portal-links" not in pages[None]
    assert "Copy it now" in admin.post("/portal-links", fields(pages["acme"])).text


def test_the_page_of_an_outage_makes_a_link_that_leads_the_customer_to_it(
    client: httpx.Client, admin: Browser, database: str
) -> None:
    ids = {tenant: key for key, tenant in rows(database, "select id::text, tenant from svc.webhook_endpoints")}
    page = admin.get(f"/endpoints/{ids['acme']}/outage").text
    assert "Show it to the customer" in page
    given = fields(page)
    assert given["outage"] == ids["acme"]
    assert "Show it to the customer" not in admin.get(f"/endpoints/{ids[None]}/outage").text
    assert "Show it to the customer" not in signed_in(client, "write").get(f"/endpoints/{ids['acme']}/outage").text
    link = shown_secret(admin.post("/portal-links", given))
    link = unescape(link)
    assert link.endswith(f"&outage={ids['acme']}")
    entry = httpx.get(link).text
    sent = {str(tag["name"]): str(tag["value"]) for _, tag in Document(entry).tags if tag.get("type") == "hidden"}
    opened = httpx.post(link.partition("?")[0], data=sent, headers=OWN)
    assert opened.headers["location"].endswith(f"/ui/portal/endpoints/{ids['acme']}/outage")


@pytest.mark.parametrize("outage", ["https://evil.example/", "//evil.example", "../../sign-out", "a" * 1000, *HOSTILE])
def test_a_link_leads_to_no_other_place(admin: Browser, outage: str) -> None:
    link = shown_secret(admin.post("/portal-links", {"tenant": "acme", "lasts": "3600", "outage": outage}))
    assert "outage" not in link
    address, _, token = link.partition("?token=")
    opened = httpx.post(address, data={"token": token, "outage": outage}, headers=OWN)
    assert opened.headers["location"].endswith("/ui/portal/home")


def test_an_address_that_the_customer_can_open_is_not_warned_of(database: str) -> None:
    with serving_installed(console(database, console_public_url="https://shop.example/console")) as client:
        admin = signed_in(client, "admin")
        page = admin.post("/portal-links", fields(admin.get("/tenants/acme").text))
        assert shown_secret(page).startswith("https://shop.example/.well-known/svc/ui/portal/enter?token=")
        assert LOCAL not in page.text
        headers = {"Authorization": f"Bearer {admin.cookies['svc_console']}"}
        made = client.post("/webhooks/portal-sessions", json={"tenant": "acme"}, headers=headers).json()
        assert made["warning"] is None


def test_the_link_has_the_origin_that_the_browser_names(admin: Browser) -> None:
    given = fields(admin.get("/tenants/acme").text)
    page = admin.post("/portal-links", given, Origin="https://console.example")
    assert shown_secret(page).startswith("https://console.example/.well-known/svc/ui/portal/enter?token=")
    assert LOCAL not in page.text


def test_the_api_warns_of_a_link_to_this_machine(client: httpx.Client, admin: Browser, database: str) -> None:
    headers = {"Authorization": f"Bearer {admin.cookies['svc_console']}"}
    made = client.post("/webhooks/portal-sessions", json={"tenant": "acme"}, headers=headers).json()
    assert (made["url"], "A link to 127.0.0.1 opens on this machine alone." in made["warning"]) == (None, True)
    headers["Host"] = "shop.example"
    there = client.post("/webhooks/portal-sessions", json={"tenant": "acme"}, headers=headers)
    assert there.json()["warning"] is None
    del headers["Host"]
    with serving_installed(console(database, console_public_url="http://192.168.0.7:8000")) as local:
        made = local.post("/webhooks/portal-sessions", json={"tenant": "acme"}, headers=headers).json()
        assert made["url"].startswith("http://192.168.0.7:8000/")
        assert "opens within its network alone" in made["warning"]


def test_the_first_link_of_a_tenant_says_so(admin: Browser) -> None:
    assert "It is the first of this tenant." in admin.post("/portal-links", {"tenant": "globex", "lasts": "3600"}).text
    assert (
        "It is the first of this tenant." not in admin.post("/portal-links", {"tenant": "acme", "lasts": "3600"}).text
    )


@pytest.mark.parametrize(
    ("wrong", "status", "words"),
    [
        ({"tenant": "initech", "lasts": "3600"}, 404, "There is no such tenant in svc.tenants. Add it first."),
        ({"tenant": "", "lasts": "3600"}, 422, "Tenant: Write a text of at least 1."),
        ({"tenant": "acme", "lasts": "86401"}, 422, "Choose for how long the visit lasts."),
        ({"tenant": "acme"}, 422, "Choose for how long the visit lasts."),
    ],
)
def test_a_link_that_cannot_be_is_refused(
    admin: Browser, database: str, wrong: dict[str, str], status: int, words: str
) -> None:
    page = admin.post("/portal-links", wrong)
    assert (page.status_code, words in page.text) == (status, True)
    assert rows(database, "select count(*) from svc.console_portal_links") == [(0,)]


def test_only_administrators_are_offered_links_and_make_them(client: httpx.Client, admin: Browser) -> None:
    made = admin.post("/portal-links", {"tenant": "acme", "lasts": "3600"})
    for permission in ("read", "write"):
        browser = signed_in(client, permission)
        assert "/portal-links" not in browser.get("/tenants/acme").text
        assert browser.post("/portal-links", {"tenant": "acme", "lasts": "3600"}).status_code == 403
        assert browser.get(made.url.path.partition("/ui")[2]).status_code == 403


@pytest.mark.parametrize("tenant", [*HOSTILE, "x" * 400])
def test_hostile_tenants_stay_texts_and_fit_into_the_cookie(admin: Browser, database: str, tenant: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("insert into svc.tenants (id, name) values (%s, 'x')", [tenant])
    page = admin.post("/portal-links", {"tenant": tenant, "lasts": "3600"})
    assert page.status_code == 200
    assert_strict(page.text)
    assert "Copy it now" in page.text


def test_a_link_is_ended_after_a_question_and_the_list_says_which(admin: Browser, database: str) -> None:
    page = admin.post("/portal-links", {"tenant": "acme", "lasts": "3600"})
    [(link_id,)] = rows(database, "select id::text from svc.console_portal_links")
    ending = f"/sessions/{link_id}/revoke"
    for shown in (page, admin.get("/sessions")):
        assert f'/ui{ending}"' in shown.text
    question = admin.get(ending)
    assert "End the link to the portal for <bdi>acme</bdi>?" in question.text
    assert "This cannot be taken back" in question.text
    assert rows(database, "select revoked_at from svc.console_portal_links") == [(None,)]
    ended = admin.post(ending, {"whose": ""})
    assert "The link to the portal for <bdi>acme</bdi> has ended:" in ended.text
    assert "ended by <bdi>ann@corp.example</bdi>" in ended.text
    assert "It has ended already, by <bdi>ann@corp.example</bdi>" in admin.get(ending).text
    assert "It opens nothing any more:" in admin.get(page.url.path.partition("/ui")[2]).text


def test_the_deletion_of_a_tenant_says_how_much_ended(admin: Browser, database: str) -> None:
    admin.post("/portal-links", {"tenant": "acme", "lasts": "3600"})
    with psycopg.connect(database) as conn:
        conn.execute(
            "insert into svc.console_sessions (id, email, permission, tenant, token_hash, expires_at) select"
            " gen_random_uuid(), 'bob@acme.example', 'read', 'acme', sha256(n::text::bytea), now() + interval '1 h'"
            " from generate_series(1, 2) n"
        )
    page = admin.get("/tenants/acme").text
    assert "Its 2 sessions and 0 tokens end, and so do links" in page
    gone = admin.post("/tenants/acme/delete", {"name": "Acme"}).text
    assert "<bdi>Acme</bdi> is deleted" in gone
    assert "With it ended 2 sessions, 0 tokens and 1 link to the portal." in gone
    assert "1 endpoint" in gone
