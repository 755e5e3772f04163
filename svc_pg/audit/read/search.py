"""Search snapshots and contexts, stretch by stretch, so that the time of an answer does not grow with the log."""

import json
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Generic, LiteralString, TypeVar

from psycopg import AsyncConnection
from psycopg.errors import InternalError_, ProgramLimitExceeded, QueryCanceled

from svc_pg.audit.log.conditions import HasWords
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.change_order import MAX_PLACES, tables_of
from svc_pg.audit.read.listing import EntryListing
from svc_pg.audit.read.stretch import Reach, Stretch, stretch
from svc_pg.database.by_indexes import aby_indexes
from svc_pg.database.pagination import ALL, Keyset, Page, Row, encode
from svc_pg.database.performing import arun
from svc_pg.database.query import Query, afetch
from svc_pg.errors import QueryError

MAX_ENTRIES: Final = 10_000
MAX_BYTES: Final = 16 * 1024 * 1024
"""The limit for the stored size of snapshots."""

Found = TypeVar("Found")

_SHARES: Final = (1, 10, 100, 1000, 10_000)
_TIMEOUT: Final = "1200"  # milliseconds
_BEGIN: Final = "select set_config('statement_timeout', '{timeout}', true); savepoint svc_search"
_FEW: Final = 20  # entries, for each row of a page

_INDEXED: Final = """
select c.relname::text as name
  from pg_index i join pg_class c on c.oid = i.indexrelid
 where i.indrelid = 'svc.audit_logs'::regclass::oid and i.indisvalid
   and c.relname = any (select 'audit_logs_' || s from pg_catalog.unnest(%s::text[]) s)
"""
_READ: Final = "select pg_catalog.websearch_to_tsquery('pg_catalog.simple'::regconfig, %s)"
_SIZE: Final = """
select coalesce(sum(coalesce(pg_catalog.pg_column_size(before_data), 0)
                    + coalesce(pg_catalog.pg_column_size(after_data), 0)), 0)::bigint as bytes
  from """
_END: Final = """
select y."timestamp", y.id::text
  from (
    select x."timestamp", x.id, x.n, sum(x.bytes) over (order by x.n) as bytes
      from (
        select audit_logs."timestamp", audit_logs.id,
               coalesce(pg_catalog.pg_column_size(before_data), 0)
                   + coalesce(pg_catalog.pg_column_size(after_data), 0) as bytes,
               row_number() over ("""
_END_OF_CONTEXTS: Final = 'select audit_logs."timestamp", audit_logs.id::text from '
_PLACE: Final = " audit_logs offset %s"
_LOOKED_AT: Final = """) as n
          from """
_STRETCH: Final = """ audit_logs
      ) x
  ) y
 where y.n = %s or y.bytes > %s
 order by y.n limit 1
"""
_UP_TO: Final[dict[bool, LiteralString]] = {
    True: '"timestamp" >= %s and ("timestamp", id) >= (%s, %s)',
    False: '"timestamp" <= %s and ("timestamp", id) <= (%s, %s)',
}


@dataclass(frozen=True, slots=True)
class _Indexed:
    name: str


@dataclass(frozen=True, slots=True)
class _Size:
    bytes: int


@dataclass(frozen=True, slots=True)
class _End:
    timestamp: datetime
    id: str


@dataclass(frozen=True, slots=True)
class _Stretch(Generic[Row]):
    """A page from a stretch; True if it is final, because it is full or the log ends there."""

    page: Page[Row]
    is_full: bool


def contains(query: AuditQuery, text: str) -> AuditQuery:
    """Entries of which a snapshot has these members, as jsonb ``@>`` says. Raises QueryError if it is no object."""
    try:
        is_object = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise QueryError(f"{text!r} is not a JSON object", hint='Such as {"email": "ann@corp.example"}.')
    return query.containing(text)


def with_text(query: AuditQuery, words: str) -> AuditQuery:
    """Entries that have all these words in their snapshots or description, in the syntax of web searches."""
    if not words.strip():
        raise QueryError("a search needs a word")
    return query.with_words(words)


def with_fact(query: AuditQuery, value: str) -> AuditQuery:
    """Entries with this value among the members of their context."""
    if not value.strip():
        raise QueryError("a search needs a value")
    return query.with_fact(value)


async def check_words(conn: AsyncConnection[Any], query: AuditQuery) -> None:
    """Raise QueryError if PostgreSQL cannot read the words of a search."""
    try:
        for condition in query.conditions:
            if isinstance(condition, HasWords):
                await conn.execute(_READ, (condition.words,))
    except (InternalError_, ProgramLimitExceeded) as error:  # for example of 33 hyphens, each of which negates the next
        reason = error.diag.message_primary
        raise QueryError(f"PostgreSQL cannot read the words: {reason}", hint="Write fewer hyphens.") from error


