"""Lists of one record's entries are in the order of change."""

import itertools
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, audit
from svc_pg.audit import AuditQuery
from svc_pg.audit.log.entry import COLUMNS
from svc_pg.audit.read import change_order
from svc_pg.audit.read.follow import follow
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.pagination import ALL
from svc_pg.database.query import scalar
from tests.support.costs import first_cost
from tests.support.pages import all_rows
from tests.support.postgres import copied, new_database
from tests.support.tables import create_and_audit, log

Connection = psycopg.Connection[Any]

# An INSERT goes on with an UPDATE of the same row, and an UPDATE of a row below 10 with one of all others
DDL: LiteralString = """
create table t (id int primary key, a int);
create function go_on() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        update t set a = a + 100 where id = new.id;
    elsif new.a < 10 then
        update t set a = a + 10 where id <> new.id and a < 10;
    end if;
    return null;
end $$;
create trigger zz_go_on after insert or update on t for each row execute function go_on();
"""


@pytest.fixture(scope="module", params=["row", "statement"])
def audited_template(
    request: pytest.FixtureRequest, maintenance: Connection, postgres: str, template: str
) -> Iterator[str]:
    """The name of a database with the table, audited at each level in turn."""
    table = AuditedTable(name="t", level=request.param)
    with copied(maintenance, postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, Config(audit=AuditConfig(tables=[table])))
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture
def shop(maintenance: Connection, postgres: str, audited_template: str) -> Iterator[str]:
    with copied(maintenance, postgres, template=audited_template) as conninfo:
        yield conninfo


@pytest.fixture
def db(shop: str) -> Iterator[Connection]:
    with psycopg.connect(shop) as conn:
        yield conn


def changes(entries: Any) -> list[tuple[int | None, int | None]]:
    """The values of a before and after each change."""
    return [
        (entry.before_data and entry.before_data.value["a"], entry.after_data and entry.after_data.value["a"])
        for entry in entries
    ]


def fill(conn: Connection) -> list[tuple[int | None, int | None]]:
    """Several transactions with nested changes; return those of record 2 in the order in which they were done."""
    conn.execute("insert into t values (1, 1), (2, 2)")
    conn.commit()
    conn.execute("update t set a = id")
    conn.commit()
    conn.execute("delete from t where id = 2")
    conn.execute("insert into t values (2, 3)")
    conn.execute("update t set a = 4 where id = 2")
    conn.commit()
    return [(None, 2), (2, 102), (102, 2), (2, 12), (12, None), (None, 3), (3, 103), (103, 4)]


@pytest.fixture(scope="module", params=["row", "statement"])
def filled(
    request: pytest.FixtureRequest, postgres: str, template: str
) -> Iterator[tuple[Connection, list[tuple[int | None, int | None]]]]:
    """A log that is only read, and the changes of record 2 that are in it."""
    table = AuditedTable(name="t", level=request.param)
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, Config(audit=AuditConfig(tables=[table])))
        with psycopg.connect(conninfo) as conn:
            done = fill(conn)
            conn.read_only = True
            yield conn, done


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 100])
@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_pages_of_a_record_are_in_the_order_of_change(filled: tuple[Connection, Any], order: str, size: int) -> None:
    db, done = filled
    seen = changes(all_rows(db, audit.query().resource("t").record("2").order(order).limit(size)))
    assert seen == (done if order == "oldest" else done[::-1])


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("narrow", "selects"),
    [
        (lambda query: query.operation("UPDATE"), lambda before, after: None not in (before, after)),
        (lambda query: query.operation("INSERT"), lambda before, _: before is None),
        (lambda query: query.since("1h"), lambda *_: True),
        (lambda query: query.until("1h"), lambda *_: False),
    ],
)
def test_other_conditions_leave_entries_out_and_keep_the_order(
    filled: tuple[Connection, Any],
    narrow: Callable[[AuditQuery], AuditQuery],
    selects: Callable[[int | None, int | None], bool],
    size: int,
) -> None:
    db, done = filled
    seen = changes(all_rows(db, narrow(audit.query().resource("t").record("2").order("oldest").limit(size))))
    assert seen == [change for change in done if selects(*change)]


def test_a_record_without_its_table_is_in_order_too(db: Connection) -> None:
    done = fill(db)
    db.execute("select svc.capture_log('files', 'DELETE', record_id => '2')")
    *seen, last = all_rows(db, audit.query().record("2").order("oldest").limit(3))
    assert (changes(seen), last.table_name) == (done, "files")


