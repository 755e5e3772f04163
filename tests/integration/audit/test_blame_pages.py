"""The origins of a record's fields, found page by page, are those that one reading of all its entries finds."""

from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit import FieldOrigin
from svc_pg.audit.past import blame as module
from svc_pg.errors import NotFoundError, QueryError
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

TABLE = "create table t (id int primary key, a int, b int, c int, d int, e int)"
SEEDS = range(5)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, TABLE, audited("t"))
        with psycopg.connect(conninfo, autocommit=True) as conn:
            for seed in SEEDS:
                _live(conn, seed)

    return fill


def _live(conn: psycopg.Connection[Any], seed: int) -> None:
    """A record whose fields were set more and more seldom, some within long transactions, and which moved."""
    random, key = Random(seed), 1000 + seed
    if seed == 1:
        conn.execute("insert into t values (1001, 0, 0, 0, 0, 0)")
        conn.execute("delete from t where id = 1001")
    conn.execute("insert into t values (%s, 0, 0, 0, 0, 0)", [key])
    n, left = 0, 1200
    while left:
        size = min(left, random.choice([1, 1, 1, 2, 40]) if seed != 2 or left > 900 or left < 850 else 500)
        left -= size
        with conn.transaction():
            for _ in range(size):
                n += 1
                field = random.choices("abcd", [1000, 60 if n < 900 else 0, 8 if n < 400 else 0, 2 if n < 20 else 0])[0]
                conn.execute(f"update t set {field} = {n} where id = {key}".encode())
        if seed >= 3 and left and random.random() < 0.004:
            conn.execute("update t set id = id + 1000 where id = %s", [key])
            key += 1000
    if seed == 4:
        conn.execute("update t set id = 9 where id = %s", [key])


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.mark.parametrize("most", [5, 100, 600, 1000])
@pytest.mark.parametrize("seed", SEEDS)
def test_pages_find_what_one_reading_finds(
    conn: psycopg.Connection[Any], seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    [[key]] = conn.execute("select id from t order by (id - 9) % 1000 = 0 desc, id % 1000").fetchall()[seed : seed + 1]
    monkeypatch.setattr(module, "MOST_ENTRIES", 10**6)
    whole = audit.blame(conn, "t", key)
    assert whole.next_cursor is None
    assert {origin.field for origin in whole} == {"id", "a", "b", "c", "d", "e"}
    monkeypatch.setattr(module, "MOST_ENTRIES", most)
    page = audit.blame(conn, "t", key)
    assert {origin.field for origin in page} == {"id", "a", "b", "c", "d", "e"}
    found: dict[str, FieldOrigin] = {}
    for _ in range(600):
        found |= {origin.field: origin for origin in page if origin.unchanged_since is None}
        left = {origin.field: origin for origin in page if origin.unchanged_since is not None}
        assert (page.next_cursor is None) == (not left)
        for origin in left.values():
            true = next(each for each in whole if each.field == origin.field)
            assert origin.value == true.value
            assert origin.entry_id is None
            assert origin.unchanged_since is not None
            assert true.changed_at is None or true.changed_at <= origin.unchanged_since
        if page.next_cursor is None:
            break
        page = audit.blame(conn, "t", key, after=page.next_cursor)
        assert {origin.field for origin in page} == set(left)
    assert found == {origin.field: origin for origin in whole}


def test_what_changes_meanwhile_does_not_change_the_pages(
    conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 100)
    first = audit.blame(conn, "t", 1000)
    assert first.next_cursor is not None
    before = audit.blame(conn, "t", 1000, after=first.next_cursor)
    conn.execute("update t set e = 77 where id = 1000")
    assert audit.blame(conn, "t", 1000, after=first.next_cursor) == before
    conn.execute("delete from t where id = 1000")
    assert audit.blame(conn, "t", 1000, after=first.next_cursor) == before
    with pytest.raises(NotFoundError, match="is gone"):
        audit.blame(conn, "t", 1000)


def test_a_cursor_of_another_record_and_no_cursor_are_refused(
    conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 100)
    cursor = audit.blame(conn, "t", 1000).next_cursor
    assert cursor is not None
    with pytest.raises(QueryError, match="no longer has the state"):
        audit.blame(conn, "t", 1001, after=cursor)
    for text in ("x", cursor[:-4], "WyIxIl0"):
        with pytest.raises(QueryError, match="is not a cursor"):
            audit.blame(conn, "t", 1000, after=text)
