"""An erasure takes away all that the log shows of a person, and nothing of others."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, cast

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.database.sqlstates import translating
from svc_pg.errors import (
    AccessError,
    AppendOnlyError,
    ConfigError,
    ConflictError,
    NotFoundError,
    QueryError,
    TransactionError,
)
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit
from tests.support.waiting import wait_until

DDL = """
create table customer (id int primary key, name text, email text);
create table orders (id int primary key, customer_id int, address text);
create table line (order_id int, number int, gift text, primary key (order_id, number));
create table member (mail text primary key, name text);
create table letter (id int primary key, mail text, body text);
create table keyless (customer_id int, note text)
"""
CONFIG = Config.model_validate(
    {
        "audit": {
            "tables": [{"name": n} for n in ("customer", "orders", "line", "member", "letter", "keyless")],
            "erasure": {
                "customer": ["orders.customer_id", "public.keyless(customer_id)"],
                "orders": ["line.order_id"],
                "member": ["letter.mail"],
            },
        }
    }
)
KEY = audit.SealKey("s1", b"k" * 32)
SECRETS = ("Bob", "bob@example.com", "Elm Street", "for Bob", "Bob likes", "::1")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Customer 5 is Bob and 6 is Ann; order 7 was Bob's and is Ann's, 8 is Bob's, 9 is Ann's."""

    def business(conninfo: str) -> None:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            for statement in (
                "insert into customer values (5, 'Bob', 'bob@example.com'), (6, 'Ann', 'ann@example.com')",
                "insert into orders values (7, 5, 'Elm Street 1'), (8, 5, 'Elm Street 2'), (9, 6, 'Oak Road 3')",
                "insert into line values (7, 1, 'for Bob'), (8, 1, 'for Bob'), (9, 1, 'for Ann')",
                "insert into keyless values (5, 'Bob likes'), (6, 'Ann likes')",
                "update customer set name = 'Bob B.' where id = 5",
                "update orders set customer_id = 6, address = 'Oak Road 3' where id = 7",
                "update orders set address = 'Oak Road 4' where id = 7",
                "update orders set address = 'Elm Street 5' where id = 8",
                "delete from customer where id = 5",
                "insert into member values ('bob@example.com', 'Bob')",
                "insert into letter values (1, 'bob@example.com', 'Bob likes')",
            ):
                with conn.transaction(), audit.actor(conn, "user:clerk", context={"ip": "::1"}):
                    conn.execute(cast(Any, statement))
            conn.execute(  # as an older version let one do
                "select svc.audit_add_entry('public.orders', 'UPDATE', '8', description => 'called Bob')"
            )

    return business


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def texts(conn: psycopg.Connection[Any], where: str = "true") -> str:
    """All that the log says, as one text; without the digests of what it said."""
    rows = conn.execute(
        cast(Any, f"select to_jsonb(l) - 'erased_leaf' from svc.audit_logs l where {where} order by timestamp, id")
    )
    return "\n".join(str(row) for (row,) in rows)


def erased(conn: psycopg.Connection[Any]) -> list[str]:
    rows = conn.execute(
        "select table_name, record_id, operation::text from svc.audit_logs where erased_leaf is not null order by id"
    )
    return [f"{table.removeprefix('public.')} {record} {operation}" for table, record, operation in rows]


