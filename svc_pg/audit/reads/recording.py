"""Record the reads of marked tables on PostgreSQL, in the caller's transaction."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.context import Actor, current_actor, parameters
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.reads.reading import Reading, Shown, collected, new_reading, of_entries, question_of
from svc_pg.database import performing
from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.effects import Effects, Remembered, Statement
from svc_pg.database.performing import ByRanges
from svc_pg.database.query import Query
from svc_pg.errors import ReadNotRecordedError
from svc_pg.formats.json_writer import write_ascii

MARKED: Final = "select table_name, is_required from svc.audit_read_tables()"
_ADD: Final = (
    "select case when current_setting('transaction_read_only')::boolean then null"
    " else svc.audit_add_reads(%s::jsonb, %s, %s, %s) end"
)
_RECORDS: Final = "select distinct l.table_name, l.record_id from svc.audit_logs l where l.id = any(%s::bigint[])"
_IS_ASKED: Final = """
select 1 from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
 where n.nspname = 'svc' and p.proname = 'audit_read_tables'
   and (strpos(p.prosrc, 'audit_names_of') > 0 or has_function_privilege(p.oid, 'execute'))
"""
_NAMED: Final = 3

logger = logging.getLogger("svc_pg.audit")

Marks = Mapping[str, bool]
"""The tables whose reads are recorded, each with true if there is no answer without a record of it."""


@dataclass(frozen=True, slots=True)
class _Record:
    table_name: str
    record_id: str | None


def recorded(shown: Shown, question: Mapping[str, object] | None = None) -> Effects[None]:
    """Record that these records are shown, or tell whoever collects it. Raises ReadNotRecordedError."""
    if not shown:
        return
    if (reading := collected()) is not None:
        reading.add(shown)
        return
    reading = new_reading(question)
    reading.add(shown)
    yield from added(reading)


def recorded_entries(entries: Iterable[Any], selection: Selection | None = None) -> Effects[None]:
    """As ``recorded``, of entries of the log."""
    question = None if selection is None or collected() is not None else question_of(selection)
    yield from recorded(of_entries(entries), question)


def recorded_ids(entry_ids: Sequence[int], question: Mapping[str, object]) -> Effects[None]:
    """As ``recorded``, of the entries with these ids, which were read without their records."""
    if not entry_ids or (collected() is None and not (yield from _marked())):
        return
    shown: dict[str, list[str | None]] = {}
    for each in (yield ByRanges(Query(_RECORDS, (list(entry_ids),), _Record))):
        shown.setdefault(each.table_name, []).append(each.record_id)
    yield from recorded(shown, question)


def recorded_export(selection: Selection, entries: int | None = None) -> Effects[None]:
    """Record that all entries of a selection are written to a file; their number, if it is known."""
    if (reading := collected()) is not None:
        reading.add_export(selection)
        return
    count = {} if entries is None else {"entries": entries}
    reading = new_reading({**question_of(selection), **count})
    reading.add_export(selection)
    yield from added(reading)


def shown_at_once(conn: Connection[Any], shown: Shown, question: Mapping[str, object]) -> None:
    """Perform ``recorded`` on a sync connection."""
    performing.run(conn, recorded(shown, question))


async def ashown_at_once(conn: AsyncConnection[Any], shown: Shown, question: Mapping[str, object]) -> None:
    """As ``shown_at_once``, on an async connection."""
    await performing.arun(conn, recorded(shown, question))


def record_ids(conn: Connection[Any], entry_ids: Sequence[int], question: Mapping[str, object]) -> None:
    """Perform ``recorded_ids`` in a transaction of its own, or inside the caller's."""
    driver = psycopg_connection(conn)
    with driver.transaction():
        performing.run(driver, recorded_ids(entry_ids, question))


async def arecord_ids(conn: AsyncConnection[Any], entry_ids: Sequence[int], question: Mapping[str, object]) -> None:
    """As ``record_ids``, on an async connection."""
    driver = await apsycopg_connection(conn)
    async with driver.transaction():
        await performing.arun(driver, recorded_ids(entry_ids, question))


def added(reading: Reading) -> Effects[None]:
    """Write the entries of a reading."""
    rows = yield from _marked()
    if not rows:
        return
    marks = marks_of(rows)
    documents = reading.documents(marks)
    if documents:
        [[entries]] = yield adding(documents, current_actor())
        if entries is None:
            tell_unrecorded(documents, marks)


def _marked() -> Effects[Sequence[Sequence[Any]]]:
    """The rows of ``MARKED``. Raises AccessError if there are some, and the role may not see them.

    If none is, or none can be because the last install was of an older svc-pg, a role needs only the right to read the
    log. The catalog tells it: an error would end the caller's transaction.
    """
    if not (yield Remembered(Statement(_IS_ASKED))):
        return []
    rows: Sequence[Sequence[Any]] = yield Remembered(Statement(MARKED))
    return rows


def marks_of(rows: Iterable[Sequence[Any]]) -> Marks:
    """The marks in the rows of ``MARKED``."""
    return {str(name): bool(is_required) for name, is_required in rows}


def adding(documents: Sequence[Mapping[str, object]], actor: Actor | None) -> Statement:
    """The statement that writes entries; its answer is null in a transaction that only reads."""
    names = {"actor_id": None, "tenant_id": None, "context": None} if actor is None else parameters(actor)
    return Statement(_ADD, (write_ascii(documents), names["actor_id"], names["tenant_id"], names["context"]))


def tell_unrecorded(documents: Collection[Mapping[str, object]], marks: Marks) -> None:
    """Raise ReadNotRecordedError for reads that must be recorded; of others, tell the log of the program."""
    names = sorted({str(each["table"]) for each in documents})
    required = [name for name in names if marks[name]]
    if not required:
        logger.warning("records were read, and that is not recorded: %s", ", ".join(names[:_NAMED]))
        return
    more = f" and {len(required) - _NAMED} other tables" if len(required) > _NAMED else ""
    raise ReadNotRecordedError(
        f"reads of {', '.join(required[:_NAMED])}{more} are recorded, and this transaction only reads",
        hint="Read on the primary, in a transaction that may write; or let such reads go unrecorded:"
        ' unrecorded_reads = "allow" below [audit].',
    )
