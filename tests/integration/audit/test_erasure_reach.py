"""An erasure reaches all that shows a person under other names, and nothing that only says so."""

from collections.abc import Iterator
from typing import Any, cast

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.errors import AppendOnlyError, ConfigError, translating
from svc_pg.query import scalar
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit

DDL = """
create table customer (id int primary key, name text);
create table orders (id int primary key, customer_id int, address text);
create table member (mail text primary key, name text);
"""
CONFIG = Config.model_validate(
    {
        "audit": {
            "tables": [{"name": name} for name in ("customer", "orders", "member")],
            "erasure": {"customer": ["orders.customer_id"]},
        }
    }
)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, DDL, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into customer values (5, 'Bob'), (6, 'Ann')")
        yield conn


def test_an_entry_whose_context_names_an_erasure_stays(db: psycopg.Connection[Any]) -> None:
    audit.erase(db, "customer", 5)
    erasure = scalar(db, "select max(id) from svc.audit_logs where label = 'audit log erased'")
    with db.transaction(), audit.actor(db, "user:mallory", context={"erasure": str(erasure)}):
        db.execute("insert into orders values (7, 6, 'Oak Road')")
    assert audit.erase(db, "customer", 5).tables == {}
    [entry] = audit.query().resource("orders").list(db).data
    assert not entry.is_erased


def test_lifted_holds_forget_the_person_and_others_stay(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into member values ('bob@example.com', 'Bob'), ('ann@example.com', 'Ann')")
    db.execute("insert into orders values (8, 5, 'Elm Street'), (9, 6, 'Oak Road')")
    held: list[tuple[str, object]] = [
        ("member", "bob@example.com"),
        ("orders", 8),
        ("member", "ann@example.com"),
        ("orders", None),
    ]
    for table, record in held:
        audit.hold(db, table, record, reason=f"case of {record}")
        audit.lift_hold(db, table, record, reason=f"closed for {record}")
    planned = audit.erase(db, "member", "bob@example.com", dry_run=True)
    assert audit.erase(db, "member", "bob@example.com") == planned
    assert planned.tables == {"public.member": 1, "svc.audit_holds": 2}
    assert audit.erase(db, "customer", 5).tables["svc.audit_holds"] == 2
    key = scalar(db, "select svc.audit_erased_key('bob@example.com')")
    holds = reversed(audit.holds(lifted=True).list(db).data)
    assert [(hold.record_id, hold.reason, hold.lift_reason) for hold in holds] == [
        (key, "Erased", "Erased"),
        ("8", "Erased", "Erased"),
        ("ann@example.com", "case of ann@example.com", "closed for ann@example.com"),
        (None, "case of None", "closed for None"),
    ]
    assert scalar(db, "select count(*) from svc.audit_logs l where l::text ~ '(bob@|(of|for) 8)'") == 0
    assert audit.erase(db, "member", "bob@example.com").tables == {}
    with pytest.raises(AppendOnlyError), translating():
        db.execute("update svc.audit_holds set reason = 'another'")
    assert {found.state for found in schema.status(db, CONFIG)} == {"ok"}


def test_a_hold_placed_and_lifted_after_an_erasure_is_erased_by_the_next(db: psycopg.Connection[Any]) -> None:
    audit.erase(db, "customer", 5)
    audit.hold(db, "customer", 5, reason="case of Bob")
    assert audit.erase(db, "customer", 5).tables == {}  # it still holds
    audit.lift_hold(db, "customer", 5, reason="closed")
    assert audit.erase(db, "customer", 5).tables == {"svc.audit_holds": 2}
    [hold] = audit.holds(lifted=True).list(db).data
    assert (hold.record_id, hold.reason, hold.lift_reason) == ("5", "Erased", "Erased")


def test_the_records_of_a_renamed_table_are_erased_by_its_old_name(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into orders values (8, 5, 'Elm Street')")
    db.execute("alter table orders rename to purchase")
    renamed = CONFIG.model_dump_json().replace("orders", "purchase")
    schema.install(db, Config.model_validate_json(renamed), prune=True)
    db.execute("insert into purchase values (9, 5, 'Elm Street')")
    assert audit.erase(db, "customer", 5).tables == {"public.customer": 1, "public.purchase": 1}
    assert audit.erase(db, "orders", 8).tables == {"public.orders": 1}
    assert scalar(db, "select count(*) from svc.audit_logs l where l::text ~ 'Elm'") == 0


@pytest.mark.parametrize(
    ("key", "reference", "is_refused"),
    [
        ("numeric", "integer", True),
        ("numeric(10, 2)", "numeric", True),
        ("bigint", "smallint", False),
        ("integer", "text", False),
        ("varchar(9)", "varchar(20)", False),
    ],
)
def test_a_reference_that_is_written_differently_is_refused(
    db: psycopg.Connection[Any], key: str, reference: str, *, is_refused: bool
) -> None:
    db.execute(cast(Any, f"create table parent (id {key} primary key)"))
    db.execute(cast(Any, f"create table child (id int primary key, parent_id {reference})"))
    names = ("parent", "child")
    config = Config.model_validate(
        {"audit": {"tables": [{"name": name} for name in names], "erasure": {"parent": ["child.parent_id"]}}}
    )
    if is_refused:
        with pytest.raises(ConfigError, match="writes differently"):
            schema.install(db, config)
    else:
        schema.install(db, config, prune=True)