def test_all_that_shows_the_person_goes_and_nothing_else(db: psycopg.Connection[Any]) -> None:
    others = texts(db, "id not in (select entry_id from svc.audit_erasable('public.customer', '5'))")
    audit.seal(db, key=KEY)
    digests = dict(db.execute("select id, svc.audit_leaf(l) from svc.audit_logs l").fetchall())
    planned = audit.erase(db, "customer", 5, dry_run=True)
    assert erased(db) == []
    report = audit.erase(db, "customer", 5)
    assert report == planned
    assert report.tables == {"public.customer": 3, "public.orders": 5, "public.line": 2, "public.keyless": 1}
    assert report.entries == 11
    assert erased(db) == [
        "customer 5 INSERT",
        "orders 7 INSERT",
        "orders 8 INSERT",
        "line [7, 1] INSERT",
        "line [8, 1] INSERT",
        "keyless None INSERT",
        "customer 5 UPDATE",
        "orders 7 UPDATE",  # shows both owners; the next one only the other
        "orders 8 UPDATE",
        "customer 5 DELETE",
        "orders 8 UPDATE",  # by hand, without snapshots
    ]
    left = texts(db, "table_name not in ('public.member', 'public.letter')")
    assert [secret for secret in SECRETS[:5] if secret in left] == []
    assert "Oak Road 4" in left
    rest = texts(db, "erased_leaf is null and table_name <> 'svc.audit_logs'")
    assert rest == others
    assert (
        dict(db.execute("select id, svc.audit_leaf(l) from svc.audit_logs l where id <= %s", [max(digests)])) == digests
    )
    assert scalar(db, "select count(*) from orders") == 3  # the application's rows are its own


def test_the_erasure_is_an_entry_that_names_nobody(db: psycopg.Connection[Any]) -> None:
    with audit.acting("user:dpo"):
        db.execute("select set_config('svc.actor_id', 'user:dpo', false)")
        audit.erase(db, "customer", 5)
        audit.erase(db, "member", "bob@example.com")
    second, first = audit.query().label("audit log erased").list(db).data
    assert (first.table_name, first.operation, first.actor_id, first.severity) == (
        "svc.audit_logs",
        "UPDATE",
        "user:dpo",
        "high",
    )
    assert first.before_data is not None
    assert first.before_data.value["record"] == "5"
    assert first.before_data.value["entries"] == 11
    assert second.before_data is not None
    assert second.before_data.value["record"].startswith("erased:")
    assert second.before_data.value["tables"] == {"public.member": 1, "public.letter": 1}
    assert [secret for secret in SECRETS[:5] if secret in texts(db)] == []
    pointed = scalar(db, "select count(*) from svc.audit_logs where context ->> 'erasure' = %s", [first.id])
    assert pointed == 11


def test_a_key_that_tells_who_it_was_is_hashed_and_still_known(db: psycopg.Connection[Any]) -> None:
    audit.erase(db, "member", "bob@example.com")
    key = scalar(db, "select record_id from svc.audit_logs where table_name = 'public.member'")
    assert key == "erased:" + scalar(db, "select svc.audit_hash('bob@example.com')")
    assert audit.erase(db, "member", "bob@example.com").entries == 0
    [state] = audit.history("member", key).list(db).data
    assert state.is_erased


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("5", True),
        ("-5", True),
        ("0190a5c8-1111-7abc-8def-0123456789ab", True),
        ("[7, 1]", True),
        ('["7", "0190a5c8-1111-7abc-8def-0123456789ab", null]', True),
        ("+1 555 0100", False),
        ('[7, "bob"]', False),
        ("bob", False),
        ("5 or bob", False),
        ("5\nbob", False),
    ],
)
def test_only_numbers_and_uuids_stay_as_keys(db: psycopg.Connection[Any], key: str, *, kept: bool) -> None:
    found = scalar(db, "select svc.audit_erased_key(%s)", [key])
    assert (found == key) == kept
    assert scalar(db, "select svc.audit_erased_key(%s)", [found]) == found


