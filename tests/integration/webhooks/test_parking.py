"""Endpoints that may start nothing cost a claim nothing, and get what waits for them as soon as they may."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.performing import run
from svc_pg.database.query import scalar
from svc_pg.webhooks import endpoints
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from tests.support.costs import settled_cost
from tests.support.queue import add_due, add_endpoints, end_leases, misplaced

Connection = psycopg.Connection[Any]

BLOCKED: Final = 400
EACH: Final = 3
CLAIM: Final = "select * from svc.webhook_claim('worker', 100)"


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def claim(conn: Connection, batch: int = 1000) -> list[tuple[UUID, UUID, UUID]]:
    return conn.execute(
        "select endpoint_id, delivery_id, lease_id from svc.webhook_claim('worker', %s, p_share => 1000)", (batch,)
    ).fetchall()


def pause(conn: Connection, endpoints: list[UUID]) -> None:
    conn.execute("update svc.webhook_endpoints set status = 'paused' where id = any(%s)", (endpoints,))


def open_breakers(conn: Connection, endpoints: list[UUID]) -> None:
    conn.execute(
        "update svc.webhook_endpoint_state set breaker_until = now() + interval '1 hour' where endpoint_id = any(%s)",
        (endpoints,),
    )


def fill(conn: Connection, endpoints: list[UUID]) -> None:
    """Each has as many attempts under way as it may."""
    conn.execute("update svc.webhook_endpoints set max_in_flight = 1 where id = any(%s)", (endpoints,))
    add_due(conn, endpoints, 1)
    assert len(claim(conn)) == len(endpoints)


def blocked(conn: Connection, block: Callable[[Connection, list[UUID]], None]) -> list[UUID]:
    """Endpoints that may start nothing and have deliveries that wait, all of them parked."""
    found = add_endpoints(conn, BLOCKED)
    block(conn, found)
    add_due(conn, found, EACH)
    while scalar(conn, "select exists (select from svc.webhook_queue where lane = 'due')"):
        assert claim(conn) == []
    assert misplaced(conn) == []
    return found


@pytest.mark.parametrize("block", [pause, open_breakers])
def test_blocked_endpoints_cost_a_claim_nothing_and_others_get_theirs(
    db: Connection, block: Callable[[Connection, list[UUID]], None]
) -> None:
    blocked(db, block)
    [other] = add_endpoints(db, 1)
    add_due(db, [other], 2)
    cost = settled_cost(db, CLAIM)
    assert not cost.scanned
    assert cost.rows["webhook_queue"] <= 10
    assert cost.rows["webhook_endpoint_state"] <= 2
    assert [key for key, _, _ in claim(db)] == [other] * 2


def test_a_few_that_are_blocked_stay_where_they_are(db: Connection) -> None:
    few = add_endpoints(db, 60)
    pause(db, few)
    add_due(db, few, 1)
    assert claim(db) == []
    assert scalar(db, "select count(*) from svc.webhook_parked_endpoints") == 0


def test_an_endpoint_with_very_many_deliveries_is_not_parked_and_holds_up_no_claim(db: Connection) -> None:
    """Each of them would have to be moved, while no other worker can claim."""
    large, *_ = found = add_endpoints(db, BLOCKED)
    pause(db, found)
    add_due(db, found, 1)
    add_due(db, [large], 3000)
    for _ in range(2):
        assert claim(db) == []
    lanes = "select lane::text, count(*), count(distinct endpoint_id) from svc.webhook_queue group by 1 order by 1"
    assert db.execute(lanes).fetchall() == [("due", 3001, 1), ("parked", BLOCKED - 1, BLOCKED - 1)]
    cost = settled_cost(db, CLAIM)
    assert not cost.scanned
    assert cost.rows["webhook_queue"] <= 10


def test_a_resumed_endpoint_gets_what_waited_and_first_what_waited_longest(db: Connection) -> None:
    first, *_ = blocked(db, pause)
    waiting = [d.id for d in deliveries.query().endpoint(str(first)).list(db)]
    add_due(db, [first], 1)
    endpoints.resume(db, str(first))
    claimed = [str(delivery) for _, delivery, _ in claim(db)]
    assert len(claimed) == EACH + 1
    assert set(claimed[:EACH]) == set(waiting)
    assert misplaced(db) == []


def test_full_endpoints_are_not_parked_and_go_on_at_once_when_an_attempt_ends(db: Connection) -> None:
    first, second, third, *_ = full = add_endpoints(db, BLOCKED)
    fill(db, full)
    add_due(db, full, EACH)
    for _ in range(2):
        assert claim(db) == []
    assert scalar(db, "select count(*) from svc.webhook_queue where lane = 'due'") == BLOCKED * EACH
    under_way = dict(db.execute("select endpoint_id, array[delivery_id, lease_id] from svc.webhook_leases").fetchall())
    acknowledge = """select svc.webhook_acknowledge(
        array[%s], array[%s], '{delivered}', '{0}', '{success}', '{200}', '{null}', '{5}', '{null}', '{null}', '{null}')
    """
    db.execute(acknowledge, under_way[first])
    assert [key for key, _, _ in claim(db)] == [first]
    endpoints.update(db, str(second), max_in_flight=3)
    assert [key for key, _, _ in claim(db)] == [second] * 2
    end_leases(db, [under_way[third][0]])
    assert [key for key, _, _ in claim(db)] == [third]
    assert misplaced(db) == []


def test_an_endpoint_is_looked_at_again_when_its_breaker_ends(db: Connection) -> None:
    first, *_ = blocked(db, open_breakers)
    db.execute(
        """with state as (
               update svc.webhook_endpoint_state set breaker_until = now() where endpoint_id = %s
           )
           update svc.webhook_parked_endpoints set parked_until = now() where endpoint_id = %s""",
        (first, first),
    )
    assert [key for key, _, _ in claim(db)] == [first]  # its probe


def test_workers_wait_no_longer_than_until_a_parked_endpoint_is_looked_at(db: Connection) -> None:
    blocked(db, pause)
    wait = scalar(db, "select svc.webhook_next_due() - now()")
    assert timedelta(0) < wait <= timedelta(minutes=1)


@pytest.mark.parametrize("close", [endpoints.delete, endpoints.disable])
def test_what_is_parked_is_canceled_with_its_endpoint(db: Connection, close: Callable[..., object]) -> None:
    first, second, *_ = blocked(db, pause)
    with psycopg.connect(db.info.dsn, password=db.info.password) as other:  # which the cancellation does not wait for
        other.execute("select from svc.webhook_deliveries where endpoint_id = %s limit 1 for update", (first,))
        close(db, str(first))
        run(db, deliveries.query().endpoint(str(second)).cancel())
    assert claim(db) == []
    states = dict(
        db.execute("select status, count(*) from svc.webhook_deliveries where endpoint_id = any(%s) group by 1",
                   ([first, second],)).fetchall()
    )  # fmt: skip
    assert states == {"canceled": 2 * EACH}
    assert misplaced(db) == []


def test_what_is_sent_to_a_parked_endpoint_waits_with_the_rest(db: Connection) -> None:
    first, *_ = parked = blocked(db, pause)
    add_due(db, parked, 1)
    for _ in range(3):
        assert claim(db) == []
    assert scalar(db, "select count(*) from svc.webhook_queue where lane = 'parked'") == BLOCKED * (EACH + 1)
    endpoints.resume(db, str(first))
    assert len(claim(db)) == EACH + 1
    assert webhooks.deliveries.cancel_all(db, status="pending").count == BLOCKED * (EACH + 1) - EACH - 1
