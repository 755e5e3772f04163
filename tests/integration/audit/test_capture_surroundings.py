"""Capture among what applications have: foreign keys, other triggers, generated columns, dumps."""

import subprocess
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import schema
from svc_pg.database.query import scalar
from tests.support.postgres import embedded_programs
from tests.support.tables import audited, create_and_audit, log


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def brief(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return [(e["table_name"], e["operation"], e["record_id"]) for e in log(conn)]


@pytest.mark.parametrize("action", ["set null", "set default"])
def test_rows_that_a_foreign_key_changes_are_recorded(database: str, db: psycopg.Connection[Any], action: str) -> None:
    ddl: Any = f"""
        create table parent (id int primary key);
        create table child (id int primary key, parent_id int references parent on delete {action});
    """
    create_and_audit(database, ddl, audited("parent", "child"))
    db.execute("insert into parent values (1); insert into child values (7, 1); delete from parent")
    assert ("public.child", "UPDATE", "7") in brief(db)
    assert log(db)[-1]["changed_fields"] == ["parent_id"]


def test_truncate_cascade_is_recorded_for_every_table(database: str, db: psycopg.Connection[Any]) -> None:
    create_and_audit(
        database,
        "create table parent (id int primary key); create table child (id int references parent)",
        audited("parent", "child"),
    )
    db.execute("truncate parent cascade")
    assert sorted(brief(db)) == [("public.child", "TRUNCATE", None), ("public.parent", "TRUNCATE", None)]


def test_what_other_triggers_change_is_recorded_in_the_order_in_which_it_happens(
    database: str, db: psycopg.Connection[Any]
) -> None:
    ddl = """
        create table stock (id int primary key, n int);
        create table sale (id int primary key, stock_id int, at text);
        create function stamp() returns trigger language plpgsql as
            $$ begin new.at := 'stamped'; return new; end $$;
        create function take() returns trigger language plpgsql as
            $$ begin update stock set n = n - 1 where id = new.stock_id; return null; end $$;
        create trigger a_stamp before insert on sale for each row execute function stamp();
        create trigger a_take after insert on sale for each row execute function take();
    """
    create_and_audit(database, ddl, audited("stock", "sale"))
    db.execute("insert into stock values (1, 5); insert into sale values (1, 1, null)")
    assert brief(db)[1:] == [("public.sale", "INSERT", "1"), ("public.stock", "UPDATE", "1")]
    assert log(db)[1]["after_data"]["at"] == "stamped"


def test_a_row_that_a_trigger_refuses_leaves_no_entry(database: str, db: psycopg.Connection[Any]) -> None:
    ddl = """
        create table t (id int primary key);
        create function skip() returns trigger language plpgsql as $$ begin return null; end $$;
        create trigger skip before insert on t for each row execute function skip();
    """
    create_and_audit(database, ddl, audited("t"))
    db.execute("insert into t values (1)")
    assert brief(db) == []


def test_stored_generated_columns_are_recorded(database: str, db: psycopg.Connection[Any]) -> None:
    ddl = "create table t (id int primary key, double int generated always as (id * 2) stored)"
    create_and_audit(database, ddl, audited("t"))
    db.execute("insert into t values (4)")
    assert log(db)[0]["after_data"] == {"id": 4, "double": 8}


def test_types_without_an_equality_of_their_own_are_compared(database: str, db: psycopg.Connection[Any]) -> None:
    has_xml = True
    try:
        db.execute("select '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        has_xml = False
    db.rollback()
    kind: Any = "xml" if has_xml else "point"
    create_and_audit(database, f"create table t (id int primary key, v {kind}, j json)", audited("t"))
    values: tuple[str, str] = ("<a/>", "<b/>") if has_xml else ("(1,2)", "(1,3)")
    db.execute("insert into t values (1, %s, '{}')", (values[0],))
    db.execute("update t set v = %s", (values[1],))
    db.execute("update t set v = v, j = '[1]'")
    assert [e["changed_fields"] for e in log(db)[1:]] == [["v"], ["j"]]


@pytest.mark.parametrize("name", ["Ünïcode table", "x" * 63, "select"])
def test_quoted_columns_and_keys_are_recorded(database: str, db: psycopg.Connection[Any], name: str) -> None:
    identifier = psycopg.sql.Identifier(name)
    statement = psycopg.sql.SQL("create table t ({0} text primary key, n int)").format(identifier)
    create_and_audit(database, statement.as_string(db), audited("t"))
    db.execute("insert into t values ('k''1', 1)")
    db.execute("update t set n = 2")
    assert [(e["record_id"], e["changed_fields"]) for e in log(db)] == [("k'1", None), ("k'1", ["n"])]


def test_a_detached_partition_keeps_what_is_on_record_and_is_recorded_no_more(
    database: str, db: psycopg.Connection[Any]
) -> None:
    ddl = """
        create table m (id int primary key) partition by range (id);
        create table m_1 partition of m for values from (0) to (10);
    """
    create_and_audit(database, ddl, audited("m"))
    db.execute("insert into m values (1)")
    db.execute("alter table m detach partition m_1")
    db.execute("insert into m_1 values (2)")
    assert brief(db) == [("public.m", "INSERT", "1")]


def test_row_security_of_the_source_hides_nothing_from_the_log(database: str, db: psycopg.Connection[Any]) -> None:
    ddl = """
        create table t (id int primary key, owner text);
        alter table t enable row level security;
        alter table t force row level security;
        create policy own on t using (owner = current_user) with check (true);
    """
    create_and_audit(database, ddl, audited("t"))
    db.execute("insert into t values (1, 'somebody else')")
    assert brief(db) == [("public.t", "INSERT", "1")]


def test_a_dump_that_is_restored_elsewhere_is_intact_and_goes_on(
    database: str, empty_database: str, db: psycopg.Connection[Any]
) -> None:
    config = audited("t")
    create_and_audit(database, "create table t (id int primary key, a text)", config)
    db.execute("insert into t values (1, 'a')")
    db.commit()
    programs = embedded_programs()
    dump = subprocess.run([programs / "pg_dump", "--dbname", database], capture_output=True, check=True).stdout
    # errors of settings that an older server does not know are passed over
    subprocess.run(
        [programs / "psql", "--quiet", "--dbname", empty_database], input=dump, capture_output=True, check=True
    )
    with psycopg.connect(empty_database) as copy:
        assert {entry.identity: entry.sql for entry in schema.status(copy, config) if entry.state != "ok"} == {}
        copy.execute("update t set a = 'b'")
        assert brief(copy) == [("public.t", "INSERT", "1"), ("public.t", "UPDATE", "1")]
        with pytest.raises(psycopg.DatabaseError, match="append-only"):
            copy.execute("delete from svc.audit_logs")
        copy.rollback()
        assert scalar(copy, "select count(*) from svc.audit_logs_default") == 0
