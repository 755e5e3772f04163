"""Measure the cost of an audit for a write, beside other tools: on PostgreSQL, MySQL and MariaDB, and SQLite.

svc-pg beside no audit, two hand-written limits and other tools, each in a database of its own on one server. They take
turns, and the measure is the CPU time of the backend processes, so that other load on the machine hits all alike. The
writer is no superuser, and is known to all candidates that can read it from a setting. A single row is a transaction of
its own.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from psycopg.conninfo import make_conninfo

from tests.benchmarks import application, command, installed, saved
from tests.benchmarks.capture import mysql, report, sqlite
from tests.benchmarks.capture.candidates import NO_AUDIT, PEERS, candidates, prepare
from tests.benchmarks.capture.figures import BULK, SINGLE, Figures, goals
from tests.benchmarks.capture.picture import svg
from tests.benchmarks.capture.workload import Shape, UnreadableClockError, visit
from tests.benchmarks.command import words
from tests.support.postgres import new_database, server

QUICK: Final = (
    Shape(SINGLE, clients=1, statements=100, rows=1, every=1),
    Shape(BULK, clients=1, statements=1, rows=1_000, every=6),
    Shape("1 row, 8 clients", clients=8, statements=20, rows=1, every=9),
    Shape("1 row, 32 clients", clients=32, statements=10, rows=1, every=9),
    Shape("bulk after single rows", clients=1, statements=1, rows=200, every=18, is_single_first=True),
)
FULL: Final = (
    Shape(SINGLE, clients=1, statements=100, rows=1, every=1),
    Shape(BULK, clients=1, statements=1, rows=5_000, every=10),
    Shape("1 row, 8 clients", clients=8, statements=40, rows=1, every=10),
    Shape("1 row, 32 clients", clients=32, statements=20, rows=1, every=10),
    Shape("bulk after single rows", clients=1, statements=1, rows=500, every=30, is_single_first=True),
)
QUICK_ROUNDS, QUICK_SECONDS = 18, 24
FULL_ROUNDS, FULL_SECONDS = 60, 240


def main() -> int:
    """Run the command line; returns the exit code."""
    command.end_on_sigterm()
    parser = command.drawing_parser("capture", __doc__)
    parser.add_argument(
        "--database", choices=("postgresql", "mysql", "sqlite"), default="postgresql", help="MariaDB is mysql too"
    )
    arguments = parser.parse_args()
    if arguments.database == "mysql":
        return _mysql(arguments)
    if arguments.database == "sqlite":
        return _sqlite(arguments)
    shapes = QUICK if arguments.quick else FULL
    try:
        with _databases(arguments.postgres) as databases:
            versions = command.versions(databases[NO_AUDIT]) | installed.versions(*PEERS)
            figures = _measure(
                databases,
                shapes,
                rounds=QUICK_ROUNDS if arguments.quick else FULL_ROUNDS,
                seconds=QUICK_SECONDS if arguments.quick else FULL_SECONDS,
            )
    except UnreadableClockError as error:
        words.print(f"error: {error}\nhint: Its CPU time is what is measured; give a server on this machine.")
        return 1
    except KeyboardInterrupt:
        words.print("stopped")
        return 128 + signal.SIGINT
    taking_part = [candidate for candidate in candidates() if candidate.name in databases]
    arguments.picture.write_text(
        svg(figures, taking_part, ", ".join(f"{name} {version}" for name, version in versions.items()))
    )
    words.print(f"picture: {arguments.picture}", soft_wrap=True)
    saved.save(arguments.save, "capture", report.figures_of(figures, taking_part), versions)
    out = command.output()
    if arguments.json:
        out.print(
            json.dumps(report.document(figures, shapes, taking_part, goals(), versions)), soft_wrap=True, markup=False
        )
        return 0
    for table in report.tables(figures, shapes, taking_part, goals()):
        out.print(table, "")
    return 0


def _mysql(arguments: argparse.Namespace) -> int:
    found = mysql.document(size=1_000 if arguments.quick else 5_000, rounds=4 if arguments.quick else 8)
    saved.save(arguments.save, "capture-mysql", found, {kind: figures["version"] for kind, figures in found.items()})
    if arguments.json:
        command.output().print(json.dumps(found), soft_wrap=True, markup=False)
    else:
        mysql.show(found)
    return 0 if found else 1


def _sqlite(arguments: argparse.Namespace) -> int:
    found = sqlite.document(size=2_000 if arguments.quick else 10_000, rounds=5)
    versions = {"SQLite": found["sqlite"], **installed.versions(*sqlite.PEERS)}
    saved.save(arguments.save, "capture-sqlite", found, versions)
    if arguments.json:
        command.output().print(json.dumps(found), soft_wrap=True, markup=False)
    else:
        sqlite.show(found)
    return 0


@contextmanager
def _databases(postgres: str | None) -> Iterator[dict[str, str]]:
    """The conninfo of each participating candidate's own database, ready for writes."""
    with ExitStack() as stack:
        with words.status("starting PostgreSQL") as status:
            maintenance = stack.enter_context(server(postgres))
            stack.enter_context(application.application_role(maintenance))
            databases = {}
            for candidate in candidates():
                status.update(f"installing {candidate.name}")
                try:
                    if candidate.absent:
                        raise installed.PeerError(candidate.absent)
                    database = stack.enter_context(new_database(maintenance))
                    prepare(candidate, database)
                except installed.PeerError as error:
                    words.print(f"without {candidate.name}: {error}", markup=False)
                else:
                    databases[candidate.name] = make_conninfo(
                        database, options=f"{application.OPTIONS} {candidate.options}"
                    )
        yield databases


def _measure(databases: dict[str, str], shapes: Sequence[Shape], *, rounds: int, seconds: float) -> Figures:
    """Give each candidate its turn in every round, each time from another one on, until the seconds are over."""
    figures = Figures()
    names = list(databases)
    end = time.monotonic() + seconds
    with words.status("measuring") as status:
        for number in range(rounds):
            for shape in shapes:
                if number % shape.every or time.monotonic() > end:
                    continue
                for name in names[number % len(names) :] + names[: number % len(names)]:
                    status.update(f"round {number + 1} of {rounds}: {shape.name}: {name}")
                    figures.add(shape, name, visit(databases[name], shape))
                figures.rounds[shape.name] = figures.rounds.get(shape.name, 0) + 1
    for shape in shapes:
        if shape.name not in figures.rounds:
            words.print(f"without {shape.name}: no time was left")
    return figures


if __name__ == "__main__":
    sys.exit(main())
