"""Compare audited tables with the log on schedule: some minutes of each run of maintenance, until all are compared."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection
from psycopg.errors import InsufficientPrivilege

from svc_pg.audit.log.reconciliation import Progress, Reconciliation, TableReport
from svc_pg.audit.reconciliation.reconciling import reconcile
from svc_pg.config import Config
from svc_pg.database.query import Query, fetch
from svc_pg.errors import ConflictError, QueryError, SvcError
from svc_pg.formats.plurals import counted
from svc_pg.maintenance.bounded_calls import never
from svc_pg.status.last_runs import LONGEST_PROBLEM, note_failure

_log = logging.getLogger(__name__)

_LONGEST_RUN: Final = timedelta(minutes=30)
_NICE_RATIO: Final = 10.0
"""The rest after each piece, by its duration."""
_COMPARED: Final = "compared "
"""The beginning of a noted position if a table was compared before it."""

_STATE: Final = """
select coalesce(succeeded_at > clock_timestamp() - %s::interval, false) as is_recent, position,
       case when position is not null then findings end as findings
  from svc.maintenance where task = 'reconciliation'
"""
_NOTE: Final = """
insert into svc.maintenance as m (task, position, findings, succeeded_at)
values ('reconciliation', %s, %s, case when %s then clock_timestamp() end)
    on conflict (task) do update set position = excluded.position, findings = excluded.findings, problem = null,
       succeeded_at = coalesce(excluded.succeeded_at, m.succeeded_at)
"""


@dataclass(slots=True)
class _State:
    is_recent: bool = False
    position: str | None = None
    findings: str | None = None
    has_compared: bool = False
    skipped: list[str] = field(default_factory=list)

    def resume(self) -> str | None:
        """The cursor to go on from."""
        if self.position is not None and self.position.startswith(_COMPARED):
            self.has_compared = True
            return self.position.removeprefix(_COMPARED)
        return self.position

    def begin(self) -> None:
        """Forget what was found."""
        self.findings, self.has_compared, self.skipped = None, False, []

    def add(self, finding: str) -> None:
        """Add a finding, as far as there is room."""
        self.findings = "; ".join(filter(None, [self.findings, finding]))[:LONGEST_PROBLEM]


def reconcile_log(conn: Connection[Any], config: Config, *, is_stopping: Callable[[], bool] = never) -> str | None:
    """Go on with the comparison that is under way, or begin one if the last is older than ``config.audit.reconcile``.

    Tables that differ or cannot be compared are logged and noted for ``status``, and nothing is repaired. After each
    table the position is noted, so that a run that fails later does not begin anew; and before the next piece or in a
    rest if ``is_stopping``, so that the next run goes on. A comparison that ends without having compared any table
    fails: raises ConflictError.
    """
    if config.audit.reconcile is None:
        return None
    state = next(iter(fetch(conn, Query(_STATE, (config.audit.reconcile,), _State))), _State())
    if state.is_recent and state.position is None:
        return None
    try:
        found = _reconciled(conn, config, state, is_stopping)
        _end(conn, state, found)
    except (SvcError, InsufficientPrivilege) as error:
        if not is_stopping():
            note_failure(conn, "reconciliation", str(error))
        raise
    rows = sum(table.rows for table in found.tables)
    return f"compared {counted(rows, 'row')} with it" if found.after is None else None


def _end(conn: Connection[Any], state: _State, found: Reconciliation) -> None:
    has_failed = found.after is None and bool(found.tables) and not state.has_compared
    if has_failed:
        for reason in state.skipped:
            state.add(reason)
    _note(conn, state, found.after, is_over=found.after is None and not has_failed)
    if has_failed:
        raise ConflictError("no table could be compared")


def _reconciled(
    conn: Connection[Any], config: Config, state: _State, is_stopping: Callable[[], bool]
) -> Reconciliation:
    until = time.monotonic() + _LONGEST_RUN.total_seconds()

    def note(now: Progress) -> None:
        if now.report is not None:
            if now.report.problem is not None and is_stopping():  # which cancels statements
                raise ConflictError(now.report.problem)
            state.has_compared |= now.report.is_done
            if not now.report.is_compared:
                state.skipped.append(f"{now.report.table}: {'; '.join(now.report.notes)}")
            finding = _finding(now.report)
            if finding is not None:
                _log.warning("the log may lack changes: %s; svc-pg reconcile tells more", finding)
                state.add(finding)
            if now.cursor is not None:
                _note(conn, state, now.cursor, is_over=False)

    def found(after: str | None) -> Reconciliation:
        return reconcile(
            conn,
            config,
            after=after,
            nice_ratio=_NICE_RATIO,
            most=0,
            progress=note,
            is_over=lambda: is_stopping() or time.monotonic() > until,
        )

    try:
        return found(state.resume())
    except QueryError:  # its table is audited no longer
        if state.position is None:
            raise
        state.begin()
        return found(None)


def _note(conn: Connection[Any], state: _State, position: str | None, *, is_over: bool) -> None:
    mark = _COMPARED if state.has_compared else ""
    conn.execute(_NOTE, (None if position is None else f"{mark}{position}", state.findings, is_over))


def _finding(report: TableReport) -> str | None:
    if report.problem is not None:
        return report.problem
    return f"{report.table}: {counted(report.differences, 'difference')}" if report.differences else None
