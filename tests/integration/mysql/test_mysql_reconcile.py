"""What no trigger of MySQL or MariaDB has told of is found by a comparison of the rows with the log, and repaired."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pymysql
import pytest

from svc_pg import audit
from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.purge_report import Ages
from svc_pg.audit.log.reconciliation import Progress
from svc_pg.config import Config
from svc_pg.database.dbapi import rows
from svc_pg.errors import QueryError, TransactionError, UnknownTableError
from svc_pg.other_databases.reconciliation import table_comparison
from svc_pg.other_databases.reconciliation.mysql import table as table_side
from svc_pg.other_databases.reconciliation.mysql.table import MySqlTableSide
from svc_pg.other_databases.schema.mysql.backfill import backfill
from svc_pg.other_databases.schema.mysql.install import install
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, entries, facts, purge, run
from tests.support.mysql_tables import audit as audited

Told = list[tuple[str, str, list[str]]]
TABLE = "create table t (id int primary key, a varchar(50), n int)"


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_comparison, "ROWS", 3)
    monkeypatch.setattr(table_comparison, "ENTRIES", 3)


@contextmanager
def unseen(conn: Connection, config: Config) -> Iterator[None]:
    """Drop our triggers for a moment."""
    found = rows(conn, "select trigger_name from information_schema.triggers where trigger_schema = database()")
    run(conn, *(f"drop trigger `{name.replace('`', '``')}`" for (name,) in found))
    yield
    install(conn, config)


def told(found: audit.Reconciliation) -> Told:
    return [(each.record_id, each.kind, each.fields) for each in found.differences]


def compared(conn: Any, config: Config, **options: Any) -> Told:
    return told(audit.reconcile(conn, config, **options))


def check_repaired(conn: Any, config: Config) -> None:
    repaired = audit.reconcile(conn, config, repair=True)
    assert repaired.is_whole
    assert compared(conn, config) == []


def test_each_kind_is_found_and_repaired(shop: Connection) -> None:
    config = audited(shop, TABLE)
    run(shop, "insert into t values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5)")
    assert compared(shop, config) == []
    with unseen(shop, config):
        run(shop, "update t set a = 'z' where id = 2", "delete from t where id = 3")
        run(shop, "insert into t values (9, 'n', null)", "update t set id = 40 where id = 4")
    expected: Told = [
        ("2", "differs", ["a"]), ("9", "missing", []), ("40", "missing", []), ("3", "gone", []), ("4", "gone", [])
    ]  # fmt: skip
    assert sorted(compared(shop, config)) == sorted(expected)
    found = audit.reconcile(shop, config, repair=True)
    assert sorted(told(found)) == sorted(expected)
    [table] = found.tables
    assert (table.repaired, table.unrepaired, table.is_recorded) == (5, 0, True)
    written = [entry for entry in entries(shop) if entry["label"] == "found by reconciliation"]
    assert sorted(
        (each["operation"], each["record_id"], each["actor_id"], each["changed_fields"], each["context"]["found"])
        for each in written
    ) == [
        ("GONE", "3", None, None, "gone"),
        ("GONE", "4", None, None, "gone"),
        ("SNAPSHOT", "2", None, ["a"], "differs"),
        ("SNAPSHOT", "40", None, None, "unrecorded"),
        ("SNAPSHOT", "9", None, None, "unrecorded"),
    ]
    [differing] = [each for each in written if each["record_id"] == "2"]
    assert (differing["before_data"]["a"], differing["after_data"]["a"]) == ("b", "z")
    assert compared(shop, config) == []
    run(shop, "insert into t values (3, 'again', 0)", "update t set a = 'y' where id = 2")
    assert compared(shop, config) == []
    [change, *_] = audit.last_changes(shop, "t", "4")
    assert (change.operation, change.is_found, change.actor) == ("GONE", True, None)


def test_its_result_is_an_entry(shop: Connection) -> None:
    config = audited(shop, TABLE)
    run(shop, "insert into t values (1, 'a', 1)")
    audit.reconcile(shop, config)
    [name] = [f"{database}.t" for (database,) in rows(shop, "select database()")]
    [entry] = audit.query().resource("svc.audit_logs").record(name).list(shop)
    assert (entry.operation, entry.label, entry.severity) == ("SNAPSHOT", "audit log reconciled", "low")


def test_backfill_records_a_row_that_came_back_after_it_was_gone(shop: Connection) -> None:
    config = audited(shop, TABLE)
    run(shop, "insert into t values (1, 'a', 1)")
    with unseen(shop, config):
        run(shop, "delete from t")
    check_repaired(shop, config)
    with unseen(shop, config):
        run(shop, "insert into t values (1, 'b', 1)")
    assert compared(shop, config) == [("1", "missing", [])]
    assert list(backfill(shop, config).values()) == [1]
    assert compared(shop, config) == []


def test_truncate_and_a_table_made_anew(shop: Connection) -> None:
    config = audited(shop, TABLE)
    run(shop, "insert into t values (1, 'a', 1), (2, 'b', 2)", "truncate t")
    assert compared(shop, config) == [("1", "gone", []), ("2", "gone", [])]
    check_repaired(shop, config)
    run(
        shop, "insert into t values (1, 'a', 1), (2, 'b', 2)", "drop table t", TABLE, "insert into t values (2, 'B', 2)"
    )
    assert compared(shop, config) == [("2", "differs", ["a"]), ("1", "gone", [])]
    install(shop, config)
    check_repaired(shop, config)


def test_cascades_of_a_key_that_is_made_after_the_install(shop: Connection) -> None:
    child = "create table child (id int primary key, t int)"
    config = audited(shop, TABLE, child, tables=("t", "child"))
    run(shop, "insert into t values (1, 'a', 1), (2, 'b', 2)", "insert into child values (10, 1), (11, 1), (20, 2)")
    run(shop, "alter table child add foreign key (t) references t (id) on delete cascade on update cascade")
    run(shop, "delete from t where id = 1", "update t set id = 3 where id = 2")
    install(shop, config)  # on MariaDB the triggers of a table depend on its foreign keys
    assert compared(shop, config) == [("20", "differs", ["t"]), ("10", "gone", []), ("11", "gone", [])]
    check_repaired(shop, config)
    run(shop, "insert into child values (30, 3)", "delete from t where id = 3")
    assert compared(shop, config) == []


KEYS = [
    ("bigint unsigned", ["0", "9007199254740993", "18446744073709551615"]),
    ("decimal(30,10)", ["12345678901234567890.1234567891", "-1"]),
    ("double", ["0.1", "1e300", "-2.5e-300", "123456789012345678"]),
    ("float", ["0.1", "3", "1e20"]),
    ("varchar(40)", ["'a'", "'b '", "'é''%s\\\\'", "''", "'1'"]),
    ("varchar(40) collate utf8mb4_bin", ["'a'", "'A'", "'%'"]),
    ("varchar(40) character set latin1", ["'a'", "'é'"]),
    ("varbinary(20)", ["x'00ff'", "''", "'a'"]),
    ("binary(4)", ["x'00ff'", "'ab'"]),
    ("enum('z', 'a', 'm')", ["'a'", "'m'", "'z'"]),
    ("enum('z', '', 'm')", ["'z'", "''", "'m'"]),
    ("enum('m', 'z', '')", ["'z'", "''", "'m'"]),
    ("date", ["'2026-01-02'", "'0000-00-00'", "'2026-02-31'"]),
    ("datetime(6)", ["'2026-01-02 03:04:05.5'", "'0000-00-00 00:00:00'", "'2026-02-30 00:00:00'"]),
    ("timestamp", ["'2026-01-02 03:04:05'", "'2026-10-25 00:30:00'", "'0000-00-00 00:00:00'"]),
    ("time", ["'-12:00:01'", "'99:00:00'"]),
    ("tinyint(1)", ["0", "1", "2"]),
    ("bit(9)", ["0", "5", "256"]),
    ("year", ["2026", "1999"]),
]


@pytest.mark.parametrize(("key", "values"), KEYS)
@pytest.mark.parametrize("is_composite", [False, True])
def test_keys_of_every_type(shop: Connection, key: str, values: list[str], *, is_composite: bool) -> None:
    names = "(b, k)" if is_composite else "(k)"
    run(shop, "set sql_mode = 'ALLOW_INVALID_DATES'")
    config = audited(shop, f"create table t (k {key}, b int not null default 7, a int, primary key {names})")
    for value in values:
        run(shop, f"insert into t (k, a) values ({value}, 1)")
    assert compared(shop, config) == []
    with unseen(shop, config):
        run(shop, "delete from t")
    assert [kind for _, kind, _ in compared(shop, config)] == ["gone"] * len(values)
    check_repaired(shop, config)
    with unseen(shop, config):
        for value in values:
            run(shop, f"insert into t (k, a) values ({value}, 2)")
    assert [kind for _, kind, _ in compared(shop, config)] == ["missing"] * len(values)
    check_repaired(shop, config)
    with unseen(shop, config):
        run(shop, "update t set a = 3")
    assert [kind for _, kind, _ in compared(shop, config)] == ["differs"] * len(values)
    check_repaired(shop, config)


def test_a_key_that_changes_in_case_alone(shop: Connection) -> None:
    config = audited(shop, "create table t (k varchar(20) primary key, a int)")
    run(shop, "insert into t values ('bob', 1), ('eve', 1)", "update t set k = 'BOB' where k = 'bob'")
    assert compared(shop, config) == []
    with unseen(shop, config):
        run(shop, "update t set k = 'EVE' where k = 'eve'")
    assert compared(shop, config) == [("EVE", "missing", []), ("eve", "gone", [])]
    check_repaired(shop, config)


VALUES = [
    ("json", """'{"b": 1.10, "a": [null, true, "x"]}'"""),
    ("decimal(40,10)", "'12345678901234567890.1234567890'"),
    ("double", "1e308"),
    ("float", "0.1"),
    ("blob", "x'00ff'"),
    ("datetime", "'0000-00-00'"),
    ("text", "'a\\\\\\\\b\\\"😀\\n'"),
    ("bit(5)", "5"),
    ("point", "point(1, 2)"),
    ("longtext", "repeat('x', 300000)"),
    ("varchar(9) character set ascii", "'a'"),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_values_that_are_hard_to_write(shop: Connection, kind: str, value: str) -> None:
    run(shop, "set sql_mode = ''")
    config = audited(shop, f"create table t (id int primary key, v {kind}, b int, g int as (b * 2))")
    run(shop, f"insert into t (id, v, b) values (1, {value}, 1), (2, null, 1)")
    assert compared(shop, config) == []
    with unseen(shop, config):
        run(shop, "update t set b = 2 where id = 1", "update t set v = null where id = 1")
    assert compared(shop, config) == [("1", "differs", ["b", "g", "v"])]
    check_repaired(shop, config)


def test_rules_leave_out_what_they_say(shop: Connection) -> None:
    columns = "h varchar(50), m varchar(50), l varchar(50), r varchar(50), i varchar(50), big text"
    config = audited(
        shop,
        f"create table t (id int primary key, {columns})",
        redact={"h": "hash", "m": "mask", "l": "last4", "r": "remove"},
        ignore=["i"],
        max_value_bytes=256,
    )
    run(shop, "insert into t values (1, 'h', 'm', '12345678', 'r', 'i', repeat('x', 300))")
    assert compared(shop, config) == []
    with unseen(shop, config):
        run(shop, "update t set m = 'other', r = 'other', i = 'other', l = '99995678'")
    found = audit.reconcile(shop, config)
    assert found.is_whole
    assert found.tables[0].notes[-1] == "values of more than 256 bytes: compared by their digests"
    with unseen(shop, config):
        run(shop, "update t set h = 'other', l = '12340000', big = repeat('y', 300)")
    assert compared(shop, config) == [("1", "differs", ["big", "h", "l"])]
    check_repaired(shop, config)


def test_without_the_key_of_hashes_nothing_is_said_to_be_whole(shop: Connection) -> None:
    config = audited(shop, "create table t (id int primary key, h varchar(50))", redact={"h": "hash"})
    run(shop, "insert into t values (1, 'h')")
    assert audit.reconcile(shop, config).is_whole
    [key] = rows(shop, "select is_only, inner_pad, outer_pad from svc.audit_hash_key")
    run(shop, "delete from svc.audit_hash_key")
    found = audit.reconcile(shop, config, repair=True)
    assert (found.is_whole, found.differences) == (False, [])
    assert "the key of hashes is missing from svc.audit_hash_key" in str(found.tables[0].problem)
    rows(shop, "insert into svc.audit_hash_key (is_only, inner_pad, outer_pad) values (%s, %s, %s)", key)
    assert audit.reconcile(shop, config).is_whole


def test_record_when_counts_only_what_an_insert_would_record(shop: Connection) -> None:
    config = audited(shop, TABLE, record_when={"after": {"n": {"gt": 10}}})
    with unseen(shop, config):
        run(shop, "insert into t values (3, 'c', 30), (4, 'd', 4), (5, 'e', 5), (6, 'f', 60)")
    found = audit.reconcile(shop, config)
    assert told(found) == [("3", "missing", []), ("6", "missing", [])]
    assert found.tables[0].rows == 2
    check_repaired(shop, config)


def test_bad_input_is_refused(shop: Connection) -> None:
    config = audited(shop, TABLE, "create or replace view v as select 1 as a")
    with pytest.raises(UnknownTableError, match="not audited"):
        audit.reconcile(shop, config, table="v")
    with pytest.raises(QueryError):
        audit.reconcile(shop, config, after="x")
    run(shop, "drop view v", "begin", "select * from t")
    with pytest.raises(TransactionError):
        audit.reconcile(shop, config)
    run(shop, "rollback", "alter table t modify n bigint, add extra json")
    [table] = audit.reconcile(shop, config).tables
    assert table.problem is not None
    assert "run svc-pg install" in table.problem


def test_the_session_is_as_it_was(mysql_server: MySqlServer, shop: Connection) -> None:
    config = audited(shop, TABLE)
    [(name,)] = rows(shop, "select database()")
    asked = "select @@sql_mode, @@time_zone, @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@collation_connection"
    with mysql_server.connect(name, autocommit=False) as conn:
        run(conn, "set time_zone = '+02:00', sql_mode = 'ANSI_QUOTES'", "insert into t values (1, 'a', 1)", "commit")
        before = rows(conn, asked)
        run(conn, "rollback")
        check_repaired(conn, config)
        assert rows(conn, asked) == before


def test_an_interrupted_one_goes_on(shop: Connection) -> None:
    key = "create table u (a varchar(20), b int, c int, primary key (a, b))"
    config = audited(shop, TABLE, key, tables=("t", "u"))
    for number in range(20):
        run(shop, f"insert into t values ({number}, 'a', 0)", f"insert into u values ('k{number % 3}', {number}, 0)")
    with unseen(shop, config):
        run(shop, "update t set a = 'z' where id % 2", "delete from u where b % 4 = 0")
    whole = compared(shop, config)
    assert len(whole) == 15
    found: Told = []
    after, steps = None, 0
    while steps == 0 or after is not None:
        calls: list[Progress] = []
        part = audit.reconcile(
            shop, config, repair=True, after=after, progress=calls.append, is_over=partial(bool, calls)
        )
        found += told(part)
        after, steps = part.after, steps + 1
    assert steps > 10
    assert sorted(found) == sorted(whole)
    assert compared(shop, config) == []


def test_it_reads_beside_writers_and_tells_nothing_false(
    mysql_server: MySqlServer, shop: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_comparison, "ENTRIES", 300)
    config = audited(shop, TABLE)
    [(name,)] = rows(shop, "select database()")
    for number in range(30):
        run(shop, f"insert into t values ({number}, 'a', 0)")
    stop = threading.Event()
    written: list[int] = []

    def write(start: int) -> None:
        with mysql_server.connect(name, autocommit=False) as writer:
            for number in range(start, 600):
                if stop.is_set():
                    break
                key = number * 7 % 30
                run(writer, f"update t set n = n + 1 where id = {key}", f"delete from t where id = {key}")
                run(writer, f"replace into t values ({key}, 'b', 0)", "commit")
                written.append(number)

    thread = threading.Thread(target=write, args=(0,))
    thread.start()
    try:
        rounds = 0
        while rounds < 10 or not written:
            assert told(audit.reconcile(shop, config, repair=True)) == []
            rounds += 1
    finally:
        stop.set()
        thread.join()
    assert "found by reconciliation" not in [label for (label,) in facts(shop, "label")]


def test_a_repair_looks_again_when_it_has_the_locks(
    mysql_server: MySqlServer, shop: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = audited(shop, TABLE)
    [(name,)] = rows(shop, "select database()")
    run(shop, "insert into t values (1, 'a', 0), (2, 'b', 0)")
    with unseen(shop, config):
        run(shop, "update t set a = 'z' where id = 1", "delete from t where id = 2")
    repair = table_comparison.TableComparison._repair
    with mysql_server.connect(name) as two:

        def late(self: Any, piece: Any, steps: Any) -> Any:
            monkeypatch.setattr(table_comparison.TableComparison, "_repair", repair)
            audit.reconcile(two, config, repair=True)
            return (yield from repair(self, piece, steps))

        monkeypatch.setattr(table_comparison.TableComparison, "_repair", late)
        assert audit.reconcile(shop, config, repair=True).is_whole
    operations = sorted(operation for (operation,) in facts(shop, "operation"))
    assert operations == ["GONE", "INSERT", "INSERT", *["SNAPSHOT"] * 3]


def test_a_row_that_stays_locked_postpones_the_repair(mysql_server: MySqlServer, shop: Connection) -> None:
    config = audited(shop, TABLE)
    [(name,)] = rows(shop, "select database()")
    with unseen(shop, config):
        run(shop, "insert into t values (1, 'a', 0)")
    with mysql_server.connect(name, autocommit=False) as two:
        run(two, "update t set n = 5 where id = 1")
        found = audit.reconcile(shop, config, repair=True)
        [table] = found.tables
        assert (table.postponed, table.repaired, table.unrepaired) == ([f"{name}.t"], 0, 1)
        run(two, "commit")
    assert compared(shop, config) == []  # that change has an entry with the whole row


def test_a_truncate_while_it_runs_makes_no_false_difference(
    mysql_server: MySqlServer, shop: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it comes: before the rows, between two pieces, or between a look and its repair."""
    config = audited(shop, TABLE)
    [(name,)] = rows(shop, "select database()")
    begin = MySqlTableSide.begin
    with mysql_server.connect(name) as two:
        begun, found = 0, True
        while found:
            run(two, "insert into t values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5)")
            assert compared(shop, config) == []
            steps, found = count(), False

            def emptied(self: Any, *, locks: bool, late: int = begun, steps: Iterator[int] = steps) -> Any:
                nonlocal found
                if next(steps) == late:
                    found = True
                    audit.capture_log(two, f"{name}.t", "TRUNCATE")
                    run(two, "truncate t")
                return (yield from begin(self, locks=locks))

            monkeypatch.setattr(MySqlTableSide, "begin", emptied)
            assert compared(shop, config, repair=True) == []
            monkeypatch.setattr(MySqlTableSide, "begin", begin)
            begun += 1
            assert "GONE" not in [operation for (operation,) in facts(shop, "operation")]
            run(two, "delete from t")
            purge(two)
        assert begun > 4


