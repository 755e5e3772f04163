"""Read the states of one record: ``history("public.customer", 5).list(conn)``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, LiteralString, Self

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log import numbers
from svc_pg.audit.log.entry import (
    ACTOR,
    AFTER,
    BEFORE,
    CHANGED,
    DB_USER,
    ENTRY_ID,
    FOUND,
    OPERATION,
    REDACTED,
    TENANT,
    XACT,
    Operation,
    Order,
    is_erased,
)
from svc_pg.audit.log.numbers import HIGHEST
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.log.snapshot import Snapshot, read_snapshots
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.audit.reads.recording import recorded
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Keyset, Listing, Page, aware_time, decode
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc

_FEATURE: Final = "the history of a record"
_STATES: Final = statement("queries/audit/record_states.sql")
_ORDER: Final[dict[Order, LiteralString]] = {
    "newest": " order by h.valid_from desc, h.place_id desc",
    "oldest": " order by h.valid_from, h.place_id",
}
_BEYOND: Final[dict[Order, LiteralString]] = {
    "newest": " and h.valid_from <= %s and (h.valid_from, h.place_id) < (%s, %s)",
    "oldest": " and h.valid_from >= %s and (h.valid_from, h.place_id) > (%s, %s)",
}
_ENDS: Final[dict[Order, tuple[str, int]]] = {"newest": ("infinity", HIGHEST), "oldest": ("-infinity", 0)}
_REVERSE: Final[dict[Order, Order]] = {"newest": "oldest", "oldest": "newest"}


@dataclass(frozen=True, slots=True)
class RecordState:
    """A state of a record, and the entry that recorded it: a DELETE, GONE, or an UPDATE of the key, ends the record."""

    valid_from: Annotated[datetime, Doc("The time from which the record was so.")]
    valid_to: Annotated[
        datetime | None,
        Doc(
            "The time until which it was so; null for the state of now. Equal to `validFrom` if the entry ended the"
            " record."
        ),
    ]
    operation: Annotated[Operation, OPERATION]
    actor_id: Annotated[str | None, ACTOR]
    tenant_id: Annotated[str | None, TENANT]
    db_user: Annotated[str, DB_USER]
    entry_id: Annotated[str, ENTRY_ID]
    xact_id: Annotated[str, XACT]
    before_data: Annotated[Snapshot | None, BEFORE]
    after_data: Annotated[Snapshot | None, AFTER]
    changed_fields: Annotated[list[str] | None, CHANGED]
    redacted_fields: Annotated[list[str] | None, REDACTED]
    moved_from: Annotated[
        str | None, Doc("The key that the record had before, if the entry gave it another; else null.", "41")
    ]
    moved_to: Annotated[
        str | None, Doc("The key that the record got, if the entry ended it by giving it another; else null.", "43")
    ]
    is_in_order: Annotated[
        bool,
        Doc(
            "False if the images of a transaction do not follow each other, and its states are in the order in"
            " which they were written; or if the rules of the table left out changes between this state and the one"
            " before, which then ended earlier."
        ),
    ]
    is_found: Annotated[bool, FOUND]
    place_id: Annotated[str, Doc("Orders states of one time.", "184467")]

    def __post_init__(self) -> None:
        read_snapshots(self)

    @property
    def is_erased(self) -> bool:
        """True if ``svc_pg.audit.erase`` erased the state's values."""
        return is_erased(self)


def _read(cursor: str) -> Sequence[object]:
    time, place = decode(cursor, aware_time, numbers.in_cursor)
    return time, time, place


# The statement is made in History._query; pages need no more than this
_KEYSET: Final = Keyset(
    select="",
    row=RecordState,
    order="",
    beyond="",
    reverse_order="",
    before="",
    key=lambda state: (state.valid_from.isoformat(), state.place_id),
    read=_read,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Listing[RecordState]):
    """The states of a record, page by page, in the order of change."""

    table: TableName
    record: str
    first: Order = "newest"

    def order(self, first: Order) -> Self:
        """The order of the states: the ``newest`` first, which is the default, or the ``oldest``."""
        if first not in _ORDER:
            raise QueryError(f"{first!r} is not an order", hint="Write one of newest, oldest.")
        return replace(self, first=first)

    def list(self, conn: Connection[Any]) -> Page[RecordState]:
        """Run on a sync connection to PostgreSQL. Never commits.

        Raises NotFoundError if the log does not know the record, and NotInstalledError.
        """
        require_postgres(conn, _FEATURE)
        return Listing.list(self, conn)

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[RecordState]:
        """As ``list``, on an async connection; ``max_bytes`` as in other lists."""
        require_postgres(conn, _FEATURE)
        return await Listing.alist(self, conn, max_bytes=max_bytes)

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[RecordState]]:
        """As any list's; the read is recorded, if reads of the table are."""
        found = yield from Listing.page(self, max_bytes=max_bytes)
        yield from recorded({str(self.table): [self.record]}, {"of": "history"})
        return found

    def _query(self) -> Query[RecordState]:
        direction = _REVERSE[self.first] if self.is_backward else self.first
        beyond: LiteralString = "" if self.position is None else _BEYOND[direction]
        position = self.position or ()
        record, limit = (str(self.table), self.record), self.size + 1
        edge = position[1:] or _ENDS[direction]
        return Query(
            _STATES + beyond + _ORDER[direction] + " limit %s",
            (*record, *edge, direction == "newest", limit, *record, *position, limit),
            RecordState,
            None if self.position else f'the log does not know a record {self.record} of "{self.table}"',
        )


def history(table: str, record: object) -> History:
    """The states of one record, the newest first: ``history("public.customer", 5).limit(10).list(conn)``.

    ``record`` is its key: the value of the column, or a list or tuple of several columns' values. Raises ConfigError
    for a name that is no table's.
    """
    key = bounded(record_id(record))
    check_texts(key)
    return History(keyset=_KEYSET, table=TableName.parse(table), record=key)
