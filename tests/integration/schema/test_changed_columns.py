"""A table whose capture is out of date is told with the columns that changed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import schema
from svc_pg.schema.postgres.changed_columns import MOST_NAMED
from tests.support.commands import svc_pg
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

CONFIG = audited("t", "u")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(
        conninfo, "create table t (id int primary key, a int, b text); create table u (id int primary key)", CONFIG
    )


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def notes(conn: psycopg.Connection[Any]) -> set[tuple[str | None, str | None]]:
    return {(each.audited_table, each.note) for each in schema.status(conn, CONFIG) if each.state != "ok"}


@pytest.mark.postgres
def test_the_columns_that_changed_are_named(conn: psycopg.Connection[Any]) -> None:
    assert notes(conn) == set()
    conn.execute("alter table t add discount int, drop a, alter b type varchar; alter table t rename id to number")
    told = "id is now number, a is gone, b has another type, discount is new"
    assert notes(conn) == {("public.t", f"its columns changed since the last install: {told}")}
    schema.install(conn, CONFIG)
    assert notes(conn) == set()


def test_tables_and_their_columns_are_in_order_though_the_plan_gives_no_order(conn: psycopg.Connection[Any]) -> None:
    for name in ("u", "t"):
        conn.execute(f"alter table {name} add z int, add y int, add x int".encode())
    conn.execute("set enable_nestloop = off; set enable_mergejoin = off; set enable_sort = off")
    told = "its columns changed since the last install: z is new, y is new, x is new"
    assert notes(conn) == {("public.t", told), ("public.u", told)}


def test_many_are_counted(conn: psycopg.Connection[Any]) -> None:
    for number in range(MOST_NAMED + 5):
        conn.execute(f"alter table u add c{number} int".encode())
    [(table, note)] = notes(conn)
    assert table == "public.u"
    assert note is not None
    assert note.startswith("its columns changed since the last install: c0 is new, c1 is new, ")
    assert note.endswith(", and 5 more")
    assert note.count("is new") == MOST_NAMED


def test_a_table_whose_rules_alone_changed_has_no_note(conn: psycopg.Connection[Any]) -> None:
    other = audited("t", "u", redact=[])
    other.audit.tables[0].redact = {"b": "mask"}
    assert {each.note for each in schema.status(conn, other) if each.state != "ok"} == {None}


def test_a_table_in_the_place_of_another_has_no_note_of_its_columns(conn: psycopg.Connection[Any]) -> None:
    conn.execute("alter table u rename to old; create table u (id int primary key, other int)")
    differing = notes(conn)
    assert "public.u" in {table for table, _ in differing}
    assert not any("columns changed" in (note or "") for _, note in differing)


def test_the_command_tells_them(conn: psycopg.Connection[Any], database: str, tmp_path: Path) -> None:
    (tmp_path / "svc-pg.toml").write_text('[[audit.tables]]\nname = "t"\n[[audit.tables]]\nname = "u"\n')
    conn.execute("alter table u add discount int")
    found = svc_pg("status", folder=tmp_path, variables={"DATABASE_URL": database})
    assert found.returncode == 3
    line = "note: public.u: its columns changed since the last install: discount is new.\n"
    assert found.stderr.count(line) == 1
    document = json.loads(svc_pg("status", "--json", folder=tmp_path, variables={"DATABASE_URL": database}).stdout)
    noted = {each["auditedTable"] for each in document["objects"] if "discount is new" in (each["note"] or "")}
    assert noted == {"public.u"}
