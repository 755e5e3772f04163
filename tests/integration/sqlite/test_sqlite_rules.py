"""Redaction, rules and limits in SQLite: as on PostgreSQL."""

import hmac
import json
import sqlite3
from typing import Any

import pytest

from svc_pg import schema
from svc_pg.errors import ConfigError, InstallError
from svc_pg.integrations.sqlite import with_audit
from tests.support.sqlite import audited, config, entries, images, run

CARDS = ["4111111111111111", "12345678", "1234567", "", None, 123456789, 0.1]


def test_redaction_of_every_kind(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, b, c, d, e)")
    audited(conn, {"name": "t", "redact": {"a": "remove", "b": "mask", "c": "hash", "d": "last4"}})
    with_audit(conn)
    rows = [(number, "secret", "secret", card, card, "open") for number, card in enumerate(CARDS)]
    conn.executemany("insert into t values (?, ?, ?, ?, ?, ?)", rows)
    [[key]] = conn.execute("select key from svc_audit_hash_key").fetchall()
    texts = ["4111111111111111", "12345678", "1234567", "", None, "123456789", "0.1"]
    hashes = [None if text is None else hmac.digest(key, text.encode(), "sha256").hex() for text in texts]
    last4 = ["****1111", "****5678", "****", "****", None, "****6789", "****"]
    assert images(conn) == [
        {"id": number, "b": "[masked]", "c": hashes[number], "d": last4[number], "e": "open"}
        for number in range(len(CARDS))
    ]
    run(conn, ["update t set a = 'x', b = 'y' where id = 0", "replace into t (id, a) values (1, 'secret')"])
    run(conn, ["delete from t where id = 0"])
    assert json.loads(entries(conn, "changed_fields")[len(CARDS)]) == ["a", "b"]
    assert set(entries(conn, "redacted_fields")) == {'["a", "b", "c", "d"]'}
    everything = [text for row in entries(conn, "*") for text in row if isinstance(text, str)]
    everything += [str(row) for row in conn.execute("select * from svc_audit_replaced")]
    assert not [text for text in everything if "secret" in text or "4111111111111111" in text]


def test_a_table_with_hashed_columns_takes_no_write_of_a_connection_that_cannot_hash(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a)")
    audited(conn, {"name": "t", "redact": {"a": "hash"}})
    with pytest.raises(Exception, match="no such function: svc_hash"):
        conn.execute("insert into t values (1, 'x')")
    assert conn.execute("select count(*) from t").fetchone() == (0,)


