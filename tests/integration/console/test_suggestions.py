"""The palette: what somebody types leads to things and actions, of those that the session may see and do."""

import asyncio
from collections.abc import Iterator
from time import monotonic
from typing import Any, get_args

import httpx
import psycopg
import pytest
from psycopg import AsyncConnection
from pydantic import SecretStr

from svc_pg import Config, audit, schema
from svc_pg.console import Console, register_tenants
from svc_pg.console.built_in.account_suggestions import LONGEST_SECONDS
from svc_pg.console.built_in.suggested_endpoints import suggested_endpoints
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import palette
from svc_pg.console.sign_in import api_tokens
from svc_pg.console.sign_in.tenant_table import SVC_TENANTS, Tenants, TenantTable
from svc_pg.console.views.suggestions import KINDS, Verb, command, exported
from svc_pg.settings import Permission
from tests.integration.console.browsing import HOSTILE, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, endpoint
from tests.support.long_log import apages
from tests.support.postgres import new_database

CONFIG = Config.model_validate(
    {
        "audit": {"tables": [{"name": "public.orders"}, {"name": "public.customer"}]},
        "webhooks": {"events": {"order.created": {}}},
    }
)
KEYS = SecretStr(KEYS_TEXT)


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo, psycopg.connect(conninfo) as conn:
        conn.execute("create table orders (id int primary key); create table customer (id text primary key)")
        conn.commit()
        schema.install(conn, CONFIG)
        conn.commit()
        with audit.actor(conn, "mara@shop.example", tenant="acme"):
            conn.execute("insert into orders values (3)")
        conn.commit()
        with audit.actor(conn, "globex-only", tenant="globex"):
            conn.execute("insert into customer values ('secret of globex')")
            for text in HOSTILE:
                conn.execute("insert into customer values (%s)", [text])
        conn.commit()
        for text in HOSTILE:
            with audit.actor(conn, text):
                conn.execute("insert into orders values (%s)", [100 + HOSTILE.index(text)])
            conn.commit()
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme Europe'), ('globex', 'Globex')")
        for n, text in enumerate(HOSTILE):
            conn.execute("insert into svc.tenants (id, name) values (%s, %s)", [f"hostile{n}", text])
        conn.commit()
        endpoint(conninfo, CONFIG, "https://northwind.example/in?token=hidden", description="Northwind", tenant="acme")
        endpoint(conninfo, CONFIG, "https://hooks.example/globex", description="Globex's ERP", tenant="globex")
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=installed, encryption_keys=KEYS), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


