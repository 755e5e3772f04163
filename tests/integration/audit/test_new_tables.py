"""New tables that a pattern covers are captured from their first row on, by its redaction, before the next install."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from tests.support.postgres import Prepare, embedded_programs
from tests.support.roles import new_role, noticed, owning
from tests.support.tables import create_and_audit, log

TABLES: LiteralString = """
create schema shop;
create schema narrow;
create schema bulk;
create schema kept;
create table shop.w (id int primary key, ssn text, email text, card text, pin text, seen int, v int);
create table shop.named (id int primary key, v int);
create table narrow.w (id int primary key, v int);
create table bulk.w (id int primary key, v int);
create table kept.w (no int not null, ssn text);
"""
REDACT = {"ssn": "hash", "email": "mask", "card": "last4", "pin": "remove"}
TABLE_RULES = [
    AuditedTable(name="shop.*", exclude=["shop.tmp_*"], redact=REDACT, ignore=["seen"], max_value_bytes=1000),
    AuditedTable(name="shop.named"),
    AuditedTable(name="narrow.*", columns=["v"]),
    AuditedTable(name="bulk.*", level="statement"),
    AuditedTable(name="kept.*", key=["no"], redact=["ssn"], on_drift="raise", on_error="warn"),
]
CONFIG = Config(audit=AuditConfig(ddl=True, tables=TABLE_RULES))
SCHEMAS = ("shop", "narrow", "bulk", "kept", "public")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, TABLES, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def owner(postgres: str, db: psycopg.Connection[Any], database: str) -> Iterator[str]:
    """A role that owns one audited table, and may create others beside it."""
    with new_role(postgres) as role:
        name = sql.Identifier(role)
        for schema_name in SCHEMAS:
            db.execute(sql.SQL("grant all on schema {} to {}").format(sql.Identifier(schema_name), name))
        db.execute(sql.SQL("alter table narrow.w owner to {}").format(name))
        schema.install(db, CONFIG)
        yield role
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute(sql.SQL("drop owned by {} cascade").format(name))


def entries(conn: psycopg.Connection[Any], table: str) -> list[dict[str, Any]]:
    """The entries of a table about its rows."""
    return [entry for entry in log(conn) if entry["table_name"] == table and entry["operation"] != "DDL"]


def operations(conn: psycopg.Connection[Any], table: str) -> list[tuple[str, str | None]]:
    return [(entry["operation"], entry["record_id"]) for entry in entries(conn, table)]


def ddl(conn: psycopg.Connection[Any], table: str) -> list[tuple[str, dict[str, str] | None]]:
    text = "select label, after_data from svc.audit_logs where operation = 'DDL' and table_name = %s order by id"
    return conn.execute(text, (table,)).fetchall()


def differing(conn: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    return [(entry.identity, entry.state) for entry in schema.status(conn, CONFIG) if entry.state != "ok"]


def triggers(conn: psycopg.Connection[Any], table: str) -> list[str]:
    text = """select t.tgname || ' ' || p.proname from pg_trigger t join pg_proc p on p.oid = t.tgfoid
               where t.tgrelid = to_regclass(%s) and t.tgparentid = 0 and p.pronamespace = 'svc'::regnamespace
               order by 1"""
    return [name for (name,) in conn.execute(text, (table,))]


def plain(kinds: tuple[str, ...] = ("truncate", "update", "write")) -> list[str]:
    return [f"00_svc_audit_{kind} audit_capture_new" for kind in kinds]


def test_a_new_table_is_captured_from_its_first_row_on_and_an_install_takes_it_over(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute("create table shop.fresh (id int primary key, v int, seen int)")
        conn.execute("insert into shop.fresh values (1, 1, 1), (2, 2, 2)")
        conn.execute(
            "update shop.fresh set v = 5 where id = 1; update shop.fresh set seen = 9; update shop.fresh set v = v"
        )
        conn.execute("update shop.fresh set id = 3 where id = 2; delete from shop.fresh where id = 1")
        conn.execute("truncate shop.fresh")
    assert notices == []
    changes = [("INSERT", "1"), ("INSERT", "2"), ("UPDATE", "1"), ("UPDATE", "3"), ("DELETE", "1"), ("TRUNCATE", None)]
    assert operations(db, "shop.fresh") == changes
    update, move = entries(db, "shop.fresh")[2:4]
    assert (update["before_data"], update["after_data"]) == ({"id": 1, "v": 1, "seen": 1}, {"id": 1, "v": 5, "seen": 1})
    assert (update["changed_fields"], update["redacted_fields"], update["db_user"]) == (["v"], None, owner)
    assert (move["moved_from"], move["changed_fields"]) == ("2", ["id"])
    assert ddl(db, "shop.fresh") == [("CREATE TABLE", {"table name": "shop.fresh"})]
    description = "select description from svc.audit_logs where operation = 'DDL' and table_name = 'shop.fresh'"
    assert scalar(db, description) == "table name is new: shop.fresh"
    assert {state for _, state in differing(db)} == {"missing", "outdated"}
    schema.install(db, CONFIG)
    assert differing(db) == []
    assert schema.plan(db, CONFIG) == []
    assert all("capture_shop_fresh" in name for name in triggers(db, "shop.fresh"))
    db.execute("insert into shop.fresh values (7, 7, 7)")
    assert operations(db, "shop.fresh") == [*changes, ("INSERT", "7")]


def test_what_is_recorded_is_what_an_install_records(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    """The entries of the same statements are equal before and after it, in every table that the patterns cover."""
    makes: LiteralString = """
        create type {0}.mood as enum ('ok', 'sad');
        create table {0}.{1} (id int primary key, no int, ssn text, email text, card text, pin text, seen int,
            v int, m {0}.mood, d numeric, j json, b bytea, t timestamptz, a text[], g int generated always as (v * 2)
            stored, r int4range, big text)"""
    changes: LiteralString = """
        insert into {0} (id, no, ssn, email, card, pin, seen, v, m, d, j, b, t, a, r, big) values
            (1, 1, '123', 'a@b.c', '4111111111111111', '9', 1, 1, 'ok', 'NaN', '{{"a": [1, 1.0]}}', '\\x00ff',
             '2020-01-01 00:00+02', '{{a,null}}', '[1,5)', repeat('x', 5000)),
            (2, 2, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
        update {0} set v = 3, ssn = '124' where id = 1;
        update {0} set seen = 2 where id = 1;
        update {0} set id = 3, no = 3 where id = 2;
        delete from {0} where id = 3;
        truncate {0};
    """
    images = ("before_data", "after_data", "changed_fields", "redacted_fields")
    compared = ("operation", "record_id", *images, "moved_from", "partition", "db_role", "tenant_id", "actor_id")
    for name in ("shop", "narrow", "kept"):
        table = f"{name}.fresh"
        with owning(database, owner) as (conn, notices):
            conn.execute(sql.SQL(makes).format(sql.Identifier(name), sql.Identifier("fresh")))
            conn.execute("set svc.actor_id = 'mara'; set svc.tenant_id = 'acme'")
            conn.execute(sql.SQL(changes).format(sql.SQL(table)))
            assert notices == []
            first = entries(db, table)
            assert triggers(db, table) == plain()
            schema.install(db, CONFIG)
            assert triggers(db, table) != plain()
            conn.execute(sql.SQL(changes).format(sql.SQL(table)))
        again = entries(db, table)[len(first) :]
        assert [{key: entry[key] for key in compared} for entry in first] == [
            {key: entry[key] for key in compared} for entry in again
        ]
        assert len(first) == (6 if name == "shop" else 7)
    assert not any("4111111111111111" in str(entry) or "a@b.c" in str(entry) for entry in entries(db, "shop.fresh"))


def test_of_a_level_of_statements_rows_are_recorded_until_an_install(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, notices):
        conn.execute("create table bulk.fresh (id int primary key, v int)")
        conn.execute(
            "insert into bulk.fresh values (1, 1), (2, 2); update bulk.fresh set v = 3; delete from bulk.fresh"
        )
    assert notices == []
    assert triggers(db, "bulk.fresh") == plain(("delete", "insert", "truncate", "update"))
    assert [operation for operation, _ in operations(db, "bulk.fresh")] == ["INSERT"] * 2 + ["UPDATE"] * 2 + [
        "DELETE"
    ] * 2
    schema.install(db, CONFIG)
    assert differing(db) == []
    db.execute("insert into bulk.fresh values (1, 1)")
    assert len(operations(db, "bulk.fresh")) == 7


HIDDEN = "123-45-6789"
DISGUISES: list[LiteralString] = [
    "alter table shop.fresh rename ssn to x",
    "alter table shop.fresh add x text; update shop.fresh set x = ssn; alter table shop.fresh drop ssn",
    "alter table shop.fresh add x text; update shop.fresh set x = ssn",
    "alter table shop.fresh drop constraint fresh_pkey, add primary key (ssn)",
    "alter table shop.fresh rename ssn to x; alter table shop.fresh drop constraint fresh_pkey, add primary key (x)",
    """alter table shop.fresh rename to other; alter table shop.other rename ssn to x;
       alter table shop.other rename to fresh""",
    "alter table shop.fresh set schema public; alter table public.fresh rename ssn to y; update public.fresh set v = 8",
    "alter table shop.fresh add card text; update shop.fresh set card = ssn; alter table shop.fresh rename card to x",
    "alter table shop.fresh alter ssn type varchar(100)",
]


@pytest.mark.parametrize("statements", DISGUISES)
def test_a_redacted_value_is_never_in_the_log(
    database: str, db: psycopg.Connection[Any], owner: str, statements: LiteralString
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table shop.fresh (id int primary key, ssn text, v int)")
        conn.execute("insert into shop.fresh values (1, %s, 1)", (HIDDEN,))
        conn.execute(statements)
        name = scalar(conn, "select oid::regclass::text from pg_class where relname = 'fresh' and relkind = 'r'")
        conn.execute(sql.SQL("update {} set v = 2").format(sql.SQL(name)))
        conn.execute(sql.SQL("delete from {}").format(sql.SQL(name)))
    found = [entry for entry in log(db) if entry["operation"] in ("INSERT", "UPDATE", "DELETE")]
    assert len(found) >= 3
    assert HIDDEN not in str(found)


def test_a_key_that_is_redacted_is_in_no_entry(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table shop.fresh (ssn text primary key, v int)")
        conn.execute("insert into shop.fresh values (%s, 1)", (HIDDEN,))
    [entry] = entries(db, "shop.fresh")
    assert (entry["record_id"], entry["after_data"]["v"]) == (None, 1)
    assert HIDDEN not in str(entry)


LATER: list[tuple[str, LiteralString]] = [
    (
        "shop",
        """create table shop.fresh (id int primary key, v int); alter table shop.fresh add ssn text;
           insert into shop.fresh values (1, 1, {}); alter table shop.fresh rename ssn to x""",
    ),
    (
        "narrow",
        """create table narrow.fresh (id int primary key, ssn text); insert into narrow.fresh values (1, {});
           alter table narrow.fresh rename ssn to v""",
    ),
]


@pytest.mark.parametrize(("name", "statements"), LATER)
def test_a_column_that_is_newer_than_the_capture_is_masked(
    database: str, db: psycopg.Connection[Any], owner: str, name: str, statements: LiteralString
) -> None:
    """It may have had the name of a redacted one, or of one that is not recorded."""
    with owning(database, owner) as (conn, _):
        conn.execute(sql.SQL(statements).format(sql.Literal(HIDDEN)))
        conn.execute(sql.SQL("update {}.fresh set id = 2").format(sql.Identifier(name)))
    assert operations(db, f"{name}.fresh") == [("INSERT", "1"), ("UPDATE", "2")]
    assert HIDDEN not in str(log(db))


def test_a_column_that_is_computed_from_a_redacted_one_is_masked(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute(
            """create table shop.fresh (id int primary key, ssn text, v int,
                                        shown text generated always as (upper(ssn)) stored,
                                        twice int generated always as (v * 2) stored)"""
        )
        conn.execute("insert into shop.fresh values (1, %s, 3)", ("secret",))
    [entry] = entries(db, "shop.fresh")
    assert (entry["after_data"]["shown"], entry["after_data"]["twice"]) == ("[masked]", 6)
    assert entry["redacted_fields"] == ["shown", "ssn"]


def test_drift_and_errors_are_treated_as_the_pattern_says(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, notices):
        conn.execute("create table kept.fresh (no int, ssn text); insert into kept.fresh values (4, 'secret')")
        conn.execute("alter table kept.fresh rename ssn to x; update kept.fresh set no = 5")
        assert len(notices) == 1
        assert "was renamed or dropped" in notices[0]
        conn.execute("set svc.context = 'no json'; truncate kept.fresh")
    [entry] = entries(db, "kept.fresh")
    assert (entry["record_id"], entry["after_data"], entry["redacted_fields"]) == ("4", {"no": 4}, ["ssn"])
    assert "is not on record" in notices[-1]


MADE: list[tuple[LiteralString, str, str | None]] = [
    ("create table shop.n (v int)", "shop.n", None),
    ("create unlogged table shop.n (id int primary key)", "shop.n", None),
    ("create table shop.n (like narrow.w including all)", "shop.n", None),
    ("create table shop.n () inherits (narrow.w)", "shop.n", None),
    ("create table shop.n as select 1 as id", "shop.n", "without the rows that it has now"),
    ("create table shop.n as select 1 as id with no data", "shop.n", None),
    ("select 1 as id into shop.n", "shop.n", "without the rows that it has now"),
    ("create table public.n (id int); alter table public.n set schema shop", "shop.n", None),
    (
        "create table public.n (id int); insert into public.n values (1); alter table public.n set schema shop",
        "shop.n",
        "without the rows that it has now",
    ),
    ("create table shop.tmp_1 (id int); alter table shop.tmp_1 rename to n", "shop.n", None),
    ("create table shop.o (id int); alter table shop.o rename to n", "shop.n", None),
    ("""create table shop."a.b $svc$ ' \\ "" x" (id int, "ssn'$svc$" int)""", """shop."a.b $svc$ ' \\ "" x\"""", None),
    ("do $$ begin execute 'create table shop.n (id int)'; end $$", "shop.n", None),
]


