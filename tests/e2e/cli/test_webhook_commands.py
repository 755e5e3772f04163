import json
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.webhooks.deliveries import replay_queries
from svc_pg.webhooks.deliveries.delivery_query import BULK
from svc_pg.webhooks.secrets import new_key
from tests.support.certificates import authority
from tests.support.commands import running, svc_pg
from tests.support.hooks import KEYS_TEXT, hooks_config, install, rows, working
from tests.support.postgres import Prepare
from tests.support.queue import postpone
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

Run = Callable[..., str]

CONFIG = hooks_config("order.created")
TOML = """
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events."order.created"]
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    """Run ``svc-pg webhooks ...`` on a database with one event; it must end well."""
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


def test_an_endpoint_of_an_unknown_tenant_is_refused_or_said_to_be_its_first(
    run: Run, database: str, tmp_path: Path
) -> None:
    def words(tenant: str) -> str:
        command = ("add", "--url", "http://127.0.0.1:9/hook", "--event", "*", "--tenant", tenant)
        variables = {"DATABASE_URL": database, "SVC_ENCRYPTION_KEYS": KEYS_TEXT}
        return svc_pg("webhooks", *command, folder=tmp_path, variables=variables).stderr

    first = "Nothing else in this database is of the tenant acme; is it spelt as you send it?"
    assert [first in words("acme") for _ in range(2)] == [True, False]
    with psycopg.connect(database) as conn:
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
    assert "no tenant has the id acmee" in words("acmee")
    assert [row["tenant"] for row in json.loads(run("list", "--json"))["data"]] == ["acme", "acme"]


def test_a_delivery_says_why_it_waits_and_which_command_ends_that(run: Run, database: str, tmp_path: Path) -> None:
    endpoint = added(run, "http://127.0.0.1:9/hook", "--ordering", "key")["id"]
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {}, key="order 7", delay=timedelta(hours=1))
        webhooks.send(conn, "order.created", {}, key="order 7")
        conn.commit()
        second, first = (each.id for each in webhooks.deliveries.list(conn))
    told = svc_pg("webhooks", "why", second, folder=tmp_path, variables={"DATABASE_URL": database})
    assert told.stdout.splitlines() == [
        f"An older message of its key comes first: delivery {first}.",
        "No worker is seen: it waits until one runs.",
    ]
    assert told.stderr.splitlines() == [
        f"To see what that one waits for: svc-pg webhooks why {first}",
        "To run a worker: svc-pg worker",
    ]
    shown = svc_pg("webhooks", "delivery", second, folder=tmp_path, variables={"DATABASE_URL": database})
    assert shown.stderr == f"To see what it waits for: svc-pg webhooks why {second}\n"
    run("pause", endpoint)
    found = json.loads(run("why", first, "--json"))
    assert found["delivery"]["id"] == first
    assert [each["reason"] for each in found["reasons"]] == ["later", "paused", "no_worker"]
    assert found["reasons"][0]["until"] == found["delivery"]["nextAttemptAt"]
    run("cancel", first)
    assert re.match(r"It was canceled 2.*Z: canceled by hand\.\n", run("why", first))
    assert "no delivery has the id" in run("why", endpoint, returncode=1)


def test_the_advices_of_a_delivery_work_in_the_order_in_which_they_are_printed(
    run: Run, database: str, tmp_path: Path
) -> None:
    endpoint = added(run, "http://127.0.0.1:9/hook")["id"]
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {}, delay=timedelta(hours=1))
        conn.commit()
        [delivery] = (each.id for each in webhooks.deliveries.list(conn))

    def advices() -> list[str]:
        told = svc_pg("webhooks", "why", delivery, folder=tmp_path, variables={"DATABASE_URL": database})
        return [line for line in told.stderr.splitlines() if line != "To run a worker: svc-pg worker"]

    resume = f"To send to the endpoint again: svc-pg webhooks resume {endpoint}"
    assert advices() == [f"To send it now: svc-pg webhooks retry {delivery}"]
    with psycopg.connect(database) as conn:
        asked = (
            "update svc.webhook_endpoint_state set throttled_until = now() + interval '1 hour', throttled_since = now()"
        )
        assert conn.execute(asked).rowcount == 1
    assert advices() == [resume, f"Then, to send it now: svc-pg webhooks retry {delivery}"]
    run("disable", endpoint)
    assert advices() == [resume, f"Then, to try it again: svc-pg webhooks retry {delivery}"]
    assert "is disabled" in run("retry", delivery, returncode=1)
    run("resume", endpoint)
    run("retry", delivery)
    assert json.loads(run("delivery", delivery, "--json"))["delivery"]["status"] == "pending"
    deleted = svc_pg("webhooks", "delete", endpoint, folder=tmp_path, variables={"DATABASE_URL": database})
    assert deleted.stderr == "It is deleted. This is what it was.\n"
    assert advices() == [
        "Its endpoint was deleted. For a new one: svc-pg webhooks replay --endpoint NEW --since 7d --status missing"
    ]


def test_endpoints_are_named_by_what_people_call_them(run: Run, database: str) -> None:
    shop = added(run, "http://127.0.0.1:9/shop", "--description", "The shop")["id"]
    other = added(run, "http://127.0.0.1:9/other")["id"]
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {})
    assert json.loads(run("show", "the shop", "--json"))["endpoint"]["id"] == shop
    for command in ("pause", "resume", "disable", "resume", "update"):
        options = ["--timeout", "9s"] if command == "update" else []
        assert json.loads(run(command, "127.0.0.1:9/other", *options, "--json"))["id"] == other
    assert json.loads(run("rotate-secret", "the shop", "--json"))["id"] == shop
    assert json.loads(run("ping", "the shop", "--json"))["endpointId"] == shop
    for options in (["deliveries"], ["cancel", "--dry-run"], ["replay", "--dry-run", "--since", "1h"]):
        assert run(*options, "--endpoint", "The shop", "--json") == run(*options, "--endpoint", shop, "--json")
    assert {
        each["endpointId"] for each in json.loads(run("deliveries", "--endpoint", "the shop", "--json"))["data"]
    } == {shop}
    assert json.loads(run("traffic", "--endpoint", "the shop", "--json"))["sent"] == 2
    assert json.loads(run("recover", "the shop", "--dry-run", "--json"))["count"] == 0
    ambiguous = run("delete", "127.0.0.1:9", returncode=1)
    assert "error: '127.0.0.1:9' may be one of several endpoints\n" in ambiguous
    assert "no endpoint has the id 'the', or is called so" in run("delete", "the", returncode=1)
    assert f"{shop} (The shop, http://127.0.0.1:9/shop), {other} (http://127.0.0.1:9/other)" in ambiguous
    assert "no endpoint has the id 'nowhere', or is called so" in run(
        "deliveries", "--endpoint", "nowhere", returncode=1
    )
    assert json.loads(run("delete", "The shop", "--json"))["id"] == shop


def test_tenants_are_named_by_their_names(run: Run, database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as conn:
        tenant = str(scalar(conn, "insert into svc.tenants (name) values ('Acme'), ('ACME'), ('Other') returning id"))
        other = str(scalar(conn, "select id from svc.tenants where name = 'Other'"))
    made = added(run, "http://127.0.0.1:9/hook", "--tenant", "Acme")
    assert json.loads(run("show", made["id"], "--json"))["endpoint"]["tenant"] == tenant
    variables = {"DATABASE_URL": database}
    listed = svc_pg("webhooks", "list", "--tenant", "Other", folder=tmp_path, variables=variables)
    assert listed.stderr == f"Other is the tenant {other}.\nNo endpoint matches.\n"
    sent = svc_pg("send", "order.created", "{}", "--tenant", "Acme", folder=tmp_path, variables=variables)
    assert sent.returncode == 0
    assert [each["tenant"] for each in json.loads(run("messages", "--tenant", "Acme", "--json"))["data"]] == [tenant]
    assert svc_pg("log", "--tenant", "Other", "--tenant", "x", folder=tmp_path, variables=variables).returncode == 0
    ambiguous = run("list", "--tenant", "acme", returncode=1)
    assert "error: 'acme' may be one of these tenants" in ambiguous
    assert f"{tenant} (Acme)" in ambiguous
    assert f"{other} (Other)" in run("list", "--tenant", "other", returncode=1)
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {}, tenant="Own")
        conn.execute("insert into svc.tenants (name) values ('Own')")
    assert [each["tenant"] for each in json.loads(run("messages", "--tenant", "Own", "--json"))["data"]] == ["Own"]


def test_an_endpoint_is_steered_and_the_log_names_who_did_it(run: Run, database: str) -> None:
    endpoint = added(run, "http://127.0.0.1:9/hook", "--header", "Authorization: Bearer x")["id"]
    paused = {name: value for name, _, value in (line.partition("  ") for line in run("pause", endpoint).splitlines())}
    assert (paused["status"].strip(), paused["timeout"].strip()) == ("paused", "15s")
    assert json.loads(run("show", endpoint, "--json"))["endpoint"]["status"] == "paused"
    assert "enough" in run("disable", endpoint, "--reason", "enough")
    assert endpoint in run("list", "--status", "disabled")
    assert json.loads(run("resume", endpoint, "--json"))["status"] == "active"
    run("delete", endpoint)
    assert json.loads(run("list", "--json"))["data"] == []
    assert "no endpoint has the id" in run("show", endpoint, returncode=1)
    with psycopg.connect(database) as conn:
        entries = conn.execute("select operation, actor_id from svc.audit_logs order by id").fetchall()
    assert [operation for operation, _ in entries] == ["INSERT", "UPDATE", "UPDATE", "UPDATE", "DELETE"]
    assert None not in {actor for _, actor in entries}


def test_what_a_transaction_sent_is_listed_and_counted_over_time(run: Run, database: str) -> None:
    endpoint = added(run, "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn:
        message = str(webhooks.send(conn, "order.created", {"n": 12345678901234567.10}, tenant="acme"))
        xact_id = str(scalar(conn, "select txid_current()"))
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {})
    assert message in run("messages", "--transaction", xact_id)
    [listed] = json.loads(run("messages", "--tenant", "acme", "--json"))["data"]
    assert (listed["id"], listed["xactId"]) == (message, xact_id)
    assert "1.2345678901234568e" in run("message", message)
    [delivery] = json.loads(run("deliveries", "--transaction", xact_id, "--tenant", "acme", "--json"))["data"]
    assert delivery["messageId"] == message
    assert json.loads(run("deliveries", "--message", message, "--json"))["data"] == [delivery]
    assert json.loads(run("deliveries", "--tenant", "other", "--json"))["data"] == []
    shown = json.loads(run("request", delivery["id"], "--json"))
    headers = {header["name"]: header["value"] for header in shown["headers"]}
    assert webhooks.verify_webhook_signature(headers=headers, body=shown["body"], secret=endpoint["secret"])
    assert f"webhook-id: {delivery['id']}" in run("request", delivery["id"])
    assert "webhook-signature: (sealed)" in run("request", delivery["id"], keys="")
    for options in ((), ("--json",)):
        refused = run("request", delivery["id"], *options, keys=new_key("k7"), returncode=1)
        assert f'secret of {endpoint["id"]} is sealed with key "test", and the key ring has: k7' in refused
    traffic = json.loads(run("traffic", "--by", "minute", "--endpoint", endpoint["id"], "--json"))
    assert (traffic["sent"], traffic["isEstimate"]) == (2, False)
    assert "2 sent, 0 delivered, 0 failed, 0 attempts failed" in run("traffic", "--by", "day", "--since", "1s")
    now = datetime.now(UTC)
    ends = [(now + timedelta(hours=n)).isoformat(timespec="seconds") for n in (-1, 1)]
    period = " to ".join(ends)
    assert "2 sent, 0 delivered" in run("traffic", "--between", period)
    assert len(json.loads(run("messages", "--between", period, "--json"))["data"]) == 2
    for command in ("deliveries", "messages"):
        assert json.loads(run(command, "--between", "2020-01-31 10:00 to 11:00", "--json"))["data"] == []
    assert "'week' is not a step" in run("traffic", "--by", "week", returncode=1)
    assert "no message has the id" in run("message", "seven", returncode=1)


def test_the_options_of_an_endpoint_are_set_changed_and_removed(run: Run, tmp_path: Path) -> None:
    ours = authority(tmp_path)
    for name, text in zip(("ca", "client", "key"), (ours.pem, *ours.client()), strict=True):
        (tmp_path / f"{name}.pem").write_text(text)
    files = ("--ca-bundle", "ca.pem", "--client-certificate", "client.pem", "--client-key", "key.pem")
    made = added(
        run, "http://127.0.0.1:9/hook", "--filter", "$.n > 1", "--signature", "v1a", "--header", "X-Key: 1", *files
    )
    assert made["publicKey"].startswith("whpk_")

    def shown() -> dict[str, Any]:
        endpoint: dict[str, Any] = json.loads(run("show", made["id"], "--json"))["endpoint"]
        return endpoint

    first = shown()
    assert (first["filter"], first["signatures"], first["hasTls"], first["hasHeaders"]) == (
        "$.n > 1",
        ["v1a"],
        True,
        True,
    )
    assert first["publicKey"] == made["publicKey"]
    limits = ("--timeout", "3s", "--max-in-flight", "2", "--rate-per-second", "5", "--ordering", "key")
    texts = ("--url", "http://127.0.0.1:9/new", "--event", "order.*", "--description", "new", "--signature", "v1")
    run("update", made["id"], *limits, *texts, "--remove", "filter", "--remove", "headers")
    second = shown()
    wanted = {"timeout": 3, "maxInFlight": 2, "ratePerSecond": 5, "ordering": "key", "events": ["order.*"]}
    wanted |= {"url": "http://127.0.0.1:9/new", "description": "new", "signatures": ["v1"], "publicKey": None}
    assert wanted | {"filter": None, "hasHeaders": False, "hasTls": True} == {
        name: second[name] for name in (*wanted, "filter", "hasHeaders", "hasTls")
    }
    run("update", made["id"], "--remove", "tls", "--remove", "rate-per-second")
    assert [shown()[name] for name in ("hasTls", "ratePerSecond")] == [False, None]
    refused = {
        ("--remove", "url"): (2, "'url' is none of headers, filter"),
        ("--remove", "filter", "--filter", "$.a > 1"): (2, "filter is given and removed"),
        ("--client-key", "missing.pem"): (2, "cannot read missing.pem"),
        ("--client-key", "key.pem"): (1, "a client certificate and its key go together"),
        ("--filter", "$.a"): (1, "is a path, and not a predicate"),
        ("--rate-per-second", "0"): (1, "rate_per_second is 1 to 10000"),
    }
    for options, (code, message) in refused.items():
        assert message in " ".join(run("update", made["id"], *options, returncode=code).split())


def test_a_filter_is_tried_on_the_newest_messages_before_an_endpoint_has_it(run: Run, database: str) -> None:
    assert run("try-filter", "$.n > 1") == ""
    with psycopg.connect(database) as conn:
        tenants = {1: "acme", 2: "acme", 3: None}
        sent = {n: str(webhooks.send(conn, "order.created", {"n": n}, tenant=of)) for n, of in tenants.items()}
    tried = json.loads(run("try-filter", "$.n > 1", "--event", "order.*", "--tenant", "acme", "--json"))
    newest = sorted(sent, key=sent.__getitem__, reverse=True)  # of one millisecond in any order
    of_acme = [n for n in newest if n < 3]
    assert [(each["id"], each["isMet"]) for each in tried] == [(sent[n], n > 1) for n in of_acme]
    lines = run("try-filter", "$.n > 1").splitlines()
    wanted = [[sent[n], "sent" if n > 1 else "left out"] for n in newest]
    assert [line.split("  ")[:2] for line in lines] == wanted
    assert run("try-filter", "$.n > 1", "--event", "order.paid") == ""
    assert "is a path, and not a predicate" in run("try-filter", "$.n", returncode=1)


def test_health_names_what_needs_attention_and_exits_with_3_if_anything_does(
    run: Run, database: str, tmp_path: Path
) -> None:
    good = added(run, "http://127.0.0.1:9/good")["id"]
    assert run("health") == ""
    assert good in run("health", "--all")
    ours = authority(tmp_path)
    for name, text in zip(("client", "key"), ours.client(), strict=True):
        (tmp_path / f"{name}.pem").write_text(text)
    ending = added(run, "http://127.0.0.1:9/ending", "--client-certificate", "client.pem", "--client-key", "key.pem")[
        "id"
    ]
    failing = added(run, "http://127.0.0.1:9/failing")["id"]
    with psycopg.connect(database) as conn:
        conn.execute(
            "update svc.webhook_endpoint_state set failure_streak = 12, failing_since = now(),"
            " breaker_until = now() + interval '1 min' where endpoint_id = %s",
            (failing,),
        )
        fail_deliveries(database, failing, 101)
        conn.execute(
            "insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)"
            " values (%s, now() - interval '1.1 h', gen_random_uuid())",
            (failing,),
        )
        conn.execute(
            "update svc.webhook_endpoints set status = 'disabled', disabled_reason = 'x' where id = %s", (good,)
        )

    def health(*options: str) -> str:
        done = svc_pg("webhooks", "health", *options, folder=tmp_path, variables={"DATABASE_URL": database})
        assert done.returncode == 3, done.stderr
        return done.stdout

    text = health()
    assert re.search(r", the first delivery is 6[67]m late, no success yet$", text, re.MULTILINE)
    assert good not in text
    assert f"{failing}  broken  http://127.0.0.1:9/failing\n    12 failures in a row since " in text
    assert "at least 100 deliveries of the last day failed" in text
    assert f"{ending}  healthy  http://127.0.0.1:9/ending\n    client certificate ends " in text
    listed = {row["endpointId"]: row for row in json.loads(health("--json", "--all"))["endpoints"]}
    assert [listed[each]["health"] for each in (good, ending, failing)] == ["disabled", "healthy", "broken"]
    assert [listed[each]["needsAttention"] for each in (good, ending, failing)] == [False, True, True]


def test_deliveries_that_no_worker_sends_are_told_by_health_and_status(run: Run, database: str, tmp_path: Path) -> None:
    added(run, "http://127.0.0.1:9/hook")
    with psycopg.connect(database, autocommit=True) as conn:
        webhooks.send(conn, "order.created", {})
        assert run("health") == ""
        postpone(conn, timedelta(minutes=-7))
    late = run("health", returncode=3)
    assert re.fullmatch(
        r"No worker is seen, and deliveries are due since \S+ \S+Z \(7m\)\. They wait .*: svc-pg worker\n", late
    )
    shown = svc_pg("status", folder=tmp_path, variables={"DATABASE_URL": database})
    assert late in shown.stderr
    assert shown.returncode == 0
    for command, returncode in ((["webhooks", "health"], 3), (["status"], 0)):
        done = svc_pg(*command, "--json", folder=tmp_path, variables={"DATABASE_URL": database})
        assert (done.returncode, done.stderr) == (returncode, "")
        found = json.loads(done.stdout)["deliveries"]
        assert (found["isWorkerSeen"], found["needsAttention"]) == (False, True)
        assert found["oldestDueSeconds"] > 7 * 60
    with psycopg.connect(make_conninfo(database, application_name="svc-pg worker"), autocommit=True) as worker:
        assert json.loads(run("health", "--json"))["deliveries"]["needsAttention"] is False
        postpone(worker, timedelta(minutes=-17))
        assert "17m), although a worker is seen" in run("health", returncode=3)


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
        rotated = json.loads(run("rotate-secret", endpoint["id"], "--overlap", "0s", "--json"))
        newest = json.loads(run("rotate-secret", endpoint["id"], "--overlap", "0", "--json"))
        run("ping", endpoint["id"])
        with working(database, CONFIG):
            [request] = receiver.wait_for(1)
    assert webhooks.verify_webhook_signature(headers=request.headers, body=request.body, secret=newest["secret"])
    for before in (endpoint, rotated):
        assert not webhooks.verify_webhook_signature(
            headers=request.headers, body=request.body, secret=before["secret"]
        )


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


def test_failed_deliveries_are_listed_recovered_and_pruned(run: Run, database: str, tmp_path: Path) -> None:
    with receiving(lambda number: 500 if number <= 10 else 204) as receiver:
        endpoint = added(run, receiver.url)["id"]
        with psycopg.connect(database) as conn:
            webhooks.send_many(conn, "order.created", [{"id": 1}, {"id": 2}])
            conn.execute("update svc.webhook_deliveries set max_attempts = 5")
        with working(database, CONFIG):
            wait_until(lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"failed"}, "failed")
            listed = json.loads(run("deliveries", "--status", "failed", "--endpoint", endpoint, "--json"))["data"]
            assert [delivery["attempts"] for delivery in listed] == [5, 5]
            counted = json.loads(run("recover", endpoint, "--dry-run", "--json"))
            assert counted == {"count": 2, "isComplete": True, "isDryRun": True}
            with psycopg.connect(database) as conn:  # ten failures have opened the breaker, for less time
                conn.execute("update svc.webhook_endpoint_state set breaker_until = now() + interval '1 h'")
            for command in (["recover", endpoint, "--dry-run"], ["retry", listed[0]["id"]]):
                told = svc_pg("webhooks", *command, folder=tmp_path, variables={"DATABASE_URL": database})
                assert f"To close it now: svc-pg webhooks resume {endpoint}\n" in told.stderr
            run("resume", endpoint)
            assert json.loads(run("recover", endpoint, "--json"))["count"] == 1, "the other one is due already"
            wait_until(lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered"}, "ok")
    assert "is delivered" in run("retry", listed[0]["id"], returncode=1)
    assert {row["cause"] for row in rows(database, "webhook_delivery_attempts") if row["attempt"] == 6} == {"manual"}
    with psycopg.connect(database) as conn:
        conn.execute("update svc.webhook_deliveries set finished_at = now() - interval '8 days'")
    run("prune", "--delivered", "7d")
    assert len(rows(database, "webhook_deliveries")) == 2, "ids tell when they were made, and these are new"


def test_a_delivery_that_blocks_its_key_and_a_pending_one_are_canceled_by_hand(run: Run, database: str) -> None:
    added(run, "http://127.0.0.1:9/", "--ordering", "strict", "--filter", "$.id > 0")
    with psycopg.connect(database) as conn:
        webhooks.send_many(conn, "order.created", [{"id": "x"}, {"id": 1}], keys=["k", "k"])
    failed, pending = sorted(
        json.loads(run("deliveries", "--json"))["data"], key=lambda delivery: str(delivery["status"])
    )
    assert [failed["status"], pending["status"]] == ["failed", "pending"]
    assert json.loads(run("cancel", failed["id"], "--json"))["status"] == "canceled"
    first, second = run("cancel", pending["id"]).splitlines()
    words = f"  order.created  canceled  0/{pending['maxAttempts']} attempts"
    assert (first.startswith(f"{pending['id']}  20"), first.endswith("Z" + words)) == (True, True)
    assert second.strip().startswith(f"to {pending['endpointId']}")
    listed = run("deliveries", "--status", "canceled")
    assert f"to {pending['endpointId']} http://127.0.0.1:9/  canceled 20" in listed
    assert run("deliveries", "--until", "2020-01-01") == ""
    assert json.loads(run("recover", pending["endpointId"], "--until", "1h", "--dry-run", "--json"))["count"] == 0
    assert json.loads(run("recover", pending["endpointId"], "--dry-run", "--json"))["count"] == 2
    shown = json.loads(run("delivery", pending["id"], "--json"))
    assert (shown["delivery"]["status"], shown["attempts"]) == ("canceled", [])
    assert "failed ones that block their key" in run("cancel", failed["id"], returncode=1)


def test_pending_deliveries_are_canceled_by_endpoint_event_tenant_or_time(run: Run, database: str) -> None:
    first, second = (added(run, f"http://127.0.0.1:9/{each}")["id"] for each in "ab")
    with psycopg.connect(database) as conn:
        for tenant in (None, "acme"):
            webhooks.send(conn, "order.created", {}, tenant=tenant)

    def canceled(*options: str) -> int:
        count: int = json.loads(run("cancel", *options, "--json"))["count"]
        return count

    for options, count in (
        (("--endpoint", first), 2),
        (("--event", "order.created", "--since", "1h"), 4),
        (("--event", "order.paid"), 0),
        (("--tenant", "acme", "--endpoint", second), 1),
    ):
        assert canceled(*options, "--dry-run") == count
    assert canceled("--endpoint", first) == 2
    assert canceled("--since", "1h", "--tenant", "acme") == 1
    assert canceled("--endpoint", first) == 0
    waiting = json.loads(run("deliveries", "--status", "pending", "--json"))["data"]
    assert [each["endpointId"] for each in waiting] == [second]
    for wrong in ((), ("--dry-run",), (waiting[0]["id"], "--endpoint", first), (waiting[0]["id"], "--dry-run")):
        assert "pass the id of a delivery, or" in " ".join(run("cancel", *wrong, returncode=2).split())


def fail_deliveries(database: str, endpoint: str, number: int) -> None:
    """Store so many deliveries that have failed, without their messages."""
    with psycopg.connect(database) as conn:
        conn.execute(
            "insert into svc.webhook_deliveries"
            " (id, message_id, endpoint_id, event_name, status, failure, max_attempts, next_attempt_at, finished_at)"
            " select svc.uuid7_at(now() - n * interval '1 ms'), gen_random_uuid(), %s, 'order.created', 'failed',"
            "        'failed', 5, null, now()"
            "   from generate_series(1, %s) n",
            (endpoint, number),
        )


def test_a_dry_run_says_that_it_stopped_counting_and_the_real_one_goes_to_the_end(
    run: Run, database: str, tmp_path: Path
) -> None:
    endpoint = added(run, "http://127.0.0.1:9/hook")["id"]
    fail_deliveries(database, endpoint, BULK + 1)
    counted = run("recover", endpoint, "--dry-run", "--json", "--since", "2020-01-31T12:00:00Z")
    assert json.loads(counted) == {"count": BULK, "isComplete": False, "isDryRun": True}
    words = svc_pg("webhooks", "recover", endpoint, "--dry-run", folder=tmp_path, variables={"DATABASE_URL": database})
    assert words.stderr == f"At least {BULK:,} deliveries would be due again.\n"
    done = json.loads(run("recover", endpoint, "--json"))
    assert done == {"count": BULK + 1, "isComplete": True, "isDryRun": False}


def deliver_many(database: str, endpoint: str, number: int) -> None:
    """Store so many messages that have been delivered."""
    with psycopg.connect(database) as conn:
        conn.execute(
            """
            with message as (
                insert into svc.webhook_messages (id, event_name, payload)
                select svc.webhook_uuid7(), 'order.created', '{}' from generate_series(1, %s) returning id
            )
            insert into svc.webhook_deliveries
                (id, message_id, endpoint_id, event_name, status, attempts, max_attempts, next_attempt_at, finished_at)
            select svc.webhook_uuid7(), id, %s, 'order.created', 'delivered', 1, 5, null, now() from message
            """,
            (number, endpoint),
        )


def test_a_replay_takes_what_was_sent_or_what_finished_in_a_time(run: Run, database: str) -> None:
    endpoint = added(run, "http://127.0.0.1:9/hook")["id"]
    with psycopg.connect(database) as conn:
        conn.execute(
            """
            with message as (
                insert into svc.webhook_messages (id, event_name, payload)
                values (svc.uuid7_at(now() - interval '2 days'), 'order.created', '{}') returning id
            )
            insert into svc.webhook_deliveries
                (id, message_id, endpoint_id, event_name, status, failure, attempts, max_attempts, next_attempt_at,
                 finished_at)
            select id, id, %s, 'order.created', 'failed', 'failed', 5, 5, null, now() from message
            """,
            (endpoint,),
        )
    options = ("replay", "--endpoint", endpoint, "--since", "1h", "--status", "failed", "--dry-run", "--json")
    assert json.loads(run(*options))["count"] == 0
    assert json.loads(run(*options, "--by", "finished"))["count"] == 1


def test_a_replay_is_counted_and_after_a_kill_it_continues_and_copies_nothing_twice(
    run: Run, database: str, tmp_path: Path
) -> None:
    endpoint, number = added(run, "http://127.0.0.1:9/hook")["id"], 2 * replay_queries.BATCH + 50
    deliver_many(database, endpoint, number)
    options = ["replay", "--endpoint", endpoint, "--since", "1h", "--status", "delivered", "--new-ids"]
    assert json.loads(run(*options, "--dry-run", "--json")) == {"count": number, "isDryRun": True}
    command, variables = ("webhooks", *options), {"DATABASE_URL": database}
    with running(*command, folder=tmp_path, variables=variables, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        begun, first = process.stderr.readline(), process.stderr.readline()
        process.kill()
    assert begun.startswith(f"{number:,} deliveries. To continue after an interruption: --after ")
    # a batch, or as much of it as its time allows on a busy machine
    assert re.match(r"[1-9][0-9]* so far\. To continue after an interruption: --after ", first)
    for line in (first, begun):
        run(*options, "--after", line.split()[-1])
        with psycopg.connect(database) as conn:
            copies = "select count(*), count(distinct copy_of) from svc.webhook_messages where copy_of is not null"
            assert conn.execute(copies).fetchone() == (number, number)
            queued = "select count(*) from svc.webhook_queue where endpoint_id = %s"
            assert scalar(conn, queued, (endpoint,)) == number


def test_a_list_that_goes_on_names_the_cursor_that_goes_on_with_it(run: Run, database: str, tmp_path: Path) -> None:
    for path in ("first", "second"):
        added(run, f"http://127.0.0.1:9/{path}")
    fail_deliveries(database, json.loads(run("list", "--json"))["data"][0]["id"], 2)

    def page(*arguments: str) -> tuple[str, str | None, str]:
        done = svc_pg("webhooks", *arguments, "--json", folder=tmp_path, variables={"DATABASE_URL": database})
        found = json.loads(done.stdout)
        [row] = found["data"]
        return row["id"], found["nextCursor"], done.stderr

    for command in (["list", "--limit", "1"], ["deliveries", "--limit", "1", "--since", "2020-01-31T12:00:00Z"]):
        newest, cursor, words = page(*command)
        assert words.strip() == f"There are more: --limit N, or --after {cursor}"
        oldest, *rest = page(*command, "--after", cursor or "")
        assert (oldest < newest, rest) == (True, [None, ""])


def test_rotating_the_encryption_key_seals_everything_with_the_newest(run: Run, database: str) -> None:
    newest = new_key("k2")
    endpoint = added(run, "http://127.0.0.1:9/hook", "--header", "X-Key: 1")["id"]
    run("rotate-secret", endpoint)
    run("reencrypt", keys=f"{newest},{KEYS_TEXT}")
    with psycopg.connect(database) as conn:
        sealed = "select array[secret, previous_secret, headers] from svc.webhook_endpoints"
        assert all(bytes(value[:4]) == b"\x01\x02k2" for value in scalar(conn, sealed))
    run("ping", endpoint, keys=newest)
    assert "key" in run("reencrypt", keys=new_key("k3"), returncode=1)
