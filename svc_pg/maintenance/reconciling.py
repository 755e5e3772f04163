"""Compare audited tables with the log on schedule: some minutes of each run of maintenance, until all are compared."""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg.audit.reconciliation.reconciling import reconcile
from svc_pg.audit.reconciliation.report import Progress, Reconciliation, TableReport
from svc_pg.config import Config
from svc_pg.database.query import Query, fetch
from svc_pg.errors import QueryError, SvcError
from svc_pg.formats.plurals import counted
from svc_pg.status.last_runs import LONGEST_PROBLEM, note_failure

_log = logging.getLogger(__name__)

_LONGEST_RUN: Final = timedelta(minutes=10)
_ROWS_PER_SECOND: Final = 10_000

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


def reconcile_log(conn: Connection[Any], config: Config) -> str | None:
    """Go on with the comparison that is under way, or begin one if the last is older than ``config.audit.reconcile``.

    Tables that differ or cannot be compared are logged and noted for ``status``, and nothing is repaired. After each
    table the position is noted, so that a run that fails later does not begin anew.
    """
    if config.audit.reconcile is None:
        return None
    state = next(iter(fetch(conn, Query(_STATE, (config.audit.reconcile,), _State))), _State())
    if state.is_recent and state.position is None:
        return None
    try:
        found = _reconciled(conn, config, state)
    except SvcError as error:
        note_failure(conn, "reconciliation", str(error))
        raise
    _note(conn, state, found.after, is_over=found.after is None)
    rows = sum(table.rows for table in found.tables)
    return f"compared {counted(rows, 'row')} with it" if found.after is None else None


def _reconciled(conn: Connection[Any], config: Config, state: _State) -> Reconciliation:
    until = time.monotonic() + _LONGEST_RUN.total_seconds()

    def note(now: Progress) -> None:
        if now.report is not None:
            finding = _finding(now.report)
            if finding is not None:
                _log.warning("the log may lack changes: %s; svc-pg reconcile tells more", finding)
                state.findings = "; ".join(filter(None, [state.findings, finding]))[:LONGEST_PROBLEM]
            if now.cursor is not None:
                _note(conn, state, now.cursor, is_over=False)

    def found(after: str | None) -> Reconciliation:
        return reconcile(
            conn,
            config,
            after=after,
            rows_per_second=_ROWS_PER_SECOND,
            most=0,
            progress=note,
            is_over=lambda: time.monotonic() > until,
        )

    try:
        return found(state.position)
    except QueryError:  # its table is audited no longer
        if state.position is None:
            raise
        state.findings = None
        return found(None)


def _note(conn: Connection[Any], state: _State, position: str | None, *, is_over: bool) -> None:
    conn.execute(_NOTE, (position, state.findings, is_over))


def _finding(report: TableReport) -> str | None:
    if report.problem is not None:
        return report.problem
    return f"{report.table}: {counted(report.differences, 'difference')}" if report.differences else None
