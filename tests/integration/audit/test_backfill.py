from typing import Any

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
from tests.support.replay import contents, replay
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
