import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from svc_pg import webhooks
from svc_pg.database.advisory_locks import Lock
from svc_pg.database.query import scalar
from svc_pg.errors import NotInstalledError, PayloadError, QueryError, UnknownEventError
from tests.support.hooks import endpoint, hooks_config, rows

CONFIG = hooks_config("order.created", "order.paid")
URL = "http://127.0.0.1:9/hook"


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    endpoint(database, CONFIG, URL, events=["order.*"])
    with psycopg.connect(database) as conn:
        yield conn


def test_a_message_has_a_delivery_for_each_endpoint_that_wants_it(database: str) -> None:
    wanted = [endpoint(database, CONFIG, URL, events=events)[0] for events in (["order.created"], ["order.*"], ["*"])]
    endpoint(database, CONFIG, URL, events=["order.paid"])
    with psycopg.connect(database) as conn:
        message = webhooks.send(conn, "order.created", {"id": 1})
    deliveries = rows(database, "webhook_deliveries")
    assert {str(row["endpoint_id"]) for row in deliveries} == set(wanted)
    assert {(row["message_id"], row["status"], row["attempts"], row["max_attempts"]) for row in deliveries} == {
        (message, "pending", 0, 5)
    }


def test_rollback_removes_the_message_and_its_deliveries(db: psycopg.Connection[Any], database: str) -> None:
    webhooks.send(db, "order.created", {})
    db.rollback()
    assert rows(database, "webhook_messages") == rows(database, "webhook_deliveries") == []


