"""Replays: what was delivered, failed, or never got to an endpoint is delivered once more, in batches."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.pagination import decode, encode
from svc_pg.database.query import fetch_one, scalar
from svc_pg.errors import ConflictError, NotFoundError, QueryError
from svc_pg.webhooks.deliveries import areplay, replay, replay_queries
from tests.support.costs import first_cost
from tests.support.hooks import PLACES, endpoint, hooks_config, install, rows, working
from tests.support.postgres import Prepare
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created", "order.paid")
URL = "http://127.0.0.1:9/hook"
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
STATES = ("delivered", "failed", "canceled", "pending")
FROM_THE_FUTURE = encode((str(UUID(int=0)), str(UUID(int=2**128 - 1)), "ffffffff-ffff-7000-8000-000000000000"))


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def finish(conn: psycopg.Connection[Any], **states: Any) -> None:
    """Give deliveries of messages the states that they have after attempts."""
    for status, message in states.items():
        conn.execute(
            """
            with done as (
                update svc.webhook_deliveries
                   set status = %(s)s, failure = nullif(%(s)s, 'delivered'), next_attempt_at = null,
                       finished_at = now(), attempts = 1
                 where message_id = any(%(m)s) returning id
            )
            delete from svc.webhook_queue q using done where q.delivery_id = done.id
            """,
            {"s": status, "m": message if isinstance(message, list) else [message]},
        )


def pending(conn: psycopg.Connection[Any], endpoint_id: str) -> list[Any]:
    """The messages whose deliveries to an endpoint are in the queue, in the order of the deliveries."""
    query = """
        select d.message_id from svc.webhook_queue q join svc.webhook_deliveries d on d.id = q.delivery_id
         where q.endpoint_id = %s and d.status = 'pending' order by d.id
    """
    return [row[0] for row in conn.execute(query, (endpoint_id,))]


def test_the_same_deliveries_are_repeated_in_the_states_that_somebody_names(
    database: str, db: psycopg.Connection[Any]
) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    other, _ = endpoint(database, CONFIG, URL)
    sent = {state: webhooks.send(db, "order.created", {"state": state}) for state in STATES}
    finish(db, **{state: message for state, message in sent.items() if state != "pending"})
    ids = {row["id"] for row in rows(database, "webhook_deliveries")}
    for status in ("delivered", "failed", "canceled"):
        assert replay(db, hook, since="1h", status=status, dry_run=True).count == 1
        assert pending(db, hook) == [sent["pending"]]
        assert replay(db, hook, since="1h", status=status).count == 1
        assert set(pending(db, hook)) == {sent["pending"], sent[status]}
        finish(db, **{status: sent[status]})
    assert replay(db, hook, since="1h").count == 3
    assert set(pending(db, hook)) == set(sent.values())
    assert pending(db, other) == [sent["pending"]]
    assert {row["id"] for row in rows(database, "webhook_deliveries")} == ids
    assert replay(db, hook, since="1h").count == 0


def test_a_repeat_has_the_same_id_and_body_and_attempts_stay_on_record(database: str) -> None:
    with receiving() as receiver, psycopg.connect(database, autocommit=True) as db, working(database, CONFIG):
        hook, _ = endpoint(database, CONFIG, receiver.url)
        webhooks.send(db, "order.created", {"id": 7}, key="order-7")

        def delivered(number: int) -> None:
            receiver.wait_for(number)
            query = "select count(*) from svc.webhook_delivery_attempts where outcome = 'success'"
            wait_until(lambda: scalar(db, query) == number)

        delivered(1)
        replay(db, hook, since="1h", status="delivered")
        delivered(2)
        replay(db, hook, since="1h", status="delivered", new_ids=True)
        delivered(3)
        first, repeat, copy = receiver.requests
        assert (first.headers["webhook-id"], first.body) == (repeat.headers["webhook-id"], repeat.body)
        assert copy.headers["webhook-id"] != first.headers["webhook-id"]
        bodies = [json.loads(request.body) for request in (first, copy)]
        assert bodies[0].pop("id") != bodies[1].pop("id")
        assert bodies[0] == bodies[1]
        attempts = "select cause from svc.webhook_delivery_attempts order by id"
        assert [row[0] for row in db.execute(attempts)] == ["auto", "manual", "auto"]
        traffic = webhooks.traffic.read(db)
        assert (traffic.sent, traffic.delivered, traffic.failed_attempts) == (2, 2, 0)


def test_an_endpoint_gets_what_it_wants_and_never_got(database: str, db: psycopg.Connection[Any]) -> None:
    endpoint(database, CONFIG, URL)
    payloads: list[Any] = [{"n": 1}, {"n": 2}, {"n": "2"}]
    created = webhooks.send_many(db, "order.created", payloads, tenant="acme")
    webhooks.send_many(db, "order.created", payloads, tenant="other")
    webhooks.send_many(db, "order.paid", payloads, tenant="acme")
    before = scalar(db, "select count(*) from svc.webhook_deliveries")
    hook, _ = endpoint(database, CONFIG, URL, events=["order.created"], tenant="acme", filter="$.n > 1")
    webhooks.endpoints.ping(db, hook)
    db.execute("delete from svc.webhook_queue where endpoint_id = %s", (hook,))
    assert replay(db, hook, since="1h", dry_run=True).count == 1
    for count in (1, 0):
        assert replay(db, hook, since="1h", status="missing").count == count
    assert pending(db, hook) == [created[1]]
    failed = "select message_id, last_error from svc.webhook_deliveries where endpoint_id = %s and status = 'failed'"
    [[message, error]] = db.execute(failed, (hook,)).fetchall()
    assert (message, "cannot be decided" in error) == (created[2], True)
    assert scalar(db, "select count(*) from svc.webhook_deliveries") == before + 3


def test_times_and_the_event_bound_a_replay(database: str, db: psycopg.Connection[Any]) -> None:
    endpoint(database, CONFIG, URL)
    sent = [webhooks.send(db, event, {}) for event in ("order.created", "order.paid", "order.created", "order.paid")]
    aged = []
    for hours, message in enumerate(sent, 1):
        query = """
            with d as (delete from svc.webhook_deliveries where message_id = %(m)s),
                 q as (delete from svc.webhook_queue)
            update svc.webhook_messages set id = svc.uuid7_at(now() - make_interval(hours => %(h)s)) where id = %(m)s
            returning id
        """
        aged.append(scalar(db, query, {"m": message, "h": hours}))  # type: ignore[arg-type]
    hook, _ = endpoint(database, CONFIG, URL)
    assert replay(db, hook, since="210m", until="90m", event="order.paid").count == 1
    assert pending(db, hook) == [aged[1]]
    assert replay(db, hook, since="210m", until="90m").count == 1
    assert replay(db, hook, since="1d").count == 2


def test_batches_continue_where_the_one_before_ended_and_new_messages_are_no_part(
    database: str, db: psycopg.Connection[Any]
) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    sent = webhooks.send_many(db, "order.created", [{"n": n} for n in range(450)])
    finish(db, delivered=sent)

    def batches(**options: Any) -> list[int]:
        counts, after = [], None
        while True:
            query = replay_queries.replay(hook, since="1h", after=after, batch=170, **options)
            part = fetch_one(db, query)
            counts.append(part.count)
            if part.next_cursor is None:
                return counts
            after = part.next_cursor
            webhooks.send(db, "order.created", {})

    assert batches(status="delivered", dry_run=True) == [170, 170, 110]
    assert batches(status="delivered", new_ids=True) == [170, 170, 110]
    copies = "select count(*), count(distinct copy_of) from svc.webhook_messages where copy_of is not null"
    assert db.execute(copies).fetchone() == (450, 450)
    assert sum(batches(status="delivered")) == 450
    assert set(sent) < set(pending(db, hook))


def test_a_batch_that_is_repeated_copies_nothing_twice(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    finish(db, delivered=webhooks.send_many(db, "order.created", [{}] * 10))
    start = fetch_one(db, replay_queries.replay(hook, since="1h", new_ids=True, batch=0)).next_cursor
    for count in (10, 0):
        assert replay(db, hook, after=start, new_ids=True).count == count
    other, _ = endpoint(database, CONFIG, URL)
    assert replay(db, other, since="1h", status="missing").count == 10  # and none of the copies
    assert replay(db, hook, since="1h", new_ids=True, status="delivered").count == 10


def test_the_sequence_of_a_key_does_not_change(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    finish(db, delivered=[webhooks.send(db, "order.created", {}, key="k", idempotency_key=f"{n}") for n in range(3)])
    replay(db, hook, since="1h", new_ids=True)
    copies = """
        select count(*) filter (where o.sequence = c.sequence), count(distinct c.sequence), max(c.sequence)
          from svc.webhook_messages c join svc.webhook_messages o on o.id = c.copy_of
    """
    [(equal, different, last)] = db.execute(copies).fetchall()
    assert (equal, different) == (3, 3)
    again = webhooks.send(db, "order.created", {}, key="k", idempotency_key="3")
    assert scalar(db, "select sequence from svc.webhook_messages where id = %s", (again,)) > last


def test_what_cannot_be_replayed_is_refused(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    refused: list[tuple[Any, str]] = [
        ({}, "needs a beginning"),
        ({"since": "1h", "status": "pending"}, "'pending' is not a status"),
        ({"since": "soon"}, "soon"),
        ({"after": "x"}, "is not a cursor"),
        ({"after": FROM_THE_FUTURE, "new_ids": True}, "is not a cursor"),  # retention would never reach its copies
        ({"since": "1h", "event": "a\0"}, "NUL"),
    ]
    for options, message in refused:
        with pytest.raises(QueryError, match=message):
            replay(db, hook, **options)
    with pytest.raises(NotFoundError):
        replay(db, "0198f5a2-7c1e-7f00-8000-000000000001", since="1h")
    webhooks.endpoints.disable(db, hook)
    with pytest.raises(ConflictError, match="is disabled"):
        replay(db, hook, since="1h", dry_run=True)


@pytest.mark.anyio
async def test_replay_runs_on_an_async_connection(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    finish(db, failed=webhooks.send(db, "order.created", {}))
    async with await psycopg.AsyncConnection.connect(database) as conn:
        assert await areplay(conn, hook, since="1h") == replay_queries.ReplayResult(1, None)
    assert len(pending(db, hook)) == 1


def test_two_replays_at_once_repeat_each_delivery_once(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    finish(db, delivered=webhooks.send_many(db, "order.created", [{}] * 300))
    with psycopg.connect(database) as first, psycopg.connect(database) as second:
        assert replay(first, hook, since="1h").count == 300
        second.execute("set lock_timeout = '10 s'")
        first.commit()
        assert replay(second, hook, since="1h").count == 0
    assert len(pending(db, hook)) == 300


def test_two_replays_at_once_make_what_is_missing_once(database: str, db: psycopg.Connection[Any]) -> None:
    sent = [webhooks.send(db, "order.created", {}) for _ in range(3)]
    hook, _ = endpoint(database, CONFIG, URL)
    with psycopg.connect(database) as first, psycopg.connect(database) as second, ThreadPoolExecutor(1) as thread:
        assert replay(first, hook, since="1h").count == 3
        late = thread.submit(replay, second, hook, since="1h")
        wait_until(lambda: scalar(db, WAITING) == 1)
        first.commit()
        assert late.result(10).count == 0
    assert sorted(pending(db, hook)) == sorted(sent)


def test_retention_and_a_replay_at_the_same_time_leave_no_delivery_without_its_message(
    database: str, db: psycopg.Connection[Any]
) -> None:
    webhooks.send(db, "order.created", {})
    db.execute("update svc.webhook_messages set id = svc.uuid7_at(now() - interval '8 days')")
    hook, _ = endpoint(database, CONFIG, URL)
    prune = "select svc.webhook_prune_messages('7 days')"
    with psycopg.connect(database) as operator:
        assert replay(operator, hook, since="9d").count == 1
        assert scalar(db, prune) == 0
    assert scalar(db, prune) == 0
    assert len(pending(db, hook)) == 1
    finish(db, delivered=pending(db, hook))
    db.execute("delete from svc.webhook_deliveries")
    with psycopg.connect(database) as pruning, psycopg.connect(database) as operator, ThreadPoolExecutor(1) as thread:
        assert scalar(pruning, prune) == 1
        late = thread.submit(replay, operator, hook, since="9d")
        wait_until(lambda: scalar(db, WAITING) == 1)
        pruning.commit()
        assert late.result(10).count == 0


def test_a_replay_of_a_rare_event_reads_its_messages_only(database: str, db: psycopg.Connection[Any]) -> None:
    hook, _ = endpoint(database, CONFIG, URL)
    finish(db, delivered=webhooks.send(db, "order.paid", {}))
    db.execute("""
        insert into svc.webhook_messages (id, event_name, payload)
        select svc.webhook_uuid7(), 'order.created', '{}' from generate_series(1, 3000)
    """)
    db.execute("analyze svc.webhook_messages")
    query = "select * from svc.webhook_replay(%s, '{delivered}', 'order.paid', %s, %s, null, true, 10000)"
    bounds = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]
    assert db.execute(query, (hook, *bounds)).fetchall() == [(1, None)]
    assert first_cost(db, query, (hook, *bounds)).rows["webhook_messages"] < 10


@pytest.mark.parametrize("options", [{}, {"new_ids": True}, {"status": "missing"}], ids=["same", "new", "missing"])
def test_an_ordered_endpoint_gets_a_replay_in_the_order_of_its_keys(
    database: str, db: psycopg.Connection[Any], options: Any
) -> None:
    if options.get("status") != "missing":
        hook, _ = endpoint(database, CONFIG, URL, ordering="strict")
    keys = ["a", "b", "a", "b", None, "a"]
    sent = [webhooks.send_many(db, "order.created", [{}, {}], keys=[key, key]) for key in keys]
    if options.get("status") == "missing":
        hook, _ = endpoint(database, CONFIG, URL, ordering="strict")
    finish(db, delivered=[message for pair in sent for message in pair])
    assert replay(db, hook, since="1h", **options).count == 12
    query = f"""
        select c.delivery_id, c.lease_id, places.key, places.place
          from svc.webhook_claim('worker', 100) c join {PLACES} on places.id = c.message_id
    """
    done = """select svc.webhook_acknowledge(array[%s], array[%s], '{delivered}', '{0}', '{success}', '{200}', '{null}',
                                             '{5}', '{null}', '{null}', '{null}')"""
    arrived: dict[str | None, list[int]] = {}
    while claimed := db.execute(query).fetchall():
        assert sorted(key for _, _, key, _ in claimed if key) == sorted({key for _, _, key, _ in claimed if key})
        for delivery, lease, key, place in claimed:
            db.execute(done, (delivery, lease))
            arrived.setdefault(key, []).append(place)
    assert arrived == {"a": [1, 2, 3, 4, 5, 6], "b": [1, 2, 3, 4], None: [None, None]}


@pytest.mark.parametrize("event", [None, "order.created"])
def test_the_replay_of_a_tenants_endpoint_looks_at_its_messages_alone_and_its_cursor_names_no_other(
    database: str, db: psycopg.Connection[Any], event: str | None
) -> None:
    hook, _ = endpoint(database, CONFIG, URL, tenant="acme")
    own, foreign = list[UUID](), list[UUID]()
    for number in range(4):
        name = "order.paid" if number == 1 else "order.created"
        for tenant, sent in (("acme", own), ("globex", foreign), (None, foreign)):
            sent.append(webhooks.send(db, name, {"n": number}, tenant=tenant))
    finish(db, delivered=own)
    cursor, counts = None, list[int]()
    while True:
        options: dict[str, Any] = {"since": "1h"} if cursor is None else {"after": cursor}
        batch = replay_queries.replay(hook, event=event, status="delivered", batch=2, **options)
        done = fetch_one(db, batch)
        counts.append(done.count)
        if done.next_cursor is None:
            break
        cursor = done.next_cursor
        assert decode(cursor, UUID, UUID, UUID)[0] in own
    wanted = own if event is None else [own[0], own[2], own[3]]  # ids of one millisecond have no order
    assert (len(counts), sum(counts)) == (3, len(wanted))
    assert set(pending(db, hook)) == set(wanted)
