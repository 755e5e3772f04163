from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from tests.support.replay import contents, replay
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import log


def config(**options: Any) -> Config:
    return Config.model_validate({"audit": {"tables": [{"name": "t"} | options]}})


@pytest.fixture
def db(database: str) -> Any:
    with psycopg.connect(database) as conn:
        conn.execute("create table t (id int primary key, a text, secret text, d timestamptz default '2026-01-01')")
        conn.execute("insert into t select n, 'a', 'hush' from generate_series(1, 5) n")
        conn.commit()
        yield conn


def test_rows_from_before_are_recorded_once_and_redacted(db: psycopg.Connection[Any]) -> None:
    wanted = config(redact=["secret"])
    schema.install(db, wanted)
    assert schema.backfill(db, wanted) == {"public.t": 5}
    assert schema.backfill(db, wanted) == {"public.t": 0}
    entries = log(db)
    assert [(e["operation"], e["record_id"]) for e in entries] == [("SNAPSHOT", str(n)) for n in range(1, 6)]
    assert "hush" not in str(entries)


def test_the_log_then_rebuilds_the_whole_table(db: psycopg.Connection[Any]) -> None:
    schema.install(db, config())
    db.execute("set timezone = 'Asia/Tokyo'")
    db.commit()
    schema.backfill(db, config())
    db.execute("update t set a = 'b' where id = 1; delete from t where id = 2; insert into t values (9, 'n')")
    db.execute("create table copy (like t)")
    replay(db, "public.t", into=sql.Identifier("copy"))
    assert contents(db, sql.Identifier("copy")) == contents(db, sql.Identifier("t"))


def test_only_rows_that_the_log_does_not_know_are_recorded(db: psycopg.Connection[Any]) -> None:
    schema.install(db, config())
    db.execute("update t set a = 'b' where id = 1; delete from t where id = 2")
    db.execute("set session_replication_role = replica")
    db.execute("insert into t values (2, 'came back unseen')")
    db.execute("reset session_replication_role")
    db.commit()
    assert schema.backfill(db, config()) == {"public.t": 4}
    assert {e["record_id"] for e in log(db) if e["operation"] == "SNAPSHOT"} == {"2", "3", "4", "5"}


@pytest.mark.parametrize("level", ["row", "statement"])
def test_rows_that_a_trigger_brought_back_are_known(db: psycopg.Connection[Any], level: str) -> None:
    db.execute("""
        create function bring_back() returns trigger language plpgsql as $$
        begin
            insert into t values (6 - old.id, 'back') on conflict do nothing;
            return null;
        end $$;
        create trigger zz_bring_back after delete on t for each row execute function bring_back();
    """)
    db.commit()
    schema.install(db, config(level=level))
    schema.backfill(db, config(level=level))
    db.execute("delete from t")
    db.commit()
    assert scalar(db, "select count(*) from t where a = 'back'") == 5
    db.commit()
    assert schema.backfill(db, config(level=level)) == {"public.t": 0}