def test_an_undefined_event_is_refused_with_a_hint(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(UnknownEventError, match=r"order\.lost") as caught:
        webhooks.send(db, "order.lost", {})
    assert caught.value.hint == "Define it in the configuration and run: svc-pg install"


@pytest.mark.parametrize(
    "payload",
    [{"x": "y" * 262144}, {"x": float("nan")}, {"x": object()}, {"x": {1, 2}}],
    ids=["too large", "nan", "object", "set"],
)
def test_a_payload_that_cannot_be_sent_is_refused(db: psycopg.Connection[Any], payload: dict[str, Any]) -> None:
    with pytest.raises(PayloadError):
        webhooks.send(db, "order.created", payload)


def test_what_applications_hold_is_stored_exactly(db: psycopg.Connection[Any]) -> None:
    order = {"id": UUID(int=7), "total": Decimal("12345678901234567.10"), "at": datetime(2026, 1, 31, tzinfo=UTC)}
    message = webhooks.send(db, "order.created", order)
    stored = scalar(db, "select payload::text from svc.webhook_messages where id = %s", (message,))
    expected = '"total": 12345678901234567.10, "at": "2026-01-31T00:00:00.000000Z"'
    assert stored == f'{{"id": "{UUID(int=7)}", {expected}}}'
    with pytest.raises(PayloadError, match=r"\$\.at is .* no time zone") as caught:
        webhooks.send(db, "order.created", {"at": datetime(2026, 1, 31)})  # noqa: DTZ001 - what the test is about
    assert caught.value.hint == "Write datetime.now(UTC), or value.replace(tzinfo=...)."


@pytest.mark.parametrize(
    ("delay", "hint"),
    [
        (5, r"timedelta\(seconds=5\)"),
        (1.5, r"timedelta\(seconds=1.5\)"),
        ("10m", r"timedelta\(minutes=10\)"),
        (None, "timedelta"),
        (datetime(2026, 1, 31, tzinfo=UTC), r"at - datetime\.now\(UTC\)"),
    ],
)
def test_a_delay_that_is_no_timedelta_is_refused_with_what_to_write(
    db: psycopg.Connection[Any], delay: Any, hint: str
) -> None:
    for send in (webhooks.send, webhooks.send_many):
        with pytest.raises(QueryError, match="not a timedelta") as caught:
            send(db, "order.created", [{}], delay=delay)
        assert re.search(hint, str(caught.value.hint))
    assert db.execute("select 1").fetchone() == (1,)


def test_a_text_that_is_not_json_is_refused(db: psycopg.Connection[Any]) -> None:
    with pytest.raises((PayloadError, psycopg.DataError)):
        webhooks.send(db, "order.created", "{not json")


def test_a_text_that_is_nested_too_deeply_is_refused(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(PayloadError, match="nested too deeply"):
        webhooks.send(db, "order.created", "[" * 100_000 + "]" * 100_000)


def test_a_json_text_is_stored_byte_for_byte(db: psycopg.Connection[Any]) -> None:
    text = '{"n": 12345678901234567.10,  "n": 1}'
    webhooks.send(db, "order.created", text)
    assert scalar(db, "select payload::text from svc.webhook_messages") == text
    [delivery] = webhooks.deliveries.list(db).data
    detail = webhooks.deliveries.get(db, delivery.id)
    message = webhooks.send(db, "order.paid", {"of": detail, "payloads": [detail.payload]})
    stored = scalar(db, "select payload::text from svc.webhook_messages where id = %s", (message,))
    assert stored.endswith(f'"payload": {text}}}, "payloads": [{text}]}}')


def test_a_database_without_svc_pg_says_so(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn, pytest.raises(NotInstalledError) as caught:
        webhooks.send(conn, "order.created", {})
    assert caught.value.hint == "Run: svc-pg install"


def test_an_idempotency_key_stores_one_message_and_returns_its_id_again(db: psycopg.Connection[Any]) -> None:
    first = webhooks.send(db, "order.created", {"n": 1, "m": "\0"}, idempotency_key="k")
    assert webhooks.send(db, "order.created", {"n": 1, "m": "\0"}, idempotency_key="k") == first
    assert webhooks.send(db, "order.created", {"n": 2}, idempotency_key="k", tenant="acme") != first
    again = webhooks.send(db, "order.created", '{"b": 1.0,  "a": 2}', idempotency_key="written")
    assert webhooks.send(db, "order.created", '{"a": 2, "b": 1.0}', idempotency_key="written") == again
    assert scalar(db, "select count(*) from svc.webhook_messages") == 3


@pytest.mark.parametrize("payload", [{"n": 2}, {"n": "\0"}, [], None])
def test_an_idempotency_key_of_another_payload_is_refused(db: psycopg.Connection[Any], payload: Any) -> None:
    webhooks.send(db, "order.created", {"n": 1}, idempotency_key="it's k")
    db.commit()
    db.autocommit = True
    with pytest.raises(PayloadError, match=r"the idempotency key 'it''s k' was used for another message"):
        webhooks.send(db, "order.created", payload, idempotency_key="it's k")
    with pytest.raises(PayloadError, match="was used for another message"):
        webhooks.send_many(db, "order.created", [{"n": 1}, payload], idempotency_keys=["it's k", "it's k"])
    with pytest.raises(PayloadError, match="was used for another message"):
        webhooks.send_many(db, "order.created", [{"n": 1}, payload], idempotency_keys=["new", "new"])
    assert scalar(db, "select count(*) from svc.webhook_messages") == 1


def test_parallel_sends_of_one_key_store_one_message(database: str, db: psycopg.Connection[Any]) -> None:
    def send(_: int) -> object:
        with psycopg.connect(database) as conn:
            return webhooks.send(conn, "order.created", {}, idempotency_key="once")

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(send, range(40)))) == 1
    assert scalar(db, "select count(*) from svc.webhook_messages") == 1


def test_a_tenants_endpoint_gets_only_its_messages_and_one_without_tenant_gets_all(database: str) -> None:
    everybody, _ = endpoint(database, CONFIG, URL)
    acme, _ = endpoint(database, CONFIG, URL)
    with psycopg.connect(database) as conn:
        conn.execute("update svc.webhook_endpoints set tenant = 'acme' where id = %s", (acme,))
        messages = {tenant: webhooks.send(conn, "order.paid", {}, tenant=tenant) for tenant in ("acme", "other", None)}
    found = {(row["message_id"], str(row["endpoint_id"])) for row in rows(database, "webhook_deliveries")}
    assert found == {(message, everybody) for message in messages.values()} | {(messages["acme"], acme)}


def test_a_delayed_message_is_due_later(db: psycopg.Connection[Any]) -> None:
    webhooks.send(db, "order.created", {}, delay=timedelta(hours=1))
    assert scalar(db, "select next_attempt_at - created_at from svc.webhook_deliveries") == timedelta(hours=1)
    assert scalar(db, "select count(*) from svc.webhook_claim('w', 10)") == 0


@pytest.mark.usefixtures("db")
def test_send_works_whatever_rows_the_connection_makes(database: str) -> None:
    with psycopg.connect(database, row_factory=dict_row) as conn:
        assert isinstance(webhooks.send(conn, "order.created", {}), UUID)


def test_psql_can_send(db: psycopg.Connection[Any]) -> None:
    db.execute("""select svc.send('order.created', '{"id": 7}', idempotency_key => 'k')""")
    assert scalar(db, "select payload::text from svc.webhook_messages") == '{"id": 7}'


def test_a_send_notifies_only_while_somebody_sleeps(database: str, db: psycopg.Connection[Any]) -> None:
    with psycopg.connect(database, autocommit=True) as sleeper:
        sleeper.execute("listen svc_webhooks")
        webhooks.send(db, "order.created", {})
        db.commit()
        assert list(sleeper.notifies(timeout=0)) == []
        sleeper.execute("select pg_advisory_lock(%s, %s)", Lock.WAKEUP.key)
        webhooks.send(db, "order.created", {})
        db.commit()
        assert [n.payload for n in sleeper.notifies(timeout=5, stop_after=1)] == [""]


def test_the_envelope_is_the_same_at_every_attempt(db: psycopg.Connection[Any]) -> None:
    message = webhooks.send(db, "order.created", '{"n": 1.10}')
    db.execute("set local timezone = 'Asia/Tokyo'")
    body = scalar(db, "select svc.webhook_envelope(m) from svc.webhook_messages m")
    created = scalar(db, "select created_at at time zone 'UTC' from svc.webhook_messages")
    assert body.endswith('"data":{"n": 1.10}}')
    assert json.loads(body) == {
        "id": str(message),
        "type": "order.created",
        "timestamp": created.isoformat(timespec="microseconds") + "Z",
        "data": {"n": 1.1},
    }