def suggested(
    client: httpx.Client,
    text: str,
    permission: Permission = "admin",
    *,
    here: str = "",
    headers: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    response = client.get(
        "/account/suggestions", params={"q": text, "here": here}, headers=headers or bearer(permission)
    )
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["data"]
    assert all(each["address"].startswith("/ui/") and each["kind"] in KINDS for each in found)
    return found


def labels(found: list[dict[str, Any]], kind: str) -> list[str]:
    return [each["label"] for each in found if each["kind"] == kind]


def test_a_number_is_a_record_and_an_entry(client: httpx.Client) -> None:
    found = suggested(client, "3")
    assert labels(found, "record") == ["orders 3"]
    assert labels(found, "entry") == ["Entry 3"]
    [record] = [each for each in found if each["kind"] == "record"]
    assert record["address"] == "/ui/audit/records/public.orders/3"
    assert "See orders 3 through time" in labels(found, "action")
    assert labels(suggested(client, "order 3"), "record") == ["orders 3"]


def test_parts_of_names_find_actors_tables_endpoints_events_and_tenants(client: httpx.Client) -> None:
    assert labels(suggested(client, "mara"), "actor") == ["mara@shop.example"]
    assert labels(suggested(client, "ORD"), "table") == ["public.orders"]
    assert labels(suggested(client, "order.cre"), "event_type") == ["order.created"]
    assert labels(suggested(client, "rthwin"), "endpoint") == ["Northwind"]
    assert labels(suggested(client, "acme eu"), "tenant") == labels(suggested(client, "acme"), "tenant")
    values = [each["address"] for each in suggested(client, "r-41900") if each["kind"] in ("page", "request")]
    assert values == ["/ui/audit?text=r-41900", "/ui/audit?context=r-41900"]


def test_actions_lead_to_the_page_that_asks_for_those_who_may(client: httpx.Client) -> None:
    [pause] = [each for each in suggested(client, "pause northwind", "write") if each["kind"] == "action"][:1]
    assert pause["label"] == "Pause Northwind"
    assert pause["address"].startswith("/ui/endpoints/")
    [link] = [each for each in suggested(client, "portal link for acme") if each["kind"] == "action"]
    assert (link["label"], link["address"]) == ("Portal link for Acme Europe", "/ui/tenants/acme")
    here = "/audit/records/public.orders/3"
    [export] = [each for each in suggested(client, "export this", "write", here=here) if each["kind"] == "action"]
    assert export["address"] == "/ui/audit?resource=public.orders&record=3"
    [through] = [each for each in suggested(client, "through time orders 3", "read") if each["kind"] == "action"]
    assert through["address"] == "/ui/audit/records/public.orders/3/tracks"


def test_a_kind_is_suggested_alone_and_an_unknown_one_refused(client: httpx.Client) -> None:
    seen = set()
    for text in ("northwind", "3", "orders 3", "acme", "mara", "order", "pause northwind"):
        every = suggested(client, text)
        seen |= {each["kind"] for each in every}
        for kind in KINDS:
            asked = {"q": text, "kind": kind}
            found = client.get("/account/suggestions", params=asked, headers=bearer("admin")).json()["data"]
            assert found == [each for each in every if each["kind"] == kind]
    assert seen == {*KINDS} - {"view"}
    answer = client.get("/account/suggestions", params={"q": "a", "kind": "all"}, headers=bearer("admin"))
    assert_problem(answer, 422, "invalid_parameter")


@pytest.mark.parametrize("text", [*get_args(Verb), "portal link for", "THROUGH  TIME"])
def test_every_verb_may_stand_alone(client: httpx.Client, installed: str, text: str) -> None:
    with psycopg.connect(installed) as conn:
        token = api_tokens.add(conn, "-".join(("alone", *text.split())), permission="write", tenant="acme").token
    for headers in (bearer("admin"), bearer("read"), {"Authorization": f"Bearer {token}"}):
        suggested(client, text, headers=headers, here="/audit?" + "&".join(f"actor={n}" for n in range(150)))
        suggested(client, f"{text} this", headers=headers, here="/audit?" + "&a=" * 500)
    assert signed_in(client, "admin").get(f"/search?{httpx.QueryParams(q=text)}").status_code == 200


@pytest.mark.parametrize("table", ["svc.webhook_event_types", "svc.tenants", "svc.webhook_endpoints", "svc.audit_logs"])
def test_a_table_that_is_locked_costs_no_more_than_what_is_in_it(
    client: httpx.Client, installed: str, table: str
) -> None:
    browser = signed_in(client, "admin")
    with psycopg.connect(installed) as conn:
        conn.execute(f"lock table {table} in access exclusive mode")
        began = monotonic()
        answer = client.get("/account/suggestions", params={"q": "mara"}, headers=bearer("admin"))
        assert monotonic() - began < LONGEST_SECONDS + 7
        assert answer.status_code == 200, answer.text
        assert "Not all was looked at in time." in answer.json()["remarks"]
        if table == "svc.webhook_event_types":
            assert labels(answer.json()["data"], "actor") == ["mara@shop.example"], "what was found before stays"
            assert browser.get("/search/suggestions?q=mara").status_code == 200
    answer = client.get("/account/suggestions", params={"q": "mara"}, headers=bearer("admin"))
    assert "Not all was looked at in time." not in answer.json()["remarks"]


@pytest.mark.parametrize("code", ["database_busy", "database_unavailable", "rate_limited"])
def test_a_problem_of_the_palette_leaves_the_page_search_without_actions(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    async def refused(*_: object) -> None:
        raise Problem(503, code)

    browser = signed_in(client, "admin")
    address = f"/search?{httpx.QueryParams(q='pause northwind')}"
    assert "Pause Northwind" in browser.get(address).text
    monkeypatch.setattr(palette, "actions", refused)
    page = browser.get(address)
    assert page.status_code == 200
    assert "Pause Northwind" not in page.text


@pytest.mark.parametrize(
    "text", ["pause northwind", "resume", "test northwind", "northwind", "portal link acme", "acme"]
)
def test_who_may_not_do_it_is_not_offered_it(client: httpx.Client, text: str) -> None:
    assert labels(suggested(client, text, "read", here="/audit"), "action") == []
    assert labels(suggested(client, "export this", "read", here="/audit"), "action") == []
    assert not any("Portal" in label for label in labels(suggested(client, text, "write"), "action"))


def test_a_session_of_a_tenant_is_told_of_no_other(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        token = api_tokens.add(conn, "acme", permission="write", tenant="acme").token
    own = {"Authorization": f"Bearer {token}"}
    for text in ("globex", "secret of globex", "customer secret of globex", "erp", "4", "customer 4", "pause", "a"):
        found = suggested(client, text, headers=own)
        told = [(each["label"], each["about"]) for each in found if each["kind"] not in ("request", "page")]
        assert not any("lobex" in word or "ERP" in word or "customer" in word for each in told for word in each), told
        assert not labels(found, "tenant")
    assert labels(suggested(client, "north", headers=own), "endpoint") == ["Northwind"]
    assert labels(suggested(client, "orders 3", headers=own), "record") == ["orders 3"]


def test_the_query_of_a_url_is_neither_shown_nor_found(client: httpx.Client) -> None:
    assert labels(suggested(client, "hidden"), "endpoint") == []
    assert "hidden" not in str(suggested(client, "northwind"))


@pytest.mark.parametrize("text", [*HOSTILE, "%", "_", "\\", "'", "pause " + HOSTILE[0], "💣" * 100])
def test_hostile_texts_stay_texts(client: httpx.Client, text: str) -> None:
    suggested(client, text)
    for path in ("/search/suggestions", "/search"):
        page = signed_in(client, "admin").get(f"{path}?{httpx.QueryParams(q=text)}")
        if page.status_code != 303:
            assert page.status_code == 200
            assert "<script>alert" not in page.text
            assert "<img src=x" not in page.text
            if path == "/search":
                assert_strict(page.text)


def test_what_is_asked_for_is_bounded(client: httpx.Client) -> None:
    for params in ({"q": "x" * 201}, {"q": "\0"}, {"q": "a", "here": "/" * 2_001}, {"text": "a"}):
        assert_problem(
            client.get("/account/suggestions", params=params, headers=bearer("read")), 422, "invalid_parameter"
        )
    assert client.get("/account/suggestions", headers=bearer("read")).json() == {"data": [], "remarks": []}
    assert_problem(client.get("/account/suggestions", params={"q": "a"}), 401, "not_authenticated")
    long = signed_in(client, "read").get(f"/search/suggestions?{httpx.QueryParams(q='x' * 400)}")
    assert long.status_code == 200


def test_without_a_script_the_page_search_has_the_actions(client: httpx.Client) -> None:
    page = signed_in(client, "write").get(f"/search?{httpx.QueryParams(q='pause northwind')}")
    assert page.status_code == 200
    assert "Pause Northwind" in page.text
    assert "nothing is done by its link" in page.text
    assert "Pause Northwind" not in signed_in(client, "read").get("/search?q=pause+northwind").text


def test_very_many_endpoints_and_tenants_cost_no_more(installed: str, client: httpx.Client) -> None:
    table, shown = Tenants(SVC_TENANTS), 6

    async def of_few(conn: AsyncConnection[Any]) -> object:
        return await suggested_endpoints(conn, "nobody has this", tenant="acme", shown=shown)

    async def of_many(conn: AsyncConnection[Any]) -> object:
        return await suggested_endpoints(conn, "nobody has this", tenant="globex", shown=shown)

    async def tenants(conn: AsyncConnection[Any]) -> object:
        return await table.looked_through(conn, "tenant 9", shown=shown)

    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("set session_replication_role = replica")
        conn.execute(
            "insert into svc.tenants (id, name) select 't' || n, 'Tenant ' || n from generate_series(1, 100000) n"
        )
        columns = conn.execute(
            "select string_agg(quote_ident(attname), ', ') from pg_attribute where attnum > 0 and not attisdropped"
            " and attrelid = 'svc.webhook_endpoints'::regclass and attname <> all ('{id,description}')"
        ).fetchall()[0][0]
        conn.execute(
            f"insert into svc.webhook_endpoints (id, description, {columns})"
            f" select gen_random_uuid(), 'Receiver ' || n, {columns}"
            " from (select * from svc.webhook_endpoints limit 1) e, generate_series(1, 20000) n"
        )
        conn.execute(
            f"insert into svc.webhook_endpoints (id, description, {columns})"
            f" select ('ffff' || substr(gen_random_uuid()::text, 5))::uuid, 'Newer ' || n, {columns}"
            " from (select * from svc.webhook_endpoints where tenant = 'globex' limit 1) e,"
            " generate_series(1, 11000) n"
        )
        conn.execute("update svc.webhook_endpoints set tenant = 'globex' where description like 'Receiver %'")
        conn.execute("vacuum svc.webhook_endpoints")
        token = api_tokens.add(conn, "many", permission="read", tenant="acme").token
    own = {"Authorization": f"Bearer {token}"}
    assert labels(suggested(client, "northwind", headers=own), "endpoint") == ["Northwind"], "however new the others"
    assert labels(suggested(client, "t99999"), "tenant") == ["Tenant 99999"], "the exact id, however late"
    assert 0 < (touched := asyncio.run(apages(installed, of_few))) < 100, touched
    assert 500 < (touched := asyncio.run(apages(installed, of_many))) < 15_000, touched
    assert 50 < (touched := asyncio.run(apages(installed, tenants))) < 15_000, touched
    for text in ("newer", "nobody has this"):
        remarks = client.get("/account/suggestions", params={"q": text}, headers=bearer("read")).json()["remarks"]
        assert "Of the endpoints the newest 10,000 were looked at." in remarks
        assert "Of the tenants the first 10,000 were looked at." in remarks
        assert ("There may be more endpoints than these 6." in remarks) is (text == "newer")
    with psycopg.connect(installed, autocommit=True) as conn:  # other tests, in any order, are about few
        conn.execute("set session_replication_role = replica")
        conn.execute("delete from svc.webhook_endpoints where description ~ '^(Receiver|Newer) '")
        conn.execute("delete from svc.tenants where id ~ '^t[0-9]+$'")


@pytest.mark.parametrize(
    "table",
    [
        TenantTable(name="public.nothing"),
        TenantTable(name="nowhere.nothing"),
        TenantTable(name="public.orders", name_column="nothing"),
        TenantTable(name="public.orders", name_column="id"),
    ],
)
def test_a_table_of_tenants_that_cannot_be_read_or_has_ids_of_numbers_suggests_the_rest(
    installed: str, table: TenantTable
) -> None:
    console = Console(settings(database_url=installed, encryption_keys=KEYS), config=CONFIG)
    register_tenants(console, table=table)
    with serving_installed(console) as own:
        for text in ("mara", "portal link for mara", "3"):
            suggested(own, text)
        assert labels(suggested(own, "mara"), "actor") == ["mara@shop.example"]
        is_read = table == TenantTable(name="public.orders", name_column="id")
        assert labels(suggested(own, "3"), "tenant")[:1] == (["3"] if is_read else []), "the exact id first"


def test_commands_are_read_in_the_words_of_people() -> None:
    for text, verb, rest in (
        ("pause Northwind", "pause", "Northwind"),
        ("Portal link for acme", "portal", "acme"),
        ("portal acme", "portal", "acme"),
        ("export this", "export", "this"),
        ("Through  time orders 7", "through time", "orders 7"),
    ):
        found = command(text)
        assert found is not None
        assert (found.verb, found.rest) == (verb, rest)
    for text in ("paused", "exporter 7", "", "tester"):
        assert command(text) is None


def test_only_pages_of_the_log_can_be_exported() -> None:
    assert exported("/audit?actor=a&actor=b&cursor=x") == (
        "the audit log as it is filtered here",
        "/ui/audit?actor=a&actor=b",
    )
    assert exported("/audit?" + "&".join(f"actor={n}" for n in range(101))) is None, "too many to read"
    for here in ("//evil.example/audit", "https://evil.example/audit", "/endpoints/1", "", "/audit/../x"):
        assert exported(here) is None
