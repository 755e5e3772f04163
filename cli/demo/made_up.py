"""Give messages, deliveries and attempts of the demo their times in the past, and their results."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any, Final
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Json

from svc_pg.database.statements import statement

from .answers import Answers, Receiver, Result

_MADE_UP: Final = statement("demo/made_up.sql")
_TO_THE_PAST: Final = statement("demo/to_the_past.sql")
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
        cursor.execute(_TO_THE_PAST)
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
