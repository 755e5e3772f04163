"""The hour that the demo begins with: as if it had been, and nothing left of how it was made."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.rows import dict_row

from cli.demo.database import CONFIG
from cli.demo.past import fill
from svc_pg import schema
from svc_pg.console import Console, register_tenants
from tests.integration.console.browsing import signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.postgres import new_database


@pytest.fixture(scope="module")
def past(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        fill(conninfo)
        yield conninfo


@pytest.fixture
def conn(past: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    with psycopg.connect(past, row_factory=dict_row) as conn:
        yield conn


def value(conn: psycopg.Connection[dict[str, Any]], query: LiteralString) -> Any:
    [row] = conn.execute(query).fetchall()
    [found] = row.values()
    return found


def test_the_installation_is_as_every_other_and_its_clock_is_right(past: str, conn: psycopg.Connection[Any]) -> None:
    with psycopg.connect(past) as plain:
        differing = [item for item in schema.status(plain, CONFIG) if item.state != "ok"]
    assert differing == []
    conn.execute("set local demo.now = '2000-01-01'")
    conn.execute("update orders set total = total + 1 where id = 1001")
    assert value(conn, "select max(timestamp) > now() - interval '1 minute' from svc.audit_logs")
    conn.rollback()


def test_the_entries_are_those_of_an_hour_by_many_hands(conn: psycopg.Connection[dict[str, Any]]) -> None:
    found = conn.execute("select * from svc.audit_logs order by id").fetchall()
    times = [entry["timestamp"] for entry in found]
    assert times == sorted(times)
    assert value(conn, "select min(timestamp) > now() - interval '70 minutes' from svc.audit_logs")
    assert value(conn, "select max(timestamp) <= clock_timestamp() from svc.audit_logs")
    assert len(found) > 500
    assert len({entry["actor_id"] for entry in found}) >= 8
    assert {entry["operation"] for entry in found} == {"INSERT", "UPDATE", "DELETE"}
    assert {entry["severity"] for entry in found} == {None, "low", "medium", "high", "critical"}
    assert {entry["tenant_id"] for entry in found} == {None, "acme", "northwind"}
    assert "scrypt" not in repr(found)
    assert value(conn, "select count(*) filter (where password_hash like 'scrypt%') from customer") == 20


def test_one_change_was_made_past_the_application_by_somebody_who_is_gone(
    conn: psycopg.Connection[dict[str, Any]],
) -> None:
    [alarm] = conn.execute("select * from svc.audit_logs where severity = 'critical'").fetchall()
    assert (alarm["actor_id"], alarm["db_user"], alarm["context"]) == (None, "dba_temp", None)
    assert value(conn, "select count(*) from pg_roles where rolname = 'dba_temp'") == 0


def test_the_minute_of_the_readme_leads_from_page_to_page_to_what_the_seller_was_not_told(past: str) -> None:
    console = Console(settings(database_url=past), config=CONFIG)
    with serving_installed(console) as client:
        client.post("/ui/sign-in", data={"next": ""}, headers={"Sec-Fetch-Site": "same-origin"})

        def follow(html: str, words: str) -> str:
            """Click the link with these words."""
            links = re.findall(r'<a [^>]*href="([^"]*)"[^>]*>((?:(?!</a>).)*)</a>', html, re.DOTALL)
            found = [unescape(href) for href, text in links if words in " ".join(re.sub("<[^>]*>", " ", text).split())]
            assert found, f"no link says {words}"
            return client.get(str(client.base_url.join(found[-1]))).raise_for_status().text

        overview = client.get("/ui/overview", params={"window": "1h"}).text
        assert "Northwind" in overview
        entry = follow(overview, "price nearly zero")
        for words in ("249", "dba_temp", "none was set", "Critical"):
            assert words in entry
        record = client.get("/ui/search", params={"q": "orders 900"}, follow_redirects=True).raise_for_status().text
        for words in ("checkout", "payments", "mara@tidewater.example", "Price was wrong, customer called"):
            assert words in record
        assert "Told by webhook: 2 deliveries" in record
        delivery = follow(record, "order.canceled")
        assert "503" in delivery
        assert "Northwind" in delivery


def test_three_people_are_signed_in_to_the_console_with_tokens_that_nobody_has(
    conn: psycopg.Connection[dict[str, Any]],
) -> None:
    people = conn.execute("select email, permission from svc.console_sessions order by created_at").fetchall()
    assert [(each["email"].partition("@")[0], each["permission"]) for each in people] == [
        ("operator", "admin"),
        ("mara", "write"),
        ("jonas", "read"),
    ]
    found = conn.execute("select * from svc.console_events order by id").fetchall()
    assert {each["event"] for each in found} == {
        "link_requested",
        "code_rejected",
        "code_accepted",
        "signed_in",
        "log_exported",
    }
    times = [each["occurred_at"] for each in found]
    assert times == sorted(times)
    assert value(conn, "select max(occurred_at) < clock_timestamp() - interval '5 minutes' from svc.console_events")


def test_deliveries_their_attempts_and_the_queue_agree(conn: psycopg.Connection[dict[str, Any]]) -> None:
    found = conn.execute(
        "select d.*, m.created_at = d.created_at as is_sent_then, d.id >= svc.uuid7_at(d.created_at)"
        " and d.id < svc.uuid7_at(d.created_at + interval '1 ms') as is_named_then,"
        " (select count(*) from svc.webhook_delivery_attempts a where a.delivery_id = d.id) as tried,"
        " (select max(a.started_at) from svc.webhook_delivery_attempts a where a.delivery_id = d.id) as tried_at,"
        " (select count(*) from svc.webhook_queue q where q.delivery_id = d.id"
        "   and q.next_attempt_at = d.next_attempt_at) as queued"
        " from svc.webhook_deliveries d join svc.webhook_messages m on m.id = d.message_id"
    ).fetchall()
    assert {each["status"] for each in found} == {"pending", "delivered", "failed", "canceled"}
    for each in found:
        assert each["tried"] == each["attempts"] <= each["max_attempts"]
        assert each["queued"] == (each["status"] == "pending")
        assert each["is_sent_then"]
        assert each["is_named_then"]
        assert each["tried_at"] is None or each["tried_at"] > each["created_at"]
    assert value(conn, "select count(*) from svc.webhook_queue") == len([e for e in found if e["status"] == "pending"])
    assert value(conn, "select max(started_at) < clock_timestamp() from svc.webhook_delivery_attempts")


def test_one_receiver_fails_one_is_paused_and_others_are_well(conn: psycopg.Connection[dict[str, Any]]) -> None:
    found = conn.execute("select health, tenant from svc.webhook_endpoint_health order by health, tenant").fetchall()
    assert [(each["health"], each["tenant"]) for each in found] == [
        ("broken", "northwind"),
        ("healthy", "acme"),
        ("healthy", None),
        ("paused", "acme"),
    ]
    assert value(
        conn,
        "select array_agg(distinct status_code order by status_code) from svc.webhook_delivery_attempts",
    ) == [200, 422, 500, 503]


def test_the_order_that_was_bought_too_cheap_leads_to_what_its_seller_was_not_told(
    conn: psycopg.Connection[dict[str, Any]],
) -> None:
    [canceled] = conn.execute(
        "select * from svc.audit_logs where table_name = 'public.orders' and record_id = '900'"
        " and after_data ->> 'status' = 'canceled'"
    ).fetchall()
    assert canceled["actor_id"] == "mara@tidewater.example"
    together = value(
        conn,
        "select array_agg(x.table_name order by x.id) from svc.audit_logs x where x.xact_id ="
        " (select xact_id from svc.audit_logs where label = 'order canceled' and record_id = '900')",
    )
    assert together == ["public.product", "public.orders", "public.payment"]
    told = conn.execute(
        "select d.status, e.tenant from svc.webhook_messages m join svc.webhook_deliveries d on d.message_id = m.id"
        " join svc.webhook_endpoints e on e.id = d.endpoint_id"
        " where m.event_name = 'order.canceled' and m.payload ->> 'id' = '900' order by e.tenant"
    ).fetchall()
    assert [(each["tenant"], each["status"]) for each in told] == [("northwind", "pending"), (None, "delivered")]


def test_the_page_of_a_tenant_leads_to_what_it_counts(past: str) -> None:
    console = Console(settings(database_url=past), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        admin = signed_in(client, "admin")
        shown = unescape(admin.get("/tenants").text)
        assert "Not in the list" not in shown
        for tenant in ("acme", "northwind"):
            page = unescape(admin.get(f"/tenants/{tenant}").text)
            for path in ("endpoints", "deliveries", "audit"):
                [count] = re.findall(rf'/{path}\?tenant={tenant}">([\d,]+)</a>', page)
                assert int(count.replace(",", "")) > 0
