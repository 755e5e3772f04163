"""The metrics of a worker in the formats of Prometheus."""

from collections.abc import Iterator, Mapping, Sequence
from math import isinf
from typing import Final, get_args

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from svc_pg.status.attribution import Attribution
from svc_pg.status.last_runs import LastRun
from svc_pg.status.last_verification import LastVerification
from svc_pg.status.open_findings import OpenFinding
from svc_pg.status.seal_destinations import SealDestination
from svc_pg.webhooks.http.transport import Outcome
from svc_pg.webhooks.traffic.backlog import Backlog
from svc_pg.webhooks.worker.database_state import DatabaseState
from svc_pg.webhooks.worker.leases import Disposition
from svc_pg.webhooks.worker.statistics import BUCKETS, Histogram, Statistics

_RESULTS: Final = ("success", "failure")


def exposition(
    statistics: Statistics,
    state: DatabaseState | None,
    attributed: Sequence[Attribution] = (),
    findings: Sequence[OpenFinding] | None = (),
    *,
    is_delivering: bool = True,
    has_audit: bool = True,
    accept: str,
) -> tuple[bytes, str]:
    """The metrics in the format that an Accept header asks for, and its content type.

    ``state`` is None if the database does not answer; its metrics are then left out, as are those of deliveries for a
    worker that is not ``is_delivering``, and those of the log if the database ``has_audit`` not. ``findings`` are None
    if they could not be read.
    """
    registry = CollectorRegistry()
    collector = _Collector(statistics, state, attributed, findings, is_delivering=is_delivering, has_audit=has_audit)
    registry.register(collector)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Collector:
    def __init__(
        self,
        statistics: Statistics,
        state: DatabaseState | None,
        attributed: Sequence[Attribution],
        findings: Sequence[OpenFinding] | None,
        *,
        is_delivering: bool,
        has_audit: bool,
    ) -> None:
        self._statistics = statistics
        self._is_delivering = is_delivering
        self._has_audit = has_audit
        self._state = state
        self._attributed = attributed
        self._findings = findings

    def collect(self) -> Iterator[Metric]:
        if self._is_delivering:
            yield from _of_deliveries(self._statistics)
        yield _of_maintenance_runs(self._statistics)
        yield GaugeMetricFamily(
            "svc_webhook_database_up", "Whether the database answers.", int(self._state is not None)
        )
        if self._state is not None:
            yield from _of_database(self._state)
        if self._has_audit:
            yield from self._of_audit()

    def _of_audit(self) -> Iterator[Metric]:
        yield from _of_sealing(self._statistics)
        yield _of_log(self._attributed)
        yield _of_reconciliation(self._findings or ())
        if self._state is not None:
            yield GaugeMetricFamily(
                "svc_audit_reconciliation_readable",
                "1 if the results of comparisons with the audit log were read, so that missing findings are none.",
                int(self._findings is not None),
            )
            yield from _of_audit_log(self._state)


def _of_database(state: DatabaseState) -> Iterator[Metric]:
    if state.backlog is not None:
        yield from _of_backlog(state.backlog)
    yield _of_maintenance(state.last_runs)


def _of_audit_log(state: DatabaseState) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "svc_audit_unsettled_transactions",
        "Transactions since the oldest one that still runs; exports, seals and followers of the log stop there.",
        state.unsettled,
    )
    if state.seal_lag is not None:
        yield GaugeMetricFamily(
            "svc_audit_seal_lag_seconds", "Age of the oldest audit entry without a seal.", state.seal_lag
        )
    if state.destinations is not None:
        yield from _of_destinations(state.destinations)
    if state.verification is not None:
        yield from _of_verification(state.verification)


def _of_deliveries(statistics: Statistics) -> Iterator[Metric]:
    yield _counted("svc_webhook_attempts", "Attempts to deliver.", "outcome", statistics.attempts, get_args(Outcome))
    yield _histogram("svc_webhook_attempt_duration_seconds", "Duration of attempts.", statistics.attempt_duration)
    yield _counted(
        "svc_webhook_deliveries",
        "Results of claimed deliveries.",
        "disposition",
        statistics.deliveries,
        get_args(Disposition),
    )
    yield CounterMetricFamily("svc_webhook_claimed_deliveries", "Deliveries claimed.", statistics.claimed)
    yield _histogram("svc_webhook_claim_duration_seconds", "Duration of claims.", statistics.claim_duration)
    yield GaugeMetricFamily("svc_webhook_in_flight", "Attempts under way.", statistics.in_flight)
    yield CounterMetricFamily(
        "svc_webhook_lost_leases", "Results that arrived after their lease had ended.", statistics.lost_leases
    )
    yield CounterMetricFamily(
        "svc_webhook_disabled_endpoints", "Endpoints disabled for their answers.", statistics.disabled_endpoints
    )
    yield CounterMetricFamily("svc_webhook_reconnects", "Connections opened again.", statistics.reconnects)


