"""Install, plan, status and uninstall in SQLite."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from svc_pg import Config, __version__, schema
from svc_pg.config import Grants, WebhooksConfig
from svc_pg.errors import (
    ConfigError,
    DatabaseNewerError,
    InstallError,
    MigrationChangedError,
    RemovalRefusedError,
    SvcError,
    TransactionError,
    UnknownTableError,
)
from svc_pg.other_databases.schema.sqlite.sql_script import script
from tests.support.sqlite import audited, config, connect, entries, run

OURS = "select name from sqlite_schema where name like '%svc\\_%' escape '\\' order by 1"
WAIT = timedelta(milliseconds=50)


def shop(conn: sqlite3.Connection) -> None:
    run(conn, ["create table customer (id integer primary key, email text unique)", "create table item (id text)"])


def states(conn: sqlite3.Connection, wanted: Config) -> dict[str, str]:
    """The objects that differ, with their states."""
    return {f"{each.kind} {each.identity}": each.state for each in schema.status(conn, wanted) if each.state != "ok"}


def test_install_makes_what_status_asks_for_and_once(conn: sqlite3.Connection) -> None:
    shop(conn)
    wanted = config("customer", "public.item")
    assert {each.state for each in schema.status(conn, wanted)} == {"missing"}
    planned = schema.plan(conn, wanted)
    assert conn.execute(OURS).fetchall() == []
    done = schema.install(conn, wanted)
    assert [(each.kind, each.identity, each.sql) for each in done] == [
        (each.kind, each.identity, each.sql) for each in planned
    ]
    before = conn.execute("select * from sqlite_schema").fetchall()
    version = conn.execute("pragma schema_version").fetchone()
    assert schema.install(conn, wanted) == []
    assert schema.plan(conn, wanted) == []
    assert states(conn, wanted) == {}
    assert conn.execute("select * from sqlite_schema").fetchall() == before
    assert conn.execute("pragma schema_version").fetchone() == version
    assert not conn.in_transaction


def test_public_and_main_mean_the_same_and_not_twice(conn: sqlite3.Connection) -> None:
    shop(conn)
    audited(conn, "customer")
    for name in (
        "public.customer",
        "main.customer",
        {"name": "public.cust*"},
        {"name": "main.*", "exclude": ["public.item"]},
    ):
        assert schema.plan(conn, config(name)) == []
    with pytest.raises(ConfigError, match=r"named twice: as public\.customer and as main\.customer"):
        schema.plan(conn, config("customer", "main.customer"))


def test_a_change_of_rules_is_outdated_and_replaces_the_triggers(conn: sqlite3.Connection) -> None:
    shop(conn)
    audited(conn, "customer")
    wanted = config({"name": "customer", "redact": ["email"]})
    assert set(states(conn, wanted).values()) == {"outdated"}
    assert {each.action for each in schema.install(conn, wanted)} == {"replace"}
    conn.execute("insert into customer values (1, 'x')")
    assert entries(conn, "after_data") == ['{"id":1}']


def test_capture_is_taken_away_only_if_asked(conn: sqlite3.Connection) -> None:
    shop(conn)
    audited(conn, "customer", "item")
    with pytest.raises(RemovalRefusedError, match=r"main\.item"):
        schema.install(conn, config("customer"))
    assert states(conn, config("customer", "item")) == {}
    assert len(schema.install(conn, config("customer"), prune=True)) == 3
    conn.execute("insert into item values ('x')")
    assert entries(conn) == []
    assert states(conn, config("customer")) == {}


def test_what_somebody_changed_is_tampered_with_and_put_right(conn: sqlite3.Connection) -> None:
    shop(conn)
    wanted = config("customer")
    schema.install(conn, wanted)
    name = '"00_svc_audit_insert_customer"'
    definition = "select sql from sqlite_schema where name = '00_svc_audit_insert_customer'"
    [[made]] = conn.execute(definition).fetchall()
    run(conn, [f"drop trigger {name}", f"create trigger {name} after insert on customer begin select 1; end"])
    run(conn, ["drop trigger svc_audit_guard_delete", "drop index svc_audit_logs_time"])
    assert states(conn, wanted) == {
        "trigger 00_svc_audit_insert_customer on main.customer": "tampered",
        "trigger svc_audit_guard_delete on main.svc_audit_logs": "missing",
        "index svc_audit_logs_time": "missing",
    }
    assert len(schema.install(conn, wanted)) == 3
    assert states(conn, wanted) == {}
    assert conn.execute("select sql from sqlite_schema where name = '00_svc_audit_insert_customer'").fetchall() == [
        (made,)
    ]


def test_what_others_add_to_our_tables_is_told_and_kept(conn: sqlite3.Connection) -> None:
    shop(conn)
    wanted = config("customer")
    schema.install(conn, wanted)
    run(conn, ["create trigger thief before insert on svc_audit_logs begin select raise(ignore); end"])
    run(conn, ["create unique index once on svc_audit_logs (record_id)", "create index more on svc_audit_logs (label)"])
    run(conn, ["alter table svc_audit_purge add column more text"])
    found = {each.identity: each for each in schema.status(conn, wanted) if each.state != "ok"}
    assert {identity: (each.state, each.action) for identity, each in found.items()} == {
        "thief on main.svc_audit_logs": ("tampered", "keep"),
        "once on svc_audit_logs": ("tampered", "keep"),
        "svc_audit_purge": ("tampered", "keep"),
    }
    assert schema.install(conn, wanted) == []
    run(conn, [found["thief on main.svc_audit_logs"].sql, found["once on svc_audit_logs"].sql])
    assert list(states(conn, wanted)) == ["table svc_audit_purge"]


@pytest.mark.parametrize("is_by_script", [False, True], ids=["install", "script"])
def test_a_counter_at_its_end_is_told_and_mended(conn: sqlite3.Connection, *, is_by_script: bool) -> None:
    shop(conn)
    wanted = config("customer")
    schema.install(conn, wanted)
    conn.execute("insert into customer values (1, 'a')")
    last = "insert into svc_audit_logs (id, table_name, operation) values (9223372036854775807, 'x', 'INSERT')"
    with pytest.raises(conn.IntegrityError, match="append-only"):
        conn.execute(last)
    [[guard]] = conn.execute("select sql from sqlite_schema where name = 'svc_audit_guard_replace'").fetchall()
    run(conn, ["drop trigger svc_audit_guard_replace", last, guard])
    with pytest.raises(conn.OperationalError, match="full"):
        conn.execute("insert into customer values (2, 'b')")
    found = {each.identity: each.note for each in schema.status(conn, wanted) if each.state != "ok"}
    assert "9223372036854775807" in (found["ids of svc_audit_logs"] or "")
    if is_by_script:
        made = script(conn, wanted)
        assert made is not None
        run(conn, ["begin", *made.split(made.upgrade), "commit"])
    else:
        schema.install(conn, wanted)
    conn.execute("insert into customer values (2, 'b')")
    assert entries(conn, "id") == [1, 2, 3]
    assert states(conn, wanted) == {}
    with pytest.raises(conn.IntegrityError, match="append-only"):
        conn.execute("update svc_audit_logs set id = 7 where id = 2")


def test_a_purge_that_somebody_left_open_is_told_and_closed(conn: sqlite3.Connection) -> None:
    shop(conn)
    wanted = config("customer")
    schema.install(conn, wanted)
    run(conn, ["insert into customer values (1, 'a')", "insert into svc_audit_purge values ('9999')"])
    assert states(conn, wanted) == {"setting svc_audit_purge": "tampered"}
    schema.install(conn, wanted)
    assert states(conn, wanted) == {}
    with pytest.raises(Exception, match="append-only"):
        conn.execute("delete from svc_audit_logs")


def test_limits_of_a_table_are_told_once_and_are_no_difference(conn: sqlite3.Connection) -> None:
    shop(conn)
    run(
        conn,
        [
            "create table plain (id integer primary key, name text unique)",
            "create unique index by_case on customer (lower(email))",
            "create unique index of_some on customer (email) where email <> ''",
            "create unique index seen on customer (email, id)",
        ],
    )
    wanted = config({"name": "customer", "redact": {"email": "hash"}}, "plain")
    limits = (
        'redact = "hash" needs with_audit: on other connections every write fails, because SQLite has no SHA-256;'
        " rows that REPLACE deletes by by_case, of_some are not recorded: a unique index with WHERE or on an expression"
    )
    for steps in (schema.plan(conn, wanted), schema.install(conn, wanted), schema.status(conn, wanted)):
        assert [(each.audited_table, each.note) for each in steps if each.note] == [("main.customer", limits)]
    assert states(conn, wanted) == {}


def test_a_lost_table_needs_a_backup(conn: sqlite3.Connection) -> None:
    shop(conn)
    audited(conn, "customer")
    conn.execute("drop table svc_audit_replaced")
    with pytest.raises(InstallError, match="svc_audit_replaced"):
        schema.install(conn, config("customer"))
    conn.execute("drop table svc_installed_objects")
    assert "table svc_installed_objects" in states(conn, config("customer"))


def test_renamed_tables_and_columns(conn: sqlite3.Connection) -> None:
    shop(conn)
    audited(conn, "customer")
    run(conn, ["alter table customer rename column email to mail", "insert into customer values (1, 'x')"])
    assert entries(conn, "after_data") == ['{"id":1,"email":"x"}']
    assert set(states(conn, config("customer")).values()) == {"outdated"}
    audited(conn, "customer")
    run(conn, ["alter table customer rename to client", "insert into client values (2, 'y')"])
    assert entries(conn, "table_name, after_data")[-1] == ("main.customer", '{"id":2,"mail":"y"}')
    with pytest.raises(UnknownTableError, match="does not exist") as gone:
        schema.status(conn, config("customer"))
    assert gone.value.hint == "It is now main.client: name it so."
    moved = [each for each in schema.status(conn, config("client")) if each.state == "orphan"]
    assert {(each.moved_to, each.needs_prune) for each in moved} == {("main.client", False)}
    audited(conn, "client")
    assert states(conn, config("client")) == {}
    assert conn.execute("select count(*) from svc_installed_objects").fetchone() == (10,)
    run(conn, ["create table customer (id integer primary key)"])
    audited(conn, "client", "customer")
    run(conn, ["alter table client rename to elsewhere"])
    with pytest.raises(RemovalRefusedError, match=r"main\.client \(now main\.elsewhere\)"):
        audited(conn, "customer")


def test_triggers_that_a_remade_table_has_lost_are_missing(conn: sqlite3.Connection) -> None:
    shop(conn)
    wanted = config("customer")
    schema.install(conn, wanted)
    # as Django and Alembic change a table that SQLite cannot alter
    run(conn, ["create table new_customer (id integer primary key, email varchar(9) unique)"])
    run(conn, ["insert into new_customer select * from customer", "drop table customer"])
    run(conn, ["alter table new_customer rename to customer"])
    assert list(states(conn, wanted).values()) == ["missing"] * 7
    schema.install(conn, wanted)
    assert states(conn, wanted) == {}


def test_a_dropped_table_leaves_a_record_that_prune_forgets(conn: sqlite3.Connection) -> None:
    shop(conn)
    audited(conn, "customer", "item")
    conn.execute("drop table item")
    with pytest.raises(RemovalRefusedError):
        schema.install(conn, config("customer"))
    schema.install(conn, config("customer"), prune=True)
    assert states(conn, config("customer")) == {}


def test_capture_comes_before_triggers_that_the_application_makes_later(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, n default 0)")
    run(conn, ["create trigger early after insert on t begin update t set n = n + 1 where id = new.id; end"])
    wanted = config("t")
    schema.install(conn, wanted)
    conn.execute("insert into t (id) values (1)")
    assert entries(conn) == [("INSERT", "1"), ("UPDATE", "1")]
    run(conn, ["create trigger late after insert on t begin update t set n = n + 1 where id = new.id; end"])
    run(conn, ["create trigger harmless before insert on t begin select 1; end"])
    assert set(states(conn, wanted).values()) == {"outdated"}
    schema.install(conn, wanted)
    assert states(conn, wanted) == {}
    conn.execute("insert into t (id) values (2)")
    assert entries(conn)[2:] == [("INSERT", "2"), ("UPDATE", "2"), ("UPDATE", "2")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("custmer", "does not exist"),
        ("svc_audit_logs", "belongs to svc-pg"),
        ("newest", "is a view"),
        ("words", "is a virtual table"),
        ("words_data", "part of a virtual table"),
        ("other.customer", "not in the main database"),
        ("temp.customer", "not in the main database"),
        ("sqlite_sequence", "does not exist"),
    ],
)
def test_what_cannot_be_audited_is_refused(conn: sqlite3.Connection, table: str, message: str) -> None:
    shop(conn)
    run(conn, ["create view newest as select 1", "create virtual table words using fts5(word)"])
    run(conn, ["attach ':memory:' as other", "create table other.customer (id)", "create temp table customer (id)"])
    with pytest.raises(UnknownTableError, match=message):
        audited(conn, table)
    with pytest.raises(UnknownTableError, match=r"(?s)customr.*item2"):
        audited(conn, "customr", "item2")
    assert conn.execute(OURS).fetchall() == []


def test_the_triggers_are_on_the_table_of_the_file_and_not_on_a_temporary_one(conn: sqlite3.Connection) -> None:
    shop(conn)
    conn.execute("create temp table customer (id integer primary key, email)")
    audited(conn, "customer")
    run(conn, ["insert into customer values (1, 'temporary')", "insert into main.customer values (2, 'kept')"])
    assert entries(conn) == [("INSERT", "2")]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Config(grants=Grants(read=["x"])), "grants"),
        (Config(webhooks=WebhooksConfig.model_validate({"events": {"a.b": {}}})), "webhooks"),
        (config(search=["text"]), "search"),
        (config(partitions="day"), "partitions"),
    ],
)
def test_what_only_postgresql_has_is_refused(conn: sqlite3.Connection, wanted: Config, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"(?s){message}.*SQLite cannot"):
        schema.install(conn, wanted)
    with pytest.raises(ConfigError, match="roles"):
        schema.install(conn, Config(), roles=True)


def test_the_settings_of_the_connection_are_left_as_they_were(conn: sqlite3.Connection) -> None:
    shop(conn)
    conn.row_factory = lambda _cursor, row: {"row": row}
    conn.text_factory = bytes
    conn.execute("pragma busy_timeout = 1234")
    wanted = config("customer")
    schema.install(conn, wanted)
    assert states(conn, wanted) == {}
    assert conn.execute("pragma busy_timeout").fetchone() == {"row": (1234,)}
    assert conn.text_factory is bytes
    assert conn.isolation_level is None


def test_a_connection_that_begins_transactions_by_itself_will_do(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as conn:
        shop(conn)
        schema.install(conn, config("customer"))
        assert not conn.in_transaction
        conn.execute("insert into customer values (1, 'x')")
        with pytest.raises(TransactionError, match="inside a transaction"):
            schema.status(conn, config("customer"))
        conn.commit()
        assert entries(conn) == [("INSERT", "1")]


def test_uninstall_keeps_the_log_guarded_and_a_later_install_goes_on(conn: sqlite3.Connection) -> None:
    shop(conn)
    assert schema.uninstall(conn) == []
    audited(conn, "customer")
    conn.execute("insert into customer values (1, 'x')")
    assert len(schema.uninstall(conn)) == 7
    assert schema.uninstall(conn) == []
    conn.execute("insert into customer values (2, 'x2')")
    with pytest.raises(Exception, match="append-only"):
        conn.execute("delete from svc_audit_logs")
    audited(conn, "customer")
    conn.execute("insert into customer values (3, 'x3')")
    assert entries(conn) == [("INSERT", "1"), ("INSERT", "3")]
    schema.uninstall(conn, drop_data=True)
    assert conn.execute(OURS).fetchall() == []
    conn.execute("insert into customer values (4, 'x4')")


def test_installs_of_others_are_known(conn: sqlite3.Connection) -> None:
    shop(conn)
    wanted = config("customer")
    conn.execute("create table svc_audit_logs (id)")
    with pytest.raises(InstallError, match="svc-pg did not make it"):
        schema.install(conn, wanted)
    conn.execute("drop table svc_audit_logs")
    schema.install(conn, wanted)
    assert conn.execute("select version from svc_installation").fetchall() == [(__version__,)]
    conn.execute("update svc_installation set version = '99.0.0'")
    with pytest.raises(DatabaseNewerError, match=r"99\.0\.0"):
        schema.install(conn, wanted)
    conn.execute("insert into svc_migrations (number, name, sha256) values (9999, 'future', '')")
    with pytest.raises(DatabaseNewerError, match="9999_future"):
        schema.status(conn, wanted)
    run(conn, ["delete from svc_migrations where number = 9999", "update svc_migrations set sha256 = 'x'"])
    with pytest.raises(MigrationChangedError):
        schema.status(conn, wanted)


def test_an_install_that_fails_leaves_nothing(conn: sqlite3.Connection) -> None:
    shop(conn)
    steps: list[str] = []
    conn.set_trace_callback(steps.append)
    conn.set_authorizer(lambda code, name, *_: sqlite3.SQLITE_DENY if (code, name) == (7, LAST) else sqlite3.SQLITE_OK)
    with pytest.raises(InstallError, match="not authorized"):
        audited(conn, "customer")
    conn.set_authorizer(None)
    assert any("create table svc_audit_logs" in step.lower() for step in steps)
    assert conn.execute(OURS).fetchall() == []
    assert not conn.in_transaction


def test_an_install_works_without_trust_in_the_schema_or_says_what_to_switch_on(conn: sqlite3.Connection) -> None:
    shop(conn)
    conn.execute("pragma trusted_schema = off")
    hint = None
    try:
        schema.install(conn, config("customer"))
    except InstallError as error:
        hint = error.hint
    assert hint is None or "trusted_schema is off" in hint
    conn.execute("pragma trusted_schema = on")
    schema.install(conn, config("customer"))
    conn.execute("insert into customer values (1, 'x')")
    assert entries(conn) == [("INSERT", "1")]


LAST = "00_svc_audit_delete_customer"  # 7: CREATE TRIGGER


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_an_install_waits_for_writers_and_not_for_ever(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "shop.db"
    with closing(connect(database=path)) as writer, closing(connect(database=path)) as installer:
        writer.execute(f"pragma journal_mode = {journal}")
        shop(writer)
        run(writer, ["begin immediate", "insert into customer values (1, 'x')"])
        with pytest.raises(InstallError, match="locked") as locked:
            schema.install(installer, config("customer"), wait_for_table=WAIT)
        assert locked.value.hint is not None
        assert "--lock-timeout" in locked.value.hint
        assert {each.state for each in schema.status(installer, config("customer"))} == {"missing"}
        writer.execute("commit")
        schema.install(installer, config("customer"), wait_for_table=WAIT)
        # a connection that was open before knows the triggers at once
        writer.execute("insert into customer values (2, 'y')")
        assert entries(installer) == [("INSERT", "2")]


def test_two_installs_at_once_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(connect(database=path)) as conn:
        shop(conn)
    results: list[Any] = []

    def install() -> None:
        with closing(connect(database=path)) as own:
            try:
                results.append(len(schema.install(own, config("customer", "item"))))
            except SvcError as error:
                results.append(error)

    threads = [Thread(target=install) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [0, 0, 0, 0, 0, 15]