def test_what_was_purged_is_known_after_the_entry_about_that_purge_was_purged_too(shop: Connection) -> None:
    config = audited(shop, TABLE)
    run(shop, "insert into t values (1, 'a', 1)")
    [(name,)] = rows(shop, "select concat(database(), '.t')")
    by_hand: tuple[Any, ...] = ("soon", 7, [7], None)
    for before in by_hand:
        facts = {"table": name, "before": before}
        audit.capture_log(shop, "svc.audit_logs", "DELETE", label="audit log purged", before=facts)
    assert audit.reconcile(shop, config).is_whole
    for _ in range(3):
        log = log_of(shop)
        log.run(
            log.purge(Ages(timedelta(0)), dry_run=False, unsealed=False, all_databases=True, progress=lambda _: None)
        )
        [table] = audit.reconcile(shop, config).tables
        assert (table.missing, table.unknown, table.is_whole) == (0, 1, True)


def test_a_truncate_waits_until_a_snapshot_has_ended(
    mysql_server: MySqlServer, shop: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = audited(shop, TABLE)
    [(name,)] = rows(shop, "select database()")
    run(shop, "insert into t values (1, 'a', 1)")
    begin, refused = MySqlTableSide.begin, list[int]()
    with mysql_server.connect(name) as two:
        run(two, "set lock_wait_timeout = 1")

        def emptied(self: Any, *, locks: bool) -> Any:
            yield from begin(self, locks=locks)
            with pytest.raises(pymysql.err.OperationalError) as error:
                run(two, "truncate t")
            refused.append(error.value.args[0])

        monkeypatch.setattr(MySqlTableSide, "begin", emptied)
        assert compared(shop, config) == []
    assert refused
    assert set(refused) == {1205}


@pytest.mark.parametrize("options", [{"redact": {'s"\\ n': "mask"}}, {"columns": ["id", "n"]}])
def test_what_is_redacted_since_is_not_copied_from_older_entries(shop: Connection, options: dict[str, Any]) -> None:
    audited(shop, 'create table t (id int primary key, `s"\\ n` text, n decimal(30,20), x int)')
    run(shop, """insert into t values (1, 'hu"s\\\\h', 0.12345678901234567891, 0), (2, 'hush', 1, 0)""")
    rules = Config.model_validate({"audit": {"tables": [{"name": "t"} | options]}})
    install(shop, rules)
    with unseen(shop, rules):
        run(shop, "update t set n = 2 where id = 1", "delete from t where id = 2")
    check_repaired(shop, rules)
    written = [entry for entry in entries(shop) if entry["label"] == "found by reconciliation"]
    found = {each["record_id"]: each for each in written}
    assert str(found["1"]["before_data"]["n"]) == "0.12345678901234567891"
    assert [found[record]["operation"] for record in ("1", "2")] == ["SNAPSHOT", "GONE"]
    for each in written:
        assert 's"\\ n' not in each["before_data"]
    assert 's"\\ n' in found["2"]["redacted_fields"]


def test_rules_that_are_installed_during_a_repair_end_it_for_their_table(
    mysql_server: MySqlServer, shop: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = audited(shop, TABLE)
    [(name,)] = rows(shop, "select database()")
    with unseen(shop, config):
        run(shop, "insert into t values (1, 'hush', 1)")
    newer = Config.model_validate({"audit": {"tables": [{"name": "t", "redact": ["a"]}]}})
    repair = table_comparison.TableComparison._repair
    with mysql_server.connect(name) as two:

        def late(self: Any, piece: Any, steps: Any) -> Any:
            monkeypatch.setattr(table_comparison.TableComparison, "_repair", repair)
            install(two, newer)
            return (yield from repair(self, piece, steps))

        monkeypatch.setattr(table_comparison.TableComparison, "_repair", late)
        [table] = audit.reconcile(shop, config, repair=True).tables
    assert "its triggers were not made for the configuration" in (table.problem or "")
    assert not [each for each in entries(shop) if "hush" in str(each["after_data"])]
    check_repaired(shop, newer)
    assert not [each for each in entries(shop) if "hush" in str(each["after_data"])]


def test_a_key_that_tells_no_rows_apart_is_a_problem(shop: Connection) -> None:
    config = audited(shop, TABLE, key=["a"])
    run(shop, "insert into t values (1, 'a', 0), (2, 'a', 1)")
    found = audit.reconcile(shop, config, repair=True)
    [table] = found.tables
    assert (found.is_whole, found.differences, table.repaired) == (False, [], 0)
    assert table.problem is not None
    assert table.problem.startswith("nothing tells its rows apart: no unique index of whole columns")
    config = audited(shop, "create table t (id int primary key, a varchar(50), unique (a(2)))", key=["a"])
    assert audit.reconcile(shop, config).tables[0].problem == table.problem


@pytest.mark.parametrize("key", [["a"], ["a", "n"], ["id", "a"]])
def test_rows_with_a_null_in_a_configured_key(shop: Connection, key: list[str]) -> None:
    """They are counted if another row may have the same key, and compared if not."""
    unique = "" if key == ["id", "a"] else f", unique ({', '.join(key)})"
    config = audited(shop, f"create table t (id int primary key, a varchar(9), n int, b int{unique})", key=key)
    run(shop, "insert into t values (1, null, 1, 0), (2, null, 1, 0), (3, 'a', 1, 0), (4, 'b', null, 0)")
    assert compared(shop, config) == []
    with unseen(shop, config):
        run(shop, "update t set b = 2")
    found = audit.reconcile(shop, config)
    unkeyed = {"a": 2, "a, n": 3, "id, a": 0}[", ".join(key)]
    assert found.is_whole is False
    assert len(found.differences) == 4 - unkeyed
    notes = found.tables[0].notes
    assert notes == [] if not unkeyed else notes[0].startswith(f"{unkeyed} rows not compared: the key is null")
    check_repaired(shop, config)
    with unseen(shop, config):
        run(shop, "delete from t where id <> 1")
    assert [kind for _, kind, _ in compared(shop, config)] == ["gone"] * (3 if not unkeyed else 4 - unkeyed)


def test_a_row_above_the_packet_of_the_server_is_a_problem(shop: Connection) -> None:
    """The server gives no image of it, with which nothing differs."""
    names = [f"c{number}" for number in range(30)]
    config = audited(shop, f"create table t (id int primary key, {', '.join(f'{name} longtext' for name in names)})")
    run(shop, "insert into t (id, c0) values (1, 'a')")
    with unseen(shop, config):
        run(shop, "update t set " + ", ".join(f"{name} = repeat('x', 900000)" for name in names))
    for repair in (False, True):
        [table] = audit.reconcile(shop, config, repair=repair).tables
        assert table.problem is not None
        assert "max_allowed_packet" in table.problem
    with unseen(shop, config):
        run(shop, "update t set c0 = 'b', " + ", ".join(f"{name} = null" for name in names[1:]))
    assert compared(shop, config) == [("1", "differs", ["c0"])]


def test_a_log_of_an_older_install_is_a_problem(shop: Connection) -> None:
    """Without GONE, a repair would end half way."""
    config = audited(shop, TABLE)
    operations = "enum('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'SNAPSHOT'"
    run(shop, "insert into t values (1, 'a', 1)")
    run(shop, f"alter table svc.audit_logs modify operation {operations}) not null")
    [table] = audit.reconcile(shop, config, repair=True).tables
    assert table.problem == "the log is of an older svc-pg, and cannot say that a record is gone; run svc-pg install"
    run(shop, f"alter table svc.audit_logs modify operation {operations}, 'GONE') not null")
    assert audit.reconcile(shop, config, repair=True).is_whole


def test_rows_without_a_key_are_counted_within_a_time(shop: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    config = audited(
        shop, "create table t (id int primary key, a varchar(9), b varchar(9), unique (a, b))", key=["a", "b"]
    )
    run(
        shop,
        "insert into t with recursive s (i) as (select 1 union all select i + 1 from s where i < 1000)"
        " select i, i, null from s",
    )
    rendered = MySqlTableSide._rendered

    def endless(self: MySqlTableSide, template: str, **values: Any) -> str:
        text = rendered(self, template, **values)
        return text + " or sleep(1)" if template == "unkeyed" else text

    run(shop, "update t set b = 'x'")
    with monkeypatch.context() as patch:
        patch.setattr(MySqlTableSide, "_rendered", endless)
        patch.setattr(table_side, "COUNTING", 1)
        found = audit.reconcile(shop, config)
    [table] = found.tables
    assert (table.problem, table.rows, found.differences) == (None, 1000, [])
    assert [note for note in table.notes if "too long to count" in note]
    assert not [note for note in audit.reconcile(shop, config).tables[0].notes if "too long" in note]


FORGED = ["😀", "é", "?", "NaN", "Infinity", "1e400", "9" * 5000, "2026-02-31", "2026-13-01", "99:99:99", "::", "", "-"]
FORGED += ["2026-02-31T00:00:00", "2026-02-31T00:00:00+00:00", "2026-04-32"]


IN_CHARSETS = [f"varchar(90) character set {name}" for name in ("latin1", "ascii", "utf8mb3")]
IN_CHARSETS.append("enum('a', 'b') character set latin1")
OF_NUMBERS_AND_TIMES = [
    "int",
    "double",
    "decimal(5,2)",
    "tinyint(1)",
    "bit(5)",
    "date",
    "datetime",
    "timestamp",
    "time",
]


@pytest.mark.parametrize(
    ("key", "is_composite"),
    [
        *((key, False) for key in [*IN_CHARSETS, *OF_NUMBERS_AND_TIMES, "year", "varbinary(9)"]),
        *((key, True) for key in IN_CHARSETS),
    ],
)
def test_an_entry_whose_record_no_row_can_have_stops_nothing(shop: Connection, key: str, *, is_composite: bool) -> None:
    names = "(b, k)" if is_composite else "(k)"
    config = audited(shop, f"create table t (k {key}, b int not null default 7, a int, primary key {names})")
    [(name,)] = rows(shop, "select database()")
    for record in FORGED:
        written = json.dumps([7, record], ensure_ascii=False) if is_composite else record
        audit.capture_log(shop, f"{name}.t", "INSERT", record_id=written, after={"k": record, "b": 7})
    found = audit.reconcile(shop, config)
    assert found.tables[0].problem is None
    assert {kind for _, kind, _ in told(found)} == {"gone"}
    assert len(found.differences) == len(FORGED)


@contextmanager
def noting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, Any]]]:
    """Enter to get the statements that are sent meanwhile, with their parameters."""
    asked: list[tuple[str, Any]] = []
    execute = pymysql.cursors.Cursor.execute

    def noted(self: Any, query: str, args: Any = None) -> Any:
        asked.append((query, args))
        return execute(self, query, args)

    with monkeypatch.context() as patch:
        patch.setattr(pymysql.cursors.Cursor, "execute", noted)
        yield asked


