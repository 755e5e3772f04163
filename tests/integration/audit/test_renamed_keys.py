"""A key that is renamed after the install still identifies its records."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import Config, schema
from tests.support.tables import log


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def config(name: str, **options: Any) -> Config:
    return Config.model_validate({"audit": {"tables": [{"name": name, **options}]}})


def record_ids(conn: psycopg.Connection[Any]) -> list[tuple[str, str | None]]:
    return [(entry["operation"], entry["record_id"]) for entry in log(conn)]


def test_a_renamed_key_gives_the_same_record_id_before_and_after_the_next_install(
    db: psycopg.Connection[Any],
) -> None:
    db.execute("create table t (id int primary key, n int)")
    schema.install(db, config("t"))
    db.execute("insert into t values (7, 1)")
    db.execute("alter table t rename id to number")
    db.execute("update t set n = 2")
    schema.install(db, config("t"))
    db.execute("truncate t; insert into t values (7, 3); delete from t")
    assert record_ids(db) == [("INSERT", "7"), ("UPDATE", "7"), ("TRUNCATE", None), ("INSERT", "7"), ("DELETE", "7")]


def test_a_renamed_part_of_a_key_keeps_its_place(db: psycopg.Connection[Any]) -> None:
    db.execute("create table t (a int, b text, n int, primary key (b, a)) partition by list (b)")
    db.execute("create table t_x partition of t for values in ('x')")
    schema.install(db, config("t"))
    db.execute("alter table t rename a to c")
    db.execute("insert into t values (1, 'x', 0)")
    assert record_ids(db) == [("INSERT", '["x", 1]')]


def test_a_renamed_key_is_known_at_statement_level_too(db: psycopg.Connection[Any]) -> None:
    db.execute("create table t (id int primary key, n int)")
    schema.install(db, config("t", level="statement"))
    db.execute("alter table t rename id to number")
    db.execute("insert into t values (1, 0), (2, 0)")
    db.execute("truncate t")
    assert record_ids(db) == [("INSERT", "1"), ("INSERT", "2"), ("TRUNCATE", None)]


def test_a_key_that_is_renamed_to_a_redacted_column_is_not_told(db: psycopg.Connection[Any]) -> None:
    db.execute("create table t (id int primary key, ssn text)")
    schema.install(db, config("t", redact=["ssn"]))
    db.execute("alter table t drop ssn; alter table t rename id to ssn")
    db.execute("insert into t values (123456789)")
    assert record_ids(db) == [("INSERT", None)]


def test_a_key_of_the_configuration_is_not_mixed_with_the_primary_key(db: psycopg.Connection[Any]) -> None:
    db.execute("create table t (id int primary key, number int not null unique)")
    schema.install(db, config("t", key=["number"]))
    db.execute("insert into t values (1, 100)")
    db.execute("alter table t rename number to nr")
    db.execute("insert into t values (2, 200)")
    assert record_ids(db) == [("INSERT", "100"), ("INSERT", None)]


@pytest.mark.parametrize("level", ["row", "statement"])
def test_a_redacted_column_that_takes_the_name_of_the_key_is_not_told(db: psycopg.Connection[Any], level: str) -> None:
    db.execute("create table t (id int primary key, ssn text, n int)")
    schema.install(db, config("t", redact=["ssn"], level=level))
    db.execute("alter table t rename id to number; alter table t rename ssn to id")
    db.execute("insert into t values (1, '123-45-6789', 0)")
    db.execute("alter table t add ssn text")
    db.execute("insert into t values (2, '123-45-6789', 0)")
    assert record_ids(db) == [("INSERT", "1"), ("INSERT", "2")]


def test_a_redacted_column_that_takes_the_name_of_a_chosen_key_is_not_told(db: psycopg.Connection[Any]) -> None:
    db.execute("create table t (id int primary key, number int not null unique, ssn text)")
    schema.install(db, config("t", key=["number"], redact=["ssn"]))
    db.execute("alter table t rename number to nr; alter table t rename ssn to number")
    db.execute("insert into t values (1, 100, '123-45-6789')")
    assert record_ids(db) == [("INSERT", None)]


@pytest.mark.parametrize("redact", [[], ["ssn"]])
def test_an_entry_that_moves_a_row_to_another_key_tells_the_key_before(
    db: psycopg.Connection[Any], redact: list[str]
) -> None:
    db.execute("create table t (a int, b text, ssn text, n int, primary key (a, b))")
    schema.install(db, config("t", redact=redact))
    db.execute("insert into t values (1, 'x', '123-45-6789', 0); update t set n = 1; update t set a = 2")
    db.execute("alter table t rename b to c; update t set c = 'y'; update t set n = 2")
    moved = [(entry["record_id"], entry["moved_from"]) for entry in log(db)]
    assert moved == [
        ('[1, "x"]', None), ('[1, "x"]', None), ('[2, "x"]', '[1, "x"]'), ('[2, "y"]', '[2, "x"]'), ('[2, "y"]', None)
    ]  # fmt: skip
