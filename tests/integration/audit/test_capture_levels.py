"""Both levels of capture record the same, and may differ in little."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from hashlib import sha256
from typing import Any, LiteralString, get_args

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.config.audit import Unattributed
from svc_pg.config.audited_table import Redaction
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from tests.support.postgres import copied
from tests.support.roles import noticed
from tests.support.tables import create_and_audit, log

Connect = Callable[..., psycopg.Connection[Any]]

DDL = "create table t (id int primary key, a text, n numeric(10, 2), j json, secret text)"


@pytest.fixture(scope="module", params=["row", "statement"])
def level(request: pytest.FixtureRequest) -> Any:
    """Each level in turn."""
    return request.param


@pytest.fixture(scope="module")
def plain(maintenance: psycopg.Connection[Any], postgres: str, template: str, level: Any) -> Iterator[str]:
    """The conninfo of a database in which table ``t`` of DDL is audited without any option, and no test commits."""
    with copied(maintenance, postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, Config(audit=AuditConfig(tables=[AuditedTable(name="t", level=level)])))
        yield conninfo


@pytest.fixture
def connect(maintenance: psycopg.Connection[Any], postgres: str, template: str, level: Any, plain: str) -> Any:
    """Create and audit a table and connect, to a database of the test's own if it has options or another table."""
    with ExitStack() as stack:

        def connected(ddl: Any = DDL, unattributed: Unattributed = "record", **options: Any) -> psycopg.Connection[Any]:
            if ddl == DDL and unattributed == "record" and not options:
                return stack.enter_context(closing(psycopg.connect(plain)))
            conninfo = stack.enter_context(copied(maintenance, postgres, template=template))
            table = AuditedTable(name="t", level=level, **options)
            create_and_audit(conninfo, ddl, Config(audit=AuditConfig(tables=[table], unattributed=unattributed)))
            return stack.enter_context(closing(psycopg.connect(conninfo)))

        yield connected


