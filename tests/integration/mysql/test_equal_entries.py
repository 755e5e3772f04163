"""The same random business on PostgreSQL, SQLite, MariaDB and MySQL leaves equal entries."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.integrations.sqlite import with_audit
from tests.support import mysql
from tests.support.postgres import new_database

RULES: Final = {
    "redact": {"password_hash": "remove", "card_number": "last4", "photo": "mask"},
    "enrich": [
        {
            "operation": "UPDATE",
            "label": "customer edited",
            "severity": "medium",
            "compliance": ["gdpr", "soc2"],
            "description": "{actor_id} changed email from {before[email]} to {after[email]}",
            "when": {"changed": "email", "not": {"after": {"status": ["test", "demo"]}}},
        },
        {"label": "large credit", "severity": "high", "when": {"after": {"credit": {"gt": 10000}}}},
        {
            "label": "again",
            "when": {"any": [{"before": {"is_active": True}}, {"after": {"settings": {"is_null": True}}}]},
        },
        {
            "operation": "DELETE",
            "label": "customer removed",
            "severity": "critical",
            "description": '{actor_id} removed it\'s "{before[email]}" ({before[is_active]}, {before[credit]})',
            "when": {"before": {"joined_at": {"ge": "2026-01-01"}}},
        },
        {"label": "customer changed", "severity": "low", "when": {"changed": ["status", "card_number"]}},
    ],
}
LEFT_OUT: Final = {
    "ignore": ["joined_at", "password_hash"],
    "record_when": {
        "any": [
            {"changed": ["email", "credit", "settings", "password_hash"]},
            {"before": {"credit": {"gt": 100}}, "not": {"after": {"is_active": True}}},
            {"after": {"status": ["a@x", "demo"], "settings": {"is_null": False}}},
            {"before": {"card_number": {"is_null": True}}, "after": {"photo": {"is_null": True}}},
        ]
    },
}
AUDITED: Final = {"customer": RULES, "prospect": RULES | LEFT_OUT}
"""Equal tables, each with its rules."""
KEYED: Final = "primary key (branch, number)"
TABLES: Final = {
    "postgresql": f"""create table {{name}} (branch text, number bigint, email text, status text,
        credit numeric(12,2), is_active boolean, settings jsonb, photo bytea, joined_at timestamp, password_hash text,
        card_number text, {KEYED})""",
    "sqlite": f"""create table {{name}} (branch text not null, number bigint not null, email text collate nocase,
        status text, credit numeric(12,2), is_active boolean, settings json, photo blob, joined_at text,
        password_hash text, card_number text, {KEYED})""",
    "mysql": f"""create table {{name}} (branch varchar(20), number bigint, email varchar(200), status varchar(20),
        credit decimal(12,2), is_active boolean, settings json, photo longblob, joined_at datetime(6),
        password_hash text, card_number varchar(40), {KEYED})""",
}
COLUMNS: Final = (
    *("branch", "number", "email", "status", "credit", "is_active", "settings", "photo", "joined_at", "password_hash"),
    "card_number",
)
FIELDS: Final = (
    *(
        "operation",
        "record_id",
        "moved_from",
        "actor_id",
        "tenant_id",
        "context",
        "before_data",
        "after_data",
        "changed_fields",
    ),
    *("label", "severity", "compliance", "description", "redacted_fields"),
)
JSON: Final = ("context", "before_data", "after_data", "changed_fields", "compliance", "redacted_fields")
TEXTS: Final = st.sampled_from([None, "", "a@x", "A@x", "b\"'\\é€😀%s", "demo", "line\nbreak"])
VALUES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "email": TEXTS,
    "status": TEXTS,
    "credit": st.sampled_from([None, "10.50", "20000.00", "-0.01"]),
    "is_active": st.sampled_from([None, True, False]),
    "settings": st.sampled_from([None, '{"a": 1, "n": [1, null]}', '{"a": "1"}', '"x"', "[]", "true"]),
    "photo": st.sampled_from([None, b"", b"\0\xff"]),
    "joined_at": st.sampled_from([None, "2026-01-02T03:04:05.5", "2025-01-02T00:00:00"]),
    "password_hash": TEXTS,
    "card_number": st.sampled_from([None, "123", "4111111111111111"]),
}
WHO: Final = st.sampled_from([None, "amy", 'b"ob\\'])
BRANCHES: Final = st.sampled_from(["n", "s\"'"])
NUMBERS: Final = st.integers(1, 3)
INSERTS: Final = st.tuples(st.just("insert"), WHO, BRANCHES, NUMBERS, st.fixed_dictionaries(VALUES))
UPDATES: Final = st.tuples(st.just("update"), WHO, BRANCHES, NUMBERS, st.fixed_dictionaries({}, optional=VALUES))
MOVES: Final = st.tuples(st.just("move"), WHO, BRANCHES, NUMBERS, st.fixed_dictionaries({"number": NUMBERS}))
DELETES: Final[st.SearchStrategy[Any]] = st.tuples(st.just("delete"), WHO, BRANCHES, NUMBERS, st.just({}))
BUSINESS: Final = st.lists(st.one_of(INSERTS, UPDATES, MOVES, DELETES), min_size=2, max_size=12)
Step = tuple[str, str | None, str, int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """A database with the table: its connection, its log, and how statements are run there."""

    conn: Any
    log: str
    hole: str
    transaction: Callable[[], Any]


def config() -> Config:
    tables = [AuditedTable.model_validate({"name": name} | rules) for name, rules in AUDITED.items()]
    return Config(audit=AuditConfig(tables=tables))


def create(cursor: Any, database: str) -> None:
    for name in AUDITED:
        cursor.execute(TABLES[database].format(name=name))


@pytest.fixture(scope="module")
def reference(postgres: str) -> Iterator[Place]:
    with new_database(postgres) as conninfo, psycopg.connect(conninfo) as conn:
        create(conn.cursor(), "postgresql")
        conn.commit()
        schema.install(conn, config())
        yield Place(conn, "svc.audit_logs", "%s", conn.transaction)


@pytest.fixture(scope="module", params=["sqlite", *mysql.KINDS])
def place(
    request: pytest.FixtureRequest, mysql_servers: mysql.Find, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    if request.param == "sqlite":
        path: Path = tmp_path_factory.mktemp("equal") / "shop.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            create(file, "sqlite")
            schema.install(file, config())
            yield Place(with_audit(file), "svc_audit_logs", "?", nullcontext)
        return
    server = mysql.found(mysql_servers, request.param)
    with server.new_database() as name, server.connect(name) as conn:
        with conn.cursor() as cursor:
            create(cursor, "mysql")
        schema.install(conn, config())
        with conn.cursor() as cursor:
            cursor.execute("set time_zone = '+05:30'")
        yield Place(conn, "svc.audit_logs", "%s", nullcontext)


@pytest.mark.parametrize("table", AUDITED)
@given(business=BUSINESS)
def test_entries_are_those_of_postgresql(reference: Place, place: Place, table: str, business: list[Step]) -> None:
    expected, found = entries_of(reference, table, business), entries_of(place, table, business)
    assert found == expected


def entries_of(place: Place, table: str, business: Sequence[Step]) -> list[dict[str, Any]]:
    """Do the business in an empty table, and return its entries, as values."""
    do(place, None, f"delete from {table}", [])
    [(last,)] = do(place, None, f"select coalesce(max(id), 0) from {place.log}", [])
    known: set[tuple[str, int]] = set()
    for step in business:
        take(place, table, known, step)
    fields = ", ".join(FIELDS)
    found = do(place, None, f"select {fields} from {place.log} where id > {place.hole} order by id", [last])
    return [entry(dict(zip(FIELDS, row, strict=True))) for row in found]


def entry(row: dict[str, Any]) -> dict[str, Any]:
    """An entry as values, whether a driver parses JSON or not."""
    return row | {
        name: plain(json.loads(row[name], parse_float=Decimal) if isinstance(row[name], str) else row[name])
        for name in JSON
    }


def take(place: Place, table: str, known: set[tuple[str, int]], step: Step) -> None:
    """One step, if the key that it needs is there or is free."""
    kind, who, branch, number, values = step
    key = (branch, number)
    if (kind == "insert") == (key in known):
        return
    where = f"where branch = {place.hole} and number = {place.hole}"
    if kind == "insert":
        known.add(key)
        row = {"branch": branch, "number": number} | values
        holes = ", ".join([place.hole] * len(COLUMNS))
        do(place, who, f"insert into {table} ({', '.join(COLUMNS)}) values ({holes})", [row[name] for name in COLUMNS])
    elif kind == "delete":
        known.remove(key)
        do(place, who, f"delete from {table} {where}", [*key])
    elif values and (kind == "update" or (branch, values["number"]) not in known):
        if kind == "move":
            known.remove(key)
            known.add((branch, values["number"]))
        assignments = ", ".join(f"{name} = {place.hole}" for name in values)
        do(place, who, f"update {table} set {assignments} {where}", [*values.values(), *key])


def do(place: Place, who: str | None, statement: str, params: Sequence[Any]) -> list[Any]:
    """Run a statement in a transaction of its own, as somebody or nobody."""
    named = audit.actor(place.conn, who, tenant="t-1", context={"n": [1, None]}) if who else nullcontext()
    with place.transaction(), named:
        cursor = place.conn.cursor()
        cursor.execute(statement, params)
        found = list(cursor.fetchall()) if cursor.description else []
        cursor.close()
        return found


def plain(value: Any) -> Any:
    """A value for comparison: numbers count by their value."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return Decimal(str(value)).normalize()
    return value
