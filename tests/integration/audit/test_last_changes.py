"""The last changes of a record, as plain values for a page of the application."""

import asyncio
from contextlib import closing
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import psycopg2  # type: ignore[import-untyped] # published without types
import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from svc_pg import Config, audit, schema
from svc_pg.errors import AccessError, ConfigError, NotInstalledError, QueryError
from tests.support.postgres import Prepare
from tests.support.roles import new_role
from tests.support.tables import add_entry

TABLES = """
create table customer (id int primary key, email text, notes text, password_hash text, card text);
create table line (order_id int, position text, amount numeric, primary key (order_id, position));
create table device (id uuid primary key, name text);
"""
SECRET = "hunter2-hunter2"
LARGE = "é" * 1_000_000
DEVICE = UUID("01980a4e-0000-7000-8000-000000000001")


def fill(conninfo: str) -> None:
    config = Config()
    config.audit.table("public.customer", redact={"password_hash": "remove", "card": "last4"})
    config.audit.table("public.line")
    config.audit.table("public.device")
    config.audit.enrich(
        "public.customer",
        "UPDATE",
        label="email changed",
        severity="high",
        when={"changed": ["email"]},
        description="{actor_id} changed email from {before[email]} to {after[email]}",
    )
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(TABLES)
        schema.install(conn, config)
        with conn.transaction(), audit.actor(conn, "signup"):
            conn.execute("insert into customer values (1, 'a@exmaple.com', '', %s, '4111111111111111')", [SECRET])
        with conn.transaction(), audit.actor(conn, "mara"):
            conn.execute("update customer set email = 'a@example.com', notes = null where id = 1")
        conn.execute("update customer set password_hash = %s, card = '4222222222222222' where id = 1", [SECRET * 2])
        conn.execute("insert into customer (id, notes) values (2, %s)", [LARGE])
        conn.execute("update customer set notes = %s where id = 2", [LARGE + "!"])
        conn.execute("delete from customer where id = 2")
        conn.execute("insert into line values (7, 'a \"b\"', 1)")
        conn.execute("insert into device values (%s, 'x')", [DEVICE])


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return fill


def test_changes_are_newest_first_with_actor_time_words_and_fields(conn: psycopg.Connection) -> None:
    _, update, insert = audit.last_changes(conn, "public.customer", 1)
    assert (update.operation, update.actor, update.actor_id) == ("UPDATE", "mara", "mara")
    assert (update.label, update.severity) == ("email changed", "high")
    assert update.description == "mara changed email from a@exmaple.com to a@example.com"
    assert [astuple(field) for field in update.fields] == [
        ("email", "a@exmaple.com", "a@example.com", False, ""),
        ("notes", "", None, False, ""),
    ]
    assert timedelta() <= update.age < timedelta(minutes=5)
    assert abs(datetime.now(UTC) - update.timestamp - update.age) < timedelta(minutes=1)
    assert update.timestamp.tzinfo is UTC
    assert update.exact.endswith(" UTC")
    assert datetime.fromisoformat(update.instant) <= update.timestamp
    assert (insert.operation, insert.actor, insert.fields, insert.more_fields) == ("INSERT", "signup", [], 0)


def test_redacted_fields_are_named_and_have_no_value_that_the_log_has_not(conn: psycopg.Connection) -> None:
    found = audit.last_changes(conn, "customer", 1)
    fields = {field.name: field for field in found[0].fields}
    assert fields.keys() == {"password_hash", "card"}
    assert astuple(fields["password_hash"]) == ("password_hash", None, None, True, "")
    assert astuple(fields["card"]) == ("card", "****1111", "****2222", True, "")
    assert (found[0].actor, found[0].db_user) == (None, "postgres")
    assert SECRET not in repr(found)


def test_large_values_come_cut(conn: psycopg.Connection) -> None:
    deletion, update, _ = audit.last_changes(conn, "public.customer", 2)
    [field] = update.fields
    assert field.before == field.after == LARGE[:200] + "…"
    assert field.note == "They differ after the first 200 characters"
    assert (deletion.operation, deletion.fields) == ("DELETE", [])


def test_values_that_look_the_same_are_told_apart(conn: psycopg.Connection) -> None:
    before = {"a": "ann", "b": "x", "c": 1, "d": None, "e": "a\r\n", "f": {"k": "v"}}
    after = {"a": "\u0430nn", "b": "x ", "c": "1", "d": "not set", "e": "a\n", "f": '{"k": "v"}'}
    conn.execute("select set_config('svc.actor_id', %s, true)", ["\u0430nn\u200b"])
    add_entry(conn, "public.alike", "UPDATE", record_id="1", before=before, after=after)
    [change] = audit.last_changes(conn, "alike", "1")
    fields = {field.name: (field.before, field.after, field.note) for field in change.fields}
    assert fields["a"][2].endswith("after has U+0430 CYRILLIC SMALL LETTER A")
    assert fields["b"] == ("x", "x␣", "These look alike: after has U+0020 SPACE")
    assert fields["c"] == ("1", '"1"', "Before is a number, after is a text")
    assert fields["d"] == (None, '"not set"', "")
    assert fields["e"] == ("a⟨CR⟩↵", "a↵", "These look alike: before has U+000D CARRIAGE RETURN")
    assert fields["f"] == ('{"k": "v"}', '"{\\"k\\": \\"v\\"}"', "Before is an object, after is a text")
    assert (change.who, "several scripts" in change.doubt) == ("\u0430nn⟨U+200B⟩", True)