def brief(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return [(e["operation"], e["record_id"], e["changed_fields"]) for e in log(conn)]


def test_bulk_changes_leave_one_entry_a_row(connect: Connect) -> None:
    conn = connect()
    with audit.actor(conn, "alice", tenant="acme", context={"r": 1}):
        conn.execute("insert into t (id, a) select n, 'a' from generate_series(1, 500) n")
        conn.execute("update t set a = 'b', n = 1 where id % 2 = 0")
        conn.execute("delete from t where id <= 100")
    entries = log(conn)
    assert [sum(e["operation"] == o for e in entries) for o in ("INSERT", "UPDATE", "DELETE")] == [500, 250, 100]
    assert {(e["actor_id"], e["tenant_id"], e["context"]["r"], e["table_name"]) for e in entries} == {
        ("alice", "acme", 1, "public.t")
    }
    updates = [e for e in entries if e["operation"] == "UPDATE"]
    assert all(e["before_data"]["id"] == e["after_data"]["id"] == int(e["record_id"]) for e in updates)
    assert {tuple(e["changed_fields"]) for e in updates} == {("a", "n")}


def test_rows_that_an_update_does_not_change_leave_no_entry(connect: Connect) -> None:
    conn = connect()
    conn.execute("insert into t (id, a) values (1, 'a'), (2, 'b')")
    conn.execute("update t set a = 'b'")
    assert brief(conn)[2:] == [("UPDATE", "1", ["a"])]


def test_a_change_of_digits_is_a_change_and_one_of_white_space_in_json_changes_no_field(connect: Connect) -> None:
    conn = connect("create table t (id int primary key, n numeric, j json)")
    conn.execute("insert into t values (1, 1.0, '{}')")
    conn.execute("update t set n = 1.00")
    conn.execute("update t set j = '{ }'")
    assert brief(conn)[1:] == [("UPDATE", "1", ["n"]), ("UPDATE", "1", [])]


def test_a_key_that_moves_keeps_both_rows_on_record(connect: Connect) -> None:
    conn = connect()
    conn.execute("insert into t (id, a) values (1, 'a')")
    conn.execute("update t set id = id + 100")
    moved = log(conn)[1:]
    assert [e["before_data"]["id"] for e in moved if e["before_data"]] == [1]
    assert [e["after_data"]["id"] for e in moved if e["after_data"]] == [101]
    assert {e["operation"] for e in moved} in ({"UPDATE"}, {"DELETE", "INSERT"})


def test_keys_that_change_places_are_paired_by_key(connect: Connect) -> None:
    conn = connect("create table t (id int primary key deferrable initially deferred, a text)")
    conn.execute("insert into t values (1, 'one'), (2, 'two')")
    conn.execute("update t set id = 3 - id")
    rows = {1: "one", 2: "two"}
    for entry in log(conn)[2:]:
        if entry["before_data"]:
            assert rows[entry["before_data"]["id"]] == entry["before_data"]["a"]
    assert sorted((e["after_data"]["id"], e["after_data"]["a"]) for e in log(conn)[2:]) == [(1, "two"), (2, "one")]


def test_rows_that_share_a_key_until_the_transaction_ends_are_recorded_once_each(connect: Connect) -> None:
    conn = connect("create table t (id int primary key deferrable, a text)")
    conn.execute("set constraints all deferred")
    conn.execute("insert into t values (1, 'a'), (1, 'b'), (7, 'c')")
    conn.execute("update t set a = a || 'x'")
    conn.execute("update t set id = 2 where a = 'bx'")
    conn.commit()
    images = [(e["operation"], e["before_data"], e["after_data"]) for e in log(conn)[3:6]]
    assert images == [
        ("UPDATE", {"id": key, "a": text}, {"id": key, "a": text + "x"}) for key, text in [(1, "a"), (1, "b"), (7, "c")]
    ]
    moved = [(e["before_data"], e["after_data"]) for e in log(conn)[6:]]
    before, after = {"id": 1, "a": "bx"}, {"id": 2, "a": "bx"}
    assert moved in ([(before, after)], [(before, None), (None, after)], [(None, after), (before, None)])


def test_upserts_and_merges_are_recorded(connect: Connect) -> None:
    conn = connect()
    conn.execute("insert into t (id, a) values (1, 'a')")
    conn.execute("insert into t (id, a) values (1, 'b'), (2, 'c') on conflict (id) do update set a = excluded.a")
    conn.execute("insert into t (id) values (1) on conflict do nothing")
    assert sorted(brief(conn)[1:], key=str) == [("INSERT", "2", None), ("UPDATE", "1", ["a"])]
    if conn.info.server_version >= 150000:
        conn.execute("""
            merge into t using (values (1, 'm'), (3, 'n')) s (id, a) on t.id = s.id
             when matched then update set a = s.a when not matched then insert (id, a) values (s.id, s.a)
        """)
        assert sorted(brief(conn)[3:], key=str) == [("INSERT", "3", None), ("UPDATE", "1", ["a"])]


def test_writes_inside_a_query_are_recorded(connect: Connect) -> None:
    conn = connect()
    conn.execute("""
        with made as (insert into t (id, a) values (1, 'a'), (2, 'b') returning id)
        insert into t (id, a) select id + 10, 'c' from made
    """)
    assert sorted(record for _, record, _ in brief(conn)) == ["1", "11", "12", "2"]


def test_truncate_is_one_entry(connect: Connect) -> None:
    conn = connect()
    conn.execute("insert into t (id) values (1), (2)")
    conn.execute("truncate t")
    assert brief(conn)[2:] == [("TRUNCATE", None, None)]


def test_columns_may_come_go_and_change_between_statements_of_one_session(connect: Connect) -> None:
    conn = connect()
    conn.execute("insert into t (id, a) values (1, 'a')")
    conn.execute("alter table t add column z int")
    conn.execute("update t set z = 1")
    conn.execute("alter table t drop column j")
    conn.execute("alter table t rename column a to b")
    conn.execute("alter table t alter column n type text")
    conn.execute("update t set b = 'c', n = 'x'")
    assert [sorted(changed) for _, _, changed in brief(conn)[1:]] == [["z"], ["b", "n"]]


def test_a_renamed_key_does_not_break_writes_and_loses_nothing(connect: Connect) -> None:
    conn = connect()
    conn.execute("insert into t (id, a) values (1, 'a')")
    conn.execute("alter table t rename column id to nr")
    conn.execute("update t set a = 'b'")
    conn.execute("delete from t")
    changed = [e for e in log(conn)[1:] if e["after_data"]]
    assert [e["after_data"]["a"] for e in changed] == ["b"]
    assert log(conn)[-1]["operation"] == "DELETE"


def test_a_key_can_be_named_for_a_table_that_has_none(connect: Connect) -> None:
    conn = connect("create table t (a int not null, b text not null, c text, unique (a, b))", key=["b", "a"])
    conn.execute("insert into t values (1, 'x', 'c')")
    conn.execute("update t set c = 'd'")
    assert brief(conn) == [("INSERT", '["x", 1]', None), ("UPDATE", '["x", 1]', ["c"])]


def test_redaction_keeps_every_secret_out_of_the_log(connect: Connect) -> None:
    conn = connect(
        "create table t (id int primary key, removed text, masked text, hashed text, card text, keep text)",
        redact={"removed": "remove", "masked": "mask", "hashed": "hash", "card": "last4"},
        enrich=[{"operation": "UPDATE", "description": "{actor_id} changed {before[keep]} to {after[keep]}"}],
    )
    conn.execute("insert into t values (1, 'hush-a', 'hush-b', 'hush-c', 'hush-d-1234', 'k')")
    conn.execute("insert into t values (2, null, null, 'hush-c', 'short', 'k')")
    conn.execute("update t set removed = 'hush-e', keep = 'l' where id = 1")
    conn.execute("delete from t")
    assert conn.execute("select count(*) from svc.audit_logs l where l::text like '%hush%'").fetchone() == (0,)
    first, second = (e["after_data"] for e in log(conn)[:2])
    assert "removed" not in first
    assert (first["masked"], first["card"], second["card"]) == ("[masked]", "****1234", "****")
    assert first["hashed"] == second["hashed"] != "hush-c"
    assert len(first["hashed"]) == 64
    assert {tuple(e["redacted_fields"]) for e in log(conn)} == {("card", "hashed", "masked", "removed")}


def test_where_a_redacted_column_is_gone_everything_is_masked_and_the_entry_says_so(connect: Connect) -> None:
    conn = connect(redact=["secret"])
    conn.execute("insert into t (id, secret) values (1, 'hush')")
    conn.execute("alter table t rename column secret to hidden")
    conn.execute("update t set a = 'b'")
    conn.execute("delete from t")
    for entry in log(conn)[1:]:
        snapshot = entry["after_data"] or entry["before_data"]
        assert set(snapshot.values()) == {"[masked]"}
        assert entry["redacted_fields"] == ["*"]
        assert entry["record_id"] == "1"


def test_on_drift_raise_refuses_the_write(connect: Connect) -> None:
    conn = connect(redact=["secret"], on_drift="raise")
    conn.execute("insert into t (id) values (0)")
    assert [e["record_id"] for e in log(conn)] == ["0"]
    conn.execute("alter table t drop column secret")
    with pytest.raises(psycopg.DatabaseError, match="renamed or dropped") as caught:
        conn.execute("insert into t (id) values (1)")
    assert caught.value.sqlstate == "SV002"


def test_an_allow_list_records_these_columns_and_the_key(connect: Connect) -> None:
    conn = connect(columns=["a"])
    conn.execute("insert into t (id, a, secret) values (1, 'a', 'hush')")
    conn.execute("alter table t add column later text")
    conn.execute("update t set later = 'hush', a = 'b'")
    assert [e["after_data"] for e in log(conn)] == [{"id": 1, "a": "a"}, {"id": 1, "a": "b"}]


@pytest.mark.parametrize("option", ["columns", "redact"])
def test_more_columns_may_be_named_than_a_function_takes_arguments(connect: Connect, option: str) -> None:
    names = [f"c{number}" for number in range(120)]
    listed = ", ".join(f"{name} text default 'hush'" for name in names)
    rules = {"columns": names[:110], "redact": dict.fromkeys(names[:110], "mask")}
    conn = connect(f"create table t (id int primary key, {listed})", **{option: rules[option]})
    conn.execute("insert into t values (1)")
    [entry] = log(conn)
    if option == "columns":
        assert entry["after_data"] == {"id": 1} | dict.fromkeys(names[:110], "hush")
    else:
        assert entry["after_data"] == {"id": 1} | dict.fromkeys(names, "hush") | dict.fromkeys(names[:110], "[masked]")


def test_an_allow_list_leaves_out_a_column_that_is_redacted_as_well(connect: Connect) -> None:
    conn = connect(columns=["a"], redact={"secret": "last4"})
    conn.execute("insert into t (id, a, secret) values (1, 'a', 'hush hush')")
    assert log(conn)[0]["after_data"] == {"id": 1, "a": "a"}


def test_oversized_values_are_replaced_by_size_and_hash(connect: Connect) -> None:
    conn = connect(max_value_bytes=256)
    conn.execute("insert into t (id, a) values (1, repeat('x', 1000000)), (2, 'small')")
    big, small = (e["after_data"]["a"] for e in log(conn))
    assert big["oversized"] is True
    assert big["bytes"] == 1000002
    assert len(big["sha256"]) == 64
    assert small == "small"


def test_a_value_of_ten_megabytes_is_recorded(connect: Connect) -> None:
    conn = connect()
    conn.execute("insert into t (id, a) values (1, repeat('x', 10000000))")
    assert len(log(conn)[0]["after_data"]["a"]) == 10_000_000


UNSUPPORTED: Any = ['{"a": "\\u0000"}', "1e1000000", '["\\ud800"]']


@pytest.mark.parametrize("value", UNSUPPORTED)
def test_json_that_jsonb_cannot_hold_is_recorded_as_text(connect: Connect, value: str) -> None:
    conn = connect()
    conn.execute("insert into t (id, a, j) values (1, 'a', %s), (2, 'b', '[1]')", (value,))
    conn.execute("update t set a = 'c' where id = 1")
    conn.execute("delete from t where id = 1")
    inserted, other, updated, deleted = log(conn)
    assert other["after_data"]["j"] == [1]
    assert updated["changed_fields"] == ["a"]
    for snapshot in (inserted["after_data"], updated["before_data"], updated["after_data"], deleted["before_data"]):
        marker = snapshot["j"]
        assert (marker["text"], marker["bytes"]) == (value, len(value))
        assert marker["sha256"] == sha256(value.encode()).hexdigest()
        assert marker["unsupported"]
    assert [entry["record_id"] for entry in log(conn)] == ["1", "2", "1", "1"]


@pytest.mark.parametrize("kind", get_args(Redaction))
def test_nothing_of_such_json_is_recorded_if_it_is_redacted(connect: Connect, kind: str) -> None:
    conn = connect(redact={"j": kind})
    conn.execute("insert into t (id, j) values (1, %s)", ('{"hush": "\\u0000 hush"}',))
    conn.execute("update t set a = 'c'")
    assert scalar(conn, "select count(*) from svc.audit_logs l where l::text like '%hush%'") == 0
    assert len(log(conn)) == 2


def test_on_error_raise_stops_the_write_and_on_error_warn_lets_it_go_on(connect: Connect) -> None:
    conn = connect()
    conn.execute("alter view svc.record_public_t rename to elsewhere")
    with pytest.raises(psycopg.DatabaseError, match=r"svc\.record_public_t"):
        conn.execute("insert into t (id) values (1)")


def test_on_error_warn_says_what_is_not_on_record(connect: Connect) -> None:
    conn = connect(on_error="warn")
    notices = noticed(conn)
    conn.execute("alter view svc.record_public_t rename to elsewhere")
    conn.execute("insert into t (id) values (1)")
    assert conn.execute("select count(*) from t").fetchone() == (1,)
    assert ["public.t" in notice and "not on record" in notice for notice in notices] == [True]


def test_a_context_that_is_no_json_stops_no_write_if_on_error_is_warn(connect: Connect) -> None:
    conn = connect(on_error="warn")
    conn.execute("select set_config('svc.context', 'no json', true)")
    conn.execute("insert into t (id) values (1)")
    conn.execute("select set_config('svc.context', '{\"a\": 1}', true)")
    conn.execute("insert into t (id) values (2)")
    assert conn.execute("select count(*) from t").fetchone() == (2,)
    assert brief(conn) == [("INSERT", "2", None)]


@pytest.mark.parametrize("on_error", ["raise", "warn"])
def test_a_change_without_an_actor_is_refused_if_the_configuration_says_so(connect: Connect, on_error: str) -> None:
    conn = connect(unattributed="refuse", on_error=on_error, ignore=["a"])
    with audit.actor(conn, "alice"):
        conn.execute("insert into t (id, a, n) values (1, 'a', 1), (2, 'b', 2)")
    conn.commit()
    conn.autocommit = True
    changes: tuple[LiteralString, ...] = (
        "insert into t (id) values (3)",
        "update t set n = 3 where id = 1",
        "delete from t",
        "truncate t",
    )
    for change in changes:
        with pytest.raises(psycopg.DatabaseError, match="nobody is named as the actor") as refused:
            conn.execute(change)
        assert refused.value.sqlstate == "SV005"
    conn.execute("update t set n = n")  # writes no entry
    conn.execute("update t set a = 'c'")
    conn.execute("delete from t where id = 7")
    assert scalar(conn, "select count(*) from t where a = 'c'") == 2
    conn.execute("set svc.actor_id = 'psql'")
    conn.execute("delete from t where id = 1")
    assert [(e["operation"], e["actor_id"]) for e in log(conn)] == [
        ("INSERT", "alice"),
        ("INSERT", "alice"),
        ("DELETE", "psql"),
    ]


def test_replica_also_records_what_replication_writes(database: str) -> None:
    create_and_audit(database, DDL, Config(audit=AuditConfig(tables=[AuditedTable(name="t", replica=True)])))
    with psycopg.connect(database) as conn:
        conn.execute("set local session_replication_role = replica")
        conn.execute("insert into t (id) values (1)")
        conn.execute("set local session_replication_role = origin")
        assert brief(conn) == [("INSERT", "1", None)]


def test_without_replica_nothing_is_recorded_of_what_replication_writes(connect: Connect) -> None:
    conn = connect()
    conn.execute("set local session_replication_role = replica")
    conn.execute("insert into t (id) values (1)")
    conn.execute("set local session_replication_role = origin")
    assert brief(conn) == []


def test_the_level_can_change_without_a_gap_or_a_double(database: str) -> None:
    def config(level: Any) -> Config:
        return Config(audit=AuditConfig(tables=[AuditedTable(name="t", level=level)]))

    create_and_audit(database, DDL, config("row"))
    with psycopg.connect(database) as conn:
        for number, level in enumerate(("statement", "row", "statement")):
            schema.install(conn, config(level))
            assert schema.install(conn, config(level)) == []
            conn.execute("insert into t (id) values (%s)", (number,))
            conn.commit()
        assert [record for _, record, _ in brief(conn)] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("ddl", "name", "reason"),
    [
        ("create table t (a int)", "t", "has no key"),
        ("create table t (id int primary key) partition by range (id)", "t", "is partitioned"),
        ("create table t (id int primary key); create table h () inherits (t)", "t", "a statement changes the rows of"),
        ("create table p (); create table t (id int primary key) inherits (p)", "t", "a statement changes the rows of"),
        (
            "create table m (id int primary key) partition by range (id);"
            " create table t partition of m for values from (0) to (9)",
            "t",
            "is a partition of",
        ),
    ],
)
def test_what_cannot_be_captured_by_statement_is_refused(database: str, ddl: Any, name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        create_and_audit(database, ddl, Config(audit=AuditConfig(tables=[AuditedTable(name=name, level="statement")])))


@pytest.mark.parametrize("index", ["", ", unique (a)", ", unique (b)"])
def test_a_named_key_that_may_repeat_cannot_pair_the_rows_of_a_statement(database: str, index: str) -> None:
    table = AuditedTable(name="t", level="statement", key=["a"])
    with pytest.raises(ConfigError, match="no unique index on a without NULL"):
        create_and_audit(
            database,
            f"create table t (a int, b int{index})",
            Config(audit=AuditConfig(tables=[table])),
        )


DISK_FULL = """
create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
create trigger full_disk before insert on svc.audit_logs for each row execute function full_disk();
"""


def test_where_the_log_cannot_grow_the_write_fails_and_its_transaction_with_it(connect: Connect) -> None:
    conn = connect(on_error="raise")
    conn.execute(DISK_FULL)
    conn.commit()
    with pytest.raises(psycopg.errors.DiskFull):
        conn.execute("insert into t (id) values (1)")
    conn.rollback()
    assert conn.execute("select count(*) from t").fetchone() == (0,)


def test_where_the_log_cannot_grow_and_on_error_is_warn_the_write_goes_on(connect: Connect) -> None:
    conn = connect(on_error="warn")
    conn.execute(DISK_FULL)
    notices = noticed(conn)
    conn.execute("insert into t (id) values (1)")
    assert conn.execute("select count(*) from t").fetchone() == (1,)
    assert "No space left on device" in notices[0]
