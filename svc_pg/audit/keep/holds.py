"""Legal holds: held entries are neither purged nor erased until the hold is lifted."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, Self, TypedDict, Unpack

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.entry import TABLE
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.database.dialects import require_postgres
from svc_pg.database.filters import Selects, applied
from svc_pg.database.pagination import Keyset, Listing, Page, decode
from svc_pg.database.query import Query, afetch_one, fetch_one
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.formats.doc import Doc

_FEATURE: Final = "a legal hold"
_HOLD: Final = "select svc.hold(%s, %s, %s)::text as id"
_LIFT: Final = "select svc.lift_hold(%s, %s, %s)::text as id"
_HOLDS: Final = """
select id::text as id, table_name, record_id, reason, held_at, held_by, lifted_at, lifted_by, lift_reason, (
           select count(*) from svc.audit_held_records r
            where r.hold_id = audit_holds.id and r.followed_at is null
       ) as connected
  from svc.audit_holds"""
# each purge looks up again which records refer to a held one
_KEEPING: Final = """
(table_name = %s and (record_id is null or record_id = %s)
 or id in (select r.hold_id from svc.audit_held_records r where r.table_name = %s and r.record_id = %s))"""


@dataclass(frozen=True, slots=True)
class Hold:
    """A legal hold of a record, or of a whole table: its entries are neither removed nor erased while it holds."""

    id: Annotated[str, Doc("The number of the hold.", "3")]
    table_name: Annotated[str, TABLE]
    record_id: Annotated[str | None, Doc("The key of the record that is held; null if the whole table is.", "42")]
    reason: Annotated[str, Doc("The reason for the hold.", "Case 2026-17")]
    held_at: Annotated[datetime, Doc("The time at which it was placed.")]
    held_by: Annotated[str, Doc("The actor who placed it, or else the role.", "ann@corp.example")]
    lifted_at: Annotated[datetime | None, Doc("The time at which it was lifted; null while it holds.")]
    lifted_by: Annotated[
        str | None, Doc("The actor who lifted it, or else the role; null while it holds.", "ann@corp.example")
    ]
    lift_reason: Annotated[str | None, Doc("The reason for lifting it; null while it holds.", "The case is closed")]
    connected: Annotated[
        int,
        Doc(
            "The number of other records that it keeps because they refer to this one, as of the last purge or"
            " erasure, or of the hold itself.",
            12,
        ),
    ]


class HoldFilter(TypedDict, total=False):
    """Conditions on holds; a hold must meet all that are not None. Lifted holds are left out without ``lifted``."""

    lifted: Annotated[bool | None, Selects(words="also those that were lifted")]
    resource: Annotated[
        str | None,
        Selects(
            words="holds of this table and of its records: schema.table, or a table in public",
            example="public.customer",
        ),
    ]
    record: Annotated[
        object | None,
        Selects(
            words="holds of the record with that key, or of its table; with resource, also of what it refers to",
            example="42",
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Id:
    id: str


_KEYSET: Final = Keyset(
    select=_HOLDS,
    row=Hold,
    order=" order by audit_holds.id desc",
    beyond="audit_holds.id < %s",
    reverse_order=" order by audit_holds.id",
    before="audit_holds.id > %s",
    key=lambda hold: (hold.id,),
    read=lambda cursor: decode(cursor, int),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds(Listing[Hold]):
    """The holds, page by page, the newest first."""

    has_lifted: bool = False
    table_name: str | None = None
    key: str | None = None

    def list(self, conn: Connection[Any]) -> Page[Hold]:
        """Run on a sync connection to PostgreSQL. Never commits. Raises NotInstalledError."""
        require_postgres(conn, _FEATURE)
        return Listing.list(self, conn)

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[Hold]:
        """As ``list``, on an async connection; ``max_bytes`` as in other lists."""
        require_postgres(conn, _FEATURE)
        return await Listing.alist(self, conn, max_bytes=max_bytes)

    def lifted(self, is_wanted: bool = True) -> Self:  # noqa: FBT001, FBT002 - a filter has its value alone
        """Also those that were lifted."""
        return replace(self, has_lifted=is_wanted)

    def resource(self, table: str) -> Self:
        """Only holds of this table and of its records."""
        return replace(self, table_name=str(TableName.parse(table)))

    def record(self, key: object) -> Self:
        """Only holds of the record with this key, or of its table; with ``resource``, those that ``keeping`` gives."""
        found = bounded(record_id(key))
        check_texts(found)
        return replace(self, key=found)

    def keeping(self, table: str, record: object) -> Self:
        """Only holds that keep the entries of this record: on it, on its table, and on records that it refers to."""
        return self.resource(table).record(record)

    def numbered(self, hold_id: str) -> Self:
        """Only the hold with this id, which ``hold`` returned."""
        return replace(self, filter=self.filter.where("id::text = %s", hold_id))

    def _query(self) -> Query[Hold]:
        found = self.filter if self.has_lifted else self.filter.where("lifted_at is null")
        if self.table_name is not None and self.key is not None:
            found = found.where(_KEEPING, self.table_name, self.key, self.table_name, self.key)
        elif self.table_name is not None:
            found = found.where("table_name = %s", self.table_name)
        elif self.key is not None:
            found = found.where("(record_id is null or record_id = %s)", self.key)
        return Listing._query(replace(self, filter=found))


def holds(**which: Unpack[HoldFilter]) -> Holds:
    """The holds, the newest first: ``holds().list(conn)``; with ``lifted`` also lifted ones."""
    return applied(Holds(keyset=_KEYSET), HoldFilter, which)


def hold(conn: Connection[Any], table: str, record: object = ..., *, reason: str) -> str:
    """Hold a record, or without one all of a table, in the caller's transaction. Returns the hold's id.

    From its commit on, no entries of it are purged or erased, nor of the records that refer to it by ``audit.erasure``,
    now or later. A hold of a table keeps that table alone. A purge or an erasure under way goes first: this waits for
    it. The hold is an entry of the log itself, with the actor and the reason. ``record`` is the key: the value of the
    column, or a list or tuple of several columns' values.

    Raises NotFoundError if the log does not know the table or the record, ConflictError if it is held already,
    TransactionError unless the transaction is READ COMMITTED, QueryError without a reason and for the key None,
    ConfigError on other databases, and NotInstalledError.
    """
    require_postgres(conn, _FEATURE)
    return fetch_one(conn, _query(_HOLD, table, record, reason)).id


async def ahold(conn: AsyncConnection[Any], table: str, record: object = ..., *, reason: str) -> str:
    """As ``hold``, on an async connection."""
    require_postgres(conn, _FEATURE)
    return (await afetch_one(conn, _query(_HOLD, table, record, reason))).id


def lift_hold(conn: Connection[Any], table: str, record: object = ..., *, reason: str) -> str:
    """Lift a hold, in the caller's transaction; this is an entry of the log, too. Returns the hold's id.

    The hold of a table does not end with that of one of its records, nor the other way round. Raises NotFoundError if
    there is none, QueryError without a reason and for the key None, ConfigError on other databases, and
    NotInstalledError.
    """
    require_postgres(conn, _FEATURE)
    return fetch_one(conn, _query(_LIFT, table, record, reason)).id


async def alift_hold(conn: AsyncConnection[Any], table: str, record: object = ..., *, reason: str) -> str:
    """As ``lift_hold``, on an async connection."""
    require_postgres(conn, _FEATURE)
    return (await afetch_one(conn, _query(_LIFT, table, record, reason))).id


def _query(text: Any, table: str, record: object, reason: str) -> Query[_Id]:
    key = None if record is ... else bounded(record_id(record))
    check_texts(*([] if key is None else [key]), reason)
    return Query(text, (str(TableName.parse(table)), key, reason), _Id)
