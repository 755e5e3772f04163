"""Foreign keys of MySQL and MariaDB fire no triggers, so what they do is recorded by the tables above."""

from typing import Any

import pytest

from svc_pg.config import AuditConfig, AuditedTable, Config
from svc_pg.database.dbapi import rows
from svc_pg.errors import ConfigError
from svc_pg.other_databases.schema.mysql.differences import status
from svc_pg.other_databases.schema.mysql.install import install
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, audit, facts, purge, remake, run

TREE = (
    "create table region (id int primary key)",
    """create table shop (id int primary key, region int,
        foreign key (region) references region (id) on delete cascade on update cascade)""",
    "create table agent (id int primary key, name varchar(9))",
    """create table customer (id int primary key, shop int, agent int, deputy int, secret varchar(9),
        foreign key (shop) references shop (id) on delete cascade,
        foreign key (agent) references agent (id) on delete set null on update cascade,
        foreign key (deputy) references agent (id) on delete set null on update cascade)""",
    """create table note (id int primary key, customer int, region int,
        foreign key (customer) references customer (id) on delete cascade,
        foreign key (region) references region (id) on delete cascade)""",
)
FACTS = ("table_name", "operation", "record_id", "before_data", "after_data", "changed_fields")


def kept(conn: Connection) -> list[tuple[Any, ...]]:
    """The entries without the name of the database."""
    return [(name.partition(".")[2], *rest) for name, *rest in facts(conn, *FACTS)]


@pytest.fixture
def tree(shop: Connection) -> Connection:
    """A shop of which three tables are audited; the two at the top are not."""
    audit(shop, *TREE, tables={"customer": {"redact": {"secret": "hash"}}, "note": {}, "shop": {}})
    run(
        shop,
        "insert into region values (1), (2)",
        "insert into shop values (10, 1), (20, 2)",
        "insert into agent values (5, 'amy'), (6, 'bob')",
        "insert into customer values (100, 10, 5, 5, 'x'), (200, 20, 5, 6, null), (300, 10, null, 5, null)",
        "insert into note values (1, 100, 1), (2, 200, 1), (3, 200, 2)",
    )
    purge(shop)
    return shop


def test_deletions_are_recorded_through_all_levels_and_each_row_once(tree: Connection) -> None:
    run(tree, "set @svc_actor_id = 'amy'", "delete from region where id = 1", "set @svc_actor_id = null")
    found = [(name, operation, record) for name, operation, record, *_ in kept(tree)]
    assert sorted(found) == [
        ("customer", "DELETE", "100"),
        ("customer", "DELETE", "300"),
        ("note", "DELETE", "1"),
        ("note", "DELETE", "2"),
        ("shop", "DELETE", "10"),
    ]
    assert set(facts(tree, "actor_id")) == {("amy",)}
    images = {(name, record): before for name, _, record, before, *_ in kept(tree)}
    assert images["shop", "10"] == {"id": 10, "region": 1}
    assert images["note", "2"] == {"id": 2, "customer": 200, "region": 1}
    assert len(images["customer", "100"].pop("secret")) == 64
    assert images["customer", "100"] == {"id": 100, "shop": 10, "agent": 5, "deputy": 5}
    assert rows(tree, "select * from svc.audit_cascaded") == []


def test_references_that_end_are_recorded_once_for_each_row(tree: Connection) -> None:
    run(tree, "delete from agent where id = 5")
    image = {"shop": 10, "secret": None, "agent": None, "deputy": None}
    [first, second, third] = sorted(kept(tree), key=str)
    assert first[:3] == ("customer", "UPDATE", "100")
    assert first[4] | {"secret": None} == {"id": 100} | image
    assert first[5] == ["agent", "deputy"]
    assert second == (
        *("customer", "UPDATE", "200"),
        {"id": 200, "shop": 20, "agent": 5, "deputy": 6, "secret": None},
        {"id": 200, "shop": 20, "agent": None, "deputy": 6, "secret": None},
        ["agent"],
    )
    assert (third[3], third[4]) == ({"id": 300, "deputy": 5} | image | {"deputy": 5}, {"id": 300} | image)


def test_references_that_follow_a_key_are_recorded(tree: Connection) -> None:
    run(tree, "update agent set id = 7, name = 'q' where id = 5", "update agent set name = 'r'")
    found = {record: (before, after, changed) for _, _, record, before, after, changed in kept(tree)}
    assert sorted(found) == ["100", "200", "300"]
    assert [found["100"][n]["agent"] for n in (0, 1)] == [5, 7]
    assert found["100"][2] == ["agent", "deputy"]
    assert found["200"][2] == ["agent"]
    assert [found["200"][n]["deputy"] for n in (0, 1)] == [6, 6]
    assert [found["300"][n]["agent"] for n in (0, 1)] == [None, None]


