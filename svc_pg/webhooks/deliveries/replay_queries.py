"""Queries that deliver messages to an endpoint once more: one statement for each batch."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, LiteralString, get_args
from uuid import UUID

from svc_pg.database.pagination import ALL, PointInTime, aware_time, decode, encode
from svc_pg.database.query import Query
from svc_pg.database.storable_texts import refuse_unstorable
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.ids import endpoint_key

ReplayStatus = Literal["delivered", "failed", "canceled", "missing"]
ReplayBy = Literal["sent", "finished"]

REPLAY_STATUSES: Final[tuple[ReplayStatus, ...]] = get_args(ReplayStatus)
REPLAY_BY: Final[tuple[ReplayBy, ...]] = get_args(ReplayBy)
BATCH: Final = 10_000
_FAILURES: Final = ("failed", "canceled")  # an index has these deliveries of an endpoint, whenever they finished
_CLOCK_DIFFERENCE: Final = 86_400  # seconds that the database's clock may be ahead of this machine's

# A replay ends at the millisecond of its beginning, so later messages and its own copies are no part of it
_SERIES: Final = """, series from (
    select series, (left(series::text, 13) || '-7000-8000-000000000000')::uuid as beginning
      from (select svc.webhook_uuid7() as series offset 0) s
) s"""
_CONTINUE: Final = "select %s::uuid as after, %s::uuid as until, %s::uuid as series"
_REPLAY: Final = (
    "select r.count, r.last_message::text, b.until::text, b.series::text from (",
    """) b cross join lateral svc.webhook_replay(
    %s, %s, %s, b.after, b.until, case when %s then b.series end, %s, %s
) r""",
)
_CONTINUE_FINISHED: Final = "select %s::uuid as after, %s as since, %s as until, %s::uuid as series"
_BEGIN_FINISHED: Final = """select '00000000-0000-0000-0000-000000000000'::uuid as after,
    svc.webhook_uuid7() as series, """
_REPLAY_FINISHED: Final = (
    "select r.count, r.last_delivery::text, b.since, b.until, b.series::text from (",
    """) b cross join lateral svc.webhook_replay_finished(
    %s, %s, %s, b.after, b.since, b.until, case when %s then b.series end, %s, %s
) r""",
)


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The deliveries of one batch of a replay."""

    count: Annotated[int, Doc("The number of deliveries of this batch that wait now, or would.", 240)]
    next_cursor: Annotated[
        str | None, Doc("The value of `after` for the next batch; null after the last one.", "eyJpZCI6N30")
    ]


def replay(
    endpoint_id: str,
    *,
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    event: str | None = None,
    status: str | None = None,
    by: str = "sent",
    new_ids: bool = False,
    dry_run: bool = False,
    after: str | None = None,
    batch: int = BATCH,
) -> Query[ReplayResult]:
    """Deliver messages to an endpoint once more; ``deliveries.ReplayOptions`` describes the options.

    A batch of 0 does nothing, and gives the cursor with which the replay begins.
    """
    key = endpoint_key(endpoint_id)
    refuse_unstorable(event=event)
    if by not in REPLAY_BY:
        raise QueryError(f"{by!r} is no time of a replay", hint=f"Write one of {', '.join(REPLAY_BY)}.")
    is_by_end = by == "finished"
    possible = _FAILURES if is_by_end else REPLAY_STATUSES
    if status is not None and status not in possible:
        known = f"is not a status of a replay by {by}" if status in REPLAY_STATUSES else "is not a status"
        raise QueryError(f"{status!r} {known}", hint=f"Write one of {', '.join(possible)}.")
    bounds, params = (_finished if is_by_end else _sent)(since, until, after)
    statuses = list(possible) if status is None else [status]
    last = (*params, key, statuses, event, new_ids, dry_run, batch)
    if is_by_end:
        return Query(_REPLAY_FINISHED[0] + bounds + _REPLAY_FINISHED[1], last, _replayed_finished)
    return Query(_REPLAY[0] + bounds + _REPLAY[1], last, _replayed)


def _sent(
    since: PointInTime | None, until: PointInTime | None, after: str | None
) -> tuple[LiteralString, tuple[object, ...]]:
    if after is not None:
        return _CONTINUE, tuple(decode(after, UUID, UUID, _begun_series))
    wanted = ALL.compare("select svc.uuid7_at(", _beginning(since), end=") as after")
    if until is None:
        return wanted.conditions[0] + ", beginning as until" + _SERIES, wanted.params
    wanted = wanted.compare("least(svc.uuid7_at(", until, end="), beginning) as until")
    return ", ".join(wanted.conditions) + _SERIES, wanted.params


def _finished(
    since: PointInTime | None, until: PointInTime | None, after: str | None
) -> tuple[LiteralString, tuple[object, ...]]:
    """As ``_sent``; deliveries that fail again after the replay began are left out."""
    if after is not None:
        return _CONTINUE_FINISHED, tuple(decode(after, UUID, aware_time, aware_time, _begun_series))
    wanted = ALL.compare("", _beginning(since), end=" as since")
    if until is None:
        wanted = wanted.where("clock_timestamp() as until")
    else:
        wanted = wanted.compare("least(", until, end=", clock_timestamp()) as until")
    return _BEGIN_FINISHED + ", ".join(wanted.conditions), wanted.params


def _beginning(since: PointInTime | None) -> PointInTime:
    if since is None:
        raise QueryError("a replay needs a beginning", hint="Give since: a time, or a duration before now.")
    return since


def _begun_series(text: str) -> UUID:
    """The series in a cursor. Raises ValueError if it is from the future, because the ids of copies would be too."""
    series = UUID(text)
    if series.int >> 80 > (time.time() + _CLOCK_DIFFERENCE) * 1000:
        raise ValueError(f"{text} has not begun")
    return series


def _replayed(*, count: int, last_message: str | None, until: str, series: str) -> ReplayResult:
    return ReplayResult(count, None if last_message is None else encode((last_message, until, series)))


def _replayed_finished(
    *, count: int, last_delivery: str | None, since: datetime, until: datetime, series: str
) -> ReplayResult:
    if last_delivery is None:
        return ReplayResult(count, None)
    return ReplayResult(count, encode((last_delivery, since.isoformat(), until.isoformat(), series)))
