from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg.console import Console, TenantTable, register_tenants
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from tests.integration.console.serving import PREFIX, assert_problem, bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT
from tests.support.pages import all_data
from tests.support.postgres import new_database
from tests.support.tables import log
from tests.support.waiting import wait_until

ORGANISATIONS = """
create schema "my app";
create table "my app"."Org" (
    "No" int primary key check ("No" > 0), "full 'name'" text unique, since timestamp,
    colour text not null default 'red'
);
create table "my app".member (org int references "my app"."Org" deferrable initially deferred);
insert into "my app"."Org" select n, 'Org ' || n, '2026-01-02 03:04:05' from generate_series(1, 3) n;
insert into "my app"."Org" values (9, null);
insert into "my app".member values (1);
"""
WAITS = """
select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')
"""
ORG = TenantTable(name='"my app"."Org"', id_column="No", name_column="full 'name'", created_at_column="since")


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(ORGANISATIONS)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    """A client with all permissions, on svc.tenants."""
    console = Console(settings(database_url=installed))
    register_tenants(console)
    with serving_installed(console) as client:
        client.headers.update(bearer("admin"))
        yield client


@pytest.fixture(scope="module")
def orgs(installed: str) -> Iterator[httpx.Client]:
    """A client with all permissions, on a table of the application."""
    console = Console(settings(database_url=installed))
    register_tenants(console, table=ORG)
    with serving_installed(console) as client:
        client.headers.update(bearer("admin"))
        yield client


def add(client: httpx.Client, name: str, tenant: str | None = None) -> str:
    response = client.post("/tenant/tenants", json={"name": name} | ({"id": tenant} if tenant else {}))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def test_a_tenant_is_added_read_renamed_and_removed(client: httpx.Client) -> None:
    response = client.post("/tenant/tenants", json={"name": "Acme"})
    tenant = response.json()
    assert (response.status_code, tenant["name"]) == (201, "Acme")
    assert response.headers["location"] == f"{PREFIX}/tenant/tenants/{tenant['id']}"
    path = f"/tenant/tenants/{tenant['id']}"
    assert client.get(path).json() == tenant
    renamed = client.patch(path, json={"name": "Acme Europe"}).json()
    assert (renamed["id"], renamed["name"], renamed["createdAt"]) == (tenant["id"], "Acme Europe", tenant["createdAt"])
    assert renamed["updatedAt"] > tenant["updatedAt"]
    assert client.delete(path).status_code == 204
    assert_problem(client.get(path), 404, "unknown_tenant")


def test_with_a_tenant_ends_all_that_lets_somebody_in_for_it(client: httpx.Client, installed: str) -> None:
    gone, stays = add(client, "Gone", "gone"), add(client, "Stays", "stays")
    links = {
        name: client.post("/webhooks/portal-sessions", json={"tenant": tenant}).json()["path"].partition("token=")[2]
        for name, tenant in (("opened", gone), ("waiting", gone), ("of another", stays), ("of the other", stays))
    }
    for name in ("opened", "of another"):
        assert client.post("/console/portal/open", json={"token": links[name]}).status_code == 200
    tokens = {
        tenant: client.post("/account/tokens", json={"name": name, "permission": "write", "tenant": tenant}).json()
        for tenant, name in ((gone, "of-gone"), (stays, "of-stays"))
    }
    assert client.delete(f"/tenant/tenants/{gone}").status_code == 204
    live = client.get("/account/sessions", params={"state": "live"}).json()["data"]
    assert {each["tenant"] for each in live} == {stays}
    for tenant, status in ((gone, 401), (stays, 200)):
        headers = {"Authorization": f"Bearer {tokens[tenant]['token']}"}
        assert client.get("/webhooks/endpoints", headers=headers).status_code == status
    for name, status in (("waiting", 410), ("of the other", 200)):
        assert client.post("/console/portal/open", json={"token": links[name]}).status_code == status
    events = client.get("/account/events").json()["data"]
    ended = {each["event"] for each in events if each["detail"] in ("by ann@corp.example", "of-gone")}
    assert ended >= {"session_revoked", "token_revoked"}
    kept = add(client, "In use")  # what cannot be removed loses nothing
    client.post("/account/tokens", json={"name": "of-kept", "permission": "read", "tenant": kept})
    with psycopg.connect(installed) as conn:
        conn.execute("create table kept (tenant text references svc.tenants)")
        conn.execute("insert into kept values (%s)", (kept,))
    assert_problem(client.delete(f"/tenant/tenants/{kept}"), 409, "tenant_in_use")
    assert "of-kept" in {each["name"] for each in client.get("/account/tokens?state=live").json()["data"]}