def test_a_cursor_whose_entry_is_gone_still_shows_the_rest(db: Connection) -> None:
    fill(db)
    query = audit.query().resource("t").record("2").limit(4)  # the last transaction's
    page = query.list(db)
    assert page.next_cursor
    rest = query.after(page.next_cursor).limit(100).list(db)
    db.execute("alter table svc.audit_logs disable trigger user")
    db.execute("delete from svc.audit_logs where id = any(%s)", ([int(entry.id) for entry in page],))
    assert query.after(page.next_cursor).limit(100).list(db) == rest


def test_following_a_record_shows_its_changes_in_order(db: Connection, shop: str) -> None:
    with psycopg.connect(shop) as conn:
        entries = follow(conn, audit.query().resource("t").record("2"), pause=timedelta(milliseconds=10))
        db.execute("insert into t values (2, 0)")
        db.commit()
        first = changes(itertools.islice(entries, 2))
        done = fill_again(db)
        seen = changes(itertools.islice(entries, len(done)))
        entries.close()
    assert (first, seen) == ([(None, 0), (0, 100)], done)


def fill_again(conn: Connection) -> list[tuple[int | None, int | None]]:
    conn.execute("delete from t")
    conn.commit()
    return [(100, None), *fill(conn)]


def test_a_reader_reads_a_history(db: Connection) -> None:
    done = fill(db)
    db.execute("set role svc_reader")
    assert changes(audit.query().resource("t").record("2").order("oldest").list(db)) == done


READ = """
select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int from pg_stat_xact_user_tables
 where schemaname = 'svc' and relname like 'audit_logs%'
"""


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_a_page_of_a_record_with_many_entries_reads_few_of_them(database: str, order: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            """insert into svc.audit_logs ("timestamp", xact_id, table_name, table_oid, operation, record_id,
                                           before_data, after_data)
               select timestamptz '2020-01-01Z' + n * interval '10 min', n / 2, 'public.t', 0, 'UPDATE', '1',
                      jsonb_build_object('a', n), jsonb_build_object('a', n + 1)
                 from generate_series(0, 19999) n"""
        )
        conn.execute("select svc.audit_ensure_partitions()")
        conn.execute("vacuum analyze svc.audit_logs")
        query = audit.query().resource("t").record("1").order(order).limit(10)
        cursor = query.list(conn).next_cursor
        assert cursor
        for ask in (query, query.after(cursor)):
            with conn.transaction():
                before = scalar(conn, READ)
                assert len(ask.list(conn).data) == 10
                read = scalar(conn, READ) - before
            assert 10 <= read <= 250


def places(conn: Connection, record: str) -> list[tuple[str, bool]]:
    rows = conn.execute(
        "select l.operation::text, h.is_chained from svc.audit_history('public.t', %s) h"
        " join svc.audit_logs l on l.id = h.entry_id order by h.place_timestamp, h.place_id",
        (record,),
    )
    return rows.fetchall()


def test_a_truncate_ends_a_record_between_its_entries(db: Connection) -> None:
    db.execute("alter table t disable trigger zz_go_on")
    db.execute("insert into t values (1, 1)")
    db.execute("truncate t")
    db.execute("insert into t values (1, 1)")
    db.execute("delete from t")
    db.commit()
    assert places(db, "1") == [("INSERT", True), ("INSERT", True), ("DELETE", True)]


def test_where_an_entry_is_missing_the_order_is_that_of_capture_and_says_so(db: Connection) -> None:
    db.execute("insert into t values (1, 1)")
    db.commit()
    db.execute("update t set a = 20")
    db.execute("set session_replication_role = replica")
    db.execute("update t set a = 50")
    db.execute("set session_replication_role = origin")
    db.execute("delete from t")
    db.execute("insert into t values (1, 30)")
    db.commit()
    entries = [entry for entry in log(db) if entry["record_id"] == "1"][2:]
    assert places(db, "1")[2:] == [(entry["operation"], False) for entry in entries]


