import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import psycopg
import pytest
from psycopg.sql import Identifier

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, UnknownTableError
from tests.support.replay import contents, replay
from tests.support.tables import log

MEASUREMENTS = """
create table m (id int, place text, n int, primary key (place, id)) partition by list (place);
create table m_north partition of m for values in ('north');
create table m_south partition of m for values in ('south') partition by range (id);
create table m_south_low partition of m_south for values from (0) to (100);
"""


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def install(conn: psycopg.Connection[Any], *tables: dict[str, Any], prune: bool = False) -> Config:
    config = Config.model_validate({"audit": {"tables": tables}})
    schema.install(conn, config, prune=prune)
    return config


def brief(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return [(e["table_name"], e["operation"], e["record_id"]) for e in log(conn)]


def test_rows_written_through_any_level_of_partitions_are_recorded_under_the_parent(
    db: psycopg.Connection[Any],
) -> None:
    db.execute(MEASUREMENTS)
    db.commit()
    install(db, {"name": "m"})
    db.execute("insert into m values (1, 'north', 1)")
    db.execute("insert into m_south values (2, 'south', 1)")
    db.execute("insert into m_south_low values (3, 'south', 1)")
    assert brief(db) == [
        ("public.m", "INSERT", '["north", 1]'),
        ("public.m", "INSERT", '["south", 2]'),
        ("public.m", "INSERT", '["south", 3]'),
    ]
    leaves = db.execute("select table_oid::regclass::text from svc.audit_logs order by id").fetchall()
    assert [leaf for (leaf,) in leaves] == ["m_north", "m_south_low", "m_south_low"]


def test_a_row_that_moves_to_another_partition_is_a_delete_and_an_insert(db: psycopg.Connection[Any]) -> None:
    db.execute(MEASUREMENTS)
    db.commit()
    install(db, {"name": "m"})
    db.execute("insert into m values (1, 'north', 1)")
    db.execute("update m set place = 'south'")
    assert brief(db)[1:] == [("public.m", "DELETE", '["north", 1]'), ("public.m", "INSERT", '["south", 1]')]


@pytest.mark.parametrize("table", ["m", "m_south", "m_south_low"])
def test_truncate_of_a_parent_or_a_partition_is_recorded(db: psycopg.Connection[Any], table: str) -> None:
    db.execute(MEASUREMENTS)
    db.commit()
    install(db, {"name": "m"})
    db.execute(psycopg.sql.SQL("truncate {}").format(psycopg.sql.Identifier(table)))
    entries = log(db)
    assert {(e["table_name"], e["operation"]) for e in entries} == {("public.m", "TRUNCATE")}
    oid = psycopg.sql.Literal(table)
    [(expected,)] = db.execute(psycopg.sql.SQL("select {}::regclass::oid").format(oid)).fetchall()
    assert expected in {e["table_oid"] for e in entries}


def test_a_truncate_of_a_partition_names_it_and_empties_no_other(db: psycopg.Connection[Any]) -> None:
    db.execute(MEASUREMENTS)
    db.commit()
    install(db, {"name": "m"})
    db.execute("insert into m values (1, 'north', 1), (2, 'south', 1)")
    db.execute("truncate m_south")
    db.execute("insert into m values (3, 'south', 1)")
    db.execute("alter table m rename to renamed")
    db.execute("alter table renamed rename to m")
    db.commit()
    assert [row.values["id"] for row in audit.as_of("m", datetime.now(UTC)).list(db)] == [1, 3]
    state = "select svc.audit_state_before('public.m', %s, 'infinity', 1000) = ''"
    assert [scalar(db, state, (key,)) for key in ('["north", 1]', '["south", 2]')] == [False, True]
    out = BytesIO()
    audit.export(db, audit.query(), format="ndjson", out=out)
    entries = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(entry["operation"], entry["partition"]) for entry in entries] == [
        ("INSERT", "public.m_north"),
        ("INSERT", "public.m_south_low"),
        ("TRUNCATE", "public.m_south"),
        ("TRUNCATE", "public.m_south_low"),
        ("INSERT", "public.m_south_low"),
    ]
    db.execute("create table rebuilt (like m)")
    replay(db, "public.m", into=Identifier("rebuilt"))
    assert contents(db, Identifier("rebuilt")) == contents(db, Identifier("m")) != []
    db.execute("truncate m")
    assert [entry["partition"] for entry in log(db) if entry["operation"] == "TRUNCATE"].count(None) == 1
    db.commit()
    assert audit.as_of("m", datetime.now(UTC)).list(db).data == []


