"""Erase a person's data from the log, and keep the facts that history and seals need."""

from dataclasses import dataclass, field
from typing import Any, Final

from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.performing import atake, check_idle, take
from svc_pg.database.query import Query
from svc_pg.database.retrying import patiently
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConflictError, NotFoundError

_FEATURE: Final = "the erasure of a record"
_TRIES: Final = 20
_FOLLOW: Final = "select '{}'::jsonb as tables, null::bigint as known from svc.audit_follow_holds()"
_FOUND: Final = statement("queries/audit/erasable_entries.sql")
_ROWS: Final = statement("queries/audit/erasable_rows.sql")
MOST_ROWS: Final = 1000
"""The most records whose rows are looked for."""
_ERASE: Final = """
select coalesce(pg_catalog.jsonb_object_agg(e.of_table, e.entries), '{}') as tables, null::bigint as known
  from svc.erase(%(table)s, %(key)s) e
"""
_OTHER_KEYS: Final = """
select coalesce(pg_catalog.array_agg(distinct key.id order by key.id), '{}') as keys
  from svc.audit_logs l cross join lateral (values (l.record_id), (l.moved_from)) key(id)
 where l.table_name = %(table)s and %(key)s in (l.record_id, l.moved_from) and l.moved_from is not null
   and l.erased_leaf is null and key.id <> %(key)s
"""


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """The number of erased entries by table, or of those to erase; none if they are erased already.

    ``other_keys`` are keys that the record had before or after. Their other entries stay, because a key may have been
    another person's: erase them too if they are of the same person. ``rows_left`` are the numbers of records by table
    whose rows are still there, as the log knows it: an erasure does not touch them, and their deletion or change is
    recorded again. Only the first 1,000 records are looked for, those of ``table`` first: ``is_partial`` if there are
    more, whose rows may be left too.
    """

    tables: dict[str, int] = field(default_factory=dict)
    other_keys: list[str] = field(default_factory=list)
    rows_left: dict[str, int] = field(default_factory=dict)
    is_partial: bool = False

    @property
    def entries(self) -> int:
        """The number of entries of all tables."""
        return sum(self.tables.values())


@dataclass(frozen=True, slots=True)
class _Found:
    tables: Any
    known: int | None


@dataclass(frozen=True, slots=True)
class _Keys:
    keys: list[str]


@dataclass(frozen=True, slots=True)
class _Rows:
    tables: Any
    is_partial: bool


def erase(conn: Any, table: str, record: object, *, dry_run: bool = False) -> ErasureReport:
    """Erase a record from its entries, and the records that refer to it by ``audit.erasure``.

    An erased entry keeps its time, table, operation, actor, label and the names of the changed fields; its snapshots,
    description and context are gone, and a key that is neither a number nor a UUID is replaced by its hash. Its digest
    stays, so that its seal remains valid. An entry of a record that had several owners is erased if one of its
    snapshots shows this one. All is done in one transaction, or nothing, with an entry about it: an UPDATE of
    ``svc.audit_logs`` labelled ``audit log erased``. The rows of the tables themselves are not touched: the report has
    the number of those that are left. Delete them first.

    ``conn`` must be outside a transaction. ``record`` is the key: the value of the column, or a list or tuple of
    several columns' values. Raises NotFoundError if the log does not know the record, ConflictError if some of it is
    held (see ``svc_pg.audit.hold``), in a dry run too, or writers keep the log locked, QueryError for more than 100,000
    entries, TransactionError, ConfigError on other databases, and NotInstalledError.
    """
    require_postgres(conn, _FEATURE)
    driver = psycopg_connection(conn, twin="await audit.aerase(conn, ...)")
    check_idle(driver)
    return take(driver, _erasing(table, record, dry_run=dry_run))


async def aerase(conn: Any, table: str, record: object, *, dry_run: bool = False) -> ErasureReport:
    """As ``erase``, on an async connection."""
    require_postgres(conn, _FEATURE)
    driver = await apsycopg_connection(conn, twin="audit.erase(conn, ...)")
    check_idle(driver)
    return await atake(driver, _erasing(table, record, dry_run=dry_run))


def _erasing(table: str, record: object, *, dry_run: bool) -> Effects[ErasureReport]:
    key, name = bounded(record_id(record)), str(TableName.parse(table))
    check_texts(key)
    [others] = yield Query(_OTHER_KEYS, {"table": name, "key": key}, _Keys)
    [rows] = yield Query(_ROWS, {"table": name, "key": key, "most": MOST_ROWS}, _Rows)
    found = yield from _found(name, key, dry_run=dry_run)
    if found.known == 0:
        raise NotFoundError(f'the log does not know a record {key} of "{name}"')
    return ErasureReport(dict(found.tables.value), others.keys, dict(rows.tables.value), rows.is_partial)


def _found(name: str, key: str, *, dry_run: bool) -> Effects[_Found]:
    if dry_run:
        yield Query(_FOLLOW, (), _Found)
    query = Query(_FOUND if dry_run else _ERASE, {"table": name, "key": key}, _Found)
    found: _Found | None = yield from patiently(query, _TRIES)
    if found is None:
        raise ConflictError(
            "nothing is erased, because others keep the log locked",
            hint="Erase again when long transactions have ended.",
        )
    return found
