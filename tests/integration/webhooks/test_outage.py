"""The last outage of an endpoint: since when it fails, what it answers, what waits, and that the read is bounded."""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from svc_pg import webhooks
from svc_pg.database.query import fetch_one, scalar
from svc_pg.errors import NotFoundError
from svc_pg.webhooks import endpoints
from svc_pg.webhooks.endpoints.outages import MOST_READ, EndpointOutage, outage
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare, new_database
from tests.support.queue import postpone

CONFIG: Final = hooks_config("order.created")
TENANT: Final = "acme"
MANY: Final = 200_000
MOST_PAGES: Final = 30_000
"""Pages of 8 KiB that one read may touch, most of them several times."""

Connection = psycopg.Connection[Any]
Claimed = dict[str, Any]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook", max_in_flight=100, tenant=TENANT)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    """In autocommit, with 18 deliveries that are due."""
    with psycopg.connect(database, autocommit=True) as conn:
        webhooks.send_many(conn, "order.created", [{}] * 18, tenant=TENANT)
        yield conn


def claim(db: Connection, number: int) -> list[Claimed]:
    return db.cursor(row_factory=dict_row).execute("select * from svc.webhook_claim('w', %s)", (number,)).fetchall()


def acknowledge(db: Connection, claimed: Sequence[Claimed], disposition: str, *, body: str = "", **head: str) -> None:
    is_success, number = disposition == "delivered", len(claimed)
    accepted = scalar(
        db,
        """select cardinality(accepted) from svc.webhook_acknowledge(
               %s, %s, %s, %s, %s, %s, %s, %s, %s::json[], %s, '{}')""",
        (
            [each["delivery_id"] for each in claimed],
            [each["lease_id"] for each in claimed],
            [disposition] * number,
            [60.0] * number,
            ["success" if is_success else "http_error"] * number,
            [204 if is_success else 503] * number,
            [None if is_success else "the endpoint answered 503"] * number,
            [70] * number,
            [json.dumps(head)] * number,
            [body] * number,
        ),
    )
    assert accepted == number > 0


def last(db: Connection) -> EndpointOutage:
    return endpoints.outage(db, key(db))


def key(db: Connection) -> str:
    found: str = scalar(db, "select id::text from svc.webhook_endpoints")
    return found


def let_the_breaker_end(db: Connection) -> None:
    db.execute("update svc.webhook_endpoint_state set breaker_until = now() where breaker_until is not null")
    db.execute("update svc.webhook_parked_endpoints set parked_until = now()")


def let_it_be_well_for_a_while(db: Connection) -> None:
    db.execute("update svc.webhook_endpoint_state set recovered_at = recovered_at - interval '11 min'")


def test_an_endpoint_that_was_never_used_has_no_outage(db: Connection) -> None:
    found = last(db)
    assert (found.since, found.until, found.is_lasting, found.health) == (None, None, False, "healthy")
    assert (found.attempts, found.steps, found.first_answer, found.last_answer) == ([], [], None, None)
    assert (found.waiting, found.is_waiting_complete, found.failed, found.is_failed_complete) == (18, True, 0, True)
    first = "(select id from svc.webhook_deliveries order by id limit 1)"
    db.execute(f"update svc.webhook_deliveries set created_at = created_at - interval '1 h' where id = {first}")
    assert last(db).waiting_since == scalar(db, "select min(created_at) from svc.webhook_deliveries")


def test_the_breaker_opens_with_the_tenth_failure_in_a_row(db: Connection) -> None:
    acknowledge(db, claim(db, 1), "retry")
    acknowledge(db, claim(db, 1), "delivered")
    acknowledge(db, claim(db, 9), "retry")
    assert (last(db).breaker_until, last(db).steps) == (None, [])
    acknowledge(db, claim(db, 1), "retry")
    [step] = last(db).steps
    assert (last(db).breaker_until, step.until - step.since) == (step.until, timedelta(seconds=30))


def test_an_outage_has_its_first_and_its_last_answer_and_ends_with_a_success(db: Connection) -> None:
    acknowledge(db, claim(db, 2), "delivered")
    acknowledge(db, claim(db, 1), "retry", body="the first", server="one")
    acknowledge(db, claim(db, 1), "failed", body="another")
    acknowledge(db, claim(db, 1), "retry", body="the last", server="two")
    found = last(db)
    assert found.is_lasting
    assert found.first_answer
    assert found.last_answer
    assert (found.first_answer.response_body, found.last_answer.response_body) == ("the first", "the last")
    assert found.first_answer.response_headers
    assert found.first_answer.response_headers.value == {"server": "one"}
    assert (found.first_answer.status_code, found.first_answer.error) == (503, "the endpoint answered 503")
    assert found.first_answer.event_name == "order.created"
    assert [each.outcome for each in found.attempts] == ["success"] * 2 + ["http_error"] * 3
    assert (found.waiting, found.failed, found.is_every_failure) == (15, 1, True)
    assert found.since

    acknowledge(db, claim(db, 1), "delivered")
    over = last(db)
    assert (over.is_lasting, over.since, over.health) == (False, found.since, "healthy")
    assert over.until
    assert over.until > found.since
    assert over.first_answer == found.first_answer
    acknowledge(db, claim(db, 1), "delivered")
    assert last(db).until == over.until

    let_it_be_well_for_a_while(db)
    acknowledge(db, claim(db, 1), "retry", body="anew")
    anew = last(db)
    assert anew.is_lasting
    assert anew.since
    assert anew.since > over.until
    assert anew.first_answer == anew.last_answer
    assert anew.first_answer
    assert anew.first_answer.response_body == "anew"


def test_each_step_of_the_breaker_is_known_and_a_resume_ends_it_but_not_the_outage(db: Connection) -> None:
    acknowledge(db, claim(db, 9), "retry")
    assert last(db).steps == []
    acknowledge(db, claim(db, 1), "retry")
    for _ in range(2):
        let_the_breaker_end(db)
        acknowledge(db, claim(db, 1), "retry")
    found = last(db)
    assert [round((each.until - each.since).total_seconds()) for each in found.steps] == [30, 60, 120]
    assert found.breaker_until == found.steps[-1].until
    endpoints.resume(db, key(db))
    resumed = last(db)
    assert (resumed.since, resumed.health) == (found.since, "healthy")
    assert resumed.is_lasting
    assert resumed.steps[:2] == found.steps[:2]
    assert resumed.steps[2].until <= resumed.at
    acknowledge(db, claim(db, 1), "delivered")
    over = last(db)
    assert (over.is_lasting, len(over.steps)) == (False, 3)
    let_it_be_well_for_a_while(db)
    acknowledge(db, claim(db, 1), "retry")
    assert last(db).steps == []


def test_the_latest_32_steps_are_kept(db: Connection) -> None:
    acknowledge(db, claim(db, 10), "retry")
    for _ in range(34):
        let_the_breaker_end(db)
        postpone(db, timedelta(0), "d.attempts > 0")
        acknowledge(db, claim(db, 1), "retry")
    steps = last(db).steps
    assert len(steps) == 32
    assert steps == sorted(steps, key=lambda each: each.since)
    assert last(db).breaker_until == steps[-1].until


def test_a_tenant_reads_of_its_own_messages_alone(db: Connection) -> None:
    acknowledge(db, claim(db, 2), "failed", body="of another")
    db.execute("update svc.webhook_messages set tenant = 'another'")
    found = fetch_one(db, outage(key(db), tenant=TENANT))
    assert found.is_lasting
    assert (found.attempts, found.first_answer, found.last_answer) == ([], None, None)
    assert (found.waiting, found.failed) == (0, 0)
    everything = last(db)
    assert (len(everything.attempts), everything.waiting, everything.failed) == (2, 16, 2)


def test_a_resume_of_an_open_breaker_whose_steps_are_not_known_leaves_none(db: Connection) -> None:
    acknowledge(db, claim(db, 10), "retry")
    db.execute("update svc.webhook_endpoint_state set breaker_opened_at = '{}', breaker_opened_until = '{}'")
    endpoints.resume(db, key(db))
    assert last(db).steps == []


def test_each_step_has_a_beginning_and_an_end(db: Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        db.execute("update svc.webhook_endpoint_state set breaker_opened_until = array[now()]")


def test_the_steps_follow_a_clock_that_was_set_back(db: Connection) -> None:
    acknowledge(db, claim(db, 10), "retry")
    let_the_breaker_end(db)
    acknowledge(db, claim(db, 1), "retry")
    db.execute(
        """update svc.webhook_endpoint_state s
              set breaker_until = s.breaker_until + f.by, last_failure_at = s.last_failure_at + f.by,
                  failing_since = s.failing_since + f.by, first_failure_at = s.first_failure_at + f.by,
                  breaker_opened_at = array(select o + f.by from unnest(s.breaker_opened_at) o),
                  breaker_opened_until = array(select o + f.by from unnest(s.breaker_opened_until) o)
             from (select interval '1 hour') f(by)"""
    )
    db.execute("select svc.webhook_follow_clock(1000)")
    found = last(db)
    assert len(found.steps) == 2
    assert all(each.since <= each.until for each in found.steps)
    assert found.steps[-1].since <= found.at < found.steps[-1].until
    assert found.breaker_until == found.steps[-1].until
    endpoints.resume(db, key(db))
    assert last(db).steps[-1].until <= last(db).at


@pytest.mark.parametrize("unknown", ["00000000-0000-7000-8000-000000000000", "none", ""])
def test_an_endpoint_that_does_not_exist_is_not_found(db: Connection, unknown: str) -> None:
    with pytest.raises(NotFoundError):
        endpoints.outage(db, unknown)


def test_a_paused_and_a_disabled_endpoint_say_so(db: Connection) -> None:
    acknowledge(db, claim(db, 1), "retry")
    endpoints.pause(db, key(db))
    assert (last(db).health, last(db).is_lasting) == ("paused", True)
    endpoints.disable(db, key(db), reason="moved")
    found = last(db)
    assert (found.health, found.disabled_reason, found.waiting, found.failed) == ("disabled", "moved", 0, 0)


def add_failed(db: Connection, endpoint_id: str, number: int) -> None:
    """So many failed deliveries with an attempt each, in the last hour; a tenth as many wait."""
    db.execute(
        """with sent as materialized (
               select (left(svc.uuid7_at(t.at)::text, 14) || right(gen_random_uuid()::text, 22))::uuid as id,
                      gen_random_uuid() as message_id, t.at, n
                 from generate_series(1, %(number)s) n
                cross join lateral (select now() - interval '1 hour' + n * interval '1 hour' / %(number)s) t(at)
           ), message as (
               insert into svc.webhook_messages (id, event_name, payload, tenant)
               select message_id, 'none', '{}', 'acme' from sent
           ), delivery as (
               insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, status, failure, attempts,
                                                   max_attempts, next_attempt_at, finished_at, created_at)
               select id, message_id, %(endpoint)s, 'none', 'failed', 'failed', 1, 1, null, at, at from sent
           ), waits as (
               insert into svc.webhook_queue (lane, endpoint_id, next_attempt_at, delivery_id)
               select 'later', %(endpoint)s, now() + interval '1 day', id from sent where n %% 10 = 0
           )
           insert into svc.webhook_delivery_attempts
               (delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome, status_code, response_body)
           select id, %(endpoint)s, 1, at, 70, 'http_error', 503, 'upstream queue full' from sent""",
        {"endpoint": UUID(endpoint_id), "number": number},
    )
    db.execute(
        """update svc.webhook_endpoint_state s
              set failure_streak = %s, failing_since = f.first, first_failure_at = f.first
             from (select min(finished_at) as first from svc.webhook_deliveries) f""",
        [number],
    )


def add_canceled(db: Connection, endpoint_id: str, number: int) -> None:
    """So many canceled deliveries, of now."""
    db.execute(
        """insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, status, failure, max_attempts,
                                               next_attempt_at, finished_at)
           select svc.webhook_uuid7(), gen_random_uuid(), %s, 'none', 'canceled', 'canceled', 1, null, now()
             from generate_series(1, %s)""",
        [UUID(endpoint_id), number],
    )


def test_a_failure_soon_after_a_success_goes_on_with_the_outage(db: Connection) -> None:
    add_failed(db, key(db), 240)
    begun = last(db).since
    acknowledge(db, claim(db, 1), "delivered")
    assert (last(db).is_lasting, last(db).failed) == (False, 240)
    acknowledge(db, claim(db, 1), "retry")
    found = last(db)
    assert (found.is_lasting, found.since, found.failed) == (True, begun, 240)
    acknowledge(db, claim(db, 1), "delivered")
    over = last(db)
    assert (over.is_lasting, over.since, over.failed) == (False, begun, 240)


def test_an_old_delivery_that_fails_in_the_middle_is_counted(db: Connection) -> None:
    add_failed(db, key(db), 240)
    db.execute(
        """with old as (
               insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, status, failure, attempts,
                                                   max_attempts, next_attempt_at, finished_at, created_at)
               select svc.uuid7_at(now() - interval '1 day'), gen_random_uuid(), %s, 'none', 'failed', 'failed', 1, 1,
                      null, now() - interval '30 min', now() - interval '1 day'
               returning id, endpoint_id, finished_at
           )
           insert into svc.webhook_delivery_attempts (delivery_id, endpoint_id, attempt, started_at, outcome)
           select id, endpoint_id, 1, finished_at, 'timeout' from old""",
        [UUID(key(db))],
    )
    assert (last(db).failed, last(db).is_failed_complete) == (241, True)


@pytest.mark.parametrize(("canceled", "is_complete"), [(1500, True), (10 * MOST_READ - 240, True), (9761, False)])
def test_what_was_canceled_hides_no_failure_unless_it_is_said(
    db: Connection, canceled: int, *, is_complete: bool
) -> None:
    add_failed(db, key(db), 240)
    add_canceled(db, key(db), canceled)
    found = last(db)
    assert (found.failed, found.is_failed_complete) == (240, is_complete)


@pytest.mark.parametrize(("number", "is_every"), [(1, True), (199, True), (200, True), (201, False), (2500, False)])
def test_it_says_if_each_failed_attempt_is_shown(db: Connection, number: int, *, is_every: bool) -> None:
    add_failed(db, key(db), number)
    found = last(db)
    assert (len(found.attempts), found.is_every_failure) == (min(number, 200), is_every)


@pytest.mark.parametrize(("number", "is_every"), [(1500, True), (2002, False), (3000, False)])
def test_it_says_if_each_failed_attempt_of_a_tenant_is_shown(db: Connection, number: int, *, is_every: bool) -> None:
    add_failed(db, key(db), number)
    db.execute(
        """update svc.webhook_messages m set tenant = 'another'
             from (select message_id, row_number() over (order by id) as n
                     from svc.webhook_deliveries where event_name = 'none') d
            where m.id = d.message_id and d.n not between 741 and 760 and d.n not between 1001 and 1040"""
    )
    found = fetch_one(db, outage(key(db), tenant=TENANT))
    assert found.is_every_failure is is_every
    if is_every:
        assert len(found.attempts) == 60


@pytest.fixture(scope="module")
def busy(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook", tenant=TENANT)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("alter table svc.webhook_queue set (autovacuum_enabled = off)")
            conn.execute("alter table svc.webhook_deliveries set (autovacuum_enabled = off)")
            conn.execute("alter table svc.webhook_delivery_attempts set (autovacuum_enabled = off)")
            add_failed(conn, key(conn), MANY)
        yield conninfo


@pytest.mark.parametrize("tenant", [None, TENANT])
@pytest.mark.parametrize("statistics", ["none", "fresh"])
def test_the_read_is_bounded_however_much_failed(busy: str, tenant: str | None, statistics: str) -> None:
    with psycopg.connect(busy, autocommit=True) as db:
        if statistics == "fresh":
            db.execute("vacuum analyze")
        query = outage(key(db), tenant=tenant)
        found = fetch_one(db, query)
        assert (found.waiting, found.is_waiting_complete) == (MOST_READ, False)
        assert (found.failed, found.is_failed_complete) == (MOST_READ, False)
        assert (len(found.attempts), found.is_every_failure) == (200, False)
        [(plan,)] = db.execute(f"explain (analyze, buffers, format json) {query.text}".encode(), query.params)
        pages = plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]
        assert pages < MOST_PAGES
