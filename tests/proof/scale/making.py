"""Make the database in steps, each of which is done once, in parts that are transactions of their own."""

import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, LiteralString

import psycopg

from svc_pg import audit, schema
from svc_pg.audit import SealKey
from tests.benchmarks import installing, reconciling
from tests.benchmarks.command import words
from tests.benchmarks.delivery.stage import PAYLOAD
from tests.proof.scale.sizes import CONFIG, DAYS, Sizes, chunks
from tests.support import long_log
from tests.support.postgres import embedded_programs

KEY: Final = SealKey("scale", b"k" * 32)
KEPT_STATISTICS: Final = "select statistics from proof.small"
"""The statement that brings back the planner's statistics of when all was small."""

_STEPS: Final[LiteralString] = """
create schema proof;
create table proof.steps (name text primary key, done integer not null, seconds float8 not null);
create table proof.small (statistics text not null);
"""
_NOTE: Final[LiteralString] = """
insert into proof.steps values (%s, %s, %s)
    on conflict (name) do update set done = excluded.done, seconds = steps.seconds + excluded.seconds
"""
_LOG_TABLES: Final[LiteralString] = """
create table t (id int primary key, a int);
create table rare (like t including all);
do $$ begin
    for number in 0..27 loop
        execute format('create table %I (like t including all)', 'u' || number);
    end loop;
end $$
"""
_TENANTS: Final = (
    "insert into svc.tenants (id, name) select 'tenant-' || n, 'Tenant ' || n from generate_series(1, %s) n"
)
_WAITING: Final[LiteralString] = """
select svc.send_many('order.placed', array_agg(%(payload)s::json), null,
                     array_agg('tenant-' || case when n %% 5 > 0 then 1 else 2 + n / 5 %% (%(busy)s - 1) end))
  from generate_series(1, %(waiting)s) n group by n / 1000
"""

_NAMED: Final = 31
"""The tables beside those that have no entries."""

Connection = psycopg.Connection[Any]
Part = Callable[[Connection], object]


def make(conninfo: str, sizes: Sizes) -> dict[str, float]:
    """Do the steps that are not done yet; returns the seconds of all."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        if conn.execute("select to_regclass('proof.steps')").fetchall() == [(None,)]:
            conn.execute(_STEPS)
        making = Making(conn)
        making.step("tables", lambda conn: conn.execute(_LOG_TABLES))
        making.step("a captured table", lambda conn: conn.execute(reconciling.MAKE))
        making.outside("other tables", lambda: installing.make_tables(conn, sizes.tables - _NAMED, prefix="table_"))
        making.outside("install", lambda: schema.install(conn, CONFIG))
        making.step("tenants", lambda conn: conn.execute(_TENANTS, [sizes.endpoints]))
        making.step("endpoints", sizes.week.begin)
        making.step("first entries", lambda conn: long_log.begin(conn, sizes.entries, days=DAYS))
        begun = sizes.deliveries // 400
        making.step("first deliveries", lambda conn: sizes.week.add(conn, 1, begun))
        making.outside("statistics of the beginning", lambda: _keep_statistics(conn))
        making.parts("entries", sizes.entries // 400 + 1, sizes.entries, _entries_of(sizes))
        making.parts("deliveries", begun + 1, sizes.deliveries, sizes.week.add)
        making.parts("captured rows", 1, sizes.rows, reconciling.add_rows)
        making.step("waiting deliveries", lambda conn: _send(conn, sizes))
        making.step("summaries", long_log.end)
        making.outside("statistics", lambda: conn.execute("analyze"))  # or each seal would read all of the log
        making.outside("seals", lambda: audit.seal(conn, key=KEY))
        return making.seconds()


class Making:
    """The steps that a database lacks."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self._done = {name: done for name, done, _ in conn.execute("select * from proof.steps").fetchall()}

    def step(self, name: str, do: Part) -> None:
        """Do it in a transaction, unless it is done."""
        self._part(name, 1, do)

    def outside(self, name: str, do: Callable[[], object]) -> None:
        """Do it outside a transaction, unless it is done; what was interrupted is done again, and does no harm."""
        if name not in self._done:
            words.print(name)
            began = time.monotonic()
            do()
            self._conn.execute(_NOTE, [name, 1, time.monotonic() - began])

    def parts(self, name: str, first: int, last: int, add: Callable[[Connection, int, int], object]) -> None:
        """Add the numbers that are not there yet."""
        for start, end in chunks(self._done.get(name, first - 1) + 1, last):
            self._part(name, end, partial(_added, add, start, end), of=last)

    def _part(self, name: str, done: int, do: Part, *, of: int = 1) -> None:
        if self._done.get(name, 0) >= done:
            return
        began = time.monotonic()
        with self._conn.transaction():
            do(self._conn)
            seconds = time.monotonic() - began
            self._conn.execute(_NOTE, [name, done, seconds])
        words.print(f"{name}: {done:,} of {of:,}, {seconds:.1f} s" if of > 1 else f"{name}, {seconds:.1f} s")

    def seconds(self) -> dict[str, float]:
        return dict(self._conn.execute("select name, round(seconds::numeric, 1)::float8 from proof.steps").fetchall())


def _added(add: Callable[[Connection, int, int], object], start: int, end: int, conn: Connection) -> object:
    return add(conn, start, end)


def _entries_of(sizes: Sizes) -> Callable[[Connection, int, int], object]:
    return lambda conn, first, last: long_log.add(conn, first, last, entries=sizes.entries, days=DAYS)


def _send(conn: Connection, sizes: Sizes) -> None:
    conn.execute(_WAITING, {"payload": PAYLOAD, "busy": sizes.busy, "waiting": sizes.waiting})


def _keep_statistics(conn: Connection) -> None:
    """Analyze what is small, and keep the statistics for a run that wants them back."""
    conn.execute("analyze")
    command = [str(embedded_programs() / "pg_dump"), "--statistics-only", "--schema=svc", f"--dbname={conn.info.dsn}"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    statements = "\n".join(line for line in found.splitlines() if not line.startswith("\\"))
    with conn.transaction():
        conn.execute("delete from proof.small")
        conn.execute("insert into proof.small values (%s)", [statements])
