"""Changes of tables that are sent as events."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.errors import ConfigError, InstallError, RemovalRefusedError, UnknownTableError
from svc_pg.query import scalar
from svc_pg.schema.script import script
from tests.tables import log

ORDERS: LiteralString = "create table orders (id int primary key, status text, note json, shop text)"
ALL = ["INSERT", "UPDATE", "DELETE"]

Sent = list[tuple[str, Any]]


def config(*rules: dict[str, Any], **audit: Any) -> Config:
    """A configuration with these rules, by default for every change of orders, and the events that they name."""
    written = [{"table": "orders", "operation": ALL, "event": "order.changed"} | rule for rule in rules]
    events: dict[str, Any] = {rule["event"]: {} for rule in written}
    return Config.model_validate({"webhooks": {"events": events, "on_change": written}, "audit": audit})


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn
        if not conn.closed:
            conn.rollback()


def install(conn: psycopg.Connection[Any], wanted: Config, *, ddl: LiteralString = ORDERS) -> Config:
    conn.execute(ddl)
    conn.commit()
    schema.install(conn, wanted)
    return wanted


def sent(conn: psycopg.Connection[Any]) -> Sent:
    """The events and payloads since the last call, sorted: one statement's events have no order."""
    found = conn.execute("""
        with gone as (delete from svc.webhook_messages returning event_name, payload)
        select event_name, payload from gone order by event_name, payload::text
    """).fetchall()
    return [(event, payload) for event, payload in found]


def states(conn: psycopg.Connection[Any], wanted: Config) -> dict[str, str]:
    """What is not ok."""
    return {entry.identity: entry.state for entry in schema.status(conn, wanted) if entry.state != "ok"}


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
    rule = {"operation": "UPDATE", "payload": {"id": "id", "now": "status", "was": "before.status"}}
    ddl: LiteralString = "create table orders (id int primary key deferrable, status text)"
    install(db, config(rule), ddl=ddl)
    db.execute("insert into orders values (1, 'one'), (2, 'two')")
    db.execute("update orders set id = 3 - id")
    assert [payload for _, payload in sent(db)] == [
        {"id": 1, "now": "two", "was": "one"},
        {"id": 2, "now": "one", "was": "two"},
    ]


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
    ],
)
def test_a_rule_that_does_not_fit_its_table_is_refused(
    db: psycopg.Connection[Any], rule: dict[str, Any], problem: str
) -> None:
    ddl: LiteralString = """
        create table orders (id int primary key, status text, secret text, masked text);
        create table keyless (a text);
        create table parted (id int primary key) partition by range (id);
        create table parted_1 partition of parted default
    """
    audit = {"name": "public.or*", "redact": {"secret": "remove"}, "enrich": [{"redact": {"masked": "mask"}}]}
    with pytest.raises(ConfigError) as caught:
        install(db, config(rule, tables=[audit]), ddl=ddl)
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
    assert [payload for _, payload in sent(db)] == [
        {"id": 1, "status": "new"},
        {"id": 1, "status": "paid"},
        {"id": 1, "status": "paid"},
    ]


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
        ("order.changed", None, 2),
        ("order.changed", True, 1),
    ]


def test_the_tenant_of_a_message_is_that_of_the_row(db: psycopg.Connection[Any]) -> None:
    install(db, config({"tenant": "shop"}))
    db.execute("insert into orders (id, shop) values (1, 'north'), (2, null)")
    db.execute("update orders set shop = 'south' where id = 1")
    db.execute("delete from orders where id = 1")
    tenants = db.execute("select tenant from svc.webhook_messages order by tenant").fetchall()
    assert tenants == [("north",), ("south",), ("south",), (None,)]


def test_upserts_and_merges_send_what_they_do_to_each_row(db: psycopg.Connection[Any]) -> None:
    install(
        db,
        config(
            {"operation": "INSERT", "event": "c"},
            {"operation": "UPDATE", "event": "u"},
            {"operation": "DELETE", "event": "d"},
        ),
    )
    db.execute("insert into orders values (1, 'a'), (2, 'b')")
    sent(db)
    db.execute("""
        insert into orders values (1, 'x'), (2, 'b'), (3, 'c')
            on conflict (id) do update set status = excluded.status
    """)
    assert sent(db) == [("c", {"id": 3}), ("u", {"id": 1})]
    db.execute("insert into orders values (1, 'y'), (4, 'd') on conflict do nothing")
    assert sent(db) == [("c", {"id": 4})]
    if db.info.server_version >= 150000:
        db.execute("""
            merge into orders using (values (1), (2), (9)) s (id) on orders.id = s.id
             when matched and s.id = 1 then delete
             when matched then update set status = 'm'
             when not matched then insert values (s.id)
        """)
        assert sent(db) == [("c", {"id": 9}), ("d", {"id": 1}), ("u", {"id": 2})]


