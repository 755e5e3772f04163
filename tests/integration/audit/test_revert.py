"""The SQL that takes a change back: what it restores, in which order, and what it refuses."""

import asyncio
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.database.query import scalar
from svc_pg.errors import ConflictError, NotFoundError, QueryError, RevertRefusedError
from tests.support.documents import examples

Connection = psycopg.Connection[Any]

SHOP: LiteralString = """
create table parent (id int primary key, email text unique, total numeric not null default 0);
create table child (id int generated always as identity primary key, parent int references parent on delete cascade,
                    up int references child, price numeric, tags text[], extra jsonb,
                    twice numeric generated always as (price * 2) stored);
create function add_up() returns trigger language plpgsql as $$
begin
    update parent set total = total - coalesce(old.price, 0) where id = old.parent;
    update parent set total = total + coalesce(new.price, 0) where id = new.parent;
    return null;
end $$;
create trigger add_up after insert or update or delete on child for each row execute function add_up();
insert into parent values (1, 'a@x'), (2, 'b@x');
insert into child (parent, price, tags, extra) values (1, 1.10, '{a,"b c"}', '{"n": 1.50}'), (1, 2, null, 'null'),
    (2, 3, '{}', '"text"');
"""


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def install(conn: Connection, ddl: LiteralString, *names: str, **options: Any) -> None:
    conn.execute(ddl)
    tables = [{"name": name, **options} for name in names]
    schema.install(conn, Config.model_validate({"audit": {"tables": tables}}))


def done(conn: Connection, *statements: LiteralString) -> int:
    """Run the statements in one transaction and return its number."""
    with conn.transaction():
        for statement in statements:
            conn.execute(statement)
        number: int = scalar(conn, "select txid_current()")
    return number


def shop(conn: Connection) -> tuple[Any, Any]:
    return (
        conn.execute("select * from parent order by id").fetchall(),
        conn.execute("select * from child order by id").fetchall(),
    )


@pytest.mark.parametrize(
    "statements",
    [
        ("delete from parent where id = 1",),
        ("update child set price = price + 1, tags = tags || '{x}', extra = '[1]' where parent = 1",),
        ("insert into parent values (3, 'c@x')", "update child set parent = 3", "delete from parent where id = 1"),
        ("delete from child", "delete from parent", "insert into parent values (7, 'a@x')"),
        ("insert into child (parent, up, price) values (1, 3, 5), (2, 4, 6)", "delete from child where id = 1"),
        ("update parent set id = 5 where id = 2 and not exists (select from child where parent = 9)",),
        ("update child set up = 2 where id = 1", "update child set up = null", "delete from child where id = 2"),
        ("insert into parent values (8, null)", "update parent set email = 'z' where id = 8"),
    ],
)  # fmt: skip
def test_a_transaction_is_taken_back_row_for_row(db: Connection, statements: tuple[LiteralString, ...]) -> None:
    install(db, SHOP.replace("on delete cascade", "on delete cascade on update cascade"), "parent", "child")
    copy = shop(db)
    number = done(db, *statements)
    assert shop(db) != copy
    text = audit.revert(db, transaction=number)
    assert shop(db) != copy
    db.execute("set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'")
    db.execute(text.encode())
    assert shop(db) == copy
    with pytest.raises(psycopg.DatabaseError, match=r"is not as the log tells|is there again"):
        db.execute(text.encode())
    with pytest.raises(ConflictError, match="since"):
        audit.revert(db, transaction=number)


def test_values_of_each_kind_of_type_come_back_as_they_were(db: Connection) -> None:
    """JSON is written as a document, also that of a domain; a text, an id and a domain over a text as they are."""
    install(
        db,
        """create domain code as text check (value <> '"c"'); create domain document as jsonb;
           create table item (id int primary key, code code, number uuid, paper document, plain json, spot point)""",
        "item",
    )
    db.execute(
        """insert into item values (1, 'c', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '"text"', '["x"]', '(1,2)')"""
    )
    whole = "select to_jsonb(item) from item"
    before = scalar(db, whole)
    number = done(
        db, "update item set code = 'd', number = gen_random_uuid(), paper = '{}', plain = '0', spot = '(3,4)'"
    )
    db.execute(audit.revert(db, transaction=number))
    assert scalar(db, whole) == before


def test_a_number_that_became_its_text_comes_back_as_a_number(db: Connection) -> None:
    install(db, "create table item (id int primary key, data jsonb, other int)", "item")
    db.execute("insert into item values (1, '1', 0), (2, '{\"n\": [0]}', 0)")
    number = done(
        db, "update item set data = '\"1\"' where id = 1", 'update item set data = \'{"n": ["0"]}\' where id = 2'
    )
    db.execute(audit.revert(db, transaction=number))
    assert db.execute("select data::text from item order by id").fetchall() == [("1",), ('{"n": [0]}',)]


