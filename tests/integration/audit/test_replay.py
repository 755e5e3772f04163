"""The law of capture: replaying the log rebuilds the table, whatever was done to it."""

from collections import Counter
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from tests.support.replay import contents, replay

Level = Any

# Values that a snapshot gives back, as SQL. It does not tell JSON's null in a column from SQL's, nor -0 from 0.
VALUES: dict[str, list[str]] = {
    "integer": ["0", "-1", "2147483647"],
    "bigint": ["9007199254740993", "-9223372036854775808"],
    "numeric": ["0", "1.10", "'NaN'", "12345678901234567890.123456789", "1e-1000"],
    "money": ["'-92233720368547758.08'"],
    "real": ["1e-45", "3.4028235e38"],
    "double precision": ["0.1", "1e300", "'Infinity'", "'NaN'", "5e-324"],
    "text": ["''", "'a'", "'ä''\"\\\\'", "E'line\\nbreak'", "'null'", "repeat('long', 3000)"],
    "boolean": ["true", "false"],
    "timestamptz": ["'2026-03-29 02:30+01'", "'infinity'", "'0044-03-15 12:00 BC'"],
    "timestamp": ["'294276-12-31 23:59:59.999999'", "'4713-11-25 00:00 BC'"],
    "date": ["'2026-02-28'", "'-infinity'", "'4713-01-01 BC'"],
    "timetz": ["'24:00+15:59'"],
    "interval": ["'1 month -3 days 04:05:06.789'", "'0'"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'"],
    "bytea": ["'\\x00ff'", "''"],
    "bit varying": ["b''", "b'101'"],
    "jsonb": ['\'{"a": [1, null, "x"]}\'', "'\"text\"'", '\'{"sha256": "x"}\'', "'1e400'"],
    "jsonb[]": ["array['{}', null]::jsonb[]"],
    "integer[]": ["'{}'", "'{1,NULL,3}'", "'{{1,2},{3,4}}'"],
    "text[]": ['\'{"a,b","",NULL}\''],
    "int4range": ["'[1,5)'", "'empty'", "'(,7]'"],
    "inet": ["'10.0.0.1/8'", "'::1'"],
    "point": ["'(1.5,-2)'"],
    "mood": ["'sad'", "'ok'"],
    "pair": ["'(1,\"a b\")'", "'(,)'"],
    "pair[]": ["array[row(1, 'a')::pair, null, row(null, null)::pair]"],
    "positive": ["1", "7"],
    "tsvector": ["'fat & rat'", "''"],
    "tstzrange": ["'(,\"0044-01-01 BC\"]'", "'[2026-01-01,infinity)'"],
}
TYPES = """
create type mood as enum ('sad', 'ok');
create type pair as (a integer, b text);
create domain positive as integer check (value > 0);
"""

columns = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4)
keys = st.integers(0, 9)
choices = st.integers(0, 5)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), keys, choices),
        st.tuples(st.just("upsert"), keys, choices),
        st.tuples(st.just("update"), keys, choices),
        st.tuples(st.just("update all"), choices, choices),
        st.tuples(st.just("move"), keys, keys),
        st.tuples(st.just("mirror"), keys, keys),
        st.tuples(st.just("put back"), keys, keys),
        st.tuples(st.just("delete"), keys, choices),
        st.tuples(st.just("rollback"), keys, choices),
        st.tuples(st.just("truncate"), st.just(0), st.just(0)),
    ),
    min_size=1,
    max_size=15,
)


@pytest.fixture(scope="module")
def types(postgres: str, template: str) -> Any:
    from tests.support.postgres import new_database

    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo) as conn:
        conn.execute(TYPES)
        conn.commit()
        yield conn


@pytest.mark.parametrize("level", ["row", "statement"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(columns=columns, key=st.sampled_from(["id", "id, part"]), steps=steps)
def test_replaying_the_log_rebuilds_the_table(
    types: psycopg.Connection[Any], level: Level, columns: list[str], key: str, steps: list[Any]
) -> None:
    conn = types
    names = [f"c{place}" for place in range(len(columns))]
    fields = ", ".join(f"{name} {kind}" for name, kind in zip(names, columns, strict=True))
    conn.execute("drop table if exists t, copy")
    conn.execute(f"create table t (id integer, part text, {fields}, primary key ({key}))")
    conn.execute("create table copy (like t)")
    conn.commit()
    schema.install(conn, Config(audit=AuditConfig(tables=[AuditedTable(name="t", level=level)])), prune=True)
    start = scalar(conn, "select coalesce(max(id), 0) from svc.audit_logs")
    for step, first, second in steps:
        take(conn, step, first, second, names, columns)
    replay(conn, "public.t", into=sql.Identifier("copy"), after=start)
    assert contents(conn, sql.Identifier("copy")) == contents(conn, sql.Identifier("t"))
    check_order(conn, start)
    conn.commit()


def check_order(conn: psycopg.Connection[Any], after: int) -> None:
    """Without nested changes, each image before is there in the order of ids too."""
    rows: Counter[str] = Counter()
    entries = "select operation, before_data::text, after_data::text from svc.audit_logs where id > %s order by id"
    for operation, before, image in conn.execute(entries, (after,)).fetchall():
        if operation == "TRUNCATE":
            rows.clear()
        if before is not None:
            assert rows[before], before
            rows[before] -= 1
        if image is not None:
            rows[image] += 1


def take(conn: psycopg.Connection[Any], step: str, first: int, second: int, names: list[str], kinds: list[str]) -> None:
    """One step; a key that is taken already undoes it, as it would for an application."""
    values = [VALUES[kind][second % len(VALUES[kind])] for kind in kinds]
    assignments = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    row = f"({first}, 'p', {', '.join(values)})"
    statements = {
        "insert": f"insert into t values {row}, ({first + 100}, 'p'{', null' * len(names)})",
        "upsert": f"insert into t values {row} on conflict (id) do update set {assignments}",
        "update": f"update t set {assignments} where id = {first}",
        "update all": f"update t set {assignments}",
        "move": f"update t set id = {second} where id = {first}",
        "mirror": "update t set id = -id",
        "put back": f"with gone as (delete from t where id = {first} returning *) insert into t select * from gone",
        "delete": f"delete from t where id >= {first}",
        "rollback": f"delete from t where id <> {first}",
        "truncate": "truncate t",
    }
    try:
        with conn.transaction(force_rollback=step == "rollback"):
            conn.execute(statements[step])
    except (psycopg.errors.UniqueViolation, psycopg.errors.InvalidColumnReference):
        return  # the second: an upsert needs the key to be id alone
