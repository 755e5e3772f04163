"""Every kind of statement and table that changes are sent of."""

from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import schema
from svc_pg.errors import ConfigError, UnknownTableError
from tests.support.change_events import ALL, config, install, sent, states


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
