"""A look at the coverage of many tables is linear in their number, whatever the statistics of the planner say."""

import random
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import Config, audit, schema
from svc_pg.audit.read import tables
from svc_pg.audit.read.covered_tables import CoverageCounts
from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.database.query import Query, fetch
from svc_pg.status.open_findings import LAST
from tests.support.long_log import STATES, Statistics, know, pages
from tests.support.plans import WorkCursor
from tests.support.tables import add_entry, audited

Connection = psycopg.Connection[Any]

LABEL: Final = "audit log reconciled"
FEW, MANY = 20, 120


@pytest.fixture
def conn(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def make(conn: Connection, first: int, last: int) -> None:
    for number in range(first, last):
        conn.execute(SQL("create table {} (id int primary key, a int)").format(Identifier(f"t{number:03}")))


def config(number: int) -> Config:
    return audited(*[f"t{index:03}" for index in range(number)])


def looking(conn: Connection, wanted: Config) -> int:
    """The rows that go through the plans of a page of the coverage, its counts, and the audited tables."""
    WorkCursor.work.clear()
    conn.cursor_factory = WorkCursor
    assert len(audit.coverage(wanted.audit).limit(10).list(conn).data) == 10
    assert audit.coverage(wanted.audit).counts(conn).audited == len(wanted.audit.tables)
    assert len(tables.query(wanted.audit).limit(10).list(conn).data) == 10
    conn.cursor_factory = psycopg.Cursor
    return sum(WorkCursor.work)


@pytest.mark.parametrize("state", STATES)
def test_the_state_of_many_tables_is_found_by_one_reading_of_the_catalog(conn: Connection, state: Statistics) -> None:
    works = []
    for before, number in ((0, FEW), (FEW, MANY)):
        make(conn, before, number)
        schema.install(conn, config(number))
        if state == "never analyzed" or (before, state) == (0, "analyzed when small"):
            conn.execute("analyze svc.installed_objects")
        know(conn, state)
        works.append(looking(conn, config(number)))
    few, many = works
    assert 0 < few < many < 8 * few  # of six times as many; nested loops made it more than thirty times as much


@pytest.mark.parametrize("state", STATES)
def test_tables_without_a_comparison_cost_no_probe_each(conn: Connection, state: Statistics) -> None:
    make(conn, 0, MANY)
    schema.install(conn, config(MANY))
    for table in ("public.t007", "public.t119"):
        add_entry(conn, "svc.audit_logs", "SNAPSHOT", record_id=table, after={"unrepaired": 1}, label=LABEL)
    know(conn, state)

    def counts() -> CoverageCounts:
        return audit.coverage(config(MANY).audit).counts(conn)

    assert (counts().reconciled.tables, counts().reconciled.unrepaired) == (2, 2)
    assert pages(conn, counts) < 250  # with one for each partition it was more than 600


def test_the_last_comparisons_are_those_of_a_plain_search(conn: Connection) -> None:
    schema.install(conn, Config())
    chance = random.Random(7)
    names = ["", "a", "a.b", "a.b.c", "Z.z", "public.t", "public.t1", "public.tt", '"a b".c', "ä.ö", "svc.audit_logs"]
    for _ in range(12):
        conn.execute("begin")
        asked = chance.sample(names, chance.randrange(len(names)))
        wanted: dict[str, int] = {}
        for number in range(chance.randrange(25)):
            name, is_other = chance.choice(names), chance.random() < 0.3
            label = "audit log purged" if is_other else LABEL
            add_entry(conn, "svc.audit_logs", "SNAPSHOT", record_id=name, after={"unrepaired": number}, label=label)
            if name in asked and not is_other:
                wanted[name] = number
        conn.execute(BY_INDEXES)
        text = LAST.replace("{tables}", "select pg_catalog.unnest(%(names)s::text[]) as name")
        found: list[dict[str, Any]] = fetch(conn, Query(text, {"names": asked, "days": 400}, dict))
        assert {each["name"]: each["unrepaired"] for each in found} == wanted
        conn.execute("rollback")
