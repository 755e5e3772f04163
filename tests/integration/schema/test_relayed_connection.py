"""A connection that relays statements to another driver's is as psycopg's own inside a transaction."""

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from svc_pg.database.performing import check_idle
from svc_pg.database.relayed_connection import RelayedConnection, relayed
from svc_pg.errors import TransactionError


@pytest.fixture
def relaying(conn: psycopg.Connection[Any]) -> RelayedConnection:
    """A connection whose statements go to psycopg, which knows nothing of its loaders."""
    return relayed(lambda statement: conn.execute(statement.encode()))


def test_what_needs_an_idle_connection_refuses_it(relaying: RelayedConnection) -> None:
    with pytest.raises(TransactionError, match="inside a transaction"):
        check_idle(relaying)
    assert not relaying.autocommit


def test_values_are_those_that_psycopg_reads(relaying: RelayedConnection) -> None:
    row = relaying.execute(
        "select true, 2, null::int, %s, array[%s], timestamptz '2026-01-02 03:04:05+00' at time zone 'utc', 100 %% 7",
        ("it's \\", "b"),
    ).fetchone()
    assert row == (True, 2, None, "it's \\", ["b"], datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).replace(tzinfo=None), 2)
    assert relaying.numbered_cursor().execute("select $2, $1", ("a", 1)).fetchall() == [(1, "a")]


def fail(relaying: RelayedConnection) -> None:
    with relaying.transaction():
        relaying.execute("insert into noted values (1)")
        relaying.execute("select 1 / 0")


def test_a_block_that_fails_leaves_nothing_and_the_transaction_goes_on(relaying: RelayedConnection) -> None:
    relaying.execute("create temporary table noted (id int)")
    with pytest.raises(psycopg.errors.DivisionByZero):
        fail(relaying)
    with relaying.transaction(force_rollback=True):
        relaying.execute("insert into noted values (2)")
    with relaying.transaction():
        relaying.execute("insert into noted values (3)")
    assert relaying.execute("select id from noted").fetchall() == [(3,)]