async def search(conn: AsyncConnection[Any], wanted: EntryListing[Row], *, max_bytes: int) -> Page[Row]:
    """A page of a list with a search: those of the next 10,000 entries of its range, or of 16 MiB of snapshots.

    A page may therefore be short, or empty, and have a next one all the same. If the search of so many takes longer
    than 1.2 seconds, it is tried with a tenth of them, as large values need. With an index of each search, a page that
    the next few entries do not fill comes from the index, which finds what is rare in the whole log, but would read all
    entries that have a frequent word. ``conn`` must be in a transaction, whose statement_timeout changes, and
    the words must be readable: see ``check_words``.
    """
    wanted = await _of_tables(conn, wanted)
    indexed = await afetch(conn, Query(_INDEXED, (sorted(wanted.searches),), _Indexed))
    await conn.execute(_BEGIN.replace("{timeout}", _TIMEOUT), prepare=False)
    if len(indexed) == len(wanted.searches) and wanted.record is None:
        few = await _in_time(conn, _stretch(conn, wanted, min(MAX_ENTRIES, _FEW * wanted.size), max_bytes=max_bytes))
        if few is not None and few.is_full:
            return few.page
        by_index = replace(wanted, keyset=_by_condition(wanted), reach=None).alist(conn, max_bytes=max_bytes)
        if (page := await _in_time(conn, by_index)) is not None:
            return page
    most = MAX_ENTRIES if wanted.record is None else MAX_PLACES
    for share in _SHARES:
        entries = max(1, most // share)
        if (found := await _in_time(conn, _stretch(conn, wanted, entries, max_bytes=max_bytes))) is not None:
            return found.page
    raise QueryCanceled("a search of few entries takes too long")


async def _of_tables(conn: AsyncConnection[Any], wanted: EntryListing[Row]) -> EntryListing[Row]:
    """The same list, of one record only if its tables are known."""
    if wanted.record is None:
        return wanted
    tables = await arun(conn, tables_of(wanted.record))
    return replace(wanted, record=None if tables is None else replace(wanted.record, tables=tuple(tables)))


async def _in_time(conn: AsyncConnection[Any], found: Awaitable[Found]) -> Found | None:
    """The entries found; None if it takes too long, and the transaction is as before."""
    try:
        return await found
    except QueryCanceled:
        await conn.execute("rollback to savepoint svc_search")
        return None


def _by_condition(wanted: EntryListing[Row]) -> Keyset[Row]:
    """The list found by its conditions and then sorted, not read in its order until enough is found."""
    keyset = wanted.keyset
    return replace(
        keyset,
        select=wanted.columns + " from (select * from svc.audit_logs",  # noqa: S608 - constants
        order=" offset 0) audit_logs" + keyset.order,
        reverse_order=" offset 0) audit_logs" + keyset.reverse_order,
    )


async def _stretch(
    conn: AsyncConnection[Any], wanted: EntryListing[Row], entries: int, *, max_bytes: int
) -> _Stretch[Row]:
    if wanted.record is not None:
        few = replace(wanted, record=replace(wanted.record, most=entries))
        return _Stretch(await few.alist(conn, max_bytes=max_bytes), is_full=True)
    reach = wanted.reach or Reach(ALL)
    keyset = wanted.keyset.reverse if wanted.is_backward else wanted.keyset
    beyond = ALL if wanted.position is None else ALL.where(keyset.beyond, *wanted.position)
    found = await arun(conn, stretch(reach, keyset.order, beyond=beyond, most=entries))
    reads_snapshots = wanted.searches != {"context"}
    async with aby_indexes(conn):
        if reads_snapshots and (await afetch(conn, _size_of(found)))[0].bytes <= MAX_BYTES:
            page = await replace(wanted, most=entries).alist(conn, max_bytes=max_bytes)
            is_last = (page.prev_cursor if wanted.is_backward else page.next_cursor) is None
            return _Stretch(page, is_full=is_last or len(page.data) == wanted.size)
        ends = await afetch(conn, _end_of(found, entries, reads_snapshots=reads_snapshots))
    if not ends:
        page = await replace(wanted, most=entries).alist(conn, max_bytes=max_bytes)
        return _Stretch(page, is_full=True)
    [end] = ends
    is_falling = keyset.order.endswith(" desc")
    up_to = reach.time.where(_UP_TO[is_falling], end.timestamp, end.timestamp, int(end.id))
    page = await replace(wanted, reach=replace(reach, time=up_to), most=None).alist(conn, max_bytes=max_bytes)
    cursor = encode((end.timestamp.isoformat(), end.id))
    if wanted.is_backward:
        is_full = page.prev_cursor not in (None, cursor)
        return _Stretch(page if is_full else replace(page, prev_cursor=cursor), is_full)
    is_full = page.next_cursor not in (None, cursor)
    return _Stretch(page if is_full else replace(page, next_cursor=cursor), is_full)


def _size_of(found: Stretch) -> Query[_Size]:
    """The stored size of the snapshots, which costs half as much as the end of those that may be looked at."""
    return Query(_SIZE + found.text + " audit_logs", found.params, _Size)


def _end_of(found: Stretch, entries: int, *, reads_snapshots: bool) -> Query[_End]:
    """The last entry that is looked at, if there are so many or their snapshots are too large."""
    if not reads_snapshots:  # not by numbering the rows that are searched, which would copy each of them
        return Query(_END_OF_CONTEXTS + found.text + _PLACE, (*found.params, entries - 1), _End)
    text = _END + found.order + _LOOKED_AT + found.text + _STRETCH
    return Query(text, (*found.params, entries, MAX_BYTES), _End)
