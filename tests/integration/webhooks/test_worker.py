import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from traceback import format_exception
from typing import Any, NoReturn
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from standardwebhooks import Webhook

from svc_pg import webhooks
from svc_pg.database.query import fetch_one, scalar
from svc_pg.errors import ConfigError, NotInstalledError, TransactionError
from svc_pg.webhooks.endpoints import endpoint_queries
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.http.transport import Done, Request, Result
from svc_pg.webhooks.secrets import HEADERS_COLUMN, SECRET_COLUMN, SIGNING_KEY_COLUMN, TLS_COLUMN
from svc_pg.webhooks.worker import attempts, dispatcher
from svc_pg.webhooks.worker.leases import EndpointSnapshot
from svc_pg.webhooks.worker.worker import Worker
from tests.support.certificates import authority
from tests.support.hooks import KEYS, KEYS_TEXT, endpoint, hooks_config, rows, working
from tests.support.pgbouncer import pgbouncer
from tests.support.queue import end_leases
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")


def send(conninfo: str, payload: dict[str, Any]) -> None:
    with psycopg.connect(conninfo) as conn:
        webhooks.send(conn, "order.created", payload)


def wait_for_status(conninfo: str, *statuses: str) -> list[dict[str, Any]]:
    def found() -> bool:
        return [row["status"] for row in rows(conninfo, "webhook_deliveries")] == list(statuses)

    wait_until(found, f"deliveries are {statuses}")
    return rows(conninfo, "webhook_deliveries")


def test_a_delivery_arrives_signed_and_is_recorded(database: str) -> None:
    with receiving() as receiver:
        _, secret = endpoint(database, CONFIG, receiver.url, headers={"content-type": "text/xml", "X-Shop": "7"})
        with working(database, CONFIG):
            send(database, {"id": 7})
            [request] = receiver.wait_for(1)
            [delivery] = wait_for_status(database, "delivered")
    verified = Webhook(secret).verify(request.body, {name.lower(): value for name, value in request.headers.items()})
    assert verified["type"] == "order.created"
    assert verified["data"] == {"id": 7}
    assert webhooks.assert_webhook_signature(headers=request.headers, body=request.body, secret=secret) == verified
    assert request.headers["X-Webhook-ID"] == request.headers["webhook-id"] == str(delivery["id"])
    assert request.headers["X-Shop"] == "7"
    assert {value for name, value in request.headers.items() if name.lower() == "content-type"} == {"application/json"}
    assert (delivery["attempts"], delivery["last_status_code"]) == (1, 204)
    assert rows(database, "webhook_queue") == rows(database, "webhook_leases") == []
    [attempt] = rows(database, "webhook_delivery_attempts")
    assert (attempt["outcome"], attempt["status_code"], attempt["attempt"]) == ("success", 204, 1)
    assert str(attempt["remote_ip"]) == "127.0.0.1"


class Repeating:
    """A transport that always had to send twice."""

    def start(self, _: Request, done: Done) -> None:
        asyncio.get_running_loop().call_soon(done, Result("success", 204, repeated=True))

    async def close(self) -> None:
        """Nothing is open."""


def test_an_attempt_says_that_it_was_sent_twice(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    send(database, {})
    with working(database, CONFIG, transport=Repeating()):
        [delivery] = wait_for_status(database, "delivered")
    [attempt] = rows(database, "webhook_delivery_attempts")
    assert (attempt["outcome"], attempt["error"]) == (
        "success",
        "sent again on a new connection, because the receiver closed the idle one",
    )
    assert delivery["last_error"] is None


def test_a_failure_is_tried_again_with_the_same_body_and_id(database: str) -> None:
    with receiving(lambda number: 500 if number < 3 else 200) as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG):
            send(database, {"id": 7})
            requests = receiver.wait_for(3)
            [delivery] = wait_for_status(database, "delivered")
    assert delivery["attempts"] == 3
    assert len({request.body for request in requests}) == len({r.headers["webhook-id"] for r in requests}) == 1
    outcomes = [(row["attempt"], row["outcome"]) for row in rows(database, "webhook_delivery_attempts")]
    assert outcomes == [(1, "http_error"), (2, "http_error"), (3, "success")]


