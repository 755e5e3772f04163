"""Reconcile one table: what must be known of it, its comparison, and the report."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from psycopg.sql import Identifier

from svc_pg.audit.log.reconciliation import Difference, Pace, TableReport
from svc_pg.audit.reconciliation.comparing import TableComparison
from svc_pg.audit.reconciliation.database import Database
from svc_pg.audit.reconciliation.locking import NAMES
from svc_pg.audit.reconciliation.notes import is_comparable, no_hash_key, notes, notes_of_rows
from svc_pg.audit.reconciliation.position import Position
from svc_pg.audit.reconciliation.recording import keeping_gaps, mending_gaps, recording
from svc_pg.audit.reconciliation.result import report_of
from svc_pg.capture.postgres.comparing import plain_key
from svc_pg.capture.rules import TableRules
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Apart, Together
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import AccessError, ConflictError

_TABLE: Final = statement("queries/audit/reconciled_table.sql")
_HAS_KEY: Final = "select svc.audit_hash('') is not null as has_key"


@dataclass(frozen=True, slots=True)
class _Facts:
    now: datetime
    purged_before: datetime | None
    expected: int
    was_conditional: bool
    once_ignored: list[str]
    other_owner: str | None


def compared(
    name: TableName,
    rules: TableRules,
    database: Database,
    pace: Pace,
    start: Position | None,
    differences: list[Difference],
) -> Effects[tuple[TableReport, Position | None]]:
    """Compare one table; the report, and the position from which another call goes on if it was ended early.

    A table that refuses is no error, because the others can be compared: the report names the problem.
    """
    is_compared = is_comparable(rules)
    if pace.repairs and is_compared and start is None:
        yield from keeping_gaps(str(name))
    params = {"name": str(name), "table": Identifier(*name).as_string()}
    [facts] = yield Together(NAMES, _rows(Query(_TABLE, params, _Facts)))
    [key] = yield Together(NAMES, _rows(plain_key(rules)))
    comparison = TableComparison(
        rules,
        database,
        pace,
        since=facts.now,
        expected=facts.expected,
        has_plain_key=key.has_plain_key,
        purged_before=facts.purged_before,
    )
    stopped, problem = None, None
    try:
        _check_owner(name, facts, database)
        if is_compared:
            yield from _check_hash_key(rules)
            stopped = yield from comparison.run(start)
    except (AccessError, ConflictError) as error:
        problem = f"{error.message}; {error.hint}" if error.hint else error.message
    differences += comparison.findings.differences
    [now] = yield Apart(Query("select clock_timestamp() as now", (), lambda now: now))
    is_complete = stopped is None and problem is None
    report = _report(comparison, facts, now, is_complete=is_complete, problem=problem)
    if is_compared and is_complete:
        if pace.repairs and report.is_whole:
            yield from mending_gaps(str(name), report.since)
        is_recorded = yield from recording(report)
        report = replace(report, is_recorded=is_recorded)
    return report, stopped


def _check_owner(name: TableName, facts: _Facts, database: Database) -> None:
    if database.is_standby and facts.other_owner is not None:
        raise ConflictError(
            f'table "{name}" belongs to role "{facts.other_owner}", who could give the planner other code to run'
            " meanwhile: no lock of a standby forbids that",
            hint="Reconcile on the primary server, or here as that role.",
        )


def _check_hash_key(rules: TableRules) -> Effects[None]:
    if rules.is_hashed:
        [has_key] = yield Together(NAMES, _rows(Query(_HAS_KEY, (), lambda has_key: has_key)))
        if not has_key:
            hint = "Restore the key from a backup; svc-pg status has more."
            raise no_hash_key("svc.audit_hash_key", hint)


def _report(
    comparison: TableComparison, facts: _Facts, now: datetime, *, is_complete: bool, problem: str | None
) -> TableReport:
    told = notes(comparison.rules, was_conditional=facts.was_conditional, once_ignored=facts.once_ignored)
    unkeyed = comparison.findings.counts["unkeyed"]
    return report_of(
        str(comparison.name),
        comparison.findings,
        comparison.pace,
        since=comparison.since,
        until=now,
        purged_before=facts.purged_before,
        postponed=comparison.postponed,
        notes=[*told, *notes_of_rows(unkeyed, comparison.otherwise)],
        is_compared=is_comparable(comparison.rules),
        is_complete=is_complete,
        problem=problem,
    )


def _rows(query: Query[Any]) -> Effects[list[Any]]:
    return (yield query)  # type: ignore[no-any-return] # the rows of the query
