"""plpgsql_check finds nothing in any function that can be rendered."""

import os
from typing import Any

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.database.query import scalar

REQUIRED = "SVC_TEST_REQUIRE_PLPGSQL_CHECK"

DDL = """
create extension plpgsql_check;
create table plain (id int primary key, a text, b numeric);
create table keyless (a text);
create table "Odd ""One" (id int, "a b" text, secret text, primary key ("a b", id));
create table parted (id int primary key, a text) partition by range (id);
create table parted_1 partition of parted for values from (0) to (10);
"""
RULES = [
    {
        "operation": "UPDATE",
        "label": "x",
        "severity": "high",
        "compliance": ["gdpr"],
        "description": "{actor_id} {before[a]} {after[b]}",
        "when": {"changed": "a", "after": {"b": {"gt": 1}}, "sql": "actor_id <> 'x'"},
    },
    {"operation": "*", "label": "y"},
]
CHANGE_EVENTS = [
    {"table": "plain", "operation": ["INSERT", "DELETE"], "event": "row.changed", "payload": "row", "tenant": "a"},
    {
        "table": "plain",
        "operation": "UPDATE",
        "columns": ["a"],
        "when": "after.b > before.b",
        "event": "row.changed",
        "payload": {"id": "id", "old": "before.a"},
    },
    {"table": "keyless", "operation": "INSERT", "event": "row.changed", "payload": ["a"]},
    {"table": 'public."Odd ""One"', "operation": ["INSERT", "UPDATE", "DELETE"], "event": "row.changed"},
    {"table": "parted", "operation": ["UPDATE", "DELETE"], "event": "row.changed"},
]
CHECK = """
select f.functionid::regprocedure::text, f.lineno, f.level, f.message
  from pg_proc p join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
  left join pg_trigger t on t.tgfoid = p.oid and t.tgparentid = 0
 cross join lateral plpgsql_check_function_tb(
           p.oid, coalesce(t.tgrelid, 0), extra_warnings => true, security_warnings => true,
           -- one function serves three triggers, each with other transition tables
           oldtable => case when p.proname ~ (%(with_tables)s || '|^webhook_follow_messages$') and t.oid is not null
                            then 'old_rows' end,
           newtable => case when p.proname ~ %(with_tables)s and t.oid is not null then 'new_rows' end) f
 where p.pronamespace = 'svc'::regnamespace and (p.prorettype <> 'trigger'::regtype or t.oid is not null)
"""


def prepare_check(conn: psycopg.Connection[Any]) -> None:
    """Make the tables, or skip the test if the server has no plpgsql_check."""
    if not scalar(conn, "select exists (select from pg_available_extensions where name = 'plpgsql_check')"):
        assert not os.environ.get(REQUIRED), "plpgsql_check is not installed on this server"
        pytest.skip("this PostgreSQL has no plpgsql_check")
    conn.execute(DDL)
    conn.commit()


@pytest.mark.parametrize("level", ["row", "statement"])
def test_plpgsql_check_finds_nothing(database: str, level: str) -> None:
    with psycopg.connect(database) as conn:
        prepare_check(conn)
        tables: list[dict[str, Any]] = [
            {"name": "plain", "level": level, "enrich": RULES, "max_value_bytes": 1024},
            {"name": 'public."Odd ""One"', "level": level, "redact": {"secret": "hash"}, "on_error": "warn"},
        ]
        if level == "row":
            tables += [{"name": "keyless", "columns": ["a"]}, {"name": "parted", "enrich": RULES[1:], "replica": True}]
        webhooks = {"events": {"row.changed": {}}, "on_change": CHANGE_EVENTS}
        schema.install(conn, Config.model_validate({"audit": {"tables": tables}, "webhooks": webhooks}))
        with_tables = "^change_events_" if level == "row" else "^(change_events|capture)_"
        findings = conn.execute(CHECK, {"with_tables": with_tables}).fetchall()
        assert findings == [], "\n".join(map(str, findings))


def test_no_function_of_the_audit_trail_alone_needs_webhooks(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn:
        prepare_check(conn)
        tables = [{"name": "plain", "enrich": RULES}, {"name": "keyless"}]
        schema.install(conn, Config.model_validate({"products": ["audit"], "audit": {"tables": tables}}))
        findings = conn.execute(CHECK, {"with_tables": "^$"}).fetchall()
        assert findings == [], "\n".join(map(str, findings))
