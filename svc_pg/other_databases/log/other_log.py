"""The audit log of SQLite, MySQL and MariaDB."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from types import ModuleType
from typing import Any, Final, LiteralString

from svc_pg.audit.context import Actor
from svc_pg.audit.log.change import Change
from svc_pg.audit.log.entry import FIELDS, Entry
from svc_pg.audit.log.export_fields import ExportReport, Format, Lines
from svc_pg.audit.log.manual_entry import ManualEntry
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.audit.log.reconciliation import Pace, Reconciliation
from svc_pg.audit.log.selection import Selection
from svc_pg.config import Config
from svc_pg.database.dialects import Dialect, driver_connection
from svc_pg.database.effects import Effects, Result, Statement
from svc_pg.database.pagination import MAX_SIZE, Page
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, QueryError
from svc_pg.other_databases.actors import mysql, sqlite
from svc_pg.other_databases.log import entries, follow, last_changes, statements
from svc_pg.other_databases.log.export import exporting
from svc_pg.other_databases.log.export_records import json_record
from svc_pg.other_databases.log.horizon import outside_transaction
from svc_pg.other_databases.log.insert_entry import insert_entry
from svc_pg.other_databases.log.log_dialects import MYSQL, SQLITE, LogDialect
from svc_pg.other_databases.log.purge import purging

_INSTALLED: Final[Mapping[Dialect, LiteralString]] = {
    "sqlite": "select applied_at from svc_migrations where number = 1",
    "mysql": "select cast(applied_at as char) from svc.migrations where number = 1",
}

_SIDES: Final[Mapping[LiteralString, str]] = {
    SQLITE.log: "svc_pg.other_databases.reconciliation.sqlite.database",
    MYSQL.log: "svc_pg.other_databases.reconciliation.mysql.database",
}
"""The modules that render comparisons, which most programs never need."""


def log_on(conn: Any, dialect: Dialect) -> "OtherLog":
    """The log of a connection's database."""
    is_sqlite = dialect == "sqlite"
    return OtherLog(
        conn,
        dialect=SQLITE if is_sqlite else MYSQL,
        actors=sqlite if is_sqlite else mysql,
        installed=_INSTALLED[dialect],
    )


@dataclass(frozen=True, slots=True)
class OtherLog:
    """An ``AuditLog``. ``installed`` reads the time of its first install."""

    conn: Any
    dialect: LogDialect
    actors: ModuleType
    installed: LiteralString

    def run(self, wanted: Effects[Result]) -> Result:
        """Perform the effects on a sync connection."""
        return statements.run(self.conn, wanted)

    async def arun(self, wanted: Effects[Result]) -> Result:
        """Perform the effects on an async connection."""
        return await statements.arun(self.conn, wanted)

    def acting(self, actor: Actor) -> AbstractContextManager[None]:
        """Make ``actor`` the actor of the connection's changes in the block."""
        block: AbstractContextManager[None] = self.actors.block(self.conn, actor)
        return block

    def aacting(self, actor: Actor) -> AbstractAsyncContextManager[None]:
        """As ``acting``, on an async connection."""
        block: AbstractAsyncContextManager[None] = self.actors.ablock(self.conn, actor)
        return block

    def page(self, selection: Selection, *, max_bytes: int | None = None) -> Effects[Page[Entry]]:
        """A page of entries."""
        return entries.page(self.dialect, selection, max_bytes=max_bytes)

    def last_changes(self, table: TableName, record: str, limit: int) -> Effects[list[Change]]:
        """The last changes of one record, newest first."""
        return last_changes.changes_of(self.dialect, table, record, limit)

    def knows(self, table: TableName) -> Effects[bool]:
        """True if the table exists, or has entries."""
        return last_changes.is_known(self.dialect, table)

    def change(self, entry_id: int) -> Effects[Change | None]:
        """One entry as a change, if there is one with this id."""
        return last_changes.change_of_entry(self.dialect, entry_id)

    def write_entry(self, entry: ManualEntry) -> Effects[str]:
        """Write an entry, and return its id."""
        return insert_entry(self.dialect, entry)

    def export(
        self,
        selection: Selection,
        form: Format,
        add: Callable[[bytes], None],
        *,
        after: str | None,
        is_settled: bool,
    ) -> Effects[ExportReport]:
        """Give all entries to ``add``, in parts."""
        if is_settled:
            yield from outside_transaction(self.conn)
        return (yield from exporting(self.dialect, selection, form, add, after=after, is_settled=is_settled))

    def expected(self, _selection: Selection, *, after: str | None) -> Effects[int | None]:  # noqa: ARG002
        """None: the planners of these databases give no usable estimates."""
        yield from ()
        return None

    def purge(
        self,
        ages: Ages,
        *,
        dry_run: bool,
        unsealed: bool,  # noqa: ARG002 - there are no seals
        all_databases: bool,
        progress: Callable[[str], None],
    ) -> Effects[PurgeReport]:
        """Remove old entries, each batch in a transaction of its own."""
        yield from outside_transaction(self.conn)
        steps = purging(self.dialect, ages, dry_run=dry_run, all_databases=all_databases, progress=progress)
        return (yield from steps)

    def reconcile(self, config: Config, *, table: str | None, after: str | None, pace: Pace) -> Reconciliation:
        """Compare audited tables with the log."""
        reconciling = import_module("svc_pg.other_databases.reconciliation.reconciling")
        side = import_module(_SIDES[self.dialect.log]).side_of(driver_connection(self.conn))
        steps: Effects[Reconciliation] = reconciling.reconciling(side, config, table=table, after=after, pace=pace)
        return self.run(steps)

    async def areconcile(
        self,
        config: Config,  # noqa: ARG002 - as PostgreSQL's
        *,
        table: str | None,  # noqa: ARG002
        after: str | None,  # noqa: ARG002
        pace: Pace,  # noqa: ARG002
    ) -> Reconciliation:
        """Not possible here: raise ConfigError."""
        raise ConfigError(
            "the comparison of tables with the log needs a sync connection on this database",
            hint="Call audit.reconcile(conn, ...) with one, for example by asyncio.to_thread.",
        )

    def follow(self, selection: Selection, *, pause: timedelta) -> Iterator[Entry]:
        """The newest page, then endlessly the new entries."""
        return follow.follow(self.conn, selection, pause=pause)

    def lines(self, selection: Selection, cursor: str, *, pause: timedelta) -> Iterator[Lines]:
        """All entries after a cursor as lines of JSON, then endlessly the new ones."""
        whole = replace(selection, size=MAX_SIZE, fields=FIELDS)
        for page in follow.pages(self.conn, whole, cursor, pause=pause):
            records = [json_record(entry) for entry in page]
            yield Lines.of(records, page.next_cursor or cursor, is_end=not records)

    def identity(self, known: str | None) -> str:
        """The time of the first install."""
        found = self.run(_scalar(self.installed))
        if known not in (None, found):
            raise QueryError(
                f"the log of another database was read, whose first install was at {known}",
                hint="Name that database, or a new file with --cursor.",
            )
        return found


def _scalar(text: LiteralString) -> Effects[str]:
    [[value]] = yield Statement(text)
    return str(value)
