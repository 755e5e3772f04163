"""A replay of the binary log into a restored server: the same entries, once, beside triggers that do not fire."""

import pytest

from svc_pg.database.dbapi import rows
from svc_pg.other_databases.schema.mysql.backfill import backfill
from svc_pg.other_databases.schema.mysql.differences import status
from svc_pg.other_databases.schema.mysql.install import install
from tests.support import mysql_binlog
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, audit, facts, run

TABLES = (
    "create table t (id int auto_increment primary key, v varchar(20))",
    "create table parent (id int primary key)",
    "create table child (id int primary key, p int, foreign key (p) references parent (id) on delete cascade)",
    "create table plain (id int auto_increment primary key, n int)",
)
WRITES = (
    "set insert_id = 70",
    "insert into t (v) values ('a'), ('b')",
    "update t set v = 'c'",
    "insert into plain (n) values (1), (2)",
    "insert into parent values (1)",
    "insert into child values (1, 1), (2, 1)",
    "delete from parent",
    "begin",
    "insert into t (v) select n from plain",
    "insert into plain (n) select n from plain",
    "commit",
    "update plain, t set plain.n = 9, t.v = 'multi'",
    "delete from t where id = 70",
)


def restored(shop: Connection, name: str) -> None:
    """Go back to the time before the tables and the log."""
    run(shop, "drop database if exists svc", f"drop database {name}", f"create database {name} character set utf8mb4")
    run(shop, f"use {name}")


@pytest.mark.parametrize("binlog_format", ["ROW", "MIXED"])
@pytest.mark.parametrize("keeps_comments", [True, False], ids=["comments", "no comments"])
def test_a_replay_of_the_binary_log_gives_every_entry_once(
    mysql_server: MySqlServer, mysql_database: str, binlog_format: str, *, keeps_comments: bool
) -> None:
    with mysql_server.connect(mysql_database) as shop:
        restored(shop, mysql_database)
        run(shop, f"set session binlog_format = '{binlog_format}'")
        mysql_binlog.begin(shop)
        config = audit(shop, *TABLES, tables=["t", "parent", "child"])
        run(shop, "set @svc_actor_id = 'amy'", *WRITES)
        names = ("id", "timestamp", "operation", "record_id", "actor_id", "before_data", "after_data")
        before = facts(shop, *names), rows(shop, "select * from t"), rows(shop, "select * from plain")
        text = mysql_binlog.printed(shop, mysql_server)
        restored(shop, mysql_database)
    with mysql_server.connect(mysql_database) as client:
        mysql_binlog.replay(client, text, keeps_comments=keeps_comments)
    with mysql_server.connect(mysql_database) as shop:
        assert (facts(shop, *names), rows(shop, "select * from t"), rows(shop, "select * from plain")) == before
        states = {state.state for state in status(shop, config)}
        assert states == ({"ok"} if keeps_comments else {"ok", "tampered"})
        install(shop, config)
        assert {state.state for state in status(shop, config)} == {"ok"}
        run(shop, "insert into t (v) values ('after')")
        last, new = facts(shop, "id", "operation")[-2:]
        assert new == (last[0] + 1, "INSERT")


def test_a_replay_of_one_database_leaves_the_entries_out_and_a_backfill_writes_the_states(
    mysql_server: MySqlServer, mysql_database: str
) -> None:
    if mysql_server.kind == "mariadb":
        pytest.skip("mariadb-binlog prints rows of several tables without their BINLOG if it leaves tables out")
    with mysql_server.connect(mysql_database) as shop:
        config = audit(shop, *TABLES, tables=["t"])
        mysql_binlog.begin(shop)
        run(shop, "insert into t values (1, 'a'), (2, 'b')", "update t set v = 'c' where id = 2")
        found = facts(shop, "record_id", "operation")
        text = mysql_binlog.printed(shop, mysql_server, f"--database={mysql_database}")
        run(shop, "set @svc_purge_before = '9999-01-01'", "delete from t", "delete from svc.audit_logs")
        run(shop, "set @svc_purge_before = null")
    assert len(found) == 3
    with mysql_server.connect(mysql_database) as client:
        mysql_binlog.replay(client, text)
    with mysql_server.connect(mysql_database) as shop:
        assert rows(shop, "select * from t order by id") == [(1, "a"), (2, "c")]
        assert facts(shop, "id") == []
        backfill(shop, config)
        assert facts(shop, "record_id", "operation") == [("1", "SNAPSHOT"), ("2", "SNAPSHOT")]