@pytest.mark.parametrize(("statements", "table", "lacks"), MADE)
def test_a_table_is_captured_however_it_is_made(
    database: str, db: psycopg.Connection[Any], owner: str, statements: LiteralString, table: str, lacks: str | None
) -> None:
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute(statements)
        columns = "(v)" if "(v int)" in statements else "(id)"
        if "ssn" in statements:
            columns = """("ssn'$svc$")"""
        conn.execute(sql.SQL("insert into {} {} values (9)").format(sql.SQL(table), sql.SQL(columns)))
    assert notices == ([f"svc-pg: {table} is captured {lacks}"] if lacks else [])
    assert [operation for operation, _ in operations(db, table)] == ["INSERT"]
    [*_, (_, facts)] = ddl(db, table)
    assert (facts or {}).get("capture") == lacks
    schema.install(db, CONFIG)
    assert differing(db) == []


NOT_MADE: list[tuple[LiteralString, str]] = [
    ("create temp table fresh (id int)", "pg_temp.fresh"),
    ("create table shop.tmp_1 (id int)", "shop.tmp_1"),
    ("create table public.fresh (id int)", "public.fresh"),
    ("drop table shop.named; create table shop.named (id int primary key, v int)", "shop.named"),
    ("create view shop.fresh as select 1 as id", "shop.fresh"),
    ("create materialized view shop.fresh as select 1 as id", "shop.fresh"),
    (
        """create foreign data wrapper none; create server nowhere foreign data wrapper none;
           create foreign table shop.fresh (id int) server nowhere""",
        "shop.fresh",
    ),
]


