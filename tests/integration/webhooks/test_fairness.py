"""An endpoint that does not answer and has much waiting takes nothing from the others."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from svc_pg.database.query import scalar
from tests.support.costs import settled_cost
from tests.support.queue import add_due, add_endpoints

BATCH = 50
WAITING = 50_000

Connection = psycopg.Connection[Any]


@pytest.fixture
def conn(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def claims_until_delivered(conn: Connection, endpoints: list[UUID]) -> int:
    """Work until these endpoints have everything, while all else fails at once; return the claims that it took."""
    after, count = None, 0
    while scalar(
        conn,
        "select exists (select from svc.webhook_deliveries where endpoint_id = any(%s) and status = 'pending')",
        (endpoints,),
    ):
        claimed = conn.execute(
            "select endpoint_id, delivery_id, lease_id from svc.webhook_claim('worker', %s, %s)", (BATCH, after)
        ).fetchall()
        assert claimed
        after, count = claimed[-1][0], count + 1
        conn.execute(
            """select from svc.webhook_acknowledge(%s::uuid[], %s::uuid[], %s::text[], %s::float8[], %s::text[],
                                           '{}', '{}', %s::integer[], '{}', '{}', '{}')""",
            (
                [delivery for _, delivery, _ in claimed],
                [lease for _, _, lease in claimed],
                ["delivered" if key in endpoints else "retry" for key, _, _ in claimed],
                [0.0] * len(claimed),
                ["success" if key in endpoints else "timeout" for key, _, _ in claimed],
                [7] * len(claimed),
            ),
        )
    return count


def test_the_others_need_no_more_claims_beside_a_dead_endpoint(conn: Connection) -> None:
    endpoints = add_endpoints(conn, 21)
    dead, others = endpoints[10], endpoints[:10] + endpoints[11:]
    add_due(conn, others, 20)
    alone = claims_until_delivered(conn, others)
    add_due(conn, [dead], WAITING)
    add_due(conn, others, 20)
    assert claims_until_delivered(conn, others) <= 1.2 * alone
    assert scalar(conn, "select count(*) from svc.webhook_delivery_attempts where endpoint_id = %s", (dead,)) < 20


def test_a_claim_reads_no_more_beside_a_dead_endpoint(conn: Connection) -> None:
    endpoints = add_endpoints(conn, 21)
    add_due(conn, endpoints, 20)
    few = settled_cost(conn, "select * from svc.webhook_claim('worker', 100)")
    add_due(conn, endpoints[10:11], WAITING)
    many = settled_cost(conn, "select * from svc.webhook_claim('worker', 100)")
    assert not many.scanned
    assert many.rows["webhook_queue"] < 1.2 * few.rows["webhook_queue"]
    assert many.pages < 1.5 * few.pages  # indexes are a level deeper


def test_two_thousand_endpoints_that_may_not_be_called_cost_a_claim_a_few_pages_each(conn: Connection) -> None:
    blocked = add_endpoints(conn, 2000)
    conn.execute("update svc.webhook_endpoints set status = 'paused'")
    add_due(conn, blocked, 5)
    [open_one] = add_endpoints(conn, 1)
    add_due(conn, [open_one], 5)
    assert scalar(conn, "select count(*) from svc.webhook_claim('worker', 100)") == 5
    nothing = settled_cost(conn, "select * from svc.webhook_claim('worker', 100)")
    assert not nothing.scanned
    assert nothing.pages < 20 * len(blocked)
    conn.execute("select set_config('test.after', %s, false)", (str(blocked[400]),))
    elsewhere = settled_cost(
        conn, "select * from svc.webhook_claim('worker', 100, current_setting('test.after')::uuid)"
    )
    assert elsewhere.pages < 1.1 * nothing.pages


@pytest.mark.parametrize("last", [0, 350, 699])
def test_a_claim_goes_once_round_all_endpoints_wherever_it_begins(conn: Connection, last: int) -> None:
    endpoints = add_endpoints(conn, 700)
    add_due(conn, endpoints, 1)
    claimed = conn.execute(
        "select endpoint_id from svc.webhook_claim('worker', 1000, %s)", (endpoints[last],)
    ).fetchall()
    assert [key for (key,) in claimed] == endpoints[last + 1 :] + endpoints[: last + 1]
