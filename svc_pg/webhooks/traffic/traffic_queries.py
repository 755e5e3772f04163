"""The traffic of webhooks over time: the deliveries sent, their results, and the duration of attempts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final, Literal, get_args

from svc_pg.database.pagination import PointInTime
from svc_pg.database.query import Query
from svc_pg.errors import QueryError
from svc_pg.formats import durations
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.field_docs import (
    DELIVERED,
    ENDPOINT_ID,
    FAILED,
    FAILED_ATTEMPTS,
    IS_ESTIMATE,
    LATE,
    MEDIAN,
    P95,
    SENT,
)
from svc_pg.webhooks.ids import filter_key
from svc_pg.webhooks.traffic.traffic_samples import ACTIVITY, TRAFFIC

Step = Literal["minute", "hour", "day"]

STEPS: Final[tuple[Step, ...]] = get_args(Step)
MOST_BUCKETS: Final = 400
MOST_ENDPOINTS: Final = 100
MOST_HOURS: Final = 48

_LENGTHS: Final[dict[Step, timedelta]] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
_PERIODS: Final[dict[Step, timedelta]] = {
    "minute": timedelta(hours=1),
    "hour": timedelta(days=1),
    "day": timedelta(days=7),
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STRETCHES: Final = 120
_DELIVERIES: Final = 12_000  # read by one statement
_COUNTED: Final = 100_000  # of the others, in an index
_TIMED: Final = 1_500  # of these, with up to two attempts each


@dataclass(frozen=True, slots=True)
class Now:
    """The database's time."""

    time: datetime


@dataclass(frozen=True, slots=True)
class TrafficBucket:
    """The deliveries sent in a bucket of time, in their present states.

    A delivery is late if an attempt has failed, or none began within a minute.
    """

    at: Annotated[datetime, Doc("The beginning of the bucket.")]
    sent: Annotated[int, SENT]
    delivered: Annotated[int, DELIVERED]
    failed: Annotated[int, FAILED]
    late: Annotated[int, LATE]
    failed_attempts: Annotated[int, FAILED_ATTEMPTS]

    @property
    def come(self) -> int:
        """The number of deliveries that are delivered, failed or late."""
        return self.delivered + self.failed + self.late


@dataclass(frozen=True, slots=True)
class TimedTrafficBucket(TrafficBucket):
    """As TrafficBucket, with the durations of the attempts."""

    p50: Annotated[float | None, MEDIAN]
    p95: Annotated[float | None, P95]


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of a time, in all and bucket by bucket. The durations always come from a sample."""

    by: Annotated[Step, Doc("The length of a bucket.")]
    since: Annotated[datetime, Doc("The beginning.")]
    until: Annotated[datetime, Doc("The end.")]
    sent: Annotated[int, SENT]
    delivered: Annotated[int, DELIVERED]
    failed: Annotated[int, FAILED]
    late: Annotated[int, LATE]
    failed_attempts: Annotated[int, FAILED_ATTEMPTS]
    success_rate: Annotated[
        float | None,
        Doc("The share of delivered ones among those delivered, failed or late; null if there is none.", 0.975),
    ]
    p50: Annotated[float | None, MEDIAN]
    p95: Annotated[float | None, P95]
    is_estimate: Annotated[
        bool, Doc("True if the numbers come from a sample of each bucket; `sent` is exact up to 100,000.")
    ]
    buckets: Annotated[Sequence[TimedTrafficBucket], Doc("The traffic bucket by bucket, oldest first.")]


@dataclass(frozen=True, slots=True)
class EndpointActivity:
    """The traffic of one endpoint."""

    endpoint_id: Annotated[str, ENDPOINT_ID]
    hours: Annotated[Sequence[TrafficBucket], Doc("Its traffic hour by hour, oldest first.")]
    is_estimate: Annotated[bool, IS_ESTIMATE]


def now() -> Query[Now]:
    """The database's time, the ``now`` of ``traffic`` and ``activity``."""
    return Query("select now() as time", (), Now)