def rows_read(conn: Connection, call: tuple[str, Any]) -> int:
    """The rows that a statement reads, by an index or not."""
    run(conn, "flush status")
    rows(conn, *call)
    return sum(
        int(number)
        for name, number in rows(conn, "show session status like 'Handler_read%'")
        if name[13:] in ("next", "prev", "rnd_next", "key")
    )


def test_an_enum_of_a_key_is_found_by_its_index(shop: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    config = audited(shop, "create table t (k enum('z', '1', 'm'), b int, primary key (k, b))")
    run(shop, *(f"insert into t values ({number % 3 + 1}, {number})" for number in range(60)), "analyze table t")
    with noting(monkeypatch) as asked:
        assert compared(shop, config) == []
    looks = [call for call in asked if " or (child." in call[0] and "v_record" not in call[0]]
    assert len(looks) >= 20
    assert all(rows_read(shop, call) <= 12 for call in looks)


@pytest.mark.parametrize("labels", ["'z', 'a', 'new'", "'a', 'z'"])
def test_an_enum_that_changes_during_a_comparison_is_a_problem_of_its_table(
    shop: Connection, monkeypatch: pytest.MonkeyPatch, labels: str
) -> None:
    """With labels in another order, the last row would come again and again."""
    config = audited(shop, "create table t (k enum('z', 'a') primary key, b int)")
    run(shop, "insert into t values ('a', 1), ('z', 2)")
    begin = MySqlTableSide.begin

    def changed(self: MySqlTableSide, *, locks: bool) -> Any:
        run(shop, "rollback", f"alter table t modify k enum({labels})")
        yield from begin(self, locks=locks)

    monkeypatch.setattr(MySqlTableSide, "begin", changed)
    [report] = audit.reconcile(shop, config).tables
    assert report.problem == "k is part of the key, and was changed meanwhile: compare again"


def plans_of_child(conn: Connection, call: tuple[str, Any]) -> list[tuple[str, str]]:
    """The way in which a statement reads the audited table, and what its plan remarks; none if no row can match."""
    [(version,)] = rows(conn, "select version()")
    explain, place = ("explain ", 3) if "MariaDB" in version else ("explain format=traditional ", 4)
    plans = [line for line in rows(conn, explain + call[0], call[1]) if line[2] == "child"]
    return [(plan[place], plan[-1] or "") for plan in plans]


@pytest.mark.parametrize("key", ["k, b", "b, k"])
def test_each_piece_of_a_table_with_an_enum_in_its_key_is_a_range_of_its_index(
    shop: Connection, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    config = audited(shop, f"create table t (k enum('z', 'it''s', 'm'), b int, primary key ({key}))")
    run(shop, *(f"insert into t values ({number % 3 + 1}, {number})" for number in range(120)))
    run(shop, "analyze table t")
    with noting(monkeypatch) as asked:
        assert compared(shop, config) == []
    pieces = [call for call in asked if "v_record" in call[0] and "order by" in call[0]]
    assert len(pieces) > 20
    plans = [plan for call in pieces for plan in plans_of_child(shop, call)]
    assert len(plans) > 20
    assert {kind for kind, _ in plans[2:]} == {"range"}  # the first pieces may begin with the index
    assert not any("filesort" in extra for _, extra in plans)


def test_pages_of_entries_are_ranges_of_an_index(shop: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """An OR of both would read all entries of the table for each page on MariaDB."""
    config = audited(shop, TABLE)
    for number in range(30):
        run(shop, f"insert into t values ({number}, 'a', 0)")
    run(shop, "analyze table svc.audit_logs")
    with noting(monkeypatch) as asked:
        assert compared(shop, config) == []
    pages = [call for call in asked if " limit " in call[0] and "force index" in call[0]]
    assert len(pages) > 10
    reads = [rows_read(shop, call) for call in pages]
    assert max(reads) <= 8


def test_a_repaired_row_takes_few_statements(shop: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_comparison, "ROWS", 500)
    monkeypatch.setattr(table_comparison, "ENTRIES", 500)
    config = audited(shop, TABLE)

    def statements(number: int) -> int:
        run(shop, "delete from t")
        with unseen(shop, config):
            run(shop, *(f"insert into t values ({each}, 'a', 1)" for each in range(number)))
        with noting(monkeypatch) as asked:
            assert audit.reconcile(shop, config, repair=True).tables[0].repaired == number
        return len(asked)

    few, many = statements(2), statements(22)
    assert (many - few) / 20 < 10