def test_an_entry_is_taken_back_if_others_changed_other_fields(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int, b int)", "t")
    db.execute("insert into t values (1, 1, 1); ")
    for statement in ("update t set a = 2", "update t set b = 2", "update t set a = 3"):
        db.execute(statement.encode())
    db.execute(audit.revert(db, entry=3).encode())
    assert db.execute("select * from t").fetchall() == [(1, 3, 1)]
    with pytest.raises(ConflictError, match=r"entry 2 cannot be taken back: entry 4 changed a of public\.t 1 since"):
        audit.revert(db, entry=2)
    with pytest.raises(ConflictError, match=r"entry 2 UPDATE changed|entry 2 changed|changed public\.t 1 since"):
        audit.revert(db, entry="1")


def test_what_changes_between_printing_and_running_stops_it(db: Connection) -> None:
    install(db, SHOP, "parent", "child")
    number = done(db, "insert into parent values (3, 'c@x')")
    text = audit.revert(db, transaction=number)
    db.execute("insert into child (parent, price) values (3, 0)")
    with pytest.raises(psycopg.DatabaseError, match=r"rows of public\.child refer to public\.parent 3"):
        db.execute(text.encode())
    assert scalar(db, "select count(*) from parent where id = 3") == 1
    db.execute("delete from child where parent = 3; update parent set email = 'd@x' where id = 3")
    with pytest.raises(psycopg.DatabaseError, match=r"public\.parent 3 is not as the log tells"):
        db.execute(text.encode())


def test_its_length_grows_with_the_rows_alone(db: Connection) -> None:
    install(db, SHOP, "parent", "child")
    lengths: list[int] = []
    for last in (20, 40):
        db.execute("select set_config('test.last', %s, false)", [str(last)])
        number = done(
            db,
            "insert into parent select n from generate_series(3, current_setting('test.last')::int) n",
            "insert into child (parent) select n from generate_series(3, current_setting('test.last')::int) n",
        )
        text = audit.revert(db, transaction=number)
        lengths.append(len(text))
        with db.transaction(force_rollback=True):
            db.execute("insert into child (parent) values (17)")
            with pytest.raises(psycopg.DatabaseError, match=r"rows of public\.child refer to public\.parent 17"):
                db.execute(text.encode())
        db.execute(text.encode())
        assert scalar(db, "select count(*) from parent") == 2
    assert lengths[1] < 2.5 * lengths[0]


def test_a_trigger_that_stands_in_the_way_is_told_and_its_field_may_be_left(db: Connection) -> None:
    install(
        db,
        "create table t (id int primary key, a int, updated_at timestamptz);"
        "create function touch() returns trigger language plpgsql as"
        " $$ begin new.updated_at := clock_timestamp(); return new; end $$;"
        "create trigger touch before insert or update on t for each row execute function touch()",
        "t",
    )
    db.execute("insert into t values (1, 1)")
    number = done(db, "update t set a = 2")
    with pytest.raises(psycopg.DatabaseError, match="would have other values than before: a trigger"):
        db.execute(audit.revert(db, transaction=number).encode())
    assert scalar(db, "select a from t") == 2
    db.execute(audit.revert(db, transaction=number, leave=["updated_at"]).encode())
    assert scalar(db, "select a from t") == 1


def test_a_field_that_is_left_keeps_no_later_change_from_being_safe(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int, b int, touched int)", "t")
    db.execute("insert into t values (1, 1, 1, 1)")
    number = done(db, "update t set a = 2, touched = 2")
    db.execute("update t set b = 2, touched = 3")
    with pytest.raises(ConflictError, match=r"entry 3 changed touched of public\.t 1 since$"):
        audit.revert(db, transaction=number)
    text = audit.revert(db, transaction=number, leave=["touched"])
    db.execute("update t set a = 3, touched = 4")
    with pytest.raises(ConflictError, match=r"entry 4 changed a of public\.t 1 since$"):  # not entry 3
        audit.revert(db, entry=2, leave=["touched"])
    db.execute("update t set a = 2")
    db.execute(text.encode())
    assert db.execute("select * from t").fetchall() == [(1, 1, 2, 4)]


