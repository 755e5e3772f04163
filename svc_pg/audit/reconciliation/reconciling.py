"""Reconcile audited tables with the log: compare the rows with the last images of their records."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.audit.reconciliation.comparing import Pace, Server
from svc_pg.audit.reconciliation.findings import Difference
from svc_pg.audit.reconciliation.locking import NAMES
from svc_pg.audit.reconciliation.position import Position
from svc_pg.audit.reconciliation.report import Progress, Reconciliation, TableReport
from svc_pg.audit.reconciliation.tables import compared
from svc_pg.capture import patterns
from svc_pg.capture.postgres.catalog import TABLE_NAMES, reading_tables
from svc_pg.capture.rules import TableRules, rules_for
from svc_pg.config import AuditedTable, Config
from svc_pg.config.installed_parts import KeyPath, parts_in, parts_of
from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.dialects import require_postgres
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Together, arun, check_idle, run
from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, ConflictError, QueryError, UnknownTableError

_MOST: Final = 100
"""The default number of differences of each table that a report names."""

_FEATURE: Final = "the reconciliation of tables with the log"
_REASON: Final = "svc-pg does not compare rows with their entries yet"
_HINT: Final = "svc-pg install --backfill records the rows that the log does not know."
_SURROUNDINGS: Final = statement("queries/audit/reconciled_surroundings.sql")
_INSTALLED: Final = "select configuration from svc.installation"


@dataclass(frozen=True, slots=True)
class _Surroundings:
    server_version: int
    is_standby: bool
    is_copy: bool
    reads_installation: bool


@dataclass(frozen=True, slots=True)
class _Installed:
    configuration: RawJson | None


def reconcile(
    conn: Any,
    config: Config,
    *,
    table: str | None = None,
    repair: bool = False,
    after: str | None = None,
    rows_per_second: float | None = None,
    most: int = _MOST,
    progress: Callable[[Progress], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Reconciliation:
    """Compare the rows of each audited table, or of one, with the last images of their records in the log.

    Reports records that are missing in the log, that differ, and in which fields, and that are in the log only: what
    changed while no trigger told of it. ``config`` is the installed configuration. Values are compared as the log has
    them: a hashed column by its hash, a capped value by its digest, a removed one not at all. Nor are ignored columns,
    erased values, columns that the table has no longer, or tables without a key; of a table with ``record_when`` only
    rows count that an INSERT of now would record and the log does not know.

    It reads a table in pieces of 64 pages, and then the records of the log in pieces of 5000, each in one statement and
    a transaction of its own: entries of running transactions make no difference, no snapshot lives longer, and writers
    do not wait. It runs no code of a table's owner. A table that stays locked, was changed meanwhile or refuses for
    another reason ends the comparison of itself alone: its report names the ``problem``.

    After each piece, and at the end of each table, ``progress`` is called; if ``is_over`` then says so, the report
    ends, and ``after`` of it is the cursor with which another call goes on. ``rows_per_second`` limits the speed, and
    ``most`` the named differences of each table.

    With ``repair`` the log gets entries that nobody has made, labelled ``found by reconciliation``: a SNAPSHOT of each
    row that it lacks or knows otherwise, with both images, and GONE for each record that it alone has, with the last
    one. Writers wait while those of a piece are written; if one of them is at work there for long, the table is
    ``postponed``. It needs the rights of an install.

    Each table that was compared wholly gets an entry about the result, a SNAPSHOT of ``svc.audit_logs`` labelled
    ``audit log reconciled``, if the role may write one.

    ``conn`` must be outside a transaction, and may lead to a standby if the connected role owns the tables. The role
    needs select and update on them, the right to read the log, and, as a superuser does, to execute the functions of
    administrators. Raises ConfigError for another configuration than the installed one and on other databases,
    UnknownTableError, QueryError for a cursor that is none or of a call with another ``repair``, AccessError if the
    role may not use the log, ConflictError for the repair of a standby or of a copy of a log, TransactionError and
    NotInstalledError.
    """
    require_postgres(conn, _FEATURE, reason=_REASON, hint=_HINT)
    driver = psycopg_connection(conn, twin="await audit.areconcile(conn, ...)")
    check_idle(driver)
    pace = Pace(rows_per_second, most, repair, progress, is_over)
    return run(driver, _reconciling(config, table, after, pace))


async def areconcile(
    conn: Any,
    config: Config,
    *,
    table: str | None = None,
    repair: bool = False,
    after: str | None = None,
    rows_per_second: float | None = None,
    most: int = _MOST,
    progress: Callable[[Progress], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Reconciliation:
    """As ``reconcile``, on an async connection."""
    require_postgres(conn, _FEATURE, reason=_REASON, hint=_HINT)
    driver = await apsycopg_connection(conn, twin="audit.reconcile(conn, ...)")
    check_idle(driver)
    pace = Pace(rows_per_second, most, repair, progress, is_over)
    return await arun(driver, _reconciling(config, table, after, pace))


def _reconciling(config: Config, table: str | None, after: str | None, pace: Pace) -> Effects[Reconciliation]:
    if pace.rows_per_second is not None and not pace.rows_per_second > 0:
        raise QueryError(f"{pace.rows_per_second} is no number of rows a second", hint="Write 1 or more.")
    if pace.most < 0:
        raise QueryError(f"{pace.most} is no number of differences", hint="Write 0 or more.")
    start = None if after is None else Position.read(after)
    server, wanted = yield Together(NAMES, _wanted(config, table))
    if server.is_standby and pace.repairs:
        raise ConflictError("a standby cannot be repaired", hint="Repair the primary server: its log is this one's.")
    if server.is_copy and pace.repairs:
        raise ConflictError("a copy of a log cannot be repaired", hint="Repair the publisher: its entries arrive here.")
    left = list(wanted)
    if start is not None:
        if start.repairs != pace.repairs:
            mode = "with" if start.repairs else "without"
            raise QueryError(
                f"the cursor is of a reconciliation {mode} repair",
                hint=f"Go on {mode} it, as it began; or begin anew, without the cursor.",
            )
        if start.table not in map(str, left):
            raise QueryError(f'the cursor is of table "{start.table}", which is not among those to compare')
        left = left[[str(name) for name in left].index(start.table) :]
        start = None if start.is_beginning else start
    reports: list[TableReport] = []
    differences: list[Difference] = []
    for number, name in enumerate(left, 1):
        report, stopped = yield from compared(name, wanted[name], server, pace, start, differences)
        start = None
        reports.append(report)
        if stopped is not None:
            return Reconciliation(reports, differences, stopped.cursor)
        cursor = Position(str(left[number]), report.until, pace.repairs).cursor if number < len(left) else None
        pace.progress(Progress(str(name), report.rows, report.rows, cursor, report))
    return Reconciliation(reports, differences, None)


def _wanted(config: Config, table: str | None) -> Effects[tuple[Server, dict[TableName, TableRules]]]:
    """The tables to compare, with their rules."""
    [around] = yield Query(_SURROUNDINGS, (), _Surroundings)
    if around.reads_installation:
        _check_installed(config, (yield Query(_INSTALLED, (), _Installed)))
    audited = patterns.resolve(config.audit.tables, (yield TABLE_NAMES))
    if table is not None:
        name = TableName.parse(table)
        if name not in audited:
            yield from _refuse(name, audited)
        audited = {name: audited[name]}
    tables = yield from reading_tables(audited)
    rules = {name: rules_for(tables[name], each) for name, each in audited.items()}
    return Server(around.server_version, around.is_standby, around.is_copy), rules


def _check_installed(config: Config, found: Iterable[_Installed]) -> None:
    for installed in found:
        if installed.configuration is None:
            continue
        before, now = (_rules_in(parts) for parts in (parts_in(json.loads(installed.configuration)), parts_of(config)))
        other = [path for path in {**before, **now} if before.get(path) != now.get(path)]
        if other:
            raise ConfigError(
                f"the rules of {', '.join(path[-1] for path in other[:5])} are not those that are installed",
                hint="Run svc-pg install, or name the configuration that is installed: svc-pg plan tells the rest.",
            )


def _rules_in(parts: dict[KeyPath, Any]) -> dict[KeyPath, Any]:
    return {path: rules for path, rules in parts.items() if path[:2] == ("audit", "tables")}


def _refuse(name: TableName, audited: dict[TableName, AuditedTable]) -> Effects[None]:
    tables = yield from reading_tables([name])
    parent = tables[name].parent
    hint = "Name one of those that are: svc-pg status lists them." if audited else "The configuration names none."
    if parent is not None:
        hint = f"It is a partition: name {parent}, if that is audited."
    raise UnknownTableError(f'table "{name}" is not audited', hint=hint)