def test_history_and_its_kin_say_erased_and_guess_nothing(db: psycopg.Connection[Any]) -> None:
    entries = {entry.id: entry for entry in audit.query().limit(100).list(db)}
    first = min(entries.values(), key=lambda entry: entry.timestamp)
    audit.erase(db, "customer", 5)
    states = audit.history("customer", 5).list(db).data
    assert [(state.operation, state.is_erased) for state in states] == [
        ("DELETE", True),
        ("UPDATE", True),
        ("INSERT", True),
    ]
    assert states[1].changed_fields == ["name"]
    [moved] = [state for state in audit.history("orders", 7).list(db).data if not state.is_erased]
    assert moved.after_data is not None
    assert moved.after_data.value["address"] == "Oak Road 4"
    row = audit.as_of("customer", states[1].valid_from).record(5).one(db)
    assert (row.values, row.unknown_fields) == (
        {"id": None, "name": None, "email": None},
        ["id", "name", "email"],
    )
    assert row.other_data is not None
    assert row.other_data.value == {"erased": True}
    entry = audit.query().resource("customer").operation("UPDATE").list(db).data[0]
    assert entry.is_erased
    assert not first.is_erased
    assert [(field.field, field.is_redacted) for field in audit.diff(entry).fields] == [("name", True)]
    insert = audit.query().resource("customer").record("5").operation("INSERT").list(db).data[0]
    assert audit.diff(insert).fields == []
    for refused in (entry.id, insert.id):
        with pytest.raises(ConflictError, match="is erased"):
            audit.revert(db, entry=refused)
    with pytest.raises(ConflictError, match="is erased"):
        audit.revert(db, transaction=entry.xact_id)
    with pytest.raises(NotFoundError, match="is erased"):
        audit.blame(db, "line", [8, 1])
    assert [origin.field for origin in audit.blame(db, "orders", 7)] == ["address", "customer_id", "id"]
    fields = db.execute(
        "select field, before, after from svc.audit_changes where entry_id in (%s, %s)", [entry.id, insert.id]
    )
    assert fields.fetchall() == [("name", None, None)]
    past = db.execute("select other_data from svc.history_public_customer where record_id = '5'").fetchall()
    assert past == [({"erased": True},)] * 3


def test_seals_stay_valid_and_tell_a_forged_erasure(db: psycopg.Connection[Any]) -> None:
    audit.seal(db, key=KEY)
    audit.erase(db, "customer", 5)
    audit.erase(db, "member", "bob@example.com")
    audit.seal(db, key=KEY)
    found = audit.verify(db, public_keys=KEY.public)
    assert (found.findings, found.erased) == ([], 13)
    db.execute("set session_replication_role = replica")
    db.execute("alter table svc.audit_logs_default disable trigger all")
    for (partition,) in db.execute("select distinct tableoid::regclass::text from svc.audit_logs").fetchall():
        db.execute(cast(Any, f"alter table {partition} disable trigger all"))
    db.execute(
        "update svc.audit_logs l set erased_leaf = sha256(convert_to(svc.audit_content(l), 'UTF8')), after_data = null"
        " where table_name = 'public.customer' and record_id = '6'"
    )
    assert [finding.kind for finding in audit.verify(db, public_keys=KEY.public).findings] == ["erased"]


def test_what_is_held_is_not_erased(db: psycopg.Connection[Any]) -> None:
    before = texts(db)
    held_ones: list[tuple[str, list[object]]] = [("line", [[7, 1]]), ("orders", []), ("customer", [5])]
    for table, key in held_ones:
        with db.transaction(force_rollback=True):
            audit.hold(db, table, *key, reason="case 17")
            held = " ".join([f"public.{table}", *map(str, key)])
            with pytest.raises(psycopg.DatabaseError, match="because of holds: " + held.replace("[", r"\[")) as caught:
                db.execute("select svc.erase('public.customer', '5')")
            assert caught.value.sqlstate == "SV004"
    assert texts(db) == before
    audit.hold(db, "customer", 6, reason="case 18")  # an entry of the handing over shows both
    audit.hold(db, "customer", 5, reason="case 17")
    with pytest.raises(ConflictError, match=r"because of holds: public\.customer 5, public\.customer 6\n"):
        audit.erase(db, "customer", 5)
    for number in (5, 6):
        audit.lift_hold(db, "customer", number, reason="closed")
    report = audit.erase(db, "customer", 5)
    assert (report.entries, report.tables["svc.audit_holds"]) == (13, 2)