@pytest.mark.parametrize(
    ("fields", "leave", "later"),
    [
        (None, [], 2),
        ([], [], 2),
        (["a"], [], 2),
        (None, ["touched"], 2),
        (["touched"], ["touched"], None),
        (["a", "touched"], ["touched"], 2),
    ],
)
def test_a_later_entry_counts_though_it_names_no_fields(
    db: Connection, fields: list[str] | None, leave: list[str], later: int | None
) -> None:
    install(db, "create table t (id int primary key, a int, touched int)", "t")
    number = done(db, "insert into t values (1, 1, 1)")
    db.execute(
        """
        insert into svc.audit_logs
               (table_name, table_oid, record_id, operation, before_data, after_data, changed_fields)
        values ('public.t', 't'::regclass, '1', 'UPDATE', '{"id": 1, "a": 1, "touched": 1}',
                '{"id": 1, "a": 2, "touched": 2}', %s)
        """,
        (fields,),
    )
    found = db.execute("select later_entry from svc.audit_net_changes(%s, null, %s)", (number, leave)).fetchall()
    assert found == [(later,)]


def test_a_row_whose_left_fields_changed_since_it_came_may_go(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int, touched int)", "t")
    number = done(db, "insert into t values (1, 1, 1)")
    db.execute("update t set touched = 2")
    with pytest.raises(ConflictError, match=r"entry 2 UPDATE changed public\.t 1 since$"):
        audit.revert(db, transaction=number)
    text = audit.revert(db, transaction=number, leave=["touched"])
    db.execute("update t set touched = 3; update t set a = 2")
    with pytest.raises(ConflictError, match=r"entry 4 UPDATE changed public\.t 1 since$"):
        audit.revert(db, transaction=number, leave=["touched"])
    db.execute("update t set a = 1")
    db.execute(text.encode())
    assert scalar(db, "select count(*) from t") == 0


@pytest.mark.parametrize("redaction", ["remove", "mask", "hash", "last4"])
def test_each_refusal_about_a_field_ends_when_the_field_is_left(db: Connection, redaction: str) -> None:
    ddl: LiteralString = "create table t (id int primary key, secret text, big text, gone int, name text)"
    install(db, ddl, "t", redact={"secret": redaction}, max_value_bytes=256)
    db.execute("insert into t values (1, 's', repeat('x', 300), 1, 'a')")
    changed = done(db, "update t set secret = 't', big = repeat('y', 300), gone = 2, name = 'b'")
    db.execute("alter table t drop gone")
    for number, fields in ((changed, ["big", "gone", "secret"]), (None, ["big", "secret"])):
        number = number or done(db, "delete from t")
        with pytest.raises(RevertRefusedError) as caught:
            audit.revert(db, transaction=number)
        assert sorted(each.field or "" for each in caught.value.refusals) == fields
        db.execute(audit.revert(db, transaction=number, leave=fields).encode())
        assert scalar(db, "select name from t") == "a"


def test_a_key_cannot_be_left(db: Connection) -> None:
    install(db, "create table t (id int primary key, code text not null)", "t", redact={"code": "hash"})
    number = done(db, "insert into t values (1, 'x')")
    db.execute("alter table t drop constraint t_pkey, add primary key (code)")
    with pytest.raises(RevertRefusedError, match=r"the key code of public\.t 1 is redacted"):
        audit.revert(db, transaction=number, leave=["code"])


def test_a_value_that_was_redacted_is_not_guessed(db: Connection) -> None:
    ddl: LiteralString = "create table t (id int primary key, ssn text, pin text, name text)"
    install(db, ddl, "t", redact={"ssn": "remove", "pin": "last4"})
    db.execute("insert into t values (1, '123-45-6789', '0123456789', 'a')")
    named = done(db, "update t set name = 'b'")
    db.execute(audit.revert(db, transaction=named).encode())
    assert db.execute("select * from t").fetchall() == [(1, "123-45-6789", "0123456789", "a")]
    changed = done(db, "update t set ssn = 'x', name = 'c'")
    with pytest.raises(ConflictError, match=r"the value of ssn of public\.t 1 is redacted$"):
        audit.revert(db, transaction=changed)
    db.execute(audit.revert(db, transaction=changed, leave=["ssn"]).encode())
    gone = done(db, "delete from t")
    with pytest.raises(ConflictError, match=r"value of pin of public\.t 1 is redacted; the value of ssn of"):
        audit.revert(db, transaction=gone)
    came = done(db, "insert into t values (2, 'y', 'z', 'w')")
    db.execute(audit.revert(db, transaction=came).encode())
    assert scalar(db, "select count(*) from t") == 0


