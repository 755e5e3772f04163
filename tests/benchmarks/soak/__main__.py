"""Run two plausible days of business, compressed, at a low load: nothing may be lost, come out of order or grow.

Writers change captured tables and send messages with them, in bursts and with quiet nights; of five receivers one is
slow, one refuses a fifth and one is down for a while. Beside them run two workers, of which one is killed now and then,
a console with a reader, exports, maintenance, purges, seals and comparisons of the tables with the log, and in the
middle an install that captures one table more. Each interval becomes a line of the file of samples: sizes, memory,
latencies, queue and errors. In the end each message must have arrived in the order of its key, the log must tell the
rows, the seals must hold, and nothing may be larger in the last quarter than in the second, which has the same load.
The exit code is 1 if any of this fails. On SIGTERM or Ctrl-C it ends early, with the same checks. All processes are
``nice``.

A whole day in the background: ``python -m tests.benchmarks.soak --minutes 480 --interval 60 --save docs/figures
--picture docs/images/soak.svg``. ``--read FILE`` makes figures and picture of the samples of a run of as many minutes
that was killed.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

import psycopg
from rich.table import Table
from rich.text import Text

from svc_pg import audit, schema
from svc_pg.seals.keys import SealKey
from tests.benchmarks import command, saved
from tests.benchmarks.command import words
from tests.benchmarks.console_stage import signed_in
from tests.benchmarks.delivery import receivers, stage
from tests.benchmarks.soak import day, drawing, end, programs, reader, samples, shop
from tests.benchmarks.soak.findings import Course, Fact, course_facts
from tests.support import postgres

_NICE: Final = 10
_WRITERS: Final = 3
_TIMEOUT: Final = timedelta(seconds=1)
_GRACE: Final = timedelta(seconds=15)  # the difference of a lease and the timeout
_RECOVERY: Final = _TIMEOUT + _GRACE + timedelta(seconds=5)
_TICK: Final = 0.2
_LONGEST_DRAIN: Final = timedelta(minutes=5)
_KEPT: Final = 1 / 12  # the share of the run for which entries and deliveries are kept


@dataclass
class Soak:
    """A run under way."""

    database: str
    programs: programs.Programs
    receiver: receivers.Receiver
    seconds: float
    file: Path
    session: str
    later: str
    ledger: shop.Ledger = field(default_factory=shop.Ledger)
    is_over: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)
    taken: list[samples.Sample] = field(default_factory=list)
    commands: list[threading.Thread] = field(default_factory=list)

    @property
    def moment(self) -> float:
        """The share of the run that is over, at most 1."""
        return min((time.monotonic() - self.started) / self.seconds, 1.0)


def main() -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args()
    if options.read is not None:
        course, facts = Course(samples.read(options.read), 60 * options.minutes), list[Fact]()
        versions: Mapping[str, str] = {}
    else:
        os.nice(_NICE)
        options.samples.unlink(missing_ok=True)
        course, facts, versions = _ran(options)
    if not course.samples:
        words.print("no sample was taken")
        return 1
    facts = course_facts(course) + facts
    _show(facts)
    figures = course.figures() | {"facts": facts}
    saved.save(options.save, "soak", figures, versions)
    options.picture.write_text(drawing.svg(figures), encoding="utf-8")
    words.print(f"samples: {options.samples}\npicture: {options.picture}")
    return 0 if all(is_good is not False for _, _, is_good in facts) else 1


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("soak", __doc__)
    folder = Path(gettempdir())
    parser.add_argument("--minutes", type=float, default=480, help="of both days together (default: %(default)s)")
    parser.add_argument("--interval", type=float, default=60, help="seconds of a sample (default: %(default)s)")
    parser.add_argument(
        "--rate", type=float, default=10, help="transactions a second in the busiest hour (default: %(default)s)"
    )
    parser.add_argument("--kills", type=int, default=16, help="of the worker that dies (default: %(default)s)")
    parser.add_argument(
        "--samples", type=Path, default=folder / "svc-pg-soak.ndjson", help="written as it goes (default: %(default)s)"
    )
    parser.add_argument("--picture", type=Path, default=folder / "svc-pg-soak.svg", help="default: %(default)s")
    parser.add_argument("--read", type=Path, metavar="FILE", help="run nothing, and read these samples")
    return parser


def _ran(options: argparse.Namespace) -> tuple[Course, list[Fact], Mapping[str, str]]:
    key = SealKey.new("soak")
    with _running(options, key) as soak:
        versions = command.versions(soak.database)
        threads = [threading.Thread(target=target, args=(soak,)) for target in _threads(options)]
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: _end_early(soak))
        for thread in threads:
            thread.start()
        try:
            _conduct(soak, options)
        finally:
            soak.is_over.set()
            for thread in (*threads, *soak.commands):
                thread.join()
        return Course(soak.taken, soak.seconds), _ending(soak, key), versions


def _end_early(soak: Soak) -> None:
    """End with what there is; another signal ends at once."""
    soak.is_over.set()
    command.end_on_sigterm()
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _running(options: argparse.Namespace, key: SealKey) -> Iterator[Soak]:
    """The database, the receiver and all programs."""
    seconds = 60 * options.minutes
    kept, outage = timedelta(seconds=seconds * _KEPT), timedelta(seconds=seconds / 20)
    configuration, later = (
        shop.configuration(kept=kept, reconcile=kept / 2, outage=outage, is_later=is_later)
        for is_later in (False, True)
    )
    with ExitStack() as stack:
        server = stack.enter_context(postgres.server(options.postgres, settings=postgres.DURABLE))
        database = stack.enter_context(postgres.new_database(server))
        receiver = stack.enter_context(receivers.counting())
        session = _installed(database, configuration, lifetime=timedelta(seconds=2 * seconds + 3600))
        _add_endpoints(database, receiver.url)
        schedule = {"maintain": kept.total_seconds() / 4, "seal": min(60.0, seconds / 60), "kept": kept.total_seconds()}
        running = stack.enter_context(programs.running(database, configuration, key=key, schedule=schedule))
        yield Soak(database, running, receiver, seconds, options.samples, session, later)


def _installed(database: str, configuration: str, *, lifetime: timedelta) -> str:
    """Make the tables, install, and begin a session of the console; returns its token."""
    with psycopg.connect(database) as conn:
        conn.execute(shop.TABLES)
        conn.commit()
        config = shop.parsed(configuration)
        schema.install(conn, config)
        session = signed_in(conn, clients=1, permission="admin", lifetime=lifetime)[0]
        conn.commit()
        audit.reconcile(conn, config, repair=True)  # the customers, who were there before
        return session


def _add_endpoints(database: str, base_url: str) -> None:
    for tenant, url in programs.receivers_of(base_url).items():
        ordering = "none" if tenant == "plain" else "key"
        stage.add_endpoints(database, url, tenant=tenant, ordering=ordering, timeout=_TIMEOUT)


def _threads(options: argparse.Namespace) -> list[Any]:
    def writing(seed: int) -> Any:
        def write(soak: Soak) -> None:
            writer = shop.Writer(soak.database, soak.ledger, options.rate / _WRITERS, seed)
            writer.run(lambda: day.intensity(soak.moment), soak.is_over)

        return write

    return [*(writing(seed) for seed in range(_WRITERS)), _read_pages]


def _read_pages(soak: Soak) -> None:
    reader.read(soak.programs.url, soak.session, soak.ledger, soak.is_over)


def _conduct(soak: Soak, options: argparse.Namespace) -> None:
    """Let incidents happen at their moments, and take samples, until the time or the soak is over."""
    incidents = day.incidents(kills=options.kills)
    with psycopg.connect(soak.database, autocommit=True) as conn, words.status("soaking") as status:
        sampled = 0.0
        while not soak.is_over.wait(_TICK) and soak.moment < 1:
            while incidents and incidents[0].at <= soak.moment:
                _happen(soak, incidents.pop(0).action)
            elapsed = time.monotonic() - soak.started
            if elapsed >= sampled + options.interval:
                _sample(soak, conn, elapsed - sampled)
                sampled = elapsed
                status.update(
                    f"{soak.moment:.0%}: {dict(soak.ledger.counts)}, errors: {sum(soak.ledger.errors.values())}"
                )
        soak.receiver.turn("up")


def _happen(soak: Soak, action: day.Action) -> None:
    match action:
        case "kill":
            soak.programs.kill_worker()
            soak.ledger.count(kills=1)
        case "down" | "up":
            soak.receiver.turn(action)
        case "export":
            _begin(soak, action, soak.programs.export)
        case "install":
            _begin(soak, action, lambda: soak.programs.install(soak.later))


def _begin(soak: Soak, name: str, command: Callable[[], int]) -> None:
    """Run a command while samples are taken."""

    def run() -> None:
        try:
            if code := command():
                soak.ledger.fail(f"{name}: exit code {code}")
        except subprocess.TimeoutExpired:
            soak.ledger.fail(f"{name}: it did not end")

    soak.commands.append(threading.Thread(target=run))
    soak.commands[-1].start()


def _sample(soak: Soak, conn: psycopg.Connection[Any], seconds: float) -> None:
    for name in soak.programs.ended():
        soak.ledger.fail(f"{name} has ended")
    for error in soak.programs.errors():
        soak.ledger.fail(error)
    at = time.monotonic() - soak.started
    taken = samples.sample(conn, soak.ledger, soak.programs.pids(), at=at, slice_seconds=seconds)
    samples.append(soak.file, taken)
    soak.taken.append(taken)


def _ending(soak: Soak, key: SealKey) -> list[Fact]:
    with psycopg.connect(soak.database, autocommit=True) as conn:
        sampled = soak.taken[-1].at if soak.taken else 0.0
        _sample(soak, conn, time.monotonic() - soak.started - sampled)  # with all that the writers did
        with words.status("waiting for the rest"):
            end.drain(conn, longest=_LONGEST_DRAIN)
        recovery = max(each.recovery for each in soak.taken)
        config = shop.parsed(soak.programs.configuration)
        return [
            *end.webhook_facts(conn, soak.receiver.counts(), sent=soak.ledger.counts["messages"]),
            (
                "longest until an attempt that died with a worker was made again, s",
                f"{recovery:.1f}",
                recovery <= _RECOVERY.total_seconds(),
            ),
            *end.audit_facts(conn, config, key),
        ]


def _show(facts: Sequence[Fact]) -> None:
    table = Table(title="Two days in one run", title_justify="left")
    for heading in ("what", "figure", ""):
        table.add_column(heading, justify="right" if heading == "figure" else "left", overflow="fold")
    for name, figure, is_good in facts:
        verdict = "" if is_good is None else "[green]holds[/]" if is_good else "[red]missed[/]"
        table.add_row(name, Text(str(figure)), Text.from_markup(verdict))
    command.output().print(table)


if __name__ == "__main__":
    sys.exit(main())
