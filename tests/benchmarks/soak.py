"""Send for ten minutes while workers are killed, and count lost deliveries: there must be none.

Sends steadily to several endpoints, which take 100 ms to answer. Two workers deliver; every ten seconds one of them is
killed and started again. In the end every delivery must have arrived at least once, and those that a killed worker had
claimed must have been tried again within their lease and 5 s. Each message has a key: with an ordering, the sequences
of a key must arrive in order. Exits 1 if any of this fails.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psycopg
from rich.table import Table
from rich.text import Text

from tests.benchmarks import command, saved
from tests.benchmarks.command import words
from tests.benchmarks.delivery import receivers, stage
from tests.benchmarks.delivery.pipeline import resident_mb
from tests.support import postgres

_ENDPOINTS: Final = 8
_TIMEOUT: Final = timedelta(seconds=1)
_GRACE: Final = timedelta(seconds=15)  # the difference of a lease and the timeout
_LIMIT: Final = _TIMEOUT + _GRACE + timedelta(seconds=5)
_KILL_EVERY: Final = timedelta(seconds=10)
_TICK: Final = 0.02  # seconds; what falls into it is one transaction
_WORKERS: Final = 2

_KEYS: Final = 200  # of each endpoint

_SEND: Final = "select svc.send(%s, %s, null, %s, key => %s)"
_COUNTS: Final = """
select count(*), count(*) filter (where status = 'delivered'), count(*) filter (where status = 'pending'),
       count(*) filter (where status not in ('delivered', 'pending'))
  from svc.webhook_deliveries
"""
_PENDING: Final = "select count(*) from svc.webhook_deliveries where status = 'pending'"
# the waits of deliveries for their next attempt after their worker died
_RECOVERY: Final = """
select count(*), coalesce(max(extract(epoch from next_at - started_at))::float8, 0),
       count(*) filter (where next_at is null)
  from (select outcome, started_at,
               lead(started_at) over (partition by delivery_id order by attempt) as next_at
          from svc.webhook_delivery_attempts
         where delivery_id in (select delivery_id from svc.webhook_delivery_attempts where outcome = 'lost')) a
 where outcome = 'lost'
