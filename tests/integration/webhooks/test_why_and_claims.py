"""The reasons for which a delivery says that it waits are those of a claim: it takes of the due ones, and no other."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any, Final

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.webhooks import deliveries, endpoints
from tests.support.chance import chance
from tests.support.hooks import endpoint, hooks_config
from tests.support.queue import end_leases, misplaced

CONFIG = hooks_config("order.created")
ENDPOINTS: Final = (
    {"max_in_flight": 50},
    {"max_in_flight": 2},
    {"ordering": "key"},
    {"ordering": "strict"},
    {"ordering": "key", "max_in_flight": 1},
)
ROUNDS: Final = 12
HOUR: Final = timedelta(hours=1)
STATUS: Final = {"delivered": 204, "throttled": 429}

Connection = psycopg.Connection[Any]
Claimed = tuple[str, str]


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def waiting(conn: Connection) -> dict[str, tuple[str, set[str]]]:
    """The endpoint and the reasons of each pending delivery."""
    pending = deliveries.list(conn, status="pending", limit=1000)
    return {each.id: (each.endpoint_id, {one.reason for one in deliveries.why(conn, each.id)}) for each in pending}


def claim(conn: Connection) -> list[Claimed]:
    claimed = conn.execute(
        "select delivery_id::text, lease_id::text from svc.webhook_claim('worker', 1000, p_share => 1000)"
    )
    return claimed.fetchall()


def acknowledge(conn: Connection, claimed: Claimed, disposition: str) -> None:
    outcome = "success" if disposition == "delivered" else "http_error"
    conn.execute(
        """select svc.webhook_acknowledge(array[%s]::uuid[], array[%s]::uuid[], array[%s], array[3600::float8],
                                          array[%s], array[%s], '{null}', '{5}', '{null}', '{null}', '{null}')""",
        (*claimed, disposition, outcome, STATUS.get(disposition, 500)),
    )


def change(conn: Connection, random: Random, ids: list[str], under_way: list[Claimed]) -> None:
    """Something that happens between two claims."""
    chosen = random.choice(ids)
    for _ in range(random.randrange(4)):
        key = random.choice([None, "a", "b"])
        webhooks.send(conn, "order.created", {}, key=key, delay=random.choice([timedelta(0), timedelta(0), HOUR]))
    for each in random.sample(under_way, random.randint(0, len(under_way))):
        under_way.remove(each)
        acknowledge(conn, each, random.choice(["delivered", "delivered", "failed", "retry", "released", "throttled"]))
    match random.randrange(6):
        case 0:
            endpoints.pause(conn, chosen)
        case 1 | 2:
            endpoints.resume(conn, chosen)
        case 3:
            until = random.choice(["now()", "now() + interval '1 hour'"])
            conn.execute(
                f"update svc.webhook_endpoint_state set breaker_until = {until} where endpoint_id = %s".encode(),
                (chosen,),
            )
        case 4:
            end_leases(conn)
            under_way.clear()
        case 5:
            for failed in deliveries.list(conn, status="failed", limit=2):
                deliveries.retry(conn, failed.id)


@pytest.mark.parametrize("seed", range(6))
def test_a_claim_takes_of_each_endpoint_some_that_are_due_and_no_others(
    database: str, db: Connection, seed: int
) -> None:
    random = chance(seed)
    ids = [endpoint(database, CONFIG, "http://127.0.0.1:9/hook", **options)[0] for options in ENDPOINTS]
    under_way: list[Claimed] = []
    seen: set[str] = set()
    for _ in range(ROUNDS):
        change(db, random, ids, under_way)
        before = waiting(db)
        claimed = claim(db)
        under_way += claimed
        due_at: dict[str, set[str]] = defaultdict(set)
        for delivery, (endpoint_id, reasons) in before.items():
            seen |= reasons
            if reasons & {"due", "lost"}:  # a claim returns what was lost to the queue, and takes it if it can
                due_at[endpoint_id].add(delivery)
        taken = {delivery for delivery, _ in claimed}
        assert taken <= {each for due in due_at.values() for each in due}
        for endpoint_id, due in due_at.items():
            only_lost = all("lost" in before[each][1] for each in due)
            assert due & taken or only_lost, (endpoint_id, {each: before[each] for each in due})
        assert misplaced(db) == []
    assert "due" in seen
