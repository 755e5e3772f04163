"""The event triggers that record DDL are made, and dropped, by roles that may, and give nobody more rights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import sql

from cli.known_tables import warn_of_no_records
from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.schema import Status
from svc_pg.schema.postgres import sql_script
from tests.support.roles import as_role, new_role
from tests.support.tables import audited


def with_ddl(*names: str) -> Config:
    tables = [AuditedTable(name=name) for name in names]
    return Config(audit=AuditConfig(ddl=True, tables=tables))


CONFIG = with_ddl("mine.t")
WITHOUT = audited("mine.t")


TRIGGERS: list[tuple[str, str, str]] = [
    ("svc_audit_capture", "ddl_command_end", "audit_on_new"),
    ("svc_audit_ddl", "ddl_command_end", "audit_on_ddl"),
    ("svc_audit_drop", "sql_drop", "audit_on_drop"),
]


@pytest.fixture
def db(empty_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def role(postgres: str, db: psycopg.Connection[Any]) -> Iterator[str]:
    """A role that may install without roles, with a table of its own."""
    with new_role(postgres) as name:
        who = sql.Identifier(name)
        db.execute(sql.SQL("grant create on database {} to {}").format(sql.Identifier(db.info.dbname), who))
        db.execute(sql.SQL("create schema mine authorization {}").format(who))
        db.execute("create table mine.t (id int primary key)")
        db.execute(sql.SQL("alter table mine.t owner to {}").format(who))
        yield name
        schema.uninstall(db, drop_data=True)
        db.execute(sql.SQL("drop owned by {} cascade").format(who))


@contextmanager
def acting(database: str, role: str) -> Iterator[psycopg.Connection[Any]]:
    with as_role(database, role) as conn:
        conn.autocommit = True
        yield conn


def event_triggers(conn: psycopg.Connection[Any], config: Config = CONFIG) -> list[Status]:
    return [entry for entry in schema.status(conn, config) if entry.kind == "event trigger"]


def number(conn: psycopg.Connection[Any]) -> int:
    found: int = scalar(conn, "select count(*) from pg_event_trigger where evtname ^@ 'svc_audit_'")
    return found


def test_no_superuser_is_given_sql_that_would_run_the_code_of_another_role(
    empty_database: str, db: psycopg.Connection[Any], role: str
) -> None:
    with acting(empty_database, role) as conn:
        schema.install(conn, CONFIG, roles=False)
        of_role = event_triggers(conn)
    for found in (of_role, event_triggers(db)):
        assert [(entry.state, entry.sql, entry.action) for entry in found] == [("missing", "", "keep")] * 3
        assert all(role in (entry.note or "") for entry in found)
    schema.install(db, CONFIG)
    assert number(db) == 0
    assert [step for step in schema.plan(db, CONFIG) if step.kind == "event trigger"] == []


def test_a_member_of_the_owner_keeps_a_superuser_from_making_them(db: psycopg.Connection[Any], role: str) -> None:
    schema.install(db, WITHOUT, roles=True)
    db.execute(sql.SQL("grant svc_owner to {}").format(sql.Identifier(role)))
    schema.install(db, CONFIG)
    assert number(db) == 0
    assert all(role in (entry.note or "") and not entry.sql for entry in event_triggers(db))
    db.execute(sql.SQL("revoke svc_owner from {}").format(sql.Identifier(role)))
    schema.install(db, CONFIG)
    assert [(entry.state, entry.note) for entry in event_triggers(db)] == [("ok", None)] * 3
    db.execute(sql.SQL("grant svc_owner to {}").format(sql.Identifier(role)))
    assert [entry.state for entry in event_triggers(db)] == ["ok"] * 3
    assert all(role in (entry.note or "") for entry in event_triggers(db))
    db.execute(sql.SQL("revoke svc_owner from {}").format(sql.Identifier(role)))


def test_a_role_without_the_right_is_given_the_sql_if_the_functions_belong_to_a_superuser(
    empty_database: str, db: psycopg.Connection[Any], role: str
) -> None:
    schema.install(db, WITHOUT, roles=False)
    db.execute(sql.SQL("grant usage on schema svc to {}").format(sql.Identifier(role)))
    db.execute(sql.SQL("grant select on all tables in schema svc to {}").format(sql.Identifier(role)))
    with acting(empty_database, role) as conn:
        found = event_triggers(conn)
    assert [entry.is_foreign for entry in found] == [True] * 3
    assert all("needs a superuser" in (entry.note or "") for entry in found)
    for entry in found:
        db.execute(entry.sql.encode())
    assert [entry.state for entry in event_triggers(db)] == ["ok"] * 3


def test_printed_sql_refuses_if_somebody_can_act_as_the_owner_by_then(db: psycopg.Connection[Any], role: str) -> None:
    schema.install(db, WITHOUT, roles=True)
    printed = event_triggers(db)
    assert [(entry.state, bool(entry.sql)) for entry in printed] == [("missing", True)] * 3
    who = sql.Identifier(role)
    db.execute(sql.SQL("grant svc_owner to {}").format(who))
    for entry in printed:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"can be replaced by {role}"):
            db.execute(entry.sql.encode())
    assert number(db) == 0
    db.execute(sql.SQL("revoke svc_owner from {}").format(who))
    for owned in ("alter function svc.audit_on_ddl() owner to {}", "alter schema svc owner to {}"):
        db.execute(sql.SQL(owned).format(who))
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"can be replaced by {role}"):
            db.execute(next(entry.sql for entry in printed if entry.identity == "svc_audit_ddl").encode())
        schema.install(db, WITHOUT, roles=True)
    for entry in printed:
        db.execute(entry.sql.encode())
    assert [(entry.state, entry.note) for entry in event_triggers(db)] == [("ok", None)] * 3


def test_a_role_that_may_not_drop_them_removes_nothing_and_is_told_the_sql(
    empty_database: str, db: psycopg.Connection[Any], role: str
) -> None:
    with acting(empty_database, role) as conn:
        made = sql_script.script(conn, CONFIG, roles=False)
        assert made is not None
        schema.install(conn, CONFIG, roles=False)
        for name, event, function in TRIGGERS:  # as by hand, or before the owner of the functions counted
            text = "create event trigger {} on {} execute function {}()"
            parts = sql.Identifier(name), sql.Identifier(event), sql.Identifier("svc", function)
            db.execute(sql.SQL(text).format(*parts))
        before = scalar(db, "select count(*) from svc.installed_objects")
        for drop_data in (False, True):
            with pytest.raises(InstallError, match="belongs to role") as refused:
                schema.uninstall(conn, drop_data=drop_data)
        drops = " ".join(f"drop event trigger {name};" for name, *_ in TRIGGERS)
        assert drops in str(refused.value.hint)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="belong to role") as raised, conn.transaction():
            conn.execute(made.downgrade.encode())
        assert drops in str(raised.value.diag.message_hint)
        assert scalar(db, "select count(*) from svc.installed_objects") == before
        db.execute(drops.encode())
        assert schema.uninstall(conn)


@pytest.mark.parametrize("roles", [True, False])
def test_an_install_gives_no_notice(db: psycopg.Connection[Any], *, roles: bool) -> None:
    db.execute("create schema mine; create table mine.t (id int primary key); create table mine.u (id int primary key)")
    notices: list[str | None] = []
    db.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary))
    for config in (CONFIG, with_ddl("mine.t", "mine.u"), with_ddl("mine.t", "mine.u")):
        schema.install(db, config, roles=roles)
        assert [notice for notice in notices if "on record" in (notice or "")] == []
    schema.uninstall(db, drop_data=True)


def test_a_script_gives_no_notice_and_makes_them_last(db: psycopg.Connection[Any]) -> None:
    db.execute("create schema mine; create table mine.t (id int primary key)")
    notices: list[str | None] = []
    db.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary))
    made = sql_script.script(db, CONFIG)
    assert made is not None
    with db.transaction():
        db.execute(made.upgrade.encode())
    assert number(db) == 3
    assert [notice for notice in notices if "on record" in (notice or "")] == []
    schema.uninstall(db, drop_data=True)


def test_entries_about_ddl_do_not_mean_that_a_table_has_no_key(
    db: psycopg.Connection[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    db.execute("create schema mine; create table mine.t (id int primary key); create table mine.bare (v int)")
    schema.install(db, with_ddl("mine.t", "mine.bare"))
    db.execute("alter table mine.t add v int; insert into mine.bare values (1)")
    warn_of_no_records(db, "mine.t")
    assert capsys.readouterr().err == ""
    warn_of_no_records(db, "mine.bare")
    assert "has no key" in capsys.readouterr().err
    schema.uninstall(db, drop_data=True)


def test_a_status_that_reads_only_does_not_guess_at_rights(
    empty_database: str, db: psycopg.Connection[Any], role: str
) -> None:
    schema.install(db, WITHOUT, roles=False)
    who = sql.Identifier(role)
    db.execute(sql.SQL("grant usage on schema svc to {}").format(who))
    db.execute(sql.SQL("grant select on all tables in schema svc to {}").format(who))
    db.execute("set default_transaction_read_only = on")
    assert [(entry.state, entry.action, entry.note) for entry in event_triggers(db)] == [
        ("missing", "create", None)
    ] * 3
    db.execute("set default_transaction_read_only = off")
    with acting(empty_database, role) as conn:
        conn.execute("set default_transaction_read_only = on")  # in which a role that is tried is not refused
        assert all("needs a superuser" in (entry.note or "") for entry in event_triggers(conn))
        db.execute(sql.SQL("alter role {} createrole").format(who))
        assert [entry.note for entry in event_triggers(conn)] == [None] * 3
        conn.execute("set default_transaction_read_only = off")
        assert all("needs a superuser" in (entry.note or "") for entry in event_triggers(conn))


def test_event_triggers_that_also_fire_for_replication_are_right(db: psycopg.Connection[Any]) -> None:
    db.execute("create schema mine; create table mine.t (id int primary key)")
    schema.install(db, CONFIG)
    db.execute("alter event trigger svc_audit_ddl enable always; alter event trigger svc_audit_drop enable always")
    assert [entry.state for entry in event_triggers(db)] == ["ok"] * 3
    db.execute("alter event trigger svc_audit_ddl enable replica")
    assert [entry.state for entry in event_triggers(db)] == ["ok", "disabled", "ok"]
    schema.uninstall(db, drop_data=True)


@pytest.mark.parametrize("is_pruned", [True, False])
def test_each_install_notes_the_forms_that_are_missing(db: psycopg.Connection[Any], *, is_pruned: bool) -> None:
    db.execute("create schema mine; create table mine.t (id int primary key); create table mine.u (id int primary key)")
    both = with_ddl("mine.t", "mine.u")
    schema.install(db, both)
    db.execute("delete from svc.audit_shapes")
    schema.install(db, CONFIG if is_pruned else both, prune=is_pruned)
    assert scalar(db, "select count(*) from svc.audit_shapes where relation = 'mine.t'::regclass") == 1
    db.execute("alter table mine.t add v int")
    found = "select after_data from svc.audit_logs where operation = 'DDL' and table_name = 'mine.t'"
    assert scalar(db, found) == {"column v": "integer"}
    schema.uninstall(db, drop_data=True)
