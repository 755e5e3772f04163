"""Put the entries of transactions that a time cuts into the order of change, as the log's own as-of has them."""

import sqlite3
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from svc_pg.audit.rebuild.walk import walk

_CUT: Final = "select xact from entry where operation <> 'DDL' group by xact having min(at) <= ? and max(at) > ?"
_RECORDS: Final = """
select record from entry
 where record is not null and xact = ? and operation <> 'TRUNCATE'
 group by record having min(at) <= ? and max(at) > ?"""
_OF_RECORD: Final = """
select id, at, digest(before), digest(after) from entry
 where record = ? and xact = ? and operation <> 'TRUNCATE' order by at, id limit ?"""
_EARLIER: Final = """
select digest(after) from entry
 where record = ? and id < ? and xact <> ? order by id desc limit 1"""
_MOST: Final = 10_000
"""The entries of a record in one transaction that are put in order; of more, the order of capture stays."""


def order_at(conn: sqlite3.Connection, at: int) -> int:
    """Give the entries of these transactions each other's times: of a record, the first of a change is the oldest.

    Returns the number of these transactions.
    """
    conn.create_function("digest", 1, _digest)
    conn.execute("create index entry_xact on entry (xact)")
    cut = conn.execute(_CUT, (at, at)).fetchall()
    for [xact] in cut:
        for [record] in conn.execute(_RECORDS, (xact, at, at)):
            _order(conn, xact, record)
    return len(cut)


def _digest(image: str | None) -> str:
    """A short text for an image, so that not all images of a transaction are in memory; '' is absence."""
    return "" if image is None else blake2b(image.encode(), digest_size=16).hexdigest()


def _order(conn: sqlite3.Connection, xact: str, record: str) -> None:
    entries = conn.execute(_OF_RECORD, (record, xact, _MOST + 1)).fetchall()
    changes = [(before, after) for _, _, before, after in entries]
    if len(entries) > _MOST or all(a[1] == b[0] for a, b in pairwise(changes)):
        return
    earlier = conn.execute(_EARLIER, (record, entries[0][0], xact)).fetchone()
    order = walk(changes, None if earlier is None else earlier[0])
    if order is not None:
        times = [(entries[place][0], at) for place, (_, at, _, _) in zip(order, entries, strict=True)]
        conn.executemany("update entry set at = ? where id = ?", [(at, number) for number, at in times])
