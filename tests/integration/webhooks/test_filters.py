"""Filters of endpoints: what does not meet one makes no delivery, and what cannot be decided is a failed one."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.hooks import PLACES, endpoint, hooks_config, install, working
from tests.support.postgres import Prepare
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created", "order.paid")
URL = "http://127.0.0.1:9/hook"
LARGE = '$.amount > 100 && $.currency == "EUR"'


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def filtered(database: str, *filters: str | None, **options: Any) -> list[str]:
    """The ids of endpoints with these filters."""
    ids = [endpoint(database, CONFIG, URL, **options)[0] for _ in filters]
    with psycopg.connect(database) as conn:  # not by the API, which refuses some of them
        for endpoint_id, path in zip(ids, filters, strict=True):
            conn.execute("update svc.webhook_endpoints set filter = %s where id = %s", (path, endpoint_id))
    return ids


def states(conn: psycopg.Connection[Any], message: object = None) -> dict[str, str]:
    """The state of each delivery by its endpoint; of one message, or of all."""
    query = """
        select endpoint_id::text, status from svc.webhook_deliveries
         where %(m)s::uuid is null or message_id = %(m)s
    """
    return dict(conn.execute(query, {"m": message}).fetchall())


def test_only_what_meets_the_filter_makes_a_delivery(database: str, db: psycopg.Connection[Any]) -> None:
    everything, large = filtered(database, None, LARGE)
    payloads: list[Any] = [
        {"amount": 101, "currency": "EUR"},
        {"amount": 100, "currency": "EUR"},
        {"amount": 101},
        {"currency": "EUR"},
        [],
        "1e400",
    ]
    sent = [webhooks.send(db, "order.created", payload) for payload in payloads]
    many = webhooks.send_many(db, "order.created", payloads)
    for messages in (sent, many):
        found = [states(db, message) for message in messages]
        assert found == [{everything: "pending", large: "pending"}] + [{everything: "pending"}] * 5


def test_filters_and_tenants_and_patterns_hold_together(database: str, db: psycopg.Connection[Any]) -> None:
    [ours] = filtered(database, "$.n == 1", tenant="acme", events=["order.created"])
    [theirs] = filtered(database, "$.n == 1", tenant="other", events=["*"])
    [all_of_two] = filtered(database, "$.n == 2")
    query = """select svc.send_many('order.created', array['{"n": 1}', '{"n": 1}', '{"n": 2}', '{"n": 1}']::json[],
                                    tenants => '{acme,other,acme,NULL}')"""
    found = [states(db, message) for message in scalar(db, query)]
    assert found == [{ours: "pending"}, {theirs: "pending"}, {all_of_two: "pending"}, {}]
    assert states(db, webhooks.send(db, "order.paid", {"n": 1}, tenant="acme")) == {}


@pytest.mark.parametrize("way", ["send", "send_many"])
@pytest.mark.parametrize(
    ("path", "payload", "reason"),
    [
        (LARGE, '{"amount": "101", "currency": "EUR"}', "of another type"),
        ("strict $.amount > 100", "{}", "is missing"),
        ("$.amount", '{"amount": 1}', "single boolean"),
        ('$.at.datetime() < "2026-01-01".datetime()', '{"at": "soon"}', "cannot be converted"),
        ("$.amount > 100", '{"text": "\\u0000"}', "jsonb cannot hold the payload: unsupported Unicode"),
        ("$.amount > 100", '{"amount": 1e200000}', "jsonb cannot hold the payload: value overflows numeric"),
        ("$.amount > 100", "[" * 5000 + "]" * 5000, None),
        (
            "$.amount > 100 && " * 50 + "$.n == 1",
            "[" + "1," * 12000 + "1]",
            "too many values (12001) for its steps (102)",
        ),
    ],
)
def test_what_cannot_be_decided_fails_without_an_attempt_and_names_the_filter(
    database: str, db: psycopg.Connection[Any], way: str, path: str, payload: str, reason: str | None
) -> None:
    everything, undecided = filtered(database, None, path)
    if way == "send":
        message = webhooks.send(db, "order.created", payload, delay=timedelta(hours=1))
    else:
        [message, _] = webhooks.send_many(db, "order.created", [payload, payload], delay=timedelta(hours=1))
    if reason is None:  # PostgreSQL decides it, or its stack was not deep enough
        assert states(db, message)[everything] == "pending"
        return
    assert states(db, message) == {everything: "pending", undecided: "failed"}
    query = """
        select last_error, attempts, next_attempt_at is null and finished_at is not null
          from svc.webhook_deliveries where message_id = %s and endpoint_id = %s
    """
    [[error, attempts, has_ended]] = db.execute(query, (message, undecided)).fetchall()
    assert error.startswith(f"the filter {path} cannot be decided: ")
    assert reason in error
    assert (attempts, has_ended) == (0, True)


def test_a_delivery_that_failed_by_its_filter_is_sent_if_somebody_retries_it(database: str) -> None:
    with receiving() as receiver, psycopg.connect(database, autocommit=True) as db:
        [undecided] = filtered(database, "$.amount > 100")
        db.execute("update svc.webhook_endpoints set url = %s", (receiver.url,))
        webhooks.send(db, "order.created", {"amount": "101"})
        with working(database, CONFIG):
            assert webhooks.deliveries.retry_all(db, endpoint=undecided).count == 1
            [request] = receiver.wait_for(1)
            wait_until(lambda: set(states(db).values()) == {"delivered"})
    assert json.loads(request.body)["data"] == {"amount": "101"}


def test_a_payload_is_converted_only_if_a_wanting_endpoint_has_a_filter(
    database: str, db: psycopg.Connection[Any]
) -> None:
    [plain] = filtered(database, None)
    filtered(database, "$.n == 1", tenant="other")
    filtered(database, "$.n == 1", events=["order.paid"])
    [paused] = filtered(database, "$.n == 1", tenant="paused")
    db.execute("update svc.webhook_endpoints set status = 'disabled', disabled_reason = '' where id = %s", (paused,))
    db.execute("""
        create or replace function svc.webhook_document(p_payload json)
        returns table (document jsonb, most_values integer, problem text) language plpgsql as
        'begin raise ''converted''; end'
    """)
    for tenant in (None, "acme", "paused"):
        messages = [
            webhooks.send(db, "order.created", {}, tenant=tenant),
            *webhooks.send_many(db, "order.created", [{}, {}], tenant=tenant),
        ]
        assert [states(db, message) for message in messages] == [{plain: "pending"}] * 3
    with pytest.raises(psycopg.errors.RaiseException, match="converted"):
        webhooks.send(db, "order.created", {}, tenant="other")
    with pytest.raises(psycopg.errors.RaiseException, match="converted"):
        webhooks.send_many(db, "order.paid", [{}, {}])


def test_a_payload_is_converted_once_for_many_filters(database: str, db: psycopg.Connection[Any]) -> None:
    filtered(database, *["$.n == 1"] * 20)
    db.execute("create sequence conversions")
    db.execute("grant usage on sequence conversions to public")
    db.execute("""
        create or replace function svc.webhook_document(p_payload json)
        returns table (document jsonb, most_values integer, problem text) language plpgsql as
        'begin perform nextval(''public.conversions''); document := p_payload; most_values := 1; return next; end'
    """)
    webhooks.send(db, "order.created", {"n": 1})
    webhooks.send_many(db, "order.created", [{"n": 1}, {"n": 2}])
    assert scalar(db, "select last_value from conversions") == 3
    assert len(db.execute("select from svc.webhook_deliveries").fetchall()) == 40


def test_changes_of_tables_are_filtered_too(empty_database: str) -> None:
    config = CONFIG.model_copy(deep=True)
    config.webhooks.on_change("orders", "INSERT", event="order.created", payload="row")
    with psycopg.connect(empty_database, autocommit=True) as db:
        db.execute("create table orders (id integer primary key, amount numeric)")
        large, _ = endpoint(empty_database, config, URL, filter="$.amount > 100")
        db.execute("insert into orders values (1, 100), (2, 101), (3, 99)")
        assert states(db) == {large: "pending"}
        assert scalar(db, "select count(*) from svc.webhook_deliveries") == 1


def test_our_own_events_are_filtered_as_all_others_and_pings_are_not(
    database: str, db: psycopg.Connection[Any]
) -> None:
    events = ["order.created", "webhook.*"]
    filters = ["$.amount > 100", "$.amount > 100 || exists($.endpointId)", None]
    [_, alarmed, gone] = filtered(database, *filters, events=events)
    webhooks.endpoints.disable(db, gone, reason="gone")
    assert states(db) == {alarmed: "pending"}
    webhooks.endpoints.ping(db, alarmed)
    assert scalar(db, "select count(*) from svc.webhook_deliveries") == 2


def test_a_payload_that_cannot_be_converted_is_tried_once(database: str, db: psycopg.Connection[Any]) -> None:
    hooks = filtered(database, *["$.n == 1"] * 3)
    db.execute("create sequence conversions")
    db.execute("grant usage on sequence conversions to public")
    db.execute("""
        create or replace function svc.webhook_document(p_payload json)
        returns table (document jsonb, most_values integer, problem text) language plpgsql as
        'begin perform nextval(''public.conversions''); problem := ''too deep''; return next; end'
    """)
    webhooks.send(db, "order.created", {"n": 1})
    assert states(db) == dict.fromkeys(hooks, "failed")
    webhooks.send_many(db, "order.created", [{"n": 1}, {"n": 2}])
    assert scalar(db, "select last_value from conversions") == 3


@pytest.mark.parametrize("way", ["send", "send_many", "replay"])
def test_what_cannot_be_decided_blocks_what_comes_after_it_in_a_strict_order(
    database: str, db: psycopg.Connection[Any], way: str
) -> None:
    payloads: list[Any] = [{"n": 1}, {"n": "2"}, {"n": 3}]
    if way == "replay":
        webhooks.send_many(db, "order.created", payloads, keys=["k"] * 3)
    [hook] = filtered(database, "$.n > 0", ordering="strict")
    match way:
        case "send":
            for payload in payloads:
                webhooks.send(db, "order.created", payload, key="k")
        case "send_many":
            webhooks.send_many(db, "order.created", payloads, keys=["k"] * 3)
        case "replay":
            assert webhooks.deliveries.replay(db, hook, since="1h").count == 2
    webhooks.send_many(db, "order.created", [{"n": "2"}, {"n": "2"}])  # without a key they block nothing

    def delivered() -> list[int]:
        """The places in their key of what a claim starts, and of what is delivered then."""
        query = f"""
            select c.delivery_id, c.lease_id, place
              from svc.webhook_claim('worker', 10) c join {PLACES} on places.id = c.message_id
        """
        claimed = db.execute(query).fetchall()
        for delivery, lease, _ in claimed:
            done = """select svc.webhook_acknowledge(array[%s], array[%s], '{delivered}', '{0}', '{success}', '{200}',
                                                     '{null}', '{5}', '{null}', '{null}', '{null}')"""
            db.execute(done, (delivery, lease))
        return [place for _, _, place in claimed]

    assert [delivered(), delivered()] == [[1], []]
    failed = f"""
        select d.id::text from svc.webhook_deliveries d join {PLACES} on places.id = message_id
         where status = 'failed' and place = 2
    """
    webhooks.deliveries.retry(db, scalar(db, failed))
    assert [delivered(), delivered(), delivered()] == [[2], [3], []]
