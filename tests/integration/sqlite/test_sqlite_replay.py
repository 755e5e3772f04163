"""The law of capture in SQLite: replaying the log rebuilds the table, whatever was done to it."""

import json
import math
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sqlite import MODULES, audited, connect, entries

SHAPES = {
    "rowid": "id integer primary key, a text unique collate nocase, b, unique (a, b))",
    "autoincrement": "id integer primary key autoincrement, a unique, b)",
    "descending": "id integer primary key desc, a text collate nocase unique, b)",
    "without rowid": "id text collate nocase, a, b unique, primary key (id, a)) without rowid",
    "no key": "id, a unique, b)",
    "numbers": "id numeric primary key, a real unique, b integer)",
    "generated": "id integer primary key, a, b, c as (a || '!') stored unique, d text as (b) virtual)",
    "strict": "id integer primary key, a text unique, b any) strict",
}
TRIGGERS = [
    "create trigger counting after insert on t begin update t set b = 'counted' where id is new.id; end",
    "create trigger cleaning after update on t when new.b is 'gone' begin delete from t where id is new.id; end",
    "create trigger doubling before insert on t when new.b is 'double'"
    " begin insert or ignore into t (id, a) values (7, 'twin'); end",
]
values = st.one_of(
    st.none(),
    st.sampled_from([0, 1, 2, -1, 1.0, 0.5, "a", "A", "ä", "1", "", "gone", "double", b"a", b"", 0.1 + 0.2, 2**53 + 1]),
    st.floats(1e-30, 1e30),  # beyond, SQLite itself converts no real exactly
    st.floats(-1e30, -1e-30),
    st.sampled_from([math.inf, -math.inf]),
    st.integers(-(2**63), 2**63 - 1),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.text("ab").map(str.encode),
)
ids = st.one_of(st.integers(-1, 4), st.sampled_from([None, "x", "X", "1"]))
policies = st.sampled_from(["abort", "fail", "ignore", "replace", "rollback"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert or {} into t (id, a, b) values (?, ?, ?)"), policies, ids, values, values),
        st.tuples(
            st.just("insert into t (id, a, b) values (?1, ?2, ?3) on conflict do {}"),
            st.sampled_from(["nothing", "update set b = excluded.b", "update set a = ?3, b = ?2"]), ids, values, values,
        ),
        st.tuples(st.just("update or {} t set id = ?, a = ?, b = ? where id is ?"), policies, ids, values, values, ids),
        st.tuples(st.just("update or {} t set b = ?, a = ?"), policies, values, values),
        st.tuples(st.just("update or {} t set b = ? where id is ?"), policies, values, ids),
        st.tuples(st.just("delete from t {}"), st.just("where id is ?"), ids),
        st.tuples(st.just("{}"), st.sampled_from(["delete from t", "begin", "commit", "rollback"])),
    ),
    max_size=12,
)  # fmt: skip


def image(value: Any) -> Any:
    """The value as a snapshot has it, with its type."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def state(snapshot: dict[str, Any] | None) -> str | None:
    """A comparable text that tells 1 from 1.0."""
    return None if snapshot is None else repr(sorted(snapshot.items()))


def contents(conn: sqlite3.Connection) -> Counter[str | None]:
    cursor = conn.execute("select * from t")
    names = [column[0] for column in cursor.description]
    return Counter(state({name: image(each) for name, each in zip(names, row, strict=True)}) for row in cursor)


@pytest.mark.parametrize("recursive", ["on", "off"])
@pytest.mark.parametrize("module", MODULES)
@settings(max_examples=max(30, settings().max_examples))
@given(shape=st.sampled_from(sorted(SHAPES)), has_triggers=st.booleans(), steps=steps)
def test_replaying_the_log_rebuilds_the_table(
    module: str, recursive: str, *, shape: str, has_triggers: bool, steps: list[tuple[Any, ...]]
) -> None:
    with closing(connect(module)) as conn:
        conn.execute(f"create table t ({SHAPES[shape]}")
        for trigger in TRIGGERS if has_triggers else ():
            conn.execute(trigger)
        audited(conn, "t")
        conn.execute(f"pragma recursive_triggers = {recursive}")
        for statement, words, *params in steps:
            with suppress(*errors(module)):
                conn.execute(statement.format(words), params)
        with suppress(*errors(module)):
            conn.execute("commit")
        rows: Counter[str | None] = Counter()
        records: dict[str, str | None] = {}
        for record, moved_from, before, after in entries(conn, "record_id, moved_from, before_data, after_data"):
            old, new = (state(None if text is None else json.loads(text)) for text in (before, after))
            rows.subtract([old])
            rows.update([new])
            if record is not None and not (has_triggers and recursive == "on"):
                if before is None or json.loads(before).get("id") is not None:  # SQLite takes several keys of null
                    assert records.pop(moved_from or record, None) == old, entries(conn, "*")
                records[record] = new
            assert rows[old] >= 0 or old is None, entries(conn, "*")
        rows.pop(None, None)
        assert +rows == contents(conn), entries(conn, "*")


def errors(module: str) -> tuple[type[Exception], ...]:
    """The errors of SQLite."""
    return (vars(__import__(f"{module}.dbapi2", fromlist=["Error"]))["Error"],)
