"""Replays by the time at which deliveries failed or were canceled, whenever their messages were sent."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import fetch_one, scalar
from svc_pg.errors import QueryError
from svc_pg.webhooks.deliveries import replay, replay_queries
from tests.support.costs import first_cost
from tests.support.hooks import endpoint, hooks_config, install
from tests.support.postgres import Prepare

CONFIG = hooks_config("order.created", "order.paid")
URL = "http://127.0.0.1:9/hook"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def ended(
    conn: psycopg.Connection[Any], endpoint_id: str, status: str, hours: int, event: str = "order.created"
) -> Any:
    """Send a message, and end its delivery so many hours ago. Returns its id."""
    message = webhooks.send(conn, event, {}, tenant="acme")
    query = """
        with done as (
            update svc.webhook_deliveries
               set status = %(s)s, failure = nullif(%(s)s, 'delivered'), next_attempt_at = null, attempts = 1,
                   finished_at = now() - make_interval(hours => %(h)s)
             where message_id = %(m)s and endpoint_id = %(e)s
            returning id
        )
        delete from svc.webhook_queue q using done where q.delivery_id = done.id
    """
    conn.execute(query, {"s": status, "h": hours, "m": message, "e": endpoint_id})
    return message


def pending(conn: psycopg.Connection[Any], endpoint_id: str) -> set[Any]:
    query = "select message_id from svc.webhook_deliveries where endpoint_id = %s and status = 'pending'"
    return {row[0] for row in conn.execute(query, (endpoint_id,))}


def test_deliveries_that_failed_in_a_time_are_repeated_whenever_they_were_sent(
    database: str, db: psycopg.Connection[Any]
) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    late, early = ended(db, hook, "failed", 1), ended(db, hook, "failed", 9)
    canceled, paid = ended(db, hook, "canceled", 2), ended(db, hook, "failed", 2, event="order.paid")
    ended(db, hook, "delivered", 1)
    chosen: list[tuple[dict[str, Any], int]] = [
        ({"since": "3h"}, 3),
        ({"since": "3h", "status": "failed"}, 2),
        ({"since": "3h", "status": "canceled"}, 1),
        ({"since": "3h", "event": "order.paid"}, 1),
        ({"since": "12h", "until": "3h"}, 1),
        ({"since": "12h"}, 4),
    ]
    for options, count in chosen:
        assert replay(db, hook, by="finished", dry_run=True, **options).count == count
    assert replay(db, hook, by="finished", since="3h", status="failed").count == 2
    assert pending(db, hook) == {late, paid}
    assert replay(db, hook, by="finished", since="12h").count == 2
    assert pending(db, hook) == {late, paid, early, canceled}


def test_copies_are_made_once_and_what_fails_meanwhile_is_no_part(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    for _ in range(7):
        ended(db, hook, "failed", 1)

    def batches(**options: Any) -> list[int]:
        counts, after = [], None
        while True:
            query = replay_queries.replay(hook, since="3h", by="finished", after=after, batch=3, **options)
            part = fetch_one(db, query)
            counts.append(part.count)
            if part.next_cursor is None:
                return counts
            after = part.next_cursor
            ended(db, hook, "failed", -1)

    assert batches(dry_run=True)[:3] == [3, 3, 1]
    start = fetch_one(db, replay_queries.replay(hook, since="3h", by="finished", new_ids=True, batch=0)).next_cursor
    for count in (7, 0):
        assert replay(db, hook, by="finished", after=start, new_ids=True).count == count
    assert scalar(db, "select count(*) from svc.webhook_messages where copy_of is not null") == 7


def test_a_replay_by_the_end_reads_the_failures_of_the_endpoint_only(
    database: str, db: psycopg.Connection[Any]
) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    other, _ = endpoint(database, CONFIG, URL)
    failed = ended(db, hook, "failed", 1)
    db.execute(
        """
        insert into svc.webhook_deliveries
               (id, message_id, endpoint_id, event_name, status, failure, max_attempts, next_attempt_at, finished_at)
        select svc.webhook_uuid7(), gen_random_uuid(), each.endpoint, 'order.created', each.status,
               nullif(each.status, 'delivered'), 5, null, now()
          from (values (%s::uuid, 'delivered'), (%s::uuid, 'failed')) each(endpoint, status), generate_series(1, 3000)
        """,
        (hook, other),
    )
    db.execute("analyze svc.webhook_deliveries")
    query = """
        select count from svc.webhook_replay_finished(
            %s, '{failed}', null, '00000000-0000-0000-0000-000000000000', now() - interval '1 day', now(), null, false,
            10000)
    """
    assert first_cost(db, query, (hook,)).rows["webhook_deliveries"] < 10
    assert scalar(db, query, (hook,)) == 1
    assert failed in pending(db, hook)


def test_the_endpoint_of_a_tenant_repeats_its_messages_alone(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL, tenant="acme")
    own, foreign = ended(db, hook, "failed", 1), ended(db, hook, "failed", 1)
    db.execute("update svc.webhook_messages set tenant = 'globex' where id = %s", (foreign,))
    assert replay(db, hook, by="finished", since="3h").count == 1
    assert pending(db, hook) == {own}


def test_an_end_that_cannot_be_chosen_is_refused(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    ended(db, hook, "failed", 1)
    sent = fetch_one(db, replay_queries.replay(hook, since="1h", batch=0)).next_cursor
    refused: list[tuple[Any, str]] = [
        ({"by": "created", "since": "1h"}, "'created' is no time of a replay"),
        ({"by": "finished"}, "needs a beginning"),
        ({"by": "finished", "since": "1h", "status": "missing"}, "'missing' is not a status of a replay by finished"),
        ({"by": "finished", "since": "1h", "status": "delivered"}, "is not a status of a replay by finished"),
        ({"by": "finished", "since": "1h", "status": "pending"}, "'pending' is not a status"),
        ({"by": "finished", "after": sent}, "is not a cursor"),
    ]
    for options, message in refused:
        with pytest.raises(QueryError, match=message):
            replay(db, hook, **options)
