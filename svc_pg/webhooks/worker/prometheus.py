"""What a worker shows to Prometheus."""

from collections.abc import Iterator, Mapping, Sequence
from math import isinf
from typing import get_args

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from svc_pg.webhooks.outcomes import Outcome
from svc_pg.webhooks.worker.backlog import Backlog
from svc_pg.webhooks.worker.leases import Verdict
from svc_pg.webhooks.worker.statistics import BUCKETS, Histogram, Tally


def exposition(tally: Tally, backlog: Backlog | None, *, accept: str) -> tuple[bytes, str]:
    """The metrics in the format that an Accept header asks for, and its content type.

    Without a backlog the database does not answer, and what is read from it is left out.
    """
    registry = CollectorRegistry()
    registry.register(_Collector(tally, backlog))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Collector:
    def __init__(self, tally: Tally, backlog: Backlog | None) -> None:
        self._tally = tally
        self._backlog = backlog

    def collect(self) -> Iterator[Metric]:
        yield from _of_worker(self._tally)
        yield GaugeMetricFamily(
            "svc_webhook_database_up", "Whether the database answers.", 0 if self._backlog is None else 1
        )
        if self._backlog is not None:
            yield from _of_database(self._backlog)


def _of_worker(tally: Tally) -> Iterator[Metric]:
    yield _counted("svc_webhook_attempts", "Attempts to deliver.", "outcome", tally.attempts, get_args(Outcome))
    yield _histogram("svc_webhook_attempt_duration_seconds", "How long attempts took.", tally.attempt_duration)
    yield _counted(
        "svc_webhook_deliveries", "What became of claimed deliveries.", "verdict", tally.deliveries, get_args(Verdict)
    )
    yield CounterMetricFamily("svc_webhook_claimed_deliveries", "Deliveries that were claimed.", tally.claimed)
    yield _histogram("svc_webhook_claim_duration_seconds", "How long claims took.", tally.claim_duration)
    yield GaugeMetricFamily("svc_webhook_in_flight", "Attempts under way.", tally.in_flight)
    yield CounterMetricFamily(
        "svc_webhook_lost_leases", "Results that came after their lease had ended.", tally.lost_leases
    )
    yield CounterMetricFamily(
        "svc_webhook_disabled_endpoints", "Endpoints disabled for their answers.", tally.disabled_endpoints
    )
    yield CounterMetricFamily("svc_webhook_reconnects", "Connections to the database made again.", tally.reconnects)
    yield _counted("svc_maintenance_runs", "Runs of maintenance.", "result", tally.maintenance, ("success", "failure"))


def _of_database(backlog: Backlog) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "svc_webhook_backlog_age_seconds",
        "For how long a delivery is overdue that nothing but a lack of workers holds back.",
        backlog.oldest_due_seconds,
    )
    endpoints = GaugeMetricFamily("svc_webhook_endpoints", "Endpoints.", labels=["status"])
    for status in ("active", "paused", "disabled"):
        endpoints.add_metric([status], getattr(backlog, status))
    yield endpoints
    yield GaugeMetricFamily(
        "svc_webhook_open_breakers",
        "Active endpoints that fail, so that little is sent to them.",
        backlog.open_breakers,
    )
    yield GaugeMetricFamily(
        "svc_webhook_oldest_snapshot_transactions",
        "Transactions since the oldest snapshot; claims pass over all deliveries finished since.",
        backlog.oldest_snapshot_transactions,
    )


def _counted(name: str, documentation: str, label: str, counts: Mapping[str, int], values: Sequence[str]) -> Metric:
    family = CounterMetricFamily(name, documentation, labels=[label])
    for value in values:  # also those at 0, or their first increase would not be seen
        family.add_metric([value], counts.get(value, 0))
    return family


def _histogram(name: str, documentation: str, durations: Histogram) -> Metric:
    buckets = []
    count = 0
    for bound, more in zip((*BUCKETS, float("inf")), durations.counts, strict=True):
        count += more
        buckets.append(("+Inf" if isinf(bound) else str(bound), float(count)))
    return HistogramMetricFamily(name, documentation, buckets=buckets, sum_value=durations.seconds)