def test_what_is_no_longer_safe_is_refused_by_name(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int, b text); create table bare (a int)", "t", "bare")
    db.execute("insert into t values (1, 1, 'b'), (2, 2, repeat('x', 10))")
    updated = done(db, "update t set b = 'c' where id = 1")
    emptied = done(db, "truncate t", "insert into t values (1, 1, 'b')")
    with pytest.raises(ConflictError, match=r"entry \d changed b of|entry \d INSERT changed public\.t 1 since"):
        audit.revert(db, transaction=updated)
    with pytest.raises(ConflictError, match=r"entry 4 emptied public\.t by TRUNCATE"):
        audit.revert(db, transaction=emptied)
    with pytest.raises(ConflictError, match=r"public\.bare has no key"):
        audit.revert(db, transaction=done(db, "insert into bare values (1)"))
    dropped = done(db, "update t set b = 'd'")
    db.execute("alter table t drop b")
    with pytest.raises(ConflictError, match=r"public\.t has no column b any more"):
        audit.revert(db, transaction=dropped)
    db.execute("alter table t rename to u")
    with pytest.raises(ConflictError, match=r'there is no table "public\.t" any more'):
        audit.revert(db, transaction=dropped)
    with pytest.raises(NotFoundError, match="the log has no transaction 1"):
        audit.revert(db, transaction=1)
    with pytest.raises(NotFoundError, match="the log has no entry 99999"):
        audit.revert(db, entry=99999)
    as_text = {"entry": 1, "leave": "updated_at"}  # whose letters are no fields
    for wrong in ({}, as_text, {"entry": 1, "transaction": 1}, {"entry": "1; drop table u"}, {"transaction": -1}):
        with pytest.raises(QueryError):
            audit.revert(db, **wrong)


def test_hostile_texts_in_rows_and_names_stay_texts(db: Connection) -> None:
    install(db, 'create table "t""; --" (id text primary key, "a\'b" text)', 'public."t""; --"')
    db.execute("""insert into "t""; --" values ('$svc$; drop table x; --', E'a\\\\''b\\n$svc$')""")
    gone = done(db, """delete from "t""; --" """)
    text = audit.revert(db, transaction=gone)
    db.execute(text.encode())
    assert db.execute("""select * from "t""; --" """).fetchall() == [("$svc$; drop table x; --", "a\\'b\n$svc$")]


def test_a_number_that_two_transactions_have_is_refused(db: Connection) -> None:
    install(db, "create table t (id int primary key)", "t")
    number = done(db, "insert into t values (1)")
    db.execute("insert into svc.audit_epochs values ('later', clock_timestamp())")
    db.execute(
        "insert into svc.audit_logs (xact_id, table_name, table_oid, operation, record_id, after_data)"
        """ values (%s, 'public.t', 't'::regclass, 'INSERT', '2', '{"id": 2}')""",
        (number,),
    )
    with pytest.raises(ConflictError, match="two transactions have the number"):
        audit.revert(db, transaction=number)
    assert "delete from" in audit.revert(db, entry=1)


def test_it_is_there_on_async_connections_and_revert_is_on_record(database: str, db: Connection) -> None:
    install(db, "create table t (id int primary key)", "t")
    number = done(db, "insert into t values (1)")

    async def text() -> str:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            return await audit.arevert(conn, transaction=number)

    db.execute(asyncio.run(text()).encode())
    assert scalar(db, "select string_agg(operation::text, ' ' order by id) from svc.audit_logs") == "INSERT DELETE"


def test_a_change_of_a_renamed_table_is_not_taken_back_in_another_that_has_its_name(db: Connection) -> None:
    install(db, "create table t (id int primary key, a int)", "t")
    number = done(db, "insert into t values (1, 1)")
    db.execute("alter table t rename to older; create table t (id int primary key, a int); insert into t values (1, 1)")
    install(db, "select 1", "t", "older")
    newest: int = scalar(db, "select max(id) from svc.audit_logs")
    refused = r'the table was renamed, and "public\.t" is another one now$'
    with pytest.raises(RevertRefusedError, match=refused):
        audit.revert(db, transaction=number)
    with pytest.raises(RevertRefusedError, match=refused):
        audit.revert(db, entry=newest)
    for change_it in ("update t set a = 2", "update older set a = 2"):
        db.execute(audit.revert(db, transaction=done(db, change_it)).encode())
    assert db.execute("select * from t union all select * from older").fetchall() == [(1, 1), (1, 1)]


def test_an_update_without_where_is_found_and_undone_as_the_documentation_says(db: Connection) -> None:
    install(db, "create table orders (id int primary key, status text)", "orders")
    done(
        db,
        "insert into orders select n, case when n % 2 = 0 then 'new' else 'held' end from generate_series(1, 1200) n",
    )
    before = db.execute("select * from orders where id <> 7 order by id").fetchall()
    mistake = done(db, "update orders set status = 'paid'")
    done(db, "update orders set status = 'shipped' where id = 7")
    find, undo = examples("time-travel.md", "Take a change back", "sql")
    assert [row[0] for row in db.execute(find).fetchall()][-1:] == [mistake]
    db.execute(undo.replace("4711", str(mistake)))
    assert db.execute("select * from orders where id <> 7 order by id").fetchall() == before
    assert scalar(db, "select status from orders where id = 7") == "shipped"
    assert scalar(db, "select count(*) from svc.audit_logs where actor_id = 'ann'") == 1199
