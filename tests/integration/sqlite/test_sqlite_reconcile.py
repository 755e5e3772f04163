"""What no trigger of SQLite has told of is found by a comparison of the rows with the log, and repaired."""

import sqlite3
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from svc_pg import audit, schema
from svc_pg.audit.log.reconciliation import Progress
from svc_pg.config import Config
from svc_pg.errors import ConfigError, QueryError, TransactionError, UnknownTableError
from svc_pg.integrations.sqlite import with_audit
from svc_pg.other_databases.reconciliation import table_comparison
from tests.support.sqlite import MODULES, audited, config, connect, entries, images

TABLE = "create table t (id integer primary key, a text, n)"
FOUND = "audit log reconciled"


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_comparison, "ROWS", 3)
    monkeypatch.setattr(table_comparison, "ENTRIES", 3)


@contextmanager
def unseen(conn: sqlite3.Connection, table: str = "t") -> Iterator[None]:
    """Drop the triggers of a table for a moment."""
    triggers = conn.execute(
        "select name, sql from sqlite_schema where type = 'trigger' and tbl_name = ? order by rowid", (table,)
    ).fetchall()
    for name, _ in triggers:
        conn.execute(f'drop trigger "{name}"')
    yield
    for _, text in triggers:
        conn.execute(text)


def told(found: audit.Reconciliation) -> list[tuple[str, str, list[str]]]:
    return [(each.record_id, each.kind, each.fields) for each in found.differences]


def compared(conn: Any, wanted: Config, **options: Any) -> list[tuple[str, str, list[str]]]:
    return told(audit.reconcile(conn, wanted, **options))


def check_repaired(conn: Any, wanted: Config) -> None:
    """A repair records all, and from then on nothing differs: the log tells the rows as they are."""
    repaired = audit.reconcile(conn, wanted, repair=True)
    assert repaired.is_whole
    assert compared(conn, wanted) == []


def test_each_kind_is_found_and_repaired(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    wanted = config("t")
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5)")
    assert compared(conn, wanted) == []
    with unseen(conn):
        conn.execute("update t set a = 'z' where id = 2")
        conn.execute("delete from t where id = 3")
        conn.execute("insert into t values (9, 'n', null)")
        conn.execute("update t set id = 40 where id = 4")
    expected = [
        ("2", "differs", ["a"]), ("9", "missing", []), ("40", "missing", []), ("3", "gone", []), ("4", "gone", [])
    ]  # fmt: skip
    assert sorted(compared(conn, wanted)) == sorted(expected)
    before = len(entries(conn))
    found = audit.reconcile(conn, wanted, repair=True)
    [table] = found.tables
    assert sorted(told(found)) == sorted(expected)
    assert (table.repaired, table.unrepaired, table.is_recorded) == (5, 0, True)
    written = conn.execute(
        "select operation, record_id, actor_id, before_data is null, after_data is null, changed_fields, label, context"
        " from svc_audit_logs where label = 'found by reconciliation' order by operation, record_id"
    ).fetchall()
    label = "found by reconciliation"
    assert [tuple(row) for row in written] == [
        ("GONE", "3", None, 0, 1, None, label, '{"found": "gone"}'),
        ("GONE", "4", None, 0, 1, None, label, '{"found": "gone"}'),
        ("SNAPSHOT", "2", None, 0, 0, '["a"]', label, '{"found": "differs"}'),
        ("SNAPSHOT", "40", None, 1, 0, None, label, '{"found": "unrecorded"}'),
        ("SNAPSHOT", "9", None, 1, 0, None, label, '{"found": "unrecorded"}'),
    ]
    assert len(entries(conn)) == before + 6  # and the result
    assert compared(conn, wanted) == []
    conn.execute("insert into t values (3, 'again', 0)")
    conn.execute("update t set a = 'y' where id = 2")
    assert compared(conn, wanted) == []


def test_its_result_is_an_entry(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 1)")
    with audit.actor(with_audit(conn), "u-1"):
        audit.reconcile(conn, config("t"))
    [entry] = audit.query().resource("main.svc_audit_logs").record("main.t").list(conn)
    assert (entry.operation, entry.label, entry.severity, entry.actor_id) == ("SNAPSHOT", FOUND, "low", "u-1")
    assert entry.after_data is not None
    assert entry.after_data.value["rows"] == 1
    assert entry.description == "Compared 1 row of main.t with the log: 0 differences"


