"""The law of a rebuild: an export alone gives the rows of the table, also those of a time."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.audit.rebuild.json_members import is_storable
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.table_names import TableName
from tests.support.nested_changes import audited as audited_plan
from tests.support.nested_changes import begin, changes, moves
from tests.support.nested_changes import take as take_nested
from tests.support.postgres import new_database
from tests.support.rebuilt import exported, last_id, load, rebuilt
from tests.support.replay import contents
from tests.support.snapshot_values import TYPES, VALUES

Connection = psycopg.Connection[Any]
Level = Any

KINDS = sorted(VALUES)
NAMES = [f"c{place}" for place in range(len(KINDS))]
COLUMNS = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, KINDS, strict=True))
TABLES = f"""
{TYPES}
create table t (id integer, part text, {COLUMNS}, primary key (id, part));
create table s (id integer primary key, part text, {COLUMNS});
create table p (id integer, part text, {COLUMNS}, primary key (id, part)) partition by list (part);
create table p_a partition of p for values in ('a');
create table p_b partition of p for values in ('b');
create table k (id integer, part text, {COLUMNS});
create schema copies;
create table copies.t (like t);
create table copies.s (like s);
create table copies.p (like p);
create table copies.k (like k);
"""
keys = st.integers(0, 5)
parts = st.sampled_from(["a", "b"])
kinds = st.sampled_from(
    ["insert", "update", "update all", "clear", "move", "part", "mirror", "delete", "put back", "rollback"]
)
steps = st.lists(
    st.tuples(kinds | st.sampled_from(["truncate", "truncate one", "commit"]), keys, keys, parts), max_size=14
)


@pytest.fixture(scope="module")
def tables(postgres: str, template: str) -> Iterator[Connection]:
    """Tables of each kind: by row, by statement, with partitions, and without a key."""
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo) as conn:
        conn.execute(TABLES.encode())
        conn.commit()
        audited = [AuditedTable(name="t"), AuditedTable(name="s", level="statement")]
        audited += [AuditedTable(name="p"), AuditedTable(name="k")]
        schema.install(conn, Config(audit=AuditConfig(tables=audited)))
        yield conn


def take(conn: Connection, table: str, step: str, first: int, second: int, part: str) -> None:
    """One step; a key that is taken already undoes it, as it would for an application."""
    values = [VALUES[kind][second % len(VALUES[kind])] for kind in KINDS]
    assignments = ", ".join(f"{name} = {value}" for name, value in zip(NAMES, values, strict=True))
    listed = ", ".join(values)
    nulls = ", null" * len(KINDS)
    other = "b" if part == "a" else "a"
    statements = {
        "insert": f"insert into {table} values ({first}, '{part}', {listed}), ({first + 100}, '{part}'{nulls})",
        "update": f"update {table} set {assignments} where id = {first}",
        "update all": f"update {table} set {assignments}",
        "clear": f"update {table} set {NAMES[second % len(NAMES)]} = null where id <> {first}",
        "move": f"update {table} set id = {second} where id = {first}",
        "part": f"update {table} set part = '{other}' where part = '{part}'",
        "mirror": f"update {table} set id = -id",
        "put back": f"with gone as (delete from {table} where id = {first} returning *) insert into {table} table gone",
        "delete": f"delete from {table} where id >= {first}",
        "rollback": f"delete from {table} where id <> {first}",
        "truncate": f"truncate {table}",
        "truncate one": f"truncate {table}{'_' + part if table == 'p' else ''}",
    }
    if step == "commit":
        conn.commit()
        return
    try:
        with conn.transaction(force_rollback=step == "rollback"):
            conn.execute(statements[step].encode())
    except psycopg.errors.UniqueViolation:
        return


def copied(conn: Connection, export: bytes, table: str, **options: Any) -> tuple[list[str], Any]:
    """The rows of the copy after psql has loaded a rebuild, and the findings."""
    text, found = rebuilt(export, table=table, into=f"copies.{table}", **options)
    conn.execute(sql.SQL("truncate {}").format(sql.Identifier("copies", table)))
    conn.commit()
    load(conn.info.dsn, text)
    rows = contents(conn, sql.Identifier("copies", table))
    conn.commit()
    return rows, found


@pytest.mark.parametrize("table", ["t", "s", "p", "k"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=steps, form=st.sampled_from(["inserts", "copy"]), place=st.integers(0, 100))
def test_an_export_gives_the_rows_of_the_table_and_those_of_a_time(
    tables: Connection, table: str, steps: list[Any], form: Any, place: int
) -> None:
    conn = tables
    start = last_id(conn)
    conn.execute(sql.SQL("truncate {}").format(sql.Identifier(table)))
    conn.commit()
    for step in steps:
        take(conn, table, *step)
    conn.commit()
    export = exported(conn, after=start)
    rows, found = copied(conn, export, table, form=form)
    assert rows == contents(conn, sql.Identifier(table))
    assert [each for each in found.sentences() if "sets of columns" not in each] == []
    if table != "k":
        times = conn.execute("select timestamp from svc.audit_logs where id > %s order by 1", (start,)).fetchall()
        [time] = times[place % len(times)]
        assert copied(conn, export, table, form=form, at=time)[0] == as_of(conn, table, time)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(before=steps, after=steps)
def test_of_rows_from_before_the_export_those_are_missing_that_nothing_changed(
    tables: Connection, before: list[Any], after: list[Any]
) -> None:
    conn = tables
    conn.execute("truncate t")
    for step in before:
        take(conn, "t", *step)
    conn.commit()
    start = last_id(conn)
    old = set(contents(conn, sql.Identifier("t")))
    for step in after:
        take(conn, "t", *step)
    conn.execute("insert into t (id, part) values (1000, 'a'); delete from t where id = 1000")
    conn.commit()
    rows, found = copied(conn, exported(conn, after=start), "t")
    whole = contents(conn, sql.Identifier("t"))
    assert set(rows) <= set(whole)
    assert set(whole) - set(rows) <= old
    assert len(rows) == len(set(rows))
    unchanged = "select record_id from svc.audit_logs where id > %s and record_id = '[' || %s || ', \"' || %s || '\"]'"
    for text, number, part in conn.execute("select t::text, id, part from t").fetchall():
        is_changed = conn.execute(unchanged, (start, number, part)).fetchone() is not None
        assert (text in rows) == is_changed, text
    assert found.gaps.count == 0


def as_of(conn: Connection, table: str, time: datetime, columns: Sequence[str] = ("id", "part", *NAMES)) -> list[str]:
    """The rows of a time, as the log's own as-of has them."""
    names = sql.SQL(", ").join(sql.Identifier(name) for name in columns)
    source = sql.SQL("select {names} from svc.{function}(%s)").format(
        names=names, function=sql.Identifier(f"as_of_public_{table}")
    )
    return [text for (text,) in conn.execute(sql.SQL("select t::text from ({}) t order by 1").format(source), (time,))]


