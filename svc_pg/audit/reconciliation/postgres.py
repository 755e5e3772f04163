"""Reconcile audited tables of PostgreSQL with the log."""

from dataclasses import dataclass
from typing import Final

from svc_pg.audit.log.reconciliation import Difference, Pace, Reconciliation, TableReport
from svc_pg.audit.reconciliation.database import Database
from svc_pg.audit.reconciliation.in_turn import in_turn, start_of
from svc_pg.audit.reconciliation.locking import NAMES
from svc_pg.audit.reconciliation.position import Position
from svc_pg.audit.reconciliation.tables import compared
from svc_pg.capture import patterns
from svc_pg.capture.postgres.catalog import TABLE_NAMES, reading_tables
from svc_pg.capture.postgres.installed_rules import InstalledRules
from svc_pg.capture.postgres.log_stretches import LOG_BOUNDS
from svc_pg.capture.rules import TableRules, rules_for
from svc_pg.config import AuditedTable, Config
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Together
from svc_pg.database.query import Query
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConflictError, UnknownTableError

_SURROUNDINGS: Final = """
select current_setting('server_version_num')::integer as server_version, pg_is_in_recovery() as is_standby,
       svc.audit_is_copy() as is_copy
"""


@dataclass(frozen=True, slots=True)
class _Surroundings:
    server_version: int
    is_standby: bool
    is_copy: bool


def reconciling(config: Config, table: str | None, after: str | None, pace: Pace) -> Effects[Reconciliation]:
    """Compare all audited tables, or one: see ``svc_pg.audit.reconcile``."""
    start = start_of(after, pace)
    database, wanted = yield Together(NAMES, _wanted(config, table))
    if database.is_standby and pace.repairs:
        raise ConflictError("a standby cannot be repaired", hint="Repair the primary server: its log is this one's.")
    if database.is_copy and pace.repairs:
        raise ConflictError("a copy of a log cannot be repaired", hint="Repair the publisher: its entries arrive here.")
    names = list(wanted)

    def compare(
        number: int, start: Position | None, differences: list[Difference]
    ) -> Effects[tuple[TableReport, Position | None]]:
        name = names[number]
        return (yield from compared(name, wanted[name], database, pace, start, differences))

    return (yield from in_turn([str(name) for name in names], start, pace, compare))


def _wanted(config: Config, table: str | None) -> Effects[tuple[Database, dict[TableName, TableRules]]]:
    """The tables to compare, with their rules."""
    [around] = yield Query(_SURROUNDINGS, (), _Surroundings)
    [log] = yield LOG_BOUNDS
    installed = InstalledRules(config)
    yield from installed.check()
    audited = patterns.resolve(config.audit.tables, (yield TABLE_NAMES))
    if table is not None:
        name = TableName.parse(table)
        if name not in audited:
            yield from _refuse(name, audited)
        audited = {name: audited[name]}
    tables = yield from reading_tables(audited)
    rules = {name: rules_for(tables[name], each) for name, each in audited.items()}
    return Database(around.server_version, around.is_standby, around.is_copy, installed, log.stretches()), rules


def _refuse(name: TableName, audited: dict[TableName, AuditedTable]) -> Effects[None]:
    tables = yield from reading_tables([name])
    parent = tables[name].parent
    hint = "Name one of those that are: svc-pg status lists them." if audited else "The configuration names none."
    if parent is not None:
        hint = f"It is a partition: name {parent}, if that is audited."
    raise UnknownTableError(f'table "{name}" is not audited', hint=hint)
