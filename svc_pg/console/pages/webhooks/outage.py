"""The page of an endpoint's outage: since when it fails, its answers, its attempts over time, and what waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from svc_pg.console.built_in.webhook_bulk import StatusCount
from svc_pg.console.pages import calendar
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.charts import Span, TimeLine, time_line
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.webhooks.deliveries import Row, rows
from svc_pg.database.pagination import Page
from svc_pg.formats.json_writer import timestamp
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.endpoints.outages import EndpointOutage, OutageAttempt

SINCE: Final = "finishedSince"
"""The parameter of the address: the time since which deliveries failed that would be sent again."""
SHOWN: Final = 5
"""The deliveries that the page shows of those that would be sent again."""

_LEAD: Final = 0.12
_TAIL: Final = 0.02
_LEAST: Final = timedelta(minutes=1)
_HIGHEST: Final = 24  # of the line of a success, which is as high as it took long


@dataclass(frozen=True, slots=True)
class Point:
    """An attempt on the line, at a place in percent: a success with its height, a refusal, or no answer."""

    x: float
    kind: str
    height: int


@dataclass(frozen=True, slots=True)
class OutageLine:
    """The line over time; ``now``, ``next`` and ``over`` are places, or None if they are not on it."""

    axis: TimeLine
    points: Sequence[Point]
    holds: Sequence[Span]
    now: float
    next: float | None
    over: float | None


@dataclass(frozen=True, slots=True)
class SendAgain:
    """The deliveries that would be sent again: their filters, number and latest; None if they are too many to count.

    ``since`` is None if the endpoint has never failed; ``problem`` says why another time than asked for is meant.
    """

    since: datetime | None
    typed: str
    problem: str
    filters: Mapping[str, str]
    count: int | None
    is_complete: bool
    rows: Sequence[Row]


async def outage_page(request: PageRequest) -> Answer:
    """The last outage of one endpoint, while it lasts and afterwards."""
    endpoint = await request.api.get(Endpoint, "webhooks", "endpoints", request.params["id"])
    outage = await request.api.get(EndpointOutage, "webhooks", "endpoints", endpoint.id, "outage")
    again = await _send_again(request, outage)
    values = {
        "endpoint": endpoint,
        "outage": outage,
        "line": drawn(outage),
        "lasted": lasted(outage),
        "next_at": next_attempt(endpoint, outage),
        "again": again,
        "summaries": await _summaries(request, outage),
    }
    return Html("outage", values, 422 if again.problem else 200)


async def _summaries(request: PageRequest, outage: EndpointOutage) -> Mapping[str, str]:
    """The messages of the first and the last answer in a few words, by delivery."""
    ids = sorted({each.delivery_id for each in (outage.first_answer, outage.last_answer) if each is not None})
    if not ids:
        return {}
    found = await request.api.get(Page[Delivery], "webhooks", "deliveries", query={"ids": ",".join(ids)})
    return {row.delivery.id: row.summary for row in await rows(request, found.data)}


async def _send_again(request: PageRequest, outage: EndpointOutage) -> SendAgain:
    """Those that failed since the time of the address, or else since the outage began, until now; none that fail later.

    Without a time of the address the outage has counted them.
    """
    typed = request.query.get(SINCE, "")[: calendar.LONGEST]
    asked, problem = _asked(typed)
    since = asked or outage.since
    shown = typed if problem else calendar.field([timestamp(since)]) if since else ""
    if since is None:
        return SendAgain(None, shown, problem, {}, 0, is_complete=True, rows=[])
    filters = again_filters(outage, since)
    count, is_complete = (
        (outage.failed, outage.is_failed_complete) if asked is None else await _counted(request, filters)
    )
    found: Page[Delivery] = Page([], None)
    if count != 0:
        query = {**filters, "limit": str(SHOWN)}
        found = await request.api.get(Page[Delivery], "webhooks", "deliveries", query=query)
    return SendAgain(since, shown, problem, filters, count, is_complete, await rows(request, found.data))


def _asked(typed: str) -> tuple[datetime | None, str]:
    """The time of the address, None if it has none that can be read; and then the reason."""
    try:
        return calendar.point(typed), ""
    except ValueError as error:
        return None, str(error)


async def _counted(request: PageRequest, filters: Mapping[str, str]) -> tuple[int | None, bool]:
    query = {name: value for name, value in filters.items() if name != "status"}
    counts = await request.api.get(list[StatusCount], "webhooks", "deliveries", "counts", query=query)
    return next((each.count, each.is_complete) for each in counts if each.status == filters["status"])


def again_filters(outage: EndpointOutage, since: datetime) -> dict[str, str]:
    """The filters of the deliveries that failed since then until the answer about the outage."""
    return {
        "status": "failed",
        "endpointId": outage.endpoint_id,
        "finishedSince": timestamp(since),
        "finishedUntil": timestamp(max(outage.at, since)),
    }


def next_attempt(endpoint: Endpoint, outage: EndpointOutage) -> datetime | None:
    """The time at which workers try it again by themselves; None if nothing waits, or it is not active."""
    if endpoint.status != "active" or outage.next_attempt_at is None:
        return None
    held = (outage.breaker_until, outage.throttled_until, outage.next_attempt_at, outage.at)
    return max(each for each in held if each is not None)


def lasted(outage: EndpointOutage) -> str:
    """The length of the outage so far, or of all of it, in its two largest units; empty if there is none."""
    if outage.since is None:
        return ""
    seconds = int(((outage.until or outage.at) - outage.since).total_seconds())
    if seconds < 60:
        return f"{seconds} sec" if seconds > 0 else "less than 1 sec"
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    parts = [(days, "day" if days == 1 else "days"), (hours, "hr"), (minutes, "min")]
    return " ".join([f"{number} {unit}" for number, unit in parts if number][:2])


def drawn(outage: EndpointOutage) -> OutageLine | None:
    """The attempts over time with the breaker's steps; None if no attempt is kept."""
    if not outage.attempts:
        return None
    axis = _axis(outage)
    until = outage.until or outage.at
    ahead = outage.breaker_until or outage.throttled_until
    return OutageLine(
        axis,
        [_point(axis, each) for each in outage.attempts if each.started_at >= axis.begins],
        [
            axis.span(each.since, min(each.until, until) if outage.until else each.until)
            for each in outage.steps
            if each.since <= until
        ],
        axis.at(outage.at),
        axis.at(ahead) if ahead and not outage.until else None,
        axis.at(outage.until) if outage.until else None,
    )


def _axis(outage: EndpointOutage) -> TimeLine:
    """From a little before the outage, or else from the first attempt, to a little after it, or to the next try."""
    first, at = outage.attempts[0].started_at, outage.at
    if outage.since is None:
        return time_line(first, at)
    began = outage.since if outage.first_answer is None else min(outage.since, outage.first_answer.started_at)
    length = max((outage.until or at) - began, _LEAST)
    ends = max(at, outage.breaker_until or at, outage.throttled_until or at)
    if outage.until:
        ends = min(at, outage.until + length / 4)
    return time_line(began - _LEAD * length, ends + _TAIL * length)


def _point(axis: TimeLine, attempt: OutageAttempt) -> Point:
    if attempt.outcome == "success":
        return Point(axis.at(attempt.started_at), "v", min(_HIGHEST, 6 + (attempt.duration_ms or 0) // 100))
    return Point(axis.at(attempt.started_at), "x" if attempt.status_code else "o", 0)
