"""Send, deliver and prune for an hour, and compare the size of each table by minute: nothing may grow.

Sends steadily, to endpoints half of which take the messages of a key in order. One worker delivers, and delivered
messages are pruned after a short while, so that every table gains as many rows as it loses; autovacuum has its
defaults. Each minute shows the cost of a delivery and the sizes of the tables. Exits 1 if a figure is larger in the
last third of the time than in the third before it; the first one fills the tables.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import psycopg
from psycopg.rows import class_row
from rich.table import Table

from svc_pg.maintenance import prune_deliveries
from tests.benchmarks import command, levels, saved
from tests.benchmarks.command import words
from tests.benchmarks.delivery import processor, receivers, stage
from tests.support import postgres

_ENDPOINTS: Final = 50
_KEYS: Final = 200  # of each endpoint
_TICK: Final = 0.02  # seconds; what falls into it is one transaction
_LONGEST_TICK: Final = 0.5  # seconds; a machine that was busy for longer gets no burst
_SAMPLE: Final = 60.0  # seconds
_LEAST_MINUTES: Final = 3
_SLACK_MB: Final = 1.0
_TABLES: Final = (
    *("webhook_queue", "webhook_leases", "webhook_freed", "webhook_endpoint_state", "webhook_keys"),
    *("webhook_messages", "webhook_deliveries", "webhook_delivery_attempts"),
)

_SEND: Final = "select svc.send(%s, %s, null, %s, key => %s)"
_SIZES: Final = """
select c.relname as name, (pg_relation_size(c.oid) + pg_indexes_size(c.oid)) / 1e6::float8 as mb,
       s.n_dead_tup::integer as dead, s.autovacuum_count::integer as vacuums,
       (select coalesce(sum(i.idx_blks_hit + i.idx_blks_read), 0) from pg_statio_user_indexes i where i.relid = c.oid)
           ::bigint as index_pages
  from unnest(%s::text[]) with ordinality t(name, ordinality)
  join pg_class c on c.oid = ('svc.' || t.name)::regclass join pg_stat_user_tables s on s.relid = c.oid
 order by t.ordinality
"""
_DONE: Final = """
select count(*), coalesce(percentile_cont(array[0.5, 0.99]) within group (
           order by extract(epoch from finished_at - created_at) * 1000), '{0,0}')::float8[]
  from svc.webhook_deliveries where status = 'delivered' and finished_at >= now() - make_interval(secs => %s)
