"""The costs on MySQL and MariaDB: CPU time of the server, beside a plain trigger written by hand."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

import pymysql
from rich.table import Table

from svc_pg.config import AuditConfig, AuditedTable, Config
from svc_pg.database.dbapi import execute, rows
from svc_pg.other_databases.schema.mysql.install import install
from tests.benchmarks.command import output, words
from tests.matrix import MatrixError
from tests.support.mysql import KINDS, MySqlServer, server

NO_AUDIT: Final = "no audit"
PLAIN: Final = "plain trigger"
SVC: Final = "svc-pg"
RULES: Final = "svc-pg, rules"
GOALS: Final = {"mysql": 1.5, "mariadb": 2.0}
"""The goal for the overhead of svc-pg, as a multiple of the plain trigger's."""
OPERATIONS: Final = {
    "INSERT": "insert into account select * from source",
    "UPDATE": "update account set status = 'closed', credit = credit + 1",
    "no-op UPDATE": "update account set status = 'closed'",
    "DELETE": "delete from account",
}
_TABLE: Final = """
create table account (
    id bigint primary key, owner varchar(60), email varchar(200), credit decimal(12, 2), status varchar(20),
    settings json, created_at datetime(6), updated_at timestamp(6) null, is_active boolean, notes text
)"""
_COLUMNS: Final = (
    "id",
    "owner",
    "email",
    "credit",
    "status",
    "settings",
    "created_at",
    "updated_at",
    "is_active",
    "notes",
)
_ROW: Final = "insert into source values (%s, 7, %s, 12.50, 'active', %s, now(6), now(6), true, %s)"
_ENRICH: Final = [
    {"operation": "UPDATE", "label": "closed", "severity": "high", "when": {"changed": "status"}},
    {"label": "large", "when": {"after": {"credit": {"gt": 10000}}}},
    {"label": "changed", "severity": "low", "description": "{actor_id} changed {before[email]}"},
]


