"""Snapshots of MySQL and MariaDB hold each value as PostgreSQL would write it."""

import hashlib
import hmac
import json
from decimal import Decimal
from typing import Any

import pytest

from svc_pg.database.dbapi import execute, rows
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, audit, entries, facts, run

EVERY_TYPE = """
create table t (
    id bigint unsigned primary key, tiny tinyint(1), small smallint, n decimal(38, 10), f float, d double,
    b bit(7), y year, c char(5), v varchar(40), old_text text character set latin1, e enum('a', 'ö'), s set('x', 'y'),
    raw varbinary(10), l longblob, j json, day date, at datetime(6), whole datetime, moment timestamp(3) null,
    spent time(2), g geometry, doubled int generated always as (small * 2) virtual,
    tripled int generated always as (small * 3) stored
)"""
ROW = """
insert into t (id, tiny, small, n, f, d, b, y, c, v, old_text, e, s, raw, l, j, day, at, whole, moment, spent, g)
values (
    18446744073709551615, 1, -7, 1234567890123456789012345678.0123456789, 1.1, 0.1e0 + 0.2e0, b'101', 2026, 'ab ',
    'q"\\\\é€😀 ', 'é', 'ö', 'x,y', x'00ff', x'', '{"b": [1, null, "x"], "a": 12.5}', '2026-01-02',
    '2026-01-02 03:04:05.5', '2026-01-02 03:04:05', '2026-07-02 03:04:05.120', '-837:59:59.5',
    st_geomfromtext('POINT(1 2)')
)"""
IMAGE = {
    "id": 18446744073709551615,
    "tiny": True,
    "small": -7,
    "n": Decimal("1234567890123456789012345678.0123456789"),
    "f": Decimal("1.100000023841858"),
    "d": Decimal("0.30000000000000004"),
    "b": "0000101",
    "y": 2026,
    "c": "ab",
    "v": 'q"\\é€😀 ',
    "old_text": "é",
    "e": "ö",
    "s": "x,y",
    "raw": "\\x00ff",
    "l": "\\x",
    "j": {"a": Decimal("12.5"), "b": [1, None, "x"]},
    "day": "2026-01-02",
    "at": "2026-01-02T03:04:05.5",
    "whole": "2026-01-02T03:04:05",
    "moment": "2026-07-01T21:34:05.12+00:00",
    "spent": "-837:59:59.5",
    "g": "POINT(1 2)",
    "doubled": -14,
    "tripled": -21,
}


def test_every_type_is_recorded_exactly_whatever_the_session_says(shop: Connection) -> None:
    audit(shop, EVERY_TYPE)
    run(shop, "set time_zone = '+05:30', sql_mode = '', character_set_results = latin1", ROW)
    run(shop, "set sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'", "update t set small = null")
    run(shop, "set names utf8mb4")
    [inserted, updated] = entries(shop)
    assert inserted["after_data"] == IMAGE
    assert updated["before_data"] == IMAGE
    assert updated["changed_fields"] == ["doubled", "small", "tripled"]
    assert inserted["record_id"] == "18446744073709551615"


def test_what_looks_like_a_boolean_may_be_a_number_and_what_looks_like_a_time_a_zero(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key, b tinyint(1), day date, at datetime, moment timestamp null)")
    run(shop, "set sql_mode = ''", "insert into t values (1, 5, '0000-00-00', '0000-00-00', '0000-00-00')")
    run(shop, "update t set b = -1", "set sql_mode = default")
    first, second = entries(shop)
    zero = {"day": "0000-00-00", "at": "0000-00-00T00:00:00", "moment": "0000-00-00T00:00:00+00:00"}
    assert first["after_data"] == {"id": 1, "b": 5} | zero
    assert second["after_data"] == {"id": 1, "b": -1} | zero


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'bob'", "'BOB'"),
        ("'bob'", "'bob '"),
        ("'e'", "'é'"),
        ("''", "null"),
    ],
)
@pytest.mark.parametrize("kind", ["varchar(9)", "varchar(9) character set latin1", "text collate utf8mb4_unicode_ci"])
def test_a_change_that_a_collation_hides_is_one(shop: Connection, kind: str, before: str, after: str) -> None:
    audit(shop, f"create table t (id int primary key, v {kind})")
    run(shop, f"insert into t values (1, {before})", f"update t set v = {after}", f"update t set v = {after}")
    assert facts(shop, "operation", "changed_fields") == [("INSERT", None), ("UPDATE", ["v"])]


