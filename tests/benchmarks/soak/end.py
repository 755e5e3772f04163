"""The facts of a database and a receiver after a run: nothing lost, nothing out of order, the log is whole."""

import time
from datetime import timedelta
from typing import Any, Final

import psycopg

from svc_pg import Config, audit
from svc_pg.seals.keys import SealKey
from tests.benchmarks.delivery.receivers import Counts
from tests.benchmarks.soak.findings import Fact

_PENDING: Final = "select count(*) from svc.webhook_deliveries where status = 'pending'"
_ENDED_BADLY: Final = "select count(*) from svc.webhook_deliveries where status not in ('delivered', 'pending')"


def drain(conn: psycopg.Connection[Any], *, longest: timedelta) -> None:
    """Wait until no delivery is pending, or until none has ended for the longest wait between two attempts."""
    last, moved = None, time.monotonic()
    while time.monotonic() < moved + longest.total_seconds():
        [(pending,)] = conn.execute(_PENDING).fetchall()
        if pending == 0:
            return
        if pending != last:
            last, moved = pending, time.monotonic()
        time.sleep(0.5)


def webhook_facts(conn: psycopg.Connection[Any], counts: Counts, *, sent: int) -> list[Fact]:
    """Each message has one delivery, which must have arrived; those of a transaction that was rolled back must not."""
    [(pending,)] = conn.execute(_PENDING).fetchall()
    [(otherwise,)] = conn.execute(_ENDED_BADLY).fetchall()
    return [
        ("arrived at least once", counts.deliveries, counts.deliveries == sent),
        ("arrived more than once", counts.repeated, None),
        ("refused by receivers, and sent again", counts.refused, None),
        ("arrived after a later one of their key", counts.backwards, counts.backwards == 0),
        ("pending at the end", pending, pending == 0),
        ("failed or canceled", otherwise, otherwise == 0),
    ]


def audit_facts(conn: psycopg.Connection[Any], config: Config, key: SealKey) -> list[Fact]:
    """The rows are what the log says, and the log what its seals say."""
    report = audit.reconcile(conn, config)
    differing = sum(table.differences for table in report.tables)
    problems = [table.problem for table in report.tables if table.problem]
    audit.seal(conn, key=key)
    verified = audit.verify(conn, public_keys=key.public)
    return [
        ("rows compared with the log", sum(table.rows for table in report.tables), report.has_compared),
        ("rows that differ from it", differing, report.is_whole and not problems),
        ("entries verified by seals", verified.entries, verified.entries > 0),
        ("findings of the verification", len(verified.findings), verified.is_intact),
    ]
