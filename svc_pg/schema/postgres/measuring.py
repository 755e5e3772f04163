"""Measure the cost of capture on copies of the audited tables, in transactions that are rolled back."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import Any, Final

from psycopg import Connection, Error
from psycopg.sql import SQL, Composed

from svc_pg.capture.rules import TableRules
from svc_pg.config import AuditConfig, Config, Grants
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.formats.plurals import counted
from svc_pg.schema.costs import Costs, Operation, RowCost, TableCost, Unmeasured
from svc_pg.schema.postgres import access, diagnosis, measured_copy, migrations, preflight
from svc_pg.schema.postgres.access import Access
from svc_pg.schema.postgres.install import install_schema
from svc_pg.schema.postgres.installation import look_around, read_installation
from svc_pg.schema.postgres.measured_copy import CAPTURED, PLAIN, Copy
from svc_pg.schema.postgres.target import read_rules
from svc_pg.schema.postgres.transactions import Patience, locked, transaction

_Round = Mapping[tuple[str, Operation], float]
_FEWEST: Final = 2
_MOST: Final = 8
_OF_TABLE: Final = timedelta(seconds=5)
"""After this time a table gets no further round."""
_SETTINGS: Final = f"""
set local statement_timeout = '{2 * _OF_TABLE.total_seconds():g}s';
set local lock_timeout = '1s';
select pg_catalog.set_config('svc.actor_id', 'svc-pg plan', true);
"""
_IS_WHOLE: Final = "select to_regproc('svc.audit_bounded') is not null and to_regproc('svc.audit_image') is not null"
_TRUNCATE: Final = SQL("truncate pg_temp.{}, pg_temp.{}").format(SQL(PLAIN), SQL(CAPTURED))
_EXPLAIN: Final = SQL("explain (analyze, timing off, buffers off, costs off, format json) ")
_METHOD: Final = (
    "Made-up rows of a temporary copy of each table, as wide as its statistics say, without its other triggers, indexes"
    " and constraints; {} rows a statement at most, one column updated; medians of {} rounds on one connection. Every"
    " row has an actor, and the log is empty and in memory: a large one costs more, as does the commit."
)


def measure(conn: Connection[Any], config: Config, *, roles: bool | None, longest: timedelta) -> Costs:
    """Measure table by table, for as long as ``longest`` allows; say which tables were left out.

    All is rolled back: the copies, the log that they write to, and in a new database all of schema ``svc`` with the
    roles. Neither tables of users nor the log are written to, read or locked. Another install waits meanwhile, for one
    table at a time if svc-pg is installed. Raises the errors of ``install`` that come before any change, and
    InstallError if an upgrade must come first.
    """
    until = time.monotonic() + longest.total_seconds()
    preflight.check_server(conn)
    with transaction(conn):
        _, wanted = read_rules(conn, config)
        is_new = _is_new(conn)
    measuring = _Measuring(conn, config.audit, until)
    for tables in _together(list(wanted.values()), is_new=is_new):
        if not measuring.has_time():
            measuring.leave_out(tables)
            continue
        with _rolled_back(conn):
            rights = _prepare(conn, is_new=is_new, roles=roles)
            for rules in tables:
                measuring.add(rules, rights)
    method = _METHOD.format(measured_copy.MOST_ROWS, _MOST - 1)
    return Costs(measuring.measured, measuring.left_out, method)


def _together(tables: list[TableRules], *, is_new: bool) -> list[list[TableRules]]:
    """The tables of each transaction: one, unless the schema would have to be made again for each."""
    if is_new:
        return [tables] if tables else []
    return [[rules] for rules in tables]


@contextmanager
def _rolled_back(conn: Connection[Any]) -> Iterator[None]:
    """A transaction that holds the install lock, and leaves nothing behind."""
    try:
        with locked(conn, Patience()), conn.transaction(force_rollback=True):
            yield
    except Error as error:
        raise diagnosis.diagnose(conn, error) from error


def _is_new(conn: Connection[Any]) -> bool:
    """True if the schema must be made to measure. Raises InstallError if it must be upgraded first."""
    present = read_installation(conn, look_around(conn))
    if present.version is None or not scalar(conn, _IS_WHOLE):
        return True
    if any(state.state != "ok" for state in migrations.states(present, ["audit"])):
        raise InstallError(
            f"schema svc is of svc-pg {present.version}, and must be upgraded before anything is measured",
            hint="Run: svc-pg install",
        )
    return False


def _prepare(conn: Connection[Any], *, is_new: bool, roles: bool | None) -> Access:
    if is_new:
        install_schema(conn, Config(), prune=False, with_roles=roles)
    else:
        preflight.check_rights(conn, look_around(conn))
    conn.execute(_SETTINGS)
    return access.wanted(read_installation(conn, look_around(conn)), Grants(), roles=roles)


def words(rules: TableRules) -> list[str]:
    """The rules that change the cost, for people."""
    audited = rules.audited
    told = {
        "by statement": audited.level == "statement",
        f"{len(rules.columns or ())} of {counted(len(rules.table.columns), 'column')} recorded": rules.columns,
        f"{counted(len(rules.redactions), 'column')} redacted": rules.redactions,
        f"{counted(len(rules.ignored), 'column')} ignored": rules.ignored,
        "record_when": audited.record_when,
        "max_value_bytes": audited.max_value_bytes,
        counted(len(audited.enrich), "rule"): audited.enrich,
        'on_error = "warn"': audited.on_error == "warn",
    }
    return [text for text, applies in told.items() if applies]


@dataclass(slots=True)
class _Measuring:
    conn: Connection[Any]
    config: AuditConfig
    until: float
    measured: list[TableCost] = field(default_factory=list)
    left_out: list[Unmeasured] = field(default_factory=list)

    def has_time(self) -> bool:
        """True if another table may begin: the first always may."""
        return not self.measured or time.monotonic() < self.until

    def leave_out(self, tables: Sequence[TableRules]) -> None:
        self.left_out += [Unmeasured(str(rules.table.name), "the time was over") for rules in tables]

    def add(self, rules: TableRules, rights: Access) -> None:
        """Measure a table, or note why it cannot be."""
        if not self.has_time():
            self.leave_out([rules])
            return
        try:
            with self.conn.transaction(force_rollback=True):
                self.measured.append(self._cost(rules, rights))
        except Error as error:
            if self.conn.closed:
                raise
            reason = error.diag.message_primary or str(error).strip()
            self.left_out.append(Unmeasured(str(rules.table.name), reason))

    def _cost(self, rules: TableRules, rights: Access) -> TableCost:
        copy = measured_copy.make(self.conn, rules, self.config, rights)
        rounds = self._rounds(copy)
        size, entries = copy.entries(self.conn)
        return TableCost(
            table=str(rules.table.name),
            columns=len(rules.table.columns),
            rules=words(rules),
            rows={
                operation: RowCost(
                    without_capture=_middle(rounds, PLAIN, operation),
                    with_capture=_middle(rounds, CAPTURED, operation),
                    recorded=round(entries.get(operation, 0) / (len(rounds) * copy.size), 3),
                )
                for operation, _ in copy.statements(PLAIN)
            },
            bytes_an_entry=round(size / number) if (number := sum(entries.values())) >= copy.size else None,
            notes=copy.notes,
        )

    def _rounds(self, copy: Copy) -> list[_Round]:
        """Change all rows of both tables in turns; the first round only warms up."""
        rounds: list[_Round] = []
        until = min(self.until, time.monotonic() + _OF_TABLE.total_seconds())
        while len(rounds) < _FEWEST or (len(rounds) < _MOST and time.monotonic() < until):
            turn = (PLAIN, CAPTURED) if len(rounds) % 2 else (CAPTURED, PLAIN)
            rounds.append(
                {
                    (table, operation): self._microseconds(text) / copy.size
                    for table in turn
                    for operation, text in copy.statements(table)
                }
            )
            self.conn.execute(_TRUNCATE)
        return rounds

    def _microseconds(self, text: Composed) -> float:
        """The time in the server alone, with that of triggers."""
        explained = scalar(self.conn, (_EXPLAIN + text).as_string())
        return float(explained[0]["Execution Time"]) * 1000


def _middle(rounds: Sequence[_Round], table: str, operation: Operation) -> float:
    return round(median(each[table, operation] for each in rounds[1:]), 2)