"""


@dataclass
class _Soak:
    """The events so far."""

    seconds: float = 0
    sent: int = 0
    kills: int = 0
    memory_mb: list[float] = field(default_factory=list)


def main() -> int:
    """Run the command line; returns the exit code."""
    command.end_on_sigterm()
    arguments = _parser().parse_args()
    soak = _Soak()
    try:
        with ExitStack() as stack:
            database = _database(stack, arguments.postgres)
            receiver = stack.enter_context(receivers.counting())
            stage.add_endpoints(
                database,
                f"{receiver.url}/slow",
                count=_ENDPOINTS,
                is_tenants=True,
                max_in_flight=20,
                timeout=_TIMEOUT,
                ordering=arguments.ordering,
            )
            with _workers(database) as workers:
                workers[0].wait_until_asleep(database)
                _run(soak, database, workers, seconds=arguments.minutes * 60, rate=arguments.rate)
                _drain(database)
                soak.memory_mb += [resident_mb(worker.process.pid) for worker in workers]
            facts = _facts(soak, database, receiver.counts(), is_ordered=arguments.ordering != "none")
            figures = {name: figure for name, figure, _ in facts}
            saved.save(arguments.save, "soak", figures, command.versions(database))
    except KeyboardInterrupt:
        words.print("stopped")
        return 128 + signal.SIGINT
    _show(facts)
    return 0 if all(is_good is not False for _, _, is_good in facts) else 1


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("soak", __doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long to send (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=700, help="sends a second (default: %(default)s)")
    parser.add_argument(
        "--ordering",
        choices=("none", "key", "strict"),
        default="none",
        help="that of the endpoints (default: %(default)s)",
    )
    return parser


def _database(stack: ExitStack, choice: str | None) -> str:
    maintenance = stack.enter_context(postgres.server(choice, settings=postgres.DURABLE))
    return stack.enter_context(stack.enter_context(stage.prepared(maintenance)).database())


@contextmanager
def _workers(database: str) -> Iterator[list[stage.WorkerProcess]]:
    """Two workers; those in the list at the end are stopped."""
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(TemporaryDirectory(prefix="svc-pg-soak-"))) for _ in range(_WORKERS)]
        workers = [stage.start_worker(database, folder) for folder in folders]
        try:
            yield workers
        finally:
            for worker in workers:
                worker.kill()


def _run(soak: _Soak, database: str, workers: list[stage.WorkerProcess], *, seconds: float, rate: int) -> None:
    started = time.monotonic()
    next_kill = _KILL_EVERY.total_seconds()
    with psycopg.connect(database, autocommit=True) as conn, words.status("sending") as status:
        while (elapsed := time.monotonic() - started) < seconds:
            _send(conn, soak, until=round(elapsed * rate))
            if elapsed > next_kill:
                next_kill += _KILL_EVERY.total_seconds()
                _kill(soak, database, workers)
                status.update(f"{elapsed:.0f} of {seconds:.0f} s: {soak.sent} sent, {soak.kills} workers killed")
            time.sleep(_TICK)
    soak.seconds = time.monotonic() - started


def _send(conn: psycopg.Connection, soak: _Soak, *, until: int) -> None:
    with conn.transaction(), conn.pipeline():
        for number in range(soak.sent, until):
            payload = json.dumps({"number": number, "sent": time.monotonic_ns()})
            endpoint, key = number % _ENDPOINTS, number // _ENDPOINTS % _KEYS
            conn.execute(_SEND, (stage.EVENT, payload, f"tenant-{endpoint}", f"{endpoint}-{key}"))
    soak.sent = until


def _kill(soak: _Soak, database: str, workers: list[stage.WorkerProcess]) -> None:
    """Kill -9 one worker after the other, and start it again."""
    for worker in workers:
        worker.check()
    number = soak.kills % len(workers)
    soak.memory_mb.append(resident_mb(workers[number].process.pid))
    workers[number].kill()
    workers[number] = stage.start_worker(database, workers[number].folder)
    soak.kills += 1


def _drain(database: str) -> None:
    """Wait until no delivery is pending, or until there was no progress for longer than a lease."""
    last, moved = None, time.monotonic()
    with psycopg.connect(database, autocommit=True) as conn, words.status("waiting for the rest"):
        while time.monotonic() < moved + 2 * _LIMIT.total_seconds():
            [(pending,)] = conn.execute(_PENDING).fetchall()
            if pending == 0:
                break
            if pending != last:
                last, moved = pending, time.monotonic()
            time.sleep(0.5)


_Fact = tuple[str, object, bool | None]  # its name, its figure, and if it has to hold, whether it does


def _facts(soak: _Soak, database: str, counts: receivers.Counts, *, is_ordered: bool) -> list[_Fact]:
    with psycopg.connect(database) as conn:
        [(deliveries, delivered, pending, otherwise)] = conn.execute(_COUNTS).fetchall()
        [(lost, recovery, never)] = conn.execute(_RECOVERY).fetchall()
    delays = sorted(counts.delays_ms)
    return [
        ("sent", soak.sent, None),
        ("sends/s", f"{soak.sent / soak.seconds:.0f}", None),
        ("deliveries in the database", deliveries, deliveries == soak.sent),
        ("arrived at least once", counts.deliveries, counts.deliveries == soak.sent),
        ("arrived more than once", counts.repeated, counts.repeated <= lost),
        ("delivered", delivered, delivered == soak.sent),
        ("stuck", pending, pending == 0),
        ("failed or canceled", otherwise, otherwise == 0),
        ("arrived after a later one of its key", counts.backwards, counts.backwards == 0 if is_ordered else None),
        ("workers killed", soak.kills, None),
        ("attempts that died with a worker", lost, never == 0),
        ("longest until such a one was tried again, s", f"{recovery:.1f}", recovery <= _LIMIT.total_seconds()),
        ("delay p50, ms", f"{delays[len(delays) // 2]:.1f}" if delays else "-", None),
        ("delay p99, ms", f"{delays[len(delays) * 99 // 100]:.1f}" if delays else "-", None),
        ("most memory of a worker, MB", f"{max(soak.memory_mb, default=0):.0f}", None),
    ]


def _show(facts: Sequence[_Fact]) -> None:
    table = Table(
        title=f"{_ENDPOINTS} endpoints, {_WORKERS} workers, one of them killed every {_KILL_EVERY.seconds} s",
        title_justify="left",
    )
    for heading in ("what", "figure", ""):
        table.add_column(heading, justify="right" if heading == "figure" else "left")
    for name, figure, is_good in facts:
        verdict = "" if is_good is None else "[green]holds[/]" if is_good else "[red]missed[/]"
        table.add_row(name, str(figure), Text.from_markup(verdict))
    command.output().print(table)


if __name__ == "__main__":
    sys.exit(main())
