import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import schema, webhooks
from svc_pg.query import scalar
from svc_pg.webhooks.secrets import new_key
from tests.commands import svc_pg
from tests.hooks import KEYS_TEXT, hooks_config, rows, working
from tests.receiver import receiving
from tests.waiting import wait_until

Run = Callable[..., str]

CONFIG = hooks_config("order.created")
TOML = """
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events."order.created"]
"""


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    """Run ``svc-pg webhooks ...`` on a database with one event; it must end well."""
    with psycopg.connect(database) as conn:
        schema.install(conn, CONFIG)
    (tmp_path / "svc-pg.toml").write_text(TOML)

    def run(*arguments: str, keys: str = KEYS_TEXT, returncode: int = 0) -> str:
        variables = {"DATABASE_URL": database, "SVC_ENCRYPTION_KEYS": keys}
        done = svc_pg("webhooks", *arguments, folder=tmp_path, variables=variables)
        assert done.returncode == returncode, done.stderr
        return done.stdout if returncode == 0 else done.stderr

    return run


def added(run: Run, url: str, *options: str) -> dict[str, Any]:
    endpoint: dict[str, Any] = json.loads(run("add", "--url", url, "--event", "*", "--json", *options))
    return endpoint


def test_an_endpoint_is_steered_and_the_log_names_who_did_it(run: Run, database: str) -> None:
    endpoint = added(run, "http://127.0.0.1:9/hook", "--header", "Authorization: Bearer x")["id"]
    assert "paused" in run("pause", endpoint)
    assert json.loads(run("show", endpoint, "--json"))["endpoint"]["status"] == "paused"
    assert "enough" in run("disable", endpoint, "--reason", "enough")
    assert endpoint in run("list", "--status", "disabled")
    assert json.loads(run("resume", endpoint, "--json"))["status"] == "active"
    run("delete", endpoint)
    assert json.loads(run("list", "--json")) == []
    assert "no endpoint has the id" in run("show", endpoint, returncode=1)
    with psycopg.connect(database) as conn:
        entries = conn.execute("select operation, actor_id from svc.audit_logs order by id").fetchall()
    assert [operation for operation, _ in entries] == ["INSERT", "UPDATE", "UPDATE", "UPDATE", "DELETE"]
    assert None not in {actor for _, actor in entries}


def test_a_rotated_secret_and_the_one_before_both_verify(run: Run, database: str) -> None:
    with receiving() as receiver:
        endpoint = added(run, receiver.url)
        rotated = json.loads(run("rotate-secret", endpoint["id"], "--overlap", "1h", "--json"))
        run("ping", endpoint["id"])
        with working(database, CONFIG):
            [request] = receiver.wait_for(1)
    assert rotated["secret"] != endpoint["secret"]
    for secret in (endpoint["secret"], rotated["secret"]):
        assert webhooks.verify_webhook_signature(headers=request.headers, body=request.body, secret=secret)


def test_a_secret_without_overlap_replaces_the_one_before_at_once(run: Run, database: str) -> None:
    with receiving() as receiver:
        endpoint = added(run, receiver.url)
        run("rotate-secret", endpoint["id"], "--overlap", "0")
        run("ping", endpoint["id"])
        with working(database, CONFIG):
            [request] = receiver.wait_for(1)
    assert not webhooks.verify_webhook_signature(headers=request.headers, body=request.body, secret=endpoint["secret"])


def test_a_worker_stops_signing_with_the_secret_before_when_the_overlap_ends(run: Run, database: str) -> None:
    with receiving() as receiver:
        endpoint = added(run, receiver.url)
        run("rotate-secret", endpoint["id"], "--overlap", "3s")
        with working(database, CONFIG):

            def is_signed_with_both() -> bool:
                before = len(receiver.requests)
                run("ping", endpoint["id"])
                last = receiver.wait_for(before + 1)[-1]
                return len(last.headers["webhook-signature"].split()) == 2

            wait_until(lambda: not is_signed_with_both(), "only the new secret signs")


def test_failed_deliveries_are_listed_recovered_and_pruned(run: Run, database: str) -> None:
    with receiving(lambda number: 500 if number <= 10 else 204) as receiver:
        endpoint = added(run, receiver.url)["id"]
        with psycopg.connect(database) as conn:
            webhooks.send_many(conn, "order.created", [{"id": 1}, {"id": 2}])
            conn.execute("update svc.webhook_deliveries set max_attempts = 5")
        with working(database, CONFIG):
            wait_until(lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"failed"}, "failed")
            listed = json.loads(run("deliveries", "--status", "failed", "--endpoint", endpoint, "--json"))
            assert [delivery["attempts"] for delivery in listed] == [5, 5]
            assert json.loads(run("recover", endpoint, "--dry-run", "--json")) == {"count": 2, "isDryRun": True}
            run("resume", endpoint)  # ten failures have opened the breaker
            assert json.loads(run("recover", endpoint, "--json"))["count"] == 2
            wait_until(lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered"}, "ok")
    assert "is delivered" in run("retry", listed[0]["id"], returncode=1)
    assert {row["cause"] for row in rows(database, "webhook_delivery_attempts") if row["attempt"] == 6} == {"manual"}
    with psycopg.connect(database) as conn:
        conn.execute("update svc.webhook_deliveries set finished_at = now() - interval '8 days'")
    run("prune", "--delivered", "7d")
    assert len(rows(database, "webhook_deliveries")) == 2, "ids tell when they were made, and these are new"


def test_rotating_the_encryption_key_seals_everything_with_the_newest(run: Run, database: str) -> None:
    newest = new_key("k2")
    endpoint = added(run, "http://127.0.0.1:9/hook", "--header", "X-Key: 1")["id"]
    run("rotate-secret", endpoint)
    run("rotate-key", keys=f"{newest},{KEYS_TEXT}")
    with psycopg.connect(database) as conn:
        sealed = "select array[secret, previous_secret, headers] from svc.webhook_endpoints"
        assert all(bytes(value[:4]) == b"\x01\x02k2" for value in scalar(conn, sealed))
    run("ping", endpoint, keys=newest)
    assert "key" in run("rotate-key", keys=new_key("k3"), returncode=1)