def test_two_moments_of_one_local_time_in_autumn_are_two(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key, moment timestamp null)")
    run(shop, "set time_zone = '+00:00'", "insert into t values (1, '2026-10-25 00:30:00')", "set time_zone = 'SYSTEM'")
    run(shop, "update t set moment = from_unixtime(unix_timestamp(moment) + 0)")  # both are 02:30 here
    run(shop, "set time_zone = '+00:00'", "update t set moment = '2026-10-25 01:30:00'", "set time_zone = 'SYSTEM'")
    assert [image["moment"] for (image,) in facts(shop, "after_data")][-1] == "2026-10-25T01:30:00+00:00"
    assert facts(shop, "changed_fields")[-1] == (["moment"],)


def test_json_that_a_session_did_not_check_is_a_text(mysql_server: MySqlServer, shop: Connection) -> None:
    """On MariaDB JSON is a text with a constraint, which every session can switch off."""
    if mysql_server.kind == "mysql":
        pytest.skip("JSON is a type of MySQL")
    audit(shop, "create table t (id int primary key, j json)")
    run(
        shop,
        "set check_constraint_checks = off",
        "insert into t values (1, '{\"a')",
        "insert into t values (2, 'null')",
    )
    assert facts(shop, "after_data") == [({"id": 1, "j": '{"a'},), ({"id": 2, "j": None},)]


@pytest.mark.parametrize(
    "period",
    ["", ", b timestamp(6) as row start, e timestamp(6) as row end invisible, period for system_time (b, e)"],
    ids=["hidden", "named"],
)
def test_rows_of_a_system_versioned_table_are_recorded_without_their_period(
    mysql_server: MySqlServer, shop: Connection, period: str
) -> None:
    """MariaDB has the end of the period in each key of such a table."""
    if mysql_server.kind == "mysql":
        pytest.skip("MySQL has no such tables")
    audit(shop, f"create table t (id int primary key, v int unique{period}) with system versioning", tables=["*"])
    run(shop, "insert into t (id, v) values (1, 2)", "update t set v = 2", "update t set v = 3")
    run(shop, "replace into t (id, v) values (4, 3)", "delete from t", "delete history from t")
    first, moved, other = {"id": 1, "v": 2}, {"id": 1, "v": 3}, {"id": 4, "v": 3}
    assert facts(shop, "operation", "record_id", "before_data", "after_data") == [
        ("INSERT", "1", None, first),
        ("UPDATE", "1", first, moved),
        ("DELETE", "1", moved, None),
        ("INSERT", "4", None, other),
        ("DELETE", "4", other, None),
    ]


def test_generated_columns_composite_keys_and_hostile_names(shop: Connection) -> None:
    table, column = "o'r\"de`r\\\n.$svc$ --", "a'b\"c`d\\%s"
    quoted = [f"`{name.replace('`', '``')}`" for name in (table, column)]
    database = rows(shop, "select database()")[0][0]
    name = '"' + table.replace('"', '""') + '"'
    audit(
        shop,
        f"create table {quoted[0]} ({quoted[1]} varchar(20), n decimal(5, 2), primary key (n, {quoted[1]}))",
        tables=[f"public.{name}"],
        enrich=[{"label": "it's \\ %s", "when": {"after": {column: "x'\\"}}, "description": "{after[" + column + "]}"}],
    )
    execute(shop, f"insert into {quoted[0]} values (%s, 1.5)", ("x'\\",))
    execute(shop, f"update {quoted[0]} set n = 2")
    execute(shop, f"delete from {quoted[0]}")
    assert facts(shop, "table_name", "operation", "record_id", "label", "description") == [
        (f"{database}.{name}", "INSERT", '[1.50, "x\'\\\\"]', "it's \\ %s", "x'\\"),
        (f"{database}.{name}", "UPDATE", '[2.00, "x\'\\\\"]', "it's \\ %s", "x'\\"),
        (f"{database}.{name}", "DELETE", '[2.00, "x\'\\\\"]', None, None),
    ]


def test_tables_whose_names_differ_in_case_or_are_long(shop: Connection) -> None:
    """MySQL tells tables apart by case, but not triggers; neither has a name of more than 64 characters."""
    names = ["tt", "TT", "ä" * 64, "ä" * 63 + "b"]
    audit(shop, *(f"create table `{name}` (id int primary key)" for name in names), tables=names)
    run(shop, *(f"insert into `{name}` values (1)" for name in names))
    assert [name.partition(".")[2] for (name,) in facts(shop, "table_name")] == names