def test_a_found_change_is_nobodys(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 1), (2, 'b', 2)")
    with unseen(conn):
        conn.execute("update t set a = 'z' where id = 1")
        conn.execute("delete from t where id = 2")
    with audit.actor(with_audit(conn), "u-1"):
        audit.reconcile(conn, config("t"), repair=True)
    [change, _] = audit.last_changes(conn, "t", "1")
    [end, _] = audit.last_changes(conn, "t", "2")
    assert (change.is_found, change.actor, change.who) == (True, None, "Somebody")
    assert [(field.name, field.before, field.after) for field in change.fields] == [("a", "a", "z")]
    assert (end.operation, end.is_found, end.actor) == ("GONE", True, None)


def test_backfill_records_a_row_that_came_back_after_it_was_gone(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 1)")
    with unseen(conn):
        conn.execute("delete from t")
    check_repaired(conn, config("t"))
    with unseen(conn):
        conn.execute("insert into t values (1, 'b', 1)")
    assert compared(conn, config("t")) == [("1", "missing", [])]
    assert schema.backfill(conn, config("t")) == {"main.t": 1}
    assert compared(conn, config("t")) == []


def test_a_table_made_anew_without_triggers(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 1), (2, 'b', 2)")
    conn.execute(TABLE.replace("table t", "table u"))
    conn.execute("insert into u select id, upper(a), n from t where id = 1")
    conn.execute("drop table t")
    conn.execute("alter table u rename to t")
    assert compared(conn, config("t")) == [("1", "differs", ["a"]), ("2", "gone", [])]
    audited(conn, "t")
    check_repaired(conn, config("t"))


@pytest.mark.parametrize("recursive", ["on", "off"])
def test_rows_that_replace_deletes_by_an_unseen_index(conn: sqlite3.Connection, recursive: str) -> None:
    conn.execute(TABLE)
    conn.execute("create unique index i on t (a) where n > 0")
    audited(conn, "t")
    conn.execute(f"pragma recursive_triggers = {recursive}")
    conn.execute("insert into t values (1, 'a', 1)")
    conn.execute("replace into t values (2, 'a', 1)")
    expected: list[tuple[str, str, list[str]]] = [] if recursive == "on" else [("1", "gone", [])]
    assert compared(conn, config("t")) == expected
    check_repaired(conn, config("t"))


KEYS = [
    ("id integer primary key", ["1", "-9223372036854775808", "9223372036854775807"]),
    ("id text primary key", ["'a'", "'A'", "'1'", "'1.0'", "''", "x'00ff'", "'a' || char(0) || 'b'", "'é''%s'"]),
    ("id primary key", ["1", "'1x'", "1.5", "0.1", "1e300", "-9e999", "x''", "x'c3'", "9007199254740993", "5e-324"]),
    ("id text primary key collate nocase", ["'a'", "'B'", "'é'"]),
    ("id text not null primary key", ["'a'", "'A'", "x'0102'"]),
    ("id real primary key", ["1", "0.30000000000000004", "123456789012345680000"]),
    ("id boolean primary key", ["0", "1", "2", "'x'"]),
]


@pytest.mark.parametrize(("key", "values"), KEYS)
@pytest.mark.parametrize("ending", ["", "without rowid"])
def test_keys_of_every_type(conn: sqlite3.Connection, key: str, values: list[str], ending: str) -> None:
    conn.execute(f"create table t ({key}, a) {ending}")
    audited(conn, "t")
    for value in values:
        conn.execute(f"insert into t values ({value}, 1)")
    assert compared(conn, config("t")) == []
    with unseen(conn):
        conn.execute("delete from t")
    gone = compared(conn, config("t"))
    assert [kind for _, kind, _ in gone] == ["gone"] * len(values)
    check_repaired(conn, config("t"))
    with unseen(conn):
        for value in values:
            conn.execute(f"insert into t values ({value}, 2)")
    assert [kind for _, kind, _ in compared(conn, config("t"))] == ["missing"] * len(values)
    check_repaired(conn, config("t"))


