"""The order of change: what triggers and foreign keys do inside a statement is in the order in which it was done."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from svc_pg.database.query import scalar
from tests.support.nested_changes import KEYS, audited, begin, changes, moves, take, touches
from tests.support.replay import contents, history, replay, states

Connection = psycopg.Connection[Any]
Transactions = list[list[tuple[str, list[str]]]]


def drawn(statements: st.SearchStrategy[str]) -> st.SearchStrategy[Transactions]:
    """Transactions of statements, each with the plan that triggers execute in it."""
    steps = st.tuples(statements, st.lists(statements, max_size=6))
    return st.lists(st.lists(steps, min_size=1, max_size=4), max_size=3)


def do(conn: Connection, transactions: Transactions) -> int:
    """Do them all; return the id of the log before the first."""
    start = begin(conn)
    for steps in transactions:
        for statement, plan in steps:
            take(conn, statement, plan)
        conn.commit()
    return start


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


@given(transactions=drawn(changes | moves))
def test_what_is_nested_is_in_the_order_in_which_it_was_done(versioned: Connection, transactions: Transactions) -> None:
    start = do(versioned, transactions)
    for passed in check_records(versioned, start):
        for is_life, life in groupby(passed, key=bool):  # absence recurs, and nothing orders two lives between
            versions = [state["v"] for state in life if is_life]
            assert versions == sorted(versions)
    check_rows(versioned, start)


@given(transactions=drawn(changes))
def test_where_images_recur_the_history_is_a_chain_that_ends_in_the_row(
    unversioned: Connection, transactions: Transactions
) -> None:
    start = do(unversioned, transactions)
    check_records(unversioned, start)
    check_rows(unversioned, start)


@pytest.fixture(scope="module", params=["row", "statement"])
def ignoring(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[Connection]:
    with audited(template, postgres, request.param, has_versions=True, ignore=["v"]) as conn:
        yield conn


@given(transactions=drawn(changes | touches))
def test_what_is_nested_is_in_order_also_if_ignored_changes_lie_between(
    ignoring: Connection, transactions: Transactions
) -> None:
    start = do(ignoring, transactions)
    for key in KEYS:
        found = history(ignoring, "public.t", str(key), after=start)
        if all(is_chained for _, _, is_chained in found):
            passed = list(states([(without_version(old), without_version(new), True) for old, new, _ in found]))
            row = scalar(ignoring, "select to_jsonb(t) - 'v' from t where id = %s", (key,))
            assert row == (passed[-1] if passed else None)


def without_version(image: Any) -> Any:
    return image and {name: value for name, value in image.items() if name != "v"}
