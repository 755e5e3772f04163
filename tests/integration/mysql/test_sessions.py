"""Settings of a session neither falsify the log of MySQL and MariaDB nor stop its writers."""

from hashlib import sha256

import pymysql
import pytest

from svc_pg.audit import capture_log
from svc_pg.database.dbapi import rows
from svc_pg.other_databases.schema.mysql.differences import status
from svc_pg.other_databases.schema.mysql.install import install
from svc_pg.other_databases.schema.mysql.sql_script import script
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, audit, facts, run

TABLE = "create table t (id int primary key, v varchar(20))"
PARENT = "create table parent (id int primary key)"
BELOW = "create table below (id int primary key, p int, foreign key (p) references parent (id) on update cascade)"
CHILD = "create table child (id int primary key, p int, foreign key (p) references parent (id) on delete cascade)"


@pytest.mark.parametrize("chosen", [1, 1000, 2**63, 2**64 - 2, 2**64 - 1])
def test_a_session_does_not_choose_the_ids_of_entries(shop: Connection, chosen: int) -> None:
    config = audit(shop, TABLE, PARENT, CHILD, tables=["t", "parent", "child"])
    run(shop, "insert into t values (0, 'a')")
    for statement in (
        "insert into t values (1, 'a'), (2, 'b')",
        "update t set v = 'c'",
        "insert into parent values (1)",
        "insert into child values (1, 1), (2, 1)",
        "delete from parent",
        "delete from t",
    ):
        run(shop, f"set insert_id = {chosen}", statement)
    ids = [entry_id for (entry_id,) in facts(shop, "id")]
    assert (len(ids), ids[-1] - ids[0]) == (15, 14)
    assert [state.identity for state in status(shop, config) if state.state != "ok"] == []


def test_an_insert_id_of_the_application_is_that_of_its_row(shop: Connection) -> None:
    audit(shop, "create table t (id int auto_increment primary key, n int)", on_error="warn")
    for chosen in (500, 7):
        run(shop, f"set insert_id = {chosen}", "insert into t (n) values (1), (2)")
    assert rows(shop, "select id from t order by id") == [(7,), (8,), (500,), (501,)]
    assert [record for (record,) in facts(shop, "record_id")] == ["500", "501", "7", "8"]


@pytest.mark.parametrize("on_error", ["raise", "warn"])
@pytest.mark.parametrize("mode", ["NO_AUTO_VALUE_ON_ZERO", "STRICT_ALL_TABLES", ""])
def test_no_entry_has_the_id_0(mysql_server: MySqlServer, shop: Connection, mode: str, on_error: str) -> None:
    tables = ["t", "parent", "child", "below"]
    config = audit(shop, TABLE, PARENT, CHILD, BELOW, tables=tables, on_error=on_error)
    run(shop, f"set sql_mode = '{mode}'")
    statements = (
        "insert into t values (1, 'a'), (2, 'b')",
        "insert ignore into t values (2, 'b'), (3, 'c')",
        "update ignore t set v = 'd' where id = 1",
        "replace into t values (1, 'e')",
        "insert into parent values (1)",
        "insert into child values (1, 1), (2, 1)",
        "delete from parent",
        "delete from t",
        "insert into parent values (3)",
        "insert into below values (1, 3), (2, 3)",
        "update parent set id = 4",
    )
    for statement in statements:
        run(shop, "set insert_id = 0")
        if mysql_server.kind == "mysql":
            with pytest.raises(pymysql.Error, match="insert_id = 0, which would be the id of an entry"):
                run(shop, statement)
        run(shop, statement)
    ids = [entry_id for (entry_id,) in facts(shop, "id")]
    assert ids == sorted(set(ids))
    assert (len(ids), 0 in ids) == (21, False)
    assert [state.identity for state in status(shop, config) if state.state != "ok"] == []
    run(shop, "set sql_mode = default")


