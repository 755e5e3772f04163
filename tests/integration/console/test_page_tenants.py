"""The pages of tenants: what one may do is offered, the rest refused, and names stay texts."""

from collections.abc import Iterator
from html import unescape

import httpx
import psycopg
import pytest

from svc_pg.console import Console, register_tenants
from svc_pg.formats.unseen import marked
from tests.integration.console.browsing import HOSTILE, Browser, Document, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import log


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed))
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


@pytest.fixture
def admin(client: httpx.Client) -> Browser:
    return signed_in(client, "admin")


def test_a_tenant_is_added_renamed_and_deleted_with_its_name_typed(admin: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("delete from svc.tenants")  # those of cases that came before
    assert "There are no tenants yet" in admin.get("/tenants").text
    page = admin.post("/tenants", {"name": " Acme ", "id": ""})
    assert (page.status_code, "<bdi>Acme</bdi></h1>" in page.text) == (200, True)
    path = page.url.path.partition("/ui")[2]
    page = admin.post(f"{path}/rename", {"name": "Acme Europe"})
    assert "<bdi>Acme Europe</bdi></h1>" in page.text
    refused = admin.post(f"{path}/delete", {"name": "Acme"})
    assert (refused.status_code, "What you typed is not the name" in refused.text) == (422, True)
    page = admin.post(f"{path}/delete", {"name": "Acme Europe"})
    assert "<bdi>Acme Europe</bdi> is deleted" in page.text
    assert "There are no tenants yet" in admin.get("/tenants").text
    assert admin.get(path).status_code == 404
    with psycopg.connect(installed) as conn:
        actors = [entry["actor_id"] for entry in log(conn) if entry["record_id"] == path.rpartition("/")[2]]
    assert actors == ["ann@corp.example"] * 3


def test_a_tenant_with_a_long_name_can_be_deleted(admin: Browser) -> None:
    name = "😀" * 200
    path = admin.post("/tenants", {"name": name}).url.path.partition("/ui")[2]
    page = admin.post(f"{path}/delete", {"name": name})
    assert (page.status_code, "is deleted" in page.text) == (200, True)
    assert admin.get(path).status_code == 404


def test_a_name_that_somebody_else_has_changed_meanwhile_is_not_overwritten(admin: Browser) -> None:
    page = admin.post("/tenants", {"name": "Before"})
    path = page.url.path.partition("/ui")[2]
    [seen] = [tag["value"] for _, tag in Document(page.text).tags if tag.get("name") == "seen"]
    assert seen is not None
    assert admin.post(f"{path}/rename", {"name": "Meanwhile", "seen": seen}).status_code == 200
    late = admin.post(f"{path}/rename", {"name": "Late", "seen": seen})
    assert (late.status_code, "It has changed since you read it." in late.text) == (412, True)
    assert "<bdi>Meanwhile</bdi></h1>" in late.text
    assert admin.post(f"{path}/rename", {"name": "Late", "seen": '"\u0661"'}).status_code == 412


def test_names_that_the_table_refuses_are_explained_beside_the_form(admin: Browser) -> None:
    admin.post("/tenants", {"name": "Twice"})
    taken = admin.post("/tenants", {"name": "Twice", "id": ""})
    assert (taken.status_code, 'value="Twice"' in taken.text) == (409, True)
    assert "There is a tenant with this id or this name." in taken.text
    long = admin.post("/tenants", {"name": "x" * 201})
    assert (long.status_code, "Name: Write at most 200 characters." in long.text) == (422, True)
    assert admin.post("/tenants", {"name": "X", "id": "x" * 401}).status_code == 422


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_texts(admin: Browser, name: str) -> None:
    page = admin.post("/tenants", {"name": name})
    for shown in (page, admin.get("/tenants")):
        assert shown.status_code == 200
        assert_strict(shown.text)
        assert f"<bdi>{marked(name)}</bdi>" in unescape(shown.text)
        assert "49" not in shown.text.partition("<main")[2].partition("</h1>")[0]


def test_one_may_do_what_the_permission_allows(client: httpx.Client, admin: Browser) -> None:
    path = admin.post("/tenants", {"name": "Permitted"}).url.path.partition("/ui")[2]
    posts = {"/tenants": "write", f"{path}/rename": "write", f"{path}/delete": "admin"}
    for permission, offered in (("read", set()), ("write", {"/new-tenant", f"{path}/rename"})):
        browser = signed_in(client, permission)  # type: ignore[arg-type]
        shown = browser.get("/tenants").text + browser.get(path).text
        assert {
            address for address in ("/new-tenant", *posts) if f'{address}"' in shown and address != "/tenants"
        } == offered
    reader = signed_in(client, "read")
    for address, needed in posts.items():
        refused = reader.post(address, {"name": "Permitted"})
        assert (refused.status_code, f"This needs the permission {needed}" in refused.text) == (403, True)
    assert admin.get(path).status_code == 200


def test_tenants_are_offered_only_if_the_console_has_them(admin: Browser) -> None:
    assert '/ui/tenants"' in admin.get("/missing").text
    with serving_installed(Console(settings())) as without:
        page = signed_in(without, "admin").get("/missing")
    assert '/ui/tenants"' not in page.text


def test_tenants_that_something_names_are_shown_with_what_there_is_of_them(admin: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("delete from svc.tenants")
        conn.execute(
            "insert into svc.webhook_messages (id, event_name, payload, tenant)"
            " select svc.webhook_uuid7(), 'a', '{}', t from unnest('{acme,acme,globex}'::text[]) t"
        )
        conn.execute("set local svc.tenant_id = 'acme'")
        conn.execute("select svc.audit_add_entry('public.a', 'INSERT', record_id => '1', after_data => '{}')")
    shown = admin.get("/tenants").text
    assert "There are no tenants yet" not in shown
    [form] = [address for address in Document(shown).values("href") if address.endswith("new-tenant?id=acme")]
    assert 'value="acme"' in admin.get(form).text
    page = admin.post("/tenants", {"id": "acme", "name": "Acme"})
    assert '/audit?tenant=acme">1</a>' in page.text
    shown = admin.get("/tenants").text
    assert ("new-tenant?id=globex" in shown, "new-tenant?id=acme" in shown) == (True, False)
    assert '/deliveries?tenant=acme">2</a>' in shown


def test_long_lists_have_pages(admin: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("insert into svc.tenants (name) select 'Many ' || n from generate_series(1, 60) n")
    first = admin.get("/tenants")
    following = unescape(first.text.partition('class="pager"')[2].partition('href="')[2].partition('"')[0])
    assert admin.get(following).status_code == 200
    assert admin.get("/tenants?cursor=x").status_code == 422
