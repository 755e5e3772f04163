"""An erasure reaches all that shows a person under other names, and nothing that only says so."""

from collections.abc import Iterator
from typing import Any, cast

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.database.sqlstates import translating
from svc_pg.errors import AppendOnlyError, ConfigError, ConflictError, NotFoundError
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
    for table, record in (("member", "bob@example.com"), ("orders", 8), ("member", "ann@example.com")):
        audit.hold(db, table, record, reason=f"case of {record}")
        audit.lift_hold(db, table, record, reason=f"closed for {record}")
    audit.hold(db, "orders", reason="case of all")
    audit.lift_hold(db, "orders", reason="closed for all")
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
        (None, "case of all", "closed for all"),
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


def installed_as(db: psycopg.Connection[Any], *, orders: str = "orders", also: str = "") -> None:
    """Install the configuration with another name of ``orders``, and with more tables."""
    names = ["customer", orders, "member", *also.split()]
    tables = {"tables": [{"name": name} for name in names], "erasure": {"customer": [f"{orders}.customer_id"]}}
    schema.install(db, Config.model_validate({"audit": tables}), prune=True)


def addresses(db: psycopg.Connection[Any]) -> set[str]:
    """The streets that entries show."""
    found = db.execute("select distinct (regexp_matches(l::text, '[A-Z][a-z]+ Street', 'g'))[1] from svc.audit_logs l")
    return {street for (street,) in found}


def test_an_erasure_follows_the_names_of_a_table_that_was_renamed(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into orders values (8, 5, 'Elm Street'), (10, 6, 'Fir Street')")
    db.execute("alter table orders rename to purchase; update purchase set customer_id = 5 where id = 10")
    installed_as(db, orders="purchase")
    db.execute("insert into purchase values (9, 5, 'Elm Street')")
    db.execute("create schema shop; alter table purchase set schema shop")
    installed_as(db, orders="shop.purchase")
    db.execute("update shop.purchase set address = 'Ash Street' where id = 8")
    expected = {"public.customer": 1, "public.orders": 2, "public.purchase": 1, "shop.purchase": 1}
    assert audit.erase(db, "customer", 5, dry_run=True).tables == expected
    assert audit.erase(db, "customer", 5).tables == expected
    assert addresses(db) == {"Fir Street"}  # the order as it was Ann's
    assert audit.erase(db, "orders", 10).tables == {"public.orders": 1}


def test_an_erasure_leaves_another_table_that_took_over_the_name(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into orders values (8, 5, 'Elm Street')")
    db.execute("alter table orders rename to purchase; create table orders (like purchase including all)")
    installed_as(db, orders="purchase", also="orders")
    db.execute("insert into orders values (8, 5, 'Oak Street')")
    assert audit.erase(db, "orders", 8, dry_run=True).entries == 1
    assert audit.erase(db, "customer", 5).tables == {"public.customer": 1, "public.orders": 1}
    assert addresses(db) == {"Oak Street"}
    db.execute("insert into purchase values (11, 6, 'Fir Street')")
    db.execute("alter table purchase rename to sale; alter table orders rename to purchase")
    installed_as(db, orders="sale", also="purchase")
    db.execute("insert into purchase values (11, 6, 'Bay Street')")
    assert audit.erase(db, "sale", 11).tables == {"public.purchase": 1}
    assert audit.erase(db, "purchase", 8).tables == {"public.orders": 1}
    assert addresses(db) == {"Bay Street"}


def test_a_renamed_table_that_is_gone_is_followed_by_either_name(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into orders values (8, 6, 'Elm Street'), (9, 6, 'Fir Street')")
    db.execute("alter table orders rename to purchase")
    installed_as(db, orders="purchase")
    db.execute("update purchase set address = 'Ash Street'")
    db.execute("drop table purchase")
    assert audit.erase(db, "purchase", 8).tables == {"public.orders": 1, "public.purchase": 1}
    assert audit.erase(db, "orders", 9).tables == {"public.orders": 1, "public.purchase": 1}
    assert addresses(db) == set()


def test_the_partitions_of_a_renamed_table_are_told_from_those_of_its_successor(db: psycopg.Connection[Any]) -> None:
    partitioned = "create table visit (id int primary key, address text) partition by range (id);"
    partition = "create table {0}_1 partition of {0} for values from (1) to (100)"
    db.execute(cast(Any, partitioned + partition.format("visit")))
    installed_as(db, also="visit")
    db.execute("insert into visit values (8, 'Elm Street')")
    db.execute("alter table visit rename to stay; alter table visit_1 rename to stay_1")
    db.execute(cast(Any, partitioned + partition.format("visit")))
    installed_as(db, also="visit stay")
    db.execute("insert into visit values (8, 'Oak Street')")
    assert audit.erase(db, "stay", 8).tables == {"public.visit": 1}
    assert addresses(db) == {"Oak Street"}


def test_a_hold_of_a_renamed_table_keeps_the_entries_under_its_old_name(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into orders values (8, 5, 'Elm Street')")
    db.execute("alter table orders rename to purchase")
    installed_as(db, orders="purchase")
    db.execute("insert into purchase values (9, 6, 'Fir Street')")
    audit.hold(db, "purchase", reason="tax")
    for table, record in (("purchase", 8), ("customer", 5)):
        with pytest.raises(ConflictError, match=r"because of holds: public\.purchase"):
            audit.erase(db, table, record)
    assert addresses(db) == {"Elm Street", "Fir Street"}


def test_names_from_before_a_restore_are_not_followed(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into orders values (8, 6, 'Elm Street')")
    db.execute("alter table orders rename to purchase")
    installed_as(db, orders="purchase")
    db.execute("delete from svc.audit_epoch; select svc.audit_begin_epoch()")  # oids may be those of other tables there
    with pytest.raises(NotFoundError):
        audit.erase(db, "purchase", 8)
    assert audit.erase(db, "orders", 8).tables == {"public.orders": 1}


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