def test_the_columns_that_are_named_are_recorded_with_the_key_and_no_others(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, b)")
    audited(conn, {"name": "t", "columns": ["b"]})
    conn.execute("insert into t values (1, 'a', 'b')")
    conn.execute("alter table t add column later")
    run(conn, ["update t set later = 'x'", "update t set a = 'y', later = 'z'"])
    assert images(conn) == [{"id": 1, "b": "b"}] * 2
    assert entries(conn, "changed_fields") == [None, '["a"]']


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"redact": ["emial"]}, 'there is no such column'),
        ({"redact": ["id"]}, "part of the key"),
        ({"key": ["nope"]}, "there is no such column"),
        ({"redact": ["email"]}, '"folded" is computed from "email", which is redacted'),
        ({"redact": ["email", "folded"], "enrich": [{"description": "{after[email]}"}]}, "which is redacted"),
        ({"enrich": [{"when": {"after": {"nope": 1}}}]}, "there is no such column"),
        ({"level": "statement"}, "transition tables"),
        ({"replica": True}, "logical replication"),
        ({"on_error": "warn"}, "handler of errors"),
        ({"ignore": ["emails"]}, 'ignore names "emails", and there is no such column'),
        ({"ignore": ["id"]}, "part of the key"),
        ({"record_when": {"changed": "emails"}}, "there is no such column"),
        ({"record_when": {"all": [{"sql": "after ? 'x'"}]}}, "PostgreSQL's jsonb"),
        ({"enrich": [{"when": {"not": {"any": [{"sql": "after ? 'x'"}]}}}]}, "PostgreSQL's jsonb"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_kept_are_refused(conn: sqlite3.Connection, options: dict[str, Any], message: str) -> None:
    conn.execute("create table t (id integer primary key, email, folded as (lower(/* the */ [email])) stored)")
    with pytest.raises(ConfigError, match=message):
        audited(conn, {"name": "t"} | options)
    assert conn.execute("select count(*) from sqlite_schema where name like 'svc%'").fetchone() == (0,)


@pytest.mark.parametrize("column", ["card$no", "💳", "💳💳", "a\u200dé", "_1"])
def test_what_is_computed_from_a_redacted_column_is_found_whatever_its_name(
    conn: sqlite3.Connection, column: str
) -> None:
    conn.execute(f"create table t (id integer primary key, {column} text, folded as (lower({column})))")
    with pytest.raises(ConfigError, match='"folded" is computed from'):
        audited(conn, {"name": "t", "redact": [column]})


def test_texts_that_are_no_unicode_are_hashed_too(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a)")
    audited(conn, {"name": "t", "redact": {"a": "hash"}})
    with_audit(conn)
    conn.execute("insert into t values (1, cast(x'ff41' as text))")
    [[key]] = conn.execute("select key from svc_audit_hash_key").fetchall()
    assert images(conn) == [{"id": 1, "a": hmac.digest(key, b"\xffA", "sha256").hex()}]


def test_a_redacted_key_that_ignore_kept_is_nowhere_when_its_row_has_another(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, email unique)")
    audited(conn, {"name": "t", "redact": {"email": "mask"}})
    run(conn, ["insert into t values (1, 1, 'secret')", "insert or ignore into t values (2, 2, 'secret')"])
    run(conn, ["update t set email = 'another'"])
    assert "secret" not in str(conn.execute("select * from svc_audit_replaced").fetchall())


def test_a_row_whose_redacted_key_a_trigger_moves_while_it_is_replaced_is_recorded(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, email unique)")
    conn.execute("create trigger before before insert on t begin update t set email = 'x' where id = new.id; end")
    audited(conn, {"name": "t", "redact": {"email": "mask"}})
    run(conn, ["insert into t values (1, 'secret')", "insert or replace into t values (1, 'secret')"])
    assert entries(conn) == [("INSERT", "1"), ("UPDATE", "1"), ("DELETE", "1"), ("INSERT", "1")]
    run(
        conn,
        [
            "drop trigger before",
            "insert into t values (-1, 'other')",
            "insert or replace into t (email) values ('other')",
        ],
    )
    assert entries(conn)[4:] == [("INSERT", "-1"), ("DELETE", "-1"), ("INSERT", "2")]


@pytest.mark.parametrize(
    ("test", "values"),
    [
        (5, [5, 5.0]),
        ("5", ["5"]),
        ({"ne": 5}, [6, "5", "a", "A", 1e300, b"5"]),
        ({"gt": 5}, [6, 1e300]),
        ({"le": 5}, [5, 5.0]),
        ({"ge": "A"}, ["a", "A", b"5"]),  # a blob is the text that is recorded
        ("\\x35", [b"5"]),
        (["\\x36", "\\x35", 6], [6, b"5"]),
        ({"lt": "a"}, ["5", "A", b"5"]),
        (["a", 6], ["a", 6]),
        ({"is_null": True}, [None]),
        ({"is_null": False}, [5, 5.0, 6, "5", "a", "A", 1e300, b"5"]),
        ({"is_null": False, "gt": 5}, [6, 1e300]),
        (True, []),
    ],
)
def test_a_condition_compares_values_of_its_own_type_byte_by_byte(
    conn: sqlite3.Connection, test: Any, values: list[Any]
) -> None:
    conn.execute("create table t (id integer primary key, v blob collate nocase)")
    rule = {"label": "hit", "when": {"after": {"v": test}}}
    other = {"label": "miss", "when": {"not": {"after": {"v": test}}}}
    audited(conn, {"name": "t", "enrich": [rule, other]})
    given = [5, 5.0, 6, "5", "a", "A", 1e300, b"5", None]
    conn.executemany("insert into t (v) values (?)", [(value,) for value in given])
    hits = [value for value, label in zip(given, entries(conn, "label"), strict=True) if label == "hit"]
    assert [(type(value), value) for value in hits] == [
        (type(value), value) for value in given if any(value == each and type(value) is type(each) for each in values)
    ]
    assert set(entries(conn, "label")) <= {"hit", "miss"}


def test_conditions_on_booleans_and_json(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, b boolean, j json)")
    tests = [{"b": True}, {"b": {"gt": -1}}, {"j": True}, {"j": "x"}, {"j": {"gt": 5}}, {"j": {"is_null": True}}]
    labels = ["is true", "is number", "json true", "json x", "json six", "json null"]
    rules = [{"label": label, "when": {"after": test}} for label, test in zip(labels, tests, strict=True)]
    audited(conn, {"name": "t", "enrich": rules})
    rows = [
        (1, "1"),
        (0, "true"),
        (0, '"x"'),
        (0, "6"),
        (0, "null"),
        (0, None),
        (0, '"true"'),
        (0, "not json"),
        (7, "1"),
    ]
    conn.executemany("insert into t (b, j) values (?, ?)", rows)
    found = ["is true", "json true", "json x", "json six", "json null", "json null", None, None, None]
    assert entries(conn, "label") == found


def test_the_first_rule_that_applies_decides_all_words(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, email, status, n)")
    rules = [
        {"operation": "UPDATE", "label": "moved", "severity": "medium", "compliance": ["gdpr", "soc\"2"],
         "description": "{actor_id}@{tenant_id}: {before[email]} to {after[email]}{before[n]}",
         "when": {"changed": ["email", "n"], "not": {"after": {"status": ["test", "demo"]}}}},
        {"operation": "UPDATE", "label": "both",
         "when": {"all": [{"before": {"status": "a"}}, {"after": {"status": "b"}}]}},
        {"operation": "INSERT", "label": "either",
         "when": {"any": [{"after": {"n": 1}}, {"before": {"n": {"is_null": True}}}]}},
        {"operation": "DELETE", "severity": "critical"},
        {"label": "rest", "severity": "low"},
    ]  # fmt: skip
    audited(conn, {"name": "t", "enrich": rules})
    conn.create_function("printf", 0, lambda: '{"actor_id": "amy"}')
    run(conn, ["insert into t values (1, 'x', 'a', 5)", "update t set email = 'y'", "update t set status = 'b'"])
    run(conn, ["update t set status = 'test'", "update t set email = null", "delete from t"])
    assert entries(conn, "label, severity, compliance, description") == [
        ("either", None, None, None),
        ("moved", "medium", '["gdpr", "soc\\"2"]', "amy@: x to y5"),
        ("both", None, None, None),
        ("rest", "low", None, None),
        ("rest", "low", None, None),
        (None, "critical", None, None),
    ]


def test_a_large_value_is_replaced_by_its_size(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, j json, b)")
    audited(conn, {"name": "t", "max_value_bytes": 256, "enrich": [{"description": "{after[a]}"}]})
    fits, large = "x" * 254, "ä" * 128
    conn.execute("insert into t values (1, ?, ?, ?)", (fits, json.dumps([1] * 100), b"x" * 120))
    conn.execute("insert into t values (2, ?, ?, ?)", (large, json.dumps(["x" * 300]), b"x" * 200))
    first, second = images(conn)
    assert (first["a"], first["j"], first["b"]) == (fits, [1] * 100, "\\x" + "78" * 120)
    assert second == {
        "id": 2,
        "a": {"oversized": True, "bytes": 258},
        "j": {"oversized": True, "bytes": 304},
        "b": {"oversized": True, "bytes": 405},  # of JSON, in which a backslash is two
    }
    assert entries(conn, "description") == [fits, '{"oversized":true,"bytes":258}']


def test_backfill_records_each_row_once(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, b)")
    conn.execute("create table bare (x)")
    run(conn, ["insert into t values (1, 'x', 'y'), (2, 'x', 'y')", "insert into bare values (1), (1)"])
    wanted = config({"name": "t", "redact": {"b": "hash"}}, "bare")
    schema.install(conn, wanted)
    with pytest.raises(InstallError, match="svc_hash") as refused:
        schema.backfill(conn, wanted)
    assert refused.value.hint is not None
    assert "with_audit" in refused.value.hint
    with_audit(conn)
    assert schema.backfill(conn, wanted) == {"main.t": 2, "main.bare": 2}
    assert schema.backfill(conn, wanted) == {"main.t": 0, "main.bare": 0}
    run(
        conn,
        ["delete from t where id = 1", 'drop trigger "00_svc_audit_insert_t"', "insert into t values (1, 'z', 'y')"],
    )
    schema.install(conn, wanted)
    assert schema.backfill(conn, wanted) == {"main.t": 1, "main.bare": 0}
    found = entries(conn, "operation, record_id, table_name, redacted_fields, before_data")
    assert found[0] == ("SNAPSHOT", "1", "main.t", '["b"]', None)
    assert images(conn)[-1]["a"] == "z"
    assert not conn.in_transaction


def test_what_the_rules_of_a_table_leave_out_is_in_no_entry_also_of_rows_that_are_replaced(
    conn: sqlite3.Connection,
) -> None:
    conn.execute("create table t (id integer primary key, status, seen, email unique)")
    live = {"any": [{"before": {"status": "live"}}, {"after": {"status": "live"}}]}
    table = {"name": "t", "ignore": ["seen"], "record_when": live}
    run(conn, ["insert into t values (8, 'live', 1, 'old'), (9, 'draft', 1, 'older')"])
    audited(conn, table)
    said = {status.leaves_out for status in schema.status(conn, config(table))}
    condition = {"any": [{side: {"status": {"eq": "live"}}} for side in ("before", "after")]}
    assert said == {None, f"no entry if only seen changed; entries only when {json.dumps(condition)}"}
    assert schema.backfill(conn, config(table)) == {"main.t": 1}
    run(
        conn,
        [
            "insert into t values (1, 'draft', 1, 'a'), (2, 'live', 1, 'b')",
            "update t set seen = 2",
            "update t set seen = 3, email = email || '2'  where id <= 2",
            "insert into t values (2, 'x', 1, 'y') on conflict do update set seen = 4",
            "insert or replace into t values (3, 'draft', 1, 'a2'), (4, 'draft', 1, 'b2')",
            "insert or ignore into t values (5, 'draft', 1, 'b2')",
            "delete from t",
        ],
    )
    assert entries(conn, "operation, record_id, changed_fields") == [
        ("SNAPSHOT", "8", None),
        ("INSERT", "2", None),
        ("UPDATE", "2", '["email", "seen"]'),
        ("DELETE", "2", None),
        ("DELETE", "8", None),
    ]
    assert conn.execute("select count(*) from svc_audit_replaced").fetchone() == (0,)
