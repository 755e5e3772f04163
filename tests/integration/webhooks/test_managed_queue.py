"""Operators and receivers change endpoints and deliveries, and the queue follows."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from svc_pg import webhooks
from svc_pg.database.performing import run
from svc_pg.database.query import Query, fetch, scalar
from svc_pg.errors import ConflictError, EndpointError, NotFoundError, QueryError
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.endpoints.endpoint_stats import stats
from svc_pg.webhooks.http.guard import Guard
from tests.support.hooks import KEYS, hooks_config, install
from tests.support.postgres import Prepare
from tests.support.queue import end_leases

CONFIG = hooks_config("order.created")
GUARD = Guard()


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    """In autocommit, as a worker is, and every statement at its own time."""
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def endpoint(db: psycopg.Connection[Any]) -> str:
    return new(db)


def new(db: psycopg.Connection[Any], **options: Any) -> str:
    wanted = {"url": "https://example.com/hook", "events": ["*"]} | options
    return one(db, endpoints.create(keys=KEYS, guard=GUARD, **wanted)).id  # type: ignore[no-any-return]


def answer(db: psycopg.Connection[Any], wanted: Any) -> Any:
    return fetch(db, wanted) if isinstance(wanted, Query) else run(db, wanted)


def one(db: psycopg.Connection[Any], query: Query[Any]) -> Any:
    [row] = fetch(db, query)
    return row


def claim(db: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    return db.cursor(row_factory=dict_row).execute("select * from svc.webhook_claim('w', 100)").fetchall()


def acknowledge(
    db: psycopg.Connection[Any], claimed: dict[str, Any], disposition: str, outcome: str = "http_error"
) -> Any:
    text = """select * from svc.webhook_acknowledge(
        array[%s], array[%s], array[%s], '{60}', array[%s], '{500}', '{null}', '{5}', '{null}', '{null}', '{null}')"""
    values = (claimed["delivery_id"], claimed["lease_id"], disposition, outcome)
    return db.cursor(row_factory=dict_row).execute(text, values).fetchone()


def queue(db: psycopg.Connection[Any], endpoint: str) -> list[tuple[str, int]]:
    text = "select status, attempts from svc.webhook_deliveries where endpoint_id = %s order by created_at, id"
    return db.execute(text, [endpoint]).fetchall()


def test_a_paused_endpoint_keeps_what_is_pending_and_what_comes(db: psycopg.Connection[Any], endpoint: str) -> None:
    webhooks.send(db, "order.created", {})
    assert one(db, endpoints.pause(endpoint)).status == "paused"
    webhooks.send(db, "order.created", {})
    assert claim(db) == []
    one(db, endpoints.resume(endpoint))
    assert len(claim(db)) == 2


def test_a_disabled_endpoint_has_nothing_pending_and_gets_nothing_more(
    db: psycopg.Connection[Any], endpoint: str
) -> None:
    webhooks.send(db, "order.created", {})
    disabled = one(db, endpoints.disable(endpoint, reason="spam"))
    assert (disabled.status, disabled.disabled_reason) == ("disabled", "spam")
    webhooks.send(db, "order.created", {})
    assert queue(db, endpoint) == [("canceled", 0)]
    resumed = one(db, endpoints.resume(endpoint))
    assert (resumed.status, resumed.disabled_reason) == ("active", None)
    assert run(db, deliveries.recover(endpoint)).count == 1
    assert [row["attempt"] for row in claim(db)] == [1]


@pytest.mark.parametrize("is_one_transaction", [False, True])
def test_resuming_cancels_what_disabling_left_over(
    db: psycopg.Connection[Any], endpoint: str, *, is_one_transaction: bool
) -> None:
    number = 8000  # more than disabling cancels at once
    webhooks.send_many(db, "order.created", [{}] * (number - 3))
    webhooks.send(db, "order.created", {}, delay=timedelta(hours=1))
    webhooks.send_many(db, "order.created", [{}] * 2)
    under_way, lost, *_ = db.cursor(row_factory=dict_row).execute("select * from svc.webhook_claim('w', 2)")
    end_leases(db, [lost["delivery_id"]])
    with db.transaction() if is_one_transaction else nullcontext():
        one(db, endpoints.disable(endpoint))
        one(db, endpoints.resume(endpoint))
    counts = dict(db.execute("select status, count(*) from svc.webhook_deliveries group by status").fetchall())
    assert counts == {"canceled": number - 1, "pending": 1}
    acknowledge(db, under_way, "retry")
    webhooks.send(db, "order.created", {})
    assert len(claim(db)) == 1  # what was sent since; the other waits for its retry
    assert one(db, deliveries.get(str(lost["delivery_id"]))).lost_attempts == 1


def test_an_attempt_under_way_outlives_the_disabling_and_is_on_record(
    db: psycopg.Connection[Any], endpoint: str
) -> None:
    for _ in range(2):
        webhooks.send(db, "order.created", {})
    first, second = claim(db)
    one(db, endpoints.disable(endpoint))
    assert acknowledge(db, first, "delivered", "success")["accepted"] == [first["delivery_id"]]
    acknowledge(db, second, "retry")
    assert claim(db) == []  # this cancels what came due at a disabled endpoint
    assert queue(db, endpoint) == [("delivered", 1), ("canceled", 1)]
    assert scalar(db, "select count(*) from svc.webhook_delivery_attempts") == 2


@pytest.mark.parametrize("close", [endpoints.disable, endpoints.delete])
def test_a_lost_attempt_at_a_closed_endpoint_is_canceled_not_stuck(
    db: psycopg.Connection[Any], endpoint: str, close: Any
) -> None:
    webhooks.send(db, "order.created", {})
    claim(db)
    one(db, close(endpoint))
    end_leases(db)
    assert claim(db) == []
    assert queue(db, endpoint) == [("canceled", 1)]
    assert scalar(db, "select outcome from svc.webhook_delivery_attempts") == "lost"


def test_an_endpoint_that_is_gone_is_disabled_and_those_who_want_to_know_are_told(
    db: psycopg.Connection[Any], endpoint: str
) -> None:
    operator = new(db, url="https://example.com/operator", events=["webhook.endpoint.disabled"])
    everything = new(db, url="https://example.com/all", events=["*"], tenant="acme")
    for _ in range(2):
        webhooks.send(db, "order.created", {})
    [first, _] = claim(db)
    assert acknowledge(db, first, "gone")["disabled"] == [first["endpoint_id"]]
    assert one(db, endpoints.get(endpoint)).disabled_reason == "the endpoint answered 410 Gone"
    [told] = claim(db)
    assert str(told["endpoint_id"]) == operator
    payload = scalar(db, "select payload from svc.webhook_messages where id = %s", [told["message_id"]])
    assert payload["endpointId"] == endpoint
    assert queue(db, everything) == []
    entry = "select actor_id || ' ' || context from svc.audit_logs where record_id = %s order by id desc limit 1"
    assert scalar(db, entry, [endpoint]) == 'svc-pg worker {"program": "svc-pg"}'


def test_five_days_of_failures_disable_an_endpoint(db: psycopg.Connection[Any], endpoint: str) -> None:
    for _ in range(2):
        webhooks.send(db, "order.created", {})
    first, second = claim(db)
    assert acknowledge(db, first, "retry")["disabled"] == []
    db.execute("update svc.webhook_endpoint_state set failing_since = now() - interval '121 hours', failure_streak = 9")
    assert acknowledge(db, second, "retry")["disabled"] == [second["endpoint_id"]]
    assert one(db, endpoints.get(endpoint)).disabled_reason == "no success in 5 days"
    assert {status for status, _ in queue(db, endpoint)} == {"canceled"}


def test_two_failures_in_five_days_disable_nothing(db: psycopg.Connection[Any], endpoint: str) -> None:
    for _ in range(2):
        webhooks.send(db, "order.created", {})
    first, second = claim(db)
    acknowledge(db, first, "retry")
    db.execute("update svc.webhook_endpoint_state set failing_since = now() - interval '121 hours'")
    assert acknowledge(db, second, "retry")["disabled"] == []
    assert one(db, endpoints.get(endpoint)).status == "active"


def test_a_disabled_endpoint_cannot_be_paused(db: psycopg.Connection[Any], endpoint: str) -> None:
    one(db, endpoints.disable(endpoint))
    with pytest.raises(ConflictError, match="is disabled"):
        fetch(db, endpoints.pause(endpoint))


def test_disabling_waits_for_nobody_and_the_claim_cancels_the_rest(
    db: psycopg.Connection[Any], database: str, endpoint: str
) -> None:
    webhooks.send_many(db, "order.created", [{}] * 3)
    with psycopg.connect(database) as other:
        other.execute("select from svc.webhook_deliveries order by id limit 1 for update")
        one(db, endpoints.disable(endpoint))
        assert sorted(status for status, _ in queue(db, endpoint)) == ["canceled", "canceled", "pending"]
    assert claim(db) == []
    assert {status for status, _ in queue(db, endpoint)} == {"canceled"}


def test_a_success_within_five_days_keeps_an_endpoint_active(db: psycopg.Connection[Any], endpoint: str) -> None:
    for _ in range(2):
        webhooks.send(db, "order.created", {})
    first, second = claim(db)
    acknowledge(db, first, "retry")
    db.execute("update svc.webhook_endpoint_state set failing_since = now() - interval '121 hours'")
    acknowledge(db, second, "delivered", "success")
    assert one(db, endpoints.get(endpoint)).status == "active"


def test_resuming_forgets_failures_and_closes_the_breaker(db: psycopg.Connection[Any], endpoint: str) -> None:
    webhooks.send(db, "order.created", {})
    db.execute("""update svc.webhook_endpoint_state
        set failure_streak = 10, failing_since = now(), breaker_until = now() + interval '1 h', breaker_count = 3""")
    assert claim(db) == []
    one(db, endpoints.resume(endpoint))
    assert len(claim(db)) == 1


def test_a_deleted_endpoint_leaves_its_deliveries_on_record(db: psycopg.Connection[Any], endpoint: str) -> None:
    webhooks.send(db, "order.created", {})
    assert one(db, endpoints.delete(endpoint)).id == endpoint
    assert queue(db, endpoint) == [("canceled", 0)]
    [delivery] = deliveries.query().endpoint(endpoint).list(db).data
    with pytest.raises(ConflictError, match="was deleted"):
        fetch(db, deliveries.retry(delivery.id))
    with pytest.raises(NotFoundError):
        run(db, deliveries.recover(endpoint))


def test_a_failed_delivery_is_retried_once_more_than_it_had(db: psycopg.Connection[Any], endpoint: str) -> None:
    webhooks.send(db, "order.created", {})
    [claimed] = claim(db)
    acknowledge(db, claimed, "failed")
    delivery_id = str(claimed["delivery_id"])
    assert one(db, deliveries.retry(delivery_id)).status == "pending"
    db.execute("update svc.webhook_deliveries set max_attempts = 2")
    [again] = claim(db)
    assert (again["attempt"], again["max_attempts"]) == (2, 2)
    acknowledge(db, again, "failed")
    assert one(db, deliveries.retry(delivery_id)).max_attempts == 3
    causes = [attempt.cause for attempt in fetch(db, deliveries.attempts(delivery_id))]
    assert causes == ["auto", "manual"]
    assert queue(db, endpoint) == [("pending", 2)]


def test_only_failed_and_canceled_deliveries_are_retried(db: psycopg.Connection[Any], endpoint: str) -> None:
    webhooks.send(db, "order.created", {})
    [claimed] = claim(db)
    delivery_id = str(claimed["delivery_id"])
    with pytest.raises(ConflictError, match="is due already, or an attempt is under way"):
        fetch(db, deliveries.retry(delivery_id))
    with pytest.raises(ConflictError, match="under way"):
        fetch(db, deliveries.cancel(delivery_id))
    acknowledge(db, claimed, "retry")
    assert one(db, deliveries.cancel(delivery_id)).status == "canceled"
    with pytest.raises(ConflictError, match="is canceled"):
        fetch(db, deliveries.cancel(delivery_id))
    one(db, endpoints.disable(endpoint))
    with pytest.raises(ConflictError, match="is disabled"):
        fetch(db, deliveries.retry(delivery_id))
    with pytest.raises(ConflictError, match="is disabled"):
        run(db, deliveries.recover(endpoint))


def test_canceling_a_delivery_whose_worker_died_puts_the_lost_attempt_on_record(
    db: psycopg.Connection[Any], endpoint: str
) -> None:
    webhooks.send(db, "order.created", {})
    [claimed] = claim(db)
    end_leases(db)
    one(db, deliveries.cancel(str(claimed["delivery_id"])))
    [attempt] = fetch(db, deliveries.attempts(str(claimed["delivery_id"])))
    assert (attempt.attempt, attempt.outcome) == (1, "lost")
    assert queue(db, endpoint) == [("canceled", 1)]


def test_deliveries_are_retried_by_filter_after_a_count(db: psycopg.Connection[Any], endpoint: str) -> None:
    other = new(db, url="https://example.com/other")
    webhooks.send_many(db, "order.created", [{}] * 3)
    for claimed in claim(db):
        acknowledge(db, claimed, "failed")
    wanted = deliveries.query().endpoint(endpoint).event("order.created").since("1h")
    assert run(db, wanted.retry(dry_run=True)) == BulkResult(3, is_complete=True)
    assert {status for status, _ in queue(db, endpoint)} == {"failed"}
    assert run(db, wanted.retry()) == BulkResult(3, is_complete=True)
    assert {status for status, _ in queue(db, endpoint)} == {"pending"}
    assert {status for status, _ in queue(db, other)} == {"failed"}


def test_a_ping_goes_to_one_endpoint_whatever_it_wants_and_is_attempted_once(db: psycopg.Connection[Any]) -> None:
    endpoint = new(db, events=["order.created"])
    new(db, url="https://example.com/other", events=["*"])
    assert one(db, deliveries.ping(endpoint)).event_name == "webhook.ping"
    [claimed] = claim(db)
    assert (str(claimed["endpoint_id"]), claimed["max_attempts"]) == (endpoint, 1)
    acknowledge(db, claimed, "delivered", "success")
    [attempt] = fetch(db, deliveries.attempts(str(claimed["delivery_id"])))
    assert attempt.cause == "test"
    one(db, endpoints.pause(endpoint))
    with pytest.raises(ConflictError, match="is paused"):
        fetch(db, deliveries.ping(endpoint))


def test_an_update_changes_what_is_given_and_nothing_else(db: psycopg.Connection[Any]) -> None:
    endpoint = new(db, headers={"X-Key": "1"}, description="first", max_in_flight=3)
    before = one(db, endpoints.get(endpoint))
    changed = one(db, endpoints.update(endpoint, guard=GUARD, events=["order.*"], timeout=timedelta(seconds=3)))
    assert (changed.events, changed.timeout) == (["order.*"], timedelta(seconds=3))
    same = ("url", "description", "max_in_flight", "has_headers", "status", "tenant")
    assert [getattr(changed, name) for name in same] == [getattr(before, name) for name in same]
    assert one(db, endpoints.update(endpoint, guard=GUARD, headers={})).has_headers is False
    assert scalar(db, "select version from svc.webhook_endpoints") == 3


@pytest.mark.parametrize(
    ("url", "keeps_headers"),
    [
        ("https://example.com/other", True),
        ("https://example.com:8443/hook", False),
        ("https://example.com.evil.example/hook", False),
        ("https://evil.example/?https://example.com", False),
    ],
)
def test_secret_headers_do_not_follow_an_endpoint_to_another_origin(
    db: psycopg.Connection[Any], url: str, *, keeps_headers: bool
) -> None:
    endpoint = new(db, headers={"Authorization": "Bearer hush"})
    assert one(db, endpoints.update(endpoint, guard=GUARD, url=url)).has_headers is keeps_headers
    given = endpoints.update(endpoint, guard=GUARD, keys=KEYS, url="https://new.example", headers={"X-Key": "1"})
    assert one(db, given).has_headers


@pytest.mark.parametrize(
    "options",
    [
        {"url": "http://example.com"},
        {"events": ["order.unknown"]},
        {"events": []},
        {"events": ["a\0"]},
        {"headers": {"Host": "x"}},
        {"headers": {"webhook-signature": "x"}},
        {"headers": {"X": "a\r\nb"}},
        {"headers": {"X": "1", "x": "2"}},
        {"headers": {f"X-{number}": "" for number in range(33)}},
        {"max_in_flight": 0},
        {"timeout": timedelta(seconds=61)},
        {"description": "x" * 1001},
        {"description": "\0"},
    ],
)
def test_what_an_endpoint_cannot_have_is_refused(
    db: psycopg.Connection[Any], endpoint: str, options: dict[str, Any]
) -> None:
    with pytest.raises(EndpointError):
        fetch(db, endpoints.update(endpoint, keys=KEYS, guard=GUARD, **options))
    with pytest.raises(EndpointError):
        new(db, **options)


@pytest.mark.parametrize(
    "query",
    [
        endpoints.get,
        endpoints.pause,
        endpoints.delete,
        lambda unknown: endpoints.update(unknown, guard=GUARD),
        lambda unknown: endpoints.rotate_secret(unknown, keys=KEYS),
        stats,
        deliveries.ping,
        deliveries.recover,
        deliveries.get,
        deliveries.attempts,
        deliveries.retry,
        deliveries.cancel,
    ],
)
def test_what_does_not_exist_is_not_found(db: psycopg.Connection[Any], query: Any) -> None:
    unknown = str(uuid4())
    with pytest.raises(NotFoundError, match=unknown):
        answer(db, query(unknown))
    for scan in ("indexscan", "bitmapscan"):
        db.execute(f"set enable_{scan} = off")  # the plan for tables that were emptied: conditions are for no row
    with pytest.raises(NotFoundError, match=unknown):
        answer(db, query(unknown))
    with pytest.raises(NotFoundError, match="seven"):
        answer(db, query("seven"))


@pytest.mark.parametrize("moment", ["3000w", datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, tzinfo=UTC)])
def test_since_a_time_before_all_ids_finds_everything(
    db: psycopg.Connection[Any], endpoint: str, moment: str | datetime
) -> None:
    one(db, deliveries.ping(endpoint))
    assert len(deliveries.query().since(moment).list(db).data) == 1


def test_endpoints_are_listed_newest_first_by_pages(db: psycopg.Connection[Any]) -> None:
    made = [new(db, url=f"https://example.com/{number}") for number in range(5)]
    page = endpoints.query().limit(2).list(db)
    found = list(page.data)
    while page.next_cursor:
        page = endpoints.query().limit(2).after(page.next_cursor).list(db)
        found += page.data
    assert sorted(endpoint.id for endpoint in found) == sorted(made)
    assert [endpoint.id for endpoint in found] == sorted(made, reverse=True)
    assert endpoints.query().status("paused").list(db).data == []
    assert len(endpoints.query().event("order.created").list(db).data) == 5


def test_stats_tell_health_and_what_became_of_deliveries(db: psycopg.Connection[Any], endpoint: str) -> None:
    for _ in range(3):
        webhooks.send(db, "order.created", {})
    first, second, _ = claim(db)
    acknowledge(db, first, "delivered", "success")
    acknowledge(db, second, "failed")
    found = run(db, stats(endpoint))
    assert found.deliveries == {"delivered": 1, "failed": 1, "pending": 1}
    assert found.attempts == {"http_error": 1, "success": 1}
    assert (found.p50, found.failure_streak) == (0.005, 1)
    assert found.last_success_at is not None
    assert found.next_pending_since is not None
    with pytest.raises(QueryError, match="not a window"):
        run(db, stats(endpoint, window=timedelta(days=8)))


def test_pruning_deletes_what_is_old_in_batches_and_nothing_else(db: psycopg.Connection[Any], endpoint: str) -> None:
    webhooks.send_many(db, "order.created", [{}] * 10)
    webhooks.send(db, "order.created", {}, idempotency_key="kept")
    claimed = claim(db)
    for row in claimed[:4]:
        acknowledge(db, row, "delivered", "success")
    acknowledge(db, claimed[4], "failed")
    for text in (
        "update svc.webhook_delivery_attempts set delivery_id = overlay(delivery_id::text placing %s from 1)::uuid",
        "update svc.webhook_deliveries set id = overlay(id::text placing %s from 1)::uuid",
        "update svc.webhook_deliveries set finished_at = finished_at - interval '8 days' where %s <> ''",
    ):
        db.execute(text, ["00000000-0000"])  # ids tell when they were made
    prune = "select svc.webhook_prune('7 days', '30 days', 3)"
    assert [scalar(db, prune) for _ in range(3)] == [3, 1, 0]
    assert scalar(db, "select svc.webhook_prune_messages('7 days')") == 0
    assert sorted(status for status, _ in queue(db, endpoint)) == ["failed"] + ["pending"] * 6
    assert scalar(db, "select count(*) from svc.webhook_delivery_attempts") == 1
    assert scalar(db, "select count(*) from svc.webhook_messages") == 11, "messages that are new stay"
