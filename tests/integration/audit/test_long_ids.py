"""Ids of actors and keys of records that are too long for an index."""

from hashlib import sha256
from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from tests.support.tables import create_and_audit, log

RANDOM = "".join(sha256(bytes([n])).hexdigest() for n in range(150)) + "é\U0001f600"


@pytest.mark.parametrize("level", ["row", "statement"])
def test_an_actor_of_any_length_is_recorded_with_a_mark_and_found(database: str, level: Any) -> None:
    tables = [AuditedTable(name="t", level=level, on_error="warn")]
    indexes = [*AuditConfig().indexes, "tenant"]
    create_and_audit(
        database, "create table t (id int primary key)", Config(audit=AuditConfig(tables=tables, indexes=indexes))
    )
    with psycopg.connect(database) as conn:
        for actor_id in ("e" * 1000, "é" * 501, RANDOM):
            for setting, value in (("actor_id", actor_id), ("tenant_id", RANDOM), ("context", f'"{RANDOM}"')):
                conn.execute("select set_config('svc.' || %s, %s, true)", (setting, value))
            conn.execute("insert into t select coalesce(max(id), 0) + 1 from t")
            conn.execute("select svc.capture_log('files', 'INSERT')")
            conn.execute("delete from t")
            entries = audit.query().actor(actor_id).list(conn).data
            assert [entry.table_name for entry in entries] == ["public.t", "files", "public.t"]
            assert {entry.tenant_id for entry in entries} == {scalar(conn, "select svc.audit_bounded(%s)", (RANDOM,))}
            assert len(audit.query().tenant(RANDOM).actor(actor_id).list(conn).data) == 3
            [named] = {entry.actor_id for entry in entries}
            assert named is not None
            assert named == scalar(conn, "select svc.audit_bounded(%s)", (actor_id,))
            assert named == scalar(conn, "select svc.audit_bounded(%s)", (named,))
            assert named == actor_id or f"({len(actor_id.encode())} bytes, sha256 " in named


# The largest key that its own index takes, or nearly: 2704 bytes, of texts that do not compress
LARGEST = {
    "text": "left({0}, 2680)",
    "varchar(2600)": "left({0}, 2600)",
    "bytea": "decode(left({0}, 5360), 'hex')",
    "numeric": "('1' || translate(left({0}, 4200), 'abcdef', '012345'))::numeric",
    "jsonb": "to_jsonb(left({0}, 2660))",
    "text[]": "array[left({0}, 1300), left({0}, 1300)]",
    "word": "left({0}, 2680)::word",
    "pair": "row(left({0}, 1300), left({0}, 1300))::pair",
}


@pytest.mark.parametrize("level", ["row", "statement"])
def test_a_key_of_any_type_and_length_is_recorded_with_a_mark_and_found(database: str, level: Any) -> None:
    tables = [AuditedTable(name=f"t{number}", level=level) for number in range(len(LARGEST) + 1)]
    rules = Config(audit=AuditConfig(tables=tables))
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create domain word as text; create type pair as (a text, b text)")
        for number, kind in enumerate(LARGEST):
            conn.execute(f"create table t{number} (id {kind} primary key, n int)".encode())
        conn.execute(f"create table t{len(LARGEST)} (a text, b text, n int, primary key (a, b))".encode())
        schema.install(conn, rules)
        values = [*LARGEST.values(), "left({0}, 1300), left({0}, 1300)"]
        for number, value in enumerate(values):
            table = f"t{number}"
            key = value.replace("{0}", "%(long)s")
            conn.execute(f"insert into {table} values ({key}, 0)".encode(), {"long": RANDOM})
            conn.execute(f"update {table} set n = 1".encode())
            inserted, updated = audit.query().resource(table).order("oldest").list(conn).data
            assert inserted.record_id == updated.record_id
            assert inserted.record_id is not None
            assert "bytes, sha256 " in inserted.record_id
            states = audit.history(table, inserted.record_id).list(conn).data
            assert [state.operation for state in states] == ["UPDATE", "INSERT"]
            assert scalar(conn, f"select count(*) from svc.as_of_public_{table}(now())") == 1
        assert not {table: number for table, number in schema.backfill(conn, rules).items() if number}
        whole = RANDOM[:2680]
        assert len(audit.query().resource("t0").record(whole).list(conn).data) == 2
        assert len(audit.history("t0", whole).list(conn).data) == 2
        assert audit.blame(conn, "t0", whole).data
        audit.hold(conn, "t0", whole, reason="a case")
        conn.execute("update t0 set id = 'short'")
        ended = [entry["moved_from"] or entry["record_id"] for entry in log(conn)][-2:]  # at level statement, a DELETE
        assert any("bytes, sha256 " in record_id for record_id in ended)


def test_an_erasure_follows_a_long_key(database: str) -> None:
    tables = [AuditedTable(name="person"), AuditedTable(name="address")]
    rules = Config(audit=AuditConfig(tables=tables, erasure={"person": ["address.person_id"]}))
    ddl = """create table person (id text primary key);
             create table address (id int primary key, person_id text, street text)"""
    create_and_audit(database, ddl, rules)
    whole = RANDOM[:2680]
    with psycopg.connect(database) as conn:
        conn.execute("insert into person values (%s)", (whole,))
        conn.execute("insert into address values (1, %s, 'hush'), (2, 'other', 'kept')", (whole,))
        conn.commit()
        assert audit.erase(conn, "person", whole).entries == 2
        assert scalar(conn, "select count(*) from svc.audit_logs l where l::text like '%hush%'") == 0
        assert scalar(conn, "select count(*) from svc.audit_logs l where l::text like '%kept%'") == 1


def test_nobody_and_no_record_have_no_mark(database: str) -> None:
    create_and_audit(database, "create table t (id int primary key)", Config())
    rules = Config(audit=AuditConfig(tables=[AuditedTable(name="t")]))
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values (1)")
        conn.execute("select svc.capture_log('files', 'INSERT')")
        conn.commit()
        schema.install(conn, rules)
        schema.backfill(conn, rules)
        assert [(entry["actor_id"], entry["record_id"]) for entry in log(conn)] == [(None, None), (None, "1")]
