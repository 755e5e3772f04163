"""Measure the cost of a record of reads: the same requests to a console, of a marked table and of one that is not.

Both tables have the same entries in one database, those of each record beside each other, so that a list looks at as
many of the other table. Requests to one process alternate between them, so that whatever else the machine does is in
both. Of each kind of request, the ratio of the medians tells the cost, with the quartiles of that of parts of the
rounds; so does the processor's time of the console and PostgreSQL, which other programs change less. PostgreSQL flushes
each commit to the disk, as in production.
"""

import argparse
import json
import multiprocessing
import socket
import sys
import time
from collections.abc import Callable
from itertools import cycle
from statistics import mean, median, quantiles
from typing import Any, Final

import httpx
import psycopg
import uvicorn

from svc_pg import Config, schema
from svc_pg.console import Console
from tests.benchmarks import command, saved
from tests.benchmarks.console_stage import PREFIX, prepare, settings
from tests.benchmarks.delivery import processor
from tests.benchmarks.pages import serving
from tests.support.postgres import DURABLE, QUICK, new_database, server

TABLES: Final = ("note", "patient")
"""The table that is not marked, and the marked one."""
RECORDS: Final = 1_000
SESSIONS: Final = 200
KINDS: Final = {
    "one record": "/audit/records/{table}/{record}",
    "a list of 20": "/audit/entries?resource={table}&limit=20",
    "a list of 200": "/audit/entries?resource={table}&limit=200",
    "page of one record": "/ui/audit/records/public.{table}/{record}",
}

_TABLES: Final = """
create table note (id int primary key, name text, address text);
create table patient (like note including all);
"""
_ROWS: Final = f"""
do $$ begin
    for n in 1..{RECORDS} loop
        insert into note values (n, 'name', repeat('x', 200));
        insert into patient values (n, 'name', repeat('x', 200));
    end loop;
end $$
"""
_CHANGE: Final = f"""
do $$ begin
    for n in 1..{RECORDS} loop
        update note set name = name || '+' where id = n;
        update patient set name = name || '+' where id = n;
    end loop;
end $$
"""
_PARTS: Final = 10
"""The parts of the rounds, of each of which there is a ratio."""

Spent = tuple[float, float, float]
"""The milliseconds of a request: of a clock, and of the processor in the console and in PostgreSQL."""
Kinds = dict[str, dict[str, list[Spent]]]
"""The requests of each kind to each table."""


def main() -> int:
    options = _parser().parse_args()
    kinds = {kind: KINDS[kind] for kind in options.only or KINDS}
    settings_of_server = QUICK if options.without_flush else DURABLE
    with server(options.postgres, settings=settings_of_server) as maintenance, new_database(maintenance) as conninfo:
        versions = command.versions(conninfo)
        sessions = prepare(conninfo, clients=SESSIONS, permission="admin", entries=100_000)
        _fill(conninfo)
        with serving(_serve, conninfo) as base_url, psycopg.connect(conninfo) as conn:
            [console] = multiprocessing.active_children()
            postmaster = processor.postmaster(conn) or 0

            def used() -> list[float]:
                return [processor.nanoseconds(pid) / 1e6 for pid in (console.pid or 0, postmaster)]

            times = measure(base_url, sessions, kinds, rounds=options.rounds, used=used)
        recorded = _recorded(conninfo)
    report = {"isFlushed": not options.without_flush, "rounds": options.rounds, "recorded": recorded} | {
        "kinds": {kind: _summary(times[kind]) for kind in kinds}
    }
    sys.stdout.write((json.dumps(report) if options.json else _table(report)) + "\n")
    saved.save(options.save, "reads", report, versions)
    return 0 if recorded == (options.rounds + 1) * len(kinds) else 1


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("reads", __doc__)
    parser.add_argument("--rounds", type=int, default=300, help="requests of each kind (default: %(default)s)")
    parser.add_argument("--only", choices=[*KINDS], action="append", help="this kind of request alone")
    parser.add_argument("--without-flush", action="store_true", help="commits do not wait for the disk")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def _fill(conninfo: str) -> None:
    config = Config()
    for table in TABLES:
        config.audit.table(f"public.{table}", record_reads=table == "patient")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(_TABLES)
        schema.install(conn, config)
        conn.execute(_ROWS)
        for _ in range(4):
            conn.execute(_CHANGE)
        conn.execute("vacuum analyze svc.audit_logs")


