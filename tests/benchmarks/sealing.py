"""Measure the cost of seals for writers, and the speed of their verification.

Writers insert single rows into an audited table all the time. By turns a program seals every second, or does not; new
entries are sealed between two turns. Then the whole log is verified, several times, beside a query of the digests
alone. On a shared machine the clock shows little, so the CPU time is reported too: cpu_ratio is the time of a write
without its seal divided by the time with it. Prints a line of JSON and exits with 1 if writers have less than 0.97 of
their throughput beside a sealer, or if fewer than 150,000 entries a second are verified.
"""

import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from statistics import median
from typing import Any, Final

import psycopg

from svc_pg import Config, audit, schema
from svc_pg.audit import SealKey
from svc_pg.config import AuditConfig, AuditedTable
from tests.benchmarks import command, saved
from tests.benchmarks.delivery import processor
from tests.support.postgres import DURABLE, new_database, server
from tests.support.waiting import wait_until

LEAST_THROUGHPUT: Final = 0.97
LEAST_VERIFIED: Final = 150_000
_KEY: Final = SealKey("s1", b"k" * 32)
_WRITERS: Final = 2
_TURN: Final = 3.0  # seconds
_WARM: Final = 100  # rows
_ENTRIES: Final = 400_000
_VERIFICATIONS: Final = 5

_TABLE: Final = """
create table customer (
    id bigint generated always as identity primary key, name text, email text, city text, country text, phone text,
    credit numeric, created timestamptz, note text, active boolean
)
"""
_INSERT: Final = """
insert into customer (name, email, city, country, phone, credit, created, note, active)
select 'Customer ' || n, 'c' || n || '@example.org', 'Town ' || n %% 100, 'Country', '+49 ' || n, n * 1.1, now(),
       repeat('x', 40), true
  from generate_series(1, %s) n
"""

_DIGESTS: Final = "select sum(length(svc.audit_leaf(l))) from svc.audit_logs l"
"""The digests alone, without the order of the entries and without the tree."""


def main() -> int:
    parser = command.parser("sealing", __doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="the time that writers are measured")
    arguments = parser.parse_args()
    with server(arguments.postgres, settings=DURABLE) as maintenance, new_database(maintenance) as conninfo:
        versions = command.versions(conninfo)
        with psycopg.connect(conninfo) as conn:
            conn.execute(_TABLE)
            conn.commit()
            schema.install(conn, Config(audit=AuditConfig(tables=[AuditedTable(name="customer")])))
        figures = _throughput(conninfo, arguments.seconds) | _verified(conninfo)
    writing, sealing = figures["write_cpu_us"], figures["seal_cpu_us"]
    figures["cpu_ratio"] = round(writing / (writing + sealing), 3)
    print(json.dumps(figures))  # noqa: T201 - the result
    saved.save(arguments.save, "sealing", figures, versions)
    is_good = figures["throughput_ratio"] >= LEAST_THROUGHPUT and figures["verified_per_second"] >= LEAST_VERIFIED
    return 0 if is_good else 1


def _throughput(conninfo: str, seconds: float) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    counts = [context.Value("q", 0, lock=False) for _ in range(_WRITERS)]
    cpu = [context.Value("d", 0, lock=False) for _ in range(_WRITERS)]
    is_over, is_sealing = context.Event(), context.Event()
    programs = [context.Process(target=_write, args=(conninfo, *own, is_over)) for own in zip(counts, cpu, strict=True)]
    programs.append(context.Process(target=_seal, args=(conninfo, is_sealing, is_over)))
    for program in programs:
        program.start()

    def written() -> int:
        return sum(count.value for count in counts)

    try:
        wait_until(lambda: all(count.value > _WARM for count in counts), "the writers write")
        with psycopg.connect(conninfo, autocommit=True) as conn:
            pairs = []
            for number in range(max(2, round(seconds / _TURN / 2))):
                rates = {}
                for on in (True, False) if number % 2 else (False, True):
                    audit.seal(conn, key=_KEY)
                    if on:
                        is_sealing.set()
                    rates[on] = _turn(written)
                    is_sealing.clear()
                pairs.append((rates[True], rates[False]))
    finally:
        is_over.set()
        for program in programs:
            program.join(timeout=30)
    return {
        "throughput_ratio": round(median(on / off for on, off in pairs), 3),
        "throughput_ratios": [round(on / off, 3) for on, off in pairs],
        "writes_per_second": round(median(off for _, off in pairs)),
        "write_cpu_us": round(sum(each.value for each in cpu) / written() * 1e6, 1),
    }


def _turn(written: Callable[[], int]) -> float:
    before, start = written(), time.perf_counter()
    time.sleep(_TURN)
    return (written() - before) / (time.perf_counter() - start)


def _write(conninfo: str, count: Any, cpu: Any, is_over: Event) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        before = _cpu(conn)
        while not is_over.is_set():
            conn.execute(_INSERT, (1,))
            count.value += 1
        cpu.value = _cpu(conn) - before


def _cpu(conn: psycopg.Connection[Any]) -> float:
    """The processor's time of this process and of its server process."""
    return time.process_time() + processor.seconds(conn.info.backend_pid)


def _seal(conninfo: str, is_sealing: Event, is_over: Event) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        while not is_over.is_set():
            if is_sealing.wait(timeout=0.1):
                audit.seal(conn, key=_KEY)
                is_over.wait(timeout=1)


def _verified(conninfo: str) -> dict[str, float]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(_INSERT, (_ENTRIES,))
        conn.execute("vacuum analyze")
        start, cpu = time.perf_counter(), _cpu(conn)
        sealed = sum(seal.entries for seal in audit.seal(conn, key=_KEY))
        sealing, seal_cpu = sealed / (time.perf_counter() - start), (_cpu(conn) - cpu) / sealed
        rates, digests, costs = [], [], []
        for _ in range(_VERIFICATIONS):
            start, cpu = time.perf_counter(), _cpu(conn)
            found = audit.verify(conn, public_keys=_KEY.public)
            rates.append(found.entries / (time.perf_counter() - start))
            costs.append((_cpu(conn) - cpu) / found.entries)
            start = time.perf_counter()
            conn.execute(_DIGESTS)
            digests.append(found.entries / (time.perf_counter() - start))
        if not found.is_intact:
            raise RuntimeError(found.findings[0].message)
    return {
        "seals": found.seals,
        "entries": found.entries,
        "sealed_per_second": round(sealing),
        "seal_cpu_us": round(seal_cpu * 1e6, 1),
        "verified_per_second": round(max(rates)),
        "verified_per_cpu_second": round(1 / min(costs)),
        "digests_per_second": round(max(digests)),
        "verified_to_digests": round(max(rates) / max(digests), 2),
    }


if __name__ == "__main__":
    sys.exit(main())
