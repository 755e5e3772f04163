"""The rows that REPLACE deletes, for which SQLite fires no trigger."""

import sqlite3
from datetime import timedelta

import pytest

from svc_pg import audit
from tests.support.sqlite import audited, entries, images, run


def kept(conn: sqlite3.Connection) -> int:
    [[count]] = conn.execute("select count(*) from svc_audit_replaced").fetchall()
    assert isinstance(count, int)
    return count


@pytest.mark.parametrize("recursive", ["on", "off"])
def test_rows_that_replace_deletes_are_recorded(conn: sqlite3.Connection, recursive: str) -> None:
    conn.execute("create table t (id integer primary key, a text unique collate nocase, b, c, unique (b, c))")
    audited(conn, "t")
    conn.execute(f"pragma recursive_triggers = {recursive}")
    conn.execute("insert into t values (1, 'x', 1, 1), (2, 'y', 2, 2), (3, 'z', 3, 3)")
    conn.execute("insert or ignore into t values (1, 'n', 9, 9)")  # deletes nothing
    conn.execute("insert into t values (2, 'q', 8, 8) on conflict (id) do update set c = 7")  # an update
    conn.execute("insert or replace into t values (1, 'Y', 3, 3)")  # deletes 1, 2 by a, 3 by b and c
    conn.execute("insert into t values (5, 's', 5, 5)")
    conn.execute("update or replace t set a = 'S' where id = 1")  # deletes 5
    conn.execute("insert into t (a) values ('auto')")
    found = entries(conn)
    assert found[:4] == [("INSERT", "1"), ("INSERT", "2"), ("INSERT", "3"), ("UPDATE", "2")]
    assert sorted(found[4:7]) == [("DELETE", "1"), ("DELETE", "2"), ("DELETE", "3")]
    assert found[7:] == [("INSERT", "1"), ("INSERT", "5"), ("DELETE", "5"), ("UPDATE", "1"), ("INSERT", "2")]
    assert {row for (row,) in conn.execute("select id from t")} == {1, 2}
    deleted = [image for image in images(conn, "before_data")[4:7] if image["id"] == 2]
    assert deleted == [{"id": 2, "a": "y", "b": 2, "c": 7}]


def test_a_purge_removes_the_copy_that_ignore_leaves(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a unique)")
    audited(conn, "t")
    conn.execute("insert into t values (1, 'x')")
    conn.execute("insert or ignore into t values (1, 'y')")
    assert kept(conn) == 1
    audit.purge(conn, timedelta(days=365), dry_run=True)
    assert kept(conn) == 1
    audit.purge(conn, timedelta(days=365))
    assert kept(conn) == 0
    conn.execute("insert or replace into t values (1, 'z')")
    assert entries(conn) == [("INSERT", "1"), ("DELETE", "1"), ("INSERT", "1")]


@pytest.mark.parametrize("redact", [[], ["a"]])
def test_a_row_whose_number_sqlite_chooses_replaces_none(conn: sqlite3.Connection, redact: list[str]) -> None:
    conn.execute("create table t (id integer primary key, a unique)")
    audited(conn, {"name": "t", "redact": redact})
    conn.execute("insert into t values (-1, 'x')")  # the number that a trigger sees before SQLite has chosen
    conn.execute("insert or replace into t (a) values ('y')")
    conn.execute("insert or replace into t (a) values ('x')")
    assert entries(conn) == [("INSERT", "-1"), ("INSERT", "0"), ("DELETE", "-1"), ("INSERT", "1")]
    conn.execute("insert or replace into t values (-1, 'z')")
    conn.execute("insert or replace into t values (-1, 'zz')")
    assert entries(conn)[4:] == [("INSERT", "-1"), ("DELETE", "-1"), ("INSERT", "-1")]


def test_a_number_that_is_given_anew_is_no_second_deletion(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a unique)")
    audited(conn, "t")
    keep = "insert or ignore into t values (2, 'z')"
    run(conn, ["insert into t values (1, 'x'), (2, 'y')", keep, "update t set id = 5 where id = 2"])
    run(conn, ["delete from t where id = 5", "insert into t (a) values ('n')"])
    assert entries(conn)[2:] == [("UPDATE", "5"), ("DELETE", "5"), ("INSERT", "2")]
    run(conn, [keep, "replace into t values (1, 'n')", "insert into t (a) values ('m')"])
    assert sorted(entries(conn)[5:7]) == [("DELETE", "1"), ("DELETE", "2")]
    assert entries(conn)[7:] == [("INSERT", "1"), ("INSERT", "2")]