@pytest.fixture(scope="module", params=["row", "statement"])
def nested(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[Connection]:
    with audited_plan(template, postgres, request.param, has_versions=True) as conn:
        conn.execute("create schema copies; create table copies.t (like t)")
        conn.commit()
        yield conn


plans = st.tuples(changes | moves, st.lists(changes | moves, max_size=6))


@given(transactions=st.lists(st.lists(plans, min_size=1, max_size=4), max_size=3), place=st.integers(0, 100))
def test_what_triggers_change_inside_a_change_is_in_the_rows(
    nested: Connection, transactions: list[Any], place: int
) -> None:
    conn = nested
    start = last_id(conn)
    begin(conn)
    for steps in transactions:
        for statement, plan in steps:
            take_nested(conn, statement, plan)
        conn.commit()
    export = exported(conn, after=start)
    rows, found = copied(conn, export, "t")
    assert rows == contents(conn, sql.Identifier("t"))
    ends = "select max(timestamp), min(timestamp) from svc.audit_logs where id > %s group by xact_id order by 1"
    times = conn.execute(ends, (start,)).fetchall()
    end, begin_of_same = times[place % len(times)]
    rows, whole = copied(conn, export, "t", at=end)
    assert (rows, whole.cut) == (as_of(conn, "t", end, ("id", "up", "a", "v")), 0)
    if begin_of_same < end:
        _, inside = copied(conn, export, "t", at=begin_of_same)
        assert inside.cut == 1
        assert any("inside 1 transaction" in each for each in inside.sentences())
    assert (found.gaps.count, found.several.count) == (0, 0)


@pytest.mark.parametrize("key", ["name", "name, part"])
def test_a_row_moves_from_and_to_a_key_that_an_entry_cannot_name(postgres: str, template: str, key: str) -> None:
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo) as conn:
        conn.execute(f"create table t (name text, part text, primary key ({key}))".encode())
        conn.execute("create schema copies; create table copies.t (like t)")
        conn.commit()
        schema.install(conn, Config(audit=AuditConfig(tables=[AuditedTable(name="t")])))
        for name in ("short", "a" * 1001, "b" * 1500):
            conn.execute("insert into t values (%s, 'p')", (name,))
        conn.commit()
        for old, new in (("a" * 1001, "c" * 1001), ("short", "d" * 1001), ("b" * 1500, "e")):
            conn.execute("update t set name = %s where name = %s", (new, old))
            conn.commit()
        rows, found = copied(conn, exported(conn), "t")
        assert rows == contents(conn, sql.Identifier("t"))
        assert found.sentences() == []


