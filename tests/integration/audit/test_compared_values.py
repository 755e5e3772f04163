"""Rows are compared whatever their key and though the rules have changed, by a reconciliation and by a backfill."""

from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema
from tests.support.tables import create_and_audit, log


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def configured(**options: Any) -> Config:
    return Config.model_validate({"audit": {"tables": [{"name": "r"} | options]}})


def unseen(conn: psycopg.Connection[Any], change: LiteralString) -> None:
    conn.execute("set session_replication_role = replica")
    conn.execute(change)
    conn.execute("reset session_replication_role")


def differences(found: audit.Reconciliation) -> list[tuple[str, str, list[str]]]:
    return sorted((each.kind, each.record_id, each.fields) for each in found.differences)


def check_whole(conn: psycopg.Connection[Any], rules: Config) -> None:
    """Neither a reconciliation nor a backfill finds anything."""
    found = audit.reconcile(conn, rules, repair=True)
    assert differences(found) == []
    assert [each.repaired for each in found.tables] == [0]
    assert schema.backfill(conn, rules) == {"public.r": 0}


def test_a_key_of_several_columns_may_have_nulls(db: psycopg.Connection[Any]) -> None:
    rules = configured(key=["a", "b"])
    create_and_audit(db.info.dsn, "create table r (a int, b int, n int)", rules)
    db.execute("insert into r values (1, null, 1), (2, 2, 2), (3, null, 3), (null, null, 4)")
    check_whole(db, rules)
    unseen(db, "update r set n = 7 where a = 1; delete from r where a = 3")
    found = audit.reconcile(db, rules, repair=True)
    assert differences(found) == [("differs", "[1, null]", ["n"]), ("gone", "[3, null]", [])]
    check_whole(db, rules)
    unseen(db, "delete from r where a is null")
    assert schema.backfill(db, rules) == {"public.r": 1}
    check_whole(db, rules)


def test_rows_whose_key_is_null_are_not_compared_and_told(db: psycopg.Connection[Any]) -> None:
    rules = configured(key=["a"])
    create_and_audit(db.info.dsn, "create table r (a int, n int)", rules)
    db.execute("insert into r values (null, 1), (2, 2)")
    unseen(db, "insert into r values (null, 3)")
    check_whole(db, rules)
    [one] = audit.reconcile(db, rules).tables
    assert (one.rows, one.is_whole) == (3, True)
    assert one.notes == ["2 rows not compared: the key is null, so nothing tells which entries are theirs"]


WAYS = ("hash", "mask", "last4", "remove", "none")
COLUMNS = {f"{before}_{now}": (before, now) for before in WAYS for now in WAYS}


def test_columns_that_are_redacted_otherwise_now_are_not_compared_and_told(db: psycopg.Connection[Any]) -> None:
    old, new = (
        configured(redact={column: ways[number] for column, ways in COLUMNS.items() if ways[number] != "none"})
        for number in (0, 1)
    )
    columns = ", ".join(f"{column} text" for column in COLUMNS)
    create_and_audit(db.info.dsn, f"create table r (id int primary key, n int, {columns})", old)
    for key, value in enumerate(("1111 2222", "1", None), 1):
        db.execute(f"insert into r values ({', '.join(['%s'] * 27)})".encode(), (key, 1, *[value] * 25))
    schema.install(db, new, prune=True)
    check_whole(db, new)
    [one] = audit.reconcile(db, new).tables
    changed = sorted(column for column, (before, now) in COLUMNS.items() if before != now != "remove")
    assert one.notes[-1] == f"redacted otherwise in some entries, so not compared with those: {', '.join(changed)}"
    unseen(db, "update r set n = 7 where id = 1")
    assert differences(audit.reconcile(db, new, repair=True)) == [("differs", "1", ["n"])]
    for column in COLUMNS:
        unseen(db, f"update r set {column} = '3333 4444' where id = 1")
    told = sorted(column for column, (_, now) in COLUMNS.items() if now in ("hash", "last4", "none"))
    assert differences(audit.reconcile(db, new, repair=True)) == [("differs", "1", told)]
    check_whole(db, new)


@pytest.mark.parametrize(("before", "now"), [(None, 256), (256, None), (256, 2000), (2000, 256)])
def test_a_large_value_is_compared_by_its_digest_if_one_side_has_only_that(
    db: psycopg.Connection[Any], before: int | None, now: int | None
) -> None:
    old, new = (configured(**({"max_value_bytes": most} if most else {})) for most in (before, now))
    create_and_audit(db.info.dsn, "create table r (id int primary key, s text, j jsonb)", old)
    db.execute("""insert into r select n, repeat('x"é', 300), jsonb_build_object('a', repeat('y', 900), 'b', 1.50)
                    from generate_series(1, 3) n""")
    schema.install(db, new)
    check_whole(db, new)
    unseen(db, "update r set s = repeat('z', 900) where id = 1; update r set j = j || '{\"b\": 2}' where id = 2")
    unseen(db, "update r set s = 'short' where id = 3")
    assert differences(audit.reconcile(db, new)) == [
        ("differs", "1", ["s"]),
        ("differs", "2", ["j"]),
        ("differs", "3", ["s"]),
    ]
    assert schema.backfill(db, new) == {"public.r": 3}
    check_whole(db, new)
    assert len(log(db)) > 3