@pytest.mark.parametrize(("statements", "table"), NOT_MADE)
def test_others_are_left_alone(db: psycopg.Connection[Any], statements: LiteralString, table: str) -> None:
    db.execute(statements)
    assert scalar(db, "select to_regclass(%s) is not null", (table,))
    assert triggers(db, table) == []


def test_a_partitioned_table_is_captured_with_its_partitions(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute("create table shop.p (id int primary key, ssn text) partition by range (id)")
        conn.execute("create table shop.p1 partition of shop.p for values from (0) to (10)")
        conn.execute("insert into shop.p values (1, 'secret'); update shop.p1 set ssn = 'other'; delete from shop.p")
        conn.execute("truncate shop.p1; truncate shop.p")
    assert notices == []
    found = entries(db, "shop.p")
    assert [entry["operation"] for entry in found] == ["INSERT", "UPDATE", "DELETE", *["TRUNCATE"] * 3]
    assert [entry["partition"] for entry in found[:4]] == ["shop.p1"] * 4
    assert "secret" not in str(found)
    assert entries(db, "shop.p1") == []
    schema.install(db, CONFIG)
    assert differing(db) == []
    db.execute("insert into shop.p values (2, 'secret')")
    assert len(entries(db, "shop.p")) == len(found) + 1


def test_a_new_table_that_is_attached_is_recorded_once(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table shop.p (id int primary key, v int) partition by range (id)")
        schema.install(db, CONFIG)
        conn.execute("create table shop.p1 (like shop.p including all)")
        conn.execute("alter table shop.p attach partition shop.p1 for values from (0) to (10)")
        conn.execute("insert into shop.p values (1, 1); update shop.p1 set v = 2; truncate shop.p1")
        assert operations(db, "shop.p") == [("INSERT", "1"), ("UPDATE", "1"), ("TRUNCATE", None)]
        assert operations(db, "shop.p1") == []
        schema.install(db, CONFIG)
        assert [entry for entry in differing(db) if entry[1] != "incomplete"] == []
        conn.execute("insert into shop.p values (1, 1)")
    assert operations(db, "shop.p")[3:] == [("INSERT", "1")]


def test_a_table_that_is_renamed_before_an_install_keeps_its_capture(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, notices):
        conn.execute("create table shop.one (id int primary key); insert into shop.one values (1)")
        conn.execute("alter table shop.one rename to two; insert into shop.two values (2)")
        conn.execute("create table shop.one (id int primary key); insert into shop.one values (3)")
        conn.execute("alter table shop.two add v int")
    assert notices == []
    assert operations(db, "shop.one") == [("INSERT", "1"), ("INSERT", "3")]
    assert operations(db, "shop.two") == [("INSERT", "2")]
    assert ddl(db, "shop.two") == [
        ("ALTER TABLE", {"table name": "shop.two"}),
        ("ALTER TABLE", {"column v": "integer"}),
    ]
    schema.install(db, CONFIG)
    assert differing(db) == []


BETWEEN: list[LiteralString] = ["c", "tmp_c"]


@pytest.mark.parametrize("between", BETWEEN)
def test_two_tables_that_change_names_before_an_install_keep_their_captures(
    database: str, db: psycopg.Connection[Any], owner: str, between: LiteralString
) -> None:
    """Also if no pattern covers the name that one has between."""
    with owning(database, owner) as (conn, notices):
        conn.execute("create table shop.a (id int primary key); create table shop.b (id int primary key)")
        conn.execute("insert into shop.a values (1); insert into shop.b values (2)")
        conn.execute(sql.SQL("alter table shop.a rename to {}").format(sql.Identifier(between)))
        conn.execute("alter table shop.b rename to a")
        conn.execute(sql.SQL("insert into shop.{} values (3)").format(sql.Identifier(between)))
        conn.execute(sql.SQL("alter table shop.{} rename to b").format(sql.Identifier(between)))
        conn.execute("insert into shop.a values (4); insert into shop.b values (5)")
    assert notices == []
    assert operations(db, "shop.a")[-1] == ("INSERT", "4")
    assert operations(db, "shop.b")[-1] == ("INSERT", "5")
    triggers_of = [(identity, state) for identity, state in differing(db) if " on " in identity]
    assert {state for _, state in triggers_of} == {"outdated"}
    assert len(triggers_of) == 6
    schema.install(db, CONFIG)
    assert differing(db) == []


@pytest.mark.parametrize("name", ["x.y", 'q"q', "it's", "Ü z", "back\\slash"])
def test_a_table_with_an_odd_name_that_is_renamed_before_an_install_is_not_told_as_tampered(
    database: str, db: psycopg.Connection[Any], owner: str, name: str
) -> None:
    with owning(database, owner) as (conn, _):
        odd = sql.Identifier("shop", name)
        conn.execute(sql.SQL("create table {} (id int primary key)").format(odd))
        conn.execute(sql.SQL("alter table {} rename to plain").format(odd))
    assert {state for identity, state in differing(db) if " on shop.plain" in identity} == {"outdated"}


def test_a_rename_before_an_install_hides_no_other_trigger_of_the_name(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table shop.a (id int primary key, ssn text)")
        conn.execute("""drop trigger "00_svc_audit_write" on shop.a""")
        conn.execute(
            """create trigger "00_svc_audit_write" after insert or delete on shop.a for each row
               execute function svc.audit_capture_new('["id", "ssn", "later"]')"""
        )
        conn.execute("alter table shop.a rename to b")
    assert ("00_svc_audit_write on shop.b", "tampered") in differing(db)
    assert ("00_svc_audit_update on shop.b", "outdated") in differing(db)


def test_a_table_that_is_dropped_before_an_install_leaves_nothing_to_remove(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, notices):
        conn.execute("create table shop.gone (id int); drop table shop.gone")
        conn.execute(
            "create table shop.p (id int) partition by range (id); create table shop.p1 partition of shop.p default"
        )
        conn.execute("drop table shop.p")
    assert notices == []
    assert ddl(db, "shop.gone") == [("CREATE TABLE", {"table name": "shop.gone"}), ("DROP TABLE", None)]
    assert scalar(db, "select count(*) from svc.audit_shapes where table_name in ('shop.gone', 'shop.p')") == 0
    assert differing(db) == []
    assert schema.plan(db, CONFIG) == []


def test_a_statement_that_is_rolled_back_leaves_nothing(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _), conn.transaction(force_rollback=True):
        conn.execute("create table shop.fresh (id int); insert into shop.fresh values (1)")
    assert differing(db) == []
    assert entries(db, "shop.fresh") == []


def test_without_rights_on_svc_a_table_is_made_and_told_to_be_without_capture(
    postgres: str, database: str, db: psycopg.Connection[Any]
) -> None:
    with new_role(postgres) as role:
        name = sql.Identifier(role)
        db.execute(sql.SQL("grant all on schema shop, public to {}").format(name))
        with owning(database, role) as (conn, notices):
            conn.execute("create table public.fresh (id int)")
            assert notices == []
            conn.execute("create table shop.fresh (id int); insert into shop.fresh values (1)")
            assert notices == ["svc-pg: shop.fresh is captured not before the next install"]
            for hidden in ("svc.audit_new_triggers(1)", "svc.audit_capture_new()"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    conn.execute(sql.SQL("select {}").format(sql.SQL(hidden)))
        assert ddl(db, "shop.fresh")[0][1] == {"table name": "shop.fresh", "capture": "not before the next install"}
        schema.install(db, CONFIG)
        assert differing(db) == []
        db.execute(sql.SQL("drop owned by {} cascade").format(name))


def test_a_new_owner_makes_partitions(postgres: str, database: str, db: psycopg.Connection[Any]) -> None:
    """PostgreSQL clones the triggers for whoever has the right to their function."""
    with new_role(postgres) as role:
        name = sql.Identifier(role)
        db.execute(sql.SQL("grant all on schema shop to {}").format(name))
        db.execute("create table shop.p (id int primary key) partition by range (id)")
        db.execute(sql.SQL("alter table shop.p owner to {}").format(name))
        with owning(database, role) as (conn, _):
            conn.execute("create table shop.p1 partition of shop.p default; insert into shop.p values (1)")
            conn.execute("create table shop.p2 (id int primary key)")
            conn.execute("alter table shop.p attach partition shop.p2 for values from (10) to (20)")
            conn.execute("insert into shop.p values (11)")
        assert operations(db, "shop.p") == [("INSERT", "1"), ("INSERT", "11")]
        schema.install(db, CONFIG)
        assert differing(db) == []
        db.execute(sql.SQL("drop owned by {} cascade").format(name))


def test_a_new_owner_of_an_installed_table_makes_partitions(
    postgres: str, database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    db.execute("create table shop.p (id int primary key) partition by range (id)")
    db.execute(sql.SQL("alter table shop.p owner to {}").format(sql.Identifier(owner)))
    schema.install(db, CONFIG)
    with new_role(postgres) as role:
        name = sql.Identifier(role)
        db.execute(sql.SQL("grant all on schema shop to {}").format(name))
        db.execute(sql.SQL("alter table shop.p owner to {}").format(name))
        with owning(database, role) as (conn, notices):
            conn.execute("create table shop.p1 partition of shop.p for values from (0) to (10)")
            conn.execute("create table shop.p2 (id int primary key)")
            conn.execute("alter table shop.p attach partition shop.p2 for values from (10) to (20)")
            conn.execute("insert into shop.p values (1), (11)")
        assert "svc-pg: shop.p1 is captured without TRUNCATE before the next install" in notices
        assert operations(db, "shop.p") == [("INSERT", "1"), ("INSERT", "11")]
        schema.install(db, CONFIG)
        assert [state for _, state in differing(db) if state != "incomplete"] == []
        db.execute(sql.SQL("drop owned by {} cascade").format(name))


def test_in_a_replica_the_next_install_captures(db: psycopg.Connection[Any]) -> None:
    db.execute("set session_replication_role = replica")
    db.execute("create table shop.fresh (id int primary key)")
    db.execute("reset session_replication_role")
    assert triggers(db, "shop.fresh") == []
    assert ("00_svc_audit_write on shop.fresh", "missing") in differing(db)
    schema.install(db, CONFIG)
    assert differing(db) == []


def test_an_owner_can_record_nothing_under_the_name_of_another_table(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table public.mine (id int, ssn text)")
        for arguments in ("", "'shop.w'", '\'["id", "ssn"]\'', "'{'"):
            conn.execute(
                sql.SQL(
                    "create trigger {} after insert on mine for each row execute function svc.audit_capture_new({})"
                ).format(sql.Identifier("00_svc_audit_write on shop.w"), sql.SQL(arguments))
            )
            conn.execute("insert into mine values (1, 'secret')")
            conn.execute(sql.SQL("drop trigger {} on mine").format(sql.Identifier("00_svc_audit_write on shop.w")))
    assert entries(db, "shop.w") == []
    assert {str(entry["after_data"]) for entry in entries(db, "public.mine")} == {
        "{'id': '[masked]', 'ssn': '[masked]'}"
    }
    assert scalar(db, "select count(*) from svc.installed_objects where audited_table = 'public.mine'") == 0
    assert differing(db) == []


HOSTILE: LiteralString = """
create schema evil;
grant usage on schema evil to public;
create function evil.runs() returns text language plpgsql as $$ begin
    raise warning 'evil runs as %', current_user; return '1'; end $$;  -- an error would be caught
create type evil.kind as enum ('a');
create function evil.to_json(evil.kind) returns json language sql as 'select evil.runs()::json';
create cast (evil.kind as json) with function evil.to_json(evil.kind);
create domain evil.checked as text check (value <> 'secret');
create function evil.format(text, variadic text[]) returns text language sql as 'select evil.runs()';
create temp table pg_class (oid oid, relname text);
set search_path = evil, pg_temp, public, pg_catalog;
"""


def test_a_hostile_owner_has_no_code_run_by_the_log(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    db.execute(
        sql.SQL("grant create on database {} to {}").format(sql.Identifier(db.info.dbname), sql.Identifier(owner))
    )
    with owning(database, owner) as (conn, notices):
        conn.execute(HOSTILE)
        conn.execute("create table bulk.fresh (id int primary key, k evil.kind, ks evil.kind[], d evil.checked)")
        conn.execute("insert into bulk.fresh values (1, 'a', '{a}', 'x')")
        conn.execute("create type evil.pair as (k evil.kind); alter table bulk.fresh add p evil.pair")
        conn.execute("update bulk.fresh set p = row('a')::evil.pair")
    assert notices == []
    insert, update = entries(db, "bulk.fresh")
    assert insert["after_data"] == {"id": 1, "k": "a", "ks": ["a"], "d": "x"}
    assert update["after_data"]["p"] == "(a)"


def test_triggers_of_our_names_that_others_made_are_not_counted_as_ours(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table shop.fresh (id int primary key)")
        conn.execute("""drop trigger "00_svc_audit_update" on shop.fresh""")
        conn.execute(
            """create trigger "00_svc_audit_update" before update on shop.fresh for each row when (false)
               execute function svc.audit_capture_new()"""
        )
    assert ("00_svc_audit_update on shop.fresh", "tampered") in differing(db)
    schema.install(db, CONFIG)
    assert [entry for entry in differing(db) if entry[1] != "incomplete"] == []


def test_who_names_no_actor_is_refused_if_the_configuration_says_so(db: psycopg.Connection[Any]) -> None:
    refusing = CONFIG.model_copy(update={"audit": CONFIG.audit.model_copy(update={"unattributed": "refuse"})})
    schema.install(db, refusing)
    db.execute("create table shop.fresh (id int); create table kept.fresh (no int)")
    for table in ("shop.fresh", "kept.fresh"):
        with pytest.raises(psycopg.Error, match="nobody is named as the actor"):
            db.execute(sql.SQL("insert into {} values (1)").format(sql.SQL(table)))
        with db.transaction():
            db.execute("set local svc.actor_id = 'mara'")
            db.execute(sql.SQL("insert into {} values (2)").format(sql.SQL(table)))
        assert [entry["actor_id"] for entry in entries(db, table)] == ["mara"]


def test_a_table_that_two_patterns_cover_waits_for_a_person(db: psycopg.Connection[Any]) -> None:
    """An install refuses such a configuration, and each of its patterns may redact other columns."""
    db.execute("create table public.both (id int)")
    rules = [*TABLE_RULES, AuditedTable(name="*.both", redact=["id"])]
    schema.install(db, Config(audit=AuditConfig(ddl=True, tables=rules)))
    notices = noticed(db)
    db.execute("create table shop.both (id int); insert into shop.both values (1); create table shop.other (id int)")
    assert notices == ["svc-pg: shop.both is captured not before the next install"]
    assert (triggers(db, "shop.both"), triggers(db, "shop.other")) == ([], plain())


def test_a_table_of_an_extension_is_captured_as_others(db: psycopg.Connection[Any]) -> None:
    if db.info.server_version < 180000:
        pytest.skip("the folder of extensions is the server's")
    with TemporaryDirectory() as path:  # readable by the account of the server
        folder = Path(path, "extension")
        folder.mkdir()
        Path(path).chmod(0o755)
        made = "create table shop.made (id int primary key); insert into shop.made values (1);"
        (folder / "maker.control").write_text("default_version = '1'\nrelocatable = false\nschema = shop\n")
        (folder / "maker--1.sql").write_text(made)
        db.execute(sql.SQL("set extension_control_path = {}").format(sql.Literal(f"{path}:$system")))
        db.execute("create extension maker")
    assert operations(db, "shop.made") == [("INSERT", "1")]
    assert differing(db) != []
    schema.install(db, CONFIG)
    assert differing(db) == []
    db.execute("drop extension maker")
    assert [label for label, _ in ddl(db, "shop.made")] == ["CREATE TABLE", "DROP EXTENSION"]


def test_a_restored_dump_goes_on_capturing(database: str, owner: str, empty_database: str) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table shop.fresh (id int primary key, ssn text); insert into shop.fresh values (1, 'one')")
        conn.execute("create table shop.p (id int primary key) partition by range (id)")
        conn.execute("create table shop.p1 partition of shop.p default; insert into shop.p values (1)")
    programs = embedded_programs()
    dump = subprocess.run([programs / "pg_dump", "--dbname", database], capture_output=True, check=True).stdout
    subprocess.run(
        [programs / "psql", "--quiet", "--dbname", empty_database], input=dump, capture_output=True, check=True
    )
    with psycopg.connect(empty_database, autocommit=True) as copy:
        copy.execute("insert into shop.fresh values (2, 'two'); insert into shop.p values (2); truncate shop.p1")
        assert operations(copy, "shop.fresh") == [("INSERT", "1"), ("INSERT", "2")]
        assert operations(copy, "shop.p") == [("INSERT", "1"), ("INSERT", "2"), ("TRUNCATE", None)]
        assert "two" not in str(entries(copy, "shop.fresh"))
        schema.install(copy, CONFIG)
        assert differing(copy) == []
        copy.execute("insert into shop.fresh values (3, 'three')")
        assert operations(copy, "shop.fresh")[2:] == [("INSERT", "3")]
        copy.execute(sql.SQL("drop owned by {} cascade").format(sql.Identifier(owner)))


SHADOWS: dict[str, LiteralString] = {
    "pg_class": "oid oid, relname text, relnamespace oid, relispartition boolean",
    "pg_namespace": "oid oid, nspname text",
    "pg_attribute": "attrelid oid, attname text, atttypid oid, attnum int2, attisdropped boolean, attgenerated text",
    "pg_type": "oid oid, typbasetype oid",
    "pg_index": "indrelid oid, indkey int2vector, indisprimary boolean, indnkeyatts int2",
    "pg_trigger": "tgrelid oid, tgname text, tgfoid oid",
    "pg_proc": "oid oid, pronamespace oid",
}


@pytest.mark.parametrize(("catalog", "columns"), SHADOWS.items())
def test_a_transition_table_takes_the_place_of_no_catalog(
    database: str, db: psycopg.Connection[Any], owner: str, catalog: str, columns: LiteralString
) -> None:
    """Else a hostile owner would choose the name of the entry, or have the owner of the log run a cast."""
    db.execute(
        sql.SQL("grant create on database {} to {}").format(sql.Identifier(db.info.dbname), sql.Identifier(owner))
    )
    with owning(database, owner) as (conn, notices):
        conn.execute(HOSTILE)
        conn.execute('create schema "shop.x"')
        conn.execute(sql.SQL('create table "shop.x".t ({}, k evil.kind)').format(sql.SQL(columns)))
        conn.execute(
            sql.SQL(
                """create trigger hostile after insert on "shop.x".t referencing new table as {} for each row
                   execute function svc.audit_capture_new()"""
            ).format(sql.Identifier(catalog))
        )
        conn.execute("""insert into "shop.x".t (k) values ('a')""")
    assert notices == []
    assert [entry["table_name"] for entry in log(db) if entry["operation"] == "INSERT"] == ['"shop.x".t']


def test_a_table_is_restored_as_it_was_without_event_triggers(database: str, db: psycopg.Connection[Any]) -> None:
    if db.info.server_version < 170000:
        pytest.skip("pg_restore of 18 sets a parameter that older servers lack")
    db.execute("create table shop.fresh (id int primary key, v int); insert into shop.fresh values (1, 1)")
    schema.install(db, CONFIG)
    db.execute("create table shop.fresher (id int primary key); insert into shop.fresher values (1)")
    programs = embedded_programs()
    tables = ["--table=shop.fresh", "--table=shop.fresher"]
    dump = subprocess.run(
        [programs / "pg_dump", "--format=custom", *tables, "--dbname", database], capture_output=True, check=True
    ).stdout
    restore: list[Path | str] = [programs / "pg_restore", "--clean", "--single-transaction", "--dbname", database]
    failed = subprocess.run(restore, input=dump, capture_output=True, check=False)
    assert b"already exists" in failed.stderr
    silent = {**os.environ, "PGOPTIONS": "-c session_replication_role=replica"}
    subprocess.run(restore, input=dump, capture_output=True, check=True, env=silent)
    db.execute("insert into shop.fresh values (2, 2); insert into shop.fresher values (2)")
    for table in ("shop.fresh", "shop.fresher"):
        assert operations(db, table) == [("INSERT", "1"), ("INSERT", "2")]
    schema.install(db, CONFIG)
    assert [entry for entry in differing(db) if entry[1] != "incomplete"] == []