@pytest.mark.parametrize(
    "statement",
    [
        "delete from svc.tenants where id = 'past'",
        "truncate svc.tenants cascade",
        "update svc.tenants set id = 'other' where id = 'past'",
    ],
)
def test_a_tenant_that_sql_removes_keeps_no_access(client: httpx.Client, installed: str, statement: str) -> None:
    add(client, "Past", "past")
    path = client.post("/webhooks/portal-sessions", json={"tenant": "past"}).json()["path"]
    body = {"name": "of-past", "permission": "read", "tenant": "past"}
    token = client.post("/account/tokens", json=body).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/webhooks/endpoints", headers=headers).status_code == 200
    with psycopg.connect(installed) as conn:
        conn.execute(statement)
    assert_problem(client.get("/webhooks/endpoints", headers=headers), 401, "invalid_token")
    opened = client.post("/console/portal/open", json={"token": path.partition("token=")[2]})
    assert_problem(opened, 410, "link_over")
    with psycopg.connect(installed) as conn:
        conn.execute("delete from svc.tenants where id = 'other'")


def test_links_and_tokens_are_for_tenants_of_the_table_alone(client: httpx.Client, orgs: httpx.Client) -> None:
    for product in (client, orgs):
        asked = {"/webhooks/portal-sessions": {}, "/account/tokens": {"name": "of-nobody", "permission": "read"}}
        for path, body in asked.items():
            refused = product.post(path, json={"tenant": "nobody", **body})
            assert_problem(refused, 404, "unknown_tenant")
            assert "Add it first." in refused.json()["detail"]
    assert orgs.post("/webhooks/portal-sessions", json={"tenant": "3"}).status_code == 201


def test_without_a_table_a_link_or_token_says_that_its_tenant_is_new(database: str) -> None:
    with serving_installed(Console(settings(database_url=database))) as client:
        client.headers.update(bearer("admin"))

        def made(name: str, tenant: str | None) -> httpx.Response:
            return client.post("/account/tokens", json={"name": name, "permission": "read", "tenant": tenant})

        link = client.post("/webhooks/portal-sessions", json={"tenant": "acme"}).json()
        assert (link["isNewTenant"], made("a", "acme").json()["isNewTenant"]) == (True, False)
        assert (made("b", "acmee").json()["isNewTenant"], made("c", None).json()["isNewTenant"]) == (True, False)
        with psycopg.connect(database) as conn:
            conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
        assert made("d", "acme").status_code == 201
        refused = made("e", "acmee")
        assert_problem(refused, 404, "unknown_tenant")
        assert "add it to svc.tenants first" in refused.json()["detail"]
        assert_problem(client.post("/webhooks/portal-sessions", json={"tenant": "acmee"}), 404, "unknown_tenant")


def test_an_endpoint_of_an_unknown_tenant_is_refused_or_said_to_be_its_first(database: str) -> None:
    with serving_installed(Console(settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT)))) as client:
        client.headers.update(bearer("admin"))

        def registered(**fields: object) -> httpx.Response:
            return client.post("/webhooks/endpoints", json={"url": "https://9.9.9.9/hook", "events": ["*"], **fields})

        answers = [registered(**fields).json() for fields in ({"tenant": "acme"}, {"tenant": "acme"}, {})]
        assert [answer["isNewTenant"] for answer in answers] == [True, False, False]
        with psycopg.connect(database) as conn:
            conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
        assert registered(tenant="acme").json()["isNewTenant"] is False
        refused = registered(tenant="acmee")
        assert_problem(refused, 404, "unknown_tenant")
        assert "add it to svc.tenants first" in refused.json()["detail"]
        assert registered().status_code == 201


