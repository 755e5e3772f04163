"""The list of reads: ``reads("public.customer", 42).list(conn)`` has who looked at a record, the newest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Self, cast

from psycopg import AsyncConnection, Connection

from svc_pg.audit.context import Id
from svc_pg.audit.log import numbers
from svc_pg.audit.log.entry import ACTOR, DB_USER, ENTRY_ID, TENANT
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.database.dialects import require_postgres
from svc_pg.database.pagination import Keyset, Listing, Page, PointInTime, aware_time, decode, time_or_age
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.formats.doc import Doc

_READS: Final = statement("queries/audit/reads.sql")
_FEATURE: Final = "the list of reads"


@dataclass(frozen=True, slots=True)
class RecordRead:
    """One answer, page or file that showed records of a table, and who got it."""

    entry_id: Annotated[str, ENTRY_ID]
    timestamp: Annotated[datetime, Doc("The time of the read.")]
    actor_id: Annotated[str | None, ACTOR]
    tenant_id: Annotated[str | None, TENANT]
    db_user: Annotated[str, DB_USER]
    through: Annotated[
        str,
        Doc("The way: page or api of the console, command, python, export of a file, or admin of Django.", "page"),
    ]
    records: Annotated[
        int | None, Doc("The number of records that were shown; null of a file, which may have any.", 50)
    ]
    is_certain: Annotated[
        bool,
        Doc("True if the record that was asked for was shown; false if it may have been, as one of a file."),
    ]
    question: Annotated[
        Snapshot | None,
        Doc("The question, without values of searches.", {"of": "entries.list", "resource": "customer"}),
    ]
    context: Annotated[
        Snapshot | None, Doc("Facts about the request, as the console sets them.", {"ip": "203.0.113.7"})
    ]


@dataclass(frozen=True, slots=True)
class _End:
    """The place at which a page ended that looked at as many reads as one may."""

    timestamp: datetime
    entry_id: str


def _row(*, at: datetime, is_match: bool, entry_id: str, **columns: Any) -> RecordRead | _End:
    if not is_match:
        return _End(at, entry_id)
    for name in ("question", "context"):
        value = columns[name]
        columns[name] = Snapshot(value) if isinstance(value, RawJson) else value
    return RecordRead(entry_id=entry_id, timestamp=at, **columns)


_KEYSET: Final = Keyset(
    select="",
    row=cast(Callable[..., RecordRead], _row),
    order="",
    beyond="",
    reverse_order="",
    before="",
    key=lambda read: (read.timestamp.isoformat(), read.entry_id),
    read=lambda cursor: decode(cursor, aware_time, numbers.in_cursor),
    choice=ByIndexes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads(Listing[RecordRead]):
    """The reads of a table or of one record, page by page, the newest first.

    A page looks at 10,000 reads of the table. If it ends there, it may have few, or none, and a cursor all the same.
    """

    table: TableName
    record: str | None = None
    of_tenant: str | None = None
    since_time: datetime | timedelta | None = None
    until_time: datetime | timedelta | None = None

    def since(self, point_in_time: PointInTime) -> Self:
        """Reads from then on: an aware datetime, or a duration before now, for example ``1h``."""
        return replace(self, since_time=time_or_age(point_in_time))

    def until(self, point_in_time: PointInTime) -> Self:
        """Reads before then: an aware datetime, or a duration before now, for example ``1h``."""
        return replace(self, until_time=time_or_age(point_in_time))

    def tenant(self, tenant: Id | None) -> Self:
        """Only those of this tenant; None for all."""
        return replace(self, of_tenant=None if tenant is None else str(tenant))

    def list(self, conn: Connection[Any]) -> Page[RecordRead]:
        """Run on a sync connection to PostgreSQL. Never commits. Raises NotInstalledError and AccessError."""
        require_postgres(conn, _FEATURE)
        return Listing.list(self, conn)

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[RecordRead]:
        """As ``list``, on an async connection; ``max_bytes`` as in other lists."""
        require_postgres(conn, _FEATURE)
        return await Listing.alist(self, conn, max_bytes=max_bytes)

    def _query(self) -> Query[RecordRead]:
        time, entry_id = self.position or (None, None)
        params = {
            "table": str(self.table),
            "key": self.record,
            "tenant": self.of_tenant,
            **_bound("since", self.since_time),
            **_bound("until", self.until_time),
            "time": time,
            "id": entry_id,
            "limit": self.size + 1,
        }
        return Query(_READS, params, self.keyset.row)

    def _page(self, rows: Sequence[RecordRead | _End], *, is_cut: bool = False) -> Page[RecordRead]:
        found = [row for row in rows if isinstance(row, RecordRead)]
        page = Listing._page(self, found, is_cut=is_cut)
        if len(found) > self.size or is_cut or not rows or isinstance(end := rows[-1], RecordRead):
            return replace(page, prev_cursor=None)
        return Page(page.data, self.page_of([cast(RecordRead, end)], has_more=True, key=self.keyset.key).next_cursor)


def _bound(name: str, time: datetime | timedelta | None) -> dict[str, datetime | timedelta | None]:
    """The parameters of an end of a window: a time, or the time before the database's now."""
    is_age = isinstance(time, timedelta)
    return {name: None if is_age else time, f"{name}_age": time if is_age else None}


def reads(table: str, record: object = None) -> Reads:
    """The reads of a table's records, or of one record, the newest first: ``reads("public.customer", 5).list(conn)``.

    They are there of tables with ``record_reads`` in the configuration. ``record`` is its key: the value of the column,
    or a list or tuple of several columns' values. Raises ConfigError for a name that is no table's.
    """
    key = None if record is None else bounded(record_id(record))
    if key is not None:
        check_texts(key)
    return Reads(keyset=_KEYSET, table=TableName.parse(table), record=key)
