"""DDL on audited tables is on record, and no recording makes a statement of others fail."""

import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import QueryError, RemovalRefusedError
from svc_pg.schema.postgres import sql_script
from tests.support.postgres import Prepare, embedded_programs
from tests.support.roles import new_role, owning
from tests.support.tables import audited, create_and_audit

Rows = list[dict[str, Any]]

TABLES: LiteralString = """
create table w (id int primary key, v int, c text);
create table g (id int primary key, v int);
create table p (id int primary key, v int) partition by range (id);
create table p1 partition of p for values from (0) to (10);
create table other (id int primary key);
create type mood as enum ('good');
create table m (id int primary key, is_in mood);
"""


def with_ddl(*names: str) -> Config:
    tables = [AuditedTable(name=name) for name in names]
    return Config(audit=AuditConfig(ddl=True, tables=tables))


CONFIG = with_ddl("w", "g", "p", "m")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, TABLES, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def owner(postgres: str, db: psycopg.Connection[Any], database: str) -> Iterator[str]:
    """A role that owns the tables, and has no right on schema svc but those of their capture."""
    with new_role(postgres) as role:
        name = sql.Identifier(role)
        db.execute(sql.SQL("grant create on schema public to {}").format(name))
        for table in ("w", "g", "p", "p1", "m", "other"):
            db.execute(sql.SQL("alter table {} owner to {}").format(sql.Identifier(table), name))
        db.execute(sql.SQL("alter type mood owner to {}").format(name))
        schema.install(db, CONFIG)
        db.execute("create table marks as select coalesce(max(id), 0) as id from svc.audit_logs")
        yield role
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute(sql.SQL("drop owned by {} cascade").format(name))


def entries(conn: psycopg.Connection[Any]) -> Rows:
    """The entries about DDL since the tables were given to their owner."""
    text = "select * from svc.audit_logs where operation = 'DDL' and id > (select id from marks) order by id"
    return conn.cursor(row_factory=dict_row).execute(text).fetchall()


Image = Mapping[str, str] | None

KINDS: list[tuple[LiteralString, str, str, Image, Image]] = [
    ("alter table w alter v type bigint", "w", "ALTER TABLE", {"column v": "integer"}, {"column v": "bigint"}),
    ("alter table w add d text not null", "w", "ALTER TABLE", None, {"column d": "text not null"}),
    ("alter table w drop c", "w", "ALTER TABLE", {"column c": "text"}, None),
    ("alter table w rename c to d", "w", "ALTER TABLE", {"column c": "text"}, {"column d": "text"}),
    ("alter table w rename to ww", "w", "ALTER TABLE", {"table name": "public.w"}, {"table name": "public.ww"}),
    ("alter index w rename to ww", "w", "ALTER INDEX", {"table name": "public.w"}, {"table name": "public.ww"}),
    ("alter table w set schema s", "w", "ALTER TABLE", {"table name": "public.w"}, {"table name": "s.w"}),
    ("alter table w enable row level security", "w", "ALTER TABLE", {"row security": "off"}, {"row security": "on"}),
    ("grant select on w to public", "w", "GRANT", None, {"rights of public": "SELECT"}),
    ("grant update (v) on w to public", "w", "GRANT", None, {"rights of public to column v": "UPDATE"}),
    ("drop table w", "w", "DROP TABLE", {"table name": "public.w"}, None),
    ("drop table p1", "p", "DROP TABLE", {"partition public.p1": "attached"}, None),
    ("alter table p detach partition p1", "p", "ALTER TABLE", {"partition public.p1": "attached"}, None),
    (
        "create table p2 partition of p for values from (10) to (20)",
        "p",
        "CREATE TABLE",
        None,
        {"partition public.p2": "attached"},
    ),
    ("drop type mood cascade", "m", "DROP TYPE", {"column is_in": "public.mood"}, None),
    (
        'alter table w disable trigger "00_svc_audit_update"',
        "w",
        "ALTER TABLE",
        {"trigger 00_svc_audit_update": "enabled"},
        {"trigger 00_svc_audit_update": "disabled"},
    ),
    (
        'drop trigger "00_svc_audit_update" on w',
        "w",
        "DROP TRIGGER",
        {"trigger 00_svc_audit_update": "enabled"},
        None,
    ),
]


