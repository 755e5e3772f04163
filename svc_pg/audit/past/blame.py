"""Find the last change of each field of a record, with its actor and time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, cast

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log import numbers
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
from svc_pg.audit.reads.recording import recorded
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Page, aware_time, decode, encode
from svc_pg.database.performing import arun, run
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.formats.doc import Doc

_FEATURE: Final = "the last change of each field"
_BLAME: Final = statement("queries/audit/blame.sql")
MOST_ENTRIES: Final = 10_000
"""The entries of the record that an answer looks at."""


@dataclass(frozen=True, slots=True)
class FieldOrigin:
    """A field of a record as it is now, and the entry that last changed it.

    Without an entry the change is unknown, or lies before ``unchanged_since``. The operation SNAPSHOT means that the
    field had this value when capture began, or when a comparison of the table with the log found it: then it
    ``is_found``, and actor and time are not known.
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
    unchanged_since: Annotated[
        datetime | None,
        Doc(
            "The time since which no entry has changed the field, if the answer ended before it had found one that did:"
            " the next page goes on with these fields; else null."
        ),
    ] = None

    def __post_init__(self) -> None:
        read_snapshots(self)


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a record's past at which an answer ended, and the state with which the first one began."""

    record: str
    until: datetime
    until_id: int
    newest: datetime
    newest_id: int
    left: Mapping[str, Sequence[str]]  # the fields that are left, by the time since which the log has them; "" for none

    @property
    def cursor(self) -> str:
        times = self.until.isoformat(), str(self.until_id), self.newest.isoformat(), str(self.newest_id)
        return encode((self.record, *times, json.dumps(self.left)))


@dataclass(frozen=True, slots=True)
class _Found:
    origin: FieldOrigin
    place_id: int | None
    record_then: str | None
    newest: datetime
    newest_id: int


def blame(conn: Connection[Any], table: str, record: object, *, after: str | None = None) -> Page[FieldOrigin]:
    """The origin of each field of one record, the last changed first.

    ``record`` is its key: the value of the column, or a list or tuple of several columns' values. Changes from before
    the record had this key count too. An answer looks at the record's last 10,000 entries. If fields are left that none
    of them changed, these are among its rows, with ``unchanged_since``, and ``next_cursor`` is not None: pass it as
    ``after`` for a page of these fields alone, found in the 10,000 entries before. Never commits. Raises NotFoundError
    if the log does not know the record or it is gone, QueryError for what is no cursor, ConfigError for a name that is
    no table's or another database than PostgreSQL, and NotInstalledError.
    """
    require_postgres(conn, _FEATURE)
    return run(conn, _page(table, record, after))


async def ablame(
    conn: AsyncConnection[Any], table: str, record: object, *, after: str | None = None
) -> Page[FieldOrigin]:
    """As ``blame``, on an async connection."""
    require_postgres(conn, _FEATURE)
    return await arun(conn, _page(table, record, after))


def _page(table: str, record: object, after: str | None) -> Effects[Page[FieldOrigin]]:
    key = bounded(record_id(record))
    check_texts(key)
    place: tuple[object, ...] = (None,) * 6
    if after is not None:
        then, until, until_id, newest, newest_id, left = decode(
            after, str, aware_time, numbers.in_cursor, aware_time, numbers.in_cursor, _left
        )
        check_texts(then, *cast(Mapping[str, str | None], left))
        place = newest, newest_id, then, until, until_id, json.dumps(left)
    rows: Sequence[_Found]
    rows = yield Query(_BLAME, (str(TableName.parse(table)), key, MOST_ENTRIES, *place), _found)
    yield from recorded({str(TableName.parse(table)): [key]} if rows else {}, {"of": "blame"})
    return _page_of(rows)


def _left(text: str) -> Mapping[str, str | None]:
    """The time since which the log has each field that is left. Raises ValueError."""
    groups = json.loads(text)
    if not isinstance(groups, dict) or not all(isinstance(names, list) for names in groups.values()):
        raise ValueError("no fields")
    times = {since: aware_time(since).isoformat() if since else None for since in groups}
    return {str(name): times[since] for since, names in groups.items() for name in names}


def _found(
    *, place_id: int | None, record_then: str | None, newest: datetime, newest_id: int, **columns: Any
) -> _Found:
    return _Found(FieldOrigin(**columns), place_id, record_then, newest, newest_id)


def _page_of(rows: Sequence[_Found]) -> Page[FieldOrigin]:
    origins, left = [], dict[str, list[str]]()
    cursor = None
    for row in rows:
        origin, until = row.origin, row.origin.unchanged_since
        if until is not None:
            left.setdefault("" if origin.known_since is None else origin.known_since.isoformat(), []).append(
                origin.field
            )
            record, until_id = cast(str, row.record_then), cast(int, row.place_id)
            cursor = _Place(record, until, until_id, row.newest, row.newest_id, left)
            origin = replace(origin, known_since=None)  # it may be known for longer
        origins.append(origin)
    return Page(origins, None if cursor is None else cursor.cursor)
