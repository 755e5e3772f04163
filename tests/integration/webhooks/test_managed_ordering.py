"""Whatever workers and people do to deliveries with keys, none overtakes another of its key, and none is stuck."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from svc_pg.database.query import Query, fetch
from svc_pg.errors import ConflictError
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import new_database
from tests.support.queue import end_leases, misplaced

CONFIG = hooks_config("order.created")
URL: Final = "http://127.0.0.1:9/hook"
ACTIONS: Final = (
    *("send", "send", "claim", "claim", "claim", "delivered", "retry", "failed", "failed", "gone", "released", "lose"),
    *("wait", "try again", "try again", "cancel", "pause", "resume", "resume", "disable"),
)

# Of a key: one that was just claimed, and another under way, an earlier one that waits, or one that blocks it
OVERTAKEN: Final = """
select d.id
  from svc.webhook_leases l
  join svc.webhook_endpoints e on e.id = l.endpoint_id
  join svc.webhook_keys k on k.id = l.key_id
  join svc.webhook_messages m on m.key = k.key
  join svc.webhook_deliveries d on d.message_id = m.id and d.endpoint_id = e.id and d.id <> l.delivery_id
 where l.lease_id = any(%s)
   and (m.sequence < l.sequence and (d.status = 'pending' or d.status = 'failed' and e.ordering = 'strict')
        or exists (select from svc.webhook_leases o where o.delivery_id = d.id and o.lease_until > now()))
"""
STUCK: Final = """
select d.id
  from svc.webhook_deliveries d
  join svc.webhook_endpoints e on e.id = d.endpoint_id
  join svc.webhook_messages m on m.id = d.message_id
 where d.status = 'pending' and not (e.ordering = 'strict' and exists (
     select from svc.webhook_deliveries f join svc.webhook_messages n on n.id = f.message_id
      where f.endpoint_id = d.endpoint_id and f.status = 'failed' and n.key = m.key and n.sequence < m.sequence))
"""
CLEAR: Final = """
delete from svc.webhook_queue; delete from svc.webhook_leases; delete from svc.webhook_blocks;
delete from svc.webhook_freed; delete from svc.webhook_delivery_attempts; delete from svc.webhook_deliveries;
delete from svc.webhook_messages
"""
WAIT: Final = """
update svc.webhook_endpoint_state set breaker_until = now() where breaker_until > now();
with waiting as (
    update svc.webhook_deliveries set next_attempt_at = now() where next_attempt_at > now() returning id
)
update svc.webhook_queue q
   set next_attempt_at = now(), lane = case q.lane when 'later' then 'due' else q.lane end
  from waiting w where q.delivery_id = w.id
"""

Connection = psycopg.Connection[Any]
Held = list[tuple[UUID, UUID]]


@pytest.fixture(scope="module")
def db(postgres: str, module_template: str) -> Iterator[Connection]:
    with new_database(postgres, template=module_template) as conninfo:
        for ordering in ("key", "strict"):
            endpoint(conninfo, CONFIG, URL, ordering=ordering, max_in_flight=3)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            yield conn


@settings(
    max_examples=settings().max_examples // 2,  # of many steps each
    phases=[Phase.explicit, Phase.generate],  # to shrink takes longer than a test may
)
@given(steps=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9)), min_size=20, max_size=30))
def test_nothing_overtakes_in_its_key_and_nothing_is_stuck(db: Connection, steps: list[tuple[str, int]]) -> None:
    receivers = [each.id for each in endpoints.query().list(db)]
    resume(db, receivers)
    db.execute(CLEAR)
    held: Held = []
    for action, number in steps:
        match action:
            case "send":
                keys = ["a", "ab", "aba", "b"][number % 4]
                delay = "1 hour" if number > 7 else "0"
                payloads = ["{}"] * len(keys)
                query = "select svc.send_many('order.created', %s::json[], keys => %s, delay => %s)"
                db.execute(query, (payloads, list(keys), delay))
            case "claim":
                held += claim(db, number + 1)
            case "lose":
                end_leases(db, [key for key, _ in held[:number]])
            case "wait":
                db.execute(WAIT)
            case "try again":
                change(db, deliveries.retry, number)
            case "cancel":
                change(db, deliveries.cancel, number)
            case "pause" | "resume" | "disable":
                with suppress(ConflictError):  # a disabled one cannot be paused
                    fetch(db, getattr(endpoints, action)(receivers[number % 2]))
            case _ if held:
                acknowledge(db, [held.pop(number % len(held))], action)
    assert misplaced(db) == []
    resume(db, receivers)
    end_leases(db)
    acknowledge(db, claim(db, 100), "delivered")  # it also takes back what was lost, which then waits
    db.execute(WAIT)
    while claimed := claim(db, 100):
        acknowledge(db, claimed, "delivered")
        db.execute(WAIT)
    assert db.execute(STUCK).fetchall() == []


def claim(conn: Connection, batch: int) -> Held:
    claimed = conn.execute("select delivery_id, lease_id from svc.webhook_claim('worker', %s)", (batch,)).fetchall()
    assert conn.execute(OVERTAKEN, ([lease for _, lease in claimed],)).fetchall() == []
    return [(key, lease) for key, lease in claimed if lease is not None]


def acknowledge(conn: Connection, claimed: Held, disposition: str) -> None:
    outcome = "success" if disposition == "delivered" else "http_error"
    count = len(claimed)
    conn.execute(
        "select svc.webhook_acknowledge(%s, %s, %s, %s::float8[], %s, '{}', '{}', %s::integer[], '{}', '{}', '{}')",
        (
            [key for key, _ in claimed],
            [lease for _, lease in claimed],
            [disposition] * count,
            [60.0] * count,
            [outcome] * count,
            [5] * count,
        ),
    )


def change(conn: Connection, query: Callable[[str], Query[Any]], number: int) -> None:
    """Change one of the deliveries, if its state allows that."""
    found = conn.execute("select id::text from svc.webhook_deliveries order by id").fetchall()
    if found:
        with suppress(ConflictError):
            fetch(conn, query(found[number % len(found)][0]))


def resume(conn: Connection, receivers: Sequence[str]) -> None:
    for receiver in receivers:
        fetch(conn, endpoints.resume(receiver))
