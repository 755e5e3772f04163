"""Measure the cost of a reconciliation to writers: what eight of them write beside it, and without it.

Windows without and with a reconciliation alternate, each as long as the other of its pair, so that whatever else the
machine does is in both. Every difference that is reported would be a false one: all is written beside capture. The
command fails if there is one.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_bool, c_long
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from statistics import median
from typing import Any, Final

import psycopg

from svc_pg import Config, audit, schema
from tests.benchmarks import command, saved
from tests.support.postgres import DURABLE, new_database, server

TABLE: Final = "public.account"
_LOCKED: Final = 3
"""The rows that a writer changes in a transaction, in any order."""
MAKE: Final = "create table account (id bigint primary key, name text, note text, balance numeric)"
_FILL: Final = (
    "insert into account select n, 'name ' || n, repeat('x', 100), n from generate_series(%s::int, %s::int) n"
)
_CHANGE: Final = "update account set balance = balance + 1 where id = %s"
_START: Final = 30.0
"""The seconds in which all writers begin."""


def main() -> int:
    options = _parser().parse_args()
    with server(options.postgres, settings=DURABLE) as maintenance, new_database(maintenance) as conninfo:
        versions = command.versions(conninfo)
        config = _prepare(conninfo, options.rows)
        with (
            psycopg.connect(conninfo, autocommit=True) as conn,
            writing(conninfo, options.writers, options.rows) as done,
        ):
            pairs, false = measure(conn, config, done, options.rounds, options.nice_ratio)
    report = _report(pairs, false, options)
    sys.stdout.write((json.dumps(report) if options.json else _text(report)) + "\n")
    saved.save(options.save, "reconciling", report, versions)
    return 1 if false else 0


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("reconciling", __doc__)
    parser.add_argument("--writers", type=int, default=8, help="writers at a time (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the table (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="pairs of windows (default: %(default)s)")
    parser.add_argument("--nice-ratio", type=float, default=0.0, help="rest by the duration of a piece (default: 0)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    return parser


def _prepare(conninfo: str, rows: int) -> Config:
    config = Config()
    config.audit.table(TABLE)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(MAKE)
        schema.install(conn, config)
        add_rows(conn, 1, rows)
        conn.execute("vacuum analyze account")
        conn.execute("vacuum analyze svc.audit_logs")
    return config


def add_rows(conn: psycopg.Connection[Any], first: int, last: int) -> None:
    """Insert rows with these numbers into the table."""
    conn.execute(_FILL, (first, last))


@contextmanager
def writing(conninfo: str, writers: int, rows: int) -> Iterator[Sequence["Synchronized[int]"]]:
    """Enter to have writers, and the number of the transactions that each has committed."""
    context = get_context("spawn")
    is_over = context.Value(c_bool)
    done = [context.Value(c_long, 0) for _ in range(writers)]
    made = [context.Process(target=_write, args=(conninfo, rows, each, is_over), daemon=True) for each in done]
    for process in made:
        process.start()
    try:
        until = time.monotonic() + _START
        while not all(each.value for each in done):
            if time.monotonic() > until:
                raise TimeoutError("a writer has not begun")
            time.sleep(0.05)
        yield done
    finally:
        is_over.value = True
        for process in made:
            process.join(timeout=_START)


def _write(conninfo: str, rows: int, done: "Synchronized[int]", is_over: "Synchronized[bool]") -> None:
    chance = random.Random()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        while not is_over.value:
            try:
                with conn.transaction():
                    for _ in range(_LOCKED):
                        conn.execute(_CHANGE, (chance.randint(1, rows),))
            except psycopg.errors.DeadlockDetected:
                continue
            done.value += 1


def measure(
    conn: psycopg.Connection[Any],
    config: Config,
    done: Sequence["Synchronized[int]"],
    rounds: int,
    nice_ratio: float,
) -> tuple[list[tuple[float, float]], int]:
    """The transactions a second without and with a reconciliation, of each pair; and the differences reported."""
    pairs, false = [], 0
    length = 1.0
    for number in range(rounds):
        rates: dict[bool, float] = {}
        for is_beside in (False, True) if number % 2 else (True, False):
            first, began = sum(each.value for each in done), time.monotonic()
            if is_beside:
                found = audit.reconcile(conn, config, nice_ratio=nice_ratio)
                false += len(found.differences)
                length = time.monotonic() - began
            else:
                time.sleep(length)
            rates[is_beside] = (sum(each.value for each in done) - first) / (time.monotonic() - began)
        pairs.append((rates[False], rates[True]))
        command.words.print(f"pair {number + 1} of {rounds}: {rates[True] / rates[False]:.3f}, {length:.0f} s each")
    return pairs, false


def _report(pairs: list[tuple[float, float]], false: int, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "writers": options.writers,
        "rows": options.rows,
        "rounds": options.rounds,
        "withoutPerSecond": round(median(without for without, _ in pairs)),
        "besidePerSecond": round(median(beside for _, beside in pairs)),
        "ratio": round(median(beside / without for without, beside in pairs), 3),
        "falseReports": false,
    }


def _text(report: dict[str, Any]) -> str:
    return (
        f"{report['writers']} writers, {report['rows']:,} rows, {report['rounds']} pairs of windows:"
        f" {report['withoutPerSecond']:,} transactions a second without, {report['besidePerSecond']:,} beside a"
        f" reconciliation; median of the ratios {report['ratio']}; {report['falseReports']} false reports"
    )


if __name__ == "__main__":
    sys.exit(main())
