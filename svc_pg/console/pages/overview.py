"""The page Overview: problems, and the last hour, day or week compared with the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.facets import Facets
from svc_pg.console.built_in.webhook_traffic import QueueState
from svc_pg.console.pages import charts
from svc_pg.console.pages.administration.activity import sentence
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.at_once import both
from svc_pg.console.pages.audit.changes import OPERATIONS, WITH_VALUES, short, twins, who
from svc_pg.console.pages.audit.record_names import name_of
from svc_pg.console.pages.charts import Bars, Lines
from svc_pg.console.pages.figures import figures
from svc_pg.console.pages.formatting import duration
from svc_pg.console.pages.integrity import coverage_counts, facts_of, integrity_of, system_status
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.record_titles import RecordTitles
from svc_pg.console.pages.webhooks.activity import HOURS
from svc_pg.console.pages.webhooks.attention import needing
from svc_pg.console.sessions.event_log import ConsoleEvent
from svc_pg.database.pagination import Page
from svc_pg.webhooks.traffic.traffic_queries import Step, Traffic

Values = Mapping[str, object]

_ROWS: Final = 6


@dataclass(frozen=True, slots=True)
class Period:
    """A time that ends now, in words, and the length of its buckets."""

    word: str
    before: str
    by: Step
    length: timedelta
    bucket: timedelta


PERIODS: Final[Mapping[str, Period]] = {
    "1h": Period("Last hour", "the hour before", "minute", timedelta(hours=1), timedelta(minutes=1)),
    "24h": Period("Last 24 hours", "the 24 before", "hour", timedelta(hours=24), timedelta(hours=1)),
    "7d": Period("Last 7 days", "the 7 before", "day", timedelta(days=7), timedelta(days=1)),
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The charts of the traffic, with the rows of the tables below them."""

    attempts: Bars
    durations: Lines
    labels: Sequence[str]
    attempt_rows: Sequence[Sequence[str]]
    duration_rows: Sequence[Sequence[str | None]]


async def overview_page(request: PageRequest) -> Answer:
    """The page."""
    window = request.choice("window", PERIODS, "24h")
    of_webhooks, of_log = await both(request, _of_webhooks(request, window), _of_log(request, window))
    period = {"periods": PERIODS, "window": window, "period": PERIODS[window]}
    status = await system_status(request)
    facts = facts_of(request, status, await coverage_counts(request)) if request.has_audit else []
    of_integrity = {"integrity": integrity_of(status), "facts": facts}
    return Html("overview", {**of_integrity, **period, **of_webhooks, **of_log})


async def _of_webhooks(request: PageRequest, window: str) -> Values:
    """The figures and charts of webhooks, if there are any."""
    if not request.has_webhooks:
        return {}
    period = PERIODS[window]
    traffic = await _traffic(request, period, since=window)
    before = await _traffic(request, period, since=f"{period.length * 2 // timedelta(hours=1)}h", until=window)
    queue = await request.api.get(QueueState, "webhooks", "backlog")
    return {
        "figures": figures(traffic, before, queue, bucket=period.bucket, at=request.now),
        "traffic": traffic,
        "drawn": _drawn(traffic, period),
        "needing": await needing(request, queue),
        "backlog": queue.backlog,
        "late_since": request.now - timedelta(seconds=queue.backlog.oldest_due_seconds),
        "hours": HOURS,
        "endpoints": queue.backlog.active + queue.backlog.paused + queue.backlog.disabled,
    }


async def _of_log(request: PageRequest, window: str) -> Values:
    """The changes in the log, and the actions in the console. The values are counted of a bounded number of entries.

    Statistics would tell of all entries, but need longer than a page may.
    """
    if not request.has_audit:
        return {"events": await _events(request), "sentence": sentence}
    counted = await request.api.get(Facets, "audit", "facets", query={"since": window, "facet": "resource"})
    tables = next((each.values for each in counted.facets if each.name == "resource"), [])[:_ROWS]
    found = await _changes(request, window)
    return {
        "changes": found,
        "twins": twins(found),
        "counted": counted,
        "tables": [(count, charts.share(count.entries, tables[0].entries)) for count in tables],
        "events": await _events(request),
        "sentence": sentence,
        "title": _title,
        "short": short,
        "who": who,
    }


async def _traffic(request: PageRequest, period: Period, **times: str) -> Traffic:
    return await request.api.get(Traffic, "webhooks", "stats", query={"by": period.by, **times})


async def _changes(request: PageRequest, window: str) -> Sequence[Entry]:
    """The entries that a rule called important, without their snapshots: the most severe first, of each the newest."""
    found: list[Entry] = []
    for severity in ("critical", "high", "medium"):
        if left := _ROWS - len(found):
            query = {"severity": severity, "since": window, "limit": str(left), "fields": WITH_VALUES}
            found += await request.api.get(Page[Entry], "audit", "entries", query=query)
    return found


def _title(entry: Entry, titles: RecordTitles) -> str:
    """The label or the description that a rule gave, or the operation, and the record by its name or else its key."""
    known = entry.label or entry.description or OPERATIONS[entry.operation].word
    record = name_of(entry, titles) or entry.record_id
    about = " ".join(part for part in (short(entry.table_name), record) if part)
    return f"{known}: {about}" if entry.label or entry.description else f"{known} {about}"


async def _events(request: PageRequest) -> Page[ConsoleEvent] | None:
    """The latest events of the console, which administrators may see."""
    if not request.may("admin"):
        return None
    return await request.api.get(Page[ConsoleEvent], "account", "events", query={"limit": "5"})


def _drawn(traffic: Traffic, period: Period) -> Drawn:
    buckets = traffic.buckets
    names = [charts.label(bucket.at, period.bucket) for bucket in buckets]
    return Drawn(
        attempts=charts.bars([each.delivered for each in buckets], [each.failed_attempts for each in buckets]),
        durations=charts.lines([each.p95 for each in buckets], [each.p50 for each in buckets]),
        labels=charts.labels([each.at for each in buckets], period.bucket),
        attempt_rows=[
            [name, f"{each.delivered:,}", f"{each.failed_attempts:,}"]
            for name, each in zip(names, buckets, strict=True)
        ],
        duration_rows=[
            [name, *(None if time is None else duration(time) for time in (each.p95, each.p50))]
            for name, each in zip(names, buckets, strict=True)
        ],
    )