def test_a_replaced_row_comes_before_the_new_one_also_if_one_trigger_was_made_anew(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key)")
    audited(conn, "t")
    conn.execute('drop trigger "00_svc_audit_insert_t"')
    audited(conn, "t")
    run(conn, ["insert into t values (1)", "replace into t values (1)"])
    assert entries(conn) == [("INSERT", "1"), ("DELETE", "1"), ("INSERT", "1")]


def test_what_ignore_kept_is_no_deletion_later(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a unique)")
    audited(conn, "t")
    run(conn, ["insert into t values (1, 'x'), (2, 'y')", "insert or ignore into t values (1, 'z')"])
    run(conn, ["delete from t where id = 1", "insert into t values (1, 'z')"])
    run(conn, ["insert or ignore into t values (3, 'y')", "update t set a = 'w' where id = 2"])
    run(conn, ["insert into t values (3, 'y')", "update or ignore t set a = 'w' where id = 3"])
    run(
        conn,
        ["update t set id = 9 where id = 2", "update t set a = 'w' where id = 9", "update t set a = 'v' where id = 9"],
    )
    run(conn, ["update t set a = 'w' where id = 3"])
    assert entries(conn) == [
        ("INSERT", "1"),
        ("INSERT", "2"),
        ("DELETE", "1"),
        ("INSERT", "1"),
        ("UPDATE", "2"),
        ("INSERT", "3"),
        ("UPDATE", "9"),
        ("UPDATE", "9"),
        ("UPDATE", "3"),
    ]


def test_a_row_that_a_trigger_changes_first_is_replaced_as_it_then_is_or_not_at_all(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, is_first unique)")
    conn.execute("""create trigger one before insert on t when new.is_first
                    begin update t set is_first = null where is_first; update t set a = 'old' where id = new.id; end""")
    audited(conn, "t")
    run(
        conn,
        ["insert into t values (1, 'x', 1)", "insert into t values (2, 'y', 1)", "replace into t values (2, 'z', 1)"],
    )
    assert entries(conn) == [
        ("INSERT", "1"),
        ("UPDATE", "1"),
        ("INSERT", "2"),
        ("UPDATE", "2"),
        ("UPDATE", "2"),
        ("DELETE", "2"),
        ("INSERT", "2"),
    ]
    assert images(conn, "before_data")[5] == images(conn)[4] == {"id": 2, "a": "old", "is_first": None}


@pytest.mark.parametrize("change", ["b = b + 1", "b = b + 1, a = a"])
def test_a_row_that_a_trigger_changes_before_an_update_replaces_it_is_recorded(
    conn: sqlite3.Connection, change: str
) -> None:
    conn.execute("create table t (id integer primary key, a unique, b)")
    conn.execute(f"""create trigger app before update on t when new.id is 1
                    begin update t set {change} where a is new.a and id is not 1; end""")
    audited(conn, "t")
    run(conn, ["insert into t values (1, 'x', 0), (2, 'y', 0)", "update or replace t set a = 'y' where id = 1"])
    assert entries(conn)[2:] == [("UPDATE", "2"), ("DELETE", "2"), ("UPDATE", "1")]
    assert images(conn, "before_data")[3] == {"id": 2, "a": "y", "b": 1}


@pytest.mark.parametrize("name", ["id", "ID", "rowid", "oid", "_rowid_", '"RowId"'])
def test_rows_are_replaced_by_any_name_of_their_number(conn: sqlite3.Connection, name: str) -> None:
    conn.execute("create table t (id integer primary key, b)")
    audited(conn, "t")
    run(conn, ["insert into t values (1, 'x'), (2, 'y')", f"update or replace t set {name} = 2 where id = 1"])
    assert entries(conn)[2:] == [("DELETE", "2"), ("UPDATE", "2")]
    run(conn, ["alter table t rename id to number", "insert into t values (1, 'z')"])
    run(conn, [f"update or replace t set {'number' if name.lower() == 'id' else name} = 1 where number = 2"])
    assert entries(conn)[4:] == [("INSERT", "1"), ("DELETE", "1"), ("UPDATE", "1")]


def test_what_ignore_keeps_is_bounded(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a)")
    audited(conn, "t")
    conn.executemany("insert into t values (?, 'x')", [(number,) for number in range(400)])
    conn.executemany("insert or ignore into t values (?, 'y')", [(number,) for number in range(400)])
    conn.executemany("insert into t values (?, 'y') on conflict do update set a = 'z'", [(n,) for n in range(400)])
    assert kept(conn) <= 110
    assert len(entries(conn)) == 800