JSON = [
    *(r'"\u0000"', r'"\\u0000"', r'"\ud800"', r'"\ud83d\ude00"', r'"\ud83d \ude00"', r'"\ude00\ud83d"', r'"\ud83dx"'),
    *("1e131071", "1e131072", "0.1e131072", "0.1e131073", "-12.5E+131070", "12.5e131071", "1e-16383", "1e-16384"),
    *("1.5e-16382", "1.5e-16383", "0e200000", "0e-16384", "1e9999999999", "9" * 131_072, "9" * 131_073),
    *("0." + "0" * 16_383, "0." + "0" * 16_384, '"1e200000"', '1, "a": "\\u0000"', '1e200000, "a": 1'),
]


def test_a_row_is_left_out_if_and_only_if_no_jsonb_holds_it(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        for value in JSON:
            text = f'{{"a": {value}}}'
            try:
                conn.execute("select %s::text::jsonb", (text,))
            except psycopg.DataError:
                assert not is_storable(text), value[:50]
            else:
                assert is_storable(text), value[:50]


def test_a_column_of_a_domain_without_null_is_loaded_as_documented(empty_database: str) -> None:
    line = {
        "id": "1",
        "timestamp": "2026-01-01T00:00:00Z",
        "tableName": "public.t",
        "operation": "INSERT",
        "recordId": "1",
        "beforeData": None,
        "afterData": {"id": 1, "secret": "x"},
        "redactedFields": ["secret"],
        "xactId": "1",
    }
    text, _ = rebuilt(json.dumps(line).encode() + b"\n")
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create domain filled as text not null; create table t (id integer, secret filled default 'none')")
        with pytest.raises(AssertionError, match="does not allow null values"):
            load(empty_database, text)
        conn.execute("alter table t alter secret type text")
        load(empty_database, text)
        conn.execute("alter table t alter secret type filled")
        assert conn.execute("select * from t").fetchall() == [(1, "none")]


HOSTILE = [
    "x'; drop table victim; --",
    "\\'; drop table victim; --",
    "\\.\n\\! touch hacked\n",
    "$$;:name :'name'",
    'a"\tb\rc',
]


@pytest.mark.parametrize("form", ["inserts", "copy"])
@pytest.mark.parametrize("conforming", ["on", "off"])
def test_no_name_and_no_value_of_a_file_becomes_sql(empty_database: str, form: Any, conforming: str) -> None:
    name = 'x"; drop table victim; --\n\\q'
    row = {f"c{place}{value}": value for place, value in enumerate(HOSTILE)}
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create table victim ()")
        columns = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(column)) for column in row)
        conn.execute(sql.SQL("create table {} ({})").format(sql.Identifier(name), columns))
        line = {
            "id": "1",
            "timestamp": "2026-01-01T00:00:00Z",
            "tableName": str(TableName("public", name)),
            "operation": "INSERT",
            "recordId": HOSTILE[0],
            "beforeData": None,
            "afterData": row,
            "redactedFields": ["a\n; drop table victim;"],
            "xactId": "1",
            "partition": None,
        }
        text, _ = rebuilt(json.dumps(line).encode() + b"\n", table=str(TableName("public", name)), form=form)
        load(f"{empty_database} options='-c standard_conforming_strings={conforming} -c backslash_quote=off'", text)
        [loaded] = conn.execute(sql.SQL("select * from {}").format(sql.Identifier(name))).fetchall()
        assert loaded == tuple(HOSTILE)
        conn.execute("drop table victim")