@pytest.mark.parametrize("ending", ["", "without rowid"])
def test_keys_of_several_columns(conn: sqlite3.Connection, ending: str) -> None:
    conn.execute(f"create table t (a text collate nocase, b, c, primary key (a, b desc)) {ending}")
    audited(conn, "t")
    rows = "('x', 1, 1), ('X', 2, 1), ('y', 'z', 1), ('y', x'01', 1), ('y', 1.5, 1), ('[\"', 0, 1), ('%s', 1e300, 1)"
    conn.execute(f"insert into t values {rows}")
    assert compared(conn, config("t")) == []
    with unseen(conn):
        conn.execute("delete from t where b = 2 or typeof(b) = 'blob'")
        conn.execute("update t set c = 2 where a = 'x'")
    found = compared(conn, config("t"))
    assert sorted(found) == [
        ('["X", 2]', "gone", []), ('["x", 1]', "differs", ["c"]), ('["y", "\\\\x01"]', "gone", [])
    ]  # fmt: skip
    check_repaired(conn, config("t"))


def test_an_index_with_another_collation_than_its_column(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (a text collate nocase, c, primary key (a collate binary)) without rowid")
    audited(conn, "t")
    conn.execute("insert into t values ('a', 1), ('A', 1), ('b', 1), ('B', 1), ('aB', 1), ('Ab', 1)")
    found = audit.reconcile(conn, config("t"))
    assert (found.is_whole, found.tables[0].rows) == (True, 6)


VALUES = ["x'00ff'", "cast(x'c328' as text)", "9e999", "-9e999", "0.1 + 0.2", "1e-310", "9223372036854775807", "null"]
VALUES += ["'a' || char(0)", "'\"\\'", "1e23", "''", "x''", "char(1, 9, 10, 0x1f600)"]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("declared", ["", "json", "boolean", "text", "numeric"])
def test_values_that_are_hard_to_write(conn: sqlite3.Connection, value: str, declared: str) -> None:
    conn.execute(f"create table t (id integer primary key, a {declared}, b)")
    audited(conn, "t")
    conn.execute(f"insert into t values (1, {value}, 1)")
    assert compared(conn, config("t")) == []
    with unseen(conn):
        conn.execute("update t set b = 2")
    assert compared(conn, config("t")) == [("1", "differs", ["b"])]
    check_repaired(conn, config("t"))


def test_rows_whose_key_names_no_record_are_told(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id text primary key, a)")
    audited(conn, "t")
    conn.execute("insert into t values (null, 1), (cast(x'c3' as text), 1), ('a', 1)")
    assert audit.reconcile(conn, config("t")).tables[0].notes[0].startswith("1 row not compared: the key is null")
    with unseen(conn):
        conn.execute("update t set a = 2")
    found = audit.reconcile(conn, config("t"), repair=True)
    assert told(found) == [("a", "differs", ["a"])]
    assert found.is_whole
    assert found.tables[0].notes == [
        "2 rows not compared: the key is null or no valid text, so nothing tells which entries are theirs"
    ]


def test_rules_leave_out_what_they_say(conn: sqlite3.Connection) -> None:
    rules = {
        "name": "t",
        "redact": {"h": "hash", "m": "mask", "l": "last4", "r": "remove"},
        "ignore": ["i"],
        "max_value_bytes": 256,
    }
    with_audit(conn)
    conn.execute("create table t (id integer primary key, h, m, l, r, i, big)")
    audited(conn, rules)
    conn.execute("insert into t values (1, 'h', 'm', '12345678', 'r', 'i', ?)", ("x" * 300,))
    assert compared(conn, config(rules)) == []
    with unseen(conn):
        conn.execute("update t set m = 'other', r = 'other', i = 'other', l = '99995678', big = ?", ("y" * 300,))
    found = audit.reconcile(conn, config(rules))
    assert found.is_whole
    assert found.tables[0].notes == [
        "ignored: i",
        "not recorded: r",
        "masked, so not compared: m",
        "compared by their hashes: h",
        "compared by their last four characters: l",
        "values of more than 256 bytes: compared by their sizes",
    ]
    with unseen(conn):
        conn.execute("update t set h = 'other', l = '12340000', big = ?", ("y" * 301,))
    assert compared(conn, config(rules)) == [("1", "differs", ["big", "h", "l"])]
    check_repaired(conn, config(rules))
    assert all("other" not in (image["m"], image["h"]) and "r" not in image for image in images(conn) if "id" in image)


def test_columns_that_are_redacted_otherwise_are_not_compared(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 1), (2, 'a', 1)")
    rules = {"name": "t", "redact": {"a": "mask"}}
    audited(conn, rules)
    found = audit.reconcile(conn, config(rules))
    assert found.is_whole
    assert "redacted otherwise in some entries, so not compared with those: a" in found.tables[0].notes


def test_record_when_counts_only_what_an_insert_would_record(conn: sqlite3.Connection) -> None:
    rules = {"name": "t", "record_when": {"after": {"n": {"gt": 10}}}}
    conn.execute(TABLE)
    audited(conn, rules)
    conn.execute("insert into t values (1, 'a', 1), (2, 'b', 20)")
    conn.execute("update t set a = 'z', n = 2 where id = 2")
    with unseen(conn):
        conn.execute("insert into t values (3, 'c', 30), (4, 'd', 4), (5, 'e', 5), (6, 'f', 60)")
        conn.execute("delete from t where id = 2")
    found = audit.reconcile(conn, config(rules))
    assert told(found) == [("3", "missing", []), ("6", "missing", [])]
    assert found.tables[0].rows == 2
    check_repaired(conn, config(rules))


def test_generated_columns_are_compared(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (id integer primary key, a, d as (a * 2), s as (a * 3) stored)")
    audited(conn, "t")
    conn.execute("insert into t (id, a) values (1, 1)")
    with unseen(conn):
        conn.execute("update t set a = 5")
    assert compared(conn, config("t")) == [("1", "differs", ["a", "d", "s"])]
    check_repaired(conn, config("t"))


def test_changes_that_an_older_trigger_nests_make_no_difference(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("create trigger x after insert on t begin update t set a = a || '!', n = 1 where id = new.id; end")
    conn.execute("insert into t values (1, 'a', 0), (2, 'b', 0), (3, 'c', 0)")
    conn.execute("update t set n = 5 where id = 1")
    conn.execute("update t set id = 7 where id = 2")
    assert compared(conn, config("t")) == []


def test_a_clock_that_is_set_back_makes_no_difference(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 0), (2, 'b', 0)")
    conn.execute("drop trigger svc_audit_guard_update")
    conn.execute("update svc_audit_logs set timestamp = '2999-01-01T00:00:00.000000Z'")
    conn.execute("update t set a = 'z' where id = 1")
    conn.execute("delete from t where id = 2")
    assert compared(conn, config("t")) == []


def test_entries_of_capture_log_are_no_rows(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    audit.capture_log(conn, "main.t", "UPDATE", record_id="77", after={"note": "called"})
    assert compared(conn, config("t")) == []


BY_HAND: list[dict[str, Any]] = [
    {"table": "t"},
    {"before": 7},
    {"table": "main.u", "before": "2001-01-01"},
    {"table": "main.t", "before": "2001-01-01"},  # without a zone
    {"table": "main.t", "before": "soon"},
    {"table": "main.t", "before": [7]},
    {"table": "main.t", "before": None},
    {},
]


def _age(conn: sqlite3.Connection) -> None:
    """Make all entries those of long ago."""
    conn.execute("drop trigger svc_audit_guard_update")
    conn.execute("update svc_audit_logs set timestamp = '2001-01-01T00:00:00.000000Z'")
    audited(conn, "t")


def test_what_was_purged_is_known_after_the_entry_about_that_purge_was_purged_too(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 0)")
    for facts in BY_HAND:
        audit.capture_log(conn, "main.svc_audit_logs", "DELETE", label="audit log purged", before=facts)
    assert audit.reconcile(conn, config("t")).is_whole
    for _ in range(3):
        _age(conn)
        audit.purge(conn, timedelta(days=1))
        [table] = audit.reconcile(conn, config("t")).tables
        assert (table.missing, table.unknown, table.is_whole) == (0, 1, True)
    told = "select description from svc_audit_logs where json_extract(before_data, '$.table') = 'main.t'"
    [(description,)] = conn.execute(told).fetchall()
    assert "were removed earlier" in description


def test_purged_entries_leave_it_unknown(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 0)")
    _age(conn)

    audit.purge(conn, timedelta(days=1))
    found = audit.reconcile(conn, config("t"))
    [table] = found.tables
    assert (found.is_whole, found.differences, table.unknown) == (True, [], 1)
    assert table.purged_before is not None
    check_repaired(conn, config("t"))


def test_a_row_that_differs_since_a_purge_is_known(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 0)")
    _age(conn)
    audit.purge(conn, timedelta(days=1))
    conn.execute("insert into t values (2, 'b', 0)")
    with unseen(conn):
        conn.execute("update t set a = 'c' where id = 2")
    found = audit.reconcile(conn, config("t"))
    assert told(found) == [("2", "differs", ["a"])]
    assert found.tables[0].unknown == 1, "of the record whose entries are purged"


def test_a_record_that_is_gone_since_a_purge_is_known(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 0)")
    _age(conn)
    audit.purge(conn, timedelta(days=1))
    conn.execute("insert into t values (2, 'b', 0)")
    with unseen(conn):
        conn.execute("delete from t where id = 2")
    found = audit.reconcile(conn, config("t"))
    assert told(found) == [("2", "gone", [])]
    assert found.tables[0].unknown == 1, "of the record whose entries are purged"


def test_a_table_without_a_key_is_not_compared(conn: sqlite3.Connection) -> None:
    conn.execute("create table t (a)")
    audited(conn, "t")
    found = audit.reconcile(conn, config("t"))
    [table] = found.tables
    assert (table.is_compared, table.notes) == (False, ["not compared: it has no key by which a row has entries"])
    assert not found.has_compared


def test_without_the_key_of_hashes_nothing_is_said_to_be_whole(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    conn.execute("create table u (id integer primary key)")
    hashed = {"name": "t", "redact": {"a": "hash"}}
    audited(conn, hashed, "u")
    with_audit(conn)
    conn.execute("insert into t values (1, 'a', 1)")
    wanted = config(hashed, "u")
    assert audit.reconcile(conn, wanted).is_whole
    [(key,)] = conn.execute("select key from svc_audit_hash_key")
    conn.execute("delete from svc_audit_hash_key")
    found = audit.reconcile(conn, wanted, repair=True)
    assert (found.is_whole, found.differences) == (False, [])
    of_t, of_u = found.tables
    assert "the key of hashes is missing from svc_audit_hash_key" in str(of_t.problem)
    assert (of_u.problem, of_u.is_complete) == (None, True)
    conn.execute("insert into svc_audit_hash_key values (?)", (key,))
    assert audit.reconcile(conn, wanted).is_whole


def test_a_column_or_rules_that_no_install_knows_are_a_problem_of_their_table_alone(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    conn.execute("create table u (id integer primary key)")
    audited(conn, "t", "u")
    conn.execute("alter table t add column extra default 5")
    first, second = audit.reconcile(conn, config("t", "u")).tables
    assert first.problem is not None
    assert "run svc-pg install" in first.problem
    assert not first.is_complete
    assert (second.problem, second.is_complete) == (None, True)
    [table] = audit.reconcile(conn, config({"name": "u", "record_when": {"after": {"id": {"gt": 1}}}})).tables
    assert table.problem is not None
    audited(conn, "t", "u")
    assert compared(conn, config("t", "u")) == []  # the row that is not there has no extra


def test_bad_input_is_refused(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    conn.execute("create view v as select * from t")
    audited(conn, "t")
    with pytest.raises(UnknownTableError, match="not audited"):
        audit.reconcile(conn, config("t"), table="other")
    with pytest.raises(UnknownTableError, match="not audited"):
        audit.reconcile(conn, config("t"), table="v")
    with pytest.raises(QueryError):
        audit.reconcile(conn, config("t"), after="x")
    conn.execute("begin")
    with pytest.raises(TransactionError):
        audit.reconcile(conn, config("t"))
    conn.execute("rollback")


@pytest.mark.anyio
async def test_an_async_connection_is_told_the_sync_call(tmp_path: Path) -> None:
    aiosqlite = pytest.importorskip("aiosqlite")
    async with aiosqlite.connect(tmp_path / "shop.db") as conn:
        with pytest.raises(ConfigError, match="sync"):
            await audit.areconcile(conn, config("t"))
        with pytest.raises(ConfigError, match="async"):
            audit.reconcile(conn, config("t"))


@pytest.mark.parametrize("repair", [False, True])
def test_an_interrupted_one_goes_on(conn: sqlite3.Connection, repair: bool) -> None:  # noqa: FBT001 - a case
    conn.execute(TABLE)
    conn.execute("create table u (a text, b, c, primary key (a, b)) without rowid")
    audited(conn, "t", "u")
    with conn:
        conn.executemany("insert into t values (?, 'a', 0)", [(n,) for n in range(20)])
        conn.executemany("insert into u values (?, ?, 0)", [(f"k{n}", n) for n in range(20)])
    with unseen(conn), unseen(conn, "u"):
        conn.execute("update t set a = 'z' where id % 2")
        conn.execute("delete from u where b % 4 = 0")
        conn.execute("update u set c = 9 where b % 4 = 1")
    wanted = config("t", "u")
    whole = told(audit.reconcile(conn, wanted))
    assert len(whole) == 20
    found: list[tuple[str, str, list[str]]] = []
    after, steps = None, 0
    while steps == 0 or after is not None:
        calls: list[Progress] = []
        part = audit.reconcile(
            conn, wanted, repair=repair, after=after, progress=calls.append, is_over=partial(bool, calls)
        )
        found += told(part)
        after, steps = part.after, steps + 1
    assert steps > 10
    assert sorted(found) == sorted(whole)
    assert part.tables[-1].rows == 15
    assert (part.tables[-1].gone, part.tables[-1].differing) == (5, 5)
    assert compared(conn, wanted) == ([] if repair else whole)


def test_a_cursor_of_another_kind_is_refused(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    conn.executemany("insert into t values (?, 'a', 0)", [(n,) for n in range(9)])
    cursors: list[str | None] = []
    audit.reconcile(conn, config("t"), progress=lambda now: cursors.append(now.cursor))
    with pytest.raises(QueryError, match="without repair"):
        audit.reconcile(conn, config("t"), after=cursors[0], repair=True)


def test_it_reads_beside_a_writer_and_tells_nothing_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_comparison, "ROWS", 50)
    monkeypatch.setattr(table_comparison, "ENTRIES", 300)
    with closing(connect(database=tmp_path / "shop.db")) as conn:
        conn.execute("pragma journal_mode = wal")
        conn.execute(TABLE)
        audited(conn, "t")
        with conn:
            conn.executemany("insert into t values (?, 'a', 0)", [(n,) for n in range(200)])
        stop, written = threading.Event(), []

        def write() -> None:
            with closing(connect(database=tmp_path / "shop.db")) as writer:
                for number in range(1000):
                    if stop.is_set():
                        break
                    writer.execute("begin immediate")
                    writer.execute("update t set n = n + 1 where id = ?", (number * 7 % 200,))
                    writer.execute("delete from t where id = ?", (number * 11 % 200,))
                    writer.execute("insert or replace into t values (?, 'b', 0)", (number * 13 % 200,))
                    writer.execute("commit")
                    written.append(number)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            rounds = 0
            while rounds < 5 or not written:
                found = audit.reconcile(conn, config("t"), repair=True)
                assert told(found) == []
                rounds += 1
        finally:
            stop.set()
            thread.join()
        assert entries(conn, "label").count("found by reconciliation") == 0


def test_a_repair_looks_again_when_it_has_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is mended between the look and the lock is not repaired twice."""
    with (
        closing(connect(database=tmp_path / "shop.db")) as conn,
        closing(connect(database=tmp_path / "shop.db")) as two,
    ):
        conn.execute(TABLE)
        audited(conn, "t")
        conn.execute("insert into t values (1, 'a', 0), (2, 'b', 0)")
        with unseen(conn):
            conn.execute("update t set a = 'z' where id = 1")
            conn.execute("delete from t where id = 2")
        repair = table_comparison.TableComparison._repair

        def late(self: Any, piece: Any, steps: Any) -> Any:
            monkeypatch.setattr(table_comparison.TableComparison, "_repair", repair)
            audit.reconcile(two, config("t"), repair=True)
            return (yield from repair(self, piece, steps))

        monkeypatch.setattr(table_comparison.TableComparison, "_repair", late)
        assert audit.reconcile(conn, config("t"), repair=True).is_whole
        assert sorted(entries(conn, "operation")) == ["GONE", "INSERT", "INSERT", *["SNAPSHOT"] * 3]


def test_a_file_that_stays_locked_postpones_the_repair(tmp_path: Path) -> None:
    with (
        closing(connect(database=tmp_path / "shop.db")) as conn,
        closing(connect(database=tmp_path / "shop.db")) as two,
    ):
        conn.execute("pragma journal_mode = wal")
        conn.execute("pragma busy_timeout = 20")
        conn.execute(TABLE)
        audited(conn, "t")
        with unseen(conn):
            conn.execute("insert into t values (1, 'a', 0)")
        two.execute("begin immediate")
        found = audit.reconcile(conn, config("t"), repair=True)
        [table] = found.tables
        assert (table.postponed, table.repaired, table.unrepaired, table.is_recorded) == (["main.t"], 0, 1, False)
        assert not found.is_whole
        two.execute("rollback")
        check_repaired(conn, config("t"))


def test_a_file_that_may_only_be_read_is_compared(tmp_path: Path) -> None:
    with closing(connect(database=tmp_path / "shop.db")) as conn:
        conn.execute(TABLE)
        audited(conn, "t")
        with unseen(conn):
            conn.execute("insert into t values (1, 'a', 0)")
        conn.execute("pragma query_only = on")
        found = audit.reconcile(conn, config("t"))
        assert told(found) == [("1", "missing", [])]
        assert not found.tables[0].is_recorded


def test_an_error_half_way_leaves_no_transaction(conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    with unseen(conn):
        conn.execute("insert into t values (1, 'a', 0), (2, 'a', 0)")
    written = 0

    def interrupted(*_: Any, **__: Any) -> Any:
        nonlocal written
        written += 1
        raise KeyboardInterrupt

    monkeypatch.setattr("svc_pg.other_databases.reconciliation.sqlite.table.SqliteTableSide.snapshot", interrupted)
    with pytest.raises(KeyboardInterrupt):
        audit.reconcile(conn, config("t"), repair=True)
    assert (written, conn.in_transaction, entries(conn)) == (1, False, [])


def test_what_is_redacted_since_is_not_copied_from_older_entries(conn: sqlite3.Connection) -> None:
    conn.execute('create table t (id integer primary key, "s\\ ""n" text, n)')
    audited(conn, "t")
    with conn:
        conn.execute("""insert into t values (1, cast(x'22c35c' as text), 0.30000000000000004), (2, 'hush', 1)""")
    rules = {"name": "t", "redact": {'s\\ "n': "mask"}}
    audited(conn, rules)
    conn.execute("insert into t values (3, 'hush', 1)")
    with unseen(conn):
        conn.execute("update t set n = 2 where id in (1, 3)")
        conn.execute("delete from t where id = 2")
    check_repaired(conn, config(rules))
    written = conn.execute(
        "select operation, record_id, before_data, redacted_fields from svc_audit_logs"
        " where label = 'found by reconciliation' order by record_id"
    ).fetchall()
    names = '["s\\\\ \\"n"]'
    assert [tuple(row) for row in written] == [
        ("SNAPSHOT", "1", '{"id":1, "n":0.30000000000000004}', names),
        ("GONE", "2", '{"id":2, "n":1}', names),
        ("SNAPSHOT", "3", '{"id":3,"s\\\\ \\"n":"[masked]","n":1}', names),
    ]


def test_rules_that_are_installed_during_a_repair_end_it_for_their_table(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with closing(connect(database=file)) as conn, closing(connect(database=file)) as two:
        conn.execute("create table other (id integer primary key)")
        conn.execute(TABLE)
        audited(conn, "other", "t")
        with unseen(conn):
            conn.execute("insert into t values (1, 'hush', 1)")
        newer = config("other", {"name": "t", "redact": ["a"]})
        installed: list[Progress] = []

        def install(now: Progress) -> None:
            if not installed:
                installed.append(now)
                schema.install(two, newer)

        first, second = audit.reconcile(conn, config("other", "t"), repair=True, progress=install).tables
        assert (first.is_whole, second.is_whole) == (True, False)
        assert "its triggers were not made for the configuration" in (second.problem or "")
        assert not conn.execute("select 1 from svc_audit_logs where after_data like '%hush%'").fetchall()
        check_repaired(conn, newer)
        assert not conn.execute("select 1 from svc_audit_logs where after_data like '%hush%'").fetchall()


def test_a_key_that_tells_no_rows_apart_is_a_problem(conn: sqlite3.Connection) -> None:
    conn.execute(TABLE)
    conn.execute("create unique index i on t (a) where n > 0")
    rules = {"name": "t", "key": ["a"]}
    audited(conn, rules)
    conn.execute("insert into t values (1, 'a', 0), (2, 'a', 0)")
    found = audit.reconcile(conn, config(rules), repair=True)
    [table] = found.tables
    assert (found.is_whole, found.differences, table.repaired) == (False, [], 0)
    assert table.problem is not None
    assert table.problem.startswith("nothing tells its rows apart: no unique index of whole columns")


@pytest.mark.parametrize("key", [["a"], ["a", "n"], ["id", "a"]])
def test_rows_with_a_null_in_a_configured_key(conn: sqlite3.Connection, key: list[str]) -> None:
    """They are counted if another row may have the same key, and compared if not."""
    conn.execute("create table t (id integer primary key, a text, n, b, unique (a, n), unique (a))")
    if key == ["a", "n"]:
        conn.execute("drop table t")
        conn.execute("create table t (id integer primary key, a text, n, b, unique (a, n))")
    rules = {"name": "t", "key": key}
    audited(conn, rules)
    conn.execute("insert into t values (1, null, 1, 0), (2, null, 1, 0), (3, 'a', 1, 0), (4, 'b', null, 0)")
    assert compared(conn, config(rules)) == []
    with unseen(conn):
        conn.execute("update t set b = 2")
    found = audit.reconcile(conn, config(rules))
    unkeyed = {"a": 2, "a, n": 3, "id, a": 0}[", ".join(key)]
    assert len(found.differences) == 4 - unkeyed
    note = found.tables[0].notes[:1]
    assert note == ([] if not unkeyed else [note[0]])
    assert not unkeyed or note[0].startswith(f"{unkeyed} rows not compared")
    check_repaired(conn, config(rules))
    with unseen(conn):
        conn.execute("delete from t where id <> 1")
    found = audit.reconcile(conn, config(rules))
    assert [kind for _, kind, _ in told(found)] == ["gone"] * (3 if not unkeyed else 4 - unkeyed)


def test_entries_of_one_statement_are_found_by_an_index(conn: sqlite3.Connection) -> None:
    """Whatever reads the order of a record's entries would else read all entries of their statement for each."""
    conn.execute(TABLE)
    audited(conn, "t")
    conn.execute("insert into t values (1, 'a', 1), (2, 'b', 1)")
    conn.execute("update t set id = id + 10")
    asked: list[str] = []
    conn.set_trace_callback(asked.append)
    compared(conn, config("t"))
    conn.set_trace_callback(None)
    wanted = {text for text in asked if "union all" in text and "before_data" in text}
    assert len(wanted) == 2
    for text in wanted:
        plan = [row[3] for row in conn.execute(f"explain query plan {text}")]
        searches = [step for step in plan if step.startswith(("SEARCH", "SCAN"))]
        assert len(searches) == 2
        assert "record_id=? AND timestamp=?" in searches[0]
        assert "moved_from=? AND timestamp=?" in searches[1]


def test_a_repaired_row_takes_few_statements(conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    conn.execute(TABLE)
    audited(conn, "t")
    asked: list[str] = []

    def statements(rows: int) -> int:
        conn.execute("delete from t")
        with unseen(conn):
            conn.executemany("insert into t values (?, 'a', 1)", [(n,) for n in range(rows)])
        asked.clear()
        conn.set_trace_callback(asked.append)
        assert audit.reconcile(conn, config("t"), repair=True).tables[0].repaired == rows
        conn.set_trace_callback(None)
        return len(asked)

    monkeypatch.setattr(table_comparison, "ROWS", 500)
    monkeypatch.setattr(table_comparison, "ENTRIES", 500)
    few, many = statements(2), statements(42)
    assert (many - few) / 40 < 10


@pytest.mark.parametrize("module", MODULES)
def test_memory_is_flat(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with closing(connect(module)) as conn:
        conn.execute("create table t (id integer primary key, a text)")
        audited(conn, "t")
        with unseen(conn):
            conn.execute(
                "insert into t with recursive n (i) as (select 1 union all select i + 1 from n where i < 300)"
                " select i, hex(randomblob(50000)) from n"
            )
        assert audit.reconcile(conn, config("t"), repair=True, most=0).tables[0].repaired == 300
        with unseen(conn):
            conn.execute("update t set a = substr(a, 2)")
        tracemalloc.start()
        try:
            assert audit.reconcile(conn, config("t"), most=0).tables[0].differing == 300
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 4_000_000  # the images of 300 rows have 60 MB
