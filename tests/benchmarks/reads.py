"""Measure the cost of a record of reads: the same requests to a console, of a marked table and of one that is not.

Both tables have the same entries in one database, and requests to one process alternate between them, so that whatever
else the machine does is in both. Of each kind of request, the ratio of the medians tells the cost. PostgreSQL flushes
each commit to the disk, as in production.
"""

import argparse
import json
import socket
import sys
import time
from itertools import cycle
from statistics import median
from typing import Any, Final

import httpx
import psycopg
import uvicorn

from svc_pg import Config, schema
from svc_pg.console import Console
from tests.benchmarks import command, saved
from tests.benchmarks.console_stage import PREFIX, prepare, settings
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


def main() -> int:
    options = _parser().parse_args()
    kinds = {kind: KINDS[kind] for kind in options.only or KINDS}
    settings_of_server = QUICK if options.without_flush else DURABLE
    with server(options.postgres, settings=settings_of_server) as maintenance, new_database(maintenance) as conninfo:
        versions = command.versions(conninfo)
        sessions = prepare(conninfo, clients=SESSIONS, permission="admin", entries=100_000)
        _fill(conninfo)
        with serving(_serve, conninfo) as base_url:
            times = measure(base_url, sessions, kinds, rounds=options.rounds)
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
        for table in TABLES:
            conn.execute(f"insert into {table} select n, 'name', repeat('x', 200) from generate_series(1, {RECORDS}) n")
            for number in range(4):
                conn.execute(f"update {table} set name = 'name {number}'")
        conn.execute("vacuum analyze svc.audit_logs")


def _serve(conninfo: str, listener: socket.socket) -> None:
    uvicorn.Server(uvicorn.Config(Console(settings(conninfo)).asgi, log_level="error", ws="none", lifespan="on")).run(
        sockets=[listener]
    )


def measure(
    base_url: str, sessions: list[str], kinds: dict[str, str], *, rounds: int
) -> dict[str, dict[str, list[float]]]:
    """The milliseconds of requests, by their kind and their table; the first of each does not count.

    Each request has another session, so that none exceeds its limit of calls a minute.
    """
    found: dict[str, dict[str, list[float]]] = {kind: {table: [] for table in TABLES} for kind in kinds}
    turns = cycle(sessions)
    with httpx.Client(base_url=base_url + PREFIX, timeout=30) as http:
        for number in range(rounds + 1):
            for kind, path in kinds.items():
                tables = TABLES if number % 2 else TABLES[::-1]
                for table in tables:
                    token = next(turns)
                    headers = {"Authorization": f"Bearer {token}", "Cookie": f"svc_console={token}"}
                    address = path.format(table=table, record=1 + number % RECORDS)
                    began = time.perf_counter()
                    http.get(address, headers=headers).raise_for_status()
                    if number:
                        found[kind][table].append((time.perf_counter() - began) * 1000)
    return found


def _recorded(conninfo: str) -> int:
    with psycopg.connect(conninfo) as conn:
        row = conn.execute("select count(*) from svc.audit_logs where table_name = 'svc.audit_reads'").fetchone()
    return int(row[0]) if row else 0


def _summary(times: dict[str, list[float]]) -> dict[str, Any]:
    unmarked, marked = (sorted(times[table]) for table in TABLES)
    return {
        "unmarkedMs": round(median(unmarked), 2),
        "markedMs": round(median(marked), 2),
        "ratio": round(median(marked) / median(unmarked), 3),
        "ratioOfQuarters": round(marked[len(marked) // 4] / unmarked[len(unmarked) // 4], 3),
    }


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'':22}{'unmarked':>10}{'marked':>10}{'ratio':>8}{'of quarters':>13}"]
    lines += [
        f"{kind:22}{of['unmarkedMs']:>7} ms{of['markedMs']:>7} ms{of['ratio']:>8}{of['ratioOfQuarters']:>13}"
        for kind, of in report["kinds"].items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
