"""What a statement costs the server with all that its functions do: pages touched and rows read, which never vary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

from svc_pg.query import scalar

_READ = """
select relname, coalesce(seq_scan, 0), coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
  from pg_stat_xact_user_tables where schemaname = 'svc'
"""


@dataclass(frozen=True)
class Cost:
    """``pages`` in the cache or read into it, ``rows`` read of each table of ours, and the tables ``scanned`` whole."""

    pages: int
    rows: Mapping[str, int]
    scanned: frozenset[str]


def settled_cost(conn: psycopg.Connection[Any], text: LiteralString) -> Cost:
    """What it costs the third time, when its plans are made and the queue is vacuumed of what the first two left."""
    for _ in range(3):
        conn.execute("vacuum svc.webhook_deliveries")
        found = _cost(conn, text)
    return found


def _cost(conn: psycopg.Connection[Any], text: LiteralString) -> Cost:
    """Run the statement in a transaction of its own and take it back."""
    with conn.transaction(force_rollback=True):
        before = {name: (scans, rows) for name, scans, rows in conn.execute(_READ)}
        [explained] = scalar(conn, "explain (analyze, buffers, timing off, format json) " + text)
        after = {name: (scans, rows) for name, scans, rows in conn.execute(_READ)}
    grown = {name: (scans - before[name][0], rows - before[name][1]) for name, (scans, rows) in after.items()}
    plan = explained["Plan"]
    return Cost(
        plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
        {name: rows for name, (_, rows) in grown.items()},
        frozenset(name for name, (scans, _) in grown.items() if scans),
    )
