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
from tests.support.snapshot_values import TYPES, VALUES

Level = Any

columns = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4)
keys = st.integers(0, 9)
choices = st.integers(0, 5)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), keys, choices),
        st.tuples(st.just("upsert"), keys, choices),
        st.tuples(st.just("update"), keys, choices),
        st.tuples(st.just("update all"), choices, choices),
        st.tuples(st.just("clear"), keys, choices),
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
        "clear": f"update t set {names[second % len(names)]} = null where id <> {first}",
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
