"""Reconcile audited tables of SQLite, MySQL or MariaDB with the log."""

from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Final

from svc_pg.audit.log.manual_entry import ManualEntry
from svc_pg.audit.log.reconciliation import Difference, Pace, Reconciliation, TableReport
from svc_pg.audit.reconciliation.in_turn import in_turn, start_of
from svc_pg.audit.reconciliation.notes import is_comparable, no_hash_key, notes, notes_of_rows
from svc_pg.audit.reconciliation.position import Position
from svc_pg.audit.reconciliation.result import LABEL, facts_of, report_of, words_of
from svc_pg.capture.rules import TableRules
from svc_pg.config import Config
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.query import RawJson
from svc_pg.database.table_names import TableName
from svc_pg.errors import UnknownTableError
from svc_pg.formats.json_writer import encode
from svc_pg.other_databases.log.driver_errors import cannot_write, problem_of
from svc_pg.other_databases.log.insert_entry import insert_entry
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.reconciliation.side import AuditedSide, Side
from svc_pg.other_databases.reconciliation.table_comparison import TableComparison, within

_UNKEYED: Final = "the key is null or no valid text"
_UNCOUNTED: Final = "rows with a null in the key are not compared; how many there are would take too long to count"


def reconciling(
    side: Side, config: Config, *, table: str | None, after: str | None, pace: Pace
) -> Effects[Reconciliation]:
    """Compare all audited tables, or one: see ``svc_pg.audit.reconcile``."""
    start = start_of(after, pace)
    with side.session():
        audited = side.tables(config)
        if table is not None:
            name = str(TableName.parse(table).within(side.default_schema()))
            if name not in audited:
                raise _unknown(name, audited)
            audited = {name: audited[name]}
        names = list(audited)

        def compare(
            number: int, start: Position | None, differences: list[Difference]
        ) -> Effects[tuple[TableReport, Position | None]]:
            return (yield from _compared(side, audited[names[number]], pace, start, differences))

        return (yield from in_turn(names, start, pace, compare))


def _unknown(name: str, audited: dict[str, AuditedSide]) -> UnknownTableError:
    near = get_close_matches(name, audited, n=1)
    hint = "Name one of those that are: svc-pg status lists them." if audited else "The configuration names none."
    return UnknownTableError(f'table "{name}" is not audited', hint=f"Did you mean {near[0]}?" if near else hint)


def _compared(
    side: Side, each: AuditedSide, pace: Pace, start: Position | None, differences: list[Difference]
) -> Effects[tuple[TableReport, Position | None]]:
    """Compare one table. One that refuses is no error, because the others can be compared: the report says why."""
    rules = each.side.rules
    name, is_compared = str(rules.table.name), is_comparable(rules)
    now = yield from _now(side)
    purged_before = yield from side.purged_before(name)
    was_conditional, once_ignored = yield from side.omissions(name)
    comparison = TableComparison(side, each, pace, since=now, purged_before=purged_before)
    stopped, problem = None, each.problem if is_compared else None
    if is_compared and problem is None:
        try:
            yield from _check_hash_key(side, rules)
            stopped = yield from comparison.run(start)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                raise
    differences += comparison.findings.differences
    is_complete = stopped is None and problem is None
    unkeyed = comparison.findings.counts["unkeyed"]
    uncounted = [_UNCOUNTED] if comparison.findings.counts["uncounted"] else []
    told = notes(rules, was_conditional=was_conditional, once_ignored=once_ignored, large=side.sizes)
    report = report_of(
        name,
        comparison.findings,
        pace,
        since=comparison.since,
        until=(yield from _now(side)),
        purged_before=purged_before,
        postponed=[name] if comparison.postponed else [],
        notes=[*told, *uncounted, *notes_of_rows(unkeyed, comparison.otherwise, why=_UNKEYED)],
        is_compared=is_compared,
        is_complete=is_complete,
        problem=problem,
    )
    if is_compared and is_complete:
        report = replace(report, is_recorded=(yield from _record(side, report)))
    return report, stopped


def _check_hash_key(side: Side, rules: TableRules) -> Effects[None]:
    if rules.is_hashed and not (yield Statement("select 1 from " + side.hash_key)):  # noqa: S608
        raise no_hash_key(side.hash_key, "Restore the key from a backup.")


def _now(side: Side) -> Effects[datetime]:
    [[now]] = yield Statement("select " + side.dialect.now)
    return time_of(now)


def _record(side: Side, report: TableReport) -> Effects[bool]:
    """Write the entry about a table that was compared; false if the file or the server may only be read."""
    entry = ManualEntry(
        side.dialect.log_name,
        "SNAPSHOT",
        record_id=report.table,
        after=RawJson(encode(facts_of(report)).decode()),
        label=LABEL,
        severity="high" if report.differences else "low",
        description=words_of(report),
    )
    try:
        yield from within((side.dialect.begin,), insert_entry(side.dialect, entry), "commit")
    except Exception as error:
        if not cannot_write(error):
            raise
        return False
    return True
