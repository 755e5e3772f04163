"""The entries of changes in SQLite, in the cases that naive triggers record wrongly or not at all."""

import json
import sqlite3

import pytest

from svc_pg import schema
from svc_pg.database.table_names import TableName
from tests.support.sqlite import audited, config, entries, images, run

HOSTILE = ["a b", 'it"s', "it's", "select", "Ünï😀", "a.b", "x]", "`", "a\nb", "-- x", "{0}", "$svc$", "%s", "\\"]


def test_every_storage_class_is_recorded_as_it_is(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, v)")
    audited(conn, "t")
    values = [None, 2**63 - 1, -(2**63), 0.1 + 0.2, 5e-324, 1e300, 1.0, -0.5, "a\0b\"'\\\n", "ä€😀", "", "null", "1"]
    others = [(float("inf"), "Infinity"), (-float("inf"), "-Infinity"), (b"\0\xff", "\\x00ff"), (b"", "\\x")]
    pairs = [*((value, value) for value in values), *others]
    conn.executemany("insert into t (v) values (?)", [(value,) for value, _ in pairs])
    assert [image["v"] for image in images(conn)] == [expected for _, expected in pairs]
    assert [type(image["v"]) for image in images(conn)] == [type(expected) for _, expected in pairs]
    conn.execute("delete from t")
    assert images(conn, "before_data")[len(pairs) :] == images(conn)[: len(pairs)]


def test_a_change_that_the_collation_or_the_type_hides_is_one(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a text collate nocase, b text collate rtrim, v)")
    audited(conn, "t")
    conn.execute("insert into t values (1, 'bob', 'x', 1)")
    run(conn, ["update t set a = 'BOB'", "update t set b = 'x  '", "update t set v = 1.0", "update t set v = '1'"])
    run(conn, ["update t set v = x'31'", "update t set v = null", "update t set v = 0"])
    assert entries(conn, "changed_fields")[1:] == ['["a"]', '["b"]', *['["v"]'] * 5]


def test_an_update_that_changes_nothing_leaves_no_entry(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, b, c)")
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 0.1, null)")
    run(conn, ["update t set a = 'a', b = 0.1, c = null", "update t set a = a", "update t set id = id"])
    assert entries(conn) == [("INSERT", "1")]


def test_json_is_json_in_columns_that_are_declared_or_checked_to_be(conn: sqlite3.Connection) -> None:
    conn.execute("""create table t (id integer primary key, a json, b text check (json_valid("b") or "b" is null),
                    c text, d jsonb)""")
    audited(conn, "t")
    text = '{"k": [1, null, 12345678901234567.10], "u": "ä"}'
    conn.execute("insert into t values (1, ?, ?, ?, ?)", (text, text, text, "not json"))
    [after] = entries(conn, "after_data")
    assert '"a":{"k":[1,null,12345678901234567.10],"u":"ä"}' in after
    [image] = images(conn)
    assert image["b"] == image["a"]
    assert (image["c"], image["d"]) == (text, "not json")
    run(conn, ["update t set a = '{\"k\":1}'", 'update t set a = \'{"k":"1"}\'', "update t set a = x'00'"])
    assert entries(conn, "changed_fields")[1:] == ['["a"]'] * 3
    assert images(conn)[-1]["a"] == "\\x00"
    run(conn, ["update t set a = '0.30000000000000004'", "update t set a = 9e999"])  # stored as numbers
    assert [image["a"] for image in images(conn)[-2:]] == [0.1 + 0.2, "Infinity"]