def _serve(conninfo: str, listener: socket.socket) -> None:
    uvicorn.Server(uvicorn.Config(Console(settings(conninfo)).asgi, log_level="error", ws="none", lifespan="on")).run(
        sockets=[listener]
    )


def measure(
    base_url: str, sessions: list[str], kinds: dict[str, str], *, rounds: int, used: Callable[[], list[float]]
) -> Kinds:
    """The cost of requests, by their kind and their table; the first of each does not count.

    ``used`` tells the milliseconds of the processor that the console and PostgreSQL have used.
    Each request has another session, so that none exceeds its limit of calls a minute.
    """
    found: Kinds = {kind: {table: [] for table in TABLES} for kind in kinds}
    turns = cycle(sessions)
    with httpx.Client(base_url=base_url + PREFIX, timeout=30) as http:
        for number in range(rounds + 1):
            for kind, path in kinds.items():
                tables = TABLES if number % 2 else TABLES[::-1]
                for table in tables:
                    token = next(turns)
                    headers = {"Authorization": f"Bearer {token}", "Cookie": f"svc_console={token}"}
                    address = path.format(table=table, record=1 + number % RECORDS)
                    before, began = used(), time.perf_counter()
                    http.get(address, headers=headers).raise_for_status()
                    clock = (time.perf_counter() - began) * 1000
                    console, server = (now - then for now, then in zip(used(), before, strict=True))
                    if number:
                        found[kind][table].append((clock, console, server))
    return found


def _recorded(conninfo: str) -> int:
    with psycopg.connect(conninfo) as conn:
        row = conn.execute("select count(*) from svc.audit_logs where table_name = 'svc.audit_reads'").fetchone()
    return int(row[0]) if row else 0


def _summary(times: dict[str, list[Spent]]) -> dict[str, Any]:
    unmarked, marked = (times[table] for table in TABLES)
    clocks, used = [_columns(each)[0] for each in (unmarked, marked)], [_processor(each) for each in (unmarked, marked)]
    return {
        "unmarkedMs": round(median(clocks[0]), 2),
        "markedMs": round(median(clocks[1]), 2),
        "ratio": round(median(clocks[1]) / median(clocks[0]), 3),
        "ratioQuartiles": _quartiles(*clocks),
        "processorMs": {
            name: {"unmarked": round(mean(_columns(unmarked)[at]), 2), "marked": round(mean(_columns(marked)[at]), 2)}
            for at, name in enumerate(("console", "postgres"), start=1)
        },
        "processorRatio": round(median(used[1]) / median(used[0]), 3),
        "processorRatioQuartiles": _quartiles(*used),
    }


def _columns(spent: list[Spent]) -> list[list[float]]:
    return [[each[at] for each in spent] for at in range(3)]


def _processor(spent: list[Spent]) -> list[float]:
    return [console + server for _, console, server in spent]


def _quartiles(unmarked: list[float], marked: list[float]) -> list[float]:
    """The lower and the upper quartile of the ratios of medians of parts of the rounds."""
    size = max(len(marked) // _PARTS, 1)
    ratios = [
        median(marked[start : start + size]) / median(unmarked[start : start + size])
        for start in range(0, len(marked), size)
    ]
    lower, _, upper = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else [*ratios * 3]
    return [round(lower, 3), round(upper, 3)]


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'':20}{'unmarked':>11}{'marked':>11}{'ratio':>7}{'quartiles':>15}{'of processor':>14}{'quartiles':>15}"]
    for kind, of in report["kinds"].items():
        quartiles = ["{} to {}".format(*of[name]) for name in ("ratioQuartiles", "processorRatioQuartiles")]
        lines.append(
            f"{kind:20}{of['unmarkedMs']:>8} ms{of['markedMs']:>8} ms{of['ratio']:>7}{quartiles[0]:>15}"
            f"{of['processorRatio']:>14}{quartiles[1]:>15}"
        )
        used = of["processorMs"]
        lines += [f"{'':20}{each['unmarked']:>8} ms{each['marked']:>8} ms of {name}" for name, each in used.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
