"""Read rows as they were at a time: ``as_of("public.customer", "2026-01-31T12:00Z").record(5).one(conn)``."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self, cast

from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL, Identifier

from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.past.past_row import PastRow
from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.audit.reads.recording import recorded
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Keyset, Listing, Page, PointInTime, aware_time, decode, encode, time_or_age
from svc_pg.database.query import Query, RawJson
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.errors import NotFoundError, NotInstalledError, QueryError, UnknownTableError
from svc_pg.formats.durations import point_in_time
from svc_pg.rendering.schema_objects import names_of

_FEATURE: Final = "a table as of a time"
MOST_RECORDS: Final = 1000
"""A page looks at no more, however many of them were there."""
# The table may have a column of the name of our first one, by which the rows are in order
_RECORD: Final = SQL("""
  from {as_of}({time}, %s::text) past("svc key")""")
# A join to what each row of a function gives keeps the order of these
_TABLE: Final = SQL("""
  from svc.audit_as_of_rows(%s, {time}, %s::text, %s::text, %s, %s) keys
  left join lateral {as_of}({time}, keys.record_id) past("svc key") on keys.is_there""")
_END: Final = SQL('select case when not keys.is_there then keys.record_id end as "svc end", ')
_ROWS: Final = SQL("past.*")
_JSON: Final = SQL("""past."svc key", (
           select pg_catalog.json_agg(pg_catalog.json_build_array(e.key, e.value::text) order by e.n)
             from json_each(pg_catalog.row_to_json(past)) with ordinality e(key, value, n)
       ) as members""")
AT: Final = SQL("%s::timestamptz")
_AGO: Final = "select now() - %s as time"


@dataclass(frozen=True, slots=True)
class _End:
    """The record at which a page ended that looked at as many as it may."""

    record_id: str


OWN: Final = [field.name for field in fields(PastRow) if field.name != "values"]
"""The names of our columns, which come first."""


def _row(**columns: Any) -> PastRow:
    values = iter(columns.items())
    own = {name: next(values)[1] for name in OWN}
    return _past_row(own, dict(values))


def _past_row(own: dict[str, Any], values: dict[str, Any]) -> PastRow:
    for name in ("entry_id", "xact_id"):
        own[name] = None if own[name] is None else str(own[name])
    found = {name: Snapshot(value) if isinstance(value, RawJson) else value for name, value in values.items()}
    return PastRow(**own, values=found)


def _json_row(**columns: Any) -> PastRow:
    members = [(name, RawJson(text)) for name, text in columns["members"].value]
    texts = dict(zip(OWN, (text for _, text in members), strict=False))
    own = {name: text.value for name, text in texts.items() if name != "other_data"}
    own["valid_from"] = None if own["valid_from"] is None else datetime.fromisoformat(own["valid_from"])
    own["other_data"] = None if texts["other_data"] == "null" else texts["other_data"]
    return _past_row(own, dict(members[len(OWN) :]))


def _or_end(row: Callable[..., PastRow]) -> Callable[..., PastRow | _End]:
    """Reads a row of a page, or the end of one."""

    def read(**columns: Any) -> PastRow | _End:
        end = columns.pop("svc end")
        return row(**columns) if end is None else _End(end)

    return read


# The statement is made in AsOf._query, and the time of the list joins its cursors in AsOf.page
_KEYSET: Final = Keyset(
    select="",
    row=_row,
    order="",
    beyond="",
    reverse_order="",
    before="",
    key=lambda row: (row.record_id,),
    read=lambda cursor: decode(cursor, str, aware_time),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf(Listing[PastRow]):
    """The rows of a table as they were at a time, page by page in the order of the bytes of their keys.

    A page looks at 1000 records that the log knows. If it ends there, it may have few rows, or none, and a cursor all
    the same. An age counts from the first page: its cursors hold the time that it was.
    """

    table: TableName
    time: datetime | timedelta
    key: str | None = None
    is_json: bool = False

    def record(self, record: object) -> Self:
        """Only the record with this key: the value of the column, or a list or tuple of several columns' values."""
        key = bounded(record_id(record))
        check_texts(key)
        return replace(self, key=key)

    def as_json(self) -> Self:
        """The same rows, each value a Snapshot of PostgreSQL's JSON: also values of types that Python lacks."""
        return replace(self, is_json=True)

    def one(self, conn: Connection[Any]) -> PastRow:
        """The only row, on a sync connection. Raises NotFoundError if there was none, and the errors of ``list``."""
        return self._only(self.limit(1).list(conn))

    async def aone(self, conn: AsyncConnection[Any]) -> PastRow:
        """As ``one``, on an async connection."""
        return self._only(await self.limit(1).alist(conn))

    def list(self, conn: Connection[Any]) -> Page[PastRow]:
        """Run on a sync connection to PostgreSQL. Never commits.

        Raises UnknownTableError if the table is not audited or has no key, QueryError if the log knows it only since
        later, and NotInstalledError.
        """
        with self._naming(conn):
            return Listing.list(self, conn)

    async def alist(self, conn: AsyncConnection[Any], *, max_bytes: int | None = None) -> Page[PastRow]:
        """As ``list``, on an async connection; ``max_bytes`` as in other lists."""
        with self._naming(conn):
            return await Listing.alist(self, conn, max_bytes=max_bytes)

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[PastRow]]:
        """As any list's, but first of an age the time that it is."""
        time = yield from self._fixed_time()
        keyset = replace(self.keyset, key=lambda row: (row.record_id, time.isoformat()))
        found = yield from Listing.page(replace(self, time=time, keyset=keyset), max_bytes=max_bytes)
        keys = [row.record_id for row in found]
        yield from recorded({str(self.table): keys} if keys else {}, {"of": "as of", "time": time.isoformat()})
        return found

    def _fixed_time(self) -> Effects[datetime]:
        if isinstance(self.time, datetime):
            return self.time
        if self.position is not None:
            return cast(datetime, self.position[-1])
        [row] = yield Query(_AGO, (self.time,), dict)
        return cast(datetime, row["time"])

    def _query(self) -> Query[PastRow]:
        names = {"as_of": source_of(self.table), "time": AT}
        columns, row = (_JSON, _json_row) if self.is_json else (_ROWS, _row)
        if self.key is not None:
            text = SQL("select ") + columns + _RECORD.format(**names)
            return Query(text.as_string(None), (self.time, self.key), row)
        text = _END + columns + _TABLE.format(**names)
        [edge, _] = self.position or (None, None)
        edges = (None, edge) if self.is_backward else (edge, None)
        params = (str(self.table), self.time, *edges, self.size + 1, MOST_RECORDS, self.time)
        return Query(text.as_string(None), params, cast(Callable[..., PastRow], _or_end(row)))

    def _page(self, rows: Sequence[PastRow | _End], *, is_cut: bool = False) -> Page[PastRow]:
        found = [row for row in rows if isinstance(row, PastRow)]
        page = Listing._page(self, found, is_cut=is_cut)
        if not rows or isinstance(end := rows[-1], PastRow):
            return page
        cursor = encode(self.keyset.key(cast(PastRow, end)))
        return replace(page, prev_cursor=cursor) if self.is_backward else replace(page, next_cursor=cursor)

    def _only(self, page: Page[PastRow]) -> PastRow:
        if not page.data:
            raise NotFoundError(f'"{self.table}" had no record {self.key} then, as far as the log knows')
        return page.data[0]

    @contextmanager
    def _naming(self, conn: object) -> Iterator[None]:
        require_postgres(conn, _FEATURE)
        try:
            yield
        except NotInstalledError as error:
            if _function(self.table) not in str(error.__cause__):  # as PostgreSQL names it
                raise
            raise UnknownTableError(
                f'there is no past of "{self.table}" to read: it is not audited, or has no key',
                hint="svc-pg status lists the audited tables; those without a key have no records.",
            ) from error


def as_of(table: str, time: PointInTime) -> AsOf:
    """The rows of a table as they were at a time: an aware datetime, or a duration before now, for example ``1h``.

    A transaction counts from when its entries were written, not from its commit. Rows that were there before capture
    began, and never changed since, are not among them unless ``install --backfill`` recorded them. Raises ConfigError
    for an unusable table name, and QueryError for an unusable time.
    """
    name = TableName.parse(table)
    when = time_or_age(_read(time))
    return AsOf(keyset=_KEYSET, table=name, time=when)


def _read(time: PointInTime) -> PointInTime:
    if not isinstance(time, str):
        return time
    try:
        return point_in_time(time)  # a date, for example
    except ValueError as error:
        raise QueryError(str(error)) from error


def source_of(table: TableName) -> Identifier:
    """The function in a statement with placeholders, in which a percent sign of a name is doubled."""
    return Identifier("svc", _function(table).replace("%", "%%"))


def _function(table: TableName) -> str:
    return names_of(table).as_of
