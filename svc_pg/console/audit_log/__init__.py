"""The audit log that the console shows: in its own database, or in another, of any kind."""

from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from psycopg import AsyncConnection

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import TextFormat
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.facets import COUNTED, Facets
from svc_pg.audit.read.known_values import KnownValues, Named
from svc_pg.audit.read.stats import AuditStats, Bucket
from svc_pg.audit.read.tables import CapturedTable
from svc_pg.audit.reads.reading import Reading
from svc_pg.console.http.requests import AuthenticatedRequest
from svc_pg.console.http.tokens import Session
from svc_pg.database.pagination import Listing, Page


class ConsoleLog(Protocol):
    """The questions of the routes of the audit log. Every method raises Problem if the database does not answer."""

    @property
    def is_here(self) -> bool:
        """True if it is in the console's own database: it has the transactions of deliveries."""

    @property
    def has_past(self) -> bool:
        """True if it is on PostgreSQL: it can be searched, and has states of records, seals and holds."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Provide what it reads with until the end of the block."""

    async def page(self, query: AuditQuery) -> Page[Entry]:
        """A page of entries."""

    async def entry(self, entry_id: str) -> Entry | None:
        """The entry with this id. Raises QueryError if it is not an id."""

    async def around(self, query: AuditQuery, entry_id: str) -> Page[Entry]:
        """An entry between those before and after it. Raises QueryError and NotFoundError."""

    async def follow(self, query: AuditQuery, cursor: str) -> Page[Entry]:
        """The entries after a cursor, with none left out. Raises QueryError and ConflictError."""

    async def facets(self, query: AuditQuery, *, of: Collection[str] = COUNTED, tells_reach: bool) -> Facets:
        """The values of these filters, with counts, and the times if ``of`` has them."""

    async def values(self, query: AuditQuery, name: Named, text: str) -> KnownValues:
        """Values of a filter that have some letters."""

    async def stats(
        self,
        query: AuditQuery,
        *,
        bucket: Bucket | None,
        is_newest: bool = False,
        tells_reach: bool,
    ) -> AuditStats:
        """Counts by time, table, actor, operation and severity."""

    def export(self, query: AuditQuery, *, form: TextFormat) -> AsyncIterator[bytes]:
        """All entries as parts of a file."""

    async def purge(
        self, request: AuthenticatedRequest, ages: Ages, *, is_dry_run: bool, unsealed: bool
    ) -> PurgeReport:
        """Remove old entries, as far as there is time; also ``unsealed`` ones of a log that has seals."""

    async def tables(self, wanted: Listing[CapturedTable]) -> Page[CapturedTable]:
        """The audited tables."""

    def past(self, session: Session) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A connection that reads the past of the session's entries. Raises Problem 422 on other databases."""

    async def has_reads(self, table: str) -> bool:
        """True if reads of the table are recorded."""

    def together(self) -> AbstractAsyncContextManager[None]:
        """Make one transaction of what the block reads of this log, and of the record of it."""

    async def record_reads(self, request: AuthenticatedRequest, reading: Reading) -> None:
        """Record what an answer shows, before it goes out. Raises Problem 503 if that is needed and not possible."""

    async def newest(self) -> str | None:
        """A text that changes when the log grows; None if the console finds that out for itself."""
