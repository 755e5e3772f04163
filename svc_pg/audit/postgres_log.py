"""The audit log of PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection
from psycopg.abc import Buffer

from svc_pg.audit.actors import postgres as postgres_actor
from svc_pg.audit.context import Actor
from svc_pg.audit.exports import settled_lines
from svc_pg.audit.exports.copy_stretches import CopyStretches
from svc_pg.audit.exports.export_copy import RECORDS
from svc_pg.audit.keep import purging
from svc_pg.audit.log.change import Change
from svc_pg.audit.log.entry import ORDER_BY, Entry
from svc_pg.audit.log.export_fields import ExportReport, Format, Lines
from svc_pg.audit.log.manual_entry import ManualEntry
from svc_pg.audit.log.purge_report import Ages, PurgeReport
from svc_pg.audit.log.reconciliation import Pace, Reconciliation
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.read import record_changes, settled_entries
from svc_pg.audit.read.horizon import Horizon, horizon, horizon_after
from svc_pg.audit.read.listing import filter_of, listing, times_of
from svc_pg.audit.read.settled_stretch import settled
from svc_pg.audit.read.stretch import TIMES, Reach, Times, stretch
from svc_pg.audit.reads.recording import recorded, recorded_entries, recorded_export
from svc_pg.config import Config
from svc_pg.database import performing
from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.dialects import Dialect
from svc_pg.database.effects import Effects, Result, Statement
from svc_pg.database.pagination import ALL, Filter, Page
from svc_pg.database.performing import ByIndexes, Copy, check_idle
from svc_pg.database.query import Query
from svc_pg.database.sqlstates import translating
from svc_pg.database.table_names import TableName

_MOST_HELD_BACK: Final = 1_000_000
"""The entries among which those of running transactions are counted."""
_HELD_BACK: Final = "select count(*) as entries from "
_LOG: Final = " from svc.audit_logs"
_CAPTURE: Final = "select svc.capture_log(%s, %s, %s, %s::jsonb, %s::jsonb, %s, %s, %s, %s)::text"


def log_on(conn: Any, _dialect: Dialect) -> "PostgresLog":
    """The log of a connection's database."""
    return PostgresLog(conn)


@dataclass(frozen=True, slots=True)
class _Count:
    entries: int


def _held_back(start: Horizon, wanted: Filter) -> Effects[int]:
    """The number of wanted entries that are not settled."""
    late: Filter = start.held_back(wanted)
    times: Times
    [times] = yield Query(TIMES, (start.oldest_running, start.first_unassigned), Times)
    between = ALL.where('"timestamp" >= %s', times.first).where('"timestamp" <= %s', times.last)
    found = yield from stretch(Reach(between), ORDER_BY["oldest"], most=_MOST_HELD_BACK)
    text = _HELD_BACK + found.text + " audit_logs where " + late.is_true
    count: _Count
    [count] = yield ByIndexes(Query(text, (*found.params, *late.params), _Count))
    return count.entries