def test_what_was_written_later_is_erased_by_the_next_call(db: psycopg.Connection[Any]) -> None:
    audit.erase(db, "customer", 5)
    db.execute("insert into line values (8, 2, 'for Bob')")  # order 8 is known by its erased entries only
    db.execute("update customer set name = 'Ann A.' where id = 6")
    assert audit.erase(db, "customer", 5).tables == {"public.line": 1}
    assert audit.erase(db, "customer", 5).tables == {}
    second, _ = audit.query().label("audit log erased").list(db).data
    assert second.description == "Erased 1 entry of record 5 of public.customer"


def test_a_record_that_had_other_keys_is_told(db: psycopg.Connection[Any]) -> None:
    db.execute("update customer set id = 60 where id = 6")
    report = audit.erase(db, "customer", 60)
    assert report.other_keys == ["6"]
    assert report.tables == {"public.customer": 1}
    assert audit.erase(db, "customer", 6).tables["public.customer"] == 1


def test_the_rows_of_the_person_that_are_left_are_told(db: psycopg.Connection[Any]) -> None:
    db.execute("update orders set address = 'Elm Street 6' where id = 8")
    rows = {"public.orders": 1, "public.line": 1}  # order 7 and its line are Ann's
    assert audit.erase(db, "customer", 5, dry_run=True).rows_left == rows
    db.execute("insert into customer values (5, 'Bob', null)")
    rows["public.customer"] = 1
    assert audit.erase(db, "customer", 5, dry_run=True).rows_left == rows
    assert audit.erase(db, "customer", 5).rows_left == rows
    assert audit.erase(db, "customer", 5).rows_left["public.customer"] == 1
    db.execute("delete from customer where id = 5; delete from orders where id = 8")
    assert "public.customer" not in audit.erase(db, "customer", 5).rows_left
    db.execute("update customer set id = 60 where id = 6")
    assert audit.erase(db, "customer", 6, dry_run=True).rows_left["public.customer"] == 1