def test_rows_of_an_attached_partition_are_recorded(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table m (id int primary key) partition by range (id)")
        conn.commit()
        wanted = Config.model_validate({"audit": {"tables": [{"name": "m"}]}})
        schema.install(conn, wanted)
        conn.execute("create table m_1 (id int primary key); insert into m_1 values (1), (2)")
        conn.execute("alter table m attach partition m_1 for values from (0) to (10)")
        conn.commit()
        schema.install(conn, wanted)
        assert schema.backfill(conn, wanted) == {"public.m": 2}


def test_a_table_without_key_is_recorded_while_it_has_no_entries(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table k (a text); insert into k values ('x'), ('x')")
        conn.commit()
        wanted = Config.model_validate({"audit": {"tables": [{"name": "k"}]}})
        schema.install(conn, wanted)
        assert schema.backfill(conn, wanted) == {"public.k": 2}
        assert schema.backfill(conn, wanted) == {"public.k": 0}


def test_rows_of_an_inheriting_table_are_not_those_of_its_parent(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table t (id int primary key); create table child () inherits (t)")
        conn.execute("insert into t values (1); insert into child values (2)")
        conn.commit()
        schema.install(conn, config())
        assert schema.backfill(conn, config()) == {"public.t": 1}
        assert [e["record_id"] for e in log(conn)] == ["1"]


@pytest.mark.parametrize("key", ["primary key", ""])
def test_rows_that_came_unseen_after_a_truncate_are_recorded(database: str, key: LiteralString) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table t (id int " + key + ")")
        conn.commit()
        schema.install(conn, config())
        conn.execute("insert into t values (1), (2)")
        conn.execute("truncate t")
        conn.execute("set session_replication_role = replica; insert into t values (1), (3)")
        conn.execute("reset session_replication_role")
        conn.commit()
        assert schema.backfill(conn, config()) == {"public.t": 2}
        assert schema.backfill(conn, config()) == {"public.t": 0}


def test_rows_of_a_truncated_partition_are_recorded_and_those_of_others_are_not(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table t (id int primary key) partition by range (id)")
        conn.execute("create table t1 partition of t for values from (1) to (10)")
        conn.execute("create table t2 partition of t for values from (10) to (20)")
        conn.commit()
        schema.install(conn, config())
        conn.execute("insert into t values (1), (11)")
        conn.execute("truncate t1")
        conn.execute("set session_replication_role = replica; insert into t values (1)")
        conn.execute("reset session_replication_role")
        conn.commit()
        assert schema.backfill(conn, config()) == {"public.t": 1}
        assert [(e["operation"], e["record_id"]) for e in log(conn)][-1] == ("SNAPSHOT", "1")


def test_a_table_without_key_is_not_recorded_again_when_a_row_is_deleted(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create table t (a text)")
        conn.execute("insert into t values ('x'), ('y')")
        conn.commit()
        schema.install(conn, config())
        assert schema.backfill(conn, config()) == {"public.t": 2}
        conn.execute("delete from t where a = 'x'")
        conn.commit()
        assert schema.backfill(conn, config()) == {"public.t": 0}


def test_rows_that_a_policy_hides_are_an_error(db: psycopg.Connection[Any], postgres: str) -> None:
    schema.install(db, config())
    with new_role(postgres) as owner:
        execute(db.info.dsn, "grant svc_owner, svc_writer to {}", owner)
        execute(db.info.dsn, "alter table t owner to {}", owner)
        execute(db.info.dsn, "alter table t enable row level security")
        execute(db.info.dsn, "alter table t force row level security")
        with as_role(db.info.dsn, owner) as conn, pytest.raises(InstallError, match=r'row-level security.* table "t"'):
            schema.backfill(conn, config())
        assert log(db) == []
        db.commit()
        execute(db.info.dsn, "reassign owned by {} to current_user", owner)
        execute(db.info.dsn, "drop owned by {}", owner)


def unseen(conn: psycopg.Connection[Any], change: LiteralString) -> None:
    conn.execute("set session_replication_role = replica")
    conn.execute(change)
    conn.execute("reset session_replication_role")
    conn.commit()


def test_a_row_that_changed_unseen_is_recorded_with_both_images_and_a_lost_one_with_its_last(
    db: psycopg.Connection[Any],
) -> None:
    wanted = config(redact=["secret"], ignore=["d"])
    schema.install(db, wanted)
    schema.backfill(db, wanted)
    audit.erase(db, "t", 5)
    db.commit()
    unseen(
        db, "update t set d = now(), secret = 'other'; update t set a = 'b' where id < 3; delete from t where id = 4"
    )
    before = len(log(db))
    db.commit()
    assert schema.backfill(db, wanted) == {"public.t": 3}
    found = log(db)[before:]
    db.commit()
    assert [(e["operation"], e["record_id"], e["changed_fields"], e["label"]) for e in found] == [
        ("SNAPSHOT", "1", ["a"], "found by backfill"),
        ("SNAPSHOT", "2", ["a"], "found by backfill"),
        ("GONE", "4", None, "found by backfill"),
    ]
    assert (found[0]["before_data"]["a"], found[0]["after_data"]["a"], found[2]["before_data"]["a"]) == ("a", "b", "a")
    assert "hush" not in str(found)
    assert "other" not in str(found)
    [state, _] = audit.history("t", 1).order("newest").list(db).data
    assert (state.operation, state.changed_fields) == ("SNAPSHOT", ["a"])
    assert {field.field: field.operation for field in audit.blame(db, "t", 1)}["a"] == "SNAPSHOT"
    db.commit()
    assert schema.backfill(db, wanted) == {"public.t": 0}


@pytest.mark.parametrize("key", ["int", "mood", "int, b text", "jsonb"])
def test_lost_records_are_found_by_any_key(database: str, key: LiteralString) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create type mood as enum ('1', '2', '3')")
        conn.execute("create table t (a " + key + ", n int)")
        columns = "a, b" if "b text" in key else "a"
        conn.execute("alter table t add primary key (" + columns + ")")
        conn.commit()
        schema.install(conn, config())
        values = (
            "select v::text::"
            + key.split(",")[0]
            + (", 'x'" if "," in key else "")
            + ", 1 from unnest('{1,2,3}'::int[]) v"
        )
        conn.execute(("insert into t " + values).encode())
        conn.commit()
        unseen(conn, "delete from t where a::text = '2'")
        assert schema.backfill(conn, config()) == {"public.t": 1}
        [entry] = [entry for entry in log(conn) if entry["operation"] == "GONE"]
        assert "2" in entry["record_id"]
        conn.commit()
        assert schema.backfill(conn, config()) == {"public.t": 0}


def test_a_table_of_many_pages_is_compared_while_writers_go_on(database: str) -> None:
    with psycopg.connect(database) as conn, psycopg.connect(database) as writer:
        conn.execute("create table t (id int primary key, pad text)")
        conn.execute("insert into t select n, repeat('x', 700) from generate_series(1, 2000) n")  # 200 pages
        conn.commit()
        schema.install(conn, config())
        assert schema.backfill(conn, config()) == {"public.t": 2000}
        writer.execute("update t set pad = 'y' where id = 7; delete from t where id = 8")
        assert schema.backfill(conn, config()) == {"public.t": 0}  # waits for no writer while it only looks
        writer.commit()
        assert schema.backfill(conn, config()) == {"public.t": 0}
        unseen(conn, "delete from t where id between 10 and 1000; update t set pad = 'z' where id > 1990")
        assert schema.backfill(conn, config()) == {"public.t": 991 + 10}
        assert schema.backfill(conn, config()) == {"public.t": 0}