@pytest.mark.parametrize(("statement", "table", "tag", "before", "after"), KINDS)
def test_each_kind_of_ddl_is_an_entry(
    database: str,
    db: psycopg.Connection[Any],
    owner: str,
    statement: LiteralString,
    table: str,
    tag: str,
    before: Image,
    after: Image,
) -> None:
    with owning(database, owner) as (conn, _):
        if " schema s" in statement:
            db.execute(sql.SQL("create schema s authorization {}").format(sql.Identifier(owner)))
        with conn.transaction():
            conn.execute("select set_config('svc.actor_id', 'ann', true)")
            conn.execute(statement)
            xact_id = scalar(conn, "select txid_current()")
    [entry] = entries(db)
    assert (entry["table_name"], entry["label"]) == (f"public.{table}", tag)
    assert (entry["before_data"], entry["after_data"]) == (before, after)
    assert entry["changed_fields"] == [*{**(before or {}), **(after or {})}]
    assert (entry["actor_id"], entry["db_user"], entry["xact_id"]) == ("ann", owner, xact_id)
    assert entry["record_id"] is None
    created = statement.startswith("create table p2")
    assert entry["partition"] == ("public.p2" if created else "public.p1" if statement == "drop table p1" else None)
    if created:
        assert entry["description"] == "partition public.p2 is new: attached"