def test_an_insert_of_a_trigger_into_the_same_table_takes_nothing_from_the_outer_one(conn: sqlite3.Connection) -> None:
    for table, timing in (("b", "before"), ("a", "after")):
        conn.execute(f"create table {table} (id integer primary key, v)")
        conn.execute(f"""create trigger more_{table} {timing} insert on {table} when new.id < 100
                        begin insert or replace into {table} values (new.id + 100, new.v); end""")
        audited(conn, "a", "b") if table == "a" else None
    for table in ("a", "b"):
        run(conn, [f"insert into {table} values (1, 'x')", f"replace into {table} values (1, 'y')"])
        found = conn.execute(
            "select operation, record_id, coalesce(after_data, before_data) ->> 'v' from svc_audit_logs"
            " where table_name = 'main.' || ? order by id",
            (table,),
        ).fetchall()
        expected = [
            ("INSERT", "1", "x"),
            ("INSERT", "101", "x"),
            ("DELETE", "1", "x"),
            ("INSERT", "1", "y"),
            ("DELETE", "101", "x"),
            ("INSERT", "101", "y"),
        ]
        assert sorted(found) == sorted(expected)


def test_the_rule_and_the_actor_of_a_replaced_row_are_those_of_its_delete(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, state, secret)")
    rules = [
        {"operation": "DELETE", "label": "draft gone", "when": {"before": {"state": "draft"}}},
        {"operation": "DELETE", "label": "gone", "severity": "high", "compliance": ["gdpr"],
         "description": "{actor_id} lost {before[state]}{after[state]}"},
    ]  # fmt: skip
    audited(conn, {"name": "t", "redact": ["secret"], "enrich": rules})
    conn.create_function("printf", 0, lambda: '{"actor_id": "amy", "tenant_id": "t1", "context": {"ip": "::1"}}')
    conn.execute("insert into t values (1, 'draft', 's'), (2, 'paid', 's')")
    conn.execute("replace into t select id, 'x', 's' from t")
    found = entries(
        conn, "operation, actor_id, tenant_id, context, label, severity, compliance, description, redacted_fields"
    )
    who = ("amy", "t1", '{"ip":"::1"}')
    assert [row for row in found if row[0] == "DELETE"] == [
        ("DELETE", *who, "draft gone", None, None, None, '["secret"]'),
        ("DELETE", *who, "gone", "high", '["gdpr"]', "amy lost paid", '["secret"]'),
    ]
    assert all("secret" not in image for image in images(conn, "before_data") if image)


def test_children_of_a_replaced_row_are_recorded_as_their_foreign_key_says(conn: sqlite3.Connection) -> None:
    conn.execute("pragma foreign_keys = on")
    conn.execute("create table p (id integer primary key)")
    conn.execute("create table c (id integer primary key, p references p on delete cascade)")
    audited(conn, "p", "c")
    run(conn, ["insert into p values (1)", "insert into c values (7, 1)", "replace into p values (1)"])
    assert entries(conn, "table_name, operation, record_id")[2:] == [
        ("main.c", "DELETE", "7"),
        ("main.p", "DELETE", "1"),
        ("main.p", "INSERT", "1"),
    ]


def test_what_a_failed_statement_has_kept_hides_no_deletion(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a unique)")
    conn.execute("create trigger app before insert on t begin update t set a = 'same' where id = new.id; end")
    audited(conn, "t")
    conn.execute("insert into t values (3, 'x'), (4, 'same')")
    with pytest.raises(conn.IntegrityError):
        conn.execute("insert or fail into t values (3, 'y')")
    conn.execute("replace into t values (4, 'z')")
    assert entries(conn)[2:] == [("DELETE", "4"), ("INSERT", "4")]


