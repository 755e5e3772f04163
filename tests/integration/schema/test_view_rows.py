"""The rows of the views of svc."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.rows import dict_row

from svc_pg import audit, schema
from svc_pg.audit.log.export_fields import FIELDS
from svc_pg.database.query import scalar
from tests.support.postgres import copied
from tests.support.queue import add_due, add_endpoints
from tests.support.tables import audited, create_and_audit


def records(conn: psycopg.Connection[Any], text: LiteralString) -> list[dict[str, Any]]:
    return conn.cursor(row_factory=dict_row).execute(text).fetchall()


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


@pytest.fixture(scope="module")
def customers(maintenance: psycopg.Connection[Any], postgres: str, template: str) -> Iterator[str]:
    """A database with an audited table, in which no test commits."""
    config = audited("customer", redact=["card"])
    with copied(maintenance, postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table customer (id int primary key, name text, card text)", config)
        yield conninfo


@pytest.fixture
def shop(customers: str) -> Iterator[psycopg.Connection[Any]]:
    """A customer that was made, changed and deleted, by alice."""
    with psycopg.connect(customers) as conn:
        conn.execute(
            "select set_config('svc.actor_id', 'alice', false), set_config('svc.context', '{\"r\": 1}', false)"
        )
        conn.execute("insert into customer values (1, 'Ann', '4111')")
        conn.execute("update customer set name = 'Bob', card = '4222'")
        conn.execute("delete from customer")
        yield conn
        conn.rollback()


def test_the_log_is_exported_in_the_names_of_the_api(shop: psycopg.Connection[Any]) -> None:
    found = records(
        shop, "select * from svc.audit_log_export where \"tableName\" = 'public.customer' order by entry_id"
    )
    entries = audit.query().resource("customer").order("oldest").list(shop).data
    assert [list(row) for row in found] == [[*FIELDS, "entry_id", "recorded_at"]] * 3
    for row, entry in zip(found, entries, strict=True):
        assert row["timestamp"] == entry.timestamp.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert (row["id"], row["entry_id"], row["recorded_at"]) == (entry.id, int(entry.id), entry.timestamp)
        assert (row["operation"], row["recordId"], row["actorId"]) == (entry.operation, "1", "alice")
        assert (row["context"], row["changedFields"]) == ({"r": 1}, entry.changed_fields)
        assert row["beforeData"] == (entry.before_data and entry.before_data.value)


def test_a_row_of_the_export_is_the_entry_as_the_export_command_writes_it(shop: psycopg.Connection[Any]) -> None:
    columns = ", ".join(f'{value} as "{name}"' for name, value in FIELDS.items())
    both = """select (select jsonb_agg(to_jsonb(e) - '{entry_id,recorded_at}'::text[] order by e.entry_id)
                        from svc.audit_log_export e) =
                     (select jsonb_agg(to_jsonb(x) order by x.id::bigint)
                        from (select COLUMNS from svc.audit_logs) x)"""
    assert scalar(shop, both.replace("COLUMNS", columns))


def test_a_change_has_a_row_for_each_field(shop: psycopg.Connection[Any]) -> None:
    found = shop.execute(
        "select operation, actor_id, record_id, field, before, after from svc.audit_changes"
        " where table_name = 'public.customer' order by entry_id, field"
    ).fetchall()
    assert found == [
        ("INSERT", "alice", "1", "id", None, 1),
        ("INSERT", "alice", "1", "name", None, "Ann"),
        ("UPDATE", "alice", "1", "card", None, None),
        ("UPDATE", "alice", "1", "name", "Ann", "Bob"),
        ("DELETE", "alice", "1", "id", 1, None),
        ("DELETE", "alice", "1", "name", "Bob", None),
    ]


def test_what_was_null_before_is_told_from_what_was_not_there(shop: psycopg.Connection[Any]) -> None:
    shop.execute("insert into customer values (2, null)")
    shop.execute("update customer set name = 'Cid' where id = 2")
    found = shop.execute(
        "select operation, before::text, after::text from svc.audit_changes"
        " where record_id = '2' and field = 'name' order by entry_id"
    ).fetchall()
    assert found == [("INSERT", None, "null"), ("UPDATE", "null", '"Cid"')]


@pytest.mark.parametrize("data", ["[1, 2]", '"text"', "1", "null", "{}"])
def test_an_entry_about_anything_has_no_fields_and_breaks_nothing(shop: psycopg.Connection[Any], data: str) -> None:
    shop.execute("select svc.capture_log('files', 'DELETE', before_data => %s)", (data,))
    shop.execute("truncate customer")
    assert scalar(shop, "select count(*) from svc.audit_changes where table_name = 'files'") == 0
    assert scalar(shop, "select count(*) from svc.audit_changes where operation = 'TRUNCATE'") == 0


def test_snapshots_are_no_changes(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table old (id int primary key); insert into old values (1)")
        conn.commit()
        schema.install(conn, audited("old"))
        assert schema.backfill(conn, audited("old"))["public.old"] == 1
        assert scalar(conn, "select count(*) from svc.audit_changes where table_name = 'public.old'") == 0
        assert scalar(conn, "select sum(entries) from svc.audit_activity_daily where table_name = 'public.old'") == 1


def test_the_activity_of_a_day_counts_each_entry_once(shop: psycopg.Connection[Any]) -> None:
    shop.execute("insert into customer select n, 'x' from generate_series(1, 5) n")
    log = """
        insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, actor_id) overriding system value
        values (%s, 'public.customer', 0, 'UPDATE', %s)"""
    for moment, actor in (
        ("2026-01-31T23:59:59.999999Z", "bob"),
        ("2026-02-01T00:00:00Z", "bob"),
        ("2026-02-01T12:00:00Z", "bob"),
        ("2026-02-01T12:00:00Z", None),
    ):
        shop.execute(log, (moment, actor))
    shop.execute("set local timezone = 'Pacific/Auckland'")
    found = shop.execute(
        "select day::text, operation, actor_id, entries from svc.audit_activity_daily"
        " where table_name = 'public.customer' order by day, operation, actor_id"
    ).fetchall()
    today = str(datetime.now(UTC).date())
    assert found[:3] == [
        ("2026-01-31", "UPDATE", "bob", 1),
        ("2026-02-01", "UPDATE", "bob", 2),
        ("2026-02-01", "UPDATE", None, 1),
    ]
    assert {row[1:] for row in found[3:] if row[0] == today} == {
        ("INSERT", "alice", 6), ("UPDATE", "alice", 1), ("DELETE", "alice", 1),
    }  # fmt: skip
    total = "select sum(entries) = (select count(*) from svc.audit_logs) from svc.audit_activity_daily"
    assert scalar(shop, total)


def test_activity_of_an_empty_log_is_empty(db: psycopg.Connection[Any]) -> None:
    assert records(db, "select * from svc.audit_activity_daily") == []


def test_deliveries_are_exported_in_the_names_of_the_specification(db: psycopg.Connection[Any]) -> None:
    [endpoint] = add_endpoints(db, 1)
    add_due(db, [endpoint], 1)
    [row] = records(db, "select * from svc.webhook_delivery_export")
    [stored] = records(db, "select * from svc.webhook_deliveries")
    assert list(row) == [
        "id", "messageId", "endpointId", "eventName", "status", "attempts", "maxAttempts", "createdAt", "updatedAt",
        "nextAttemptAt", "finishedAt", "lastStatusCode", "lastError", "failure",
    ]  # fmt: skip
    assert (row["id"], row["endpointId"], row["eventName"]) == (stored["id"], endpoint, "none")
    assert (row["status"], row["attempts"], row["maxAttempts"]) == ("pending", 0, 5)
    assert row["createdAt"] == stored["created_at"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert row["finishedAt"] is None


@pytest.mark.parametrize(
    ("status", "streak", "breaker", "health"),
    [
        ("active", 0, None, "healthy"),
        ("active", 3, None, "failing"),
        ("active", 10, timedelta(hours=1), "broken"),
        ("active", 10, timedelta(hours=-1), "failing"),
        ("paused", 10, timedelta(hours=1), "paused"),
        ("disabled", 0, None, "disabled"),
    ],
)
def test_the_health_of_an_endpoint_is_a_word(
    db: psycopg.Connection[Any], status: str, streak: int, breaker: timedelta | None, health: str
) -> None:
    [endpoint] = add_endpoints(db, 1)
    db.execute(
        "update svc.webhook_endpoints set status = %(s)s, disabled_reason = case %(s)s when 'disabled' then 'x' end",
        {"s": status},
    )
    db.execute(
        "update svc.webhook_endpoint_state set failure_streak = %(n)s::int,"
        " failing_since = case when %(n)s::int > 0 then now() end, breaker_until = now() + %(b)s::interval",
        {"n": streak, "b": breaker},
    )
    [row] = records(db, "select * from svc.webhook_endpoint_health")
    assert (row["endpoint_id"], row["health"], row["failure_streak"]) == (endpoint, health, streak)


def test_what_is_under_way_and_waits_is_told_of_each_endpoint(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        busy, idle = add_endpoints(conn, 2)
        add_due(conn, [busy], 10)
        assert conn.execute("select * from svc.webhook_claim('w', 3)").rowcount == 3
        found = {row["endpoint_id"]: row for row in records(conn, "select * from svc.webhook_endpoint_health")}
        first = scalar(conn, "select min(next_attempt_at) from svc.webhook_deliveries")
    assert (found[busy]["in_flight"], found[busy]["next_attempt_at"]) == (3, first)
    assert (found[idle]["in_flight"], found[idle]["next_attempt_at"]) == (0, None)
