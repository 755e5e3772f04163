"""The audit log in a database of PostgreSQL: the console's own, or another, which the console only reads."""

from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.audit.exports.export_pages import export_pages
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import TextFormat
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.audit.read import audit_query
from svc_pg.audit.read.around import around
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.facets import COUNTED, Facets, afacets
from svc_pg.audit.read.follow_pages import following
from svc_pg.audit.read.known_values import KnownValues, Named, aknown_values
from svc_pg.audit.read.listing import listing
from svc_pg.audit.read.search import check_words, search
from svc_pg.audit.read.stats import AuditStats, Bucket, astats
from svc_pg.audit.read.tables import CapturedTable
from svc_pg.audit.reads.reading import Reading
from svc_pg.console.audit_log.newest import NEWEST
from svc_pg.console.audit_log.postgres_purge import purge
from svc_pg.console.audit_log.read_recording import KnownMarks, noted, write_reads
from svc_pg.console.audit_log.shared_transaction import shared_transaction, sharing
from svc_pg.console.database.pool import Database
from svc_pg.console.http.parameters import PAGE_BYTES
from svc_pg.console.http.requests import AuthenticatedRequest, Problem, explained
from svc_pg.console.http.tokens import Session
from svc_pg.database.pagination import Listing, Page
from svc_pg.database.query import Query, afetch, afetch_one
from svc_pg.errors import ConflictError

_OF_TENANT: Final = "select set_config('svc.tenant_id', %s, true)"


@dataclass(frozen=True, slots=True)
class _Newest:
    audit: str | None


@dataclass(frozen=True, slots=True)
class PostgresLog:
    """A ``ConsoleLog``; every method uses a connection of ``database``."""

    database: Database
    is_here: bool = True
    marks: KnownMarks = field(default_factory=KnownMarks)
    has_past: Final = True

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Open the connections to another database; its own the console opens itself."""
        return nullcontext() if self.is_here else self.database.opened()

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A connection in a transaction: of its own, or the one that the reads of an answer share."""
        shared = shared_transaction()
        return self.database.connection() if shared is None else shared.connection()

    def _apart(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """As ``connection``, for what changes the settings of its transaction."""
        shared = shared_transaction()
        return self.database.connection() if shared is None else shared.apart()

    async def page(self, query: AuditQuery) -> Page[Entry]:
        """A page of entries, found by searches or without."""
        if query.searches:
            async with self._apart() as conn:
                await check_words(conn, query)
                return noted(await search(conn, listing(query), max_bytes=PAGE_BYTES))
        async with self.connection() as conn:
            return await query.alist(conn, max_bytes=PAGE_BYTES)

    async def entry(self, entry_id: str) -> Entry | None:
        """The entry with this id."""
        async with self.connection() as conn:
            return next(iter(await afetch(conn, audit_query.entry(entry_id))), None)

    async def around(self, query: AuditQuery, entry_id: str) -> Page[Entry]:
        """An entry between those before and after it."""
        return noted(await around(self.connection, query, entry_id, max_bytes=PAGE_BYTES))

    async def follow(self, query: AuditQuery, cursor: str) -> Page[Entry]:
        """The entries after a cursor."""
        async with self.connection() as conn:
            return noted(await following(conn, query, cursor, max_bytes=PAGE_BYTES))

    async def facets(self, query: AuditQuery, *, of: Collection[str] = COUNTED, tells_reach: bool) -> Facets:
        """The values of each filter."""
        async with self.connection() as conn:
            return await afacets(conn, query, of=of, tells_reach=tells_reach)

    async def values(self, query: AuditQuery, name: Named, text: str) -> KnownValues:
        """Values of a filter, of the whole log if an index has them."""
        async with self.connection() as conn:
            return await aknown_values(conn, query, name, text)

    async def stats(
        self,
        query: AuditQuery,
        *,
        bucket: Bucket | None,
        is_newest: bool = False,
        tells_reach: bool,
    ) -> AuditStats:
        """Counts of entries."""
        async with self.connection() as conn:
            return await astats(conn, query, bucket=bucket, is_newest=is_newest, tells_reach=tells_reach)

    async def export(self, query: AuditQuery, *, form: TextFormat) -> AsyncIterator[bytes]:
        """All entries as parts of a file. Raises Problem 409 if nothing tells which are complete."""
        try:
            async for part in export_pages(self.database.connection, query, format=form):
                yield part
        except ConflictError as error:
            raise Problem(409, "conflict", explained(error)) from error

    async def purge(
        self, request: AuthenticatedRequest, ages: Ages, *, is_dry_run: bool, unsealed: bool
    ) -> PurgeReport:
        """Remove old entries, in the name of the session. Raises Problem 409 if they are in another database."""
        if not self.is_here:
            detail = "The console only reads this audit log. Purge it in its own database: svc-pg purge"
            raise Problem(409, "log_elsewhere", detail)
        return await purge(partial(self.database.acting, request), ages, is_dry_run=is_dry_run, unsealed=unsealed)

    async def tables(self, wanted: Listing[CapturedTable]) -> Page[CapturedTable]:
        """The audited tables."""
        async with self.connection() as conn:
            return await wanted.alist(conn, max_bytes=PAGE_BYTES)

    @asynccontextmanager
    async def past(self, session: Session) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection on which histories have the entries of the session's tenant alone, if it is of one."""
        async with self.connection() as conn:
            await conn.execute(_OF_TENANT, (session.tenant or "",))  # an application may have set one for its pool
            yield conn

    async def has_reads(self, table: str) -> bool:
        """True if reads of the table are recorded."""
        return table in await self.marks.of(self.database.connection)

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """One transaction, if reads are recorded in this database; else each read has its own."""
        if self._may_write and self.marks.may_be_some:
            async with sharing(self.database):
                yield
        else:
            yield

    async def record_reads(self, request: AuthenticatedRequest, reading: Reading) -> None:
        """Record what an answer shows, in the name of its session."""
        if reading.is_empty:
            return
        marks = await self.marks.of(self.connection)
        documents = reading.documents(marks)
        if documents:
            await write_reads(request, self.connection, documents, marks, may_write=self._may_write)

    @property
    def _may_write(self) -> bool:
        return self.is_here and not self.database.is_read_only

    async def newest(self) -> str | None:
        """The last settled transaction of another database; the console looks at its own in one query."""
        if self.is_here:
            return None
        async with self.database.connection() as conn:
            return (await afetch_one(conn, Query(NEWEST, (), _Newest))).audit
