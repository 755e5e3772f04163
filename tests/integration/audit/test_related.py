"""A record and the rows that refer to it: their changes, as the log tells when they belonged to it."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import Config, audit
from svc_pg.audit.related import naming, references, search
from svc_pg.errors import NotFoundError, UnknownTableError
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
for name in (
    *("customer", "orders", "line", "person", "region", "shop", "sale", "secret_order"),
    *("kind", "thing", "path", "stop"),
):
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
create table kind (is_big boolean, code int, primary key (is_big, code));
create table thing (id int primary key, is_big boolean, code int,
                    foreign key (is_big, code) references kind (is_big, code));
create table path (nodes int[] primary key);
create table stop (id int primary key, nodes int[] references path);
create table unseen (id int primary key, customer_id int references customer);
"""


TOLD = ("status", "quantity")


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
            act(conn, "ben", "update orders set status = 'paid' where id = 901", tenant="acme")
            act(conn, "ben", "delete from orders where id = 901")
            act(conn, "cid", "update line set quantity = 5 where id = 1")
            act(conn, "cid", "update orders set customer_id = 117, payer_id = null where id = 900")
            act(conn, "cid", "update line set quantity = 6 where id = 1")
            act(conn, "dan", "insert into sale values (1, 'C-116', 9.90)", tenant="acme")
            act(conn, "dan", "insert into secret_order values (1, 116)")
            act(conn, "dan", "insert into region values ('de', 1, 'North')", "insert into shop values (1, 1, 'de')")
            act(conn, "dan", "insert into kind values (true, 1)", "insert into thing values (1, true, 1), (2, null, 1)")
            act(conn, "dan", "insert into path values ('{1,2}')", "insert into stop values (1, '{1,2}'), (2, null)")
            act(
                conn,
                "eve",
                "insert into person values (1, null, 'a')",
                "insert into person values (2, 1, 'b'), (3, 2, 'c')",
                "update person set manager_id = 3 where id = 1",
            )
            act(conn, "eve", "insert into person values (11, null, 'a')", "insert into person values (12, 11, 'b')")
            act(conn, "eve", "update person set manager_id = 12 where id = 12")
            act(conn, "eve", "update person set name = 'c' where id = 12")
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


def test_a_row_that_came_to_refer_to_itself_belongs_no_longer(conn: psycopg.Connection[Any]) -> None:
    assert told(audit.related("person", 11).read(conn)) == [
        ("person", "11", "INSERT"),
        ("person", "12", "INSERT"),
        ("person", "12", "UPDATE"),
    ]


def test_two_columns_that_refer_to_one_record_are_one_reference(conn: psycopg.Connection[Any]) -> None:
    history = audit.related("customer", 117).read(conn)
    assert [(each.record_id, each.joins, each.leaves) for each in history.changes if each.table == "public.orders"] == [
        ("900", False, False),
        ("902", False, False),
        ("900", False, False),
    ], "it paid for 900 before that became its own"


def test_the_states_at_two_times_tell_who_belonged_then(conn: psycopg.Connection[Any]) -> None:
    changes = audit.related("customer", 116).read(conn).changes
    paid = next(
        each for each in changes if each.table == "public.orders" and each.operation == "UPDATE" and not each.leaves
    )
    history = audit.related("customer", 116).at(paid.time, "last").read(conn)
    first, last = history.states
    assert (first.time, last.time) == (paid.time, changes[0].time)

    def told_of(states: Any) -> dict[str, tuple[str, bool, Any]]:
        return {
            f"{history.records[each.record].table.removeprefix('public.')} {history.records[each.record].record_id}": (
                each.state,
                each.belongs,
                next(
                    (f.value.value and f.value.value.value for f in each.fields if f.field in ("status", "quantity")),
                    None,
                ),
            )
            for each in states.states
        }

    was, now = told_of(first), told_of(last)
    assert was["orders 901"] == ("there", True, "paid")
    assert now["orders 901"] == ("not_there", False, None)
    assert was["orders 900"] == ("there", True, "new")
    assert now["orders 900"] == ("there", False, "new")
    assert was["line 1"] == ("there", True, 1)
    assert now["line 1"] == ("there", False, 6), "the order of the line moved on"
    assert was["customer 116"][:2] == now["customer 116"][:2] == ("there", True)


def test_other_keys_than_the_first_are_found(conn: psycopg.Connection[Any]) -> None:
    assert ("shop", "1", "INSERT") in told(audit.related("region", ("de", 1)).read(conn)), "of several columns"
    assert told(audit.related("person", 1).read(conn)) == [
        ("person", "1", "INSERT"),
        ("person", "2", "INSERT"),
        ("person", "1", "UPDATE"),
    ], "itself is no row of its own"