def test_a_row_whose_key_is_no_number_is_told_once(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into member values ('eve@example.com', 'Eve')")
    assert audit.erase(db, "member", "eve@example.com").rows_left == {"public.member": 1}
    db.execute("update member set name = 'E' where mail = 'eve@example.com'")
    assert audit.erase(db, "member", "eve@example.com").rows_left == {"public.member": 1}
    db.execute("truncate member")
    assert audit.erase(db, "member", "eve@example.com").rows_left == {}


def test_rows_that_were_not_looked_for_are_not_called_gone(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute("update orders set address = 'Elm Street 6' where id = 8")
    found = []
    for most in (1, 4, 5, 6):  # the records are those of the customer, of two lines and of two orders
        monkeypatch.setattr("svc_pg.audit.keep.erasure.MOST_ROWS", most)
        report = audit.erase(db, "customer", 5, dry_run=True)
        found.append((sum(report.rows_left.values()), report.is_partial))
    assert found == [(0, True), (0, True), (2, False), (2, False)]


def test_what_cannot_be_erased_is_told(db: psycopg.Connection[Any]) -> None:
    before = texts(db)
    for table, key in (("customer", 99), ("customer", "five"), ("nowhere", 5), ("keyless", 5), ("line", 7)):
        with pytest.raises(NotFoundError, match="does not know a record"):
            audit.erase(db, table, key)
    with pytest.raises(ConfigError, match="not a table name"):
        audit.erase(db, "a.b.c", 5)
    with pytest.raises(QueryError):
        audit.erase(db, "customer", "a\0b")
    with pytest.raises(QueryError, match="None is not the key of a record"):
        audit.erase(db, "customer", None)
    with closing(sqlite3.connect(":memory:")) as other, pytest.raises(ConfigError, match="the erasure of a record"):
        audit.erase(cast(Any, other), "customer", 5)
    with db.transaction(), pytest.raises(TransactionError):
        audit.erase(db, "customer", 5)
    assert texts(db) == before


def test_only_administrators_erase_and_the_guard_stays_on(db: psycopg.Connection[Any]) -> None:
    db.execute("set role svc_reader")
    with pytest.raises(AccessError):
        audit.erase(db, "customer", 5)
    db.execute("set role svc_admin")
    assert audit.erase(db, "customer", 5).entries == 11
    db.execute("reset role")
    with pytest.raises(AppendOnlyError), translating():
        db.execute("update svc.audit_logs set description = null")
    assert {found.state for found in schema.status(db, CONFIG)} == {"ok"}


def test_an_erasure_that_fails_leaves_everything_as_it_was(db: psycopg.Connection[Any]) -> None:
    before = texts(db)
    db.execute("create function fail() returns trigger language plpgsql as $$ begin raise 'no'; end $$")
    db.execute(
        "create trigger fail before update on svc.audit_logs for each row when (old.table_name = 'public.line')"
        " execute function fail()"
    )
    with pytest.raises(psycopg.DatabaseError, match="no"):
        audit.erase(db, "customer", 5)
    db.execute("drop trigger fail on svc.audit_logs")
    assert texts(db) == before
    with pytest.raises(AppendOnlyError), translating():
        db.execute("update svc.audit_logs set description = null")


def test_a_killed_erasure_leaves_everything_as_it_was(db: psycopg.Connection[Any], database: str) -> None:
    before = texts(db)
    with closing(psycopg.connect(database)) as killed:
        killed.execute("select svc.erase('public.customer', '5')")
        pid = killed.info.backend_pid
        db.execute("select pg_terminate_backend(%s)", [pid])
        wait_until(lambda: not scalar(db, "select count(*) from pg_stat_activity where pid = %s", [pid]), "it ended")
    assert texts(db) == before
    assert audit.erase(db, "customer", 5).entries == 11


def test_writers_wait_and_go_on(db: psycopg.Connection[Any], database: str) -> None:
    with ThreadPoolExecutor(3) as pool, psycopg.connect(database) as erasing:
        erasing.execute("select svc.erase('public.customer', '5')")

        def write(number: int) -> None:
            with psycopg.connect(database) as conn:
                conn.execute("insert into orders values (%s, 6, 'Oak Road')", (number,))

        writers = [pool.submit(write, number) for number in (100, 101)]
        again = pool.submit(lambda: erase_elsewhere(database))
        wait_until(lambda: scalar(db, "select count(*) from pg_locks where not granted") >= 2, "writers wait")
        erasing.commit()
        for writer in writers:
            writer.result(timeout=20)
        assert again.result(timeout=20).entries == 0  # two at once erase each entry once
    assert len(audit.query().label("audit log erased").list(db).data) == 1


def erase_elsewhere(database: str) -> audit.ErasureReport:
    with psycopg.connect(database) as conn:
        return audit.erase(conn, "customer", 5)


def test_async_connections_erase(database: str) -> None:
    async def run() -> audit.ErasureReport:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            return await audit.aerase(conn, "customer", 5)

    assert asyncio.run(run()).entries == 11


@pytest.mark.parametrize(
    ("erasure", "words"),
    [
        ({"customer": ["nowhere.customer_id"]}, '"public.nowhere" is not audited'),
        ({"custommer": ["orders.customer_id"]}, 'Did you mean "public.customer"?'),
        ({"customer": ["orders.customer"]}, 'Did you mean "customer_id"?'),
        ({"customer": ["secret.customer_id"]}, "redacted"),
    ],
)
def test_rules_that_find_nothing_are_refused(
    db: psycopg.Connection[Any], erasure: dict[str, list[str]], words: str
) -> None:
    db.execute("create table secret (id int primary key, customer_id int)")
    tables = [*CONFIG.audit.model_dump()["tables"], {"name": "secret", "redact": {"customer_id": "hash"}}]
    config = Config.model_validate({"audit": {"tables": tables, "erasure": erasure}})
    with pytest.raises(ConfigError) as caught:
        schema.install(db, config)
    assert words in f"{caught.value.message} {caught.value.hint}"
