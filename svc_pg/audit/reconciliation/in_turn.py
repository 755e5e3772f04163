"""Compare tables one after the other, from a position on, on any database."""

from collections.abc import Callable, Sequence

from svc_pg.audit.log.reconciliation import NICEST, Difference, Pace, Progress, Reconciliation, TableReport
from svc_pg.audit.reconciliation.position import Position
from svc_pg.database.effects import Effects
from svc_pg.errors import QueryError

Compare = Callable[[int, Position | None, list[Difference]], Effects[tuple[TableReport, Position | None]]]
"""Compares one table, by its place in the list, from a position on, and adds its differences to the list.

It gives the report, and the position from which another call goes on if it was ended early.
"""


def start_of(after: str | None, pace: Pace) -> Position | None:
    """The position of a cursor, if there is one. Raises QueryError, also for limits that are none."""
    if not 0 <= pace.nice_ratio <= NICEST:
        raise QueryError(f"{pace.nice_ratio} is no ratio of rest to work", hint=f"Write 0 to {NICEST:g}.")
    if pace.most < 0:
        raise QueryError(f"{pace.most} is no number of differences", hint="Write 0 or more.")
    return None if after is None else Position.read(after)


def in_turn(tables: Sequence[str], start: Position | None, pace: Pace, compare: Compare) -> Effects[Reconciliation]:
    """Compare all tables, or those from the position on. Raises QueryError if it is of another reconciliation."""
    first = 0
    if start is not None:
        _check(start, tables, pace)
        first = tables.index(start.table)
        start = None if start.is_beginning else start
    reports: list[TableReport] = []
    differences: list[Difference] = []
    for number in range(first, len(tables)):
        report, stopped = yield from compare(number, start, differences)
        start = None
        reports.append(report)
        if stopped is not None:
            return Reconciliation(reports, differences, stopped.cursor)
        is_last = number + 1 == len(tables)
        cursor = None if is_last else Position(tables[number + 1], report.until, pace.repairs).cursor
        pace.progress(Progress(report.table, report.rows, report.rows, cursor, report))
    return Reconciliation(reports, differences, None)


def _check(start: Position, tables: Sequence[str], pace: Pace) -> None:
    if start.repairs != pace.repairs:
        mode = "with" if start.repairs else "without"
        raise QueryError(
            f"the cursor is of a reconciliation {mode} repair",
            hint=f"Go on {mode} it, as it began; or begin anew, without the cursor.",
        )
    if start.table not in tables:
        raise QueryError(f'the cursor is of table "{start.table}", which is not among those to compare')