def test_rows_that_are_copied_in_are_sent(db: psycopg.Connection[Any]) -> None:
    install(db, config({}))
    with db.cursor().copy("copy orders (id, status) from stdin") as copy:
        for number in range(2500):
            copy.write_row((number, "new"))
    assert {payload["id"] for _, payload in sent(db)} == set(range(2500))


PARTED: LiteralString = """
create table orders (id int, region text, status text, primary key (id, region)) partition by list (region);
create table orders_north partition of orders for values in ('north');
create table orders_south (status text, region text not null, id int not null);
alter table orders attach partition orders_south for values in ('south');
"""


def test_rows_of_partitions_are_sent_whatever_the_statement_names(db: psycopg.Connection[Any]) -> None:
    rule = {"payload": {"id": "id", "region": "region", "was": "before.region", "status": "after.status"}}
    wanted = install(db, config(rule), ddl=PARTED)
    db.execute("insert into orders values (1, 'north', 'a'), (2, 'south', 'b')")
    db.execute("insert into orders_south values ('c', 'south', 3)")
    assert [(p["id"], p["region"], p["status"]) for _, p in sent(db)] == [
        (1, "north", "a"),
        (2, "south", "b"),
        (3, "south", "c"),
    ]
    db.execute("update orders set region = 'south' where id = 1")
    assert [(p["id"], p["region"], p["was"]) for _, p in sent(db)] == [(1, "south", "north")]
    db.execute("update orders_south set status = 'd' where id = 3")
    assert [(p["id"], p["status"]) for _, p in sent(db)] == [(3, "d")]
    db.execute("delete from orders")
    assert [p["id"] for _, p in sent(db)] == [1, 2, 3]
    db.execute("create table orders_east partition of orders for values in ('east')")
    db.commit()
    assert states(db, wanted) == {
        f"00_svc_change_events_{operation.lower()} on public.orders_east": "missing" for operation in ALL
    }
    db.execute("insert into orders values (5, 'east')")
    assert len(sent(db)) == 1
    db.commit()
    schema.install(db, wanted)
    db.execute("insert into orders_east values (6, 'east')")
    assert len(sent(db)) == 1
    db.execute("alter table orders detach partition orders_east")
    db.commit()
    assert set(states(db, wanted).values()) == {"orphan"}
    schema.install(db, wanted)
    assert states(db, wanted) == {}