def test_a_text_that_functions_of_json_made_is_a_text_as_in_the_table(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (a text, b, g as (json_extract(b, '$.k')), primary key (a, b))")
    audited(conn, {"name": "t", "max_value_bytes": 1000})
    run(conn, ["insert into t values (json_array(1), json('{\"k\":[1]}'))", "update t set a = json_array(2)"])
    run(conn, ["update t set b = json_set(b, '$.k', json_array(2)), a = json(a)", "replace into t select a, b from t"])
    conn.execute("delete from t")
    befores, afters = images(conn, "before_data"), images(conn)
    assert befores[1:] == [*afters[:3], None, afters[4]]
    assert afters[2] == {"a": "[2]", "b": '{"k":[2]}', "g": "[2]"}
    assert entries(conn, "record_id")[2:] == ['["[2]", "{\\"k\\":[2]}"]'] * 4


def test_booleans_are_booleans(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a boolean, b bool, c int)")
    audited(conn, "t")
    conn.execute("insert into t values (1, true, false, true), (2, null, 7, 0)")
    assert images(conn) == [{"id": 1, "a": True, "b": False, "c": 1}, {"id": 2, "a": None, "b": 7, "c": 0}]


def test_changed_fields_come_in_the_order_of_postgresql(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, z, a json, m, b json)")
    audited(conn, "t")
    run(conn, ["insert into t (id) values (1)", "update t set z = 1, a = '1', m = 1, b = '1'"])
    assert entries(conn, "changed_fields")[1] == '["m", "z", "a", "b"]'


def test_tables_of_every_kind(conn: sqlite3.Connection) -> None:
    conn.execute("pragma foreign_keys = on")
    conn.execute("""create table p (a text, b integer, n int as (b * 2) virtual, s int as (b * 3) stored,
                    primary key (a, b)) without rowid""")
    conn.execute("""create table c (id integer primary key, a text, b integer, v any,
                    foreign key (a, b) references p on delete cascade on update cascade) strict""")
    conn.execute("create table bare (x)")
    audited(conn, "p", "c", "bare")
    run(conn, ["insert into p (a, b) values ('k\"', 1)", "insert into c values (1, 'k\"', 1, 0.5)"])
    run(conn, ["update p set b = 2", "delete from p", "insert into bare values (7)", "delete from bare"])
    assert entries(conn, "table_name, operation, record_id, moved_from") == [
        ("main.p", "INSERT", '["k\\"", 1]', None),
        ("main.c", "INSERT", "1", None),
        ("main.c", "UPDATE", "1", None),
        ("main.p", "UPDATE", '["k\\"", 2]', '["k\\"", 1]'),
        ("main.c", "DELETE", "1", None),
        ("main.p", "DELETE", '["k\\"", 2]', None),
        ("main.bare", "INSERT", None, None),
        ("main.bare", "DELETE", None, None),
    ]
    assert images(conn)[0] == {"a": 'k"', "b": 1, "n": 2, "s": 3}
    assert json.loads(entries(conn, "changed_fields")[3]) == ["b", "n", "s"]


@pytest.mark.parametrize("key", ["real", "text", "blob", "numeric"])
def test_keys_of_every_type_tell_records_apart(conn: sqlite3.Connection, key: str) -> None:
    conn.execute(f"create table t (id {key} primary key)")
    audited(conn, "t")
    by_type: dict[str, list[object]] = {
        "real": [0.1 + 0.2, 0.3, 1e300],
        "text": ["a\0b", "a\0c", "A", "a"],
        "blob": [b"\0", b"", b"a"],
        "numeric": [1, 1.5, "x", 1e19],
    }
    values = by_type[key]
    conn.executemany("insert into t values (?)", [(value,) for value in values])
    ids = entries(conn, "record_id")
    assert len(set(ids)) == len(values)
    conn.execute("delete from t")
    assert sorted(entries(conn, "record_id")[len(values) :]) == sorted(ids)


@pytest.mark.parametrize("count", [1, 60, 61, 63, 64, 130, 600])
def test_tables_of_many_columns(conn: sqlite3.Connection, count: int) -> None:
    names = [f'c "{number}' for number in range(count)]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    conn.execute(f"create table t (id integer primary key, {', '.join(quoted)})")
    audited(conn, {"name": "t", "max_value_bytes": 4096})
    marks = ", ".join("?" * count)
    conn.execute(f"insert into t values (1, {marks})", list(range(count)))
    expected = {"id": 1} | {name: number for number, name in enumerate(names)}
    assert images(conn) == [expected]
    assert list(images(conn)[0]) == list(expected)
    conn.execute(f"update t set {quoted[-1]} = 'x', {quoted[0]} = 'x'")
    assert sorted(json.loads(entries(conn, "changed_fields")[1])) == sorted({names[0], names[-1]})


def test_hostile_names(conn: sqlite3.Connection) -> None:
    for name in HOSTILE:
        quoted = '"' + name.replace('"', '""') + '"'
        conn.execute(f"create table {quoted} ({quoted} text primary key, v_rule, given, victim, asked, svc)")
    rules = {"enrich": [{"label": "'; drop table x; --", "description": "it's {after[given]} {{}} \\ %s"}]}
    audited(conn, {"name": "main.*"} | rules)
    assert schema.install(conn, config({"name": "main.*"} | rules)) == []
    for name in HOSTILE:
        quoted = '"' + name.replace('"', '""') + '"'
        run(
            conn,
            [f"insert into {quoted} values ('k', 1, 2, 3, 4, 5)", f"replace into {quoted} values ('k', 1, 2, 3, 4, 6)"],
        )
        run(conn, [f"update {quoted} set svc = 7"])
    found = entries(conn, "operation, record_id, label, description")
    label = "'; drop table x; --"
    words = {"DELETE": "it's  {} \\ %s"}
    operations = ("INSERT", "DELETE", "INSERT", "UPDATE")
    assert found == [(each, "k", label, words.get(each, "it's 2 {} \\ %s")) for _ in HOSTILE for each in operations]
    assert list(dict.fromkeys(entries(conn, "table_name"))) == [str(TableName("main", name)) for name in HOSTILE]


def test_writes_of_triggers_upserts_and_returning_are_recorded(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, n integer default 0)")
    conn.execute("create table copy (id integer primary key, n)")
    conn.execute("create trigger mine after insert on t begin insert into copy values (new.id, new.n); end")
    audited(conn, "t", "copy")
    assert conn.execute("insert into t (id) values (1) returning n").fetchall() == [(0,)]
    conn.execute("insert into t values (1, 5) on conflict (id) do update set n = excluded.n")
    conn.execute("insert into t values (1, 6) on conflict do nothing")
    conn.execute("insert or ignore into t values (1, 7)")
    conn.execute("with r (x) as (values (2), (3)) insert into t select x, x from r")
    assert entries(conn, "table_name, operation, record_id") == [
        ("main.t", "INSERT", "1"),
        ("main.copy", "INSERT", "1"),
        ("main.t", "UPDATE", "1"),
        ("main.t", "INSERT", "2"),
        ("main.copy", "INSERT", "2"),
        ("main.t", "INSERT", "3"),
        ("main.copy", "INSERT", "3"),
    ]
    assert conn.execute("select last_insert_rowid()").fetchone() == (3,)


def test_a_rollback_takes_the_entries_back_and_ids_rise(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key)")
    audited(conn, "t")
    run(
        conn,
        ["begin", "insert into t values (1)", "savepoint s", "insert into t values (2)", "rollback to s", "commit"],
    )
    run(conn, ["begin", "insert into t values (3)", "rollback", "insert into t values (4)"])
    assert entries(conn) == [("INSERT", "1"), ("INSERT", "4")]
    ids = entries(conn, "id")
    assert ids == sorted(ids)


@pytest.mark.parametrize("policy", ["abort", "fail", "ignore", "rollback", "replace"])
def test_a_write_is_recorded_or_fails_whatever_its_conflict_clause(conn: sqlite3.Connection, policy: str) -> None:
    conn.execute("create table t (id integer primary key, a unique)")
    audited(conn, "t")
    conn.execute(f"insert or {policy} into t values (1, 1), (2, 2)")
    conn.execute(f"update or {policy} t set a = a + 10")
    assert entries(conn) == [("INSERT", "1"), ("INSERT", "2"), ("UPDATE", "1"), ("UPDATE", "2")]
    # an entry that cannot be written: the table of the log is not what it was
    conn.execute("create trigger broken before insert on svc_audit_logs begin select raise(abort, 'broken'); end")
    with pytest.raises(Exception, match="broken"):
        conn.execute(f"insert or {policy} into t values (3, 3)")
    assert conn.execute("select count(*) from t").fetchone() == (2,)


def test_a_writer_that_nobody_wrapped_is_recorded_without_an_actor_or_refused(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key)")
    audited(conn, "t")
    conn.execute("insert into t values (1)")
    assert entries(conn, "actor_id, tenant_id, context, db_user") == [(None, None, None, None)]
    conn.create_function("printf", 0, lambda: json.dumps({"actor_id": "amy", "tenant_id": "t1", "context": {"a": [1]}}))
    conn.execute("insert into t values (2)")
    assert entries(conn, "actor_id, tenant_id, context")[1] == ("amy", "t1", '{"a":[1]}')
    assert conn.execute("select printf('%d', 3)").fetchone() == ("3",)
    conn.create_function("printf", 0, lambda: '{"actor_id": "bob", "context": null}')
    conn.execute("insert into t values (3)")
    assert entries(conn, "actor_id, tenant_id, context")[2] == ("bob", None, None)
    audited(conn, "t", unattributed="refuse")
    with pytest.raises(Exception, match="no such function: svc_context"):
        conn.execute("insert into t values (4)")
    conn.create_function("svc_context", 0, lambda: '{"actor_id": "zoe"}')
    conn.execute("insert into t values (4)")
    assert entries(conn, "record_id, actor_id")[-1] == ("4", "zoe")


def test_the_log_refuses_change(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key)")
    audited(conn, "t")
    conn.execute("insert into t values (1)")
    for statement in (
        "update svc_audit_logs set actor_id = 'x'",
        "update or ignore svc_audit_logs set actor_id = 'x'",
        "update or replace svc_audit_logs set id = 7",
        "delete from svc_audit_logs",
        "insert or replace into svc_audit_logs (id, table_name, operation) values (1, 'x', 'DELETE')",
        "replace into svc_audit_logs (rowid, table_name, operation) values (1, 'x', 'DELETE')",
    ):
        with pytest.raises(Exception, match="append-only"):
            conn.execute(statement)
    before = entries(conn, "*")
    run(conn, ["begin", "insert into svc_audit_purge values ('1999')", "delete from svc_audit_purge", "commit"])
    assert entries(conn, "*") == before
    run(conn, ["begin", "insert into svc_audit_purge values ('9')", "delete from svc_audit_logs"])
    run(conn, ["delete from svc_audit_purge", "commit"])
    assert entries(conn) == []


def test_two_entries_of_one_transaction_have_their_time_and_their_order(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key)")
    audited(conn, "t")
    conn.execute("insert into t values (1), (2), (3)")
    assert entries(conn, "record_id") == ["1", "2", "3"]
    [earliest, *_, latest] = entries(conn, "timestamp")
    assert len(earliest) == len("2026-01-02T03:04:05.678000Z")
    assert earliest <= latest
    [[now]] = conn.execute("select strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')").fetchall()
    assert latest <= now


def test_times_and_decimals_are_those_of_the_file_as_documented(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, at datetime, n numeric(30, 10), whole bigint)")
    audited(conn, "t")
    conn.execute(
        "insert into t values (1, '2026-01-02 03:04:05.500000', '12345678901234567.1', 9007199254740993),"
        " (2, '2026-01-02T03:04:05Z', '123456789012345678901234', 9223372036854775807)"
    )
    assert entries(conn, "after_data") == [
        '{"id":1,"at":"2026-01-02 03:04:05.500000","n":12345678901234568,"whole":9007199254740993}',
        '{"id":2,"at":"2026-01-02T03:04:05Z","n":1.2345678901234569e+23,"whole":9223372036854775807}',
    ]
