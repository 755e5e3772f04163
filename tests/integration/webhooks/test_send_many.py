import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import PayloadError, QueryError, UnknownEventError
from tests.support.hooks import endpoint, hooks_config, install, rows
from tests.support.postgres import Prepare

CONFIG = hooks_config("order.created")
URL = "http://127.0.0.1:9/hook"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def messages(conn: psycopg.Connection[Any]) -> dict[Any, Any]:
    return dict(conn.execute("select id, payload from svc.webhook_messages").fetchall())


def test_every_payload_is_a_message_and_the_ids_come_in_their_order(database: str, db: psycopg.Connection[Any]) -> None:
    endpoint(database, CONFIG, URL)
    ids = webhooks.send_many(db, "order.created", [{"id": number} for number in range(100)])
    stored = messages(db)
    assert [stored[message_id] for message_id in ids] == [{"id": number} for number in range(100)]
    assert scalar(db, "select count(distinct message_id) from svc.webhook_deliveries") == 100


def test_the_work_of_a_call_grows_with_its_messages_and_not_with_their_square(
    database: str, db: psycopg.Connection[Any]
) -> None:
    """Twenty thousand take half a second; compared with each other they would take thirteen."""
    endpoint(database, CONFIG, URL)
    db.execute("set statement_timeout = '8 s'")
    assert len(webhooks.send_many(db, "order.created", [{}] * 20_000)) == 20_000


def test_nothing_to_send_sends_nothing(db: psycopg.Connection[Any]) -> None:
    assert webhooks.send_many(db, "order.created", []) == []
    assert scalar(db, "select svc.send_many('order.created', '{}')") == []
    assert messages(db) == {}


def test_keys_store_one_message_each_also_within_one_call(db: psycopg.Connection[Any]) -> None:
    [first] = webhooks.send_many(db, "order.created", [{"id": 1}], idempotency_keys=["a"])
    ids = webhooks.send_many(
        db, "order.created", [{"id": 2}, {"id": 1}, {"id": 2}, {"id": 5}], idempotency_keys=["b", "a", "b", None]
    )
    assert ids[1] == first
    assert ids[0] == ids[2]
    assert sorted(payload["id"] for payload in messages(db).values()) == [1, 2, 5]
    assert webhooks.send(db, "order.created", {"id": 2}, idempotency_key="b") == ids[0]


def test_calls_with_the_same_keys_in_other_orders_do_not_deadlock(database: str, db: psycopg.Connection[Any]) -> None:
    keys = [f"key {number}" for number in range(50)]

    def send(order: list[str]) -> list[Any]:
        with psycopg.connect(database) as conn:
            return sorted(webhooks.send_many(conn, "order.created", [{}] * len(order), idempotency_keys=order))

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(send, [keys, keys[::-1], keys, keys[::-1]]))
    assert results[0] == results[1] == results[2] == results[3]
    assert len(messages(db)) == 50


def test_tenants_and_delay_hold_for_all(database: str, db: psycopg.Connection[Any]) -> None:
    endpoint(database, CONFIG, URL, tenant="acme")
    endpoint(database, CONFIG, URL, tenant="other")
    webhooks.send_many(db, "order.created", [{}, {}], tenant="acme", delay=timedelta(hours=1))
    due = "select count(*), bool_and(next_attempt_at = now() + interval '1 hour') from svc.webhook_deliveries"
    assert db.execute(due).fetchone() == (2, True)


def test_in_sql_each_message_may_have_its_own_tenant(database: str, db: psycopg.Connection[Any]) -> None:
    acme, _ = endpoint(database, CONFIG, URL, tenant="acme")
    db.execute("select svc.send_many('order.created', '{1,2}', tenants => '{acme,other}')")
    assert [str(row[0]) for row in db.execute("select endpoint_id from svc.webhook_deliveries")] == [acme]


@pytest.mark.parametrize(
    "call",
    [
        "svc.send_many('order.created', null)",
        "svc.send_many('order.created', array['{}', null]::json[])",
        "svc.send_many('order.created', '{1,2}', array['a'])",
        "svc.send_many('order.created', '{1,2}', tenants => array['a'])",
        "svc.send_many('order.created', array[to_json(repeat('x', 300000))])",
    ],
)
def test_what_cannot_be_sent_is_refused_as_a_whole(db: psycopg.Connection[Any], call: str) -> None:
    with pytest.raises(psycopg.Error) as caught, db.transaction():
        db.execute(f"select {call}".encode())
    assert caught.value.sqlstate == "SV101"
    assert messages(db) == {}


@pytest.mark.parametrize("name", ["send('order.created', '1', ", "send_many('order.created', '{1,2}', "])
@pytest.mark.parametrize(
    "option",
    [
        "delay => null)",
        "delay => '-1 s')",
        "delay => '9000 years')",
        "idempotency_key => repeat('x', 1025))",
        "tenant => repeat('x', 1025))",
    ],
)
def test_a_delay_a_key_or_a_tenant_beyond_reason_is_refused(
    db: psycopg.Connection[Any], name: str, option: str
) -> None:
    call = name + option
    if "many" in name:
        call = re.sub(r"(key|tenant) => repeat\('x', 1025\)", r"\1s => array[null, repeat('x', 1025)]", call)
    with pytest.raises(psycopg.Error) as caught:
        db.execute(f"select svc.{call}".encode())
    assert caught.value.sqlstate == "SV101"


def test_one_bad_payload_of_many_is_named(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(PayloadError, match="not JSON"):
        webhooks.send_many(db, "order.created", [{}, {"x": {1, 2}}])
    with pytest.raises(UnknownEventError):
        webhooks.send_many(db, "order.creatd", [{}])


@pytest.mark.parametrize("name", ["keys", "idempotency_keys"])
def test_where_nulls_of_lists_are_texts_they_are_refused(db: psycopg.Connection[Any], name: str) -> None:
    arguments: dict[str, Any] = {name: ["a", None]}
    db.execute("set local array_nulls = off")
    with pytest.raises(PayloadError, match="is the text NULL"), db.transaction():
        webhooks.send_many(db, "order.created", [{}, {}], **arguments)
    assert messages(db) == {}
    db.execute("set local array_nulls = on")
    assert len(webhooks.send_many(db, "order.created", [{}, {}], **arguments)) == 2


@pytest.mark.parametrize("name", ["payloads", "keys", "idempotency_keys"])
@pytest.mark.parametrize("value", [5, "12", b"12", {"1": 1, "2": 2}])
def test_what_is_no_list_is_refused_before_it_is_sent(db: psycopg.Connection[Any], name: str, value: Any) -> None:
    arguments: dict[str, Any] = {"payloads": [{}, {}], name: value}
    with pytest.raises(QueryError, match=f"^{name} is of type {type(value).__name__}, not a list"):
        webhooks.send_many(db, "order.created", **arguments)
    assert messages(db) == {}


def test_an_own_event_of_svc_pg_cannot_be_sent(database: str, db: psycopg.Connection[Any]) -> None:
    with pytest.raises(UnknownEventError, match="sent by svc-pg itself"):
        webhooks.send(db, "webhook.endpoint.disabled", {})
    db.rollback()
    assert rows(database, "webhook_messages") == []