def test_what_a_foreign_key_does_to_rows_is_sent_once_a_row(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = """
        create table shop (id int primary key);
        create table orders (
            id int primary key, shop int references shop on delete cascade on update cascade,
            parent int references orders on delete cascade
        )
    """
    rules = [{"operation": "UPDATE", "event": "u"}, {"operation": "DELETE", "event": "d"}]
    install(db, config(*rules), ddl=ddl)
    db.execute("insert into shop values (1), (2)")
    db.execute("insert into orders select n, 1 + n % 2 from generate_series(1, 6) n")
    db.execute("update orders set parent = id - 2 where id > 2")
    sent(db)
    db.execute("update shop set id = id + 10")
    assert sent(db) == [("u", {"id": n}) for n in range(1, 7)]
    db.execute("delete from orders where id = 1")
    assert sent(db) == [("d", {"id": n}) for n in (1, 3, 5)]
    db.execute("delete from shop")
    assert sent(db) == [("d", {"id": n}) for n in (2, 4, 6)]


def test_generated_columns_are_sent_where_triggers_see_them(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = "create table orders (id int primary key, a int, twice int generated always as (a * 2) stored)"
    install(db, config({"columns": ["twice"], "payload": "row"}), ddl=ddl)
    db.execute("insert into orders (id, a) values (1, 2)")
    db.execute("update orders set a = 3")
    assert [payload["twice"] for _, payload in sent(db)] == [4, 6]


@pytest.mark.parametrize("rule", [{"columns": ["g"]}, {"payload": ["g"]}, {"when": 'after . "g" > 1'}])
def test_virtual_columns_are_refused_because_triggers_do_not_see_them(
    db: psycopg.Connection[Any], rule: dict[str, Any]
) -> None:
    if db.info.server_version < 180000:
        pytest.skip("PostgreSQL has virtual columns since 18")
    ddl: LiteralString = "create table orders (id int primary key, g int generated always as (id) virtual)"
    with pytest.raises(ConfigError, match='names "g", a virtual generated column'):
        install(db, config(rule), ddl=ddl)


def test_odd_names_are_quoted_everywhere(db: psycopg.Connection[Any]) -> None:
    ddl: LiteralString = """
        create schema "my shop";
        create table "my shop"."or""der.$s" (
            "id %s" int, "before" text, "after" text, "select" text, payload text, primary key ("before", "id %s")
        )
    """
    table = '"my shop"."or""der.$s"'
    rules: list[dict[str, Any]] = [
        {"payload": "row", "columns": ["select", "after"]},
        {"event": "named", "payload": {"it's": "after.after", 'a "b"': "before.before", "{{ x }}": "id %s"}},
        {"event": "key", "when": "after.after = '%s'"},
    ]
    wanted = install(db, config(*({"table": table} | rule for rule in rules)), ddl=ddl)
    db.execute("insert into \"my shop\".\"or\"\"der.$s\" values (1, 'b', '%s', 's', 'p')")
    assert sent(db) == [
        ("key", {"before": "b", "id %s": 1}),
        ("named", {"it's": "%s", 'a "b"': None, "{{ x }}": 1}),
        ("order.changed", {"id %s": 1, "before": "b", "after": "%s", "select": "s", "payload": "p"}),
    ]
    db.execute('update "my shop"."or""der.$s" set "select" = null')
    assert [event for event, _ in sent(db)] == ["key", "named", "order.changed"]
    db.commit()
    assert schema.install(db, wanted) == []


def test_a_table_that_is_only_in_the_search_path_must_be_written_with_its_schema(db: psycopg.Connection[Any]) -> None:
    db.execute("create schema shop; set search_path = shop, public")
    with pytest.raises(UnknownTableError, match=r'table "public\.orders" does not exist') as caught:
        install(db, config({}))
    assert caught.value.hint == "Did you mean shop.orders?"
    schema.install(db, config({"table": "shop.orders"}))
    db.execute("insert into orders values (1)")
    assert sent(db) == [("order.changed", {"id": 1})]


def test_columns_may_come_go_and_change_between_statements_of_one_session(db: psycopg.Connection[Any]) -> None:
    install(db, config({"payload": "row"}, {"event": "status", "columns": ["status"], "when": "after.status <> ''"}))
    db.execute("insert into orders values (1, 'new')")
    db.execute("alter table orders drop column note")
    db.execute("update orders set status = 'paid'")
    db.execute("alter table orders rename column shop to place")
    db.execute("alter table orders add column note int")
    db.execute("alter table orders alter column status type varchar(9)")
    db.execute("update orders set status = 'sent', place = 'x', note = 2")
    assert [event for event, _ in sent(db)] == ["order.changed"] * 3 + ["status"] * 3


def test_after_a_named_column_is_renamed_writes_fail_until_the_rules_know_it(db: psycopg.Connection[Any]) -> None:
    wanted = install(db, config({"columns": ["status"], "payload": ["status"]}))
    db.execute("alter table orders rename column status to state")
    db.commit()
    with pytest.raises(psycopg.errors.UndefinedColumn, match="status"):
        db.execute("insert into orders values (1)")
    db.rollback()
    with pytest.raises(ConfigError, match=r'columns names "status", and there is no such column'):
        schema.status(db, wanted)
    schema.install(db, config({"columns": ["state"], "payload": ["state"]}))
    db.execute("insert into orders values (1, 'new')")
    assert sent(db) == [("order.changed", {"state": "new"})]


WRITER: LiteralString = """
create role {role};
grant usage on schema public to {role};
grant insert, update, delete, select on orders to {role};
"""


def test_a_role_that_may_only_write_to_the_table_sends_and_can_forge_nothing(db: psycopg.Connection[Any]) -> None:
    install(db, config({"when": "after.id > 0", "payload": "row"}))
    role = psycopg.sql.Identifier(f"change_events_{db.info.dbname}")
    db.execute(psycopg.sql.SQL(WRITER).format(role=role))
    db.execute(psycopg.sql.SQL("set role {}").format(role))
    db.execute("insert into orders values (1, 'new')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
        db.execute("""
            create temp table mine (id int, status text, note json, shop text);
            create trigger forged after insert on mine referencing new table as new_rows
               for each statement execute function svc.change_events_public_orders()
        """)
    db.execute("reset role")
    assert len(sent(db)) == 1
    owner = scalar(db, "select pg_get_userbyid(proowner) from pg_proc where proname = 'change_events_public_orders'")
    assert owner == "svc_writer"
    db.rollback()  # the role with it


def test_capture_and_events_of_one_table_go_together_and_apart(db: psycopg.Connection[Any]) -> None:
    both = install(db, config({}, tables=[{"name": "orders"}]))
    db.execute("insert into orders values (1)")
    assert (len(log(db)), len(sent(db))) == (1, 1)
    order = scalar(
        db, "select array_agg(tgname::text order by tgname) from pg_trigger where tgrelid = 'orders'::regclass"
    )
    assert [name.split("_")[2] for name in order] == ["audit"] * 3 + ["change"] * 3
    db.commit()
    assert states(db, both) == {}
    for rest, gone in (
        (config({}), r"public\.orders"),
        (config(tables=[{"name": "orders"}]), r"events of public\.orders"),
    ):
        with pytest.raises(RemovalRefusedError, match=f"does not name what is installed: .*{gone}"):
            schema.install(db, rest)
    schema.install(db, config(tables=[{"name": "orders"}]), prune=True)
    db.execute("insert into orders values (2)")
    assert (len(log(db)), len(sent(db))) == (2, 0)
    db.commit()
    schema.install(db, both)
    schema.install(db, config({}), prune=True)
    db.execute("insert into orders values (3)")
    assert (len(log(db)), len(sent(db))) == (2, 1)


def test_status_tells_what_somebody_changed_and_install_puts_it_back(db: psycopg.Connection[Any]) -> None:
    wanted = install(db, config({}))
    db.execute("alter function svc.change_events_public_orders() reset search_path")
    db.execute('alter table orders disable trigger "00_svc_change_events_insert"')
    db.execute('drop trigger "00_svc_change_events_delete" on orders')
    db.commit()
    assert states(db, wanted) == {
        "svc.change_events_public_orders": "tampered",
        "00_svc_change_events_insert on public.orders": "disabled",
        "00_svc_change_events_delete on public.orders": "missing",
    }
    assert len(schema.install(db, wanted)) == 3
    assert states(db, wanted) == {}
    changed = config({"payload": ["status"]})
    assert states(db, changed) == {"svc.change_events_public_orders": "outdated"}
    fewer = config({"operation": "UPDATE"})
    schema.install(db, fewer)
    assert states(db, fewer) == {}


def test_a_dropped_table_is_refused_until_its_rules_are_pruned(db: psycopg.Connection[Any]) -> None:
    wanted = install(db, config({}))
    db.execute("drop table orders")
    db.commit()
    with pytest.raises(UnknownTableError, match=r'table "public\.orders" does not exist'):
        schema.install(db, wanted)
    rest = config()
    with pytest.raises(RemovalRefusedError, match=r"events of public\.orders"):
        schema.install(db, rest)
    schema.install(db, rest, prune=True)
    assert states(db, rest) == {}
    assert scalar(db, "select count(*) from svc.installed_objects where identity like '%change_events%'") == 0


def test_uninstall_takes_the_triggers_and_leaves_the_messages(db: psycopg.Connection[Any]) -> None:
    install(db, config({}))
    db.execute("insert into orders values (1)")
    db.commit()
    schema.uninstall(db)
    db.execute("insert into orders values (2)")
    assert scalar(db, "select count(*) from pg_trigger where tgname like '00_svc%'") == 0
    assert sent(db) == [("order.changed", {"id": 1})]


def test_a_script_installs_the_rules_and_takes_them_away(db: psycopg.Connection[Any]) -> None:
    db.execute(ORDERS)
    db.commit()
    wanted = config({"when": "after.status like '%' -- ; $$"})
    made = script(db, wanted)
    assert made is not None
    assert made.tables == ["public.orders"]
    db.execute(made.upgrade.encode())
    db.commit()
    assert states(db, wanted) == {}
    db.execute("insert into orders values (1, 'new')")
    assert len(sent(db)) == 1
    db.commit()
    db.execute(made.downgrade.encode())
    db.execute("insert into orders values (2, 'new')")
    assert sent(db) == []
