"""The past says what it does not know: columns that changed since, redacted values, what was purged, rows of others."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, NotFoundError, QueryError, UnknownTableError
from svc_pg.webhooks.events.payloads import json_text
from tests.support.roles import as_role, execute, new_role

Connection = psycopg.Connection[Any]

AGE = timedelta(milliseconds=1)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def install(conn: Connection, ddl: LiteralString, name: str = "t", **options: Any) -> Config:
    conn.execute(ddl)
    config = Config.model_validate({"audit": {"tables": [{"name": name, **options}]}})
    schema.install(conn, config)
    return config


def now(conn: Connection) -> datetime:
    time: datetime = scalar(conn, "select clock_timestamp()")
    return time


def let_pass(conn: Connection, age: timedelta) -> None:
    end = now(conn) + age
    while now(conn) <= end:
        pass


def past(conn: Connection, time: datetime, record: object) -> audit.PastRow:
    return audit.as_of("t", time).record(record).one(conn)


def test_columns_that_changed_since_are_said_and_their_values_are_beside(db: Connection) -> None:
    config = install(db, "create table t (id int primary key, mail text, age text, old int)")
    db.execute("insert into t values (1, 'a@x', 'forty', 7), (2, 'b@x', '50', 8)")
    time = now(db)
    db.execute("alter table t drop old; alter table t rename mail to email; alter table t add phone text default '0'")
    db.execute("update t set age = '40' where id = 1; alter table t alter age type int using age::int")
    schema.install(db, config)
    row, other = past(db, time, 1), past(db, time, 2)
    assert row.values == {"id": 1, "email": None, "age": None, "phone": None}
    assert row.unknown_fields == ["email", "age", "phone"]
    assert row.other_data is not None
    assert row.other_data.value == {"mail": "a@x", "age": "forty", "old": 7}
    assert (other.values["age"], other.unknown_fields) == (50, ["email", "phone"])
    assert past(db, now(db), 2).values["age"] == 50


def test_an_age_counts_from_the_first_page_on_all_others(db: Connection) -> None:
    install(db, "create table t (id int primary key, v text)")
    db.execute("insert into t select n, 'before' from generate_series(1, 5) n")
    let_pass(db, AGE)
    query = audit.as_of("t", AGE).limit(2)
    first = query.list(db)
    db.execute("update t set v = 'after'")
    let_pass(db, AGE)
    assert first.next_cursor is not None
    second = query.after(first.next_cursor).list(db)
    assert second.next_cursor is not None
    third = query.after(second.next_cursor).list(db)
    again = query.before(second.prev_cursor or "").list(db)
    assert [row.values["v"] for page in (first, second, third, again) for row in page] == ["before"] * 7
    assert {row.values["v"] for row in query.list(db)} == {"after"}
    assert {row.values["v"] for row in audit.as_of("t", now(db)).after(first.next_cursor).list(db)} == {"after"}


def test_a_page_looks_at_as_many_records_as_it_may(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc_pg.audit.past.as_of.MOST_RECORDS", 2)
    install(db, "create table t (id int primary key)")
    db.execute("insert into t values (1), (2), (3); delete from t where id = 1")
    query = audit.as_of("t", now(db))
    first = query.list(db)
    assert [row.record_id for row in first] == ["2"]
    assert [row.record_id for row in query.after(first.next_cursor or "").list(db)] == ["3"]


def test_no_object_of_ours_stands_in_the_way_of_a_change_of_the_table(db: Connection) -> None:
    config = install(
        db, "create type mood as enum ('sad'); create table t (id int primary key, a text, m mood, p point)"
    )
    db.execute("insert into t values (1, 'a', 'sad', '(1,2)')")
    time = now(db)
    assert past(db, time, 1).values == {"id": 1, "a": "a", "m": "sad", "p": "(1,2)"}
    db.execute("alter table t drop m, alter a type int using 5, drop p; drop type mood; alter table t rename to u")
    db.execute("alter table u rename to t; drop table t")
    assert past(db, time, 1).values["m"] == "sad"
    db.execute("create table t (id int primary key)")
    schema.install(db, config)
    assert past(db, time, 1).values == {"id": 1}


def test_redacted_values_are_said_and_never_guessed(db: Connection) -> None:
    ddl: LiteralString = "create table t (id int primary key, ssn text, pin int, card text, name text)"
    install(db, ddl, redact={"ssn": "remove", "pin": "mask", "card": "last4"})
    db.execute("insert into t values (1, '123-45-6789', 1234, '4000111122223333', 'a'); update t set ssn = 'x'")
    row = past(db, now(db), 1)
    assert row.values == {"id": 1, "ssn": None, "pin": None, "card": None, "name": "a"}
    assert row.unknown_fields == ["ssn", "pin", "card"]
    assert "123-45" not in repr(row)
    [update, insert] = audit.history("t", 1).list(db)
    assert [(each.field, each.is_redacted) for each in audit.diff(update).fields] == [("ssn", True)]
    assert audit.diff(update).steps == []
    assert {each.field for each in audit.diff(insert).fields if each.is_redacted} == {"ssn", "pin", "card"}
    origins = {each.field: each for each in audit.blame(db, "t", 1)}
    assert (origins["ssn"].operation, origins["ssn"].value, origins["ssn"].is_redacted) == ("UPDATE", None, True)
    assert (origins["pin"].operation, origins["pin"].value) == ("INSERT", None)
    assert str(origins["name"].value) == '"a"'


def test_a_value_too_large_to_be_recorded_is_not_known(db: Connection) -> None:
    install(db, "create table t (id int primary key, a text, b jsonb)", max_value_bytes=256)
    db.execute("insert into t values (1, repeat('x', 1000), '{\"sha256\": \"short\"}')")
    row = past(db, now(db), 1)
    assert (row.values["a"], row.unknown_fields) == (None, ["a"])
    assert row.values["b"] == {"sha256": "short"}


def test_a_payload_has_the_values_of_the_past_as_they_are(db: Connection) -> None:
    config = install(db, "create table t (id int primary key, credit numeric, facts jsonb)")
    db.execute("insert into t values (1, 2.50, '{\"a\": 1.10}')")
    origins = {each.field: each.value for each in audit.blame(db, "t", 1)}
    assert json_text({"credit": origins["credit"], "facts": origins["facts"]}) == (
        '{"credit": 2.50, "facts": {"a": 1.10}}'
    )
    row = past(db, now(db), 1)
    assert json_text(row.values) == '{"id": 1, "credit": 2.50, "facts": {"a": 1.10}}'
    [row] = audit.as_of("t", now(db)).as_json().list(db)
    assert json_text(row.values) == '{"id": 1, "credit": 2.50, "facts": {"a": 1.10}}'
    db.execute("alter table t rename column credit to balance")
    schema.install(db, config)
    assert json_text([past(db, now(db), 1).other_data]) == '[{"credit": 2.50}]'


def test_a_past_before_the_log_is_refused_and_one_before_an_entry_is_told_by_it(db: Connection) -> None:
    db.execute("create table t (id int primary key, a int); insert into t values (1, 1), (2, 2), (3, 3)")
    install(db, "select")
    before = now(db)
    with pytest.raises(QueryError, match=r'the log has no entry of "public\.t"') as refusal:
        past(db, before, 1)
    assert refusal.value.hint is not None
    db.execute("update t set a = 10 where id = 1")
    time = now(db)
    db.execute("update t set a = 20 where id = 2; delete from t where id = 2; update t set id = 4 where id = 3")
    with pytest.raises(QueryError, match=r'"public\.t" is not known before 2'):
        past(db, before, 1)
    row = past(db, time, 2)
    assert (row.values, row.valid_from, row.entry_id) == ({"id": 2, "a": 2}, None, None)
    assert [row.record_id for row in audit.as_of("t", time).list(db)] == ["1", "2", "3"]
    assert [row.record_id for row in audit.as_of("t", now(db)).list(db)] == ["1", "4"]
    origins = {each.field: each for each in audit.blame(db, "t", 4)}
    assert (origins["id"].operation, origins["a"].changed_at) == ("UPDATE", None)
    assert origins["a"].known_since is not None


def test_a_record_that_changed_its_key_has_two_histories_and_one_origin(db: Connection) -> None:
    install(db, "create table t (a int, b text, n int, primary key (a, b))")
    db.execute("insert into t values (1, 'x', 0); update t set n = 1; update t set a = 2; update t set b = 'y'")
    ended = audit.history("t", (1, "x")).list(db).data
    assert [(state.operation, state.moved_to) for state in ended] == [
        ("UPDATE", '[2, "x"]'), ("UPDATE", None), ("INSERT", None)
    ]  # fmt: skip
    assert ended[0].after_data is None
    origins = {each.field: each.operation for each in audit.blame(db, "t", [2, "y"])}
    assert origins == {"a": "UPDATE", "b": "UPDATE", "n": "UPDATE"}
    with pytest.raises(NotFoundError, match="is gone since"):
        audit.blame(db, "t", [1, "x"])
    assert past(db, now(db), [2, "y"]).values == {"a": 2, "b": "y", "n": 1}


def test_the_truncate_of_a_partition_ends_its_rows_only(db: Connection) -> None:
    install(
        db,
        "create table t (id int primary key) partition by range (id);"
        "create table low partition of t for values from (0) to (10);"
        "create table high partition of t for values from (10) to (20)",
    )
    db.execute("insert into t values (1), (11)")
    filled = now(db)
    db.execute("truncate low")
    half = now(db)
    db.execute("truncate t")
    found = [[row.record_id for row in audit.as_of("t", time).list(db)] for time in (filled, half, now(db))]
    assert found == [["1", "11"], ["11"], []]
    [state] = audit.history("t", 11).list(db)
    assert state.valid_to is not None
    assert state.valid_to > half


def test_a_table_without_a_key_or_without_capture_has_no_past_to_read(db: Connection) -> None:
    install(db, "create table t (a int)")
    db.execute("insert into t values (1)")
    for table in ("t", "nothing", "svc.tenants"):
        with pytest.raises(UnknownTableError, match="it is not audited, or has no key"):
            audit.as_of(table, "1h").list(db)
    with pytest.raises(NotFoundError, match=r'the log does not know a record 1 of "public\.t"'):
        audit.history("t", 1).list(db)
    with pytest.raises(NotFoundError, match=r'the log does not know a record 1 of "public\.t"'):
        audit.blame(db, "t", 1)
    with pytest.raises(ConfigError):
        audit.history("a.b.c", 1)
    with pytest.raises(QueryError):
        audit.as_of("t", "yesterday")
    with pytest.raises(QueryError, match="is not a transaction"):
        audit.transaction("1; drop table t")


def test_an_entry_without_values_tells_nobody_who_set_a_field(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int)")
    db.execute("insert into t values (1, 1)")
    db.execute("select svc.audit_add_entry('public.t', 'UPDATE', '1', label => 'looked at')")
    with pytest.raises(NotFoundError, match=r'the newest entry of record 1 of "public\.t" has no values'):
        audit.blame(db, "t", 1)


def test_a_table_may_call_its_columns_as_ours_are_called(db: Connection) -> None:
    install(
        db,
        'create table t (record_id int primary key, operation text, v_image text, p_image int, "odd ""name" text)',
    )
    db.execute("insert into t values (1, 'buy', 'i', 2, 'o')")
    values = {"record_id": 1, "operation": "buy", "v_image": "i", "p_image": 2, 'odd "name': "o"}
    row = past(db, now(db), 1)
    assert (row.operation, row.record_id, row.values) == ("INSERT", "1", values)
    assert db.execute("select svc_record_id, record_id from svc.history_public_t").fetchall() == [("1", 1)]


def test_a_tenant_sees_the_states_that_are_its_own(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int)")
    for tenant in ("one", "two"):
        db.execute("select set_config('svc.tenant_id', %s, false)", (tenant,))
        db.execute("insert into t select count(*), 0 from t; update t set a = a + 1")
    seen = "select count(*) from svc.history_public_t"
    assert (scalar(db, seen), len(audit.history("t", 0).list(db).data)) == (3, 1)
    assert [row.record_id for row in audit.as_of("t", now(db)).list(db)] == ["0", "1"]
    db.execute("set svc.tenant_id = 'one'")
    assert (scalar(db, seen), len(audit.history("t", 0).list(db).data)) == (2, 2)
    assert [row.record_id for row in audit.as_of("t", now(db)).list(db)] == []
    db.execute("reset svc.tenant_id")
    assert scalar(db, seen) == 5


def test_a_reader_of_the_log_reads_the_past_and_nobody_else_does(database: str, postgres: str, db: Connection) -> None:
    install(db, "create table t (id int primary key, a int)")
    db.execute("insert into t values (1, 1)")
    with new_role(postgres) as reader, new_role(postgres) as other:
        execute(database, "grant svc_reader to {}", reader)
        with as_role(database, reader) as conn:
            assert past(conn, now(conn), 1).values == {"id": 1, "a": 1}
            assert len(audit.history("t", 1).list(conn).data) == 1
            assert len(audit.blame(conn, "t", 1).data) == 2
            assert scalar(conn, "select count(*) from svc.history_public_t") == 1
        for text in ("select from svc.history_public_t", "select from svc.as_of_public_t(now())"):
            with as_role(database, other) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(text.encode())
        execute(database, "revoke svc_reader from {}", reader)


def test_a_hostile_type_does_not_run_when_somebody_reads_the_past(db: Connection) -> None:
    install(
        db,
        "create function cheat(int) returns boolean language plpgsql as"
        " $$ begin if current_setting('trap.reading', true) = 'yes' then raise 'ran'; end if; return true; end $$;"
        "create domain trap as int check (cheat(value)); create table t (id int primary key, a trap)",
    )
    db.execute("insert into t values (1, 5)")
    db.execute("set trap.reading = 'yes'")
    assert past(db, now(db), 1).values == {"id": 1, "a": 5}
    assert db.execute("select a from svc.history_public_t").fetchall() == [(5,)]


def test_what_was_restored_goes_on_as_one_history(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int)")
    db.execute("insert into t values (1, 1)")
    db.execute("update t set a = 2; delete from svc.audit_epoch; insert into svc.audit_epoch default values")
    db.execute("update t set a = 3")
    assert [state.operation for state in audit.history("t", 1).list(db)] == ["UPDATE", "UPDATE", "INSERT"]


def test_purged_states_are_not_guessed(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int, b int)")
    db.execute(
        """insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id, after_data)
           values (now() - interval '10 d', 'public.t', 't'::regclass, 'INSERT', '1', '{"id": 1, "a": 0, "b": 0}')"""
    )
    db.execute("set session_replication_role = replica; insert into t values (1, 0, 0); reset session_replication_role")
    db.execute("update t set a = 1")
    old = now(db) - timedelta(days=9)
    assert past(db, old, 1).values == {"id": 1, "a": 0, "b": 0}
    audit.purge(db, timedelta(days=5))
    with pytest.raises(QueryError, match=r'"public\.t" is not known before'):
        past(db, old, 1)
    origins = {each.field: each for each in audit.blame(db, "t", 1)}
    assert (origins["a"].operation, origins["b"].entry_id) == ("UPDATE", None)


def test_all_of_it_is_there_on_async_connections(database: str, db: Connection) -> None:
    install(db, "create table t (id int primary key, a int)")
    db.execute("insert into t values (1, 1); update t set a = 2")

    async def read() -> tuple[Any, ...]:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            xact = (await audit.history("t", 1).alist(conn)).data[0].xact_id
            return (
                (await audit.as_of("t", now(db)).record(1).aone(conn)).values,
                [origin.field for origin in await audit.ablame(conn, "t", 1)],
                [entry.operation for entry in (await audit.transaction(xact).alist(conn))],
            )

    assert asyncio.run(read()) == ({"id": 1, "a": 2}, ["a", "id"], ["INSERT", "UPDATE"])


def test_other_databases_are_refused_with_the_reason() -> None:
    import sqlite3

    conn: Any = sqlite3.connect(":memory:")
    for read in (
        lambda: audit.history("t", 1).list(conn),
        lambda: audit.as_of("t", "1h").list(conn),
        lambda: audit.blame(conn, "t", 1),
    ):
        with pytest.raises(ConfigError, match="is there on PostgreSQL only: on SQLite"):
            read()
    conn.close()