@dataclass(frozen=True, slots=True)
class PostgresLog:
    """An ``AuditLog``. Only psycopg reads entries, because it keeps PostgreSQL's texts unchanged."""

    conn: Any

    def run(self, wanted: Effects[Result]) -> Result:
        """Perform the effects on a sync connection."""
        return performing.run(self.conn, wanted)

    async def arun(self, wanted: Effects[Result]) -> Result:
        """Perform the effects on an async connection."""
        return await performing.arun(self.conn, wanted)

    def acting(self, actor: Actor) -> AbstractContextManager[None]:
        """Make ``actor`` the transaction's actor in the block."""
        return postgres_actor.block(self.conn, actor)

    def aacting(self, actor: Actor) -> AbstractAsyncContextManager[None]:
        """As ``acting``, on an async connection."""
        return postgres_actor.ablock(self.conn, actor)

    def page(self, selection: Selection, *, max_bytes: int | None = None) -> Effects[Page[Entry]]:
        """A page of entries."""
        found = yield from listing(selection).page(max_bytes=max_bytes)
        yield from recorded_entries(found.data, selection)
        return found

    def last_changes(self, table: TableName, record: str, limit: int) -> Effects[list[Change]]:
        """The last changes of one record, newest first."""
        found = yield from record_changes.changes_of(table, record, limit)
        yield from recorded({str(table): [record]} if found else {})
        return found

    def knows(self, table: TableName) -> Effects[bool]:
        """True if the table exists, or has entries."""
        return record_changes.is_known(table)

    def change(self, entry_id: int) -> Effects[Change | None]:
        """One entry as a change, if there is one with this id."""
        found = yield from record_changes.change_of_entry(entry_id)
        return found

    def write_entry(self, entry: ManualEntry) -> Effects[str]:
        """Write an entry, and return its id."""
        values = (
            entry.table_name,
            entry.operation,
            entry.record_id,
            None if entry.before is None else str(entry.before),
            None if entry.after is None else str(entry.after),
            entry.label,
            entry.severity,
            list(entry.compliance) or None,
            entry.description,
        )
        [[entry_id]] = yield Statement(_CAPTURE, values)
        return str(entry_id)

    def export(
        self,
        selection: Selection,
        form: Format,
        add: Callable[[bytes], None],
        *,
        after: str | None,
        is_settled: bool,
    ) -> Effects[ExportReport]:
        """Give all entries to ``add``, as PostgreSQL writes them."""
        start: Horizon
        [start] = yield horizon_after(after)
        oldest = listing(replace(selection, first="oldest", position=None, is_backward=False))
        reach = oldest.reach or Reach(times_of(selection))
        wanted = start.since(oldest.filter)
        held_back = 0
        if is_settled:
            held_back = yield from _held_back(start, wanted)
            found = yield from settled(oldest, times_of(selection), start)
            wanted = start.settled(wanted)
            if found is None:
                return ExportReport(0, held_back, start.position)
            if after is not None and found.reach is not None:
                reach = replace(reach, time=found.reach.time)
        record = RECORDS[form]

        def take(row: Buffer) -> None:
            add(record(row))

        number = 0
        stretches = CopyStretches(form, wanted, reach)
        while (copy := (yield from stretches.next())) is not None:
            number += yield ByIndexes(Copy(*copy, take))
        yield from recorded_export(selection, number)
        return ExportReport(number, held_back, start.position)

    def expected(self, selection: Selection, *, after: str | None) -> Effects[int | None]:
        """About the number of entries that an export would write, as the planner sees it."""
        start: Horizon
        [start] = yield horizon_after(after)
        wanted = start.since(filter_of(selection.conditions))
        [[[plan]]] = yield Statement("explain (format json) select" + _LOG + wanted.clause, wanted.params)
        return int(plan["Plan"]["Plan Rows"])

    def purge(
        self,
        ages: Ages,
        *,
        dry_run: bool,
        unsealed: bool,
        all_databases: bool,  # noqa: ARG002 - a log on PostgreSQL is of one database
        progress: Callable[[str], None],
    ) -> Effects[PurgeReport]:
        """Remove old entries, each partition and each batch in a transaction of its own."""
        if hasattr(self.conn, "info"):  # a driver without it is refused with the first query
            check_idle(self.conn)
        return purging.purging(
            ages,
            dry_run=dry_run,
            tries=purging.TRIES,
            batch=purging.BATCH,
            unsealed=unsealed,
            progress=progress,
        )

    def reconcile(self, config: Config, *, table: str | None, after: str | None, pace: Pace) -> Reconciliation:
        """Compare audited tables with the log."""
        from svc_pg.audit.reconciliation.postgres import reconciling  # renders SQL, which reading the log does not

        driver = psycopg_connection(self.conn, twin="await audit.areconcile(conn, ...)")
        check_idle(driver)
        return performing.run(driver, reconciling(config, table, after, pace))

    async def areconcile(self, config: Config, *, table: str | None, after: str | None, pace: Pace) -> Reconciliation:
        """As ``reconcile``, on an async connection."""
        from svc_pg.audit.reconciliation.postgres import reconciling

        driver = await apsycopg_connection(self.conn, twin="audit.reconcile(conn, ...)")
        check_idle(driver)
        return await performing.arun(driver, reconciling(config, table, after, pace))

    def follow(self, selection: Selection, *, pause: timedelta) -> Iterator[Entry]:
        """The newest page, then endlessly the new entries."""
        return settled_entries.follow(self._followed(selection), selection, pause=pause)

    def lines(self, selection: Selection, cursor: str, *, pause: timedelta) -> Iterator[Lines]:
        """All entries after a cursor as lines of JSON, then endlessly the new ones."""
        return settled_lines.lines(self._followed(selection), selection, cursor, pause=pause)

    def _followed(self, selection: Selection) -> Connection[Any]:
        """The connection, when it is recorded that somebody follows these entries."""
        conn = psycopg_connection(self.conn)
        check_idle(conn)
        with conn.transaction():
            self.run(recorded_export(selection))
        return conn

    def identity(self, known: str | None) -> str:
        """The epoch of the log."""
        with translating(), self.conn.transaction():
            return horizon(self.conn, after=None if known is None else f"{known}.0").epoch