def test_of_a_link_and_the_removal_of_its_tenant_at_once_the_removal_wins(client: httpx.Client, installed: str) -> None:
    add(client, "Raced", "raced")
    with psycopg.connect(installed) as making, ThreadPoolExecutor() as executor:
        link = "select svc.webhook_portal_link(gen_random_uuid(), 'raced', sha256('raced'), '1 h', '10 min')"
        making.execute("select svc.console_check_tenant('raced')")
        making.execute(link)
        removing = executor.submit(client.delete, "/tenant/tenants/raced")
        with psycopg.connect(installed, autocommit=True) as watching:
            wait_until(lambda: scalar(watching, WAITS))
        making.commit()
        assert removing.result().status_code == 204
    with psycopg.connect(installed) as conn:
        assert scalar(conn, "select revoked_at is not null from svc.console_portal_links where tenant = 'raced'")


def test_what_there_is_of_tenants_is_counted_also_of_those_that_the_table_lacks(
    client: httpx.Client, orgs: httpx.Client, installed: str
) -> None:
    add(client, "Counted", "counted")
    with psycopg.connect(installed) as conn:
        conn.execute(
            "insert into svc.webhook_endpoints (id, url, events, secret, tenant)"
            " select svc.webhook_uuid7(), 'https://counted.example/hook', '{*}', '\\x00', t"
            " from unnest('{counted,3,lost}'::text[]) t"
        )
        conn.execute(
            "insert into svc.webhook_messages (id, event_name, payload, tenant)"
            " values (svc.webhook_uuid7(), 'a', '{}', 'counted')"
        )
    client.post("/account/tokens", json={"name": "of-counted", "permission": "read", "tenant": "counted"})
    asked = client.get("/tenant/use", params=[("id", "counted"), ("id", "nobody")])
    assert asked.json()["data"] == [
        {"id": "counted", "endpoints": 1, "messages": 1, "sessions": 0, "tokens": 1},
        {"id": "nobody", "endpoints": 0, "messages": 0, "sessions": 0, "tokens": 0},
    ]
    for product, lacks in ((client, {"3", "lost"}), (orgs, {"counted", "lost"})):
        unlisted = product.get("/tenant/unlisted").json()
        assert lacks == {each["id"] for each in unlisted["data"]} & {"counted", "3", "lost"}
        assert unlisted["isComplete"]


def test_a_tenant_is_renamed_only_as_it_was_read(client: httpx.Client) -> None:
    path = f"/tenant/tenants/{add(client, 'Tag')}"
    tag = client.get(path).headers["etag"]
    renamed = client.patch(path, json={"name": "Tag 2"}, headers={"if-match": tag})
    assert (renamed.status_code, renamed.headers["etag"]) == (200, client.get(path).headers["etag"])
    late = client.patch(path, json={"name": "Tag 3"}, headers={"if-match": tag})
    assert_problem(late, 412, "precondition_failed")
    assert client.get(path).json()["name"] == "Tag 2"
    assert client.patch(path, json={"name": "Tag"}).headers["etag"] != tag  # as it was called when it was read
    assert_problem(client.patch(path, json={"name": "Tag 4"}, headers={"if-match": tag}), 412, "precondition_failed")
    assert_problem(client.patch(path, json={"name": "Tag 4"}, headers={"if-match": ""}), 422, "invalid_if_match")
    assert client.patch(path, json={"name": "Tag 5"}, headers={"if-match": "*"}).status_code == 200
    assert client.delete(path).status_code == 204