def test_a_truncate_of_a_detached_partition_empties_no_other(db: psycopg.Connection[Any]) -> None:
    db.execute(MEASUREMENTS)
    db.commit()
    install(db, {"name": "m"})
    db.execute("insert into m values (1, 'north', 1), (2, 'south', 1)")
    db.execute("alter table m detach partition m_north")  # keeps its TRUNCATE trigger until the next install
    db.execute("truncate m_north")
    db.commit()
    assert [row.values["id"] for row in audit.as_of("m", datetime.now(UTC)).list(db)] == [2]


def test_a_partition_that_is_newer_than_the_install_lacks_its_truncate_trigger_and_status_says_so(
    db: psycopg.Connection[Any],
) -> None:
    db.execute(MEASUREMENTS)
    db.commit()
    config = install(db, {"name": "m"})
    db.execute("create table m_east partition of m for values in ('east')")
    db.commit()
    [missing] = [entry for entry in schema.status(db, config) if entry.state != "ok"]
    assert missing.state == "missing"
    assert re.fullmatch("00_svc_audit_truncate_[0-9a-f]{8} on public.m_east", missing.identity)
    schema.install(db, config)
    db.execute("truncate m_east")
    assert brief(db) == [("public.m", "TRUNCATE", None)]


def test_a_pattern_audits_every_table_that_it_covers(db: psycopg.Connection[Any]) -> None:
    db.execute(MEASUREMENTS)
    db.execute("create table a (id int primary key, s text); create table b (id int); create table tmp_c (id int)")
    db.execute("create view v as select * from a; create schema other; create table other.a (id int)")
    db.commit()
    config = install(db, {"name": "public.*", "exclude": ["public.tmp_*"], "redact": ["s"]})
    for table in ("a", "b", "tmp_c", "other.a"):
        db.execute(f"insert into {table} values (1)")
    db.execute("insert into m values (1, 'north', 1)")
    assert [table for table, _, _ in brief(db)] == ["public.a", "public.b", "public.m"]
    db.commit()
    assert schema.install(db, config) == []


def test_a_table_that_is_named_has_its_own_rules_within_a_pattern(db: psycopg.Connection[Any]) -> None:
    db.execute("create table a (id int primary key, s text); create table b (id int primary key)")
    db.commit()
    install(db, {"name": "public.*"}, {"name": "a", "redact": ["s"]})
    db.execute("insert into a values (1, 'hush'); insert into b values (1)")
    assert [(e["table_name"], e["after_data"]) for e in log(db)] == [("public.a", {"id": 1}), ("public.b", {"id": 1})]


def test_a_new_table_under_a_pattern_is_missing_until_the_next_install(db: psycopg.Connection[Any]) -> None:
    db.execute("create table a (id int primary key)")
    db.commit()
    config = install(db, {"name": "public.*"})
    db.execute("create table b (id int primary key)")
    db.commit()
    assert {s.audited_table for s in schema.status(db, config) if s.state == "missing"} == {"public.b"}


def test_a_pattern_that_covers_nothing_is_refused(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(UnknownTableError, match=r'no table matches "shop\.\*"'):
        install(db, {"name": "shop.*"})


def test_two_patterns_that_cover_a_table_are_refused(db: psycopg.Connection[Any]) -> None:
    db.execute("create table order_line (id int)")
    db.commit()
    with pytest.raises(ConfigError, match=r'two patterns cover "public\.order_line"'):
        install(db, {"name": "public.order*"}, {"name": "public.*line"})


def test_what_a_pattern_would_redact_must_be_a_column_of_some_table(db: psycopg.Connection[Any]) -> None:
    db.execute("create table a (id int)")
    db.commit()
    with pytest.raises(ConfigError, match='redact names "passwrod"'):
        install(db, {"name": "public.*", "redact": ["passwrod"]})