def test_an_attached_partition_is_named_though_its_statement_reports_the_parent_alone(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table p2 (id int not null primary key, v int)")
        conn.execute("alter table p attach partition p2 for values from (10) to (20)")
        conn.execute("alter table p detach partition p2")
    assert [(entry["before_data"], entry["after_data"]) for entry in entries(db)] == [
        (None, {"partition public.p2": "attached"}),
        ({"partition public.p2": "attached"}, None),
    ]


def test_partitions_that_others_have_locked_hold_nobody_up(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _), psycopg.connect(database) as holder:
        conn.execute("create table p2 (id int not null primary key, v int)")
        holder.execute("lock table only p1 in access exclusive mode")
        conn.execute("alter table p attach partition p2 for values from (10) to (20)")
        conn.execute("grant select on p to public")
        conn.execute("alter table p2 enable row level security")
    assert [(entry["label"], entry["partition"], entry["after_data"]) for entry in entries(db)] == [
        ("ALTER TABLE", None, {"partition public.p2": "attached"}),
        ("GRANT", None, {"rights of public": "SELECT"}),
        ("ALTER TABLE", "public.p2", {"row security": "on"}),
    ]


@pytest.mark.usefixtures("owner")
def test_what_a_parent_or_a_type_passes_on_is_on_record(db: psycopg.Connection[Any]) -> None:
    db.execute("create table parent ()")
    db.execute("alter table w inherit parent")
    db.execute("alter table parent add handed_down int")
    db.execute("alter type mood rename to humour")
    down, renamed = entries(db)
    assert (down["table_name"], down["after_data"]) == ("public.w", {"column handed_down": "integer"})
    assert (renamed["table_name"], renamed["label"]) == ("public.m", "ALTER TYPE")
    assert renamed["after_data"] == {"column is_in": "public.humour"}


@pytest.mark.usefixtures("owner")
def test_the_form_of_a_renamed_table_stays_when_others_are_noted(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table w rename to ww")
    db.execute("select svc.audit_note_shapes()")
    db.execute("alter table ww add d int")
    assert entries(db)[-1]["after_data"] == {"column d": "integer"}


@pytest.mark.usefixtures("owner")
def test_after_an_install_entries_have_the_new_name_and_none_are_of_tables_no_longer_audited(
    db: psycopg.Connection[Any],
) -> None:
    db.execute("alter table w rename to ww; alter table p rename to pp; truncate marks")
    db.execute("insert into marks select max(id) from svc.audit_logs")
    schema.install(db, with_ddl("ww", "pp", "m"), prune=True)
    assert entries(db) == []
    db.execute("alter table ww add d int; alter table g add d int; alter table p1 enable row level security")
    assert [(entry["table_name"], entry["partition"]) for entry in entries(db)] == [
        ("public.ww", None),
        ("public.pp", "public.p1"),
    ]


def test_a_table_that_takes_the_name_of_an_audited_one_is_on_record(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _), conn.transaction():
        conn.execute("create table w2 (like w including all)")
        conn.execute("alter table w rename to w_old")
        conn.execute("alter table w2 rename to w")
    old, new = entries(db)
    assert (old["after_data"], new["after_data"]) == ({"table name": "public.w_old"}, {"table name": "public.w"})
    assert "another table has the name now" in new["description"]
    assert old["table_oid"] != new["table_oid"]


def test_the_owner_of_a_table_and_a_renamed_schema_are_on_record(db: psycopg.Connection[Any], owner: str) -> None:
    db.execute("alter table w owner to current_user")
    db.execute("alter schema public rename to shop")
    db.execute("alter schema shop rename to public")
    found = entries(db)
    assert [entry["label"] for entry in found] == ["ALTER TABLE", *["ALTER SCHEMA"] * 10]
    assert found[0]["before_data"]["owner"] == owner
    assert found[1]["after_data"]["table name"].startswith("shop.")


def test_ddl_that_is_rolled_back_leaves_nothing(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _):
        with conn.transaction(force_rollback=True):
            conn.execute("alter table w add d int; drop table g")
        conn.execute("alter table w add e int")
    [entry] = entries(db)
    assert entry["after_data"] == {"column e": "integer"}


def test_nothing_but_audited_tables_is_on_record(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("alter table other add d int; create temp table w (id int); create table fresh (id int)")
        conn.execute("create index on public.w (v); comment on table public.w is 'x'; drop table other, fresh")
        conn.execute(
            "alter table pg_temp.w add d int; drop table pg_temp.w; analyze w; grant select on g to current_user"
        )
        assert entries(db) == []
        conn.execute("alter table public.w add d int")
    assert [entry["table_name"] for entry in entries(db)] == ["public.w"]


def test_the_text_of_a_statement_is_not_on_record(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("alter table w add token text default 'a-secret'")
    [entry] = entries(db)
    assert entry["after_data"] == {"column token": "text"}
    assert "a-secret" not in scalar(db, "select json_agg(l)::text from svc.audit_logs l")


HOSTILE: LiteralString = """
create schema evil;
create function evil.format_type(oid, int) returns text language plpgsql as $$ begin raise 'evil runs'; end $$;
create function evil.quote_ident(name) returns text language plpgsql as $$ begin raise 'evil runs'; end $$;
create function evil.equal(jsonb, jsonb) returns bool language plpgsql as $$ begin raise 'evil runs'; end $$;
create operator evil.<> (function = evil.equal, leftarg = jsonb, rightarg = jsonb);
create temp table pg_class (oid oid);
create temp table audit_shapes (relation oid);
set search_path = evil, pg_temp, public, pg_catalog;
set svc.context = 'no JSON';
"""


def test_a_hostile_owner_neither_runs_code_nor_escapes(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    db.execute(
        sql.SQL("grant create on database {} to {}").format(sql.Identifier(db.info.dbname), sql.Identifier(owner))
    )
    with owning(database, owner) as (conn, notices):
        conn.execute(HOSTILE)
        conn.execute("select set_config('svc.tenant_id', repeat('x', 100000), false)")
        conn.execute("select set_config('svc.actor_id', repeat('y', 100000), false)")
        conn.execute("begin; analyze public.w; alter table public.w disable trigger all; commit")
        conn.execute("""alter table public.w rename v to "a'b; drop table svc.audit_logs -- $svc$" """)
        assert notices == []
        refused: list[LiteralString] = [
            "alter event trigger svc_audit_ddl disable",
            "drop event trigger svc_audit_drop",
            "select svc.audit_on_ddl()",
            "select svc.audit_add_ddl('public.w', 1, null, 'DROP TABLE', null, null, null)",
            "insert into svc.audit_logs (table_name, operation) values ('public.w', 'DDL')",
            "delete from svc.audit_shapes",
        ]
        for statement in refused:
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
                conn.execute(statement)
        assert scalar(conn, "select has_table_privilege('svc.installation', 'update')") is False
    off, renamed = entries(db)
    assert off["severity"] == "high"
    assert off["after_data"]["trigger 00_svc_audit_update"] == "disabled"
    assert list(renamed["after_data"]) == ["column a'b; drop table svc.audit_logs -- $svc$"]
    assert renamed["context"] is None
    assert len(renamed["actor_id"]) < 1000


UNRECORDED: list[tuple[LiteralString, int, list[Image]]] = [
    ("alter table w add d int", 1, []),
    ("drop table w", 1, []),
    ("drop type mood cascade", 1, []),
    ("drop table w, g, m, p", 3, [{"more tables": "2"}]),  # a wait each, so no more than three
]


@pytest.mark.parametrize(("statement", "number", "rest"), UNRECORDED)
def test_a_statement_succeeds_with_a_warning_if_it_cannot_be_recorded(
    database: str, db: psycopg.Connection[Any], owner: str, statement: LiteralString, number: int, rest: list[Image]
) -> None:
    with owning(database, owner) as (conn, notices), psycopg.connect(database) as holder:
        holder.execute("lock table svc.audit_shapes in exclusive mode")
        conn.execute(statement)
        told = [notice for notice in notices if "not on record with its details" in notice]
        assert len(told) == number
        holder.rollback()
    found = entries(db)
    assert all("what changed is not known" in entry["description"] for entry in found[:number])
    assert [entry["after_data"] for entry in found[number:]] == rest


def test_what_was_missed_is_told_as_of_no_actor(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    db.execute("set session_replication_role = replica; alter table w add missed int, drop c, alter v type bigint")
    db.execute("reset session_replication_role")
    with owning(database, owner) as (conn, _), conn.transaction():
        conn.execute("savepoint a; alter table w add own int; release savepoint a; select pg_current_xact_id()")
        conn.execute("alter table w add own_2 int")
    entry, next_entry = entries(db)
    assert (entry["before_data"], entry["after_data"]) == (None, {"column own": "integer"})
    assert (
        "found, not of this statement: column c is gone, column missed is integer, column v is bigint"
        in (entry["description"])
    )
    assert next_entry["description"] == "column own_2 is new: integer"


def test_after_a_failure_the_next_entry_lists_nothing_as_its_own(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    db.execute("create function fails() returns trigger language plpgsql as $$ begin raise 'fails'; end $$")
    db.execute("create trigger fails before insert on svc.audit_shapes for each row execute function public.fails()")
    with owning(database, owner) as (conn, _):
        conn.execute("alter table w add d int")
        db.execute("drop trigger fails on svc.audit_shapes")
        conn.execute("alter table w add e int")
        conn.execute("alter table w add f int")
    failed, unknown, known = entries(db)
    assert "what changed is not known" in failed["description"]
    assert unknown["description"] == "its form before is not known"
    assert (unknown["before_data"], unknown["after_data"]) == (None, None)
    assert known["after_data"] == {"column f": "integer"}


def test_an_entry_that_fails_takes_none_of_the_others_with_it(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    db.execute("create function fails() returns trigger language plpgsql as $$ begin raise 'fails'; end $$")
    db.execute(
        "create trigger fails before insert on svc.audit_logs for each row"
        " when (new.table_name = 'public.p') execute function public.fails()"
    )
    with owning(database, owner) as (conn, _):
        conn.execute("drop table g, p, w")
    assert [entry["before_data"] for entry in entries(db)] == [
        {"table name": "public.g"},
        {"table name": "public.w"},
    ]


def test_a_statement_about_many_tables_has_a_bounded_number_of_entries(empty_database: str) -> None:
    names = [f"many.t{number:03}" for number in range(120)]
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create schema many; create table marks as select 0 as id")
        for name in names:
            conn.execute(f"create table {name} (id int primary key)".encode())
        schema.install(conn, with_ddl(*names))
        conn.execute("grant select on all tables in schema many to public")
        granted = entries(conn)
        assert len(granted) == 101
        assert granted[-1]["after_data"] == {"more tables": "20"}
        # more than 64 subtransactions slow down all sessions
        assert scalar(conn, "select count(distinct xmin::text) from svc.audit_logs where operation = 'DDL'") == 1
        conn.execute("grant select on all tables in schema many to public")
        assert len(entries(conn)) == 101  # the others are known, too
        conn.execute("drop schema many cascade")
        dropped = entries(conn)[101:]
        assert len(dropped) == 101
        assert (dropped[-1]["label"], dropped[-1]["after_data"]) == ("DROP SCHEMA", {"more tables": "20"})


def test_if_one_of_many_tables_fails_thirty_are_recorded_alone(empty_database: str) -> None:
    names = [f"many.t{number:02}" for number in range(40)]
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create schema many; create table marks as select 0 as id")
        for name in names:
            conn.execute(f"create table {name} (id int primary key)".encode())
        schema.install(conn, with_ddl(*names))
        conn.execute("create function fails() returns trigger language plpgsql as $$ begin raise 'fails'; end $$")
        conn.execute(
            "create trigger fails before insert on svc.audit_logs for each row"
            " when (new.table_name = 'many.t05') execute function public.fails()"
        )
        conn.execute("grant select on all tables in schema many to public")
        granted = entries(conn)
    assert [entry["table_name"] for entry in granted] == [name for name in names[:31] if name != "many.t05"]
    assert granted[-1]["after_data"] == {"more tables": "10"}


def test_an_entry_has_a_bounded_number_of_parts(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute(("alter table w " + ", ".join(f"add c{number} int" for number in range(80))).encode())
    [entry] = entries(db)
    assert len(entry["changed_fields"]) == 50
    assert entry["after_data"]["more"] == "30"
    with owning(database, owner) as (conn, _):
        conn.execute(("alter table w " + ", ".join(f"drop c{number}" for number in range(80))).encode())
    gone = entries(db)[1]
    assert (len(gone["before_data"]), gone["after_data"]) == (50, {"more": "30"})


def test_an_install_is_no_entry_and_what_a_migration_does_beside_it_is_one(db: psycopg.Connection[Any]) -> None:
    db.execute("create table marks as select 0 as id")
    schema.install(db, with_ddl("w", "g", "p"), prune=True)
    schema.install(db, CONFIG)
    assert entries(db) == []
    with db.transaction():
        db.execute("lock table svc.installation in share update exclusive mode; alter table w disable trigger user")
        db.execute("alter table w add d int")
    silenced, entry = entries(db)
    assert silenced["severity"] == "high"  # which no install does
    assert set(silenced["after_data"].values()) == {"disabled"}
    assert entry["after_data"] == {"column d": "integer"}


def test_the_form_of_a_table_that_is_no_longer_audited_is_forgotten(db: psycopg.Connection[Any]) -> None:
    forms = "select array_agg(distinct table_name::text order by table_name::text) from svc.audit_shapes"
    assert scalar(db, forms) == ["public.g", "public.m", "public.p", "public.w"]
    schema.install(db, with_ddl("w", "g", "p"), prune=True)
    assert scalar(db, forms) == ["public.g", "public.p", "public.w"]


def test_without_ddl_an_install_removes_the_event_triggers_only_with_prune(db: psycopg.Connection[Any]) -> None:
    without = audited("w", "g", "p", "m")
    with pytest.raises(RemovalRefusedError, match="svc_audit_ddl"):
        schema.install(db, without)
    schema.install(db, without, prune=True)
    assert scalar(db, "select count(*) from pg_event_trigger") == 0
    assert scalar(db, "select count(*) from svc.audit_shapes") == 0
    db.execute("create table marks as select 0 as id")
    assert [step.identity for step in schema.plan(db, CONFIG)] == [
        "svc_audit_capture",
        "svc_audit_ddl",
        "svc_audit_drop",
    ]
    db.execute("alter table w add d int")
    schema.install(db, CONFIG)
    db.execute("alter table w add e int")
    [entry] = entries(db)
    assert entry["after_data"] == {"column e": "integer"}  # not what happened meanwhile


def test_status_finds_event_triggers_that_others_changed(db: psycopg.Connection[Any]) -> None:
    db.execute("alter event trigger svc_audit_ddl disable; drop event trigger svc_audit_drop")
    differing = {entry.identity: entry.state for entry in schema.status(db, CONFIG) if entry.state != "ok"}
    assert differing == {"svc_audit_ddl": "disabled", "svc_audit_drop": "missing"}
    schema.install(db, CONFIG)
    assert [entry for entry in schema.status(db, CONFIG) if entry.state != "ok"] == []


def test_an_uninstall_removes_them_and_fires_none(db: psycopg.Connection[Any]) -> None:
    db.execute("create table marks as select 0 as id")
    schema.uninstall(db)
    assert scalar(db, "select count(*) from pg_event_trigger") == 0
    assert entries(db) == []
    schema.install(db, CONFIG)
    schema.uninstall(db, drop_data=True)
    assert scalar(db, "select count(*) from pg_event_trigger") == 0


def test_a_session_that_replicates_is_not_on_record(db: psycopg.Connection[Any]) -> None:
    db.execute("create table marks as select 0 as id")
    db.execute("set session_replication_role = replica; alter table w add d int; reset session_replication_role")
    assert entries(db) == []
    db.execute("alter table w add e int")
    assert [entry["after_data"] for entry in entries(db)] == [{"column e": "integer"}]


def test_a_role_without_the_right_installs_all_but_the_event_triggers(postgres: str, empty_database: str) -> None:
    with new_role(postgres) as role:
        with psycopg.connect(empty_database, autocommit=True) as conn:
            name = sql.Identifier(conn.info.dbname)
            conn.execute(sql.SQL("grant create on database {} to {}").format(name, sql.Identifier(role)))
            conn.execute(sql.SQL("create schema mine authorization {}").format(sql.Identifier(role)))
        with owning(empty_database, role) as (conn, _):
            conn.execute("create table mine.t (id int primary key)")
            config = with_ddl("mine.t")
            assert schema.install(conn, config, roles=False)
            assert schema.install(conn, config) == []
            differing = [entry for entry in schema.status(conn, config) if entry.state != "ok"]
            assert [(entry.identity, entry.state, entry.action) for entry in differing] == [
                ("svc_audit_capture", "missing", "keep"),
                ("svc_audit_ddl", "missing", "keep"),
                ("svc_audit_drop", "missing", "keep"),
            ]
        with psycopg.connect(empty_database, autocommit=True) as conn:
            assert [entry.sql for entry in differing] == [""] * 3  # it could put code into a superuser's statements
            schema.uninstall(conn, drop_data=True)
            conn.execute(sql.SQL("drop owned by {} cascade").format(sql.Identifier(role)))


def test_a_dump_with_event_triggers_is_restored_quietly_and_goes_on(
    database: str, db: psycopg.Connection[Any], empty_database: str
) -> None:
    db.execute("create table marks as select 0 as id")
    programs = embedded_programs()
    dump = subprocess.run([programs / "pg_dump", "--dbname", database], capture_output=True, check=True).stdout
    subprocess.run(
        [programs / "psql", "--quiet", "--dbname", empty_database], input=dump, capture_output=True, check=True
    )
    with psycopg.connect(empty_database, autocommit=True) as copy:
        assert entries(copy) == []
        copy.execute("alter table w add d int")
        [unknown] = entries(copy)
        assert (unknown["label"], unknown["before_data"], unknown["after_data"]) == ("ALTER TABLE", None, None)
        copy.execute("alter table w add e int")
        assert entries(copy)[1]["after_data"] == {"column e": "integer"}
        schema.install(copy, CONFIG)
        assert [entry.identity for entry in schema.status(copy, CONFIG) if entry.kind == "event trigger"] == [
            "svc_audit_capture",
            "svc_audit_ddl",
            "svc_audit_drop",
        ]
        copy.execute("alter table g add d int")
        assert entries(copy)[2]["after_data"] == {"column d": "integer"}


def test_a_script_makes_the_event_triggers_and_its_reversal_drops_them(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create table t (id int primary key); create table marks as select 0 as id")
        made = sql_script.script(conn, with_ddl("t"))
        assert made is not None
        with conn.transaction():
            conn.execute(made.upgrade.encode())
        assert entries(conn) == []
        conn.execute("alter table t add v int")
        [entry] = entries(conn)
        assert entry["after_data"] == {"column v": "integer"}
        with conn.transaction():
            conn.execute(made.downgrade.encode())
        assert scalar(conn, "select count(*) from pg_event_trigger") == 0


def test_readers_of_rows_pass_over_ddl(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into w (id, v) values (1, 1)")
    with db.transaction():
        db.execute("alter table w add d int")
        db.execute("update w set v = 2 where id = 1")
        xact_id = scalar(db, "select txid_current()")
    db.execute("create table bare (v int)")
    config = with_ddl("w", "g", "p", "m", "bare")
    schema.install(db, config)
    with db.transaction():
        db.execute("alter table bare add d int")
        alone = scalar(db, "select txid_current()")
    schema.install(db, config)
    assert [state.operation for state in audit.history("w", "1").list(db).data] == ["UPDATE", "INSERT"]
    assert [row.values["v"] for row in audit.as_of("w", datetime.now(UTC)).list(db).data] == [2]
    assert scalar(db, "select count(*) from svc.audit_changes where operation = 'DDL'") == 0
    with db.transaction(force_rollback=True):
        db.execute(audit.revert(db, transaction=str(xact_id)).encode())
        assert db.execute("select id, v from w").fetchall() == [(1, 1)]
    assert db.execute("select * from svc.audit_net_changes(%s)", (alone,)).fetchall() == []
    assert audit.reconcile(db, config, table="public.w").is_whole
    assert [entry.label for entry in audit.query().operation("DDL").resource("w").list(db).data] == ["ALTER TABLE"]


def test_rows_as_of_a_time_are_refused_if_the_log_has_only_ddl_of_the_table(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table w add d int")
    with pytest.raises(QueryError, match=r'the log has no entry of "public.w"'):
        audit.as_of("w", datetime.now(UTC)).list(db)
    altered = scalar(db, "select now()")
    db.execute("insert into w (id, v) values (1, 1)")
    with pytest.raises(QueryError, match=r'"public.w" is not known before'):
        audit.as_of("w", altered).list(db)
    assert [row.values["v"] for row in audit.as_of("w", datetime.now(UTC)).list(db).data] == [1]