@pytest.mark.parametrize("exists", [True, False])
def test_what_ends_as_it_began_begins_as_the_entry_before_ended(db: Connection, *, exists: bool) -> None:
    db.execute("alter table t disable trigger zz_go_on")
    db.execute("insert into t values (1, 1)")
    db.commit()
    if exists:
        db.execute("delete from t")
        db.execute("insert into t values (1, 1)")
    else:
        db.execute("delete from t")
        db.commit()
        db.execute(
            "create function gone() returns trigger language plpgsql as"
            " $$ begin delete from t where id = 3 - new.id; return null; end $$;"
            " create trigger zz_gone after insert on t for each row execute function gone()"
        )
        db.execute("insert into t values (2, 1), (1, 1)")  # 1 is gone before its own INSERT is on record
    db.commit()
    expected = ["INSERT", "DELETE", "INSERT"] if exists else ["INSERT", "DELETE", "INSERT", "DELETE"]
    assert places(db, "1") == [(operation, True) for operation in expected]


def test_a_key_that_was_moved_ends_one_record_and_begins_the_other(database: str) -> None:
    create_and_audit(database, DDL, Config(audit=AuditConfig(tables=[AuditedTable(name="t")])))
    with psycopg.connect(database) as conn:
        conn.execute("alter table t disable trigger zz_go_on")
        conn.execute("insert into t values (1, 1), (2, 2)")
        conn.execute("delete from t where id = 2")
        conn.execute("update t set id = 2")
        conn.execute("insert into t values (1, 3)")
        assert places(conn, "1") == [("INSERT", True), ("UPDATE", True), ("INSERT", True)]
        assert places(conn, "2") == [("INSERT", True), ("DELETE", True), ("UPDATE", True)]


@given(path=st.lists(st.integers(0, 4), min_size=2, max_size=40), seed=st.integers(0, 1000))
def test_a_walk_uses_every_entry_once_and_ends_where_it_has_to(shared_walks: Connection, path: Any, seed: int) -> None:
    steps = [(str(before), str(after)) for before, after in itertools.pairwise(path)]
    random.Random(seed).shuffle(steps)
    before, after = [step[0] for step in steps], [step[1] for step in steps]
    walk = scalar(shared_walks, "select svc.audit_walk(%s, %s, %s)", (before, after, str(path[0])))
    assert sorted(walk) == [*range(1, len(steps) + 1)]
    taken = [steps[number - 1] for number in walk]
    assert (taken[0][0], taken[-1][1]) == (str(path[0]), str(path[-1]))
    assert all(step[1] == following[0] for step, following in itertools.pairwise(taken))


@pytest.fixture(scope="module")
def shared_walks(shared_database: str) -> Iterator[Connection]:
    with psycopg.connect(shared_database) as conn:
        yield conn


@pytest.mark.parametrize(
    ("before", "after", "start", "walk"),
    [
        (["a", "b"], ["b", "c"], None, [1, 2]),
        (["b", "a"], ["c", "b"], None, [2, 1]),
        (["a", "c"], ["b", "d"], None, None),
        (["a", "b", "x", "y"], ["b", "c", "y", "x"], None, None),
        (["a", ""], ["", "a"], "", [2, 1]),
        (["a", ""], ["", "a"], "a", [1, 2]),
        (["a", ""], ["", "a"], None, [1, 2]),
        (["a", "a"], ["a", "a"], "b", [1, 2]),
        (["a", "a"], ["b", "b"], "a", None),
    ],
)
def test_a_walk_begins_where_the_images_tell_or_else_where_it_is_told(
    conn: Connection, before: list[str], after: list[str], start: str | None, walk: list[int] | None
) -> None:
    assert scalar(conn, "select svc.audit_walk(%s, %s, %s)", (before, after, start)) == walk


def test_a_record_with_very_many_entries_shows_its_last_ones_as_quickly_as_others(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            "insert into svc.audit_logs (timestamp, xact_id, table_name, table_oid, operation, record_id)"
            " select now() - interval '3 h' + n * interval '0.1 s', n, 'public.t', 0, 'UPDATE',"
            "        case when n % 2 = 0 then 'busy' else n::text end from generate_series(1, 20000) n"
        )
        conn.execute("analyze svc.audit_logs")
        record = change_order.OfRecord("busy", ("public.t",))
        text, params = change_order.places(COLUMNS, record, ALL, tables=["public.t"], is_newest=True, limit=6)
        costs = [first_cost(conn, text, params) for _ in range(15)]
    del costs[5]  # the sixth makes two plans, of which the one for any values is kept from then on
    assert max(sum(rows for name, rows in cost.rows.items() if name.startswith("audit_logs_")) for cost in costs) < 100
    assert max(cost.pages for cost in costs[5:]) < 200  # before, plans are made in each
