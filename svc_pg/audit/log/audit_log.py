"""The interface of an audit log of any database, and the choice of the log for a connection."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import timedelta
from importlib import import_module
from typing import Any, Final, Protocol

from svc_pg.audit.context import Actor
from svc_pg.audit.log.change import Change
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import ExportReport, Format, Lines
from svc_pg.audit.log.manual_entry import ManualEntry
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.audit.log.reconciliation import Pace, Reconciliation
from svc_pg.audit.log.selection import Selection
from svc_pg.config import Config
from svc_pg.database.dialects import Dialect, dialect_of
from svc_pg.database.effects import Effects, Result
from svc_pg.database.pagination import Page
from svc_pg.database.table_names import TableName

_LOGS: Final[Mapping[Dialect, str]] = {
    "postgresql": "svc_pg.audit.postgres_log",
    "sqlite": "svc_pg.other_databases.log.other_log",
    "mysql": "svc_pg.other_databases.log.other_log",
}
"""The modules of the logs, each imported when it is first needed: most applications have one database."""


def log_of(conn: Any) -> "AuditLog":
    """The log of a connection's database. Raises ConfigError if svc-pg does not support the database."""
    dialect = dialect_of(conn)
    log: AuditLog = import_module(_LOGS[dialect]).log_on(conn, dialect)
    return log


class AuditLog(Protocol):
    """The audit log of one database, on a connection. ``run`` or ``arun`` performs the effects that it returns."""

    def run(self, wanted: Effects[Result]) -> Result:
        """Perform the effects on a sync connection."""

    async def arun(self, wanted: Effects[Result]) -> Result:
        """Perform the effects on an async connection."""

    def acting(self, actor: Actor) -> AbstractContextManager[None]:
        """Make ``actor`` the actor of the connection's changes in the block."""

    def aacting(self, actor: Actor) -> AbstractAsyncContextManager[None]:
        """As ``acting``, on an async connection."""

    def page(self, selection: Selection, *, max_bytes: int | None = None) -> Effects[Page[Entry]]:
        """A page of entries. With ``max_bytes``, which is for async connections, it ends before it has more."""

    def last_changes(self, table: TableName, record: str, limit: int) -> Effects[list[Change]]:
        """The last changes of one record, newest first. Works with any driver."""

    def knows(self, table: TableName) -> Effects[bool]:
        """True if the table exists, or has entries."""

    def change(self, entry_id: int) -> Effects[Change | None]:
        """One entry as a change, if there is one with this id."""

    def write_entry(self, entry: ManualEntry) -> Effects[str]:
        """Write an entry in the caller's transaction, and return its id. Works with any driver."""

    def export(
        self,
        selection: Selection,
        form: Format,
        add: Callable[[bytes], None],
        *,
        after: str | None,
        is_settled: bool,
    ) -> Effects[ExportReport]:
        """Give all entries to ``add`` as records of a file, the oldest first: see ``svc_pg.audit.export``."""

    def expected(self, selection: Selection, *, after: str | None) -> Effects[int | None]:
        """About the number of entries that an export would write; None if the database cannot tell."""

    def purge(
        self,
        ages: Ages,
        *,
        dry_run: bool,
        unsealed: bool,
        all_databases: bool,
        progress: Callable[[str], None],
    ) -> Effects[PurgeReport]:
        """Remove the entries that are older than their ages: see ``svc_pg.audit.purge``."""

    def reconcile(self, config: Config, *, table: str | None, after: str | None, pace: Pace) -> Reconciliation:
        """Compare audited tables with the log, on a sync connection: see ``svc_pg.audit.reconcile``."""

    async def areconcile(self, config: Config, *, table: str | None, after: str | None, pace: Pace) -> Reconciliation:
        """As ``reconcile``, on an async connection. Raises ConfigError if the database has sync calls alone."""

    def follow(self, selection: Selection, *, pause: timedelta) -> Iterator[Entry]:
        """The newest page, its oldest entry first, then endlessly the new entries, on a sync connection."""

    def lines(self, selection: Selection, cursor: str, *, pause: timedelta) -> Iterator[Lines]:
        """All entries after a cursor as lines of JSON, then endlessly the new ones, on a sync connection."""

    def identity(self, known: str | None) -> str:
        """The text that tells this log from others. Raises QueryError if ``known`` is that of another."""
