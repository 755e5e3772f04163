"""A hold of a record keeps all that an erasure of it would reach."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import psycopg
import pytest
from psycopg.types.json import Jsonb

from svc_pg import Config, audit, schema
from svc_pg.errors import ConflictError
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit

DDL = """
create table customer (id int primary key, name text);
create table orders (id int primary key, customer_id int);
create table order_line (id int primary key, order_id int);
create table login (customer_id int, address text);
create table region_customer (region text, number int, primary key (region, number));
create table visit (id int primary key, region text, number int);
"""
TABLES = ("customer", "orders", "order_line", "login", "region_customer", "visit")
CONFIG = Config.model_validate(
    {
        "audit": {
            "tables": [{"name": name} for name in TABLES],
            "erasure": {
                "customer": ["orders.customer_id", "login.customer_id"],
                "orders": ["order_line.order_id"],
                "region_customer": ["visit(region, number)"],
            },
        }
    }
)
OLD = timedelta(days=400)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, DDL, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        for customer in (6, 7):
            write(conn, "customer", str(customer), {"id": customer})
            write(conn, "orders", str(300 + customer), {"customer_id": customer})
            write(conn, "order_line", str(900 + customer), {"order_id": 300 + customer})
            write(conn, "login", None, {"customer_id": customer})
        conn.execute("select svc.audit_ensure_partitions()")
        yield conn


def write(
    conn: psycopg.Connection[Any], table: str, record: str | None, after: Any, before: Any = None, days: int = 500
) -> None:
    """Write an entry of long ago."""
    conn.execute(
        "insert into svc.audit_logs"
        " (table_name, table_oid, operation, record_id, before_data, after_data, changed_fields, timestamp)"
        " values (%s, 0, %s, %s, %s, %s, '{}', now() - make_interval(days => %s))",
        (
            f"public.{table}",
            "INSERT" if before is None else "UPDATE",
            record,
            None if before is None else Jsonb(before),
            Jsonb(after),
            days,
        ),
    )


def left(conn: psycopg.Connection[Any]) -> list[str]:
    """The entries of the tables, by table and key, or by the customer if there is none."""
    return [
        f"{table.removeprefix('public.')} {record}"
        for table, record in conn.execute(
            "select table_name, coalesce(record_id, after_data ->> 'customer_id') from svc.audit_logs"
            " where table_name like 'public.%' order by 1, 2"
        )
    ]


def test_what_refers_to_a_held_record_is_neither_purged_nor_erased(db: psycopg.Connection[Any]) -> None:
    number = audit.hold(db, "customer", 7, reason="case 17")
    [hold] = audit.holds().numbered(number).list(db)
    assert hold.connected == 2  # the order and its line; a login has no key
    for table, record in (("orders", 307), ("order_line", 907), ("customer", 7)):
        for wanted in (audit.holds().keeping(table, record), audit.holds(resource=table, record=record)):
            assert [found.id for found in wanted.list(db)] == [number]
        for is_planned in (True, False):
            with pytest.raises(ConflictError, match=r"because of holds: public\.customer 7\n"):
                audit.erase(db, table, record, dry_run=is_planned)
    assert audit.holds().keeping("orders", 306).list(db).data == []
    assert audit.holds(resource="orders").list(db).data == []  # only what is held itself
    assert audit.holds(resource="customer").list(db).data == audit.holds(record=7).list(db).data == [hold]
    assert audit.erase(db, "customer", 6, dry_run=True).entries == 4
    planned = audit.purge(db, OLD, dry_run=True)
    report = audit.purge(db, OLD)
    assert (
        planned.tables
        == report.tables
        == dict.fromkeys(("public.customer", "public.login", "public.order_line", "public.orders"), 1)
    )
    assert planned.held == report.held == ["public.customer 7"]
    assert left(db) == ["customer 7", "login 7", "order_line 907", "orders 307"]
    audit.lift_hold(db, "customer", 7, reason="closed")
    assert audit.holds().keeping("orders", 307).list(db).data == []
    assert audit.erase(db, "orders", 307, dry_run=True).entries == 2
    report = audit.purge(db, OLD)
    assert (report.held, len(report.partitions), list(report.partition_entries.values()), left(db)) == ([], 1, [4], [])


def test_what_refers_to_a_held_record_later_is_kept_too(db: psycopg.Connection[Any]) -> None:
    audit.hold(db, "customer", 7, reason="case 17")
    write(db, "orders", "306", {"customer_id": 7}, {"customer_id": 6}, days=480)  # which was another's before
    assert audit.purge(db, OLD).tables == {"public.customer": 1, "public.login": 1}
    assert left(db) == [
        "customer 7",
        "login 7",
        "order_line 906",
        "order_line 907",
        "orders 306",
        "orders 306",
        "orders 307",
    ]
    write(db, "orders", "308", {"customer_id": 7}, days=1)
    with pytest.raises(ConflictError, match=r"public\.customer 7"):
        audit.erase(db, "orders", 308)


def test_entries_are_not_removed_before_a_hold_is_followed(db: psycopg.Connection[Any]) -> None:
    audit.hold(db, "customer", 7, reason="case 17")
    db.execute("truncate svc.audit_held_records")  # as after a restore without it
    [part] = {row[0] for row in db.execute("select tableoid from svc.audit_logs where record_id = '307'")}
    db.execute("select svc.audit_purge_entries(%s, null, null, now(), '{}', '{}', 100)", [part])
    assert left(db) == ["customer 7", "login 7", "order_line 907", "orders 307"]


def test_a_record_that_refers_to_another_is_held_alone(db: psycopg.Connection[Any]) -> None:
    audit.hold(db, "orders", 307, reason="case 18")
    with pytest.raises(ConflictError, match=r"because of holds: public\.orders 307\n"):
        audit.erase(db, "customer", 7)  # which would reach it
    audit.purge(db, OLD)
    assert left(db) == ["order_line 907", "orders 307"]


def test_keys_of_several_columns_are_followed(db: psycopg.Connection[Any]) -> None:
    for number in (1, 2):
        write(db, "region_customer", f'["n", {number}]', {"region": "n", "number": number})
        write(db, "visit", str(number), {"region": "n", "number": number})
    audit.hold(db, "region_customer", ("n", 2), reason="case 19")
    audit.purge(db, OLD)
    assert left(db) == ['region_customer ["n", 2]', "visit 2"]


def test_renamed_tables_are_followed(db: psycopg.Connection[Any]) -> None:
    for table, name in (("customer", "client"), ("orders", "purchase")):
        db.execute(cast(Any, f"alter table {table} rename to {name}"))
    text = CONFIG.model_dump_json(exclude_unset=True).replace("customer", "client").replace("orders", "purchase")
    text = text.replace("client_id", "customer_id").replace("region_client", "region_customer")
    schema.install(db, Config.model_validate_json(text), prune=True)
    write(db, "client", "7", {"id": 7})
    write(db, "purchase", "309", {"customer_id": 7})
    audit.hold(db, "client", 7, reason="case 21")
    with pytest.raises(ConflictError, match=r"public\.client 7\n"):
        audit.erase(db, "purchase", 309)
    assert audit.purge(db, OLD).held == ["public.client 7"]
    assert left(db) == [
        "client 7", "customer 7", "login 7", "order_line 907", "orders 307", "purchase 309"
    ]  # fmt: skip


def test_a_hold_of_a_table_keeps_that_table_alone(db: psycopg.Connection[Any]) -> None:
    audit.hold(db, "customer", reason="case 20")
    audit.purge(db, OLD)
    assert left(db) == ["customer 6", "customer 7"]
