"""The audit log in a database of SQLite, MySQL or MariaDB: sync drivers in a few threads, with limits of time."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, closing, nullcontext
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from psycopg import AsyncConnection

from svc_pg import audit, schema
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import SHAPES, TextFormat
from svc_pg.audit.log.numbers import number_of
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.audit.read.around import check_size
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.facets import COUNTED, Facets
from svc_pg.audit.read.known_values import KnownValues, Named, of_facets
from svc_pg.audit.read.stats import AuditStats, Bucket
from svc_pg.audit.read.tables import CapturedTable
from svc_pg.audit.reads.reading import Reading
from svc_pg.config import Config
from svc_pg.console.audit_log.log_connections import Address, new_connection, problem_of
from svc_pg.console.audit_log.table_list import page_of_tables
from svc_pg.console.http.parameters import PAGE_BYTES
from svc_pg.console.http.requests import AuthenticatedRequest, Problem, explained, unavailable
from svc_pg.console.http.tokens import Session
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.pagination import Filter, Listing, Page
from svc_pg.errors import ConfigError, ConflictError, InstallError, NotFoundError
from svc_pg.other_databases.log import counts, entries
from svc_pg.other_databases.log.entries import log_dialect_of
from svc_pg.other_databases.log.export import part_after
from svc_pg.other_databases.log.export_records import RECORDS
from svc_pg.other_databases.log.follow import following
from svc_pg.other_databases.log.horizon import horizon
from svc_pg.other_databases.log.log_dialects import LogDialect
from svc_pg.other_databases.log.purge import purging
from svc_pg.other_databases.log.statements import run

THREADS: Final = 4
WAIT_SECONDS: Final = 5
READ_SECONDS: Final = 5
PURGE_SECONDS: Final = 20

_PURGE_BATCH: Final = 5_000

Result = TypeVar("Result")


class OtherDatabaseLog:
    """A ``ConsoleLog``: every call opens a connection of its own, in one of four threads."""

    is_here: Final = False
    has_past: Final = False

    def __init__(self, address: Address, config: Config) -> None:
        self._address = address
        self._config = config
        self._free = asyncio.Semaphore(THREADS)
        self._threads = CapacityLimiter(THREADS)

    def opened(self) -> AbstractAsyncContextManager[None]:
        """There is nothing to open."""
        return nullcontext()

    async def page(self, query: AuditQuery) -> Page[Entry]:
        """A page of entries. Raises QueryError if it is a search."""
        return await self._read(lambda dialect: entries.page(dialect, query, max_bytes=PAGE_BYTES))

    async def entry(self, entry_id: str) -> Entry | None:
        """The entry with this id."""
        number = number_of(entry_id)
        return await self._read(lambda dialect: entries.one(dialect, number))

    async def around(self, query: AuditQuery, entry_id: str) -> Page[Entry]:
        """An entry between those before and after it."""
        check_size(query)
        number = number_of(entry_id)
        found = await self._read(lambda dialect: entries.around(dialect, query, number, max_bytes=PAGE_BYTES))
        if found is None:
            raise NotFoundError(f"the log has no entry {entry_id}")
        return found

    async def follow(self, query: AuditQuery, cursor: str) -> Page[Entry]:
        """The entries after a cursor."""
        return await self._read(lambda dialect: following(dialect, query, cursor, max_bytes=PAGE_BYTES))

    async def facets(self, query: AuditQuery, *, of: Collection[str] = COUNTED, tells_reach: bool) -> Facets:
        """The values of each filter."""
        return await self._read(lambda dialect: counts.counted_facets(dialect, query, of=of, tells_reach=tells_reach))

    async def values(self, query: AuditQuery, name: Named, text: str) -> KnownValues:
        """Values of a filter among the newest entries."""
        return of_facets(await self.facets(query, tells_reach=False), name, text)

    async def stats(
        self,
        query: AuditQuery,
        *,
        bucket: Bucket | None,
        is_newest: bool = False,  # noqa: ARG002 - it counts few anyway
        tells_reach: bool,
    ) -> AuditStats:
        """Counts of entries."""
        return await self._read(
            lambda dialect: counts.counted_stats(dialect, query, bucket=bucket, tells_reach=tells_reach)
        )

    async def export(self, query: AuditQuery, *, form: TextFormat) -> AsyncIterator[bytes]:
        """All entries as parts of a file, each read by a connection of its own."""
        try:
            found = await self._read(lambda dialect: _settled(dialect, query))
        except ConflictError as error:
            raise unavailable("database_busy", explained(error)) from error
        shape, is_first = SHAPES[form], True
        part = await self._read(lambda dialect: part_after(dialect, found, None))
        while part.edge is not None:
            edge = part.edge
            if part.entries:
                yield shape.part([RECORDS[form](entry) for entry in part.entries], is_first=is_first)
                is_first = False
            part = await self._read(lambda dialect, edge=edge: part_after(dialect, found, edge))  # type: ignore[misc]
        yield shape.part([], is_first=is_first) + shape.tail

    async def purge(
        self,
        request: AuthenticatedRequest,
        ages: Ages,
        *,
        is_dry_run: bool,
        unsealed: bool,  # noqa: ARG002 - there are no seals
    ) -> PurgeReport:
        """Remove old entries, in the name of the session."""
        session = request.session
        context = request.audit_context(session.session_id)

        def purge(conn: Any) -> PurgeReport:
            ends_at = time.monotonic() + PURGE_SECONDS
            steps = purging(
                log_dialect_of(conn),
                ages,
                dry_run=is_dry_run,
                is_over=lambda: time.monotonic() > ends_at,
                batch=_PURGE_BATCH,
            )
            with audit.actor(conn, session.email, tenant=session.tenant, context=context):
                return run(conn, steps)

        return await self._in_thread(purge, seconds=2 * PURGE_SECONDS)

    async def tables(self, wanted: Listing[CapturedTable]) -> Page[CapturedTable]:
        """The audited tables. Raises Problem if the user of the address may not look at all of their triggers."""
        try:
            found = await self._in_thread(lambda conn: schema.status(conn, self._config), seconds=READ_SECONDS)
        except (ConfigError, InstallError) as error:
            raise Problem(503, "not_supported", explained(error)) from error
        return page_of_tables(found, self._config.audit, wanted)

    async def has_reads(self, table: str) -> bool:  # noqa: ARG002 - as of any log
        """False: an install refuses it."""
        return False

    def together(self) -> AbstractAsyncContextManager[None]:
        """Each read has its own connection: none is recorded."""
        return nullcontext()

    async def record_reads(self, request: AuthenticatedRequest, reading: Reading) -> None:
        """There are no marked tables, which an install refuses on these databases."""

    def past(self, session: Session) -> AbstractAsyncContextManager[AsyncConnection[Any]]:  # noqa: ARG002
        """Nothing: such a log does not record the order of changes inside a statement, and has no seals."""
        raise Problem(
            422,
            "not_supported",
            "This audit log is not on PostgreSQL. It does not record the order of changes inside a statement, so it has"
            " entries, but neither states of records nor holds nor seals, and nothing to take back.",
        )

    async def newest(self) -> str | None:
        """The highest id."""
        return await self._read(_newest)

    async def _read(self, steps: Callable[[LogDialect], Effects[Result]]) -> Result:
        return await self._in_thread(lambda conn: run(conn, steps(log_dialect_of(conn))), seconds=READ_SECONDS)

    async def _in_thread(self, call: Callable[[Any], Result], *, seconds: int) -> Result:
        def work() -> Result:
            with closing(new_connection(self._address, seconds=seconds)) as conn:
                return call(conn)

        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._free.acquire()
        except TimeoutError as error:
            raise unavailable("database_busy", "The audit log is read by many at the moment.") from error
        try:
            return await run_sync(work, limiter=self._threads)
        except Exception as error:
            if problem := problem_of(error):
                raise problem from error
            raise
        finally:
            self._free.release()


def _settled(dialect: LogDialect, query: AuditQuery) -> Effects[Filter]:
    found = yield from entries.wanted(dialect, query.conditions)
    reach = yield from horizon(dialect)
    return reach.settled(dialect, found)


def _newest(dialect: LogDialect) -> Effects[str]:
    [[highest]] = yield Statement("select max(id) from " + dialect.log)  # noqa: S608 - constants
    return str(highest)
