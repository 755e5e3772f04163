"""Ids of messages and deliveries grow with time, also within a millisecond."""

from itertools import pairwise
from typing import Any
from uuid import RFC_4122

import psycopg
import pytest

from svc_pg.database.query import scalar

CREATED = "select clock_timestamp(), svc.webhook_uuid7(), clock_timestamp() from generate_series(1, 2000)"


@pytest.fixture
def rows(database: str) -> list[Any]:
    """The ids that one statement made, each between two looks at the clock."""
    with psycopg.connect(database) as conn:
        return conn.execute(CREATED).fetchall()


def test_ids_of_one_statement_have_the_order_in_which_they_were_made(rows: list[Any]) -> None:
    apart = [(former, latter) for (_, former, at), (later, latter, _) in pairwise(rows) if at < later]
    assert apart
    assert all(former < latter for former, latter in apart)


def test_each_id_is_a_uuid_version_7_of_its_time(rows: list[Any], database: str) -> None:
    for before, number, after in rows:
        assert (number.version, number.variant) == (7, RFC_4122)
        assert before.timestamp() - 0.001 <= (number.int >> 80) / 1000 <= after.timestamp() + 0.001
    with psycopg.connect(database) as conn:
        for before, number, _ in rows[::20]:
            assert scalar(conn, "select svc.uuid7_at(%s)", (before,)) <= number


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-02-03 04:05:06.789+00", "019c21ac-ec65-7000-8000-000000000000"),
        ("2026-02-03 04:05:06.789999+00", "019c21ac-ec65-7000-8000-000000000000"),
        ("1969-12-31 23:59:59+00", "00000000-0000-7000-8000-000000000000"),
    ],
)
def test_the_least_id_of_a_time_is_of_the_beginning_of_its_millisecond(database: str, time: str, expected: str) -> None:
    with psycopg.connect(database) as conn:
        assert str(scalar(conn, "select svc.uuid7_at(%s::timestamptz)", (time,))) == expected