def test_an_entry_that_an_earlier_version_gave_the_id_0_is_told_and_mended(shop: Connection) -> None:
    config = audit(shop, TABLE)
    run(shop, "insert into t values (1, 'a')")
    values = "0, '2026-01-01', 'x.t', 'INSERT'"
    run(shop, "set sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
    run(shop, f"insert into svc.audit_logs (id, timestamp, table_name, operation) values ({values})")
    run(shop, "set sql_mode = default")
    assert "ids of svc.audit_logs" in [state.identity for state in status(shop, config) if state.state != "ok"]
    install(shop, config)
    first, second = [entry_id for (entry_id,) in facts(shop, "id")]
    assert second == first + 1
    assert install(shop, config) == []


def test_a_counter_at_its_end_is_told_and_mended(shop: Connection) -> None:
    config = audit(shop, TABLE)
    run(shop, "insert into t values (1, 'a')")
    values = "'2026-01-01', 'x.t', 'INSERT'"
    run(shop, f"insert into svc.audit_logs (id, timestamp, table_name, operation) values ({2**64 - 2}, {values})")
    with pytest.raises(pymysql.Error, match="auto-increment"):
        run(shop, "insert into t values (2, 'b')")
    [wrong] = [state for state in status(shop, config) if state.state != "ok"]
    assert (wrong.identity, wrong.action) == ("ids of svc.audit_logs", "replace")
    assert str(2**64 - 1) in (wrong.note or "")
    assert [step.identity for step in install(shop, config)] == ["ids of svc.audit_logs"]
    run(shop, "insert into t values (2, 'b')")
    found = facts(shop, "id", "table_name")
    assert [found[n + 1][0] - found[n][0] for n in range(2)] == [1, 1]
    assert found[1][1] == "x.t"
    assert install(shop, config) == []
    with pytest.raises(pymysql.Error, match="append-only"):
        run(shop, "set @svc_renumber = 5", "update svc.audit_logs set actor_id = 'x'")
    run(shop, "set @svc_renumber = null")


def test_a_counter_that_a_rollback_left_at_its_end_is_mended_by_a_script_too(shop: Connection) -> None:
    config = audit(shop, TABLE)
    values = f"{2**64 - 2}, '2026-01-01', 'x.t', 'INSERT'"
    chosen = f"insert into svc.audit_logs (id, timestamp, table_name, operation) values ({values})"
    run(shop, "begin", chosen, "rollback")
    with pytest.raises(pymysql.Error, match="auto-increment"):
        run(shop, "insert into t values (2, 'b')")
    made = script(shop, config)
    assert made is not None
    run(shop, *made.split(made.upgrade))
    run(shop, "insert into t values (2, 'b')")
    assert script(shop, config) is None


@pytest.mark.parametrize("on_error", ["raise", "warn"])
def test_a_session_that_logs_statements_is_refused(
    mysql_server: MySqlServer, mysql_database: str, shop: Connection, on_error: str
) -> None:
    audit(shop, TABLE, PARENT, CHILD, tables=["t", "child"], on_error=on_error)
    run(shop, "insert into t values (1, 'a')", "insert into parent values (1)", "insert into child values (1, 1)")
    with mysql_server.connect(mysql_database) as conn:
        run(conn, "set binlog_format = 'STATEMENT'")
        for statement in (
            "update t set v = 'b'",
            "delete from t",
            "insert into t values (2, 'a')",
            "delete from parent",
        ):
            with pytest.raises(pymysql.Error, match="binlog_format is STATEMENT"):
                run(conn, statement)
        run(conn, "set sql_log_bin = 0", "update t set v = 'b'")
    assert len(facts(shop, "id")) == 3


@pytest.mark.parametrize("is_captured", [True, False], ids=["trigger", "capture_log"])
def test_variables_of_any_type_are_recorded(
    mysql_server: MySqlServer, mysql_database: str, shop: Connection, *, is_captured: bool
) -> None:
    rules = [{"description": "by {actor_id} of {tenant_id}"}]
    audit(shop, "create table t (id int auto_increment primary key)", enrich=rules)
    kinds = {
        "0": "0",
        "12.50": "12.50",
        "1e300": "1e300",
        "true": "1",
        "''": None,
        "null": None,
        "'  '": "  ",
        "_latin1 x'e9'": "é",
        "_utf8mb4 x'F09F9880'": "😀",
        "convert('ä' using utf16)": "ä",
        "_binary'ab'": "ab",
        "_binary x'c3a9'": "é",
        "x'ff00'": "\\xff00",
        "repeat(x'ff', 600)": "\\x" + "ff" * 255,
        "date '2026-01-02'": "2026-01-02",
        "repeat('é', 513)": "é" * 511 + "…",
        "18446744073709551615": "18446744073709551615",
    }
    for value in kinds:
        with mysql_server.connect(mysql_database) as conn:  # MySQL rounds a decimal where an integer was before
            run(conn, f"set @svc_actor_id = {value}, @svc_tenant_id = {value}")
            run(conn, "insert into t values ()") if is_captured else capture_log(conn, "files", "DELETE")
    assert facts(shop, "actor_id", "tenant_id") == [(text, text) for text in kinds.values()]
    if is_captured:
        expected = [f"by {text or ''} of {text or ''}" for text in kinds.values()]
        assert [description for (description,) in facts(shop, "description")] == expected


@pytest.mark.parametrize("is_captured", [True, False], ids=["trigger", "capture_log"])
def test_contexts_of_any_kind_are_recorded(shop: Connection, *, is_captured: bool) -> None:
    audit(shop, "create table t (id int auto_increment primary key)")
    deep = "[" * 200 + "]" * 200
    kinds = {
        "'{\"a\": [1]}'": {"a": [1]},
        "'no json'": "no json",
        "'{\"a\"'": '{"a"',
        "7": 7,
        "''": None,
        "x'ff'": "\\xff",
        f"'{deep}'": deep,
        "_latin1 x'22e922'": "é",
        "concat('\"', repeat('x', 65534), '\"')": {
            "oversized": True,
            "bytes": 65536,
            "sha256": sha256(b'"' + b"x" * 65534 + b'"').hexdigest(),
        },
    }
    for value in kinds:
        run(shop, f"set @svc_context = {value}, @svc_xact_id = 'abc'")
        run(shop, "insert into t values ()") if is_captured else capture_log(shop, "files", "DELETE")
    assert [context for (context,) in facts(shop, "context")] == list(kinds.values())
    run(shop, "set @svc_context = null, @svc_xact_id = 77")
    run(shop, "insert into t values ()")
    assert facts(shop, "xact_id")[-1] == (77,)
    run(shop, "set @svc_xact_id = null")
