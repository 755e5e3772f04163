"""Compare audited tables with the log on schedule: some minutes of each run of maintenance, until all are compared."""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg.audit.reconciliation.reconciling import reconcile
from svc_pg.audit.reconciliation.report import Reconciliation
from svc_pg.config import Config
from svc_pg.database.query import Query, fetch
from svc_pg.errors import QueryError, SvcError
from svc_pg.formats.plurals import counted
from svc_pg.status.last_runs import note_failure

_log = logging.getLogger(__name__)

_LONGEST_RUN: Final = timedelta(minutes=10)
_ROWS_PER_SECOND: Final = 10_000
_MOST: Final = 5

_STATE: Final = """
select coalesce(succeeded_at > clock_timestamp() - %s::interval, false) as is_recent, position,
       case when position is not null then problem end as found
  from svc.maintenance where task = 'reconciliation'
"""
_NOTE: Final = """
insert into svc.maintenance as m (task, position, problem, succeeded_at)
values ('reconciliation', %s, %s, case when %s then clock_timestamp() end)
    on conflict (task) do update set position = excluded.position, problem = excluded.problem,
       succeeded_at = coalesce(excluded.succeeded_at, m.succeeded_at)
"""


@dataclass(frozen=True, slots=True)
class _State:
    is_recent: bool = False
    position: str | None = None
    found: str | None = None


def reconcile_log(conn: Connection[Any], config: Config) -> str | None:
    """Go on with the comparison that is under way, or begin one if the last is older than ``config.audit.reconcile``.

    Differences are logged and noted for ``status``, and nothing is repaired.
    """
    if config.audit.reconcile is None:
        return None
    state = next(iter(fetch(conn, Query(_STATE, (config.audit.reconcile,), _State))), _State())
    if state.is_recent and state.position is None:
        return None
    try:
        found = _reconciled(conn, config, state.position)
    except SvcError as error:
        note_failure(conn, "reconciliation", str(error))
        raise
    told = "; ".join(filter(None, [state.found, _differences(found)])) or None
    conn.execute(_NOTE, (found.after, told, found.after is None))
    if told:
        _log.warning("tables differ from the log: %s; svc-pg reconcile tells more", told)
    rows = sum(table.rows for table in found.tables)
    return f"compared {counted(rows, 'row')} with it" if found.after is None else None


def _reconciled(conn: Connection[Any], config: Config, position: str | None) -> Reconciliation:
    until = time.monotonic() + _LONGEST_RUN.total_seconds()

    def found(after: str | None) -> Reconciliation:
        return reconcile(
            conn,
            config,
            after=after,
            rows_per_second=_ROWS_PER_SECOND,
            most=_MOST,
            is_over=lambda: time.monotonic() > until,
        )

    try:
        return found(position)
    except QueryError:  # its table is audited no longer
        if position is None:
            raise
        return found(None)


def _differences(found: Reconciliation) -> str:
    done = [table for table in found.tables if table.is_complete and table.differences]
    return ", ".join(f"{table.table}: {counted(table.differences, 'difference')}" for table in done)
