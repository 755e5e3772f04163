from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.schema.postgres import scope
from tests.support.plans import RawWorkCursor, WorkCursor
from tests.support.tables import audited
from tests.support.traffic import Traffic, counting


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def tables(db: psycopg.Connection[Any], number: int) -> Config:
    """Audit so many new tables."""
    names = [f"t{number}_{index}" for index in range(number)]
    for name in names:
        db.execute(sql.SQL("create table {} (id int primary key, email text)").format(sql.Identifier(name)))
    db.commit()
    return audited(*names, redact=["email"])


def installing(db: psycopg.Connection[Any], config: Config) -> Traffic:
    with counting(db) as traffic:
        assert schema.install(db, config)
    schema.install(db, Config(), prune=True)
    return traffic


def test_each_table_costs_an_install_the_same_few_statements_and_rows(db: psycopg.Connection[Any]) -> None:
    few = installing(db, tables(db, 4))
    many = installing(db, tables(db, 24))
    assert (many.statements - few.statements) / 20 <= 18
    assert (many.rows - few.rows) / 20 <= 18  # with a role for each, without a look at all objects


def test_an_install_that_changes_nothing_takes_few_statements_whatever_the_number_of_tables(
    db: psycopg.Connection[Any],
) -> None:
    config = tables(db, 12)
    schema.install(db, config)
    with counting(db) as traffic:
        assert schema.install(db, config) == []
    assert traffic.statements <= 26


def looking(db: psycopg.Connection[Any], config: Config) -> int:
    """The rows that go through the plans of the queries of a status."""
    WorkCursor.work.clear()
    db.cursor_factory = WorkCursor
    schema.status(db, config)
    db.cursor_factory = psycopg.Cursor
    return sum(WorkCursor.work)


def test_a_look_at_many_tables_is_linear_without_statistics_of_the_catalog(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "RawCursor", RawWorkCursor)
    works, config = [], Config()
    for number in (20, 120):
        config.audit.tables += tables(db, number).audit.tables
        schema.install(db, config)
        works.append(looking(db, config))
    few, many = works
    assert 0 < few < many < 5 * few  # of seven times as many tables; quadratic plans made it nine times as much


def test_a_look_costs_a_few_rows_for_each_role_of_the_server(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "RawCursor", RawWorkCursor)
    config = tables(db, 2)
    schema.install(db, config)
    roles = [sql.Identifier(f"{db.info.dbname}_{number}") for number in range(200)]
    works = []
    try:
        for some in (roles[:50], roles[50:]):  # few have other plans than many
            for role in some:
                db.execute(sql.SQL("create role {}").format(role))
            db.commit()
            works.append(looking(db, config))
        few, many = works
        assert many - few < 150 * 100
    finally:
        db.execute(sql.SQL("drop role {}").format(sql.SQL(", ").join(roles)))
        db.commit()


def test_removals_take_few_statements_whatever_the_number_of_tables(db: psycopg.Connection[Any]) -> None:
    schema.install(db, tables(db, 12))
    with counting(db) as traffic:
        assert len(schema.install(db, Config(), prune=True)) == 12 * 9
    assert traffic.statements <= 44


def test_an_uninstall_takes_few_statements(db: psycopg.Connection[Any]) -> None:
    schema.install(db, tables(db, 12))
    with counting(db) as traffic:
        assert schema.uninstall(db)
    assert traffic.statements <= 29
