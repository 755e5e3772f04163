"""The order of a record's entries in SQLite if the rules of its table leave changes out of the log."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_pg import audit, schema
from svc_pg.other_databases.schema.sqlite.sql_script import script
from tests.support.sqlite import audited, config, connect, entries, run

DDL = "create table t (id integer primary key, status text, total integer default 0, seen integer default 0)"
LIVE = {"any": [{"before": {"status": "live"}}, {"after": {"status": "live"}}]}
RULES: dict[str, dict[str, Any]] = {
    "ignored": {"name": "ignored", "ignore": ["seen"]},
    "conditional": {"name": "conditional", "record_when": LIVE},
}
STEPS = 4
"""The changes of one row that one statement makes."""

Row = tuple[str | None, int, int]


def changes(conn: Any, table: str, record: str) -> list[tuple[Row | None, Row | None]]:
    """The rows before and after, as a list of the record tells them."""
    listed = audit.query().resource(table).record(record).order("oldest").limit(100).list(conn)
    return [(row_of(entry.before_data), row_of(entry.after_data)) for entry in listed]


def row_of(snapshot: Any) -> Row | None:
    return None if snapshot is None else (snapshot.value["status"], snapshot.value["total"], snapshot.value["seen"])


@pytest.fixture(scope="module")
def shop() -> Iterator[sqlite3.Connection]:
    """Two tables, one of which leaves out a column and one some states; a row of ``order_t`` is what to do in t."""
    with closing(connect()) as conn:
        for table in RULES:
            conn.execute(DDL.replace("table t", f"table {table}"))
            names = [f"{column}{step}" for step in range(STEPS) for column in ("status", "total", "seen")]
            conn.execute(f"create table order_{table} (id, {', '.join(names)})")
            updates = "".join(
                f"update {table} set status = new.status{step}, total = new.total{step}, seen = new.seen{step}"
                f" where id = new.id and new.status{step} is not null;"
                for step in range(STEPS)
            )
            conn.execute(f"create trigger do_{table} after insert on order_{table} begin {updates} end")
        audited(conn, *RULES.values())
        yield conn


row = st.tuples(st.sampled_from(["live", "draft", "gone"]), st.integers(0, 1), st.integers(0, 1))
business = st.lists(st.lists(row, min_size=1, max_size=STEPS), min_size=1, max_size=4)


def do(conn: sqlite3.Connection, table: str, orders: Sequence[Sequence[Row]]) -> tuple[str, list[tuple[Row, Row]]]:
    """Change a row of its own by these statements; return its key and every change of it."""
    last: Row = ("live", 0, 0)
    record = conn.execute(f"insert into {table} (status) values ('live')").lastrowid
    made = []
    for order in orders:
        values = [value for each in order for value in each] + [None] * 3 * (STEPS - len(order))
        conn.execute(f"insert into order_{table} values (?{', ?' * 3 * STEPS})", (record, *values))
        for each in order:
            made += [(last, each)] if each != last else []
            last = each
    return str(record), made


@given(orders=business)
@example([[("draft", 0, 0), ("draft", 0, 1), ("live", 0, 0), ("draft", 0, 1)]])
def test_entries_are_in_the_order_of_change_also_if_ignored_changes_lie_between(
    shop: sqlite3.Connection, orders: list[list[Row]]
) -> None:
    record, made = do(shop, "ignored", orders)
    assert changes(shop, "ignored", record)[1:] == [(old, new) for old, new in made if old[:2] != new[:2]]


@given(orders=business)
def test_no_order_is_made_up_around_changes_that_were_left_out(
    shop: sqlite3.Connection, orders: list[list[Row]]
) -> None:
    record, made = do(shop, "conditional", orders)
    assert changes(shop, "conditional", record)[1:] == [(old, new) for old, new in made if "live" in (old[0], new[0])]


def test_a_walk_that_only_a_missing_change_allows_is_not_taken(shop: sqlite3.Connection) -> None:
    away: list[Row] = [("draft", 1, 1), ("gone", 2, 2), ("live", 0, 0)]
    record, made = do(shop, "conditional", [away])
    assert changes(shop, "conditional", record)[1:] == [made[0], made[2]]
    ids = [int(change.id) for change in audit.last_changes(shop, "conditional", int(record))]
    assert ids == sorted(ids, reverse=True)


def test_what_a_trigger_changes_is_told_after_its_cause_if_an_ignored_change_lies_between(
    conn: sqlite3.Connection,
) -> None:
    conn.execute(DDL)
    audited(conn, {"name": "t", "ignore": ["seen"]})
    conn.execute(
        "create trigger app after update of status on t begin"
        " update t set seen = seen + 1 where id = new.id; update t set total = total + 1 where id = new.id; end"
    )
    run(conn, ["insert into t (id, status) values (1, 'new')", "update t set status = 'paid'"])
    assert [json.loads(text) for text in entries(conn, "changed_fields")[1:]] == [["total"], ["status"]]
    listed = audit.query().resource("t").record("1").order("oldest").list(conn).data
    assert [entry.changed_fields for entry in listed[1:]] == [["status"], ["total"]]


def test_a_row_that_is_replaced_by_an_equal_one_ends_before_it_begins(conn: sqlite3.Connection) -> None:
    conn.execute(DDL)
    conn.execute("insert into t values (1, 'live', 1, 0)")
    audited(conn, "t")
    conn.execute("replace into t values (1, 'live', 1, 0)")
    assert changes(conn, "t", "1") == [(("live", 1, 0), None), (None, ("live", 1, 0))]


def test_scripts_and_installs_tell_what_was_ever_left_out(conn: sqlite3.Connection) -> None:
    conn.execute(DDL)
    known = "select table_name, ignored, is_conditional from svc_audit_omissions"
    rules: list[dict[str, Any]] = [{"ignore": ["total", "seen"]}, {"record_when": LIVE}, {"ignore": ["status"]}, {}]
    expected = [('["seen", "total"]', 0), ('["seen","total"]', 1), ('["seen","status","total"]', 1)]
    for number, options in enumerate(rules):
        wanted = config({"name": "t"} | options)
        if number % 2:
            schema.install(conn, wanted)
        else:
            made = script(conn, wanted)
            assert made is not None
            conn.executescript(made.upgrade)
        assert {status.state for status in schema.status(conn, wanted)} == {"ok"}
        assert conn.execute(known).fetchall() == [("main.t", *expected[min(number, 2)])]
    run(conn, ["insert into t (id, status) values (1, 'new')", "update t set seen = 1"])
    assert len(changes(conn, "t", "1")) == 2


def test_an_order_that_somebody_has_forged_is_not_claimed(conn: sqlite3.Connection) -> None:
    conn.execute(DDL)
    audited(conn, {"name": "t", "ignore": ["seen"]})
    run(conn, ["insert into t (id, status) values (1, 'a')", "pragma ignore_check_constraints = on"])
    for forged in ("'{'", "'[[1], {}]'", "'5'", "x'ff'"):
        conn.execute(f"update svc_audit_omissions set ignored = {forged}")
        assert changes(conn, "t", "1") == [(None, ("a", 0, 0))]
