"""The commands and statements of tenants.md, keys.md, personal-data.md and first-day.md do what these say."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.commands import PROGRAM, environment, running
from tests.support.documents import examples
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.support.postgres import new_database
from tests.support.receiver import receiving

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


def shell(script: str, db: str, folder: Path, **variables: str) -> str:
    """Run a block of a page in a shell that finds svc-pg, and give what it prints."""
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    environ = environment(DATABASE_URL=db, PATH=path, **variables)
    done = subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=environ, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


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
    [listing, ending] = examples("howto/tenants.md", language="sql")
    [commands] = examples("howto/tenants.md", language="sh")
    with psycopg.connect(db) as conn:
        conn.execute("create table customer (id text primary key)")
        conn.execute("insert into customer values ('acme')")
        conn.execute(listing)
    printed = shell(commands, db, tmp_path, SVC_ENCRYPTION_KEYS=KEYS_TEXT)
    assert "/ui/portal/enter?token=" in printed
    assert "svcpg_" in printed
    with psycopg.connect(db) as conn:
        assert access(conn) == (1, 1)
        added = conn.execute("select url, url_by, events from svc.webhook_endpoints where tenant = 'acme'").fetchall()
        assert added == [("https://acme.example/hook", "customer", ["order.*"])]
        conn.execute(ending)
        assert access(conn) == (0, 0)
        assert scalar(conn, "select count(*) from customer") == 0
    printed = shell(commands.splitlines()[0] + "\nsvc-pg console revoke --tenant acme --yes", db, tmp_path)
    assert "ended 1 link, 0 sessions and 0 tokens of the tenant acme" in printed


def test_deliveries_wait_for_a_lost_key_and_go_out_with_a_new_secret(db: str, tmp_path: Path) -> None:
    [commands] = examples("howto/keys.md", "Lose the encryption key", "sh")
    with receiving() as receiver:
        lost, _ = endpoint(db, CONFIG, receiver.url)
        with psycopg.connect(db) as conn:
            webhooks.send(conn, "order.paid", {"id": 7})
        script = commands.replace("ENDPOINT", lost) + '\necho "keys=$SVC_ENCRYPTION_KEYS"'
        printed = shell(script, db, tmp_path)
        [keys] = [line.removeprefix("keys=") for line in printed.splitlines() if line.startswith("keys=")]
        assert keys.startswith("k2:")
        assert "whsec_" in printed
        with worker(db, tmp_path, keys):
            [arrived] = receiver.wait_for(1)
    [secret] = [word for word in printed.split() if word.startswith("whsec_")]
    assert webhooks.verify_webhook_signature(headers=arrived.headers, body=arrived.body, secret=secret)


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
        shell("svc-pg install", conninfo, tmp_path)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into customer values (42, 'Mara', %s, %s, %s, %s)", given)
        shell(access_request, conninfo, tmp_path)
        [entry] = json.loads((tmp_path / "customer-42.json").read_text(encoding="utf-8"))
        recorded = entry["afterData"]
        assert "password_hash" not in recorded
        assert (recorded["name"], recorded["iban"][-4:], recorded["notes"]) == ("Mara", "3000", "[masked]")
        assert not [value for value in given if value in json.dumps(entry)]
        with psycopg.connect(conninfo) as conn:
            conn.execute("delete from customer where id = 42")
        said = shell(erasure, conninfo, tmp_path)
        assert "would erase 2 entries of public.customer" in said
        assert "erased 2 entries" in said
        with psycopg.connect(conninfo) as conn:
            left = conn.execute("select operation::text, after_data, before_data from svc.audit_logs").fetchall()
        assert ("INSERT", {"erased": True}, None) in left
        assert "Mara" not in str(left)


@contextmanager
def roles_of_the_shop(postgres: str, statements: str) -> Iterator[None]:
    """The role of the application, and that of the page, until the block ends."""
    with psycopg.connect(postgres, autocommit=True) as conn:
        conn.execute("create role shop login")
        conn.execute(statements)
        try:
            yield
        finally:
            conn.execute("drop role shop, shop_ops")


@pytest.mark.timeout(300)  # a dozen commands, whatever else the machine does
def test_the_first_day_installs_makes_keys_and_sends_one_webhook(postgres: str, tmp_path: Path) -> None:
    page = "howto/first-day.md"
    [roles] = examples(page, "Install with roles", "sql")
    [grants] = examples(page, "Install with roles", "toml")
    [install] = examples(page, "Install with roles", "sh")
    keys, variables = examples(page, "Make the keys, and back them up", "sh")
    [sending] = examples(page, "Send one webhook", "sh")
    [*_, purge] = examples(page, "If something is wrong", "sh")
    env = tmp_path / "svc-pg.env"
    (tmp_path / "svc-pg.toml").write_text(grants + TOML, encoding="utf-8")
    with roles_of_the_shop(postgres, roles), new_database(postgres) as superuser:
        operator = psycopg.conninfo.make_conninfo(superuser, user="shop_ops")
        with psycopg.connect(superuser) as conn:
            conn.execute("create table public.customer (id int primary key)")
        here = [line for line in install.splitlines() if not line.startswith(("cd ", "export "))]
        assert len(here) == 3
        assert "ok: all" in shell("\n".join(here), superuser, tmp_path)
        shell(keys.replace("/etc/shop/svc-pg.env", str(env)), superuser, tmp_path)
        given = variables.replace("postgresql://shop_ops:password@db/shop", f"'{operator}'")
        env.write_text(env.read_text(encoding="utf-8") + given, encoding="utf-8")
        assert env.stat().st_mode & 0o077 == 0
        known, add, *commands = [line for line in sending.splitlines() if not line.startswith("#")]
        known = known.replace("/etc/shop/svc-pg.env", str(env))
        added = shell(f"{known}\n{add}", superuser, tmp_path)
        assert "whsec_" in added
        [endpoint_id] = set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", added))
        told = shell("\n".join([known, *commands]).replace("ENDPOINT", endpoint_id), superuser, tmp_path)
        assert "webhook.ping" in told
        assert "/ui/sign-in/link" in shell(f"{known}\nsvc-pg console sign-in ann@corp.example", superuser, tmp_path)
        with psycopg.connect(superuser) as conn:
            made_by = scalar(conn, "select actor_id from svc.audit_logs where table_name = 'svc.webhook_endpoints'")
        assert made_by is not None
        shell(purge, superuser, tmp_path)
        with psycopg.connect(superuser, autocommit=True) as conn:
            conn.execute("drop owned by shop, shop_ops")