def test_after_its_last_attempt_a_delivery_has_failed(database: str) -> None:
    with receiving(lambda _: 500) as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG):
            send(database, {})
            [delivery] = wait_for_status(database, "failed")
        assert len(receiver.requests) == 5
    assert (delivery["attempts"], delivery["last_status_code"]) == (5, 500)
    assert delivery["finished_at"] is not None


def test_410_cancels_the_delivery_disables_the_endpoint_and_is_logged(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(lambda _: 410) as receiver:
        endpoint_id, _ = endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG) as worker:
            send(database, {})
            wait_for_status(database, "canceled")
            wait_until(lambda: worker.statistics.disabled_endpoints == 1, "it is counted")
        assert len(receiver.requests) == 1
    [stored] = rows(database, "webhook_endpoints")
    assert (stored["status"], stored["disabled_reason"]) == ("disabled", "the endpoint answered 410 Gone")
    assert f"endpoint {endpoint_id} is disabled" in caplog.text


def test_what_is_sent_before_the_worker_starts_is_delivered(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        for number in range(120):
            send(database, {"id": number})
        with working(database, CONFIG, concurrency=7):
            receiver.wait_for(120)
        assert {json.loads(r.body)["data"]["id"] for r in receiver.requests} == set(range(120))
    assert {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered"}


def test_an_endpoint_that_is_full_gets_the_next_as_soon_as_there_is_room(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with psycopg.connect(database) as conn:
            conn.execute("update svc.webhook_endpoints set max_in_flight = 1")
        for number in range(30):
            send(database, {"id": number})
        with working(database, CONFIG):
            receiver.wait_for(30)


def test_several_workers_share_the_work_and_nothing_is_sent_twice(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG), working(database, CONFIG), working(database, CONFIG):
            for number in range(100):
                send(database, {"id": number})
            receiver.wait_for(100)
            wait_until(
                lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered"}, "all arrived"
            )
        assert sorted(json.loads(r.body)["data"]["id"] for r in receiver.requests) == list(range(100))


def test_stopping_finishes_what_is_under_way_and_claims_nothing_more(database: str) -> None:
    began, may_answer = Event(), Event()

    def answer(_: int) -> int:
        began.set()
        may_answer.wait(10)
        return 204

    with receiving(answer) as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG, concurrency=1) as worker:
            send(database, {"id": 1})
            assert began.wait(10)
            send(database, {"id": 2})
            worker.stop()
            may_answer.set()
        assert len(receiver.requests) == 1
    assert [row["status"] for row in rows(database, "webhook_deliveries")] == ["delivered", "pending"]
    assert [row["attempts"] for row in rows(database, "webhook_deliveries")] == [1, 0]


def test_a_worker_outlives_the_loss_of_all_its_connections(database: str) -> None:
    began, may_answer = Event(), Event()

    def answer(number: int) -> int:
        if number == 1:
            began.set()
            may_answer.wait(10)
        return 204

    with receiving(answer) as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG):
            send(database, {"id": 1})
            assert began.wait(10)
            with psycopg.connect(database, autocommit=True) as conn:
                conn.execute(
                    """select pg_terminate_backend(pid) from pg_stat_activity
                        where datname = current_database() and pid <> pg_backend_pid()
                          and backend_type = 'client backend'"""
                )
            may_answer.set()
            send(database, {"id": 2})
            wait_for_status(database, "delivered", "delivered")
        assert len(receiver.requests) == 2


WORKER = """
import asyncio, sys
from datetime import timedelta
from svc_pg import Config
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks import Worker
conninfo, config, keys = sys.argv[1:]
asyncio.run(Worker(conninfo, keys=KeyRing.parse(keys), config=Config.model_validate_json(config)).run())
"""


def kill_during_a_delivery(database: str, began: Callable[[], bool]) -> None:
    """Start a worker as a process of its own, and kill -9 it once the condition holds."""
    arguments = [database, CONFIG.model_dump_json(by_alias=True), KEYS_TEXT]
    process = subprocess.Popen([sys.executable, "-c", WORKER, *arguments])
    try:
        wait_until(began, "the worker is delivering")
    finally:
        process.kill()
        process.wait()


def test_after_kill_9_during_a_delivery_it_is_delivered_and_the_lost_attempt_is_on_record(database: str) -> None:
    never = Event()
    with receiving(lambda number: 204 if number > 1 or never.wait(10) else 500) as receiver:
        endpoint(database, CONFIG, receiver.url)
        send(database, {"id": 7})
        kill_during_a_delivery(database, lambda: len(receiver.requests) == 1)
        [delivery] = rows(database, "webhook_deliveries")
        assert (delivery["status"], delivery["attempts"]) == ("pending", 0)
        assert [row["delivery_id"] for row in rows(database, "webhook_leases")] == [delivery["id"]]
        assert rows(database, "webhook_delivery_attempts") == []
        with psycopg.connect(database) as conn:  # as if the lease had ended
            end_leases(conn)
        with working(database, CONFIG):
            receiver.wait_for(2)
            [delivery] = wait_for_status(database, "delivered")
        never.set()
    assert delivery["attempts"] == 2
    outcomes = [(row["attempt"], row["outcome"]) for row in rows(database, "webhook_delivery_attempts")]
    assert outcomes == [(1, "lost"), (2, "success")]


def test_a_lease_lasts_longer_than_the_attempt_may(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
    send(database, {})
    with psycopg.connect(database) as conn:
        conn.execute("update svc.webhook_endpoints set timeout = '30 s'")
        conn.execute("select * from svc.webhook_claim('w', 10)")
        assert scalar(conn, "select lease_until - leased_at from svc.webhook_leases") == timedelta(seconds=45)


def test_what_was_claimed_too_long_ago_is_given_back_unsent(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "_LATEST_START", -1.0)  # seconds, so that every claim has taken too long
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        send(database, {})
        with working(database, CONFIG) as worker:
            wait_until(lambda: worker.statistics.deliveries["released"], "it is given back")
            assert receiver.requests == []
            monkeypatch.undo()
            [delivery] = wait_for_status(database, "delivered")
    assert (delivery["attempts"], len(receiver.requests)) == (1, 1)


def test_endpoints_of_no_lease_are_forgotten_and_no_lease_is_given_back_for_that(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "_MOST_ENDPOINTS", 1)

    def known() -> set[str]:
        gc.collect()
        return {each.id for each in gc.get_objects() if isinstance(each, EndpointSnapshot)}

    with receiving() as receiver:
        made = [endpoint(database, CONFIG, receiver.url)[0] for _ in range(2)]
        with working(database, CONFIG) as worker:
            send(database, {})
            receiver.wait_for(2)
            made.append(endpoint(database, CONFIG, receiver.url)[0])
            send(database, {})
            receiver.wait_for(5)
            wait_for_status(database, *["delivered"] * 5)
            assert worker.statistics.deliveries["released"] == 0
            with psycopg.connect(database) as conn:
                for each in made:
                    webhooks.endpoints.delete(conn, each)
            newest, _ = endpoint(database, CONFIG, receiver.url)
            send(database, {})
            receiver.wait_for(6)
            wait_until(lambda: known() == {newest}, "the others are forgotten")


def test_a_worker_of_more_endpoints_than_it_keeps_signs_with_new_secrets_and_leaves_disabled_ones_alone(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "_MOST_ENDPOINTS", 2)
    with receiving() as receiver:
        made = {}
        for number in range(8):
            key, secret = endpoint(database, CONFIG, f"{receiver.url}?{number}")
            made[number] = (key, secret)
        with working(database, CONFIG) as worker:
            send(database, {"first": True})
            receiver.wait_for(8)
            wait_for_status(database, *["delivered"] * 8)
            with psycopg.connect(database) as conn:
                for number in (0, 3, 5):
                    rotation = endpoint_queries.rotate_secret(made[number][0], keys=KEYS, overlap=timedelta(0))
                    made[number] = (made[number][0], fetch_one(conn, rotation).secret)
                webhooks.endpoints.disable(conn, made[1][0])
            send(database, {"second": True})
            wait_for_status(database, *["delivered"] * 15)
            assert worker.statistics.deliveries["released"] == 0
    later = [each for each in receiver.requests if b"second" in each.body]
    assert len(later) == 7
    for request in later:
        _, secret = made[int(request.path.partition("?")[2])]
        Webhook(secret).verify(request.body, {name.lower(): value for name, value in request.headers.items()})


def test_an_attempt_that_fails_in_the_worker_itself_takes_no_slot(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[object] = []

    def fail(lease: object, *_: object) -> NoReturn:
        failed.append(lease)
        raise LookupError("a fault of the worker")

    monkeypatch.setattr(attempts, "_judged", fail)
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG, concurrency=1):
            for number in (1, 2):
                send(database, {})
                receiver.wait_for(number)
            wait_until(lambda: len(failed) == 2, "both attempts fail in the worker")
            monkeypatch.undo()
            send(database, {})
            wait_until(lambda: [row["status"] for row in rows(database, "webhook_deliveries")][-1] == "delivered", "")
    assert len(rows(database, "webhook_leases")) == 2


STORED = {
    "a secret of nobody": ("secret", SECRET_COLUMN, None, "is not a sealed secret"),
    "a secret that cannot sign": ("secret", SECRET_COLUMN, "whsec_?", "a secret is not whsec_ and base64"),
    "headers that are not JSON": ("headers", HEADERS_COLUMN, "rubbish", "cannot be read"),
    "headers that are a list": ("headers", HEADERS_COLUMN, "[]", "cannot be read"),
    "headers that may not be sent": ("headers", HEADERS_COLUMN, '{"Host": "x"}', 'header "Host" is set by svc-pg'),
    "a key pair that cannot sign": ("signing_key", SIGNING_KEY_COLUMN, "whsk_QUJD", "a signing key is not whsk_"),
    "TLS material that is not JSON": ("tls", TLS_COLUMN, "rubbish", "the TLS material of endpoint"),
    "TLS material of something else": ("tls", TLS_COLUMN, '{"color": "red"}', "the TLS material of endpoint"),
    "authorities that are none": ("tls", TLS_COLUMN, '{"ca_bundle": "rubbish"}', "the CA bundle is not a certificate"),
}


def test_an_attempt_that_what_is_stored_does_not_allow_costs_nothing_and_says_why(database: str) -> None:
    reasons: dict[str, str] = {}
    with receiving() as receiver:
        for column, name, text, reason in STORED.values():
            made, _ = endpoint(database, CONFIG, receiver.url, signatures=["v1", "v1a"])
            sealed = b"\0" if text is None else KEYS.seal(text, owner=made, column=name)
            with psycopg.connect(database) as conn:
                change = sql.SQL("update svc.webhook_endpoints set {} = %s where id = %s")
                conn.execute(change.format(sql.Identifier(column)), (sealed, made))
            reasons[made] = reason
        send(database, {})
        with working(database, CONFIG):
            wait_until(lambda: all(row["last_error"] for row in rows(database, "webhook_deliveries")), "the reasons")
        assert receiver.requests == []
    for delivery in rows(database, "webhook_deliveries"):
        assert (delivery["status"], delivery["attempts"]) == ("pending", 0)
        assert reasons[str(delivery["endpoint_id"])] in delivery["last_error"]
        assert delivery["next_attempt_at"] > delivery["updated_at"]
    assert rows(database, "webhook_delivery_attempts") == []


def test_a_client_certificate_that_has_ended_since_it_was_read_costs_no_attempt(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.attempts.usable_until", lambda _: datetime.now(UTC))
    ours = authority(tmp_path)
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url, tls=Tls(ours.pem, *ours.client()))
        send(database, {})
        with working(database, CONFIG):
            wait_until(lambda: rows(database, "webhook_deliveries")[0]["last_error"], "the reason is there")
    [ended] = rows(database, "webhook_deliveries")
    assert (ended["status"], ended["attempts"], receiver.requests) == ("pending", 0, [])
    assert "the client certificate of endpoint" in ended["last_error"]


def test_an_address_that_is_not_allowed_is_blocked(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        send(database, {})
        strict = CONFIG.model_copy(deep=True)
        strict.webhooks.allow_cidrs = []
        with working(database, strict):
            wait_for_status(database, "failed")
        assert receiver.requests == []
    assert {row["outcome"] for row in rows(database, "webhook_delivery_attempts")} == {"blocked"}


def test_an_address_of_the_operators_network_is_blocked_if_a_customer_gave_it(database: str) -> None:
    strict = CONFIG.model_copy(deep=True)
    strict.webhooks.allow_for_customers = False
    with receiving() as receiver:
        customers, _ = endpoint(database, CONFIG, receiver.url, url_by="customer")
        endpoint(database, strict, receiver.url)
        send(database, {})
        with working(database, strict):
            receiver.wait_for(1)
            wait_until(lambda: len(rows(database, "webhook_delivery_attempts")) > 1, "both were tried")
    tried = {row["endpoint_id"]: row["outcome"] for row in rows(database, "webhook_delivery_attempts")}
    assert (sorted(tried.values()), tried[UUID(customers)]) == (["blocked", "success"], "blocked")
    assert len(receiver.requests) == 1


def test_a_worker_reads_an_address_as_sqlalchemy_writes_it(database: str) -> None:
    parts = conninfo_to_dict(database)
    address = f"postgresql+psycopg://{parts['user']}@{parts['host']}:{parts['port']}/{parts['dbname']}"
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        send(database, {})
        with working(address, CONFIG):
            receiver.wait_for(1)


@pytest.mark.parametrize("addresses", [{"conninfo": "shop hunter2"}, {"listen_conninfo": "mysql://a:hunter2@b"}])
def test_an_address_that_is_none_is_refused_without_showing_it(addresses: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="the conninfo is not the address") as refused:
        Worker(**{"conninfo": "dbname=shop", "keys": KEYS, "config": CONFIG, **addresses})  # type: ignore[arg-type]
    assert "hunter2" not in "".join(format_exception(refused.value))


def test_a_worker_on_a_database_without_svc_pg_says_so(empty_database: str) -> None:
    with pytest.raises(NotInstalledError):
        asyncio.run(Worker(empty_database, keys=KEYS, config=CONFIG).run())


def test_a_worker_behind_a_pooler_notices_asks_and_delivers(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver, pgbouncer(database) as pooled:
        endpoint(database, CONFIG, receiver.url)
        with working(pooled, CONFIG, interval=timedelta(milliseconds=50)):
            for number in range(20):
                send(pooled, {"id": number})
            receiver.wait_for(20)
            wait_until(
                lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered"}, "all arrived"
            )
    assert "a pooler is in front of PostgreSQL" in caplog.text


def test_a_worker_behind_a_pooler_listens_where_it_is_told_to(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver, pgbouncer(database) as pooled:
        endpoint(database, CONFIG, receiver.url)
        with working(pooled, CONFIG, listen_conninfo=database, interval=timedelta(hours=1)):
            for number in range(20):
                send(pooled, {"id": number})
                receiver.wait_for(number + 1)
    assert "pooler" not in caplog.text


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_worker_whose_claims_would_not_see_each_other_says_so(database: str, level: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        setting = sql.SQL("alter database {} set default_transaction_isolation = {}")
        conn.execute(setting.format(sql.Identifier(conn.info.dbname), sql.Literal(level)))
    with pytest.raises(TransactionError, match=level), working(database, CONFIG) as worker:
        wait_until(lambda: not worker.is_alive, "it has ended")
