"""The commands and statements of docs/howto/tenants.md, keys.md and personal-data.md do what these say."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.commands import running
from tests.support.documents import examples, inline
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.support.postgres import new_database
from tests.support.receiver import receiving
from tests.support.shell import command, shell

CONFIG = hooks_config("order.paid")
TOML = """
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events]
"order.paid" = {}
"""


@pytest.fixture
def db(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook", tenant="other")
        yield conninfo


def run(script: str, db: str, folder: Path, **variables: str) -> str:
    return shell(script, folder=folder, variables={"DATABASE_URL": db, **variables})


@contextmanager
def worker(db: str, folder: Path, keys: str) -> Iterator[None]:
    """The command, with these keys, until the block ends."""
    (folder / "svc-pg.toml").write_text(TOML, encoding="utf-8")
    with running("worker", folder=folder, variables={"DATABASE_URL": db, "SVC_ENCRYPTION_KEYS": keys}):
        yield


def access(conn: psycopg.Connection[Any]) -> tuple[int, int]:
    """The links and tokens of acme that are good."""
    links = scalar(conn, "select count(*) from svc.console_portal_links where tenant = 'acme' and revoked_at is null")
    tokens = scalar(conn, "select count(*) from svc.console_tokens where tenant = 'acme' and revoked_at is null")
    return links, tokens


def test_a_tenant_gets_a_link_an_endpoint_and_a_token_and_loses_them_with_its_row(db: str, tmp_path: Path) -> None:
    [listing] = examples("howto/tenants.md", "List the tenants", "sql")
    [ending] = examples("howto/tenants.md", "End a tenant", "sql")
    [commands] = examples("howto/tenants.md", "Let customers manage their webhooks", "sh")
    with psycopg.connect(db) as conn:
        conn.execute("create table customer (id text primary key)")
        conn.execute("insert into customer values ('acme')")
        conn.execute(listing)
    printed = run(commands, db, tmp_path, SVC_ENCRYPTION_KEYS=KEYS_TEXT)
    assert "/ui/portal/enter?token=" in printed
    assert "svcpg_" in printed
    with psycopg.connect(db) as conn:
        assert access(conn) == (1, 1)
        added = conn.execute("select url, url_by, events from svc.webhook_endpoints where tenant = 'acme'").fetchall()
        assert added == [("https://acme.example/hook", "customer", ["order.*"])]
        conn.execute(ending)
        assert access(conn) == (0, 0)
        assert scalar(conn, "select count(*) from customer") == 0
    printed = run(commands.splitlines()[0] + "\nsvc-pg console revoke --tenant acme --yes", db, tmp_path)
    assert "ended 1 link, 0 sessions and 0 tokens of the tenant acme" in printed


def test_deliveries_wait_for_a_lost_key_and_go_out_with_a_new_secret(db: str, tmp_path: Path) -> None:
    [commands] = examples("howto/keys.md", "Lose the encryption key", "sh")
    with receiving() as receiver:
        lost, _ = endpoint(db, CONFIG, receiver.url)
        with psycopg.connect(db) as conn:
            webhooks.send(conn, "order.paid", {"id": 7})
        script = commands.replace("ENDPOINT", lost) + '\necho "keys=$SVC_ENCRYPTION_KEYS"'
        printed = run(script, db, tmp_path)
        [keys] = [line.removeprefix("keys=") for line in printed.splitlines() if line.startswith("keys=")]
        assert keys.startswith("k2:")
        assert "whsec_" in printed
        with worker(db, tmp_path, keys):
            [arrived] = receiver.wait_for(1)
    [secret] = [word for word in printed.split() if word.startswith("whsec_")]
    assert webhooks.verify_webhook_signature(headers=arrived.headers, body=arrived.body, secret=secret)


def test_keys_are_backed_up_and_rotated_while_a_worker_goes_on(db: str, tmp_path: Path) -> None:
    [request] = inline("howto/keys.md", "Back up", start="svc-pg webhooks request")
    [rotate] = inline("howto/keys.md", "Rotate", start="svc-pg webhooks rotate-secret")
    section = "Retire an encryption key"
    make, reencrypt = inline("managing-webhooks.md", section)

    def ask(line: str, keys: str, code: int = 0) -> str:
        given = {"DATABASE_URL": db, "SVC_ENCRYPTION_KEYS": keys}
        return command(line, folder=tmp_path, variables=given, code=code)

    with receiving() as receiver:
        added, old = endpoint(db, CONFIG, receiver.url)
        name, _, newest = ask(make, "").strip().partition("=")
        assert (name, newest.startswith("k2:")) == ("SVC_ENCRYPTION_KEYS", True)
        [form] = inline("managing-webhooks.md", section, start="SVC_ENCRYPTION_KEYS=k2:...,")
        both = form.removeprefix(f"{name}=").replace("k2:...", newest).replace("k1:...", KEYS_TEXT)
        for number, (keys, line) in enumerate([(both, reencrypt), (newest, rotate.replace("ENDPOINT", added))], 1):
            with worker(db, tmp_path, keys):
                printed = ask(line, keys)
                with psycopg.connect(db) as conn:
                    webhooks.send(conn, "order.paid", {"id": number})
                arrived = receiver.wait_for(number)[-1]
    [new] = [word for word in printed.split() if word.startswith("whsec_")]
    for secret in (old, new):
        assert webhooks.verify_webhook_signature(headers=arrived.headers, body=arrived.body, secret=secret)
    with psycopg.connect(db) as conn:
        query = "select id from svc.webhook_deliveries where endpoint_id = %s"
        delivery = str(scalar(conn, query, [added]))
    restored = request.replace("DELIVERY", delivery)
    assert "webhook-signature: v1," in ask(restored, newest)
    assert 'is sealed with key "k2"' in ask(restored, KEYS_TEXT, code=1)


def test_personal_data_are_redacted_handed_out_and_erased(postgres: str, tmp_path: Path) -> None:
    [rules] = examples("howto/personal-data.md", language="toml")
    access_request, erasure = examples("howto/personal-data.md", language="sh")
    given = ("s3cret", "likes tea", "DE-4711", "DE89370400440532013000")
    (tmp_path / "svc-pg.toml").write_text(rules, encoding="utf-8")
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(
                "create table public.customer"
                " (id int primary key, name text, password_hash text, notes text, tax_number text, iban text)"
            )
        run("svc-pg install", conninfo, tmp_path)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into customer values (42, 'Mara', %s, %s, %s, %s)", given)
        run(access_request, conninfo, tmp_path)
        [entry] = json.loads((tmp_path / "customer-42.json").read_text(encoding="utf-8"))
        recorded = entry["afterData"]
        assert "password_hash" not in recorded
        assert (recorded["name"], recorded["iban"][-4:], recorded["notes"]) == ("Mara", "3000", "[masked]")
        assert not [value for value in given if value in json.dumps(entry)]
        with psycopg.connect(conninfo) as conn:
            conn.execute("delete from customer where id = 42")
        said = run(erasure, conninfo, tmp_path)
        assert "would erase 2 entries of public.customer" in said
        assert "erased 2 entries" in said
        with psycopg.connect(conninfo) as conn:
            left = conn.execute("select operation::text, after_data, before_data from svc.audit_logs").fetchall()
        assert ("INSERT", {"erased": True}, None) in left
        assert "Mara" not in str(left)
