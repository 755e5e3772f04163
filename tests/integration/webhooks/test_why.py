"""A delivery says what it waits for, by the conditions of a claim, and how it has ended."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final, get_args
from uuid import UUID, uuid4

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import NotFoundError
from svc_pg.webhooks import deliveries, endpoints
from svc_pg.webhooks.deliveries.delivery_reasons import DeliveryReason, Reason
from tests.support.documents import ROOT
from tests.support.hooks import endpoint, hooks_config, working
from tests.support.postgres import replicated
from tests.support.queue import end_leases
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
URL: Final = "http://127.0.0.1:9/hook"
HOUR: Final = timedelta(hours=1)
TIME: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"

Connection = psycopg.Connection[Any]


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def send(conn: Connection, **options: Any) -> str:
    """Send a message; the id of its delivery."""
    message = webhooks.send(conn, "order.created", {}, **options)
    return str(scalar(conn, "select id from svc.webhook_deliveries where message_id = %s", (message,)))


def claim(conn: Connection, batch: int = 100) -> list[tuple[UUID, UUID]]:
    return conn.execute("select delivery_id, lease_id from svc.webhook_claim('worker', %s)", (batch,)).fetchall()


def acknowledge(conn: Connection, claimed: Sequence[tuple[UUID, UUID]], disposition: str, wait: float = 0) -> None:
    outcome = "success" if disposition == "delivered" else "http_error"
    status = {"delivered": 204, "throttled": 429}.get(disposition, 500)
    for delivery, lease in claimed:
        conn.execute(
            """select svc.webhook_acknowledge(array[%s], array[%s], array[%s], array[%s::float8], array[%s], array[%s],
                                              array['the endpoint answered ' || %s], '{5}', '{null}', '{null}',
                                              '{null}')""",
            (delivery, lease, disposition, wait, outcome, status, status),
        )


def told(conn: Connection, delivery: str) -> dict[Reason, DeliveryReason]:
    """The reasons, in their order, without that of a worker that is missing."""
    return {each.reason: each for each in deliveries.why(conn, delivery) if each.reason != "no_worker"}


def sentence(conn: Connection, delivery: str, reason: Reason) -> str:
    """The sentence of the only reason, with its times and ids left out."""
    found = told(conn, delivery)
    assert list(found) == [reason]
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", re.sub(TIME, "TIME", found[reason].sentence))


def is_claimed(conn: Connection, delivery: str) -> bool:
    return delivery in {str(claimed) for claimed, _ in claim(conn)}


def test_one_that_can_be_sent_is_due_and_lacks_a_worker(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    delivery = send(db)
    due, lacking = deliveries.why(db, delivery)
    assert (due.reason, lacking.reason) == ("due", "no_worker")
    assert due.since == deliveries.get(db, delivery).next_attempt_at
    assert lacking.sentence == "No worker is seen: it waits until one runs."
    assert is_claimed(db, delivery)


def test_one_that_comes_after_others_counts_them(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, max_in_flight=2)
    first, second, third = (send(db) for _ in range(3))
    assert list(told(db, first)) == ["due"]
    assert list(told(db, third)) == ["due", "queue"]
    assert told(db, third)["queue"].sentence == "Before it come 2 deliveries to its endpoint, due for longer."
    assert {str(each) for each, _ in claim(db)} == {first, second}


def test_one_that_was_sent_with_a_delay_says_when_it_is_due(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    delivery = send(db, delay=HOUR)
    assert sentence(db, delivery, "later") == "It is due TIME, not before."
    assert told(db, delivery)["later"].until == deliveries.get(db, delivery).next_attempt_at
    assert not is_claimed(db, delivery)


def test_one_that_failed_says_why_and_when_it_is_tried_again(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    delivery = send(db)
    acknowledge(db, claim(db), "retry", 3600)
    expected = "Its next attempt, after 1 attempt, is due TIME: the endpoint answered 500."
    assert sentence(db, delivery, "later") == expected
    assert not is_claimed(db, delivery)


def test_one_under_way_names_its_worker_and_the_end_of_its_lease(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    delivery = send(db)
    claim(db)
    expected = "Worker worker has been sending it since TIME, as attempt 1; its lease ends TIME."
    assert sentence(db, delivery, "sending") == expected
    assert len(deliveries.why(db, delivery)) == 1, "a lease shows a worker"
    end_leases(db)
    expected = "Worker worker began attempt 1 TIME and gave no result: its lease ended TIME."
    assert sentence(db, delivery, "lost") == expected
    assert is_claimed(db, delivery)


def test_a_paused_endpoint_is_a_reason_also_if_its_deliveries_are_parked(database: str, db: Connection) -> None:
    endpoint_id, _ = endpoint(database, CONFIG, URL)
    delivery = send(db)
    endpoints.pause(db, endpoint_id)
    expected = "Its endpoint is paused, until somebody resumes it."
    assert sentence(db, delivery, "paused") == expected
    assert not is_claimed(db, delivery)
    db.execute("select svc.webhook_park(array[%s]::uuid[], now())", (endpoint_id,))
    assert scalar(db, "select lane::text from svc.webhook_queue") == "parked"
    assert sentence(db, delivery, "paused") == expected
    endpoints.resume(db, endpoint_id)
    assert list(told(db, delivery)) == ["due"]
    assert is_claimed(db, delivery)


@pytest.mark.parametrize(
    ("close", "reason", "expected"),
    [
        (endpoints.disable, "disabled", "Its endpoint is disabled (disabled by hand): the next claim of a worker"),
        (endpoints.delete, "deleted", "Its endpoint was deleted: the next claim of a worker"),
    ],
)
def test_what_is_sent_while_its_endpoint_is_closed_says_that_a_claim_cancels_it(
    database: str, db: Connection, close: Any, reason: Reason, expected: str
) -> None:
    endpoint_id, _ = endpoint(database, CONFIG, URL)
    with psycopg.connect(database) as sender:
        delivery = send(sender)
        close(db, endpoint_id)
    assert sentence(db, delivery, reason) == f"{expected} cancels it."
    claim(db)
    assert list(told(db, delivery)) == ["canceled"]


def test_a_breaker_a_probe_and_a_receiver_that_asks_to_wait_are_reasons(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, max_in_flight=20)
    for _ in range(10):
        send(db)
    acknowledge(db, claim(db), "retry", 3600)
    delivery, other = send(db), send(db)
    expected = "The circuit breaker of its endpoint is open until TIME, after 10 failures in a row"
    assert sentence(db, delivery, "broken") == f"{expected} (the endpoint answered 500)."
    assert not is_claimed(db, delivery)
    db.execute("update svc.webhook_endpoint_state set breaker_until = now()")
    assert list(told(db, delivery)) == ["due"]
    probe = claim(db)
    assert [str(each) for each, _ in probe] == [delivery]
    expected = "After 10 failures in a row (the endpoint answered 500) its endpoint gets one attempt at a time"
    assert sentence(db, other, "probed") == f"{expected}, and one is under way."
    assert not is_claimed(db, other)
    acknowledge(db, probe, "delivered")
    acknowledge(db, claim(db), "throttled", 600)
    assert list(told(db, other)) == ["later", "throttled"]
    assert told(db, other)["throttled"].sentence.startswith("The receiver asked to send nothing until ")
    assert not is_claimed(db, other)


def test_a_full_endpoint_and_its_rate_are_reasons(database: str, db: Connection) -> None:
    endpoint_id, _ = endpoint(database, CONFIG, URL, max_in_flight=1)
    send(db)
    first = claim(db)
    delivery = send(db)
    assert sentence(db, delivery, "full") == "Its endpoint has as many attempts under way as it may: 1."
    assert not is_claimed(db, delivery)
    acknowledge(db, first, "delivered")
    db.execute("update svc.webhook_endpoints set rate_per_second = 1, max_in_flight = 8 where id = %s", (endpoint_id,))
    assert is_claimed(db, delivery)
    later = send(db)
    rate = "svc.webhook_rates set spent_until = spent_until + interval '1 min'"
    assert db.execute(f"update {rate} returning 1".encode()).fetchall() == [(1,)]
    assert sentence(db, later, "rate") == "The rate of its endpoint, 1 a second, is reached: more may start TIME."
    assert not is_claimed(db, later)


@pytest.mark.parametrize("ordering", ["key", "strict"])
def test_an_older_message_of_its_key_is_named(database: str, db: Connection, ordering: str) -> None:
    endpoint(database, CONFIG, URL, ordering=ordering)
    first = send(db, key="order 7", delay=HOUR)
    second = send(db, key="order 7")
    found = told(db, second)
    assert list(found) == ["key"]
    assert found["key"].other_delivery_id == first
    assert found["key"].sentence == f"An older message of its key comes first: delivery {first}."
    assert not is_claimed(db, second)
    assert list(told(db, second)) == ["key"], "it is in the lane behind"
    deliveries.retry(db, first)
    claimed = claim(db)
    assert told(db, second)["key"].sentence == f"An older message of its key is under way: delivery {first}."
    acknowledge(db, claimed, "failed")
    if ordering == "key":
        assert list(told(db, second)) == ["due"]
        assert is_claimed(db, second)
        return
    expected = f"An older message of its key failed and blocks the key: delivery {first}."
    assert told(db, second)["key"].sentence == expected
    assert not is_claimed(db, second)
    found = told(db, first)
    assert list(found) == ["failed", "blocking"]
    assert found["blocking"].sentence == 'It blocks its key "order 7", and with it 1 later delivery.'
    deliveries.cancel(db, first)
    assert list(told(db, second)) == ["due"]
    assert is_claimed(db, second)


def test_one_that_has_ended_says_how(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL)
    sent = {send(db): disposition for disposition in ("delivered", "failed")}
    for each in claim(db):
        acknowledge(db, [each], sent[str(each[0])])
    canceled = send(db)
    deliveries.cancel(db, canceled)
    delivered, failed = sent
    assert sentence(db, delivered, "delivered") == "It was delivered TIME, at attempt 1."
    assert sentence(db, failed, "failed") == "It failed TIME, after 1 attempt: the endpoint answered 500."
    assert sentence(db, canceled, "canceled") == "It was canceled TIME: canceled by hand."


def test_a_worker_is_seen(database: str, db: Connection) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG):
            delivery = send(db, delay=HOUR)
            wait_until(lambda: [each.reason for each in deliveries.why(db, delivery)] == ["later"], "it is seen")


def test_a_reader_may_ask(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, URL, rate_per_second=5, ordering="key")
    delivery = send(db, key="order 7")
    with db.transaction():
        db.execute("set local role svc_reader")
        assert [each.reason for each in deliveries.why(db, delivery)] == ["due", "no_worker"]


def test_a_standby_says_that_the_workers_of_its_primary_deliver() -> None:
    def prepare(conninfo: str) -> str:
        endpoint(conninfo, CONFIG, URL)
        with psycopg.connect(conninfo) as conn:
            return send(conn)

    with replicated(prepare) as (_, follower, delivery), psycopg.connect(follower) as conn:
        [found] = deliveries.why(conn, delivery)
        assert found.sentence == "This server is a standby: the workers of its primary deliver."


def test_each_reason_of_the_function_has_a_sentence() -> None:
    text = (ROOT / "sql" / "webhooks" / "webhook_why.sql.j2").read_text(encoding="utf-8")
    found = {*re.findall(r"(?:true|false), '([a-z]+)'", text), *re.findall(r"select 0, '([a-z]+)'", text)}
    assert found | {"delivered", "failed", "canceled", "no_worker"} == {*get_args(Reason)}


def test_one_that_does_not_exist_is_an_error(db: Connection) -> None:
    missing = str(uuid4())
    with pytest.raises(NotFoundError, match=f"no delivery has the id {missing}"):
        deliveries.why(db, missing)
    with pytest.raises(NotFoundError, match="no delivery has the id 'x'"):
        deliveries.why(db, "x")