def traffic(
    *,
    now: datetime,
    by: str = "hour",
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    endpoint: str | None = None,
) -> Query[Traffic]:
    """The traffic from ``since`` until ``until``, by minute, hour or day in UTC; to all endpoints, or to one.

    Default: the last hour by minute, the last day by hour, the last week by day. A bucket that ``since`` cuts counts as
    a whole. At most 400 buckets. Reads at most 15,000 rows, beside the attempts of deliveries that were retried by
    hand, and counts at most 100,000 others. Raises QueryError.
    """
    if by not in STEPS:
        raise QueryError(f"{by!r} is not a step", hint=f"Write one of {', '.join(STEPS)}.")
    length = _LENGTHS[by]
    first = _beginning(_time(_PERIODS[by] if since is None else since, now), length)
    until = now if until is None else min(_time(until, now), now)
    buckets = -((first - until) // length)
    if not 0 < buckets <= MOST_BUCKETS:
        raise QueryError(f"there are {max(buckets, 0)} {by}s in that time", hint=f"Ask for 1 to {MOST_BUCKETS}.")
    parts = max(_STRETCHES // buckets, 1)
    parameters = {
        "first": first,
        "until": until,
        "length": length,
        "buckets": buckets,
        "parts": parts,
        "most": _DELIVERIES // (buckets * parts),
        "timed": _TIMED // (buckets * parts),
        "counted": _COUNTED,
        "endpoints": [None if endpoint is None else filter_key(endpoint)],
    }
    return Query(TRAFFIC, parameters, partial(_traffic, by, first, until))


def activity(endpoints: Sequence[str], *, now: datetime, hours: int = 24) -> Query[EndpointActivity]:
    """The traffic of each of up to 100 endpoints in the last hours, 48 at most. Raises QueryError.

    Endpoints that do not exist are left out.
    """
    if not 1 <= hours <= MOST_HOURS:
        raise QueryError(f"{hours} hours are not acceptable", hint=f"Ask for 1 to {MOST_HOURS}.")
    if not 1 <= len(endpoints) <= MOST_ENDPOINTS:
        raise QueryError(f"{len(endpoints)} endpoints are not acceptable", hint=f"Name 1 to {MOST_ENDPOINTS}.")
    length = _LENGTHS["hour"]
    parameters = {
        "first": _beginning(now, length) - (hours - 1) * length,
        "until": now,
        "length": length,
        "buckets": hours,
        "parts": 1,
        "most": max(_DELIVERIES // (len(endpoints) * hours), 5),
        "timed": 0,
        "counted": _COUNTED,
        "endpoints": list({filter_key(each) for each in endpoints}),
    }
    return Query(ACTIVITY, parameters, _activity)


def _time(point: PointInTime, now: datetime) -> datetime:
    if isinstance(point, datetime) and point.tzinfo is None:
        raise QueryError(f"{point} has no time zone", hint="Write datetime.now(UTC), or value.replace(tzinfo=...).")
    try:
        return point.astimezone(UTC) if isinstance(point, datetime) else now - durations.parse(point)
    except (ValueError, OverflowError) as error:
        raise QueryError(f"{point} is not a time", hint="Pass an aware datetime, or a duration.") from error


def _beginning(time: datetime, length: timedelta) -> datetime:
    """The beginning, in UTC, of the bucket with this time."""
    return _EPOCH + (time - _EPOCH) // length * length


def _traffic(
    by: Step,
    since: datetime,
    until: datetime,
    *,
    p50: float | None,
    p95: float | None,
    is_estimate: bool,
    p50s: Sequence[float | None],
    p95s: Sequence[float | None],
    **counts: Any,
) -> Traffic:
    buckets = [
        TimedTrafficBucket(each.at, each.sent, each.delivered, each.failed, each.late, each.failed_attempts, half, most)
        for each, half, most in zip(_sent(**counts), p50s, p95s, strict=True)
    ]
    delivered, come = sum(each.delivered for each in buckets), sum(each.come for each in buckets)
    return Traffic(
        by=by,
        since=since,
        until=until,
        sent=sum(each.sent for each in buckets),
        delivered=delivered,
        failed=sum(each.failed for each in buckets),
        late=sum(each.late for each in buckets),
        failed_attempts=sum(each.failed_attempts for each in buckets),
        success_rate=delivered / come if come else None,
        p50=p50,
        p95=p95,
        is_estimate=is_estimate,
        buckets=buckets,
    )


def _activity(*, endpoint_id: str, is_estimate: bool, **counts: Any) -> EndpointActivity:
    return EndpointActivity(endpoint_id, _sent(**counts), is_estimate)


def _sent(
    *,
    at: Sequence[datetime],
    sent: Sequence[int],
    delivered: Sequence[int],
    failed: Sequence[int],
    late: Sequence[int],
    failed_attempts: Sequence[int],
) -> list[TrafficBucket]:
    return [TrafficBucket(*each) for each in zip(at, sent, delivered, failed, late, failed_attempts, strict=True)]
