"""Attempts that were lost with their worker cost a delivery nothing for long, and yet a poison payload ends."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest
from psycopg.rows import dict_row

from svc_pg import webhooks
from svc_pg.database.query import fetch, scalar
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare
from tests.support.queue import end_leases, postpone

CONFIG = hooks_config("order.created")
MOST: Final = 20

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook")


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    """In autocommit, with one delivery that is due."""
    with psycopg.connect(database, autocommit=True) as conn:
        webhooks.send(conn, "order.created", {})
        yield conn


def claim(db: Connection) -> dict[str, Any] | None:
    return db.cursor(row_factory=dict_row).execute("select * from svc.webhook_claim('w', 10)").fetchone()


def lose(db: Connection) -> dict[str, Any]:
    """Claim it, let the lease and the wait after it end without an acknowledgement, and return what was claimed."""
    claimed = claim(db)
    assert claimed is not None
    end_leases(db)
    db.execute("select svc.webhook_return_lost(now())")
    postpone(db, timedelta(0))
    return claimed


def acknowledge(db: Connection, claimed: dict[str, Any], disposition: str) -> None:
    outcome = "success" if disposition == "delivered" else "http_error"
    db.execute(
        """select svc.webhook_acknowledge(
               array[%s], array[%s], array[%s], '{0}', array[%s], '{200}', '{null}', '{5}', '{null}', '{null}',
               '{null}')""",
        (claimed["delivery_id"], claimed["lease_id"], disposition, outcome),
    )


def the_delivery(db: Connection) -> Delivery:
    [found] = deliveries.query().list(db)
    return found


def test_lost_attempts_do_not_use_up_those_of_a_delivery(db: Connection) -> None:
    for _ in range(MOST - 1):
        lost = lose(db)
        assert (lost["attempt"], lost["max_attempts"]) == (1, 5)
    claimed = claim(db)
    assert claimed is not None
    assert claimed["attempt"] == 1
    acknowledge(db, claimed, "delivered")
    delivery = the_delivery(db)
    assert (delivery.status, delivery.attempts, delivery.lost_attempts) == ("delivered", MOST, MOST - 1)
    outcomes = [(each.attempt, each.outcome) for each in fetch(db, deliveries.attempts(delivery.id))]
    assert outcomes == [*((number, "lost") for number in range(1, MOST)), (MOST, "success")]


def test_attempts_that_were_made_count_whatever_was_lost_between_them(db: Connection) -> None:
    for attempt in range(1, 6):
        lose(db)
        claimed = claim(db)
        assert claimed is not None
        assert claimed["attempt"] == attempt
        acknowledge(db, claimed, "retry" if attempt < 5 else "failed")
    assert the_delivery(db).attempts == 10


def test_a_payload_that_kills_its_workers_ends(db: Connection) -> None:
    for _ in range(MOST - 1):
        assert lose(db)["lease_id"] is not None
    claim(db)
    end_leases(db)
    last = claim(db)
    assert last is not None
    assert (last["lease_id"], last["attempt"]) == (None, MOST)
    delivery = the_delivery(db)
    assert (delivery.status, delivery.last_error) == ("failed", f"{MOST} attempts were lost")
    assert delivery.lost_attempts == MOST


def test_a_delivery_that_was_lost_too_often_can_be_tried_again_by_hand(db: Connection) -> None:
    for _ in range(MOST):
        lose(db)
    claim(db)
    fetch(db, deliveries.retry(the_delivery(db).id))
    claimed = claim(db)
    assert claimed is not None
    acknowledge(db, claimed, "delivered")
    assert the_delivery(db).status == "delivered"


def test_an_attempt_that_is_canceled_after_it_was_lost_counts_as_lost(db: Connection) -> None:
    claim(db)
    end_leases(db)
    fetch(db, deliveries.cancel(the_delivery(db).id))
    assert the_delivery(db).lost_attempts == 1
    fetch(db, deliveries.retry(the_delivery(db).id))
    claimed = claim(db)
    assert claimed is not None
    assert (claimed["attempt"], claimed["max_attempts"]) == (1, 5)


def test_the_first_loss_is_made_good_at_once_and_later_ones_wait_longer_and_longer(db: Connection) -> None:
    waits = []
    for _ in range(MOST - 1):
        claim(db)
        end_leases(db)
        db.execute("select svc.webhook_return_lost(now())")
        waits.append(scalar(db, "select next_attempt_at - updated_at from svc.webhook_deliveries"))
        postpone(db, timedelta(0))
    assert waits[0] == timedelta(0)
    for number, wait in enumerate(waits[1:]):
        planned = min(timedelta(seconds=10) * 2**number, timedelta(minutes=10))
        assert planned / 2 <= wait <= planned * 3 / 2
    assert len(set(waits[8:])) == len(waits[8:])  # spread, so that those that were lost together part
