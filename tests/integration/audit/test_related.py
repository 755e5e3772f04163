"""A record and the rows that refer to it: their changes, as the log tells when they belonged to it."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
for name in ("customer", "orders", "line", "person", "region", "shop", "sale", "secret_order"):
    redact = {"secret_order": ["customer_id"]}.get(name, [])
    CONFIG.audit.table(f"public.{name}", redact=redact)
DDL = """
create table customer (id int primary key, number text unique, name text);
create table orders (id int primary key, customer_id int references customer, payer_id int references customer,
                     status text);
create table line (id int primary key, order_id int references orders on delete cascade, quantity int)
    partition by range (id);
create table line_1 partition of line for values from (0) to (1000000);
create table person (id int primary key, manager_id int references person, name text);
create table region (country text, code int, name text, primary key (country, code));
create table shop (id int primary key, code int, country text,
                   foreign key (country, code) references region (country, code));
create table sale (id int primary key, customer_number text references customer (number), total numeric);
create table secret_order (id int primary key, customer_id int references customer);
create table unseen (id int primary key, customer_id int references customer);
"""


def act(conn: psycopg.Connection[Any], actor: str, *statements: str, tenant: str | None = None) -> None:
    with conn.transaction(), audit.actor(conn, actor, tenant=tenant):
        for statement in statements:
            conn.execute(statement)


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            act(conn, "ann", "insert into customer values (116, 'C-116', 'Ann'), (117, 'C-117', 'Ben')")
            act(
                conn,
                "ann",
                "insert into orders values (900, 116, 117, 'new'), (901, 116, null, 'new'), (902, 117, null, 'new')",
                "insert into line values (1, 900, 1), (2, 901, 2), (3, 902, 3)",
            )
            act(conn, "ben", "update orders set status = 'paid' where id = 901")
            act(conn, "ben", "delete from orders where id = 901")
            act(conn, "cid", "update line set quantity = 5 where id = 1")
            act(conn, "cid", "update orders set customer_id = 117, payer_id = null where id = 900")
            act(conn, "cid", "update line set quantity = 6 where id = 1")
            act(conn, "dan", "insert into sale values (1, 'C-116', 9.90)", tenant="acme")
            act(conn, "dan", "insert into secret_order values (1, 116)")
            act(conn, "dan", "insert into region values ('de', 1, 'North')", "insert into shop values (1, 1, 'de')")
            act(
                conn,
                "eve",
                "insert into person values (1, null, 'a')",
                "insert into person values (2, 1, 'b'), (3, 2, 'c')",
                "update person set manager_id = 3 where id = 1",
            )
        yield conninfo


@pytest.fixture
def conn(installed: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(installed) as conn:
        yield conn


def told(history: audit.RelatedHistory) -> list[tuple[str, str | None, str]]:
    """The changes, the oldest first: table, record, operation."""
    return [(each.table.removeprefix("public."), each.record_id, each.operation) for each in history.changes[::-1]]


def test_rows_belong_for_as_long_as_their_entries_say(conn: psycopg.Connection[Any]) -> None:
    history = audit.related("customer", 116).read(conn)
    assert told(history) == [
        ("customer", "116", "INSERT"),
        ("orders", "900", "INSERT"),
        ("orders", "901", "INSERT"),
        ("line", "1", "INSERT"),
        ("line", "2", "INSERT"),
        ("orders", "901", "UPDATE"),
        ("orders", "901", "DELETE"),
        ("line", "2", "DELETE"),
        ("line", "1", "UPDATE"),
        ("orders", "900", "UPDATE"),
        ("sale", "1", "INSERT"),
    ], "the line of an order that had moved on is not of this customer"
    [moved] = [each for each in history.changes if each.leaves]
    assert (moved.record_id, moved.joins, history.actors[moved.actor].actor_id) == ("900", False, "cid")
    [joined] = [each for each in audit.related("customer", 117).read(conn).changes if each.joins]
    assert joined.record_id == "900" or joined is None
