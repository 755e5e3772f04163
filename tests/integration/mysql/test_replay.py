"""The law of capture on MySQL and MariaDB: replaying the log rebuilds the table, whatever was done to it."""

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc_pg.database.dbapi import execute, rows
from tests.support.mysql_tables import Connection, audit, purge, remake, run

# Values that a snapshot gives back, as SQL; it does not tell JSON's null in a column from SQL's
VALUES: Final[dict[str, list[str]]] = {
    "int unsigned": ["0", "4294967295"],
    "int(9) zerofill": ["0", "7"],
    "decimal(9, 2) zerofill": ["0.1", "7"],
    "bigint unsigned": ["9007199254740993", "18446744073709551615"],
    "bigint": ["-9223372036854775808", "7"],
    "decimal(38, 10)": ["0", "1.10", "1234567890123456789012345678.0123456789"],
    "double": ["0.1", "0.1e0 + 0.2e0", "1e300", "5e-324"],
    "float": ["0.1", "16777217", "1.2345678"],
    "tinyint(1)": ["true", "false", "7"],
    "varchar(60)": ["''", "'a'", "'A'", "'a '", "'ä''\\\\\"'", "'line\\nbreak'", "'null'", "'😀'"],
    "varchar(60) character set latin1": ["'é'", "'e'"],
    "longtext": ["repeat('long', 3000)", "'{}'"],
    "enum('a', 'b c')": ["'a'", "'b c'"],
    "set('x', 'y')": ["''", "'x,y'"],
    "bit(9)": ["b'0'", "b'101010101'"],
    "varbinary(9)": ["x'00ff'", "''", "'a'"],
    "blob": ["x'0001'", "x''"],
    "date": ["'2026-02-28'", "'0001-01-01'"],
    "datetime(6)": ["'2026-02-28 01:02:03.000004'", "'9999-12-31 23:59:59'"],
    "timestamp(3) null": ["'2026-03-29 00:30:00.120'", "'2026-10-25 00:30:00'", "'2026-10-25 01:30:00'"],
    "time(2)": ["'-838:59:59'", "'00:00:00.50'"],
    "year": ["2026", "0"],
    "json": ['\'{"a": [1, null, "x"], "b": {}}\'', "'\"text\"'", "'[]'", "'1.5'"],
    "geometry": ["st_geomfromtext('POINT(1.5 -2)')", "st_geomfromtext('POLYGON((0 0,1 0,1 1,0 0))', 4326)"],
}

columns = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4)
keys = st.integers(0, 5)
choices = st.integers(0, 7)
kinds = (
    "insert",
    "replace",
    "upsert",
    "ignore",
    "update",
    "update all",
    "clear",
    "update ignore",
    "move",
    "delete",
    "rollback",
)
steps = st.lists(st.tuples(st.sampled_from(kinds), keys, choices), min_size=1, max_size=15)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(columns=columns, steps=steps)
def test_replaying_the_log_rebuilds_the_table(
    shop: Connection, columns: list[str], steps: list[tuple[str, int, int]]
) -> None:
    names = [f"c{place}" for place in range(len(columns))]
    fields = ", ".join(f"{name} {kind}" for name, kind in zip(names, columns, strict=True))
    ddl = f"(id int primary key, u int unique, {fields})"
    audit(shop, f"create table t {ddl}", f"create table copy {ddl}")
    run(shop, "set time_zone = '+00:00', sql_mode = 'NO_ENGINE_SUBSTITUTION'")
    for step, first, second in steps:
        take(shop, step, first, second, names, columns)
    kinds = ["int", "int", *columns]
    for image in images(shop):
        values = [parameter(value, kind) for value, kind in zip(image.values(), kinds, strict=True)]
        holes = ", ".join(hole for hole, _ in values)
        named = ", ".join(image)
        execute(shop, f"insert into copy ({named}) values ({holes})", [value for _, value in values])
    run(shop, "set time_zone = default, sql_mode = default")
    assert contents(shop, "copy", names) == contents(shop, "t", names)


def images(conn: Connection) -> list[dict[str, Any]]:
    """The rows that the log leaves: the images after changes, without those before them."""
    found: Counter[str] = Counter()
    for before, after in rows(conn, "select before_data, after_data from svc.audit_logs order by id"):
        if before is not None:
            found[before] -= 1
            assert found[before] >= 0, before  # what goes was there
        if after is not None:
            found[after] += 1
    left = [json.loads(image, parse_float=Decimal) for image in found.elements()]
    return [{name: image[name] for name in ("id", "u", *sorted(set(image) - {"id", "u"}))} for image in left]


def parameter(value: Any, kind: str) -> tuple[str, Any]:
    """A value of a snapshot as a hole of a statement, and what goes into it."""
    if value is None:
        return "%s", None
    if kind == "geometry":
        srid, _, text = value.rpartition(";")
        return f"st_geomfromtext(%s, {srid.removeprefix('SRID=') or 0})", text
    convert: dict[str, Callable[[Any], Any]] = {
        "blob": lambda text: bytes.fromhex(text[2:]),
        "varbinary(9)": lambda text: bytes.fromhex(text[2:]),
        "bit(9)": lambda text: int(text, 2),
        "double": float,  # a decimal ends at 65 digits
        "float": float,
        "json": lambda document: json.dumps(document, default=float),
        "timestamp(3) null": lambda text: text.removesuffix("+00:00"),
    }
    return "%s", convert.get(kind, lambda same: same)(value)


def contents(conn: Connection, table: str, names: list[str]) -> list[tuple[Any, ...]]:
    """The rows of a table, byte by byte."""
    exact = ", ".join(f"hex(cast({name} as binary))" for name in names)
    return rows(conn, f"select id, u, {exact} from {table} order by id")


def take(conn: Connection, step: str, first: int, second: int, names: list[str], kinds: list[str]) -> None:
    """One step; a key that is taken already undoes it, as it would for an application."""
    values = [VALUES[kind][second % len(VALUES[kind])] for kind in kinds]
    assignments = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    row = f"({first}, {second}, {', '.join(values)})"
    rest = f"({first + 100}, null{', null' * len(names)})"
    statements = {
        "insert": f"insert into t values {row}, {rest}",
        "replace": f"replace into t values {row}, {rest}",
        "upsert": f"insert into t values {row} on duplicate key update {assignments}",
        "ignore": f"insert ignore into t values {row}, {rest}",
        "update": f"update t set {assignments} where id = {first}",
        "update all": f"update t set {assignments}",
        "clear": f"update t set {names[second % len(names)]} = null where id <> {first}",
        "update ignore": f"update ignore t set u = {second}, {assignments} where id = {first}",
        "move": f"update t set id = {second}, u = {first} where id = {first}",
        "delete": f"delete from t where id >= {first}",
        "rollback": f"delete from t where id <> {first}",
    }
    try:
        run(conn, "begin", statements[step], "rollback" if step == "rollback" else "commit")
    except pymysql.IntegrityError:
        run(conn, "commit")  # a failed statement is undone, those before it are not


@pytest.fixture(autouse=True)
def clean(shop: Connection) -> None:
    remake(shop)
    if rows(shop, "show databases like 'svc'"):
        purge(shop)
