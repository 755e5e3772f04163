from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
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
    assert traffic.statements <= 20


def test_removals_take_few_statements_whatever_the_number_of_tables(db: psycopg.Connection[Any]) -> None:
    schema.install(db, tables(db, 12))
    with counting(db) as traffic:
        assert len(schema.install(db, Config(), prune=True)) == 12 * 9
    assert traffic.statements <= 35


def test_an_uninstall_takes_few_statements(db: psycopg.Connection[Any]) -> None:
    schema.install(db, tables(db, 12))
    with counting(db) as traffic:
        assert schema.uninstall(db)
    assert traffic.statements <= 24
