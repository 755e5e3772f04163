"""Events of svc-pg itself: outages and exhausted deliveries are told once, in bounds, and never of themselves."""

import json
from collections.abc import Iterator
from re import fullmatch
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from svc_pg import webhooks
from svc_pg.database.query import fetch_one, scalar
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from tests.support.hooks import KEYS, hooks_config, install, working
from tests.support.postgres import Prepare
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
FAILING, RECOVERED, EXHAUSTED = "webhook.endpoint.failing", "webhook.endpoint.recovered", "webhook.delivery.exhausted"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    """In autocommit, as a worker is, and every statement at its own time."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("set timezone = 'Asia/Tokyo'")
        yield conn


def new(db: Connection, url: str, *events: str, **options: Any) -> str:
    """Register an endpoint that may have any number of attempts under way."""
    wanted: dict[str, Any] = {"url": url, "events": events, "max_in_flight": 1000} | options
    return fetch_one(db, endpoints.create(keys=KEYS, guard=Guard.of(CONFIG.webhooks), **wanted)).id


def send(db: Connection, number: int = 1, **options: Any) -> None:
    """Send events whose deliveries have attempts enough."""
    webhooks.send_many(db, "order.created", [{"id": n} for n in range(number)], **options)
    db.execute("update svc.webhook_deliveries set max_attempts = 100 where event_name = 'order.created'")


def claim(db: Connection) -> list[dict[str, Any]]:
    return db.cursor(row_factory=dict_row).execute("select * from svc.webhook_claim('w', 1000)").fetchall()


def acknowledge(db: Connection, claimed: list[dict[str, Any]], disposition: str = "retry") -> None:
    """One call for all of them; a retry waits for no time."""
    if not claimed:
        return
    outcome = "success" if disposition == "delivered" else "http_error"
    text = """select svc.webhook_acknowledge(
        array_agg(id), array_agg(lease), array_agg(%(disposition)s::text), array_agg(0.0::float8),
        array_agg(%(outcome)s::text), array_agg(500), array_agg('no'::text), array_agg(5), array_agg(null::json),
        array_agg(null::text), array_agg(null::inet))
        from unnest(%(ids)s::uuid[], %(leases)s::uuid[]) c(id, lease)"""
    ids, leases = [row["delivery_id"] for row in claimed], [row["lease_id"] for row in claimed]
    db.execute(text, {"ids": ids, "leases": leases, "disposition": disposition, "outcome": outcome})


def attempt(db: Connection, endpoint: str, disposition: str = "retry") -> int:
    """End an attempt of everything that the endpoint may be sent now; return their number."""
    db.execute("update svc.webhook_endpoint_state set breaker_until = null")
    claimed = claim(db)
    mine = [row for row in claimed if str(row["endpoint_id"]) == endpoint]
    acknowledge(db, mine, disposition)
    acknowledge(db, [row for row in claimed if row not in mine], "released")
    return len(mine)


def told(db: Connection, monitor: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The events of svc-pg itself that the monitor is to get, or all, in order."""
    text = """select m.event_name, m.payload::text from svc.webhook_messages m
               where m.event_name like 'webhook.%%' and (%(monitor)s::uuid is null or exists (
                     select from svc.webhook_deliveries d where d.message_id = m.id and d.endpoint_id = %(monitor)s))
               order by m.id"""
    return [(name, json.loads(payload)) for name, payload in db.execute(text, {"monitor": monitor}).fetchall()]


def test_an_outage_is_told_once_when_its_breaker_opens_and_once_when_it_ends(db: Connection) -> None:
    shop = new(db, "https://shop.example/hook?token=hush", "order.*", tenant="acme", description="the shop")
    monitor = new(db, "https://monitor.example", "webhook.endpoint.*")
    own = new(db, "https://own.example", "webhook.*", tenant="acme")
    others = [new(db, "https://all.example", "*"), new(db, "https://other.example", "webhook.*", tenant="other")]
    for number in (9, 1, 1, 1):
        send(db, number, tenant="acme")
        assert attempt(db, shop)
    assert [name for name, _ in told(db)] == [FAILING]
    [(_, payload)] = told(db, monitor)
    assert payload["failures"] == 9 + 10
    assert {name: payload[name] for name in ("endpointId", "url")} == {
        "endpointId": shop,
        "url": "https://shop.example/hook",
    }
    fetch_one(db, endpoints.resume(shop))  # forgets the failures, but does not end the outage
    send(db, 10, tenant="acme")
    assert attempt(db, shop) >= 10
    assert len(told(db)) == 1
    fetch_one(db, endpoints.resume(shop))
    db.execute("update svc.webhook_endpoint_state set last_success_at = now()")  # a success just now is not noted again
    assert attempt(db, shop, "delivered")
    assert [name for name, _ in told(db, monitor)] == [FAILING, RECOVERED]
    assert told(db, own) == told(db, monitor)
    assert told(db, monitor)[1][1]["since"] == payload["since"]
    assert fullmatch(TIME, payload["since"]), "as the envelope's timestamp, whatever the time zone of the session"
    assert [told(db, each) for each in others] == [[], []]
    for minutes, events in ((0, 2), (1, 3)):
        db.execute("update svc.webhook_endpoint_state set outage_told_at = now() - %s * interval '1 min'", (minutes,))
        send(db, 10, tenant="acme")
        assert attempt(db, shop) >= 10
        assert len(told(db, monitor)) == events, "at most once a minute, however often it fails and recovers"
    for each in (monitor, own):
        fetch_one(db, endpoints.delete(each))
    fetch_one(db, endpoints.disable(shop))
    assert len(told(db)) == 3, "what nobody of this tenant wants to know is not stored"


