"""Install into MySQL and MariaDB: in steps of which each holds alone, for one database of several on a server."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pymysql
import pytest

from cli.database import open_database
from svc_pg.audit import actor
from svc_pg.config import AuditConfig, AuditedTable, Config
from svc_pg.database.dbapi import rows
from svc_pg.errors import (
    AccessError,
    ConfigError,
    DatabaseNewerError,
    InstallError,
    MigrationChangedError,
    RemovalRefusedError,
    TransactionError,
    UnknownTableError,
)
from svc_pg.other_databases.schema.mysql.backfill import backfill
from svc_pg.other_databases.schema.mysql.differences import status
from svc_pg.other_databases.schema.mysql.install import install, uninstall
from svc_pg.schema import plan
from tests.support.commands import svc_pg
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, audit, entries, facts, purge, remake, run

TABLE = "create table t (id int primary key, v varchar(20))"
CHILD = "create table child (id int primary key, t int, foreign key (t) references t (id) on delete cascade)"


def config(*names: str, **rules: Any) -> Config:
    tables = [AuditedTable.model_validate({"name": name} | rules) for name in names]
    return Config(audit=AuditConfig(tables=tables))


def states(conn: Connection, wanted: Config) -> dict[str, str]:
    """The state of everything that is not ok, by its name without the database."""
    found = [step for step in status(conn, wanted) if step.state != "ok"]
    return {step.identity.replace(f"{database(conn)}.", ""): step.state for step in found}


def database(conn: Connection) -> str:
    [(name,)] = rows(conn, "select database()")
    return str(name)


@pytest.fixture
def other(mysql_server: MySqlServer, shop: Connection) -> Iterator[Connection]:
    """A connection to another database of the server."""
    name = f"{database(shop)}_2"
    run(shop, f"create database {name}")
    with mysql_server.connect(name) as conn:
        yield conn
    run(shop, f"drop database {name}")


@pytest.fixture
def limited(mysql_server: MySqlServer, shop: Connection) -> Iterator[Connection]:
    """A connection of somebody who may install, and is no superuser; the server trusts who makes triggers."""
    name = database(shop)
    run(
        shop,
        "drop user if exists installer@'127.0.0.1'",
        "create user installer@'127.0.0.1' identified by 'pw'",
        "grant all privileges on svc.* to installer@'127.0.0.1'",
        f"grant select, trigger, lock tables on {name}.* to installer@'127.0.0.1'",
        "set global log_bin_trust_function_creators = 1",
    )
    with mysql_server.connect(name, user="installer", password="pw") as conn:
        yield conn
    run(shop, "drop user installer@'127.0.0.1'", "set global log_bin_trust_function_creators = 0")


def test_an_install_is_ok_at_once_and_changes_nothing_a_second_time(shop: Connection) -> None:
    remake(shop, TABLE)
    run(shop, "drop database if exists svc", "set sql_mode = 'ANSI_QUOTES', collation_connection = latin1_swedish_ci")
    before = rows(shop, "select @@sql_mode, @@collation_connection, @@lock_wait_timeout")
    planned = plan(shop, config("t"))
    assert [step.action for step in planned] == ["create"] * 9
    assert [step.identity for step in install(shop, config("t"))] == [step.identity for step in planned]
    assert (install(shop, config("t")), states(shop, config("t"))) == ([], {})
    assert rows(shop, "select @@sql_mode, @@collation_connection, @@lock_wait_timeout") == before
    run(shop, "set sql_mode = default, names utf8mb4")


def test_triggers_of_an_account_that_was_dropped_are_made_anew(mysql_server: MySqlServer, shop: Connection) -> None:
    remake(shop, TABLE)
    run(shop, "drop database if exists svc", "drop user if exists gone@'127.0.0.1'", "create user gone@'127.0.0.1'")
    run(shop, "grant all privileges on *.* to gone@'127.0.0.1'")
    with mysql_server.connect(database(shop), user="gone") as conn:
        install(conn, config("t"))
    run(shop, "drop user gone@'127.0.0.1'")
    with pytest.raises(pymysql.Error, match="gone"):
        run(shop, "insert into t values (1, 1)")
    assert [step.state for step in install(shop, config("t"))] == ["outdated"] * 5
    run(shop, "insert into t values (1, 1)")
    assert states(shop, config("t")) == {}


@pytest.mark.parametrize(
    ("right", "place"), [("insert", "svc"), ("trigger", None), ("select", None)], ids=["insert", "trigger", "select"]
)
def test_triggers_of_an_account_that_has_lost_a_right_are_made_anew(
    shop: Connection, limited: Connection, right: str, place: str | None
) -> None:
    remake(shop, TABLE)
    run(shop, "drop database if exists svc")
    install(limited, config("t"))
    run(shop, f"revoke {right} on {place or database(shop)}.* from installer@'127.0.0.1'")
    with pytest.raises(pymysql.Error, match="denied"):
        run(shop, "insert into t values (1, 1)")
    told = {step.note for step in status(shop, config("t")) if step.audited_table and step.state == "outdated"}
    where = "svc.audit_logs" if place else f"{database(shop)}.t"
    reason = f"to whom {right.upper()} on {where} is denied"
    assert told == {f"every write fails while its triggers run as installer@127.0.0.1, {reason}"}
    with pytest.raises((InstallError, AccessError), match=r"denied|may not see the columns"):
        install(limited, config("t"))
    install(shop, config("t"))
    run(shop, "insert into t values (1, 1)")
    assert states(shop, config("t")) == {}


@pytest.mark.usefixtures("limited")
def test_rights_that_triggers_would_not_have_are_not_enough(mysql_server: MySqlServer, shop: Connection) -> None:
    """Triggers have no rights of roles on MariaDB, and on MySQL those of default roles."""
    remake(shop, TABLE)
    run(shop, "drop database if exists svc", "drop role if exists deployer", "create role deployer")
    name, account = database(shop), "installer@'127.0.0.1'"
    run(
        shop,
        *(f"grant all privileges on {place}.* to deployer" for place in ("svc", name)),
        *(f"revoke all privileges on {place}.* from {account}" for place in ("svc", name)),
        f"grant deployer to {account}",
        f"set default role deployer {'to' if mysql_server.kind == 'mysql' else 'for'} {account}",
    )
    with mysql_server.connect(name, user="installer", password="pw") as conn:
        if mysql_server.kind == "mysql":
            install(conn, config("t"))
            assert states(conn, config("t")) == states(shop, config("t")) == {}
        else:
            with pytest.raises(InstallError, match=r"is denied to installer@127\.0\.0\.1 itself"):
                install(conn, config("t"))
    run(shop, "insert into t values (1, 1)", "drop role deployer", "drop database if exists svc")


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [
        ("drop trigger 00_svc_audit_insert_t", {"00_svc_audit_insert_t on t": "missing"}),
        (
            "alter table t add w int",
            {f"00_svc_audit_{each}_t on t": "outdated" for each in ("insert", "update", "delete")},
        ),
        (
            "alter table t drop v",
            {f"00_svc_audit_{each}_t on t": "outdated" for each in ("insert", "update", "delete")},
        ),
        ("drop trigger svc.audit_guard_delete", {"audit_guard_delete on svc.audit_logs": "missing"}),
        ("create trigger svc.own before insert on svc.audit_logs for each row set new.label = 'x'", "own"),
    ],
)
def test_a_status_tells_what_differs_and_an_install_mends_it(shop: Connection, ddl: str, expected: Any) -> None:
    audit(shop, TABLE)
    run(shop, ddl)
    if expected == "own":
        assert states(shop, config("t")) == {"own on svc.audit_logs": "orphan"}
        with pytest.raises(RemovalRefusedError, match="audit_logs"):
            install(shop, config("t"))
    else:
        assert states(shop, config("t")) == expected
    install(shop, config("t"), prune=True)
    assert states(shop, config("t")) == {}
    run(shop, "insert into t (id) values (1)")
    assert facts(shop, "operation") == [("INSERT",)]


def test_a_trigger_that_somebody_has_made_anew_is_tampered_with(shop: Connection) -> None:
    audit(shop, TABLE)
    [(body,)] = rows(
        shop,
        "select action_statement from information_schema.triggers"
        " where trigger_schema = database() and trigger_name = '00_svc_audit_insert_t'",
    )
    name, ours = "00_svc_audit_insert_t", str(body).replace("%", "%%")
    for definer, text in (("root@'127.0.0.1'", "begin end"), ("nobody@'127.0.0.1'", ours.replace("%%", "%"))):
        run(shop, f"drop trigger {name}")
        run(shop, f"create definer = {definer} trigger {name} after insert on t for each row {text}")
        assert states(shop, config("t")) == {f"{name} on t": "tampered"}
        install(shop, config("t"))
        assert states(shop, config("t")) == {}


def test_a_renamed_table_records_on_under_its_old_name_until_the_next_install(shop: Connection) -> None:
    audit(shop, TABLE)
    run(shop, "rename table t to u", "insert into u values (1, 'a')")
    with pytest.raises(UnknownTableError, match="does not exist"):
        install(shop, config("t"))
    assert {step.moved_to for step in status(shop, config("u")) if step.state == "orphan"} == {f"{database(shop)}.u"}
    install(shop, config("u"))
    assert states(shop, config("u")) == {}
    run(shop, "insert into u values (2, 'a')")
    assert [name.split(".")[1] for (name,) in facts(shop, "table_name")] == ["t", "u"]
    run(shop, "drop table u")
    install(shop, Config(), prune=True)
    assert states(shop, Config()) == {}


def test_a_table_that_takes_the_place_of_another_is_recorded_in_its_stead(shop: Connection) -> None:
    """As tools that change tables online do it: the triggers go along with the old one."""
    audit(shop, TABLE)
    run(shop, "create table new like t", "rename table t to old, new to t")
    install(shop, config("t"))
    assert states(shop, config("t")) == {}
    run(shop, "insert into t values (1, 'a')", "insert into old values (2, 'b')")
    assert [name.split(".")[1] for (name,) in facts(shop, "table_name")] == ["t"]


def test_captures_are_removed_with_prune_only(shop: Connection) -> None:
    audit(shop, TABLE, CHILD, tables=["t", "child"])
    with pytest.raises(RemovalRefusedError, match=r"\.t"):
        install(shop, config("child"))
    install(shop, config("child"), prune=True)
    assert states(shop, config("child")) == {}
    run(shop, "insert into t values (1, 'x')", "insert into child values (1, 1)", "delete from t")
    assert facts(shop, "operation", "record_id") == [("INSERT", "1"), ("DELETE", "1")]


def test_two_databases_of_a_server_share_the_log_and_nothing_else(shop: Connection, other: Connection) -> None:
    remake(shop, TABLE)
    remake(other, TABLE, "create table mine (id int primary key)")
    run(shop, "drop database if exists svc")
    install(shop, config("t"))
    installed = install(other, config("t", "mine"))
    assert {step.kind for step in installed} == {"trigger"}
    assert len(installed) == 6
    assert (states(shop, config("t")), states(other, config("t", "mine"))) == ({}, {})
    with pytest.raises(ConfigError, match="is audited from database"):
        install(shop, config("t", f"{database(other)}.mine"))
    run(shop, "insert into t values (1, 'x')")
    run(other, "insert into mine values (1)")
    assert facts(shop, "table_name") == [(f"{database(shop)}.t",), (f"{database(other)}.mine",)]
    with pytest.raises(InstallError, match="other databases too"):
        uninstall(shop, drop_data=True)
    assert len(uninstall(shop)) == 3
    assert states(other, config("t", "mine")) == {}
    run(shop, "insert into t values (2, 'x')")
    run(other, "insert into mine values (2)")
    assert len(entries(shop)) == 3
    with pytest.raises(pymysql.OperationalError, match="append-only"):
        run(shop, "delete from svc.audit_logs")
    assert [step.kind for step in uninstall(other, drop_data=True)][-1] == "schema"
    assert rows(shop, "show databases like 'svc'") == []
    assert uninstall(shop) == []
    install(shop, config("t"))


def test_a_table_of_another_database_is_audited_by_its_full_name(shop: Connection, other: Connection) -> None:
    remake(other, TABLE)
    audit(shop, "create table u (id int primary key)", tables=[f"{database(other)}.t", "public.u"])
    run(other, "insert into t values (1, 'x')")
    assert facts(shop, "table_name") == [(f"{database(other)}.t",)]
    install(shop, config("u"), prune=True)
    run(other, "insert into t values (2, 'x')")
    assert len(entries(shop)) == 1


def test_an_install_that_is_killed_goes_on_where_it_was(mysql_server: MySqlServer, shop: Connection) -> None:
    """After every second step: all that is there already is known, and the next install makes the rest."""
    wanted = config("t", "child")
    for steps in range(1 if mysql_server.kind == "mysql" else 2, 60, 2):
        remake(shop, TABLE, CHILD)
        run(shop, "drop database if exists svc")
        with mysql_server.connect(database(shop)) as conn:
            try:
                install(KilledAfter(conn, steps, shop), wanted)
            except (InstallError, pymysql.Error):
                pass
            else:
                break
        known = {step.state for step in status(shop, wanted)}
        assert known <= {"ok", "missing", "tampered"}, steps  # the last: made, and killed before the record
        install(shop, wanted)
        assert states(shop, wanted) == {}, steps
    assert steps > 20
    run(shop, "insert into t values (1, 'x')", "insert into child values (1, 1)", "delete from t")
    assert facts(shop, "operation") == [("INSERT",), ("INSERT",), ("DELETE",), ("DELETE",)]


class KilledAfter:
    """A connection that the server ends after so many statements that change something."""

    def __init__(self, conn: Connection, steps: int, killer: Connection) -> None:
        self._conn, self._left, self._killer = conn, steps, killer
        [(self._id,)] = rows(conn, "select connection_id()")

    def cursor(self) -> "KilledAfter._Cursor":
        return self._Cursor(self)

    class _Cursor:
        def __init__(self, outer: "KilledAfter") -> None:
            self._outer, self._cursor = outer, outer._conn.cursor()

        def execute(self, statement: str, params: Any = None) -> None:
            outer = self._outer
            if not statement.lstrip().startswith(("select", "set", "show")):
                outer._left -= 1
                if outer._left == 0:
                    run(outer._killer, f"kill {outer._id}")
            self._cursor.execute(statement, params)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._cursor, name)


def test_writers_never_see_a_table_without_its_triggers(mysql_server: MySqlServer, shop: Connection) -> None:
    """While triggers are exchanged, a writer waits: every row has its entry."""
    audit(shop, "create table t (id int auto_increment primary key)")
    stop, failed = Event(), []

    name = database(shop)

    def write() -> None:
        with mysql_server.connect(name) as conn:
            while not stop.is_set():
                try:
                    run(conn, "insert into t values ()")
                except pymysql.Error as error:
                    failed.append(error)

    writer = Thread(target=write)
    writer.start()
    try:
        for number in range(6):
            install(shop, config("t", enrich=[{"label": f"rule {number}"}]))
    finally:
        stop.set()
        writer.join()
    assert failed == []
    [(count,)] = rows(shop, "select count(*) from t")
    assert len(entries(shop)) == count > 6


def test_two_installs_wait_for_each_other(mysql_server: MySqlServer, shop: Connection) -> None:
    remake(shop, TABLE)
    with mysql_server.connect(database(shop)) as conn:
        assert rows(conn, "select get_lock('svc-pg', 1)") == [(1,)]
        with pytest.raises(InstallError, match="another install"):
            install(shop, config("t"), prune=True, wait_for_install=timedelta(seconds=0))


def test_a_table_that_stays_locked_is_named_and_the_rest_is_installed(
    mysql_server: MySqlServer, shop: Connection
) -> None:
    remake(shop, TABLE, "create table u (id int primary key)")
    with mysql_server.connect(database(shop), autocommit=False) as conn:
        run(conn, "select * from t")
        with pytest.raises(InstallError, match=r"not installed: \S+\.t \(the rest is\)"):
            install(shop, config("t", "u"), prune=True, wait_for_table=timedelta(seconds=0))
    assert set(states(shop, config("t", "u")).values()) == {"missing"}
    install(shop, config("t", "u"))
    assert states(shop, config("t", "u")) == {}


def test_an_install_needs_no_superuser_and_an_application_no_rights_on_the_log(
    mysql_server: MySqlServer, shop: Connection, limited: Connection
) -> None:
    remake(shop, TABLE)
    run(shop, "drop database if exists svc")
    install(limited, config("t"))
    assert states(limited, config("t")) == {}
    name = database(shop)
    run(
        shop,
        "drop user if exists app@'127.0.0.1'",
        "create user app@'127.0.0.1' identified by 'pw'",
        f"grant select, insert, update, delete on {name}.* to app@'127.0.0.1'",
    )
    with mysql_server.connect(name, user="app", password="pw") as app:
        run(app, "insert into t values (1, 'a')", "update t set v = 'b'", "delete from t")
        with pytest.raises(AccessError, match="may not read schema svc"):
            states(app, config("t"))
        with pytest.raises(AccessError, match="may not read schema svc"):
            uninstall(app)
        for statement in (
            "select * from svc.audit_logs",
            "insert into svc.audit_logs (table_name) values ('x')",
            "delete from svc.audit_logs",
            "truncate t",
            "drop trigger 00_svc_audit_insert_t",
            "set global log_bin_trust_function_creators = 1",
        ):
            with pytest.raises(pymysql.OperationalError, match="denied"):
                run(app, statement)
    run(shop, "drop user app@'127.0.0.1'")
    assert facts(shop, "operation", "db_user") == [(each, "app@127.0.0.1") for each in ("INSERT", "UPDATE", "DELETE")]
    for statement in (
        "delete from svc.audit_logs",
        "update svc.audit_logs set actor_id = 'x'",
        "replace into svc.audit_logs (id, `timestamp`, table_name, operation) values (1, now(), 'x', 'DELETE')",
    ):
        with pytest.raises(pymysql.OperationalError, match="append-only"):
            run(limited, statement)
    run(shop, "drop database if exists svc")  # whose triggers are another user's


def test_what_a_server_does_not_allow_is_said_before_anything_is_changed(shop: Connection, limited: Connection) -> None:
    remake(shop, TABLE)
    run(shop, "drop database if exists svc", "set global log_bin_trust_function_creators = 0")
    with pytest.raises(InstallError, match="lets you make no triggers") as refused:
        install(limited, config("t"))
    assert "log_bin_trust_function_creators" in str(refused.value.hint)
    run(shop, "set session binlog_format = STATEMENT")
    with pytest.raises(InstallError, match="STATEMENT"):
        install(shop, config("t"))
    run(shop, "set session binlog_format = ROW")
    assert rows(shop, "show databases like 'svc'") == []
    run(
        shop,
        "set global log_bin_trust_function_creators = 1",
        "revoke all privileges on svc.* from installer@'127.0.0.1'",
    )
    with pytest.raises(InstallError, match="denied") as refused:
        install(limited, config("t"))
    assert "SELECT, TRIGGER and LOCK TABLES" in str(refused.value.hint)


def test_a_connection_in_a_transaction_and_one_without_a_database_are_refused(
    mysql_server: MySqlServer, shop: Connection
) -> None:
    remake(shop, TABLE)
    run(shop, "begin", "insert into t values (1, 'a')")
    with pytest.raises(TransactionError):
        install(shop, config("t"))
    run(shop, "rollback")
    assert rows(shop, "select * from t") == []
    with mysql_server.connect() as conn, pytest.raises(ConfigError, match="no database"):
        install(conn, config("t"))
    with mysql_server.connect(database(shop), charset="latin1") as conn, pytest.raises(ConfigError, match="latin1"):
        install(conn, config("t"))


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("update svc.installation set version = '99.0'", DatabaseNewerError),
        ("update svc.migrations set sha256 = 'x' where number = 2", MigrationChangedError),
        ("insert into svc.migrations values (9, 'later', 'x', now())", DatabaseNewerError),
        ("alter table svc.audit_logs drop column label", InstallError),
        ("drop table svc.audit_hash_key", InstallError),
    ],
)
def test_a_schema_that_is_not_this_program_s_is_left_alone(
    shop: Connection, statement: str, error: type[InstallError]
) -> None:
    remake(shop, TABLE)
    install(shop, config("t"), prune=True)
    run(shop, statement)
    with pytest.raises(error):
        install(shop, config("t"))
    run(shop, "drop database if exists svc", "create database svc", "create table svc.own (id int)")
    with pytest.raises(InstallError, match="svc-pg did not make it"):
        install(shop, config("t"))
    run(shop, "drop database if exists svc")


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["missing", "T"], UnknownTableError, "missing.*\n.*T"),
        (["seen"], UnknownTableError, "is a view"),
        (["flat"], ConfigError, "without transactions"),
        (["mysql.user"], UnknownTableError, "belongs to the server"),
        (["svc.audit_logs"], UnknownTableError, "belongs to svc-pg"),
    ],
)
def test_what_cannot_be_audited_is_named(
    shop: Connection, names: list[str], error: type[Exception], message: str
) -> None:
    remake(shop, TABLE, "create table flat (id int primary key) engine = MyISAM")
    run(shop, "create or replace view seen as select * from t")
    with pytest.raises(error, match=message):
        install(shop, config(*names), prune=True)
    run(shop, "drop view seen")


def test_a_backfill_writes_what_the_log_does_not_know_once(shop: Connection) -> None:
    audit(shop, TABLE, "create table bare (v int)", tables={"t": {"redact": {"v": "hash"}}, "bare": {}})
    wanted = Config(audit=AuditConfig(tables=[AuditedTable(name="t", redact={"v": "hash"}), AuditedTable(name="bare")]))
    name = database(shop)
    run(shop, "insert into t values (1, 'x'), (2, null), (3, 'y'), (4, 'z')", "insert into bare values (1), (1)")
    purge(shop)
    run(shop, "update t set v = 'w' where id = 3", "delete from t where id = 4")
    run(shop, "set @svc_actor_id = 'amy'")
    assert backfill(shop, wanted) == {f"{name}.t": 2, f"{name}.bare": 2}
    assert backfill(shop, wanted) == {f"{name}.t": 0, f"{name}.bare": 0}
    run(shop, "set @svc_actor_id = null")
    found = facts(shop, "table_name", "operation", "record_id", "actor_id")[2:]
    assert sorted(found, key=str) == [
        (f"{name}.bare", "SNAPSHOT", None, "amy"),
        (f"{name}.bare", "SNAPSHOT", None, "amy"),
        (f"{name}.t", "SNAPSHOT", "1", "amy"),
        (f"{name}.t", "SNAPSHOT", "2", "amy"),
    ]
    [first] = [entry for entry in entries(shop) if entry["record_id"] == "1"]
    assert len(first["after_data"]["v"]) == 64
    assert first["redacted_fields"] == ["v"]


def test_a_backfill_leaves_out_what_an_insert_would(shop: Connection) -> None:
    ddl = "create table t (id int primary key, status varchar(9))"
    config = audit(shop, ddl, record_when={"after": {"status": "live"}})
    run(shop, "insert into t values (1, 'live'), (2, 'draft')")
    purge(shop)
    assert [backfill(shop, config) for _ in range(2)] == [{f"{database(shop)}.t": n} for n in (1, 0)]
    said = {each.identity: each.leaves_out for each in status(shop, config) if each.leaves_out}
    assert [*said] == [f"00_svc_audit_{kind}_t on {database(shop)}.t" for kind in ("insert", "update", "delete")]
    assert {*said.values()} == {'entries only when {"after": {"status": {"eq": "live"}}}'}


def test_a_command_tells_what_the_server_says(mysql_server: MySqlServer, shop: Connection, tmp_path: Path) -> None:
    audit(shop, TABLE)
    run(shop, "insert into t values (1, 'a')", "alter table svc.audit_logs rename column label to words")
    failed = svc_pg("log", "--database-url", mysql_server.address(database(shop)), folder=tmp_path)
    run(shop, "alter table svc.audit_logs rename column words to label")
    assert failed.stderr.startswith("error: the server says: Unknown column")


def test_a_command_tells_that_it_lost_the_server(mysql_server: MySqlServer, shop: Connection) -> None:
    def lose() -> None:
        with open_database(mysql_server.address(database(shop))) as conn, actor(conn, "ops"):
            run(shop, f"kill {conn.thread_id()}")
            rows(conn, "select sleep(9)")

    with pytest.raises(pymysql.OperationalError):
        lose()
