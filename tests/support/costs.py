"""The cost of a statement, its functions included: pages touched and rows read, which hardly vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

# Of our tables and their indexes only: how often catalogs are read depends on the DDL in every database of the server.
_READ = """
select t.relname, coalesce(t.seq_scan, 0), coalesce(t.seq_tup_read, 0) + coalesce(t.idx_tup_fetch, 0),
       coalesce(pg_stat_get_xact_blocks_fetched(t.relid), 0)
           + (select coalesce(sum(pg_stat_get_xact_blocks_fetched(i.indexrelid)), 0)::int
                from pg_index i where i.indrelid = t.relid)
  from pg_stat_xact_user_tables t where t.schemaname = 'svc'
"""


@dataclass(frozen=True)
class Cost:
    """``pages`` in the cache or read into it, ``rows`` read of each table of ours, and the tables ``scanned`` whole."""

    pages: int
    rows: Mapping[str, int]
    scanned: frozenset[str]


def settled_cost(conn: psycopg.Connection[Any], text: LiteralString) -> Cost:
    """The least cost of five runs, each after a vacuum of the queue: the first runs also make plans."""
    return min((_vacuumed_cost(conn, text) for _ in range(5)), key=lambda cost: cost.pages)


def _vacuumed_cost(conn: psycopg.Connection[Any], text: LiteralString) -> Cost:
    conn.execute("vacuum svc.webhook_deliveries, svc.webhook_queue, svc.webhook_leases")
    return first_cost(conn, text)


def first_cost(
    conn: psycopg.Connection[Any], text: LiteralString, params: Sequence[object] | Mapping[str, object] = ()
) -> Cost:
    """The present cost, in a transaction of its own that is rolled back. ``conn`` is in autocommit."""
    with conn.transaction(force_rollback=True):
        before = {name: numbers for name, *numbers in conn.execute(_READ)}
        conn.execute(text, params or None)
        after = {name: numbers for name, *numbers in conn.execute(_READ)}
    grown = {
        name: [later - earlier for later, earlier in zip(numbers, before[name], strict=True)]
        for name, numbers in after.items()
    }
    return Cost(
        sum(pages for _, _, pages in grown.values()),
        {name: rows for name, (_, rows, _) in grown.items()},
        frozenset(name for name, (scans, _, _) in grown.items() if scans),
    )