def test_a_tenant_may_be_added_with_an_id(client: httpx.Client) -> None:
    tenant_id = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
    assert client.post("/tenant/tenants", json={"id": tenant_id, "name": "Chosen"}).json()["id"] == tenant_id
    assert_problem(client.post("/tenant/tenants", json={"id": tenant_id, "name": "Other"}), 409, "tenant_exists")
    assert client.post("/tenant/tenants", json={"id": "six/6 é", "name": "Six"}).status_code == 201
    assert client.get("/tenant/tenants/six%2F6%20%C3%A9").json()["name"] == "Six"
    for refused in ("", "\0", "..", "x" * 401):
        assert_problem(client.post("/tenant/tenants", json={"id": refused, "name": "Other"}), 422, "invalid_body")
    assert_problem(client.post("/tenant/tenants", json={"id": "🙂" * 300, "name": "Other"}), 422, "tenant_refused")


def test_two_tenants_cannot_have_one_name(client: httpx.Client) -> None:
    add(client, "Twin")
    other = add(client, "Other twin")
    assert_problem(client.post("/tenant/tenants", json={"name": "Twin"}), 409, "tenant_exists")
    assert_problem(client.patch(f"/tenant/tenants/{other}", json={"name": "Twin"}), 409, "tenant_exists")


@pytest.mark.parametrize(
    "tenant_id", ["00000000-0000-0000-0000-000000000000", "no-uuid", "%00", "1%3B--", "%F0%9F%99%82"]
)
def test_an_unknown_tenant_is_404_whatever_its_id_looks_like(client: httpx.Client, tenant_id: str) -> None:
    path = f"/tenant/tenants/{tenant_id}"
    for response in (client.get(path), client.patch(path, json={"name": "New"}), client.delete(path)):
        assert_problem(response, 404, "unknown_tenant")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": 7}, "/name"),
        ({"name": None}, "/name"),
        ({"name": " Acme"}, "/name"),
        ({"name": "A\nB"}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"name": "Acme", "a/b~c": 1}, "/a~1b~0c"),
        (["Acme"], ""),
        ("Acme", ""),
    ],
)
def test_a_body_that_is_no_tenant_is_422_and_says_where(client: httpx.Client, body: object, pointer: str) -> None:
    response = client.post("/tenant/tenants", json=body)
    assert_problem(response, 422, "invalid_body")
    [error] = response.json()["errors"]
    assert error["pointer"] == pointer
    assert error["detail"]


def test_pages_of_tenants_are_in_the_order_of_names(client: httpx.Client) -> None:
    names = [f"Page {letter}" for letter in "cabed"]
    for name in names:
        add(client, name)
    found = [tenant["name"] for tenant in all_data(client, "/tenant/tenants", limit=2)]
    assert [name for name in found if name in names] == sorted(names)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    "query",
    [
        "cursor=bm9uZQ",
        "cursor=WyJhIl0",
        "before=WyJhIl0",
        "cursor=WyJhIiwgImIiXQ&before=WyJhIiwgImIiXQ",
        "limit=0",
        "limit=1001",
        "name=x",
    ],
)
def test_a_bad_parameter_of_the_list_is_422(client: httpx.Client, query: str) -> None:
    assert_problem(client.get(f"/tenant/tenants?{query}"), 422, "invalid_parameter")


def test_a_cursor_of_another_table_is_422(client: httpx.Client, orgs: httpx.Client) -> None:
    add(client, "A"), add(client, "B")
    cursor = client.get("/tenant/tenants", params={"limit": 1}).json()["nextCursor"]
    assert_problem(orgs.get("/tenant/tenants", params={"cursor": cursor}), 422, "invalid_value")


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/tenant/tenants", "read"),
        ("GET", "/tenant/tenants/1", "read"),
        ("POST", "/tenant/tenants", "write"),
        ("PATCH", "/tenant/tenants/1", "write"),
        ("DELETE", "/tenant/tenants/1", "admin"),
    ],
)
def test_each_route_of_tenants_needs_its_permission(client: httpx.Client, method: str, path: str, needed: str) -> None:
    permissions = {"read": None, "write": "read", "admin": "write"}
    lower = permissions[needed]
    response = client.request(method, path, headers={"Authorization": ""} if lower is None else bearer(lower))  # type: ignore[arg-type]
    assert_problem(response, *((401, "not_authenticated") if lower is None else (403, "insufficient_scope")))


