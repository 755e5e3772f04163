"""Changes of audited tables that no entry tells: status names those that the catalog shows, until a backfill."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.sql import Identifier

from svc_pg import audit, schema
from svc_pg.database.query import scalar
from tests.support.postgres import Prepare
from tests.support.replay import contents, replay
from tests.support.tables import audited, create_and_audit

CONFIG = audited("w", "g", "p")
TABLES = """
create table w (id int primary key, v int);
create table g (id int primary key, v int, s int generated always as (v * 2) stored, note text);
create table p (id int primary key, v int) partition by range (id);
create table p1 partition of p for values from (0) to (10);
create table p2 partition of p for values from (10) to (20);
insert into w select n, n from generate_series(1, 3) n;
insert into g (id, v) select n, n from generate_series(1, 3) n;
insert into p select n, n from generate_series(1, 19) n;
"""
UNSEEN: list[tuple[LiteralString, str]] = [
    ("alter table w disable trigger user; update w set v = 0; alter table w enable trigger user", "trigger"),
    ("alter table p2 disable trigger user; update p2 set v = 0; alter table p2 enable trigger user", "trigger"),
    ("alter table w alter v type int using v * 100", "rewritten"),
    ("alter table w alter v type bigint using v * 100", "rewritten"),
    ("alter table g alter v drop not null; alter table g alter note type text using 'x'", "rewritten"),
    ("alter table p alter v type int using v * 100", "rewritten"),
    ("alter table w add c int default 7", "added"),
    ("alter table w add c int generated always as (v + 1) stored", "added"),
    ("alter table g add c text default clock_timestamp()::text", "added"),
    ("alter table g alter s set expression as (v * 3)", "expression"),
    ("alter table p detach partition p2", "gone"),
    ("drop table p2", "gone"),
    (
        "create table p3 (like p including all); insert into p3 values (25, 25)",
        "attached",
    ),
    (
        "create table p3 partition of p for values from (20) to (30); insert into p values (25, 1); truncate p3",
        "truncated",
    ),
    (
        "create table w2 (like w including all); insert into w2 select id, v * 100 from w where id < 3;"
        " alter table w rename to w_old; alter table w2 rename to w; drop table w_old",
        "swapped",
    ),
]
HARMLESS: list[LiteralString] = [
    "alter table g add c text; alter table g drop note; alter table g rename v to u; alter table w add c text",
    "alter table w alter v set not null; alter table g alter v set default 5; alter table g alter s set statistics 5",
    "alter table w add constraint positive check (v > 0); create index on w (v); alter table w enable trigger user",
    "alter table w add c varchar(5); alter table w alter c type varchar(9)",
    "alter table w set unlogged; alter table g set unlogged; alter table g set logged; truncate w",
    "create table p3 partition of p for values from (20) to (30); insert into p values (25, 1)",
    "begin; create table p3 (like p including all); alter table p attach partition p3 for values from (20) to (30);"
    " commit",
    "alter table w rename to w9; alter table w9 rename to w",
]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, TABLES, CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            schema.backfill(conn, CONFIG)

    return fill


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def incomplete(conn: psycopg.Connection[Any]) -> set[str]:
    """The tables that status calls incomplete."""
    found = [entry for entry in schema.status(conn, CONFIG) if entry.state == "incomplete"]
    assert all(entry.kind == "gap" and entry.action == "keep" for entry in found)
    return {entry.audited_table or "" for entry in found}


def run(conn: psycopg.Connection[Any], change: LiteralString) -> None:
    for statement in change.split("; "):  # each in a transaction of its own
        conn.execute(statement)


@pytest.mark.parametrize(("change", "what"), UNSEEN)
def test_status_names_what_no_entry_tells_until_a_backfill(
    db: psycopg.Connection[Any], change: LiteralString, what: str
) -> None:
    if what == "expression" and db.info.server_version < 170000:
        pytest.skip("PostgreSQL 17 brought SET EXPRESSION")
    assert incomplete(db) == set()
    run(db, change)
    if what == "attached":
        db.execute("alter table p attach partition p3 for values from (20) to (30)")
    [table] = incomplete(db)
    schema.install(db, CONFIG)
    assert incomplete(db) == {table}  # an install does not hide it
    assert scalar(db, "select array_agg(distinct what) from svc.audit_gaps") == [what]
    assert schema.backfill(db, CONFIG)[table] > 0
    schema.install(db, CONFIG)
    assert [entry.identity for entry in schema.status(db, CONFIG) if entry.state != "ok"] == []
    assert set(schema.backfill(db, CONFIG).values()) == {0}
    for name in ("w", "g", "p"):
        past = audit.as_of(name, datetime.now(UTC)).list(db).data
        rows = db.execute(f"select * from {name} order by id::text".encode()).fetchall()
        assert [tuple(row.values.values()) for row in past] == rows
        db.execute(f"create table rebuilt (like {name})".encode())
        replay(db, f"public.{name}", into=Identifier("rebuilt"))
        assert contents(db, Identifier("rebuilt")) == contents(db, Identifier(name))
        db.execute("drop table rebuilt")


def test_a_table_without_columns_has_no_gaps(db: psycopg.Connection[Any]) -> None:
    db.execute("create table bare ()")
    config = audited("bare")
    schema.install(db, config, prune=True)
    assert schema.install(db, config) == []
    db.execute("alter table bare add id int default 1")
    assert schema.install(db, config)


@pytest.mark.parametrize("change", HARMLESS)
def test_status_says_nothing_of_what_changes_no_rows(db: psycopg.Connection[Any], change: LiteralString) -> None:
    run(db, change)
    run(db, "vacuum full w; cluster g using g_pkey; vacuum full p1; reindex table w; analyze; vacuum full pg_trigger")
    assert incomplete(db) == set()
    schema.install(db, CONFIG)
    assert incomplete(db) == set()
