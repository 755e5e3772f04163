"""The costs on SQLite: CPU time of the writer, beside triggers written by hand and other tools, in one run."""

import importlib
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, Final

from rich.table import Table

from svc_pg import audit, schema
from svc_pg.integrations.sqlite import with_audit
from tests.benchmarks.command import output, words
from tests.support.sqlite import config

NO_AUDIT: Final = "no audit"
EQUAL: Final = "equal"
PEERS: Final = ("sqlite-history", "sqlite-chronicle")
SVC: Final = "svc-pg"
RULES: Final = "svc-pg, rules"
GOAL: Final = 2.0
"""The goal for the overhead of svc-pg, as a multiple of that of triggers that insert constants into the log."""
OPERATIONS: Final = {
    "INSERT": "insert into account select * from source where id = ?",
    "UPDATE": "update account set status = 'closed', credit = credit + 1 where id = ?",
    "no-op UPDATE": "update account set status = 'closed' where id = ?",
    "DELETE": "delete from account where id = ?",
}
_COLUMNS: Final = (
    "id integer primary key, owner integer, email text unique, credit numeric(12, 2), status text, settings json,"
    " created_at text, updated_at text, is_active boolean, notes text"
)
_NAMES: Final = tuple(part.split()[0] for part in _COLUMNS.replace("(12, 2)", "").split(", "))
_SOURCE: Final = """
with n (id) as (select 1 union all select id + 1 from n where id < ?)
insert into source select id, 7, 'user' || id || '@shop.example', 12.5, 'active', '{"lang": "de", "n": [1, null]}',
    '2026-01-02 03:04:05', '2026-01-02 03:04:05', true, 'a note of some length, as people write them' from n
"""
_ENRICH: Final = [
    {"operation": "UPDATE", "label": "closed", "severity": "high", "when": {"changed": "status"}},
    {"label": "large", "when": {"after": {"credit": {"gt": 10000}}}},
    {"label": "changed", "severity": "low", "description": "{actor_id} changed {before[email]}"},
]


def _nothing(conn: sqlite3.Connection) -> None:
    """No triggers."""


def _equal(conn: sqlite3.Connection) -> None:
    """Triggers that write the same columns into the same log, and compute nothing but the snapshots."""
    schema.install(conn, config())
    for operation, before, after in (("insert", "", "new"), ("update", "old", "new"), ("delete", "old", "")):
        row = after or before
        before_image, after_image = (_image(each) for each in (before, after))
        conn.execute(
            f"""create trigger by_hand_{operation} after {operation} on account begin
                insert into svc_audit_logs (table_name, operation, record_id, actor_id, tenant_id, context, before_data,
                    after_data, changed_fields, label, severity)
                values ('main.account', '{operation.upper()}', {row}.id, 'amy', 't1', '{{}}', {before_image},
                    {after_image}, '["status"]', 'changed', 'low'); end"""
        )


def _image(row: str) -> str:
    pairs = ", ".join(f"'{name}', {row}.{name}" for name in _NAMES)
    return f"json_object({pairs})" if row else "null"


def _svc(conn: sqlite3.Connection, **rules: Any) -> None:
    schema.install(conn, config({"name": "account"} | rules))
    with_audit(conn)


def _peer(module: str, function: str) -> Callable[[sqlite3.Connection], None]:
    def install(conn: sqlite3.Connection) -> None:
        getattr(importlib.import_module(module), function)(conn, "account")

    return install


CANDIDATES: Final[Mapping[str, Callable[[sqlite3.Connection], None]]] = {
    NO_AUDIT: _nothing,
    EQUAL: _equal,
    "sqlite-history": _peer("sqlite_history", "configure_history"),
    "sqlite-chronicle": _peer("sqlite_chronicle", "enable_chronicle"),
    SVC: _svc,
    RULES: lambda conn: _svc(conn, redact={"notes": "remove"}, enrich=_ENRICH),
}


def document(*, size: int, rounds: int) -> dict[str, Any]:
    """Microseconds of CPU a row, the least of all rounds, since noise only adds; and the ratios to the goal."""
    best: dict[str, dict[str, float]] = {}
    missing: set[str] = set()
    with words.status("measuring") as status:
        for number in range(rounds):
            for name, install in CANDIDATES.items():
                status.update(f"round {number + 1} of {rounds}: {name}")
                try:
                    found = _visit(install, size)
                except ModuleNotFoundError as error:
                    missing.add(f"without {name}: {error}")
                    continue
                known = best.setdefault(name, found)
                best[name] = {operation: min(known[operation], cost) for operation, cost in found.items()}
    for text in sorted(missing):
        words.print(text)
    return {
        "sqlite": sqlite3.sqlite_version,
        "goal": GOAL,
        "microseconds": best,
        "ratios": {name: _ratios(best, name) for name in (SVC, RULES)},
    }


def _ratios(best: Mapping[str, Mapping[str, float]], name: str) -> dict[str, float]:
    """The overheads, as multiples of that of the hand-written triggers."""
    return {
        operation: (best[name][operation] - nothing) / (best[EQUAL][operation] - nothing)
        for operation, nothing in best[NO_AUDIT].items()
    }


def _visit(install: Callable[[sqlite3.Connection], None], size: int) -> dict[str, float]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.execute(f"create table account ({_COLUMNS})")
        conn.execute(f"create table source ({_COLUMNS})")
        conn.execute(_SOURCE, (size,))
        install(conn)
        rows = [(number,) for number in range(1, size + 1)]
        found = {}
        with audit.acting("amy", tenant="t1"):
            for operation, statement in OPERATIONS.items():
                conn.execute("begin")
                start = time.process_time()
                conn.executemany(statement, rows)
                found[operation] = (time.process_time() - start) / size * 1e6
                conn.execute("commit")
        return found


def show(found: Mapping[str, Any]) -> None:
    """A table for people."""
    table = Table(title=f"SQLite {found['sqlite']}: microseconds of CPU a row; in brackets, times what {EQUAL} adds")
    table.add_column("")
    for operation in OPERATIONS:
        table.add_column(operation, justify="right")
    for name, costs in found["microseconds"].items():
        ratios = found["ratios"].get(name, {})
        cells = [f"{costs[each]:.1f}" + (f" ({ratios[each]:.2f})" if ratios else "") for each in OPERATIONS]
        table.add_row(name, *cells)
    output().print(table)
    output().print(f"Goal: at most {found['goal']:.1f} times, and a no-op UPDATE below that of {EQUAL}.")