def test_a_table_of_two_hundred_columns(shop: Connection) -> None:
    columns = ", ".join(f"c{number} int" for number in range(200))
    audit(shop, f"create table t (id int primary key, {columns})")
    run(shop, "insert into t (id, c199) values (1, 5)", "update t set c0 = 1, c199 = 6")
    [inserted, updated] = entries(shop)
    assert len(inserted["after_data"]) == 201
    assert updated["changed_fields"] == ["c0", "c199"]


def test_redaction_of_four_kinds(shop: Connection) -> None:
    ddl = """create table t (id int primary key, secret text, card varchar(30), short varchar(30), mail varchar(50),
             photo blob, at timestamp null, plain int)"""
    redact = {"secret": "remove", "card": "last4", "short": "last4", "mail": "hash", "photo": "mask", "at": "hash"}
    audit(shop, ddl, redact=redact)
    run(shop, "insert into t values (1, 'x', '4111111111111111', '1234567', 'bé@x', x'00', '2026-01-02 03:04:05', 1)")
    run(shop, "update t set secret = 'y', mail = null")
    [(inner, outer)] = rows(shop, "select inner_pad, outer_pad from svc.audit_hash_key")
    key = bytes(byte ^ 0x36 for byte in inner)
    assert outer == bytes(byte ^ 0x5C for byte in key)
    hashed = {text: hmac.digest(key, text.encode(), "sha256").hex() for text in ("bé@x", "2026-01-02T02:04:05+00:00")}
    image = {
        "id": 1,
        "card": "****1111",
        "short": "****",
        "mail": hashed["bé@x"],
        "photo": "[masked]",
        "at": hashed["2026-01-02T02:04:05+00:00"],
        "plain": 1,
    }
    [inserted, updated] = entries(shop)
    assert inserted["after_data"] == updated["before_data"] == image
    assert updated["after_data"] == image | {"mail": None}
    assert updated["changed_fields"] == ["mail", "secret"]
    assert updated["redacted_fields"] == sorted(redact)


def test_large_values_are_told_by_their_size(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key, v longtext, j json, l blob)", max_value_bytes=256)
    values = ("é" * 200, json.dumps({"a": "x" * 300}), b"\0" * 300)
    execute(shop, "insert into t values (1, %s, %s, %s), (2, 'a', '{\"b\": 1.50}', x'01')", values)
    first, second = entries(shop)
    texts = [json.dumps(values[0], ensure_ascii=False), values[1], '"\\\\x' + "00" * 300 + '"']
    assert [first["after_data"][name] for name in "vjl"] == [
        {"oversized": True, "bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for text in texts
    ]
    assert second["after_data"] == {"id": 2, "v": "a", "j": {"b": Decimal("1.50")}, "l": "\\x01"}


def test_a_value_that_no_function_of_the_server_could_write_does_not_stop_the_application(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key, l longblob, v longtext)")
    run(shop, "insert into t values (1, repeat(x'00', 9000000), '')", "update t set v = repeat('\"', 5000000)")
    values = (b"\0" * 9_000_000, b'"' * 5_000_000)
    updated = entries(shop)[1]
    expected = [
        {"oversized": True, "bytes": len(value), "sha256": hashlib.sha256(value).hexdigest()} for value in values
    ]
    assert [updated["after_data"][name] for name in "lv"] == expected


@pytest.mark.parametrize(
    ("before", "after", "value"),
    [
        ("int not null", "int", None),
        ("varchar(9) not null", "varchar(9)", None),
        ("int", "varchar(9)", 'a"b'),
        ("int not null", "date", "2026-01-02"),
        ("varchar(9)", "int", 5),
        ("varchar(9) not null", "decimal(5, 2)", Decimal("1.50")),
    ],
)
def test_a_column_that_has_changed_is_recorded_as_it_is_before_the_next_install(
    shop: Connection, before: str, after: str, value: Any
) -> None:
    audit(shop, f"create table t (id int primary key, v {before})")
    run(shop, f"alter table t modify v {after}")
    execute(shop, "insert into t values (1, %s)", (value,))
    assert facts(shop, "after_data") == [({"id": 1, "v": value},)]


def test_columns_that_rules_leave_out_are_in_no_entry(shop: Connection) -> None:
    audit(shop, "create table t (id int primary key, a int, b int)", columns=["a"])
    run(shop, "insert into t values (1, 2, 3)", "update t set b = 4")
    found: list[Any] = facts(shop, "after_data", "changed_fields")
    assert found == [({"id": 1, "a": 2}, None), ({"id": 1, "a": 2}, ["b"])]
