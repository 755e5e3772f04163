"""A comparison goes on where it was ended, and in tables that grow, are written anew or attached meanwhile."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.audit.log.reconciliation import Progress
from svc_pg.capture.postgres import pieces
from svc_pg.database.query import scalar
from svc_pg.errors import QueryError
from tests.support.postgres import Prepare
from tests.support.roles import execute
from tests.support.tables import audited, create_and_audit

COMPARING = "svc_pg.audit.reconciliation.comparing"
LOCKING = "svc_pg.audit.reconciliation.locking"
CONFIG = audited("t", "p")
TABLES = """
create table t (id int primary key, a text, n numeric);
create table older (id int primary key, a text);
create table p (id int primary key, a text) partition by range (id);
create table p1 partition of p for values from (0) to (10);
create table p2 partition of p for values from (10) to (20);
insert into t select n, 'a', n from generate_series(1, 5) n;
insert into p select n, 'a' from generate_series(1, 19) n;
"""
MANY = "insert into t select n, repeat('x', 900), n from generate_series(100, 400) n"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, TABLES, CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            schema.backfill(conn, CONFIG)

    return fill


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PAGES", 1)
    monkeypatch.setattr(f"{COMPARING}.PAGES", 1)
    monkeypatch.setattr(f"{COMPARING}.RECORDS", 200)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def unseen(conn: psycopg.Connection[Any], change: LiteralString) -> None:
    conn.execute("set session_replication_role = replica")
    conn.execute(change)
    conn.execute("reset session_replication_role")


def report(found: audit.Reconciliation, table: str = "public.t") -> audit.TableReport:
    [one] = [each for each in found.tables if each.table == table]
    return one


def started(conn: psycopg.Connection[Any], parts: int, config: Config = CONFIG, **options: Any) -> str:
    """The cursor of a comparison that was ended after some pieces."""
    seen: list[Progress] = []
    found = audit.reconcile(conn, config, progress=seen.append, is_over=lambda: len(seen) >= parts, **options)
    assert found.after is not None
    return found.after


def test_it_goes_on_where_it_was_ended(db: psycopg.Connection[Any]) -> None:
    unseen(
        db, "insert into t select n, repeat('x', 900), n from generate_series(100, 400) n; delete from t where id < 3"
    )
    whole = audit.reconcile(db, CONFIG, most=1000)
    seen: list[Progress] = []
    parts, after, named = 0, None, []
    while parts == 0 or after is not None:
        seen.clear()
        found = audit.reconcile(
            db, CONFIG, after=after, most=1000, progress=seen.append, is_over=lambda: len(seen) >= 4
        )
        parts, after = parts + 1, found.after
        named += found.differences
        if after is not None:
            assert not found.is_whole
            assert not found.tables[-1].is_complete
    assert parts > 5
    assert sorted(map(str, named)) == sorted(map(str, whole.differences))
    assert [(each.rows, each.differences) for each in found.tables] == [
        (each.rows, each.differences) for each in whole.tables[-len(found.tables) :]
    ]


def test_a_table_that_was_written_anew_since_its_cursor_is_compared_from_its_beginning(
    db: psycopg.Connection[Any],
) -> None:
    unseen(db, "insert into t select n, repeat('x', 900), n from generate_series(100, 400) n")
    seen: list[Progress] = []
    part = audit.reconcile(db, CONFIG, progress=seen.append, is_over=lambda: len(seen) >= 4)
    db.execute("vacuum full t")
    found = audit.reconcile(db, CONFIG, after=part.after)
    assert (report(found).rows, report(found).missing) == (306, 301)


def test_a_table_that_is_written_anew_meanwhile_is_compared_again(db: psycopg.Connection[Any]) -> None:
    unseen(db, MANY)
    done: list[Progress] = []

    def rewrite(now: Progress) -> None:
        done.append(now)
        if len(done) == 3:
            with psycopg.connect(db.info.dsn, autocommit=True) as other:
                other.execute("vacuum full t")

    found = audit.reconcile(db, CONFIG, table="t", progress=rewrite, most=1000)
    assert (report(found).rows, report(found).missing, len(found.differences)) == (306, 301, 301)


def test_what_is_repaired_stays_found_if_its_table_is_written_anew_meanwhile(
    database: str, db: psycopg.Connection[Any]
) -> None:
    unseen(db, MANY)
    done: list[Progress] = []

    def rewrite(now: Progress) -> None:
        done.append(now)
        if len(done) == 3:
            execute(database, "vacuum full t")

    found = audit.reconcile(db, CONFIG, table="t", repair=True, progress=rewrite, most=1000)
    one = report(found)
    assert (one.rows, one.missing, one.unrecorded, one.repaired) == (306, 301, 301, 301)
    assert len({each.record_id for each in found.differences}) == len(found.differences) == 301
    assert found.is_whole


def test_what_is_repaired_stays_found_if_its_table_is_written_anew_before_it_goes_on(
    database: str, db: psycopg.Connection[Any]
) -> None:
    unseen(db, MANY)
    after = started(db, 4, repair=True)
    execute(database, "vacuum full t")
    one = report(audit.reconcile(db, CONFIG, repair=True, after=after))
    assert (one.rows, one.missing, one.repaired) == (306, 301, 301)


def test_rows_of_a_part_that_was_resumed_count_once_if_it_is_written_anew(
    database: str, db: psycopg.Connection[Any]
) -> None:
    unseen(db, MANY)
    after = started(db, 4)
    done: list[Progress] = []

    def rewrite(now: Progress) -> None:
        done.append(now)
        if len(done) == 3:
            execute(database, "vacuum full t")

    one = report(audit.reconcile(db, CONFIG, after=after, progress=rewrite))
    assert (one.rows, one.missing) == (306, 301)


@pytest.mark.parametrize("repair", [False, True])
def test_a_cursor_goes_on_as_it_began_alone(db: psycopg.Connection[Any], *, repair: bool) -> None:
    after = started(db, 1, repair=repair)
    with pytest.raises(QueryError, match=f"of a reconciliation {'with' if repair else 'without'} repair"):
        audit.reconcile(db, CONFIG, after=after, repair=not repair)


def test_a_repair_that_goes_on_tells_what_was_postponed_before(
    database: str, db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    unseen(db, "update t set a = 'b' where id = 1")
    with monkeypatch.context() as patch, psycopg.connect(database) as writer:
        patch.setattr(f"{LOCKING}._IMPATIENCE", timedelta(milliseconds=10))
        patch.setattr(f"{LOCKING}._PAUSE", timedelta(0))
        writer.execute("update t set a = 'w' where id = 5")
        after = started(db, 1, repair=True)
    db.execute("insert into svc.audit_gaps (table_name, what, name) values ('public.t', 'table', 'a test')")
    found = audit.reconcile(db, CONFIG, repair=True, after=after)
    assert (report(found).postponed, report(found).repaired, found.is_whole) == (["public.t"], 0, False)
    assert scalar(db, "select count(*) from svc.audit_gaps where table_name = 'public.t'") == 1
    assert report(audit.reconcile(db, CONFIG, repair=True)).repaired == 1


def test_pages_that_a_table_gets_meanwhile_are_compared_too(database: str, db: psycopg.Connection[Any]) -> None:
    def grow(now: Progress) -> None:
        if now.table == "public.t" and now.rows == 5:
            with psycopg.connect(database) as other:
                unseen(other, MANY)

    one = report(audit.reconcile(db, CONFIG, table="t", progress=grow))
    new = scalar(db, "select count(*) from t where ctid >= '(1,0)'")  # without those that the first page had room for
    assert new > 200
    assert (one.rows, one.missing) == (5 + new, new)


def test_a_partition_that_is_attached_meanwhile_is_compared_though_it_is_older(db: psycopg.Connection[Any]) -> None:
    after = started(db, 1, table="p")
    db.execute("insert into older values (21, 'a'); alter table p attach partition older for values from (20) to (30)")
    one = report(audit.reconcile(db, CONFIG, after=after), "public.p")
    assert (one.rows, one.missing) == (20, 1)


def test_a_table_of_200_million_rows_is_estimated_before_its_first_piece_and_goes_on(
    db: psycopg.Connection[Any],
) -> None:
    db.execute(MANY)
    db.execute("update pg_class set reltuples = 2e8 where oid = 't'::regclass")
    seen: list[Progress] = []
    found = audit.reconcile(db, CONFIG, table="t", progress=seen.append, is_over=lambda: len(seen) >= 2)
    assert (seen[0].expected, seen[0].rows < 1000) == (200_000_000, True)
    assert found.after is not None
    first = report(found)
    again = audit.reconcile(db, CONFIG, table="t", progress=seen.append, after=found.after)
    assert (again.after, again.is_whole, first.rows < report(again).rows) == (None, True, True)
    assert {each.expected for each in seen[:-1]} == {200_000_000}
    assert seen[-1].expected == seen[-1].rows == report(again).rows
    assert [each.rows for each in seen] == sorted(each.rows for each in seen)
