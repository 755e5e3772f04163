"""Find the last change of each field of a record, with its actor and time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.entry import (
    ACTOR,
    DB_USER,
    ENTRY_ID,
    FOUND,
    OPERATION,
    XACT,
    Operation,
)
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.log.snapshot import Snapshot, read_snapshots
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.database.dialects import require_postgres
from svc_pg.database.query import Query, afetch, fetch
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.formats.doc import Doc

_FEATURE: Final = "the last change of each field"
_BLAME: Final = statement("queries/audit/blame.sql")


@dataclass(frozen=True, slots=True)
class FieldOrigin:
    """A field of a record as it is now, and the entry that last changed it.

    Without an entry the change is unknown. The operation SNAPSHOT means that the field had this value when capture
    began, or when a comparison of the table with the log found it: then it ``is_found``, and actor and time are not
    known.
    """

    field: Annotated[str, Doc("The name of the field.", "email")]
    value: Annotated[Snapshot | None, Doc("Its present value.", "ann@corp.example")]
    is_redacted: Annotated[bool, Doc("True if the log has no value of it, or a disguised one.")]
    entry_id: Annotated[str | None, ENTRY_ID]
    changed_at: Annotated[datetime | None, Doc("The time of that entry; null if there is none.")]
    operation: Annotated[Operation | None, OPERATION]
    actor_id: Annotated[str | None, ACTOR]
    db_user: Annotated[str | None, DB_USER]
    xact_id: Annotated[str | None, XACT]
    is_found: Annotated[bool, FOUND]
    known_since: Annotated[
        datetime | None,
        Doc(
            "The time since which the log has the field under this name, if no entry has changed it; null if no"
            " entry has it."
        ),
    ]

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
