"""The figures of the overview: each with a value, and how it compares with the time before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from svc_pg.console.built_in.webhook_traffic import QueueState
from svc_pg.console.pages.charts import label
from svc_pg.console.pages.formatting import duration
from svc_pg.formats.human_times import relative
from svc_pg.webhooks.traffic.backlog import MOST_COUNTED
from svc_pg.webhooks.traffic.traffic_queries import Traffic

Tone = Literal["", "bad", "wait"]

_LATE: Final = timedelta(minutes=5)
_POINTS: Final = 0.5  # fewer are no news
_TIMES: Final = 1.5
_MANY_TIMES: Final = 9.95
_NEARLY_ALL: Final = 0.999


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit, and a note below it; the tone is for notes that somebody should see."""

    name: str
    value: str
    unit: str = ""
    note: str = ""
    tone: Tone = ""


def figures(now: Traffic, before: Traffic, queue: QueueState, *, bucket: timedelta, at: datetime) -> Sequence[Figure]:
    """The four figures of a time, given the traffic of the time before it."""
    return [_delivered(now, before), _sent(now, bucket), _duration(now, before), _backlog(now, queue, at)]


def _delivered(now: Traffic, before: Traffic) -> Figure:
    if now.success_rate is None:
        return Figure("Delivered", "—", note="nothing has finished")
    value = _percent(now.success_rate)
    if now.late:
        return Figure("Delivered", value, "%", f"{now.late:,} {'is' if now.late == 1 else 'are'} late", "bad")
    if before.success_rate is None:
        return Figure("Delivered", value, "%")
    points = 100 * (now.success_rate - before.success_rate)
    if abs(points) < _POINTS:
        return Figure("Delivered", value, "%", "as before")
    note = f"{points:+.1f} points".replace("-", "\N{MINUS SIGN}")
    return Figure("Delivered", value, "%", note, "bad" if points < 0 else "")


def _percent(part: float) -> str:
    """One decimal, and two where one would hide that something is missing."""
    return f"{100 * part:.{1 if part < _NEARLY_ALL else 2}f}".removesuffix(".00")


def _sent(now: Traffic, bucket: timedelta) -> Figure:
    busiest = max(now.buckets, key=lambda each: each.sent, default=None)
    if busiest is None or not busiest.sent:
        return Figure("Deliveries", "0", note="nothing was sent")
    about = "about " if now.is_estimate else ""
    at = f"{'on' if bucket >= timedelta(days=1) else 'at'} {label(busiest.at, bucket)}"
    return Figure("Deliveries", f"{about}{now.sent:,}", note=f"busiest {now.by}: {busiest.sent:,} {at}")


def _duration(now: Traffic, before: Traffic) -> Figure:
    name = "95 % of attempts within"
    if now.p95 is None:
        return Figure(name, "—", note="no attempts")
    value, unit = duration(now.p95).split()
    if not before.p95 or not now.p95:
        return Figure(name, value, unit)
    times = now.p95 / before.p95
    if times >= _TIMES:
        return Figure(name, value, unit, f"{_times(times)} times as slow", "wait")
    return Figure(name, value, unit, "as before" if times > 1 / _TIMES else f"{_times(1 / times)} times as fast")


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= _MANY_TIMES else f"{factor:.2g}"


def _backlog(now: Traffic, queue: QueueState, at: datetime) -> Figure:
    waiting = queue.waiting
    counts = (waiting.due, waiting.later, waiting.behind, waiting.parked)
    value = f"{sum(counts):,}" + ("+" if max(counts) >= MOST_COUNTED else "")
    late = timedelta(seconds=queue.backlog.oldest_due_seconds)
    if not late and (waiting.parked or now.late):
        return Figure("Backlog", value, note="held up by endpoints", tone="wait")
    if not late and waiting.behind:
        return Figure("Backlog", value, note="some wait for others of their key")
    if not late:
        return Figure("Backlog", value, note="nothing is overdue")
    note = f"oldest due {relative(at - late, at)}"
    return Figure("Backlog", value, note=note, tone="wait" if late > _LATE or queue.backlog.needs_attention else "")
