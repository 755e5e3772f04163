"""Whatever workers, senders and people do in whatever order, every delivery is in the state that the model says."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from psycopg import sql

from svc_pg.database.performing import run
from svc_pg.database.query import Query, fetch, scalar
from svc_pg.errors import ConflictError, NotFoundError, SvcError
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from tests.support.delivery_model import Delivery, Endpoint, Model
from tests.support.hooks import endpoint, hooks_config
from tests.support.queue import end_leases, misplaced, postpone

CONFIG = hooks_config("order.created")
WORKERS = 3
MAX_ATTEMPTS = 2
TABLES = tuple(
    f"webhook_{name}" for name in ("endpoints", "queue", "leases", "deliveries", "messages", "delivery_attempts")
)

ACTIONS = (
    *("send", "send", "claim", "claim", "claim", "claim", "acknowledge", "acknowledge", "acknowledge", "lose a worker"),
    *("lose a worker", "wait", "retry", "cancel", "pause", "resume", "disable", "delete", "recover"),
)
STATUS_AFTER = {"pause": "paused", "resume": "active", "disable": "disabled"}

Connection = psycopg.Connection[Any]
Claimed = tuple[Delivery, UUID]


class Queue(RuleBasedStateMachine):
    """The database and its model, side by side."""

    conninfo: str

    @initialize(limits=st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0, 9])), min_size=2, max_size=4))
    def start(self, limits: list[tuple[int, int]]) -> None:
        """Some endpoints are one failure away from an open breaker."""
        self.model = Model()
        self.db = [psycopg.connect(self.conninfo, autocommit=True) for _ in range(WORKERS)]
        self.conn = self.db[0]
        self.held: list[Claimed] = []  # by some worker, which may not know yet that it has lost it
        for table in TABLES:
            self.conn.execute(sql.SQL("delete from svc.{}").format(sql.Identifier(table)))
        for number, (limit, streak) in enumerate(limits, start=1):
            key = UUID(int=number)
            self.conn.execute(
                """with e as (insert into svc.webhook_endpoints (id, url, events, secret, max_in_flight)
                              values (%s, 'http://127.0.0.1:9', '{*}', '', %s) returning id)
                   insert into svc.webhook_endpoint_state (endpoint_id, failure_streak, failing_since)
                   select id, %s, case when %s > 0 then now() end from e""",
                (key, limit, streak, streak),
            )
            self.model.endpoints[key] = Endpoint(key, limit, streak=streak)

    def teardown(self) -> None:
        for conn in getattr(self, "db", []):
            conn.close()

    # One rule, because Hypothesis leaves rules out at random, and it takes all of these together to get anywhere
    @rule(action=st.sampled_from(ACTIONS), worker=st.integers(0, WORKERS - 1), data=st.data())
    def act(self, action: str, worker: int, data: st.DataObject) -> None:
        under_way = [delivery for delivery in self.model.deliveries.values() if delivery.is_under_way]
        endpoint_id = st.sampled_from(list(self.model.endpoints))
        if action == "send":
            self.send(is_late=data.draw(st.booleans()))
        elif action == "claim":
            self.claim(self.db[worker], data.draw(st.integers(1, 6)), data.draw(endpoint_id | st.none()))
        elif action == "acknowledge" and self.held:
            chosen = data.draw(st.lists(st.sampled_from(self.held), min_size=1, unique_by=lambda held: held[0].id))
            self.acknowledge(self.db[worker], [(*held, data.draw(dispositions(held[0]))) for held in chosen])
        elif action == "lose a worker" and under_way:
            self.end_the_lease_of(data.draw(st.sampled_from(under_way)))
        elif action == "wait":
            self.let_an_hour_pass()
        elif action in ("retry", "cancel") and self.model.deliveries:
            self.change_delivery(data.draw(st.sampled_from(list(self.model.deliveries.values()))), action)
        elif action in ("pause", "resume", "disable", "delete", "recover"):
            self.change_endpoint(self.model.endpoints[data.draw(endpoint_id)], action)

    def send(self, *, is_late: bool) -> None:
        moment = None if is_late else self.model.now()
        delay = "1 hour" if is_late else "0"
        message = scalar(self.conn, "select svc.send('order.created', '{}', delay => %s)", (delay,))
        created = self.conn.execute(
            "update svc.webhook_deliveries set max_attempts = %s where message_id = %s returning id, endpoint_id",
            (MAX_ATTEMPTS, message),
        ).fetchall()
        assert {key for _, key in created} == {endpoint.id for endpoint in self.model.receivers()}
        for key, endpoint_id in sorted(created, key=lambda row: row[1]):  # in an order that does not depend on chance
            self.model.deliveries[key] = Delivery(key, self.model.endpoints[endpoint_id], moment, MAX_ATTEMPTS)

    def claim(self, conn: Connection, batch: int, after: UUID | None) -> None:
        expected = {
            delivery.id: delivery.counted + 1 if delivery.is_under_way else delivery.attempts
            for delivery in self.model.claim(batch=batch, after=after)
        }
        claimed = conn.execute(
            "select delivery_id, attempt, lease_id from svc.webhook_claim('worker', %s, %s, '1 hour')", (batch, after)
        ).fetchall()
        assert {key: attempt for key, attempt, _ in claimed} == expected
        leases = {key: lease for key, _, lease in claimed}
        for delivery in [each for each in self.model.deliveries.values() if each.id in leases]:
            lease = leases[delivery.id]
            assert (lease is not None) is delivery.is_under_way
            if lease:
                delivery.lease = lease
                self.held.append((delivery, lease))

    def acknowledge(self, conn: Connection, answers: list[tuple[Delivery, UUID, str]]) -> None:
        self.held = [held for held in self.held if held not in [(delivery, lease) for delivery, lease, _ in answers]]
        arrays = (
            [delivery.id for delivery, _, _ in answers],
            [lease for _, lease, _ in answers],
            [disposition.removesuffix(" at once") for _, _, disposition in answers],
            [3600.0 if disposition in ("retry", "throttled") else 0.0 for _, _, disposition in answers],
            ["success" if disposition == "delivered" else "http_error" for _, _, disposition in answers],
            [7] * len(answers),
        )
        accepted = scalar(
            conn,
            """select accepted from svc.webhook_acknowledge(
                %s::uuid[], %s::uuid[], %s::text[], %s::float8[], %s::text[], '{}', '{}', %s::integer[],
                '{}', '{}', '{}')""",
            arrays,
        )
        assert set(accepted) == self.model.acknowledge(answers)

    def end_the_lease_of(self, delivery: Delivery) -> None:
        delivery.is_under_way = False
        end_leases(self.conn, [delivery.id])

    def let_an_hour_pass(self) -> None:
        """For waits and breakers, not for leases."""
        moment = self.model.now()
        for delivery in self.model.deliveries.values():
            if delivery.waits_for_its_time:
                delivery.due = moment
        for chosen in self.model.endpoints.values():
            if chosen.breaker == "open":
                chosen.breaker = "half-open"
            chosen.is_throttled = False
        postpone(self.conn, timedelta(0), "d.next_attempt_at > now()")
        for each in ("breaker_until", "throttled_until"):
            end = "update svc.webhook_endpoint_state set {0} = now() where {0} > now()"
            self.conn.execute(sql.SQL(end).format(sql.Identifier(each)))

    def change_endpoint(self, chosen: Endpoint, action: str) -> None:
        query = getattr(deliveries if action == "recover" else endpoints, action)(str(chosen.id))
        if chosen.status is None:
            self.refuses(query, NotFoundError)
        elif action in ("recover", "pause") and chosen.is_closed:
            self.refuses(query, ConflictError)
        else:
            match action:
                case "recover":
                    self.model.recover(chosen)
                case "delete":
                    self.model.delete(chosen)
                case _:
                    self.model.set_status(chosen, STATUS_AFTER[action])
            self.perform(query)

    def change_delivery(self, chosen: Delivery, action: str) -> None:
        query = getattr(deliveries, action)(str(chosen.id))
        if getattr(self.model, action)(chosen) == "refused":
            self.refuses(query, ConflictError)
        else:
            fetch(self.conn, query)

    def perform(self, change: Any) -> None:
        if isinstance(change, Query):
            fetch(self.conn, change)
        else:
            run(self.conn, change)

    def refuses(self, change: Any, error: type[SvcError]) -> None:
        with pytest.raises(error):
            self.perform(change)

    @invariant()
    def the_database_says_what_the_model_says(self) -> None:
        found = {
            row[0]: (*row[1:7], sorted(map(tuple, row[7])))
            for row in self.conn.execute(
                """select d.id, d.status, d.attempts, d.lost_attempts, d.throttled_attempts, d.max_attempts, l.lease_id,
                          coalesce((select json_agg(json_build_array(a.attempt, a.cause, a.outcome))
                                      from svc.webhook_delivery_attempts a where a.delivery_id = d.id), '[]')
                     from svc.webhook_deliveries d left join svc.webhook_leases l on l.delivery_id = d.id"""
            )
        }
        assert found == {key: delivery.seen() for key, delivery in self.model.deliveries.items()}

    @invariant()
    def what_is_pending_waits_or_is_under_way_and_nothing_else_does(self) -> None:
        assert misplaced(self.conn) == []

    @invariant()
    def health_is_what_the_model_says(self) -> None:
        found = self.conn.execute(
            """select e.id, e.status, s.failure_streak, s.breaker_count,
                      case when s.breaker_until is null then 'closed' when s.breaker_until > now() then 'open'
                           else 'half-open' end
                 from svc.webhook_endpoints e join svc.webhook_endpoint_state s on s.endpoint_id = e.id"""
        ).fetchall()
        expected = [
            (e.id, e.status, e.streak, e.breaker_count, e.breaker) for e in self.model.endpoints.values() if e.status
        ]
        assert sorted(found) == sorted(expected)

    @invariant()
    def no_endpoint_has_more_under_way_than_it_may(self) -> None:
        for chosen in self.model.endpoints.values():
            assert self.model.under_way(chosen) <= chosen.max_in_flight

    @invariant()
    def every_attempt_is_on_record_or_under_way(self) -> None:
        for delivery in self.model.deliveries.values():
            assert [number for number, _, _ in sorted(delivery.records)] == list(range(1, delivery.attempts + 1))


def dispositions(delivery: Delivery) -> st.SearchStrategy[str]:
    """The results that a worker may give an attempt: it gives up only at the last one."""
    is_last = delivery.is_at_its_last
    failures = ["failed"] if is_last else ["retry", "retry at once"]
    return st.sampled_from(["delivered", *failures, *failures, "gone", "throttled", "released"])


def test_every_delivery_is_in_the_state_that_the_model_says(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9")
    machine = type("Queue", (Queue,), {"conninfo": database})
    run_state_machine_as_test(
        machine,
        settings=settings(
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],  # to shrink takes longer than a test may
            report_multiple_bugs=False,
        ),
    )


@pytest.mark.parametrize(
    "change",
    [
        "status = 'unknown', finished_at = now(), next_attempt_at = null",
        "status = 'unknown', failure = 'unknown', finished_at = now(), next_attempt_at = null",
        "status = 'delivered', finished_at = now()",
        "status = 'delivered', next_attempt_at = null",
        "status = 'failed', finished_at = now(), next_attempt_at = null",
        "failure = 'failed'",
        "attempts = -1",
        "attempts = -1, lost_attempts = -1",
        "lost_attempts = 1",
        "max_attempts = 0",
    ],
)
def test_a_state_that_no_delivery_can_have_is_refused(conn: Connection, change: str) -> None:
    conn.execute(
        "insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts)"
        " values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'order.created', 5)"
    )
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute(f"update svc.webhook_deliveries set {change}".encode())
