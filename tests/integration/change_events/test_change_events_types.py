"""Payloads of changes have values of types that others made as PostgreSQL prints them, and call no cast."""

from collections.abc import Iterator
from typing import Any, Final, LiteralString

import psycopg
import pytest

from svc_pg import schema
from svc_pg.database.query import scalar
from tests.support.change_events import config, sent
from tests.support.roles import execute, new_role

TYPES: Final[LiteralString] = """
create schema trap authorization {0};
grant usage on schema trap to public;
create table seen (by text);
grant insert on seen to public;
set role {0};
create type trap.mood as enum ('low', 'high');
create type trap.pair as (mood trap.mood, n integer);
create type trap.span as range (subtype = integer);
create domain trap.temper as trap.mood;
create function trap.spy(value text) returns text language plpgsql as
    'begin insert into public.seen values (current_user); return value; end';
"""
CASTS: Final[LiteralString] = """
set role {0};
create function trap.as_json(trap.mood) returns json language plpgsql as
    'begin return to_json(trap.spy(''forged'')); end';
create function trap.as_json(trap.pair) returns json language plpgsql as
    'begin return to_json(trap.spy(''forged'')); end';
create function trap.as_json(trap.span) returns json language plpgsql as
    'begin return to_json(trap.spy(''forged'')); end';
create function trap.as_text(trap.mood) returns text language plpgsql as
    'begin return trap.spy(''forged''); end';
create cast (trap.mood as json) with function trap.as_json(trap.mood);
create cast (trap.pair as json) with function trap.as_json(trap.pair);
create cast (trap.span as json) with function trap.as_json(trap.span);
create cast (trap.mood as text) with function trap.as_text(trap.mood) as implicit;
"""
ORDERS: Final[LiteralString] = """
create table orders (id trap.mood primary key, m trap.mood, t trap.temper, p trap.pair, s trap.span, list trap.mood[],
                     total numeric, secret text)
"""
ROW: Final[LiteralString] = (
    "insert into orders values ('low', 'low', 'high', '(low,1)', '[1,3)', '{low,high}', 1.10, 'x')"
)
PRINTED: Final = {
    "id": "low", "m": "low", "t": "high", "p": "(low,1)", "s": "[1,3)", "list": ["low", "high"], "total": 1.1,
}  # fmt: skip


@pytest.fixture
def db(database: str, postgres: str) -> Iterator[psycopg.Connection[Any]]:
    """A database in which mallory owns types, and nothing else."""
    with new_role(postgres) as mallory:
        execute(database, TYPES, mallory)
        execute(database, CASTS, mallory)
        with psycopg.connect(database, autocommit=True) as conn:
            yield conn
        execute(database, "drop owned by {} cascade", mallory)


def seen(db: psycopg.Connection[Any]) -> Any:
    return scalar(db, "select count(*) from seen")


@pytest.mark.parametrize("redact", [[], ["secret"]], ids=["nothing redacted", "a redacted column"])
def test_a_whole_row_has_its_values_as_they_print_and_calls_no_cast(
    db: psycopg.Connection[Any], redact: list[str]
) -> None:
    db.execute(ORDERS)
    tables = [{"name": "orders", "redact": redact}]
    schema.install(db, config({"payload": "row", "tenant": "m", "key": "id"}, tables=tables))
    expected = PRINTED | ({} if redact else {"secret": "x"})
    db.execute(ROW)
    tenants = db.execute("select tenant, key from svc.webhook_messages").fetchall()
    assert tenants == [("low", "orders:low")]
    assert sent(db) == [("order.changed", expected)]
    db.execute("insert into orders (id) values ('high')")
    nulls = dict.fromkeys(expected) | {"id": "high"}
    assert sent(db) == [("order.changed", nulls)]
    db.execute("update orders set m = 'high'")
    assert sent(db) == [("order.changed", nulls | {"m": "high"}), ("order.changed", expected | {"m": "high"})]
    db.execute("delete from orders where total = 1.10")
    assert sent(db) == [("order.changed", expected | {"m": "high"})]
    assert seen(db) == 0


def test_named_values_and_keys_are_as_they_print_and_call_no_cast(db: psycopg.Connection[Any]) -> None:
    db.execute(ORDERS)
    values = {"payload": {"mood": "m", "was": "before.m", "pair": "p", "moods": "list", "temper": "t"}}
    schema.install(db, config(values, {"event": "order.thin", "columns": ["m"], "key": "m"}))
    db.execute(ROW)
    db.execute("insert into orders (id) values ('high')")
    sent(db)
    db.execute("update orders set m = 'high' where total = 1.10")
    changed = {"mood": "high", "was": "low", "pair": "(low,1)", "moods": ["low", "high"], "temper": "high"}
    assert sent(db) == [("order.changed", changed), ("order.thin", {"id": "low"})]
    assert seen(db) == 0


@pytest.mark.parametrize("ddl", [ORDERS, "create table orders (id int primary key, note json)"])
@pytest.mark.parametrize("payload", ["row", {"id": "id"}])
def test_a_column_that_is_newer_or_of_another_type_since_calls_no_cast(
    db: psycopg.Connection[Any], ddl: LiteralString, payload: object
) -> None:
    db.execute(ddl)
    schema.install(db, config({"payload": payload}))
    db.execute("alter table orders add column later trap.mood default 'low'")
    if "note" in ddl:
        db.execute("alter table orders alter column note type trap.mood using null")
        db.execute("insert into orders values (1, 'high')")
        expected: dict[str, Any] = {"id": 1, "note": "high"}
    else:
        db.execute(ROW)
        expected = PRINTED | {"secret": "x"}
    db.execute("update orders set later = 'high'")
    expected = expected if payload == "row" else {"id": expected["id"]}
    assert sent(db) == [("order.changed", expected)] * 2
    assert seen(db) == 0


def test_columns_with_our_own_names_are_sent_too(db: psycopg.Connection[Any]) -> None:
    db.execute(
        'create table orders (id int primary key, "before" trap.mood, "after" text, v_payload text, payload int)'
    )
    schema.install(db, config({"payload": "row"}))
    db.execute("insert into orders values (1, 'low', 'a', 'v', 5)")
    assert sent(db) == [
        ("order.changed", {"id": 1, "before": "low", "after": "a", "v_payload": "v", "payload": 5}),
    ]
    db.execute("alter table orders add later trap.mood")
    db.execute("update orders set payload = 6, later = 'high'")
    assert [value["payload"] for _, value in sent(db)] == [6]
    assert seen(db) == 0


def test_a_printed_column_that_is_gone_is_left_out(db: psycopg.Connection[Any]) -> None:
    db.execute(ORDERS)
    schema.install(db, config({"payload": "row"}, tables=[{"name": "orders", "redact": ["secret"]}]))
    db.execute(ROW)
    db.execute("alter table orders drop column p")
    db.execute("update orders set m = 'high'")
    db.execute("alter table orders rename column secret to total_secret")
    db.execute("update orders set m = 'low'")
    left = {name: value for name, value in PRINTED.items() if name != "p"} | {"m": "high"}
    found = [value for _, value in sent(db)]
    assert {"id": "low", "truncated": True} in found
    assert left in found
    assert PRINTED in found
    assert seen(db) == 0
