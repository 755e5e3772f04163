"""Find the last change of each field of a record, with its actor and time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.entry import Operation
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.log.snapshot import Snapshot, read_snapshots
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.database.dialects import require_postgres
from svc_pg.database.query import Query, afetch, fetch
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName

_FEATURE: Final = "the last change of each field"
_BLAME: Final = """
select field, value, is_redacted, entry_id::text as entry_id, changed_at, operation, actor_id, db_user,
       xact_id::text as xact_id, known_since
  from svc.audit_blame(%s, %s) order by changed_at desc nulls last, entry_id, field collate "C"
"""


@dataclass(frozen=True, slots=True)
class FieldOrigin:
    """A field of a record as it is now, and the entry that last changed it.

    Without an entry the change is unknown: the log has the field, under this name, only since ``known_since``, which is
    None if no entry has it. The operation SNAPSHOT means that the field had this value when capture began. If
    ``is_redacted``, the log has no value, or a disguised one.
    """

    field: str
    value: Snapshot | None
    is_redacted: bool
    entry_id: str | None
    changed_at: datetime | None
    operation: Operation | None
    actor_id: str | None
    db_user: str | None
    xact_id: str | None
    known_since: datetime | None

    def __post_init__(self) -> None:
        read_snapshots(self)


def blame(conn: Connection[Any], table: str, record: object) -> list[FieldOrigin]:
    """The origin of each field of one record, the last changed first.

    ``record`` is its key: the value of the column, or a list or tuple of several columns' values. Changes from before
    the record had this key count too. Never commits. Raises NotFoundError if the log does not know the record or it is
    gone, ConfigError for a name that is no table's or another database than PostgreSQL, and NotInstalledError.
    """
    require_postgres(conn, _FEATURE)
    return fetch(conn, _query(table, record))


async def ablame(conn: AsyncConnection[Any], table: str, record: object) -> list[FieldOrigin]:
    """As ``blame``, on an async connection."""
    require_postgres(conn, _FEATURE)
    return await afetch(conn, _query(table, record))


def _query(table: str, record: object) -> Query[FieldOrigin]:
    key = bounded(record_id(record))
    check_texts(key)
    return Query(_BLAME, (str(TableName.parse(table)), key), FieldOrigin)