def test_many_fields_and_long_words_are_cut_and_counted(conn: psycopg.Connection) -> None:
    before = {f"{'f' * 300}{number}": 1 for number in range(30)}
    after = dict.fromkeys(before, 2)
    conn.execute("select set_config('svc.actor_id', %s, true)", ["a" * 5000])
    add_entry(
        conn, "public.x", "UPDATE", record_id="x", before=before, after=after, label="l" * 300, description="d" * 300
    )
    [change] = audit.last_changes(conn, "x", "x")
    assert (len(change.fields), change.more_fields) == (20, 10)
    assert {len(field.name) for field in change.fields} == {201}
    assert [len(text or "") for text in (change.label, change.description, change.actor)] == [
        201,
        201,
        189,
    ]  # the actor has a mark


@pytest.mark.parametrize("snapshot", ["[1]", "7", '"text"', "null"])
def test_snapshots_that_are_no_objects_are_no_fields(conn: psycopg.Connection, snapshot: str) -> None:
    conn.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, record_id, before_data, after_data,"
        " changed_fields) values ('public.odd', 0, 'UPDATE', '1', %s, %s, '{a}')",
        [snapshot, snapshot],
    )
    [change] = audit.last_changes(conn, "odd", 1)
    assert [astuple(field) for field in change.fields] == [("a", None, None, False, "")]


def test_keys_of_every_kind_find_their_record(conn: psycopg.Connection) -> None:
    assert len(audit.last_changes(conn, "public.line", (7, 'a "b"'))) == 1
    assert len(audit.last_changes(conn, "public.line", [7, 'a "b"'])) == 1
    assert len(audit.last_changes(conn, "public.device", DEVICE)) == 1
    assert len(audit.last_changes(conn, "public.customer", "1")) == 3
    assert audit.last_changes(conn, "public.customer", 99) == []
    with pytest.raises(QueryError, match=r'"public.nothing" does not exist and has no entries'):
        audit.last_changes(conn, "public.nothing", 1)


def test_every_client_and_async_get_the_same(shared_database: str, conn: psycopg.Connection) -> None:
    def comparable(changes: list[audit.Change]) -> list[tuple[Any, ...]]:
        return [(change.id, change.timestamp, change.actor, tuple(change.fields)) for change in changes]

    async def with_async() -> list[audit.Change]:
        async with await psycopg.AsyncConnection.connect(shared_database) as conn:
            return await audit.alast_changes(conn, "public.customer", 1)

    expected = comparable(audit.last_changes(conn, "public.customer", 1))
    assert len(expected) == 3
    assert comparable(asyncio.run(with_async())) == expected
    conn.row_factory = dict_row  # type: ignore[assignment] # as applications set it
    assert comparable(audit.last_changes(conn, "public.customer", 1)) == expected
    conn.execute("set time zone 'Asia/Kathmandu'")
    conn.execute("set datestyle to 'sql, dmy'")
    assert comparable(audit.last_changes(conn, "public.customer", 1)) == expected
    with closing(psycopg2.connect(shared_database)) as other:
        assert comparable(audit.last_changes(other, "public.customer", 1)) == expected
    server = {key: str(value) for key, value in conninfo_to_dict(shared_database).items()}
    address = sqlalchemy.URL.create(
        "postgresql+psycopg", server["user"], None, server["host"], int(server["port"]), server["dbname"]
    )
    engine = sqlalchemy.create_engine(address)
    with engine.connect() as session:
        assert comparable(audit.last_changes(session.connection, "public.customer", 1)) == expected
    engine.dispose()


def test_as_many_as_asked_for_and_never_more_than_a_hundred(conn: psycopg.Connection) -> None:
    assert len(audit.last_changes(conn, "public.customer", 1, limit=2)) == 2
    for limit in (0, -1, 101):
        with pytest.raises(QueryError, match="changes"):
            audit.last_changes(conn, "public.customer", 1, limit=limit)


def test_texts_that_no_record_can_have_are_refused_before_the_database(conn: psycopg.Connection) -> None:
    with pytest.raises(QueryError, match="NUL"):
        audit.last_changes(conn, "public.customer", "\0")
    with pytest.raises(ConfigError, match="not a table name"):
        audit.last_changes(conn, "a.b.c", 1)


def test_who_may_not_read_the_log_is_told_so(postgres: str, shared_database: str, empty_database: str) -> None:
    with (
        new_role(postgres) as role,
        psycopg.connect(shared_database, user=role) as stranger,
        pytest.raises(AccessError),
    ):
        audit.last_changes(stranger, "public.customer", 1)
    with psycopg.connect(empty_database) as conn, pytest.raises(NotInstalledError):
        audit.last_changes(conn, "public.customer", 1)


def test_readers_of_the_log_need_no_other_right(postgres: str, shared_database: str) -> None:
    with new_role(postgres) as role:
        with psycopg.connect(shared_database, autocommit=True) as owner:
            owner.execute(f"grant svc_reader to {role}")
        with psycopg.connect(shared_database, user=role) as reader:
            assert len(audit.last_changes(reader, "public.customer", 1)) == 3