def test_rows_without_a_key_are_told_apart_by_what_they_hold(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (a unique, b)")
    conn.execute("""create trigger app before insert on t when new.b is 2
                    begin update t set a = 'p' where a = 'o'; delete from t where a = 'q'; end""")
    audited(conn, "t")
    run(conn, ["insert into t values ('x', 1), ('o', 1), ('q', 1)", "replace into t values ('x', 2)"])
    assert entries(conn, "operation")[3:] == ["UPDATE", "DELETE", "DELETE", "INSERT"]


@pytest.mark.parametrize("stored", ["stored", "virtual"])
def test_a_key_may_be_computed_from_what_an_update_does_not_name(conn: sqlite3.Connection, stored: str) -> None:
    conn.execute(f"create table t (id integer primary key, a, b, c as (a || b), d as (lower(c)) {stored} unique)")
    audited(conn, "t")
    run(conn, ["insert into t values (1, 'x', 'y'), (2, 'x', 'z')", "update or ignore t set b = 'Y' where id = 2"])
    run(conn, ["update or replace t set b = 'Y' where id = 2"])
    assert entries(conn)[2:] == [("DELETE", "1"), ("UPDATE", "2")]


@pytest.mark.parametrize("definition", ["a text, b text, primary key (a, b)", "a text unique, b text"])
@pytest.mark.parametrize("ending", ["", "without rowid"])
def test_keys_of_several_columns_and_tables_without_a_rowid(
    conn: sqlite3.Connection, definition: str, ending: str
) -> None:
    if "primary" not in definition:
        definition += "" if not ending else ", primary key (b)"
    conn.execute(f"create table t ({definition}) {ending}")
    audited(conn, {"name": "t", "key": ["a", "b"]})
    run(conn, ["insert into t values ('x', 'y')", "replace into t values ('x', 'y')"])
    run(conn, ["insert into t values ('x2', 'y2')", "update or replace t set a = 'x', b = 'y' where a = 'x2'"])
    first, second = '["x", "y"]', '["x2", "y2"]'
    assert entries(conn) == [
        ("INSERT", first),
        ("DELETE", first),
        ("INSERT", first),
        ("INSERT", second),
        ("DELETE", first),
        ("UPDATE", first),
    ]
    assert entries(conn, "moved_from")[-1] == second


KEYS = "a text unique collate nocase, b, c, unique (b, c)"


@pytest.mark.parametrize(
    "table",
    [
        f"create table t (id integer primary key, {KEYS})",
        f"create table t (id text, {KEYS}, primary key (id, c)) without rowid",
    ],
)
def test_a_write_takes_as_many_steps_whatever_the_size_of_its_table(conn: sqlite3.Connection, table: str) -> None:
    conn.execute(table)
    audited(conn, "t")

    def fill(first: int, last: int) -> list[int]:
        """Fill it, and return the steps of three writes after that."""
        conn.execute("begin")
        conn.executemany("insert into t values (?, ?, ?, ?)", [(n, f"a{n}", n, n) for n in range(first, last)])
        conn.execute("commit")
        return [
            steps_of(conn, "insert into t values (-1, 'x', -1, -1)"),
            steps_of(conn, "update t set a = 'y', b = -2 where id = 5"),
            steps_of(conn, "replace into t values (-1, 'a5', 7, 7)"),
        ]

    of_few, of_many = fill(0, 100), fill(100, 2_000)
    assert all(many < 2 * few for few, many in zip(of_few, of_many, strict=True)), (of_few, of_many)


def steps_of(conn: sqlite3.Connection, statement: str) -> int:
    """The instructions of SQLite's virtual machine that a statement takes; it is rolled back."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    conn.execute("begin")
    conn.set_progress_handler(count, 1)
    conn.execute(statement)
    conn.set_progress_handler(None, 1)
    conn.execute("rollback")
    return steps


def test_ten_thousand_ignored_rows_leave_few_copies_and_nothing_that_the_log_may_not_have(
    conn: sqlite3.Connection,
) -> None:
    for table in ("t", "u"):
        conn.execute(f"create table {table} (id integer primary key, a unique, secret, large)")
    rules = {"redact": {"secret": "remove"}, "max_value_bytes": 1000}
    audited(conn, *({"name": name, **rules} for name in ("t", "u")))
    rows = [(number, f"a{number}", "secret", "x" * 5000) for number in range(500)]
    for table in ("t", "u"):
        conn.executemany(f"insert into {table} values (?, ?, ?, ?)", rows)
    [[pages]] = conn.execute("pragma page_count").fetchall()
    ignored = [(number % 500, f"a{(number + 1) % 500}", "secret", "y" * 5000) for number in range(10_000)]
    most = 0
    for table in ("t", "u"):
        for start in range(0, 5000, 500):
            conn.executemany(f"insert or ignore into {table} values (?, ?, ?, ?)", ignored[start : start + 500])
            most = max(most, kept(conn))
    conn.execute("insert or ignore into t select id, a || 'n', secret, large from u")  # in one statement
    assert max(most, kept(conn)) <= 102  # 100, and those of the last row: one for each key
    [[grown]] = conn.execute("pragma page_count").fetchall()
    assert grown - pages < 100
    copies = conn.execute("select before_data from svc_audit_replaced").fetchall()
    assert all("secret" not in image and len(image) < 1000 for (image,) in copies)
    assert len(entries(conn)) == 1000
