"""The rules of change events, and the messages sent for them."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from random import Random
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import schema, webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, InstallError
from tests.support.change_events import ORDERS, config, install, sent
from tests.support.hooks import PLACES
from tests.support.postgres import copied

DEFERRABLE: LiteralString = "create table orders (id int primary key deferrable, status text)"
NOW_AND_BEFORE = {"operation": "UPDATE", "payload": {"id": "id", "now": "status", "was": "before.status"}}


def test_by_default_the_key_is_sent_of_every_row_that_a_statement_changes(db: psycopg.Connection[Any]) -> None:
    install(
        db,
        config(
            {"operation": "INSERT", "event": "order.created"},
            {"operation": "UPDATE", "event": "order.updated"},
            {"operation": "DELETE", "event": "order.deleted"},
        ),
    )
    db.execute("insert into orders select n, 'new' from generate_series(1, 3) n")
    assert sent(db) == [("order.created", {"id": n}) for n in (1, 2, 3)]
    db.execute("update orders set status = 'paid' where id > 1")
    assert sent(db) == [("order.updated", {"id": 2}), ("order.updated", {"id": 3})]
    db.execute("delete from orders where id = 3")
    assert sent(db) == [("order.deleted", {"id": 3})]
    db.execute("truncate orders")
    db.execute("delete from orders")
    assert sent(db) == []


def test_the_message_commits_with_the_change_or_not_at_all(db: psycopg.Connection[Any]) -> None:
    install(db, config({}))
    db.execute("insert into orders values (1)")
    db.rollback()
    assert sent(db) == []
    db.execute("delete from svc.webhook_event_types")
    db.commit()
    with pytest.raises(psycopg.DatabaseError) as caught:
        db.execute("insert into orders values (1)")
    assert caught.value.sqlstate == "SV102"
    db.rollback()
    assert scalar(db, "select count(*) from orders") == 0


def test_a_payload_holds_the_columns_and_names_that_the_rule_says(db: psycopg.Connection[Any]) -> None:
    install(
        db,
        config(
            {"event": "listed", "payload": ["status", "id"]},
            {"event": "named", "payload": {"id": "id", "oldStatus": "before.status", "new status": "after.status"}},
            {"event": "whole", "payload": "row"},
        ),
    )
    db.execute("""insert into orders values (1, 'new', '{"a":  1.10}')""")
    row = {"id": 1, "status": "new", "note": {"a": 1.1}, "shop": None}
    named = {"id": 1, "oldStatus": None, "new status": "new"}
    assert sent(db) == [("listed", {"status": "new", "id": 1}), ("named", named), ("whole", row)]
    db.execute("update orders set status = 'paid'")
    assert [payload for event, payload in sent(db) if event == "named"] == [
        {"id": 1, "oldStatus": "new", "new status": "paid"}
    ]
    db.execute("delete from orders")
    assert sent(db) == [
        ("listed", {"status": "paid", "id": 1}),
        ("named", {"id": 1, "oldStatus": "paid", "new status": None}),
        ("whole", row | {"status": "paid"}),
    ]


def test_an_update_that_changes_nothing_sends_nothing(db: psycopg.Connection[Any]) -> None:
    install(
        db, config({"operation": "UPDATE", "event": "any"}, {"operation": "UPDATE", "event": "of", "columns": ["note"]})
    )
    db.execute("insert into orders values (1, 'new', '{}'), (2, 'paid', null)")
    db.execute("update orders set status = status, note = note")
    assert sent(db) == []
    db.execute("update orders set status = 'paid'")
    assert sent(db) == [("any", {"id": 1})]
    db.execute("update orders set note = '{\"a\": 1}'")
    assert sent(db) == [("any", {"id": 1}), ("any", {"id": 2}), ("of", {"id": 1}), ("of", {"id": 2})]
    db.execute("update orders set status = 'sent' where false")
    assert sent(db) == []


def test_columns_count_only_for_updates(db: psycopg.Connection[Any]) -> None:
    install(db, config({"columns": ["status", "shop"]}))
    db.execute("insert into orders (id) values (1)")
    db.execute("update orders set note = '{}'")
    assert sent(db) == [("order.changed", {"id": 1})]
    db.execute("update orders set shop = 'north'")
    db.execute("delete from orders")
    assert sent(db) == [("order.changed", {"id": 1})] * 2


def test_a_condition_sees_the_rows_before_and_after(db: psycopg.Connection[Any]) -> None:
    install(db, config({"when": "after.status = 'paid' and before.status is distinct from 'paid' -- the first time"}))
    db.execute("insert into orders values (1, 'new'), (2, 'paid'), (3, null)")
    assert sent(db) == [("order.changed", {"id": 2})]
    db.execute("update orders set status = 'paid'")
    assert sent(db) == [("order.changed", {"id": 1}), ("order.changed", {"id": 3})]
    db.execute("delete from orders")
    assert sent(db) == []


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("after.state = 'paid'", "column after.state does not exist"),
        ("after.id", "must be type boolean"),
        ("new.id > 1", 'missing FROM-clause entry for table "new"'),
        ("tg_op = 'INSERT'", 'column "tg_op" does not exist'),
        ("after.id > 1) or (true", "must be type boolean"),
        ("count(*) > 1", "aggregate functions are not allowed"),
        ("true, true", "must be type boolean"),
        ("true limit 1", "syntax error"),
        ("true); drop table orders; select (1", "cannot insert multiple commands"),
        ("is_vip(after.id)", "function is_vip"),
    ],
)
def test_a_condition_that_postgresql_does_not_take_is_refused(
    db: psycopg.Connection[Any], when: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=f'table "public.orders": a condition cannot be evaluated: .*{reason}'):
        install(db, config({"when": when}))
    assert scalar(db, "select to_regclass('public.orders') is not null")


def test_a_locked_table_is_no_fault_of_its_condition(db: psycopg.Connection[Any], database: str) -> None:
    db.execute(ORDERS)
    db.commit()
    with psycopg.connect(database) as other:
        other.execute("lock table orders")
        with pytest.raises(InstallError, match=f"locks are held by pid {other.info.backend_pid}"):
            schema.install(db, config({"when": "true"}), wait_for_table=timedelta(milliseconds=1))


def test_a_row_that_moves_to_another_key_is_an_update(db: psycopg.Connection[Any]) -> None:
    rule = {"operation": "UPDATE", "columns": ["id"], "payload": {"id": "id", "was": "before.id"}}
    install(db, config(rule, {"operation": ["INSERT", "DELETE"], "event": "never"}))
    db.execute("insert into orders (id) values (1), (2), (3)")
    sent(db)
    db.execute("update orders set id = 9 where id = 1")
    assert sent(db) == [("order.changed", {"id": 9, "was": 1})]
    db.execute("update orders set id = id + 10, status = 'x'")  # which was which is not known
    assert sent(db) == [("order.changed", {"id": n, "was": None}) for n in (12, 13, 19)]


def test_keys_that_change_places_are_paired_by_key(db: psycopg.Connection[Any]) -> None:
    install(db, config(NOW_AND_BEFORE), ddl=DEFERRABLE)
    db.execute("insert into orders values (1, 'one'), (2, 'two')")
    db.execute("update orders set id = 3 - id")
    assert [payload for _, payload in sent(db)] == [
        {"id": 1, "now": "two", "was": "one"},
        {"id": 2, "now": "one", "was": "two"},
    ]


def test_rows_that_share_a_key_until_the_transaction_ends_are_sent_once_each(db: psycopg.Connection[Any]) -> None:
    install(db, config(NOW_AND_BEFORE), ddl=DEFERRABLE)
    db.execute("set constraints all deferred")
    db.execute("insert into orders values (1, 'a'), (1, 'b')")
    db.execute("update orders set status = status || 'x'")  # which was which is not known
    assert sorted(payload["now"] for _, payload in sent(db)) == ["ax", "bx"]
    db.execute("update orders set id = 2 where status = 'bx'; update orders set status = status || 'y'")
    assert sorted(payload["was"] for _, payload in sent(db)) == ["ax", "bx", "bx"]


def test_composite_and_odd_keys_pair_their_rows(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = """
        create type mood as enum ('glad', 'sad');
        create domain number as numeric;
        create table orders (a mood, b number, c bytea, d timestamptz, n int, primary key (a, b, c, d))
    """
    rule = {"operation": "UPDATE", "columns": ["n"], "payload": {"b": "b", "was": "before.n"}}
    install(db, config(rule), ddl=ddl)
    db.execute(r"""
        insert into orders values
            ('sad', 1.50, '\xff', '2026-01-01', 1), ('sad', 2.5, '\xff', 'infinity', 2), ('sad', 2.5, '', 'infinity', 3)
    """)
    sent(db)
    db.execute("set local timezone = 'Asia/Tokyo'; set local bytea_output = 'escape'")
    db.execute("update orders set n = n + 1, b = b * 1.0")
    assert [(payload["b"], payload["was"]) for _, payload in sent(db)] == [(1.5, 1), (2.5, 2), (2.5, 3)]


def test_without_a_primary_key_a_unique_index_without_null_pairs_the_rows(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = "create table orders (a int not null unique, b int unique, c text)"
    install(db, config({"operation": "UPDATE", "payload": {"a": "a", "c": "before.c"}}), ddl=ddl)
    db.execute("insert into orders values (1, null, 'x'), (2, null, 'y')")
    db.execute("update orders set c = 'z'")
    assert [payload for _, payload in sent(db)] == [{"a": 1, "c": "x"}, {"a": 2, "c": "y"}]


def test_a_table_without_a_key_can_send_what_comes_and_goes(db: psycopg.Connection[Any]) -> None:
    install(db, config({"operation": ["INSERT", "DELETE"], "payload": ["a"]}), ddl="create table orders (a text)")
    db.execute("insert into orders values ('x'), ('x')")
    db.execute("update orders set a = 'y'")
    db.execute("delete from orders")
    assert [payload["a"] for _, payload in sent(db)] == ["x", "x", "y", "y"]


@pytest.fixture(scope="module")
def tables(maintenance: psycopg.Connection[Any], postgres: str, template: str) -> Iterator[str]:
    """The conninfo of a database with tables that many a rule does not fit, and nothing of ours on them."""
    with copied(maintenance, postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute("""
                create table orders (id int primary key, status text, secret text, masked text);
                create table keyless (a text);
                create table testator (id int primary key);
                create table heir (primary key (id)) inherits (testator);
                create table parted (id int primary key) partition by range (id);
                create table parted_1 partition of parted default
            """)
        yield conninfo


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"columns": ["sttus"]}, 'columns names "sttus", and there is no such column'),
        ({"payload": {"x": "before.sttus"}}, 'payload names "sttus", and there is no such column'),
        ({"tenant": "tenant"}, 'tenant names "tenant", and there is no such column'),
        ({"payload": ["secret"]}, 'payload of order.changed names "secret", which is redacted'),
        ({"payload": {"x": "before.masked"}}, 'payload of order.changed names "masked", which is redacted'),
        ({"payload": {"x" * 64: "id"}}, "a name of 64 bytes"),
        ({"payload": {"": "id"}}, "a name of 0 bytes"),
        ({"table": "keyless"}, "no key by which rows before and after an update could be paired"),
        ({"table": "keyless", "operation": "INSERT"}, "no key that could be sent as order.changed"),
        ({"table": "parted_1"}, 'is a partition of "public.parted"'),
        ({"table": "heir"}, "an UPDATE or DELETE changes the rows of both"),
        ({"table": "testator", "operation": "DELETE"}, "an UPDATE or DELETE changes the rows of both"),
    ],
)
def test_a_rule_that_does_not_fit_its_table_is_refused(tables: str, rule: dict[str, Any], problem: str) -> None:
    audit = {"name": "public.or*", "redact": {"secret": "remove"}, "enrich": [{"redact": {"masked": "mask"}}]}
    with psycopg.connect(tables) as conn, pytest.raises(ConfigError) as caught:
        schema.install(conn, config(rule, tables=[audit]))
    assert problem in caught.value.message


def test_redacted_columns_are_left_out_of_whole_rows_also_after_they_are_renamed(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = "create table orders (id int primary key, status text, secret text, extra text)"
    table = {"name": "orders", "redact": {"secret": "last4"}, "columns": ["status", "secret"]}
    install(db, config({"payload": "row"}, tables=[table]), ddl=ddl)
    db.execute("insert into orders values (1, 'new', 'hush', 'hush')")
    db.execute("alter table orders rename column secret to hidden")
    db.execute("alter table orders add column later text default 'hush'")
    db.execute("update orders set status = 'paid'")
    db.execute("delete from orders")
    # the redacted column may now have the name of another, so nothing but the key is sent
    assert [payload for _, payload in sent(db)] == [
        {"id": 1, "status": "new"},
        {"id": 1, "truncated": True},
        {"id": 1, "truncated": True},
    ]


def test_a_redacted_column_is_not_sent_under_the_name_of_another(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = "create table orders (id int primary key, status text, secret text)"
    rules = config(
        {"payload": "row"},
        {"event": "listed", "payload": ["status"]},
        tables=[{"name": "orders", "redact": ["secret"]}],
    )
    install(db, rules, ddl=ddl)
    db.execute("alter table orders drop column status")
    db.execute("alter table orders rename column secret to status")
    db.execute("insert into orders values (1, 'hush')")
    assert [payload for _, payload in sent(db)] == [{"id": 1, "truncated": True}] * 2


def test_what_a_partition_redacts_is_not_sent_of_its_parent(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = """
        create table orders (id int primary key, secret text) partition by range (id);
        create table orders_1 partition of orders default
    """
    with pytest.raises(ConfigError, match='names "secret", which is redacted'):
        install(db, config({"payload": ["secret"]}, tables=[{"name": "orders_1", "redact": ["secret"]}]), ddl=ddl)


def test_too_large_a_payload_is_sent_as_its_key(db: psycopg.Connection[Any]) -> None:
    install(db, config({"payload": "row"}, {"event": "listed", "payload": ["status"]}))
    db.execute("insert into orders values (1, repeat('x', 262144)), (2, repeat('x', 262000))")
    assert [(event, payload.get("truncated"), payload.get("id")) for event, payload in sent(db)] == [
        ("listed", True, 1),
        ("listed", None, None),
        ("order.changed", True, 1),
        ("order.changed", None, 2),
    ]


def test_the_tenant_of_a_message_is_that_of_the_row(db: psycopg.Connection[Any]) -> None:
    install(db, config({"tenant": "shop"}))
    db.execute("insert into orders (id, shop) values (1, 'north'), (2, null)")
    db.execute("update orders set shop = 'south' where id = 1")
    db.execute("delete from orders where id = 1")
    tenants = db.execute("select tenant from svc.webhook_messages order by tenant").fetchall()
    assert tenants == [("north",), ("south",), ("south",), (None,)]


def test_a_tenant_that_is_too_long_is_sent_as_its_hash(db: psycopg.Connection[Any]) -> None:
    install(db, config({"tenant": "shop", "key": "id"}))
    longest = Random(1).randbytes(512).hex()
    long = Random(1).randbytes(4000).hex()  # which no index takes, not even compressed
    db.execute("insert into orders (id, shop) values (1, %s), (2, %s)", (longest, long))
    tenants = db.execute("select tenant from svc.webhook_messages order by key").fetchall()
    assert tenants == [(longest,), ("sha256:" + hashlib.sha256(long.encode()).hexdigest(),)]


@pytest.mark.parametrize(
    ("note", "payload"), [("1e1000000", '{"id":1,"note":1e1000000}'), (r'"\ud800"', '{"id":1,"truncated":true}')]
)
def test_a_row_that_jsonb_cannot_hold_is_sent_as_json_or_as_its_key(
    db: psycopg.Connection[Any], note: str, payload: str
) -> None:
    install(db, config({"payload": "row"}), ddl="create table orders (id int primary key, note json)")
    db.execute("insert into orders values (1, %s)", (note,))
    assert scalar(db, "select payload::text from svc.webhook_messages") == payload


def ordered(conn: psycopg.Connection[Any]) -> list[tuple[str | None, int | None]]:
    """The keys of all messages and their places in it, by key."""
    return conn.execute(f"select key, place from {PLACES} order by key, place").fetchall()


def test_the_messages_of_a_row_are_numbered_by_its_key(db: psycopg.Connection[Any]) -> None:
    install(db, config({"key": "id"}, {"event": "order.deleted", "operation": "DELETE", "key": "id"}))
    db.execute("insert into orders (id) values (1), (2)")
    db.execute("update orders set status = 'paid'")
    db.execute("delete from orders where id = 1")
    assert ordered(db) == [("orders:1", n) for n in (1, 2, 3, 4)] + [("orders:2", n) for n in (1, 2)]
    last = f"select event_name from {PLACES} where key = 'orders:1' and place in (3, 4) order by 1"
    assert db.execute(last).fetchall() == [("order.changed",), ("order.deleted",)]


def test_a_key_of_several_columns_belongs_to_the_tenant(db: psycopg.Connection[Any]) -> None:
    install(db, config({"key": "{shop}/order-{id}", "tenant": "shop", "operation": "INSERT"}))
    db.execute("insert into orders (id, shop) values (1, 'é'), (2, null), (3, repeat('x', 300)), (4, '')")
    digest = hashlib.sha256(("x" * 300 + "/order-3").encode()).hexdigest()
    assert ordered(db) == [("/order-4", 1), ("sha256:" + digest, 1), ("é/order-1", 1), (None, None)]
    webhooks.send(db, "order.changed", {}, key="é/order-1", tenant="é")
    assert ("é/order-1", 2) in ordered(db)


def test_an_empty_key_is_none(db: psycopg.Connection[Any]) -> None:
    install(db, config({"key": "{status}", "operation": "INSERT"}))
    db.execute("insert into orders (id, status) values (1, ''), (2, 'a')")
    assert ordered(db) == [("a", 1), (None, None)]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("order-{status}", 'the key of order.changed names "status", which is redacted'),
        ("missing", "missing"),
        ("{twice}", "twice"),
    ],
)
def test_a_key_of_a_redacted_or_missing_column_is_refused(db: psycopg.Connection[Any], key: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        install(db, config({"key": key}, tables=[{"name": "orders", "redact": ["status"]}]))


def test_no_key_is_made_of_a_redacted_column_with_a_new_name(db: psycopg.Connection[Any]) -> None:
    install(db, config({"key": "shop"}, tables=[{"name": "orders", "redact": ["note"]}]))
    db.execute("alter table orders drop column shop")
    db.execute("alter table orders rename column note to shop")
    db.execute("""insert into orders (id, shop) values (1, '"secret"')""")
    assert ordered(db) == [(None, None)]


def test_large_statements_that_meet_in_other_orders_do_not_deadlock(db: psycopg.Connection[Any], database: str) -> None:
    install(db, config({"key": "{shop}", "operation": "INSERT"}))
    values = "insert into orders (id, shop) select n, n % 1500 from generate_series({}) n"
    statements = [values.format(series) for series in ("1, 3000", "6000, 3001, -1", "6001, 9000", "12000, 9001, -1")]

    def run(statement: str) -> None:
        with psycopg.connect(database) as conn:
            conn.execute(statement.encode())

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(run, statements))
    assert scalar(db, f"select count(*) from {PLACES} where place = 8") == 1500