def test_keys_of_several_columns_follow_through_levels(shop: Connection) -> None:
    audit(
        shop,
        "create table a (id varchar(9) primary key)",
        """create table b (a varchar(9), n int, primary key (a, n),
            foreign key (a) references a (id) on update cascade on delete cascade)""",
        """create table c (a varchar(9), n int, m int, primary key (a, n, m),
            foreign key (a, n) references b (a, n) on update cascade on delete cascade)""",
        tables=["b", "c"],
    )
    run(shop, "insert into a values ('x'), ('y')", "insert into b values ('x', 1), ('y', 1)")
    run(shop, "insert into c values ('x', 1, 1), ('y', 1, 1)")
    purge(shop)
    run(
        shop, "update a set id = 'X' where id = 'x'", "update b set n = 2 where a = 'X'", "delete from a where id = 'x'"
    )
    one, two = {"a": "x", "n": 1}, {"a": "X", "n": 1}
    assert sorted(kept(shop)[:2]) == [
        ("b", "UPDATE", '["X", 1]', one, two, ["a"]),
        ("c", "UPDATE", '["X", 1, 1]', one | {"m": 1}, two | {"m": 1}, ["a"]),
    ]
    assert sorted(entry[:3] for entry in kept(shop)[2:]) == [
        ("b", "DELETE", '["X", 2]'),
        ("b", "UPDATE", '["X", 2]'),
        ("c", "DELETE", '["X", 2, 1]'),
        ("c", "UPDATE", '["X", 2, 1]'),
    ]


def test_what_did_not_happen_is_not_recorded(tree: Connection) -> None:
    run(
        tree,
        "create table guard (shop int, foreign key (shop) references shop (id))",
        "insert into guard values (10)",
        "delete ignore from shop where id = 10",  # the guard forbids it
        "update ignore agent set id = 6 where id = 5",  # taken
        "begin",
        "delete from agent",
        "rollback",
        "drop table guard",
    )
    assert kept(tree) == []
    run(tree, "delete from shop where id = 20")
    assert sorted(entry[:3] for entry in kept(tree)) == [
        ("customer", "DELETE", "200"),
        ("note", "DELETE", "2"),
        ("note", "DELETE", "3"),
        ("shop", "DELETE", "20"),
    ]


def test_deletions_of_other_rows_do_not_wait(mysql_server: MySqlServer, shop: Connection) -> None:
    below = "create table t (id int primary key, p int, foreign key (p) references p (id) on delete cascade)"
    audit(shop, "create table p (id int primary key)", below)
    run(shop, "insert into p values (1), (2), (3), (4)", "insert into t values (10, 1), (20, 2), (30, 3), (40, 4)")
    purge(shop)
    [(name,)] = rows(shop, "select database()")
    with mysql_server.connect(name) as one, mysql_server.connect(name) as other:
        run(one, "begin", "delete from p where id = 1")
        run(other, "set innodb_lock_wait_timeout = 1", "begin", "delete from p where id = 3")
        run(one, "delete from p where id = 2", "commit")
        run(other, "delete from p where id = 4", "commit")
    assert sorted(record for _, _, record, *_ in kept(shop)) == ["10", "20", "30", "40"]
    assert rows(shop, "select * from svc.audit_cascaded") == []


def test_a_replace_is_recorded_as_the_server_follows_it(shop: Connection) -> None:
    audit(
        shop,
        "create table p (id int primary key, u int unique)",
        "create table t (id int primary key, f int, foreign key (f) references p (id) on delete cascade)",
        "create table n (f int, foreign key (f) references p (id) on delete set null)",
        "create table below (id int primary key, t int, foreign key (t) references t (id) on delete cascade)",
        tables=("t", "n", "below"),
    )
    run(shop, "insert into p values (1, 1), (2, 2)", "insert into t values (10, 1), (20, 2)")
    run(shop, "insert into n values (1), (2)", "insert into below values (100, 10), (200, 20)")
    purge(shop)
    run(shop, "replace into p values (1, 9)")  # newer MySQL leaves what refers to 1, others do not
    run(shop, "replace into p values (3, 2)")
    lost = {20, 10} - {id_ for (id_,) in rows(shop, "select id from t")}
    assert 20 in lost
    expected = [(name, "DELETE", str(id_ * tens)) for id_ in lost for name, tens in (("t", 1), ("below", 10))]
    found = [(name, operation, record) for name, operation, record, *_ in kept(shop)]
    assert sorted(found, key=str) == sorted([*expected, *[("n", "UPDATE", None)] * len(lost)], key=str)


def test_a_reference_that_ends_is_recorded_beside_one_that_would_delete_the_row(shop: Connection) -> None:
    references = ", ".join(
        f"{name} int, foreign key ({name}) references p (id) on delete {action}"
        for name, action in (("a", "cascade"), ("b", "set null"))
    )
    audit(shop, "create table p (id int primary key)", f"create table t (id int primary key, {references})")
    run(shop, "insert into p values (1)", "insert into t values (7, null, 1), (8, 1, 1)")
    purge(shop)
    run(shop, "delete from p")
    assert sorted(facts(shop, "operation", "record_id")) == [("DELETE", "8"), ("UPDATE", "7")]


