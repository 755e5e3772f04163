"""The order of change: what triggers and foreign keys do inside a statement is in the order in which it was done."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from svc_pg.query import scalar
from tests.support.nested_changes import KEYS, audited, begin, changes, moves, take, touches
from tests.support.replay import contents, history, replay, states

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module", params=["row", "statement"])
def versioned(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[Connection]:
    with audited(template, postgres, request.param, has_versions=True) as conn:
        yield conn


@pytest.fixture(scope="module", params=["row", "statement"])
def unversioned(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[Connection]:
    with audited(template, postgres, request.param, has_versions=False) as conn:
        yield conn


def check_records(conn: Connection, after: int) -> list[Any]:
    """Each record's history is a chain that ends in its row; return the states of all, record by record."""
    seen = []
    for key in KEYS:
        passed = list(states(history(conn, "public.t", str(key), after=after)))
        row = scalar(conn, "select to_jsonb(t) from t where id = %s", (key,))
        assert row == (passed[-1] if passed else None)
        seen.append(passed)
    return seen


def check_rows(conn: Connection, after: int) -> None:
    """The log rebuilds the table."""
    conn.execute("create temporary table copy (like t)")
    replay(conn, "public.t", into=sql.Identifier("copy"), after=after)
    assert contents(conn, sql.Identifier("copy")) == contents(conn, sql.Identifier("t"))
    conn.rollback()


@given(
    transactions=st.lists(
        st.lists(st.tuples(changes | moves, st.lists(changes | moves, max_size=6)), min_size=1, max_size=4), max_size=3
    )
)
def test_what_is_nested_is_in_the_order_in_which_it_was_done(
    versioned: Connection, transactions: list[list[tuple[str, list[str]]]]
) -> None:
    conn = versioned
    start = begin(conn)
    for steps in transactions:
        for statement, plan in steps:
            take(conn, statement, plan)
        conn.commit()
    for passed in check_records(conn, start):
        for is_life, life in groupby(passed, key=bool):  # absence recurs, and nothing orders two lives between
            versions = [state["v"] for state in life if is_life]
            assert versions == sorted(versions)
    check_rows(conn, start)


@given(
    transactions=st.lists(
        st.lists(st.tuples(changes, st.lists(changes, max_size=6)), min_size=1, max_size=4), max_size=3
    )
)
def test_where_images_recur_the_history_is_a_chain_that_ends_in_the_row(
    unversioned: Connection, transactions: list[list[tuple[str, list[str]]]]
) -> None:
    conn = unversioned
    start = begin(conn)
    for steps in transactions:
        for statement, plan in steps:
            take(conn, statement, plan)
        conn.commit()
    check_records(conn, start)
    check_rows(conn, start)


@pytest.fixture(scope="module", params=["row", "statement"])
def ignoring(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[Connection]:
    with audited(template, postgres, request.param, has_versions=True, ignore=["v"]) as conn:
        yield conn


@given(
    transactions=st.lists(
        st.lists(st.tuples(changes | touches, st.lists(changes | touches, max_size=6)), min_size=1, max_size=4),
        max_size=3,
    )
)
def test_what_is_nested_is_in_order_also_if_ignored_changes_lie_between(
    ignoring: Connection, transactions: list[list[tuple[str, list[str]]]]
) -> None:
    conn = ignoring
    start = begin(conn)
    for steps in transactions:
        for statement, plan in steps:
            take(conn, statement, plan)
        conn.commit()
    for key in KEYS:
        found = history(conn, "public.t", str(key), after=start)
        if all(is_chained for _, _, is_chained in found):
            passed = list(states([(without_version(old), without_version(new), True) for old, new, _ in found]))
            row = scalar(conn, "select to_jsonb(t) - 'v' from t where id = %s", (key,))
            assert row == (passed[-1] if passed else None)


def without_version(image: Any) -> Any:
    return image and {name: value for name, value in image.items() if name != "v"}
