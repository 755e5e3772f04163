"""Write what an auditor needs to verify the log without a database: its entries and its seals, of one snapshot."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, BinaryIO, Final

from psycopg import AsyncConnection, Connection
from psycopg.abc import Buffer

from svc_pg.audit.exports.export_copy import copy_of_objects
from svc_pg.audit.log.entry import ORDER_BY
from svc_pg.audit.log.export_fields import FIELDS
from svc_pg.audit.read.audit_query import query
from svc_pg.audit.reads.recording import recorded_export
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter, PointInTime
from svc_pg.database.performing import Copy, arun, check_idle, run
from svc_pg.errors import ConflictError
from svc_pg.seals.database.seal_evidence import SealEvidence, seal_evidence
from svc_pg.seals.database.stored_seals import require_sealable
from svc_pg.seals.database.stored_timestamps import timestamps_after

_SNAPSHOT: Final = "set transaction isolation level repeatable read, read only"
_FIELDS: Final = FIELDS | {
    "tableOid": "table_oid::text",
    "movedFrom": "moved_from",
    "erasedLeaf": "pg_catalog.encode(erased_leaf, 'hex')",
}
"""Those of an export, and those that are in the leaf of an entry besides."""
(_BEFORE, _AFTER), _RECORD = copy_of_objects(_FIELDS)


@dataclass(frozen=True, slots=True)
class EvidenceReport:
    """The numbers of entries, of seals and of timestamps that were written, and the time of the last seal.

    Nothing proves a period that ends after that time.
    """

    entries: int
    seals: int
    sealed_at: datetime
    timestamps: int = 0


def verifier() -> bytes:
    """The program that verifies both files: one file in Python, which needs nothing of svc-pg."""
    return files("svc_pg.seals.alone").joinpath("verify_svc_pg.py").read_bytes()


def evidence(
    conn: Connection[Any],
    *,
    export: BinaryIO,
    seals: BinaryIO,
    timestamp: Callable[[int, bytes], object] | None = None,
    since: PointInTime | None = None,
    until: PointInTime | None = None,
) -> EvidenceReport:
    """Write the entries of the log to ``export``, the oldest first, and all seals with their leaves to ``seals``.

    Both are lines of JSON, which ``verifier`` reads; the page Verify an export without svc-pg has their form. They are
    of one snapshot, which lasts as long as the writing. ``timestamp`` is called with the number and the timestamp of
    each seal that has one. ``since`` and ``until`` select entries, not seals. Memory does
    not grow with the log.

    Raises TransactionError inside a transaction, ConflictError if the log has no seals, QueryError for a time that is
    none, ConfigError on other databases and NotInstalledError.
    """
    require_sealable(conn)
    check_idle(conn)
    wanted = _selected(since, until)
    with conn.transaction():
        run(conn, recorded_export(query()))
    with conn.transaction():
        conn.execute(_SNAPSHOT)
        return run(conn, _writing(wanted, export, seals, timestamp))


async def aevidence(
    conn: AsyncConnection[Any],
    *,
    export: BinaryIO,
    seals: BinaryIO,
    timestamp: Callable[[int, bytes], object] | None = None,
    since: PointInTime | None = None,
    until: PointInTime | None = None,
) -> EvidenceReport:
    """As ``evidence``, on an async connection; the writes to both files are not awaited."""
    require_sealable(conn)
    check_idle(conn)
    wanted = _selected(since, until)
    async with conn.transaction():
        await arun(conn, recorded_export(query()))
    async with conn.transaction():
        await conn.execute(_SNAPSHOT)
        return await arun(conn, _writing(wanted, export, seals, timestamp))


def _selected(since: PointInTime | None, until: PointInTime | None) -> Filter:
    found = ALL
    if since is not None:
        found = found.compare('"timestamp" >=', since)
    return found if until is None else found.compare('"timestamp" <', until)


def _writing(
    wanted: Filter, export: BinaryIO, seals: BinaryIO, timestamp: Callable[[int, bytes], object] | None
) -> Effects[EvidenceReport]:
    def take_entry(row: Buffer) -> None:
        export.write(_RECORD(row) + b"\n")

    def take_line(line: SealEvidence) -> None:
        seals.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    number, last = yield from seal_evidence(take_line)
    if last is None:
        raise ConflictError("the log has no seals, so nothing can be verified", hint="Make one: svc-pg seal")
    stamps = 0 if timestamp is None else (yield from _stamps(timestamp))
    text = _BEFORE + "svc.audit_logs audit_logs" + wanted.clause + ORDER_BY["oldest"] + _AFTER
    entries = yield Copy(text, wanted.params, take_entry)
    return EvidenceReport(entries, number, last.sealed_at, stamps)


def _stamps(take: Callable[[int, bytes], object]) -> Effects[int]:
    number = last = 0
    while page := (yield timestamps_after(last)):
        for each in page:
            take(each.seal, each.answer)
        number, last = number + len(page), page[-1].seal
    return number
