"""A comparison with the log heeds the rules of a table, its key, and what was erased."""

from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, audit, schema
from tests.support.tables import create_and_audit


def unseen(conn: psycopg.Connection[Any], change: LiteralString) -> None:
    conn.execute("set session_replication_role = replica")
    conn.execute(change)
    conn.execute("reset session_replication_role")


def report(found: audit.Reconciliation, table: str = "public.r") -> audit.TableReport:
    [one] = [each for each in found.tables if each.table == table]
    return one


def differences(found: audit.Reconciliation) -> list[tuple[str, str, list[str]]]:
    return sorted((each.kind, each.record_id, each.fields) for each in found.differences)


def configured(**options: Any) -> Config:
    return Config.model_validate({"audit": {"tables": [{"name": "r"} | options]}})


def test_ignored_redacted_and_capped_columns_are_compared_as_the_log_has_them(database: str) -> None:
    rules = configured(
        redact={"h": "hash", "m": "mask", "l": "last4", "x": "remove"}, ignore=["i"], max_value_bytes=256
    )
    ddl = "create table r (id int primary key, h text, m text, l text, x text, i int, big text, d date)"
    create_and_audit(database, ddl, rules)
    with psycopg.connect(database, autocommit=True) as db:
        db.execute(
            "insert into r select n, 'h', 'm', '1111 2222', 'x', 1, repeat('b', 900) from generate_series(1, 8) n"
        )
        unseen(db, "update r set m = 'n', x = 'y', i = 2 where id = 1; update r set l = '9999 2222' where id = 2")
        assert audit.reconcile(db, rules).is_whole
        unseen(
            db,
            "update r set h = 'g' where id = 3; update r set l = '1111 3333' where id = 4;"
            " update r set big = repeat('c', 900) where id = 5; update r set d = '2026-01-01' where id = 6",
        )
        found = audit.reconcile(db, rules)
        assert differences(found) == [
            ("differs", "3", ["h"]),
            ("differs", "4", ["l"]),
            ("differs", "5", ["big"]),
            ("differs", "6", ["d"]),
        ]
        assert report(found).notes == [
            "ignored: i",
            "not recorded: x",
            "masked, so not compared: m",
            "compared by their hashes: h",
            "compared by their last four characters: l",
            "values of more than 256 bytes: compared by their digests",
        ]


@pytest.mark.parametrize(
    "options", [{"redact": {"s": "mask"}}, {"redact": ["s"]}, {"columns": ["id", "n"]}, {"redact": {"s": "hash"}}]
)
@pytest.mark.parametrize("finder", ["reconciliation", "backfill"])
def test_what_is_redacted_since_is_not_copied_from_older_entries(
    database: str, options: dict[str, Any], finder: str
) -> None:
    create_and_audit(database, "create table r (id int primary key, s text, n int)", configured())
    rules = configured(**options)
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("insert into r values (1, 'hush', 1), (2, 'hush', 1)")
        schema.install(db, rules)
        db.execute("insert into r values (3, 'hush', 1)")
        last = db.execute("select max(id) from svc.audit_logs").fetchone()
        unseen(db, "update r set n = 2 where id in (1, 3); delete from r where id = 2")
        if finder == "backfill":
            schema.backfill(db, rules)
        else:
            audit.reconcile(db, rules, repair=True)
        found = db.execute(
            "select operation::text, record_id, before_data ->> 'n', before_data ->> 's', redacted_fields"
            "  from svc.audit_logs where id > %s and record_id in ('1', '2', '3') order by record_id",
            last,
        ).fetchall()
        told = {record: (operation, n, fields) for operation, record, n, _, fields in found}
        assert told == {
            "1": ("SNAPSHOT", "1", told["1"][2]),
            "2": ("GONE", "1", ["s"]),
            "3": ("SNAPSHOT", "1", told["1"][2]),
        }
        values = {record: value for _, record, _, value, _ in found}
        assert values["1"] is values["2"] is None
        assert values["3"] in (None, "[masked]") or len(values["3"]) == 64
        assert audit.reconcile(db, rules).is_whole