def test_what_cannot_be_looked_at_is_told(conn: psycopg.Connection[Any]) -> None:
    tables = {each.table.removeprefix("public."): each for each in audit.related("customer", 116).read(conn).tables}
    assert tables["unseen"].reach == "not_audited"
    assert (tables["secret_order"].reach, tables["secret_order"].unnamed) == ("whole", 1), "its column is redacted"
    assert (tables["sale"].reach, tables["sale"].unnamed, tables["line"].step) == ("whole", 0, 2)
    assert all(each.step == 1 for each in audit.related("customer", 116).within(1).read(conn).tables)


def test_pages_go_on_to_the_end(conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    every = [each.entry_id for each in audit.related("customer", 116).read(conn).changes]
    wanted, found = audit.related("customer", 116).limit(2), list[str]()
    while True:
        page = wanted.read(conn)
        found += [each.entry_id for each in page.changes]
        if page.next_cursor is None:
            break
        wanted = wanted.after(page.next_cursor)
    assert found == every
    monkeypatch.setattr(search, "MOST_LOOKED_AT", 1)
    monkeypatch.setattr(search, "LEAST_LOOKED_AT", 2)
    wanted, some, rounds = audit.related("customer", 116), set[str](), 0
    while True:
        page = wanted.read(conn)
        some |= {each.entry_id for each in page.changes if each.table == "public.orders"}
        rounds += 1
        if page.next_cursor is None:
            break
        wanted = wanted.after(page.next_cursor)
    assert rounds > 2, "two entries of a table at a time"
    orders = {
        each.entry_id for each in audit.related("customer", 116).read(conn).changes if each.table == "public.orders"
    }
    assert some >= orders


def test_the_index_for_searches_by_members_finds_the_same(
    conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = audit.related("customer", 116).at("first", "last").read(conn)
    conn.execute(
        "create index audit_logs_contains on svc.audit_logs"
        " using gin (before_data jsonb_path_ops, after_data jsonb_path_ops)"
    )
    monkeypatch.setattr(naming, "_FEW", 1)  # a small table is looked at as a whole
    indexed = audit.related("customer", 116).at("first", "last").read(conn)
    assert indexed.changes == plain.changes
    assert indexed.states == plain.states
    assert indexed.next_cursor is None
    assert {each.looked_at for each in indexed.tables} == {None}
    assert ("thing", "1", "INSERT") in told(audit.related("kind", (True, 1)).read(conn)), "true is no text there"
    assert ("stop", "1", "INSERT") in told(audit.related("path", "[1, 2]").read(conn)), "nor is a list"
    for key in ("null", '"a"', "[1e999999999]", '["\\u0000", "1"]', '["\\ud800"]', "[" * 5000, "007", "NaN", "9" * 50):
        for table in ("path", "region"):
            with pytest.raises(NotFoundError):
                audit.related(table, key).read(conn)
    monkeypatch.setattr(naming, "MOST_BY_INDEX", 1)
    assert audit.related("customer", 116).read(conn).changes == plain.changes, "too frequent for the index"
    conn.rollback()


def test_a_record_that_the_log_does_not_know_is_refused(conn: psycopg.Connection[Any]) -> None:
    with pytest.raises(NotFoundError):
        audit.related("customer", 999).read(conn)
    with pytest.raises(NotFoundError):
        audit.related("nothing", "x' or true").read(conn)
    with pytest.raises(UnknownTableError):
        audit.related("svc.webhook_endpoints", 1).read(conn)


def test_a_session_that_has_set_a_tenant_has_its_own_changes_alone(conn: psycopg.Connection[Any]) -> None:
    with audit.actor(conn, "dan", tenant="acme"):
        history = audit.related("customer", 116).at("last").read(conn)
        assert told(history) == [("orders", "901", "UPDATE")], "that of the sale is found by what others wrote"
        assert [(each.record, each.state) for each in history.states[0].states] == [(0, "not_there"), (1, "there")]


def test_a_reader_of_the_log_may_ask(conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "_FEW", 1)
    conn.execute("create role related_reader in role svc_reader")
    conn.execute(
        "create index audit_logs_contains on svc.audit_logs"
        " using gin (before_data jsonb_path_ops, after_data jsonb_path_ops)"
    )
    conn.execute("set local role related_reader")
    assert audit.related("customer", 116).at("first", "last").read(conn).changes
    conn.rollback()


def test_a_record_without_a_change_has_its_rows(conn: psycopg.Connection[Any]) -> None:
    conn.execute("alter table customer disable trigger all; insert into customer values (118, 'C-118', 'Cem')")
    conn.execute("alter table customer enable trigger all; insert into orders values (950, 118, null, 'new')")
    assert told(audit.related("customer", 118).read(conn)) == [("orders", "950", "INSERT")]
    conn.rollback()


def test_audited_tables_come_before_the_others(conn: psycopg.Connection[Any]) -> None:
    for number in range(references.MOST):
        name = Identifier(f"aside_{number}")
        conn.execute(SQL("create table {} (customer_id int references customer)").format(name))
    tables = [each.table for each in audit.related("customer", 116).read(conn).tables]
    assert (len(tables), "public.line" in tables) == (references.MOST, True)
    conn.rollback()