def test_exhausted_deliveries_are_told_once_a_minute_with_their_number(db: Connection) -> None:
    shop = new(db, "https://shop.example", "order.*")
    monitor = new(db, "https://monitor.example", EXHAUSTED)
    for number in (1, 300, 50):
        send(db, number)
        assert attempt(db, shop, "failed") == number
    [(_, first)] = told(db, monitor)
    failed = scalar(db, "select id::text from svc.webhook_deliveries where status = 'failed' order by id limit 1")
    assert (first["endpointId"], first["count"], first["since"]) == (shop, 1, None)
    assert (first["deliveryIds"], first["error"]) == ([failed], "no")
    db.execute("update svc.webhook_endpoint_state set exhausted_told_at = exhausted_told_at - interval '1 min'")
    send(db, 30)
    attempt(db, shop, "failed")
    [_, (_, second)] = told(db, monitor)
    assert (second["count"], len(second["deliveryIds"])) == (380, 20)
    assert fullmatch(TIME, second["since"])
    send(db, 7)
    attempt(db, shop, "failed")
    for seconds, events in ((59, 2), (61, 3), (61, 3)):
        send(db)
        db.execute("update svc.webhook_endpoint_state set exhausted_told_at = now() - %s * interval '1 s'", (seconds,))
        attempt(db, shop, "delivered")
        assert len(told(db, monitor)) == events, "the rest is told with the next result after a minute"
    [*_, (_, third)] = told(db, monitor)
    assert (third["count"], third["deliveryIds"], third["error"]) == (7, [], None)


def test_a_delivery_that_was_lost_too_often_is_told_as_exhausted_too(db: Connection) -> None:
    shop = new(db, "https://shop.example", "order.*")
    monitor = new(db, "https://monitor.example", EXHAUSTED)
    send(db)
    db.execute("update svc.webhook_deliveries set lost_attempts = 19, attempts = 19")
    [lost] = claim(db)
    db.execute("update svc.webhook_leases set lease_until = now()")
    assert [row["lease_id"] for row in claim(db) if str(row["endpoint_id"]) == shop] == [None]
    [(_, payload)] = told(db, monitor)
    assert (payload["deliveryIds"], payload["error"]) == ([str(lost["delivery_id"])], "20 attempts were lost")


def test_a_monitor_that_fails_makes_no_events_of_its_own(db: Connection) -> None:
    """Not even of its ordinary deliveries' outage; and pings make none."""
    monitors = [new(db, f"https://monitor{n}.example", "webhook.*", "order.*") for n in range(2)]
    for monitor in monitors:
        webhooks.endpoints.ping(db, monitor)
    fetch_one(db, endpoints.disable(new(db, "https://shop.example", "order.*")))
    send(db, 10)
    before = len(told(db))
    for disposition in ("retry", "retry", "delivered", "retry"):
        for monitor in monitors:
            send(db, 12)
            assert attempt(db, monitor, disposition)
    assert len(told(db)) == before
    ordinary = "update svc.webhook_deliveries set event_name = 'webhook.endpoint.failing' where status = 'pending'"
    db.execute(ordinary)
    for monitor in monitors:
        assert attempt(db, monitor, "failed")
    assert len(told(db)) == before


def test_nothing_is_stored_if_nobody_wants_to_know(db: Connection) -> None:
    shop = new(db, "https://shop.example", "*")
    send(db, 20)
    assert attempt(db, shop, "failed") == 20
    fetch_one(db, endpoints.disable(shop))
    assert told(db) == []
    assert scalar(db, "select untold_exhausted from svc.webhook_endpoint_state") == 0


def test_a_monitor_receives_them_signed_and_filtered_as_any_other_event(db: Connection, database: str) -> None:
    with receiving(lambda number: 500 if number <= 10 else 204) as shop, receiving() as monitor, receiving() as other:
        broken = new(db, shop.url, "order.*", max_in_flight=1)
        new(db, monitor.url, "webhook.*", filter=f'$.endpointId == "{broken}"')
        new(db, other.url, "webhook.*", filter='$.endpointId == "nobody"')
        with working(database, CONFIG):
            send(db, 2)
            monitor.wait_for(1)
            db.execute("update svc.webhook_endpoint_state set breaker_until = now() where breaker_until is not null")

            def is_over() -> bool:
                db.execute("update svc.webhook_deliveries set max_attempts = 20 where status = 'pending'")
                db.execute("select svc.webhook_retry_one(id) from svc.webhook_deliveries where status = 'failed'")
                db.execute("update svc.webhook_endpoint_state set breaker_until = now() where breaker_until > now()")
                return any(json.loads(request.body)["type"] == RECOVERED for request in monitor.requests)

            wait_until(is_over, "the monitor is told of the end")
    names = [json.loads(request.body)["type"] for request in monitor.requests]
    assert names.count(FAILING) == names.count(RECOVERED) == 1
    assert other.requests == []