def test_of_a_table_with_a_condition_only_rows_count_that_it_would_record(database: str) -> None:
    rules = configured(record_when={"after": {"a": "live"}})
    create_and_audit(database, "create table r (id int primary key, a text)", rules)
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("insert into r values (1, 'live'), (2, 'draft'); update r set a = 'draft' where id = 1")
        db.execute("insert into r values (3, 'live'); delete from r where id = 3")
        assert audit.reconcile(db, rules).is_whole
        unseen(db, "insert into r values (4, 'live'), (5, 'draft')")
        found = audit.reconcile(db, rules)
        assert differences(found) == [("missing", "4", [])]
        assert report(found).notes[0].startswith("record_when leaves changes out")


def test_erased_records_are_no_fault(database: str) -> None:
    rules = configured()
    create_and_audit(database, "create table r (id text primary key, a text)", rules)
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("insert into r values ('ann@corp.example', 'a'), ('bob@corp.example', 'b'), ('5', 'c')")
        for record in ("ann@corp.example", "bob@corp.example", "5"):
            audit.erase(db, "r", record)
        db.execute("delete from r where id = 'bob@corp.example'")
        found = audit.reconcile(db, rules, repair=True)
        assert found.is_whole
        assert (report(found).rows, report(found).erased) == (2, 1)
        assert "ann@corp.example" not in str(audit.query().list(db).data)


@pytest.mark.parametrize("key", ["int", "mood", "int, b text", "jsonb", "text", "numeric"])
def test_records_of_any_key_are_compared(database: str, key: LiteralString) -> None:
    rules = configured()
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create type mood as enum ('1', '2', '3')")
        conn.execute("create table r (a " + key + ", n int)")
        conn.execute("alter table r add primary key (" + ("a, b" if "b text" in key else "a") + ")")
        schema.install(conn, rules)
        values = "select v::text::" + key.split(",")[0] + (", 'x'" if "," in key else "")
        conn.execute(("insert into r " + values + ", 1 from unnest('{1,2,3}'::int[]) v").encode())
        assert audit.reconcile(conn, rules).is_whole
        unseen(conn, "delete from r where a::text = '2'; update r set n = 5 where a::text = '3'")
        found = audit.reconcile(conn, rules)
        assert [(each.kind, each.fields) for each in found.differences] == [("differs", ["n"]), ("gone", [])]
        assert audit.reconcile(conn, rules, repair=True).is_whole
        assert audit.reconcile(conn, rules).is_whole


def test_hostile_names_and_values_are_compared(database: str) -> None:
    name = "we\"ird.t' $1"
    rules = Config.model_validate({"audit": {"tables": [{"name": 'public."we""ird.t\' $1"'}]}})
    with psycopg.connect(database, autocommit=True) as conn:
        table = sql.Identifier(name)
        conn.execute(
            sql.SQL('create table {} (id text primary key, "a\'b; drop table x -- %s" json, f float)').format(table)
        )
        schema.install(conn, rules)
        keys = ["", "'", '"', "%s", "\\", "a\nb", "x" * 3000, "é\u202e", '[1, "a"]', "erased:", "null"]
        for each in keys:
            conn.execute(sql.SQL("insert into {} values (%s, %s, 'nan')").format(table), (each, '{"a": 1e400}'))
        assert audit.reconcile(conn, rules).is_whole
        conn.execute("set session_replication_role = replica")
        conn.execute(sql.SQL("delete from {}").format(table))
        conn.execute("reset session_replication_role")
        assert report(audit.reconcile(conn, rules), 'public."we""ird.t\' $1"').gone == len(keys)
        assert audit.reconcile(conn, rules, repair=True).is_whole
        assert audit.reconcile(conn, rules).is_whole


def test_without_the_key_of_hashes_nothing_is_said_to_be_whole(database: str) -> None:
    rules = configured(redact={"h": "hash"})
    create_and_audit(database, "create table r (id int primary key, h text)", rules)
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("insert into r values (1, 'h')")
        assert audit.reconcile(db, rules).is_whole
        key = db.execute("delete from svc.audit_hash_key returning *").fetchone()
        found = audit.reconcile(db, rules, repair=True)
        assert (found.is_whole, found.differences) == (False, [])
        assert "the key of hashes is missing from svc.audit_hash_key" in str(report(found).problem)
        assert "key in svc.audit_hash_key" in str(schema.status(db, rules))
        assert key is not None
        values = sql.SQL(", ").join(sql.Literal(each) for each in key)
        db.execute(sql.SQL("insert into svc.audit_hash_key values ({})").format(values))
        assert audit.reconcile(db, rules).is_whole
