"""Every statement of MySQL and MariaDB that changes rows leaves the entries of its rows, and nothing else."""

from pathlib import Path

import pymysql
import pytest

from svc_pg.audit import acting, query
from svc_pg.database.dbapi import execute, rows
from svc_pg.integrations.mysql import with_audit
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, audit, entries, facts, purge, run

KEPT = ("operation", "record_id", "changed_fields")


def test_statements_that_replace_ignore_or_update_instead(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key, a varchar(9) unique, n int default 0)")
    run(
        shop,
        "insert into t (id, a) values (1, 'x'), (2, 'y')",
        "replace into t (id, a) values (1, 'y')",  # deletes both
        "insert into t (id, a) values (1, 'z') on duplicate key update n = 5",
        "insert into t (id, a) values (1, 'z') on duplicate key update n = 5",  # changes nothing
        "insert ignore into t (id, a) values (1, 'q'), (3, 'r')",
        "delete from t where id > 2",
    )
    found = facts(shop, *KEPT)
    assert found[:2] == [("INSERT", "1", None), ("INSERT", "2", None)]
    assert sorted(found[2:4]) == [("DELETE", "1", None), ("DELETE", "2", None)]
    assert found[4:] == [
        ("INSERT", "1", None),
        ("UPDATE", "1", ["n"]),
        ("INSERT", "3", None),
        ("DELETE", "3", None),
    ]


def test_what_ignore_leaves_undone_is_not_recorded(shop: Connection) -> None:
    """MariaDB fires the triggers of an UPDATE IGNORE that leaves a row as it was."""
    audit(
        shop,
        "create table t (id int primary key, a varchar(9) unique, n int)",
        "create table child (id int primary key, t int, foreign key (t) references t (id))",
        tables=["t", "child"],
    )
    run(shop, "insert into t values (1, 'x', 1), (2, 'y', 2)", "insert into child values (1, 1)")
    purge(shop)
    run(
        shop,
        "delete ignore from t where id = 1",
        "update ignore t set id = 2, n = 5 where id = 1",
        "update ignore t set id = 9 where id = 1",
        "update ignore t set a = 'y', n = 5 where id = 1",
        "update ignore child set t = 77",
        "update ignore t, child set t.a = 'y', child.t = 2 where t.id = 1",
    )
    assert facts(shop, *KEPT) == [("UPDATE", "1", ["t"])]
    run(shop, "update ignore t set a = 'X', id = 3 where id = 1", "update t set n = 7 where id = 3")
    assert facts(shop, *KEPT)[1:] == [("UPDATE", "3", ["a", "id"]), ("UPDATE", "3", ["n"])]


def test_statements_of_several_tables_and_of_files(shop: Connection, tmp_path: Path) -> None:
    audit(
        shop,
        "create table t (id int primary key, n int)",
        "create table other (id int primary key, n int)",
        tables=["t", "other"],
    )
    (tmp_path / "rows.csv").write_text("1\t10\n2\t20\n")
    run(
        shop,
        f"load data local infile '{tmp_path / 'rows.csv'}' into table t",
        "insert into other select id, n + 1 from t where id = 1",
        "update t, other set t.n = 7, other.n = 8 where t.id = other.id",
        "delete t, other from t join other using (id)",
    )
    found = [(name.partition(".")[2], *rest) for name, *rest in facts(shop, "table_name", *KEPT)]
    assert found[:3] == [("t", "INSERT", "1", None), ("t", "INSERT", "2", None), ("other", "INSERT", "1", None)]
    assert sorted(found[3:5]) == [("other", "UPDATE", "1", ["n"]), ("t", "UPDATE", "1", ["n"])]
    assert sorted(found[5:]) == [("other", "DELETE", "1", None), ("t", "DELETE", "1", None)]


def test_a_rollback_takes_its_entries_along_and_a_savepoint_those_after_it(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key)")
    run(shop, "begin", "insert into t values (1)", "savepoint s", "insert into t values (2)", "rollback to savepoint s")
    run(shop, "insert into t values (3)", "commit", "begin", "insert into t values (4)", "rollback")
    assert facts(shop, "record_id") == [("1",), ("3",)]


def test_triggers_of_the_application_see_and_change_rows_as_before(shop: Connection) -> None:
    audit(
        shop,
        "create table t (id int primary key, n int)",
        "create table other (id int auto_increment primary key, n int)",
        tables=["t", "other"],
    )
    run(
        shop,
        "create trigger own before insert on t for each row set new.n = new.n * 2",
        "create trigger own_after after insert on t for each row insert into other (n) values (new.n)",
        "insert into t values (1, 21)",
    )
    assert rows(shop, "select last_insert_id()") == [(0,)]  # which entries have not changed
    assert [image["n"] for (image,) in facts(shop, "after_data")] == [42, 42]


