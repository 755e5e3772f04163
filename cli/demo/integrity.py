"""Prove the demo's past hour: seal it, verify the seals, and compare the rows of its tables with the log."""

import psycopg

from svc_pg import audit
from svc_pg.audit import SealKey

from .database import CONFIG
from .findings import Proof
from .hour import OPERATOR


def prove(conninfo: str, key: SealKey) -> Proof:
    """Seal the log, verify it, and reconcile all audited tables, each with its result on record."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("select set_config('svc.actor_id', %s, false)", [OPERATOR])
        audit.seal(conn, key=key)
        verified = audit.verify(conn, public_keys=key.public)
        compared = audit.reconcile(conn, CONFIG)
    return Proof(
        seals=verified.seals,
        entries=verified.entries,
        tables=len(compared.tables),
        rows=sum(table.rows for table in compared.tables),
        is_whole=verified.is_intact and compared.is_whole,
    )