@dataclass(frozen=True, slots=True)
class Costs:
    """Microseconds of CPU a row, by candidate and operation: the mean of the better half, since noise only adds."""

    samples: dict[tuple[str, str], list[float]]

    def whole(self, candidate: str, operation: str) -> float:
        """The cost of the write with the candidate's overhead."""
        samples = sorted(self.samples[candidate, operation])
        return mean(samples[: (len(samples) + 1) // 2])

    def added(self, candidate: str, operation: str) -> float:
        """The candidate's overhead."""
        return self.whole(candidate, operation) - self.whole(NO_AUDIT, operation)

    def ratio(self, candidate: str, operation: str) -> float:
        """The overhead as a multiple of the plain trigger's."""
        return self.added(candidate, operation) / self.added(PLAIN, operation)


def document(*, size: int, rounds: int) -> dict[str, Any]:
    """Measure on every available server; missing servers are named."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        try:
            with server(kind) as running:
                costs = measure(running, size=size, rounds=rounds)
                found[kind] = _figures(kind, _version(running), costs)
        except MatrixError as error:
            words.print(f"without {kind}: {error}", markup=False)
    return found


def show(found: dict[str, Any]) -> None:
    """Print a table for each server."""
    for kind, figures in found.items():
        table = Table(title=f"{kind} {figures['version']}: µs of CPU a row", title_justify="left")
        table.add_column("candidate")
        for operation in OPERATIONS:
            table.add_column(operation, justify="right")
        for candidate, costs in figures["costs"].items():
            table.add_row(candidate, *(f"{costs[operation]:.1f}" for operation in OPERATIONS))
        for candidate, ratios in figures["ratios"].items():
            table.add_row(f"{candidate} : {PLAIN}", *(f"{ratios[operation]:.2f}" for operation in OPERATIONS))
        verdict = "holds" if figures["holds"] else "missed"
        table.caption = (
            f"No audit whole, of others what they add. Goal: {figures['goal']:g}, no-op updates 1: {verdict}"
        )
        output().print(table, "")


def measure(running: MySqlServer, *, size: int, rounds: int) -> Costs:
    """Give each candidate its turn in every round, each time from another one on."""
    samples: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    candidates = (NO_AUDIT, PLAIN, SVC, RULES)
    for number in range(rounds):
        for candidate in candidates[number % 4 :] + candidates[: number % 4]:
            with words.status(f"{running.kind}: round {number + 1} of {rounds}: {candidate}"):
                for operation, cost in _visit(running, candidate, size):
                    samples[candidate, operation].append(cost)
    return Costs(samples)


def _visit(running: MySqlServer, candidate: str, size: int) -> Iterator[tuple[str, float]]:
    with _prepared(running, candidate, size) as conn:
        for operation, statement in OPERATIONS.items():
            begun = time.clock_gettime_ns(~running.process << 3 | 2)
            execute(conn, statement)
            conn.commit()
            yield operation, (time.clock_gettime_ns(~running.process << 3 | 2) - begun) / 1000 / size


@contextmanager
def _prepared(running: MySqlServer, candidate: str, size: int) -> Iterator["pymysql.Connection[Any]"]:
    with running.new_database() as name, running.connect(name, autocommit=False) as conn:
        execute(conn, _TABLE)
        rules = {"enrich": _ENRICH, "redact": {"notes": "last4", "owner": "mask"}} if candidate == RULES else {}
        audited = [AuditedTable.model_validate({"name": "account"} | rules)] if candidate in (SVC, RULES) else []
        install(conn, Config(audit=AuditConfig(tables=audited)))
        if candidate == PLAIN:
            for statement in _plain_triggers():
                execute(conn, statement)
        execute(conn, "create table source like account")
        made = [
            (n, f"user{n}@x.example", '{"plan": "pro", "seats": 12}', "They asked for an invoice.") for n in range(size)
        ]
        with conn.cursor() as cursor:
            cursor.executemany(_ROW, made)
        conn.commit()
        execute(conn, "set @svc_actor_id = 'amy', @svc_tenant_id = 't1', @svc_context = '{\"n\": 1}'")
        yield conn


def _plain_triggers() -> Iterator[str]:
    """Both images, the key, the actor, the user and the time, into the same log with the same indexes."""
    images = {row: ", ".join(f"'{name}', {row}.{name}" for name in _COLUMNS) for row in ("old", "new")}
    for operation, before, after in (("insert", None, "new"), ("update", "old", "new"), ("delete", "old", None)):
        values = [f"json_object({images[row]})" if row else "null" for row in (before, after)]
        yield (
            f"create trigger plain_{operation} after {operation} on account for each row insert into svc.audit_logs"
            " (`timestamp`, table_name, operation, record_id, actor_id, db_user, before_data, after_data) values"
            f" (utc_timestamp(6), 'account', '{operation.upper()}', {after or before}.id, @svc_actor_id, user(),"
            f" {values[0]}, {values[1]})"
        )


def _version(running: MySqlServer) -> str:
    with running.connect() as conn:
        return str(rows(conn, "select version()")[0][0])


def _figures(kind: str, version: str, costs: Costs) -> dict[str, Any]:
    audited = (PLAIN, SVC, RULES)
    ratios = {each: {operation: costs.ratio(each, operation) for operation in OPERATIONS} for each in audited[1:]}
    limits = dict.fromkeys(OPERATIONS, GOALS[kind]) | {"no-op UPDATE": 1.0}
    return {
        "version": version,
        "costs": {
            NO_AUDIT: {operation: costs.whole(NO_AUDIT, operation) for operation in OPERATIONS},
            **{each: {operation: costs.added(each, operation) for operation in OPERATIONS} for each in audited},
        },
        "ratios": ratios,
        "goal": GOALS[kind],
        "holds": all(ratios[SVC][operation] <= limit for operation, limit in limits.items()),
    }