def test_an_insert_id_is_the_application_s(shop: Connection) -> None:
    audit(shop, "create table t (id int auto_increment primary key)")
    run(shop, "insert into t values (), ()")
    with shop.cursor() as cursor:
        cursor.execute("insert into t values ()")
        assert cursor.lastrowid == 3
        cursor.execute("select last_insert_id()")
        assert cursor.fetchall() == ((3,),)


def test_actor_tenant_and_context_are_those_of_the_session(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key)")
    run(
        shop,
        "set @svc_actor_id = 'amy', @svc_tenant_id = 't1', @svc_context = '{\"n\": 1}'",
        "insert into t values (1)",
        "set @svc_actor_id = '', @svc_tenant_id = null, @svc_context = ''",
        "insert into t values (2)",
        "set @svc_actor_id = repeat('é', 600), @svc_tenant_id = 7, @svc_context = '[]'",
        "insert into t values (3)",
        "set @svc_actor_id = null, @svc_tenant_id = null, @svc_context = null",
    )
    assert facts(shop, "actor_id", "tenant_id", "context", "db_user") == [
        ("amy", "t1", {"n": 1}, "root@127.0.0.1"),
        (None, None, None, "root@127.0.0.1"),
        ("é" * 511 + "…", "7", [], "root@127.0.0.1"),
    ]


def test_a_connection_of_few_characters_writes_and_reads_them_all(mysql_server: MySqlServer, shop: Connection) -> None:
    audit(shop, "create table t (id varchar(9) character set utf8mb4 primary key)")
    [[database]] = rows(shop, "select database()")
    with mysql_server.connect(database, charset="latin1") as latin:
        context = {"né": "😀"}
        with acting("mära😀", tenant="€", context=context):
            execute(with_audit(latin), "insert into t values (_utf8mb4 x'F09F9880')")
        [entry] = query().list(latin).data
        assert (entry.record_id, entry.actor_id, entry.tenant_id) == ("😀", "mära😀", "€")
        assert entry.after_data == {"id": "😀"}
        assert entry.context == context


def test_an_entry_has_the_time_of_its_row_and_not_of_its_statement(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key)")
    run(shop, "set time_zone = '-11:00'", "insert into t select 1 union all select 2 + sleep(0.05)")
    run(shop, "set time_zone = default")
    first, second = (time for (time,) in facts(shop, "timestamp"))
    assert 0 < (second - first).total_seconds() < 30
    run(
        shop, "set timestamp = 2147480000", "insert into t values (3)", "set timestamp = 10", "insert into t values (4)"
    )
    run(shop, "set timestamp = default")
    for extreme in ("min", "max"):
        [(age,)] = rows(
            shop, f"select timestampdiff(second, {extreme}(`timestamp`), utc_timestamp()) from svc.audit_logs"
        )
        assert 0 <= age < 30


def test_a_failing_entry_stops_the_write_or_warns(shop: Connection) -> None:
    """An entry fails here because another trigger of the log refuses it."""
    refusal = "create trigger svc.refusal before insert on svc.audit_logs for each row signal sqlstate '45000'"
    audit(shop, "create table t (id int primary key)")
    run(shop, refusal + " set message_text = 'full'")
    try:
        for statement in ("insert into t values (1)", "insert ignore into t values (1)"):
            with pytest.raises(pymysql.OperationalError, match="full"):
                run(shop, statement)
        run(shop, "drop trigger svc.refusal")
        audit(shop, "create table t (id int primary key, n int)", on_error="warn")
        run(shop, refusal + " set message_text = 'full'")
        run(shop, "insert into t values (1, 1), (2, 2)", "update t set n = 3", "delete from t where id = 1")
    finally:
        run(shop, "drop trigger if exists svc.refusal")
    assert rows(shop, "select * from t") == [(2, 3)]
    assert entries(shop) == []


def test_a_warning_hides_no_deadlock(shop: Connection) -> None:
    """It has rolled the application's transaction back, so the application must hear of it."""
    audit(shop, "create table t (id int primary key)", on_error="warn")
    run(
        shop,
        "create trigger svc.deadlock before insert on svc.audit_logs for each row"
        " signal sqlstate '40001' set mysql_errno = 1213, message_text = 'Deadlock found'",
    )
    try:
        with pytest.raises(pymysql.OperationalError, match="Deadlock found"):
            run(shop, "insert into t values (1)")
    finally:
        run(shop, "drop trigger svc.deadlock")
    assert rows(shop, "select * from t") == []