def test_the_log_says_who_changed_a_tenant(installed: str, client: httpx.Client) -> None:
    tenant_id = add(client, "Logged")
    client.delete(f"/tenant/tenants/{tenant_id}")
    with psycopg.connect(installed) as conn:
        added, removed = [entry for entry in log(conn) if entry["record_id"] == tenant_id]
    assert (added["table_name"], added["operation"], removed["operation"]) == ("svc.tenants", "INSERT", "DELETE")
    assert added["actor_id"] == removed["actor_id"] == "ann@corp.example"


# A table of the application


def test_a_table_of_the_application_is_used_under_its_own_names(orgs: httpx.Client) -> None:
    tenants = orgs.get("/tenant/tenants").json()["data"]
    assert [tenant["name"] for tenant in tenants] == ["Org 1", "Org 2", "Org 3"]
    assert tenants[0] == {"id": "1", "name": "Org 1", "createdAt": tenants[0]["createdAt"], "updatedAt": None}
    assert tenants[0]["createdAt"].startswith("2026-01-0")
    assert orgs.patch("/tenant/tenants/2", json={"name": "Org 2b"}).json()["name"] == "Org 2b"
    assert orgs.post("/tenant/tenants", json={"id": "7", "name": "Org 7"}).headers["location"].endswith("/7")
    assert orgs.delete("/tenant/tenants/7").status_code == 204


def test_a_table_without_times_and_a_view_have_tags_too(orgs: httpx.Client, installed: str) -> None:
    read = orgs.get("/tenant/tenants/3").headers["etag"]
    for name in ("Org 3b", "Org 3"):
        tag = orgs.patch("/tenant/tenants/3", json={"name": name}).headers["etag"]
    assert read != tag == orgs.get("/tenant/tenants/3").headers["etag"]
    with psycopg.connect(installed) as conn:
        conn.execute(
            'create or replace view public.orgs as select "No" as id, "full \'name\'" as name from "my app"."Org"'
        )
    console = Console(settings(database_url=installed))
    register_tenants(console, table=TenantTable(name="public.orgs"))
    with serving_installed(console) as client:
        client.headers.update(bearer("admin"))
        tag = client.get("/tenant/tenants/3").headers["etag"]
        assert client.patch("/tenant/tenants/3", json={"name": "Org 3"}, headers={"if-match": tag}).status_code == 200


def test_what_the_table_refuses_is_a_problem_that_says_why(orgs: httpx.Client) -> None:
    without_id = orgs.post("/tenant/tenants", json={"name": "No id"})
    assert_problem(without_id, 422, "tenant_refused")
    assert "No" in without_id.json()["detail"]
    assert_problem(orgs.post("/tenant/tenants", json={"id": "-1", "name": "Negative"}), 422, "tenant_refused")
    assert_problem(orgs.delete("/tenant/tenants/1"), 409, "tenant_in_use")
    assert orgs.get("/tenant/tenants/1").status_code == 200


@pytest.mark.parametrize(
    "table", [TenantTable(name="public.nowhere"), TenantTable(name='"my app"."Org"', id_column="nothing")]
)
def test_a_table_or_column_that_does_not_exist_is_named(installed: str, table: TenantTable) -> None:
    console = Console(settings(database_url=installed))
    register_tenants(console, table=table)
    with serving_installed(console) as client:
        response = client.get("/tenant/tenants", headers=bearer("read"))
    assert_problem(response, 503, "tenant_table_missing")
    assert table.name in response.json()["detail"]


def test_a_name_that_is_no_table_is_refused_at_start_up() -> None:
    with pytest.raises(ConfigError, match="is not a table name"):
        TenantTable(name="a.b.c")
    with pytest.raises(ConfigError, match="column has no name"):
        TenantTable(name="org", id_column="")


def test_tenants_are_registered_once() -> None:
    console = Console(settings())
    assert register_tenants(console).id == "tenant"
    with pytest.raises(ConfigError, match="registered already"):
        register_tenants(console)