def test_without_checks_of_foreign_keys_nothing_follows(tree: Connection) -> None:
    run(tree, "set foreign_key_checks = 0", "delete from agent where id = 5", "update agent set id = 9 where id = 6")
    run(tree, "set foreign_key_checks = 1")
    assert kept(tree) == []


def test_a_trigger_that_the_application_adds_comes_before_what_keeps_the_rows_below(shop: Connection) -> None:
    below = "create table t (id int primary key, p int, foreign key (p) references p (id) on delete cascade)"
    config = audit(shop, "create table p (id int primary key)", below)
    run(shop, "create trigger cleaning before delete on p for each row delete from t where p = old.id")
    [early] = [entry.identity for entry in status(shop, config) if entry.state == "outdated"]
    assert early.startswith("00_svc_audit_keep_p on ")
    install(shop, config)
    assert {entry.state for entry in status(shop, config)} == {"ok"}
    run(shop, "insert into p values (1)", "insert into t values (7, 1)", "delete from p")
    assert facts(shop, "operation", "record_id") == [("INSERT", "7"), ("DELETE", "7")]


def test_a_table_that_loses_its_foreign_key_loses_the_trigger_above(tree: Connection) -> None:
    config = Config(audit=AuditConfig(tables=[AuditedTable(name=name) for name in ("customer", "note", "shop")]))
    install(tree, config)
    [(name,)] = rows(
        tree,
        "select constraint_name from information_schema.key_column_usage where table_schema = database()"
        " and table_name = 'note' and referenced_table_name = 'region'",
    )
    run(tree, f"alter table note drop foreign key {name}")
    assert {step.state for step in status(tree, config)} == {"ok", "outdated"}
    install(tree, config)
    run(tree, "alter table customer drop foreign key customer_ibfk_2, drop foreign key customer_ibfk_3")
    gone = [step for step in status(tree, config) if step.state == "orphan"]
    assert [step.identity.split(" on ")[0] for step in gone] == [
        *(f"00_svc_audit_{kind}_agent" for kind in ("keep", "cascade_update", "cascade_delete")),
    ]
    install(tree, config)
    assert {step.state for step in status(tree, config)} == {"ok"}


@pytest.mark.parametrize(
    ("ddl", "reason"),
    [
        ("t int, foreign key (t) references t (id) on delete cascade", "come back"),
        ("t int, foreign key (t) references above (id) on update set null", "ON UPDATE SET NULL"),
        (
            "t int, t2 int generated always as (t + 1) virtual,"
            " foreign key (t) references above (id) on delete set null",
            "is computed from",
        ),
    ],
)
def test_what_no_trigger_can_tell_is_refused(shop: Connection, ddl: str, reason: str) -> None:
    remake(shop, "create table above (id int primary key)", f"create table t (id int primary key, {ddl})")
    with pytest.raises(ConfigError, match=reason):
        install(shop, Config(audit=AuditConfig(tables=[AuditedTable(name="t")])))
    config = Config(audit=AuditConfig(tables=[AuditedTable(name="t", cascades="unrecorded")]))
    install(shop, config, prune=True)
    purge(shop)
    run(shop, "insert into above values (1)", "insert into t (id) values (1)", "delete from above")
    assert [entry[:3] for entry in kept(shop)] == [("t", "INSERT", "1")]


def test_a_tree_whose_rows_lose_their_parent_is_recorded(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key, t int, foreign key (t) references t (id) on delete set null)")
    run(shop, "insert into t values (1, null), (2, 1), (3, 2)")
    purge(shop)
    run(shop, "delete from t where id = 1", "delete from t")
    assert sorted(entry[1:3] for entry in kept(shop)[:2]) == [("DELETE", "1"), ("UPDATE", "2")]
    assert rows(shop, "select * from t") == []
    assert [entry[2] for entry in kept(shop)[2:] if entry[1] == "DELETE"] == ["2", "3"]


def test_what_the_rules_of_a_table_leave_out_is_left_out_of_cascades(shop: Connection) -> None:
    live = {"any": [{"before": {"status": "live"}}, {"changed": "status"}]}
    audit(
        shop,
        "create table agent (id int primary key)",
        """create table customer (id int primary key, status varchar(9), agent int, deputy int,
            foreign key (agent) references agent (id) on delete cascade on update cascade,
            foreign key (deputy) references agent (id) on delete set null on update cascade)""",
        tables={"customer": {"ignore": ["deputy"], "record_when": live}},
    )
    run(shop, "insert into agent values (1), (2), (3)")
    run(shop, "insert into customer values (10, 'live', 1, 1), (20, 'draft', 1, 1), (30, 'live', 2, 1)")
    run(
        shop, "update agent set id = 4 where id = 1", "delete from agent where id = 4", "delete from agent where id = 2"
    )
    assert facts(shop, "operation", "record_id", "changed_fields") == [
        ("UPDATE", "10", ["agent", "deputy"]),
        ("DELETE", "10", None),
        ("DELETE", "30", None),
    ]
