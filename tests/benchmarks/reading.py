"""Time the readers of the log: the history of a record, rows as of a time, pages, a transaction, and blame.

    python -m tests.benchmarks.reading --entries 10000 --entries 1000000

The log has updates of 20 tables over 200 days, 100 of each record; every third transaction has two entries of a record,
as from nested triggers. Prints a line of JSON for each size: the median and the 95th percentile of each call in
milliseconds, with the time on the wire; exports of everything, in rows a second and in microseconds of the processor;
and the purge of a month. Draws how the times grow. Exits with 1 if a goal is missed.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

import psycopg

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from tests.benchmarks import command, saved
from tests.benchmarks.exporting import LEAST_RATE, exports, peak_of
from tests.benchmarks.growth import svg
from tests.support.postgres import DURABLE, new_database, server

GOALS: Final = {"history": 5.0, "since page": 20.0, "table page": 20.0}
"""The goals for the 95th percentile, in milliseconds."""

FEW: Final = 1_000_000
"""With fewer entries an export ends too soon to tell its rate."""
TABLES: Final = 20
_FILL: Final = """
insert into svc.audit_logs ("timestamp", xact_id, table_name, table_oid, operation, record_id, actor_id, before_data,
                            after_data, changed_fields)
select now() - interval '200 d' * (1 - n / %(entries)s::float8), case n %% 4 when 1 then n - 1 else n end,
       'public.t' || n / 4 %% 20, 0, 'UPDATE', id::text, 'actor-' || n %% 50,
       jsonb_build_object('id', id, 'a', n, 'b', 'text'), jsonb_build_object('id', id, 'a', n + 1, 'b', 'text'), '{a}'
  from (select n, n / 80 %% %(records)s as id from generate_series(0, %(entries)s - 1) n) entry
"""
_AGE_OF_OLDEST_MONTH: Final = """
select clock_timestamp() - min(svc.audit_partition_end(i.inhrelid))
  from pg_inherits i where i.inhparent = 'svc.audit_logs'::regclass
"""


def main() -> int:
    parser = command.parser("reading", __doc__)
    parser.add_argument("--entries", type=int, action="append", help="default: 10000 and 1000000")
    parser.add_argument("--calls", type=int, default=200, help="calls of each kind (default: %(default)s)")
    parser.add_argument(
        "--picture", type=Path, default=Path(gettempdir(), "svc-pg-reading.svg"), help="default: %(default)s"
    )
    options = parser.parse_args()
    is_met = True
    growth: dict[str, list[tuple[int, float]]] = {}
    sizes: list[dict[str, Any]] = []
    with server(options.postgres, settings=(*DURABLE, "--fsync=off")) as maintenance:
        versions = command.versions(maintenance)
        for entries in options.entries or [10_000, 1_000_000]:
            with new_database(maintenance) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
                fill(conn, entries)
                found = measure(conn, entries, options.calls)
                files = exports(conn)
                peak = peak_of(conn)
                purge = purged(conn)
            others = {"export": files, "exportMiB": peak, "purgeOfAMonthMs": purge}
            sizes.append({"entries": entries, **found, **others})
            print(json.dumps(sizes[-1]), flush=True)  # noqa: T201 - the result
            saved.save(options.save, "reading", sizes, versions)
            is_met &= all(found[name]["p95Ms"] <= most for name, most in GOALS.items())
            is_met &= files["ndjson"]["rowsPerSecond"] >= LEAST_RATE or entries < FEW
            for name, times in found.items():
                growth.setdefault(name, []).append((entries, times["p95Ms"]))
            growth.setdefault("purge of a month", []).append((entries, purge))
    options.picture.write_text(svg(growth, f"milliseconds at the 95th percentile of {options.calls} calls"))
    print(options.picture, file=sys.stderr)  # noqa: T201 - for people
    return 0 if is_met else 1


def fill(conn: psycopg.Connection[Any], entries: int) -> None:
    """Make the tables and the log."""
    for number in range(TABLES):
        conn.execute(f"create table t{number} (id int primary key, a int, b text)".encode())
    config = Config.model_validate({"audit": {"tables": [{"name": "public.*"}]}})
    schema.install(conn, config)
    conn.execute(_FILL, {"entries": 400, "records": 1})  # the months, or all of it would be moved to them
    conn.execute("select svc.audit_ensure_partitions()")
    conn.execute(_FILL, {"entries": entries, "records": records_of(entries)})
    schema.install(conn, config)  # an epoch begins, so that transactions that the server never had count as ended
    conn.execute("vacuum analyze")


def records_of(entries: int) -> int:
    """The number of records of each table."""
    return max(entries // 2000, 1)


def measure(conn: psycopg.Connection[Any], entries: int, calls: int) -> dict[str, Any]:
    """The times of each kind of call, with random records, tables and times."""
    chance = random.Random(entries)
    records = records_of(entries)
    now: datetime = scalar(conn, "select now()")

    def table() -> str:
        return f"t{chance.randrange(TABLES)}"

    def record() -> int:
        return chance.randrange(records)

    def past() -> datetime:
        return now - timedelta(days=chance.uniform(1, 150))

    def some(query: Any, *params: object) -> None:
        conn.execute(query, params).fetchall()

    kinds: dict[str, Callable[[], object]] = {
        "history": lambda: audit.history("t7", record()).limit(20).list(conn),
        "since page": lambda: audit.query().since("7d").limit(50).list(conn),
        "table page": lambda: audit.query().resource(table()).since("7d").limit(50).list(conn),
        "as of, a record": lambda: audit.as_of("t7", past()).record(record()).list(conn),
        "blame": lambda: audit.blame(conn, "t7", record()),
        "transaction": lambda: audit.transaction(chance.randrange(entries)).list(conn),
    }
    rare: dict[str, Callable[[], object]] = {
        "as of, a table": lambda: some("select count(a) from svc.as_of_public_t7(%s)", past()),
        "states of a day": lambda: some(
            "select count(a) from svc.history_public_t7 where valid_from >= %s and valid_from < %s",
            (day := past()),
            day + timedelta(days=1),
        ),
    }
    found = {name: timed(call, calls) for name, call in kinds.items()}
    return found | {name: timed(call, max(calls // 20, 3)) for name, call in rare.items()}


def purged(conn: psycopg.Connection[Any]) -> float:
    """The milliseconds of a purge of exactly the oldest month with all its entries."""
    age: timedelta = scalar(conn, _AGE_OF_OLDEST_MONTH)
    start = time.perf_counter()
    report = audit.purge(conn, age)
    assert len(report.partitions) == 1
    return round((time.perf_counter() - start) * 1000, 1)


def timed(call: Callable[[], object], calls: int) -> dict[str, float]:
    """The median and the 95th percentile of a call, in milliseconds, after one untimed call."""
    times = []
    for number in range(calls + 1):
        start = time.perf_counter()
        call()
        if number:
            times.append((time.perf_counter() - start) * 1000)
    times.sort()
    return {"p50Ms": round(times[len(times) // 2], 2), "p95Ms": round(times[int(len(times) * 0.95)], 2)}


if __name__ == "__main__":
    sys.exit(main())
