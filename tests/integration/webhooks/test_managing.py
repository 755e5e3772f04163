"""One call for what a user does to endpoints and deliveries, on a sync and on an async connection."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from svc_pg import Config, Settings, audit, webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import (
    ConflictError,
    EncryptionKeyError,
    EndpointError,
    NotFoundError,
    NotInstalledError,
    QueryError,
    SvcError,
)
from svc_pg.webhooks import deliveries, endpoints
from svc_pg.webhooks.secrets import SECRET_COLUMN
from tests.support.hooks import KEYS, KEYS_TEXT, hooks_config

CONFIG = hooks_config("order.created", "order.paid")
SETTINGS = Settings(encryption_keys=KEYS_TEXT)
KEYLESS = Settings()
URL = "https://example.com/hook"

Call = Callable[..., Any]


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def sync_call(conninfo: str, verb: Call, *args: Any, **options: Any) -> Any:
    with psycopg.connect(conninfo) as conn:
        return verb(conn, *args, **options)


def async_call(conninfo: str, verb: Call, *args: Any, **options: Any) -> Any:
    module = inspect.getmodule(verb)

    async def run() -> Any:
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            return await getattr(module, "a" + verb.__name__)(conn, *args, **options)

    return asyncio.run(run())


@pytest.fixture(params=[sync_call, async_call], ids=["sync", "async"])
def call(request: pytest.FixtureRequest, database: str) -> Call:
    """Call a function of the façade, or its async twin, in a transaction of its own."""

    def run(verb: Call, *args: Any, **options: Any) -> Any:
        return request.param(database, verb, *args, **options)

    return run


def create(call: Call, **changes: Any) -> endpoints.EndpointWithSecret:
    wanted: dict[str, Any] = {"url": URL, "events": ["order.*"], "settings": SETTINGS} | changes
    made: endpoints.EndpointWithSecret = call(endpoints.create, **wanted)
    return made


def states(db: psycopg.Connection[Any]) -> list[str]:
    return [status for (status,) in db.execute("select status from svc.webhook_deliveries order by created_at, id")]


def fail(db: psycopg.Connection[Any]) -> None:
    db.execute("delete from svc.webhook_queue")
    db.execute(
        "update svc.webhook_deliveries"
        " set status = 'failed', failure = 'failed', finished_at = now(), next_attempt_at = null"
    )


def test_an_endpoint_is_made_with_its_secret_which_nothing_shows_again(call: Call, db: psycopg.Connection[Any]) -> None:
    made = create(call, tenant="acme", description="Acme", headers={"X-Key": "1"}, timeout=timedelta(seconds=3))
    assert (made.url, made.events, made.tenant, made.status) == (URL, ["order.*"], "acme", "active")
    assert (made.description, made.has_headers, made.timeout) == ("Acme", True, timedelta(seconds=3))
    sealed = scalar(db, "select secret from svc.webhook_endpoints")
    assert KEYS.open(sealed, owner=made.id, column=SECRET_COLUMN) == made.secret
    assert made.secret not in repr(made)
    found = call(endpoints.get, made.id)
    assert (found.id, hasattr(found, "secret")) == (made.id, False)


def test_an_endpoint_goes_through_all_its_states(call: Call, db: psycopg.Connection[Any]) -> None:
    made = create(call)
    assert call(endpoints.pause, made.id).status == "paused"
    assert call(endpoints.resume, made.id).status == "active"
    webhooks.send(db, "order.created", {})
    disabled = call(endpoints.disable, made.id, reason="moved")
    assert (disabled.status, disabled.disabled_reason, states(db)) == ("disabled", "moved", ["canceled"])
    with pytest.raises(ConflictError):
        call(endpoints.recover, made.id)
    call(endpoints.resume, made.id)
    assert call(endpoints.recover, made.id, since="1h", dry_run=True) == deliveries.BulkResult(1, is_complete=True)
    assert states(db) == ["canceled"]
    assert call(endpoints.recover, made.id, since="1h") == deliveries.BulkResult(1, is_complete=True)
    assert states(db) == ["pending"]
    assert call(endpoints.stats, made.id).deliveries == {"pending": 1}
    [health] = call(endpoints.health, health="healthy")
    assert (health.endpoint_id, health.needs_attention, health.failed_deliveries) == (made.id, False, 0)
    assert call(endpoints.health, needs_attention=True).data == []


@pytest.mark.parametrize(("days", "needs_attention"), [(29, True), (31, False)])
def test_an_endpoint_whose_client_certificate_ends_within_a_month_needs_attention(
    call: Call, db: psycopg.Connection[Any], days: int, *, needs_attention: bool
) -> None:
    made = create(call)
    ends = """
        update svc.webhook_endpoints
           set tls = convert_to('sealed', 'UTF8'), client_certificate_expires_at = now() + make_interval(days => %s)
    """
    db.execute(ends, (days,))
    [health] = call(endpoints.health)
    assert (health.endpoint_id, health.needs_attention) == (made.id, needs_attention)
    assert call(endpoints.ping, made.id).event_name == "webhook.ping"
    assert call(endpoints.delete, made.id).id == made.id
    assert scalar(db, "select count(*) from svc.webhook_endpoints") == 0


def test_a_change_keeps_what_it_does_not_name(call: Call) -> None:
    made = create(call, headers={"X-Key": "1"})
    changed = call(endpoints.update, made.id, events=["order.paid"], max_in_flight=2)
    assert (changed.url, changed.events, changed.max_in_flight, changed.has_headers) == (URL, ["order.paid"], 2, True)
    assert call(endpoints.update, made.id, headers={}).has_headers is False
    assert call(endpoints.update, made.id, headers={"X-Key": "2"}, settings=SETTINGS).has_headers is True
    with pytest.raises(EndpointError, match="without keys"):
        call(endpoints.update, made.id, headers={"X-Key": "3"})


def test_a_rotated_secret_is_another_and_the_one_before_signs_too(call: Call, db: psycopg.Connection[Any]) -> None:
    made = create(call)
    rotated = call(endpoints.rotate_secret, made.id, settings=SETTINGS, overlap=timedelta(hours=1))
    assert rotated.secret.startswith("whsec_")
    assert rotated.secret != made.secret
    previous = scalar(db, "select previous_secret from svc.webhook_endpoints")
    assert KEYS.open(previous, owner=made.id, column=SECRET_COLUMN) == made.secret
    with pytest.raises(EndpointError, match="overlap"):
        call(endpoints.rotate_secret, made.id, settings=SETTINGS, overlap=timedelta(days=31))


def test_endpoints_are_listed_by_conditions_and_pages(call: Call) -> None:
    made = [create(call, tenant=tenant, events=events) for tenant, events in [("a", ["order.paid"]), ("b", ["*"])]]
    call(endpoints.pause, made[0].id)
    assert [each.id for each in call(endpoints.list)] == [made[1].id, made[0].id]
    assert [each.id for each in call(endpoints.list, status="paused")] == [made[0].id]
    assert [each.id for each in call(endpoints.list, tenant="b")] == [made[1].id]
    assert [each.id for each in call(endpoints.list, event="order.created")] == [made[1].id]
    first = call(endpoints.list, limit=1)
    last = call(endpoints.list, limit=1, after=first.next_cursor)
    assert ([each.id for each in last], last.next_cursor) == ([made[0].id], None)
    with pytest.raises(QueryError, match="not a status"):
        call(endpoints.list, status="asleep")


def test_a_delivery_is_read_canceled_and_tried_again(call: Call, db: psycopg.Connection[Any]) -> None:
    made = create(call)
    message = webhooks.send(db, "order.created", {"id": 7})
    [delivery] = call(deliveries.list, endpoint=made.id, message=str(message), event="order.created", since="1h")
    assert call(deliveries.get, delivery.id).payload.value == {"id": 7}
    assert call(deliveries.attempts, delivery.id) == []
    assert call(deliveries.cancel, delivery.id).status == "canceled"
    assert call(deliveries.retry, delivery.id).status == "pending"
    with pytest.raises(ConflictError, match="is due already, or an attempt is under way"):
        call(deliveries.retry, delivery.id)


def test_deliveries_are_listed_by_pages(call: Call, db: psycopg.Connection[Any]) -> None:
    create(call)
    webhooks.send_many(db, "order.created", [{}, {}, {}])
    first = call(deliveries.list, status="pending", limit=2)
    rest = call(deliveries.list, status="pending", limit=2, after=first.next_cursor)
    assert (len(first.data), len(rest.data), rest.next_cursor) == (2, 1, None)
    assert [*call(deliveries.list, until="1h")] == []


def test_deliveries_that_match_are_canceled_and_tried_again_together(call: Call, db: psycopg.Connection[Any]) -> None:
    create(call)
    webhooks.send_many(db, "order.created", [{}, {}])
    webhooks.send(db, "order.paid", {})
    assert call(deliveries.cancel_all, event="order.created", dry_run=True).count == 2
    assert states(db) == ["pending"] * 3
    assert call(deliveries.cancel_all, event="order.created") == deliveries.BulkResult(2, is_complete=True)
    assert states(db) == ["canceled", "canceled", "pending"]
    assert {each.last_error for each in call(deliveries.list, status="canceled")} == {"canceled by hand"}
    fail(db)
    assert call(deliveries.retry_all, since="1h", dry_run=True).count == 3
    assert call(deliveries.retry_all, event="order.paid", since="1h") == deliveries.BulkResult(1, is_complete=True)
    assert states(db) == ["failed", "failed", "pending"]


def test_a_delivery_that_waits_for_its_next_attempt_is_tried_at_once(call: Call, db: psycopg.Connection[Any]) -> None:
    made = create(call)
    for delay in ("0 s", "1 h"):  # the first is tried and waits then; the other one was sent for later
        db.execute("select svc.send('order.created', '{}', delay => %s::interval)", (delay,))
    lease = db.execute("select delivery_id, lease_id from svc.webhook_claim('worker', 1)").fetchone()
    db.execute(
        """select svc.webhook_acknowledge(array[%s], array[%s], '{retry}', '{3600}', '{http_error}', '{503}', '{null}',
                                          '{7}', '{null}', '{null}', '{null}')""",
        lease,
    )
    tried, late = sorted(call(deliveries.list, endpoint=made.id), key=lambda each: each.attempts, reverse=True)
    assert call(deliveries.retry_all, endpoint=made.id, dry_run=True).count == 1
    assert call(endpoints.recover, made.id) == deliveries.BulkResult(1, is_complete=True)
    for each in (tried, late):
        assert each.next_attempt_at is not None
        if each is late:
            call(deliveries.retry, each.id)
        moved = call(deliveries.get, each.id)
        assert moved.next_attempt_at is not None
        assert each.next_attempt_at - moved.next_attempt_at > timedelta(minutes=50)
        assert (moved.status, moved.attempts, moved.max_attempts) == ("pending", each.attempts, each.max_attempts)
    claimed = db.execute("select delivery_id::text, attempt from svc.webhook_claim('worker', 5)").fetchall()
    assert sorted(claimed) == sorted([(tried.id, 2), (late.id, 1)])
    with pytest.raises(ConflictError, match="is due already, or an attempt is under way"):
        call(deliveries.retry, late.id)


def test_deliveries_with_an_attempt_under_way_or_locked_are_not_canceled(
    call: Call, database: str, db: psycopg.Connection[Any]
) -> None:
    made = create(call)
    webhooks.send_many(db, "order.created", [{}, {}, {}])
    assert len(db.execute("select * from svc.webhook_claim('worker', 1)").fetchall()) == 1
    with psycopg.connect(database) as other:
        other.execute("select from svc.webhook_deliveries order by id desc limit 1 for update")
        assert call(deliveries.cancel_all, endpoint=made.id) == deliveries.BulkResult(1, is_complete=True)
    assert sorted(states(db)) == ["canceled", "pending", "pending"]


@pytest.mark.parametrize("verb", [deliveries.retry_all, deliveries.cancel_all])
@pytest.mark.parametrize("nothing", [{}, {"event": None}])
def test_without_a_condition_nothing_is_changed(
    call: Call, db: psycopg.Connection[Any], verb: Call, nothing: dict[str, Any]
) -> None:
    create(call)
    webhooks.send(db, "order.created", {})
    with pytest.raises(QueryError, match="nothing says which"):
        call(verb, **nothing)
    assert states(db) == ["pending"]


@pytest.mark.parametrize(
    ("wrong", "error", "reason"),
    [
        ({"url": "http://example.com"}, EndpointError, "not https"),
        ({"url": "https://127.0.0.1/"}, EndpointError, "not a public address"),
        ({"url": "https://exa mple.com/"}, EndpointError, "contains a space"),
        ({"events": ["order.creatd"]}, EndpointError, "is not defined"),
        ({"events": []}, EndpointError, "at least one event"),
        ({"tenant": "a\0"}, EndpointError, "NUL"),
        ({"timeout": timedelta(minutes=2)}, EndpointError, "1 to 60 s"),
        ({"settings": KEYLESS}, EncryptionKeyError, "SVC_ENCRYPTION_KEYS is not set"),
    ],
)
def test_what_cannot_be_an_endpoint_is_refused_and_nothing_is_stored(
    call: Call, db: psycopg.Connection[Any], wrong: dict[str, Any], error: type[SvcError], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        create(call, **wrong)
    assert scalar(db, "select count(*) from svc.webhook_endpoints") == 0


def test_the_configuration_says_which_other_addresses_are_acceptable(call: Call) -> None:
    made = create(call, url="http://127.0.0.1:8080/", config=CONFIG)
    assert call(endpoints.update, made.id, url="http://127.0.0.1:8081/", config=CONFIG).url == "http://127.0.0.1:8081/"
    with pytest.raises(EndpointError):
        call(endpoints.update, made.id, url="http://127.0.0.1:8082/")
    with pytest.raises(EndpointError):
        create(call, url="http://127.0.0.1:8080/", config=Config())


OF_AN_ENDPOINT: list[tuple[Call, dict[str, Any]]] = [
    (endpoints.get, {}),
    (endpoints.stats, {}),
    (endpoints.update, {"description": "x"}),
    (endpoints.pause, {}),
    (endpoints.resume, {}),
    (endpoints.disable, {}),
    (endpoints.delete, {}),
    (endpoints.rotate_secret, {"settings": SETTINGS}),
    (endpoints.ping, {}),
    (endpoints.recover, {}),
    (deliveries.get, {}),
    (deliveries.attempts, {}),
    (deliveries.retry, {}),
    (deliveries.cancel, {}),
]


def test_an_unknown_id_is_said_to_be_unknown_by_every_call(call: Call) -> None:
    for verb, options in OF_AN_ENDPOINT:
        for unknown in (str(uuid4()), "seven", "a\0"):
            with pytest.raises(NotFoundError, match="has the id"):
                call(verb, unknown, **options)


def test_after_a_rollback_nothing_remains(db: psycopg.Connection[Any], database: str) -> None:
    kept = sync_call(database, endpoints.create, url=URL, events=["*"], settings=SETTINGS)
    with psycopg.connect(database) as conn:
        endpoints.create(conn, url=URL, events=["*"], settings=SETTINGS)
        endpoints.pause(conn, kept.id)
        endpoints.ping(conn, endpoints.resume(conn, kept.id).id)
        endpoints.disable(conn, kept.id)
        conn.rollback()

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            await endpoints.acreate(conn, url=URL, events=["*"], settings=SETTINGS)
            await endpoints.adelete(conn, kept.id)
            await conn.rollback()

    asyncio.run(run())
    assert [(each.id, each.status) for each in endpoints.list(db)] == [(kept.id, "active")]
    assert states(db) == []


def test_the_audit_log_names_who_made_an_endpoint(db: psycopg.Connection[Any], database: str) -> None:
    with psycopg.connect(database) as conn, audit.actor(conn, "ann"):
        made = endpoints.create(conn, url=URL, events=["*"], settings=SETTINGS)
    [entry] = audit.query().resource("svc.webhook_endpoints").record(made.id).list(db)
    assert (entry.actor_id, entry.operation) == ("ann", "INSERT")


def test_a_database_without_svc_is_named_as_such(empty_database: str) -> None:
    with pytest.raises(NotInstalledError):
        sync_call(empty_database, endpoints.create, url=URL, events=["*"], settings=SETTINGS)
    with pytest.raises(NotInstalledError):
        async_call(empty_database, deliveries.list)


@pytest.mark.parametrize("module", [endpoints, deliveries])
def test_every_call_has_an_async_twin_with_the_same_parameters(module: ModuleType) -> None:
    calls = {
        name: value for name, value in vars(module).items() if inspect.isfunction(value) and name in module.__all__
    }
    sync = {name: call for name, call in calls.items() if not inspect.iscoroutinefunction(call)}
    assert {f"a{name}" for name in sync} == calls.keys() - sync.keys()
    for name, function in sync.items():
        own, twin = (inspect.signature(each).parameters for each in (function, calls[f"a{name}"]))
        assert [(p.name, p.kind, p.default) for p in own.values()] == [
            (p.name, p.kind, p.default) for p in twin.values()
        ]