def _of_maintenance_runs(statistics: Statistics) -> Metric:
    return _counted("svc_maintenance_runs", "Maintenance runs.", "result", statistics.maintenance, _RESULTS)


def _of_sealing(statistics: Statistics) -> Iterator[Metric]:
    yield _counted("svc_audit_sealing_runs", "Runs of sealing the audit log.", "result", statistics.sealing, _RESULTS)
    yield CounterMetricFamily(
        "svc_audit_sealing_refusals",
        "Runs that sealed nothing, because the log lacked a seal that the worker or its copies know.",
        statistics.sealing_refusals,
    )


def _of_backlog(backlog: Backlog) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "svc_webhook_backlog_age_seconds",
        "Age of the oldest due delivery that only waits for a worker.",
        backlog.oldest_due_seconds,
    )
    endpoints = GaugeMetricFamily("svc_webhook_endpoints", "Endpoints.", labels=["status"])
    for status in ("active", "paused", "disabled"):
        endpoints.add_metric([status], getattr(backlog, status))
    yield endpoints
    yield GaugeMetricFamily(
        "svc_webhook_failing_endpoints", "Active endpoints whose last attempt failed.", backlog.failing
    )
    yield GaugeMetricFamily(
        "svc_webhook_open_breakers",
        "Active endpoints whose circuit breaker is open.",
        backlog.open_breakers,
    )
    yield GaugeMetricFamily(
        "svc_webhook_ending_certificates",
        "Active endpoints whose client certificate ends within 30 days.",
        backlog.ending_certificates,
    )
    yield GaugeMetricFamily(
        "svc_webhook_oldest_snapshot_transactions",
        "Transactions since the oldest snapshot; claims skip over every delivery finished since.",
        backlog.oldest_snapshot_transactions,
    )


def _of_log(attributed: Sequence[Attribution]) -> Metric:
    shares = GaugeMetricFamily(
        "svc_audit_entries_without_actor_ratio",
        "Part of the newest entries of the last day that have no actor, 1,000 at most of each table;"
        " none of the operations SNAPSHOT, GONE and DDL.",
        labels=["table"],
    )
    for each in attributed:
        shares.add_metric([each.table_name], each.share)
    return shares


def _of_reconciliation(findings: Sequence[OpenFinding]) -> Metric:
    left = GaugeMetricFamily(
        "svc_audit_reconciliation_findings",
        "Differences of a table from the audit log that its last comparison left; nothing if it left none.",
        labels=["table"],
    )
    for each in findings:
        left.add_metric([each.table_name], each.unrepaired)
    return left


def _of_maintenance(last_runs: Sequence[LastRun]) -> Metric:
    ages = GaugeMetricFamily(
        "svc_maintenance_age_seconds", "Time since a task of maintenance last succeeded.", labels=["task"]
    )
    for run in last_runs:
        if run.seconds is not None:
            ages.add_metric([run.task], run.seconds)
    return ages


def _of_destinations(destinations: Sequence[SealDestination]) -> Iterator[Metric]:
    labels = ["kind", "destination"]
    waiting = GaugeMetricFamily(
        "svc_audit_seals_without_copy", "Seals that a destination outside of the database lacks.", labels=labels
    )
    failing = GaugeMetricFamily(
        "svc_audit_seal_copies_failing", "1 if the last copy of a seal to a destination failed.", labels=labels
    )
    copied = GaugeMetricFamily(
        "svc_audit_seals_copied_timestamp_seconds",
        "Unix time at which a destination was last known to have all seals; 0 if never.",
        labels=labels,
    )
    for each in destinations:
        waiting.add_metric([each.kind, each.name], each.waiting)
        failing.add_metric([each.kind, each.name], int(each.problem is not None))
        copied.add_metric([each.kind, each.name], each.copied_at.timestamp() if each.copied_at else 0)
    yield waiting
    yield failing
    yield copied


def _of_verification(verification: LastVerification) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "svc_audit_verification_age_seconds",
        "Time since the last verification of the audit log.",
        verification.age.total_seconds(),
    )
    yield GaugeMetricFamily(
        "svc_audit_verification_findings", "Differences that the last verification found.", verification.findings
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
