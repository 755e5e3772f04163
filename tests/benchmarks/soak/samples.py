"""Samples of a run: sizes, memory, latencies, queue and errors of one slice of time, each a line of a file."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg

from svc_pg.database.application_names import CONSOLE as CONSOLE_SESSIONS
from svc_pg.database.application_names import WORKER as WORKER_SESSIONS
from tests.benchmarks.soak import programs, shop

SHARES: Final = (0.5, 0.95, 0.99)
KINDS: Final = ("capture", "delivery", "page")

_SIZES: Final = """
select n.nspname || '.' || c.relname, sum(case c.relkind when 'i' then pg_relation_size(p.oid)
                                                         else pg_table_size(p.oid) end)::bigint
  from pg_class p join pg_class c on c.oid = coalesce(pg_partition_root(p.oid), p.oid)
  join pg_namespace n on n.oid = c.relnamespace
 where p.relkind in ('r', 'i', 'm') and n.nspname in ('svc', 'public')
 group by n.nspname, c.relname
"""
_DEAD: Final = """
select sum(n_dead_tup)::bigint from pg_stat_user_tables where schemaname in ('svc', 'public')
"""
_OLDEST: Final = """
select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8
  from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""
_QUEUE: Final = "select count(*) from svc.webhook_deliveries where status = 'pending'"
_DELIVERED: Final = """
select extract(epoch from d.finished_at - d.created_at)::float8 * 1000
  from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id
 where d.status = 'delivered' and d.attempts = 1 and e.tenant = any(%s)
   and d.finished_at >= clock_timestamp() - make_interval(secs => %s)
"""
_RECOVERY: Final = """
select coalesce(max(extract(epoch from next_at - started_at))::float8, 0)
  from (select outcome, started_at,
               lead(started_at) over (partition by delivery_id order by attempt) as next_at
          from svc.webhook_delivery_attempts join svc.webhook_endpoints e on e.id = endpoint_id
         where e.tenant = any(%s)
           and delivery_id in (select delivery_id from svc.webhook_delivery_attempts where outcome = 'lost')) a
 where outcome = 'lost'
"""
_SESSIONS: Final = """
select pid, application_name from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The state at the end of a slice, ``at`` seconds after the start, and what happened in it.

    ``sizes`` are bytes of tables (with TOAST) and indexes, partitions under the name of the whole. ``memory`` are
    resident bytes of programs, and of PostgreSQL's processes that serve them, the largest, without shared memory.
    ``latencies`` are milliseconds by kind at ``SHARES``, with ``calls``; ``recovery`` is the longest time in seconds
    until a delivery whose worker died was tried again. ``counts`` and ``errors`` are of the run so far.
    """

    at: float
    sizes: Mapping[str, int]
    dead_rows: int
    oldest_transaction: float
    memory: Mapping[str, int]
    latencies: Mapping[str, list[float]]
    calls: Mapping[str, int]
    queue: int
    recovery: float
    counts: Mapping[str, int]
    errors: Mapping[str, int] = field(default_factory=dict)


def sample(
    conn: psycopg.Connection[Any], ledger: shop.Ledger, pids: Mapping[str, int], *, at: float, slice_seconds: float
) -> Sample:
    """Look at everything. ``conn`` must be in autocommit, or its own transaction would be the oldest."""
    times = ledger.taken()
    delivered = conn.execute(_DELIVERED, (list(shop.HEALTHY), slice_seconds)).fetchall()
    times["delivery"] = [milliseconds for (milliseconds,) in delivered]
    sessions: dict[int, str] = dict(conn.execute(_SESSIONS).fetchall())
    return Sample(
        at=at,
        sizes=dict(conn.execute(_SIZES).fetchall()),
        dead_rows=_one(conn, _DEAD) or 0,
        oldest_transaction=_one(conn, _OLDEST),
        memory=_memory(pids, sessions),
        latencies={kind: quantiles(times.get(kind, [])) for kind in KINDS},
        calls={kind: len(times.get(kind, [])) for kind in KINDS},
        queue=_one(conn, _QUEUE),
        recovery=_one(conn, _RECOVERY, list(shop.HEALTHY)),
        counts=dict(ledger.counts),
        errors=dict(ledger.errors),
    )


def _one(conn: psycopg.Connection[Any], query: Any, *values: object) -> Any:
    [(value,)] = conn.execute(query, values).fetchall()
    return value


def quantiles(values: Iterable[float]) -> list[float]:
    """Those at ``SHARES``; none of no values."""
    ordered = sorted(values)
    return [ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in SHARES] if ordered else []


def _memory(pids: Mapping[str, int], sessions: Mapping[int, str]) -> dict[str, int]:
    found = {name: _resident(pid, "VmRSS") for name, pid in pids.items()}
    for pid, application in sessions.items():
        if name := _served(application, pids):
            name = f"PostgreSQL for {name}"
            found[name] = max(found.get(name, 0), _resident(pid, "RssAnon"))
    return found


def _served(application: str, pids: Mapping[str, int]) -> str | None:
    """The program that a session belongs to: a worker's name ends with its process id."""
    if application == CONSOLE_SESSIONS:
        return programs.CONSOLE
    if application.startswith(WORKER_SESSIONS):
        pid = application.rpartition(":")[2]
        return next((name for name, its in pids.items() if str(its) == pid), None)
    return "writers" if application == shop.APPLICATION else None


def _resident(pid: int, field_name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0  # it has just ended
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field_name}:")), 0)


def append(file: Path, one: Sample) -> None:
    """Add a line at once, so that a run that is killed leaves all it has seen."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(one)) + "\n")


def read(file: Path) -> list[Sample]:
    """The samples of a file; its last line may be torn."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return [Sample(**json.loads(line)) for line in lines if line.endswith("\n")]
