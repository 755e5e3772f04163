from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from svc_pg.console.built_in.webhook_traffic import QueueState
from svc_pg.console.pages.figures import Figure, figures
from svc_pg.console.pages.formatting import figure
from svc_pg.webhooks.traffic.backlog import Backlog, PendingCounts
from svc_pg.webhooks.traffic.traffic_queries import TimedTrafficBucket, Traffic

AT = datetime(2026, 3, 12, 14, tzinfo=UTC)
HOUR = timedelta(hours=1)
QUEUE = QueueState(
    PendingCounts(0, 0, 0, 0, 0), Backlog(0.0, 1, 0, 0, 0, 0, 0, 0, 0, is_worker_seen=True, needs_attention=False)
)
NOTHING = Traffic("hour", AT - 2 * HOUR, AT, 0, 0, 0, 0, 0, None, None, None, is_estimate=False, buckets=[])


def traffic(success_rate: float | None, p95: float | None) -> Traffic:
    buckets = [
        TimedTrafficBucket(AT - 2 * HOUR, 30, 30, 0, 0, 0, 0.1, 0.2),
        TimedTrafficBucket(AT - HOUR, 90, 80, 1, 0, 9, 0.1, 0.2),
    ]
    return replace(NOTHING, sent=120, success_rate=success_rate, p95=p95, buckets=buckets)


def shown(now: Traffic, before: Traffic = NOTHING, queue: QueueState = QUEUE) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(now, before, queue, bucket=HOUR, at=AT)}


def test_without_traffic_no_figure_is_invented() -> None:
    assert [(figure.value, figure.note) for figure in shown(NOTHING).values()] == [
        ("—", "nothing has finished"),
        ("0", "nothing was sent"),
        ("—", "no attempts"),
        ("0", "nothing is overdue"),
    ]


@pytest.mark.parametrize(
    ("rate", "before", "value", "note", "tone"),
    [
        (0.974, 0.999, "97.4", "\N{MINUS SIGN}2.5 points", "bad"),
        (0.999, 0.974, "99.90", "+2.5 points", ""),
        (0.9998, 0.9999, "99.98", "as before", ""),
        (1.0, None, "100", "", ""),
        (0.0, 0.0, "0.0", "as before", ""),
    ],
)
def test_the_share_that_was_delivered_is_compared_in_points(
    rate: float, before: float | None, value: str, note: str, tone: str
) -> None:
    figure = shown(traffic(rate, None), traffic(before, None))["Delivered"]
    assert (figure.value, figure.note, figure.tone) == (value, note, tone)


@pytest.mark.parametrize(
    ("p95", "before", "shown_as", "note", "tone"),
    [
        (1.2, 0.5, ("1.2", "s"), "2.4 times as slow", "wait"),
        (0.5, 1.2, ("500", "ms"), "2.4 times as fast", ""),
        (0.9996, 0.9996, ("1", "s"), "as before", ""),
        (0.00412, None, ("4.12", "ms"), "", ""),
    ],
)
def test_the_time_of_attempts_is_compared_in_times(
    p95: float, before: float | None, shown_as: tuple[str, str], note: str, tone: str
) -> None:
    figure = shown(traffic(1, p95), traffic(1, before))["95 % of attempts within"]
    assert ((figure.value, figure.unit), figure.note, figure.tone) == (shown_as, note, tone)


def test_what_waits_past_its_time_is_told_where_the_share_stands() -> None:
    figure = shown(replace(traffic(0.5, None), late=60), traffic(0.5, None))["Delivered"]
    assert (figure.value, figure.note, figure.tone) == ("50.0", "60 are late", "bad")
    assert shown(replace(traffic(0.5, None), late=60))["Backlog"].note == "held up by endpoints"


def test_deliveries_are_counted_and_the_busiest_bucket_is_named() -> None:
    figure = shown(traffic(1, 1))["Deliveries"]
    assert (figure.value, figure.note) == ("120", "busiest hour: 90 at 13:00")
    days = replace(traffic(1, 1), by="day", is_estimate=True)
    day = figures(days, NOTHING, QUEUE, bucket=timedelta(days=1), at=AT)[1]
    assert (day.value, day.note) == ("about 120", "busiest day: 90 on 12 Mar")


def test_great_numbers_are_written_out() -> None:
    assert shown(traffic(1, 150), traffic(1, 1))["95 % of attempts within"].note == "150 times as slow"


def test_the_backlog_tells_how_late_it_is_and_what_was_not_counted() -> None:
    queue = QueueState(PendingCounts(10_000, 3, 2, 1, 5), replace(QUEUE.backlog, oldest_due_seconds=1260.0))
    figure = shown(NOTHING, queue=queue)["Backlog"]
    assert (figure.value, figure.note, figure.tone) == ("10,006+", "oldest due 21 min ago", "wait")
    held = replace(queue, backlog=QUEUE.backlog)
    assert shown(NOTHING, queue=held)["Backlog"].note == "held up by endpoints"
    keyed = replace(held, waiting=PendingCounts(0, 0, 2, 0, 0))
    assert shown(NOTHING, queue=keyed)["Backlog"] == Figure("Backlog", "2", note="some wait for others of their key")
    soon = replace(queue, backlog=replace(QUEUE.backlog, oldest_due_seconds=30.0))
    assert shown(NOTHING, queue=soon)["Backlog"].tone == ""
    stopped = replace(soon, backlog=replace(soon.backlog, needs_attention=True))
    assert shown(NOTHING, queue=stopped)["Backlog"].tone == "wait"


@pytest.mark.parametrize(
    ("value", "text"),
    [(98.4615, "98.5"), (0.11881, "0.119"), (100.0, "100"), (999.7, "1,000"), (12345.6, "12,346"), (0, "0")],
)
def test_a_figure_has_the_digits_that_count(value: float, text: str) -> None:
    assert figure(value) == text
