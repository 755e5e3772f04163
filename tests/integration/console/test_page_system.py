"""The page System tells what is not as configured, and what to run."""

import psycopg
from psycopg.conninfo import make_conninfo

from svc_pg import Config, audit, schema
from svc_pg.audit import SealKey
from svc_pg.console import Console
from svc_pg.status.seal_destinations import note_destination
from tests.integration.console.browsing import assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings

_DUE = """
insert into svc.webhook_endpoints (id, url, events, secret)
values ('01900000-0000-7000-8000-000000000001', 'https://receiver.example/in', '{*}', 'x');
insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)
values ('01900000-0000-7000-8000-000000000001', now() - interval '5 min', gen_random_uuid())
"""
_UNDER_WAY = """
insert into svc.webhook_leases (endpoint_id, delivery_id, lease_until, leased_at, worker)
select gen_random_uuid(), gen_random_uuid(), now() + interval '1 hour', now(), w
  from unnest('{<b>:7, pooled:8}'::text[]) w
"""
_TAMPERED = """
insert into svc.audit_verifications (first_seal, last_seal, entries, unsealed, findings, is_complete, has_copies, keys,
                                     verified_by)
values (1, 1, 10, 0, 2, true, false, '{k}', 'ann')
"""
CONFIG = Config.model_validate({"audit": {"retention_days": 400, "tables": [{"name": "orders"}]}})


def test_a_database_that_is_as_configured_is_in_order(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create table orders (id int primary key)")
        schema.install(conn, CONFIG)
        conn.execute(_UNDER_WAY)
    worker = make_conninfo(empty_database, application_name="svc-pg worker <b>:7")
    console = Console(settings(database_url=empty_database), config=CONFIG)
    with serving_installed(console) as client, psycopg.connect(worker), psycopg.connect(worker):
        page = signed_in(client, "read").get("/system")
    assert page.status_code == 200
    assert_strict(page.text)
    assert "In order" in page.text
    assert ("400 days" in page.text, "forever" in page.text) == (True, False)
    assert page.text.count("&lt;b&gt;:7") == 1
    assert "1 under way, 2 connections" in page.text
    assert page.text.count("pooled:8") == 1
    assert 'class="note' not in page.text


def test_deliveries_that_no_worker_sends_are_not_in_order(database: str) -> None:
    with (
        psycopg.connect(database, autocommit=True) as conn,
        serving_installed(Console(settings(database_url=database))) as client,
    ):
        reader = signed_in(client, "read")
        assert "In order" in reader.get("/system").text  # nobody needs a worker
        conn.execute(_DUE)
        for page in ("/system", "/overview"):
            shown = reader.get(page).text
            assert_strict(shown)
            assert "No worker is seen, and deliveries are late" in shown
            assert "5 min ago" in shown
            assert "In order" not in shown
        conn.execute("update svc.webhook_queue set next_attempt_at = now()")
        shown = reader.get("/system").text
        assert "No worker is seen.</b> Deliveries wait until one runs" in shown
        assert "In order" not in shown
        assert "deliveries are late" not in reader.get("/overview").text


def test_what_differs_is_named_with_the_command_that_mends_it(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute('create table "<b>orders" (id int primary key); create table orders (id int primary key)')
        both = Config.model_validate({"audit": {"tables": [{"name": "orders"}, {"name": 'public."<b>orders"'}]}})
        schema.install(conn, both)
        conn.execute('alter table "<b>orders" disable trigger user')
        conn.execute(_TAMPERED)
    with serving_installed(Console(settings(database_url=empty_database), config=both)) as client:
        page = signed_in(client, "read").get("/system")
        first = signed_in(client, "read").get("/overview").text
    assert_strict(first)
    notes = first.partition('<dl class="figs">')[0]
    assert "The last verification found 2 differences" in notes
    assert "3 objects</b>" in notes or "objects are not as configured" in notes
    assert first.count("need attention") >= 2, "beside the first page and System"
    assert_strict(page.text)
    assert "not as configured" in page.text
    assert "svc-pg plan" in page.text
    assert "&lt;b&gt;orders" in page.text
    assert "<b>orders" not in page.text
    assert "Disabled" in page.text
    assert "No worker is seen" in page.text


def test_an_authority_that_stamps_seals_is_told_by_the_last_one(database: str) -> None:
    with (
        psycopg.connect(database, autocommit=True) as conn,
        serving_installed(Console(settings(database_url=database))) as client,
    ):
        audit.capture_log(conn, "a", "INSERT")
        audit.seal(conn, key=SealKey("s1", b"k" * 32))
        note_destination(conn, "<b>.example", kind="timestamps", last_seal=1, is_whole=True)
        audit.capture_log(conn, "b", "INSERT")
        audit.seal(conn, key=SealKey("s1", b"k" * 32))
        reader = signed_in(client, "read")
        shown = reader.get("/system").text
        assert_strict(shown)
        assert "<dt>Timestamps</dt>" in shown
        assert "Up to seal 1" in shown
        assert "&lt;b&gt;.example" in shown
        note_destination(conn, "<b>.example", kind="timestamps", problem="it answered <500>")
        shown = reader.get("/system").text
        assert "it answered &lt;500&gt;" in shown
        assert "1 seal without" in shown
