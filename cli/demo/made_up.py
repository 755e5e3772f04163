"""Give messages, deliveries and attempts of the demo their times in the past, and their results."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any, Final
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Json

from .answers import Answers, Receiver, Result

_MADE_UP: Final = """
create temporary table made_up_message (old_id uuid, id uuid, at timestamptz) on commit drop;
create temporary table made_up_delivery (
    old_id uuid, id uuid, message_id uuid, endpoint_id uuid, status text, attempts integer, at timestamptz,
    next_attempt_at timestamptz, finished_at timestamptz, last_status_code integer
) on commit drop;
create temporary table made_up_attempt (
    delivery_id uuid, endpoint_id uuid, attempt integer, started_at timestamptz, duration_ms integer, outcome text,
    status_code integer, response_headers json, response_body text
) on commit drop
"""
# Ids begin with a time, so those of the past are others; nothing but the rows below knows them
_TO_THE_PAST: Final = (
    """
    update svc.webhook_messages m set id = x.id, created_at = x.at from made_up_message x where m.id = x.old_id
    """,
    """
    update svc.webhook_deliveries d
       set id = x.id, message_id = x.message_id, status = x.status, attempts = x.attempts, created_at = x.at,
           updated_at = coalesce(x.finished_at, x.at), next_attempt_at = x.next_attempt_at, finished_at = x.finished_at,
           failure = nullif(nullif(x.status, 'pending'), 'delivered'), last_status_code = x.last_status_code
      from made_up_delivery x where d.id = x.old_id
    """,
    """
    delete from svc.webhook_queue q using made_up_delivery x where q.delivery_id = x.old_id and x.status <> 'pending'
    """,
    """
    update svc.webhook_queue q
       set delivery_id = x.id, next_attempt_at = x.next_attempt_at,
           lane = case when x.next_attempt_at > now() then 'later'::svc.webhook_lane else 'due' end
      from made_up_delivery x where q.delivery_id = x.old_id
    """,
    """
    insert into svc.webhook_delivery_attempts (
        delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome, status_code, response_headers,
        response_body, remote_ip, worker
    )
    select delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome, status_code, response_headers,
           response_body, '203.0.113.10', 'worker-1'
      from made_up_attempt order by started_at
    """,
    """
    update svc.webhook_endpoint_state s
       set last_success_at = x.success_at, last_failure_at = x.failure_at,
           last_failure = 'the endpoint answered ' || x.failure_code,
           failure_streak = x.streak, failing_since = case when x.streak > 0 then x.failing_since end,
           outage_since = case when x.streak >= 10 then x.failing_since end,
           outage_told_at = case when x.streak >= 10 then x.failing_since + interval '3 minutes' end
      from (
        select a.endpoint_id, l.success_at, max(a.started_at) filter (where a.outcome <> 'success') as failure_at,
               max(a.status_code) filter (where a.outcome <> 'success') as failure_code,
               count(*) filter (where a.outcome <> 'success' and a.started_at > l.success_at)::integer as streak,
               min(a.started_at) filter (where a.started_at > l.success_at) as failing_since
          from made_up_attempt a
          join (
            select endpoint_id, max(started_at) filter (where outcome = 'success') as success_at
              from made_up_attempt group by endpoint_id
          ) l on l.endpoint_id = a.endpoint_id
         group by a.endpoint_id, l.success_at
      ) x where s.endpoint_id = x.endpoint_id
    """,
)
_BREAKER: Final = """
update svc.webhook_endpoint_state set breaker_until = %s, breaker_count = %s where failure_streak >= 10
"""
_DELIVERIES: Final = """
select d.id, d.message_id, d.endpoint_id from svc.webhook_deliveries d
 where d.message_id = any (%s) order by d.message_id, d.endpoint_id
"""
_ADD_MESSAGE: Final = "insert into made_up_message values (%s, %s, %s)"
_ADD_DELIVERY: Final = "insert into made_up_delivery values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_ADD_ATTEMPT: Final = "insert into made_up_attempt values (%s, %s, %s, %s, %s, %s, %s, %s, %s)"


def make_up(
    conn: Connection[Any], sent: Sequence[tuple[UUID, datetime]], receivers: Mapping[UUID, Receiver], now: datetime
) -> None:
    """Move the ``sent`` messages to their times, with answers of ``receivers``, by the ids of their endpoints."""
    draw = Random(4471)  # noqa: S311 - no secrets, and each run draws the same
    moved = {message: (_id(at, draw), at) for message, at in sent}
    found = conn.execute(_DELIVERIES, [list(moved)]).fetchall()
    found.sort(key=lambda row: moved[row[1]][1])
    results, failed = Answers(now).to([(receivers[endpoint], moved[message][1]) for _, message, endpoint in found])
    deliveries: list[tuple[object, ...]] = []
    attempts: list[tuple[object, ...]] = []
    for (old_id, message, endpoint), result in zip(found, results, strict=True):
        message_id, at = moved[message]
        delivery = _id(at, draw)
        deliveries.append((old_id, delivery, message_id, endpoint, *_state(result, at)))
        attempts += _attempts(delivery, endpoint, result)
    with conn.transaction(), conn.cursor() as cursor:
        cursor.execute("set local session_replication_role = replica")  # the operator has changed no endpoint now
        cursor.execute(_MADE_UP)
        cursor.executemany(_ADD_MESSAGE, [(old, new, at) for old, (new, at) in moved.items()])
        cursor.executemany(_ADD_DELIVERY, deliveries)
        cursor.executemany(_ADD_ATTEMPT, attempts)
        for statement in _TO_THE_PAST:
            cursor.execute(statement)
        cursor.execute(_BREAKER, (failed.breaker_until, failed.breaker_count))


def _id(at: datetime, draw: Random) -> UUID:
    """A UUID version 7 of that time."""
    value = int(at.timestamp() * 1000) << 80 | draw.getrandbits(80)
    return UUID(int=value & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62)


def _state(result: Result, at: datetime) -> tuple[object, ...]:
    last = result.attempts[-1] if result.attempts else None
    finished_at = None if result.status == "pending" else (last.ended_at if last else at)
    status_code = None if last is None else last.status_code
    return result.status, len(result.attempts), at, result.next_attempt_at, finished_at, status_code


def _attempts(delivery: UUID, endpoint: UUID, result: Result) -> list[tuple[object, ...]]:
    return [
        (
            delivery,
            endpoint,
            number,
            each.started_at,
            each.duration_ms,
            each.outcome,
            each.status_code,
            Json({"content-type": each.content_type, "server": each.server}),
            each.body,
        )
        for number, each in enumerate(result.attempts, 1)
    ]
