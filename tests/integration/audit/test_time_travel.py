"""Rows and records as they were at a time equal the copies that were taken then."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg import audit
from svc_pg.audit.past import as_of as as_of_module
from svc_pg.database.pagination import encode
from svc_pg.database.query import scalar
from tests.support.nested_changes import KEYS, audited, begin, changes, moves, take

Connection = psycopg.Connection[Any]

_PAST = "select id, up, a, v from svc.as_of_public_t(%s) order by id"
_BY_VIEW = """
select id, up, a, v from svc.history_public_t
 where valid_from between %s and %s and (valid_to > %s or valid_to is null) order by id
"""


@pytest.fixture(scope="module", params=["row", "statement"])
def db(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[Connection]:
    with audited(template, postgres, request.param, has_versions=False) as conn:
        yield conn


def rows(conn: Connection) -> list[Any]:
    return conn.execute("select id, up, a, v from t order by id").fetchall()


def now(conn: Connection) -> datetime:
    time: datetime = scalar(conn, "select clock_timestamp()")
    return time


@given(
    transactions=st.lists(
        st.lists(st.tuples(changes | moves | st.just("truncate t"), st.lists(changes | moves, max_size=6)), max_size=4),
        min_size=1,
        max_size=4,
    )
)
def test_the_past_is_what_it_was_whatever_nested_changes_did(
    db: Connection, transactions: list[list[tuple[str, list[str]]]]
) -> None:
    begin(db)  # nothing is there
    start = now(db)
    copies = [(start, rows(db))]
    for steps in transactions:
        for statement, plan in steps:
            take(db, statement, plan)
        db.commit()
        copies.append((now(db), rows(db)))
    for time, copy in copies:
        assert db.execute(_PAST, (time,)).fetchall() == copy
        assert db.execute(_BY_VIEW, (start, time, time)).fetchall() == copy
        by_key = {row[0]: row for row in copy}
        for key in KEYS:
            found = audit.as_of("t", time).record(key).list(db).data
            assert [tuple(row.values.values()) for row in found] == ([by_key[key]] if key in by_key else [])
        check_pages(db, time, [row[0] for row in copy])
    for key in KEYS:
        check_history(db, key, start)
    db.rollback()


def check_pages(conn: Connection, time: datetime, keys: list[int]) -> None:
    """Pages in both directions have each row once, also if they end when they have looked at two records."""
    for most in (2, 1000):
        with patch.object(as_of_module, "MOST_RECORDS", most):
            query = audit.as_of("t", time).limit(2)
            pages = [query.list(conn)]
            while pages[-1].next_cursor is not None:
                pages.append(query.after(pages[-1].next_cursor).list(conn))
            assert [int(row.record_id) for page in pages for row in page] == keys
            seen: list[int] = []
            cursor: str | None = encode(("9", time.isoformat()))
            while cursor is not None:
                page = query.before(cursor).list(conn)
                seen = [*(int(row.record_id) for row in page), *seen]
                cursor = page.prev_cursor
            assert seen == keys


def check_history(conn: Connection, key: int, start: datetime) -> None:
    """Pages of any size tell the same states, of which each ends when the next one begins, or before."""
    newest = audit.history("t", key).limit(1000).list(conn).data
    states = [state for state in newest if state.valid_from >= start][::-1]
    for state, following in pairwise(states):
        assert state.valid_from <= (state.valid_to or state.valid_from) <= following.valid_from
        assert state.is_in_order
        assert state.after_data is not None or state.valid_from == state.valid_to
    last = newest[0]
    row = scalar(conn, "select to_jsonb(t) from t where id = %s", (key,))
    assert (last.after_data is not None and last.valid_to is None) == (row is not None)
    if row is not None:
        assert last.after_data is not None
        assert last.after_data.value == row
    paged: list[audit.RecordState] = []
    cursor = None
    while len(paged) < len(states):
        query = audit.history("t", key).limit(3)
        page = (query if cursor is None else query.after(cursor)).list(conn)
        paged += page.data
        cursor = page.next_cursor
    assert paged == list(newest[: len(paged)])