"""


@dataclass(frozen=True, slots=True)
class _Size:
    """A table; ``index_pages`` are the pages of its indexes read so far."""

    name: str
    mb: float
    dead: int
    vacuums: int
    index_pages: int


@dataclass(frozen=True, slots=True)
class _Minute:
    """The costs of a delivery in this minute, and the tables at its end. The CPU time is in microseconds."""

    delivered: int
    p50_ms: float
    p99_ms: float
    worker: float
    postgres: float
    queue_pages: float
    sizes: Sequence[_Size]


@dataclass
class _Churn:
    database: str
    worker: stage.WorkerProcess
    sent: int = 0
    used: tuple[float, float, int] = (0, 0, 0)
    minutes: list[_Minute] = field(default_factory=list)


def main() -> int:
    """Run the command line; returns the exit code."""
    command.end_on_sigterm()
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.minutes < _LEAST_MINUTES:
        parser.error(f"--minutes must be at least {_LEAST_MINUTES}, to compare a third with the one before")
    try:
        with ExitStack() as stack:
            maintenance = stack.enter_context(postgres.server(arguments.postgres, settings=postgres.DURABLE))
            database = stack.enter_context(stack.enter_context(stage.prepared(maintenance)).database())
            versions = command.versions(database)
            url, _ = stack.enter_context(receivers.fast())
            for number in range(_ENDPOINTS):
                ordering = "key" if number % 2 else "none"
                stage.add_endpoints(database, url, tenant=f"tenant-{number}", ordering=ordering)
            worker = stack.enter_context(stage.worker(database))
            worker.wait_until_asleep(database)
            churn = _Churn(database, worker)
            kept = timedelta(minutes=arguments.keep_minutes)
            _run(churn, seconds=arguments.minutes * 60, rate=arguments.rate, kept=kept)
    except KeyboardInterrupt:
        words.print("stopped")
        return 128 + signal.SIGINT
    saved.save(arguments.save, "churn", _figures(churn.minutes), versions)
    output = command.output()
    for table in (_costs(churn.minutes), _sizes(churn.minutes)):
        output.print(table)
    grown = _grown(churn.minutes)
    words.print(f"larger in the last third: {', '.join(grown)}" if grown else "nothing grows")
    return 1 if grown else 0


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("churn", __doc__)
    parser.add_argument("--minutes", type=int, default=60, help="how long to send (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=300, help="sends a second (default: %(default)s)")
    parser.add_argument(
        "--keep-minutes", type=float, default=2, help="how long finished deliveries stay (default: %(default)s)"
    )
    return parser


def _run(churn: _Churn, *, seconds: float, rate: int, kept: timedelta) -> None:
    with psycopg.connect(churn.database, autocommit=True) as conn:
        _sample(churn, conn, _SAMPLE)
        churn.minutes.clear()  # that was where the counters stood
        started = sampled = ticked = time.monotonic()
        due = 0.0
        while (now := time.monotonic()) < started + seconds + _TICK:
            due, ticked = due + rate * min(now - ticked, _LONGEST_TICK), now
            _send(churn, conn, until=round(due))
            if now >= sampled + _SAMPLE:
                prune_deliveries(conn, delivered=kept, failed=kept)
                _sample(churn, conn, now - sampled)
                sampled = now
            time.sleep(_TICK)


def _send(churn: _Churn, conn: psycopg.Connection, *, until: int) -> None:
    with conn.transaction(), conn.pipeline():
        for number in range(churn.sent, until):
            endpoint, key = number % _ENDPOINTS, number // _ENDPOINTS % _KEYS
            payload = json.dumps({"number": number, "order": json.loads(stage.PAYLOAD)})
            conn.execute(_SEND, (stage.EVENT, payload, f"tenant-{endpoint}", f"{endpoint}-{key}"))
    churn.sent = until


def _sample(churn: _Churn, conn: psycopg.Connection, seconds: float) -> None:
    churn.worker.check()
    with conn.cursor(row_factory=class_row(_Size)) as cursor:
        sizes = cursor.execute(_SIZES, (list(_TABLES),)).fetchall()
    row: Any = conn.execute(_DONE, (seconds,)).fetchone()
    delivered, (p50, p99) = row
    postmaster = processor.postmaster(conn)
    used = (
        processor.seconds(churn.worker.process.pid),
        processor.seconds(postmaster) if postmaster else 0.0,
        sum(size.index_pages for size in sizes if size.name in ("webhook_queue", "webhook_leases")),
    )
    worker, server, pages = (
        (later - earlier) / max(delivered, 1) for later, earlier in zip(used, churn.used, strict=True)
    )
    churn.used = used
    churn.minutes.append(_Minute(delivered, p50, p99, worker * 1e6, server * 1e6, pages, sizes))
    words.print(f"{delivered} delivered, {sum(size.mb for size in sizes):.0f} MB")


def _grown(minutes: Sequence[_Minute]) -> list[str]:
    """The figures that are larger in the last third than in the one before."""
    third = len(minutes) // 3
    if not third:  # stopped for most of the time
        return ["unknown, because too few minutes passed"]
    return levels.grown(_most(minutes[-2 * third : -third]), _most(minutes[-third:]), slack=_SLACK_MB)


def _most(minutes: Sequence[_Minute]) -> dict[str, float]:
    found: dict[str, float] = {}
    for minute in minutes:
        figures = {size.name: size.mb for size in minute.sizes}
        figures["pages of queue and leases a delivery"] = minute.queue_pages
        for name, figure in figures.items():
            found[name] = max(found.get(name, 0), figure)
    return found


def _figures(minutes: Sequence[_Minute]) -> dict[str, Any]:
    """The maximum of each in the second third and in the last one."""
    third = len(minutes) // 3
    parts = {"second third": minutes[-2 * third : -third], "last third": minutes[-third:]}
    most = {name: _most(part) for name, part in parts.items()}
    return {"minutes": len(minutes), "delivered": sum(minute.delivered for minute in minutes), "megabytes": most}


def _costs(minutes: Sequence[_Minute]) -> Table:
    table = Table(
        title="By minute: what was delivered, and what each cost",
        title_justify="left",
        caption="p50 and p99: from the send to the record; CPU in microseconds, PostgreSQL's with sends and pruning",
        caption_justify="left",
    )
    headings = "", "delivered", "p50 ms", "p99 ms", "worker", "PostgreSQL", "index pages of queue and leases"
    for heading in headings:
        table.add_column(heading, justify="right")
    for number, minute in enumerate(minutes, 1):
        table.add_row(
            str(number),
            str(minute.delivered),
            *(f"{value:.1f}" for value in (minute.p50_ms, minute.p99_ms)),
            *(f"{value:.0f}" for value in (minute.worker, minute.postgres)),
            f"{minute.queue_pages:.1f}",
        )
    return table


def _sizes(minutes: Sequence[_Minute]) -> Table:
    table = Table(
        title="By minute: MB of a table with its indexes, and its dead rows in thousands", title_justify="left"
    )
    table.add_column("", justify="right")
    for name in _TABLES:
        table.add_column(name.removeprefix("webhook_").removeprefix("delivery_"), justify="right")
    for number, minute in enumerate(minutes, 1):
        table.add_row(str(number), *(f"{size.mb:.1f}  {size.dead / 1000:.1f}" for size in minute.sizes))
    return table


if __name__ == "__main__":
    sys.exit(main())
