"""The expressions of MySQL 8.0 and later, and of MariaDB 10.6 and later."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from svc_pg.config.audited_table import Redaction
from svc_pg.config.condition import Scalar, ValueTest
from svc_pg.errors import RenderError
from svc_pg.other_databases.capture.capture_dialect import Column, RowName, Variable
from svc_pg.other_databases.capture.mysql import value_sql
from svc_pg.other_databases.capture.mysql.table import MySqlColumn
from svc_pg.rendering.sql_text import Sql, checked, joined, sql

MAX_IDENTIFIER: Final = 64  # characters
_VARIABLES: Final[dict[Variable, Sql]] = {
    "actor_id": sql("convert(@svc_actor_id using utf8mb4)"),
    "tenant_id": sql("convert(@svc_tenant_id using utf8mb4)"),
    "rule": sql("v_rule"),
}
_OLD: Final = sql("old")
_NEW: Final = sql("new")
_KEYWORDS: Final = {None: sql("null"), True: sql("1"), False: sql("0")}
_SIZED: Final = ("text", "bytes", "json", "shape")
"""The kinds of columns whose values may be large."""
_IS_LARGE: Final = "{} > @@max_allowed_packet div 4"


@dataclass(frozen=True, slots=True)
class MySql:
    """The dialect. ``old`` and ``new`` are the names of the rows; ``values`` are expressions instead of columns.

    JSON_OBJECT alone writes base64 of blobs and bits on MySQL, invalid JSON of them on MariaDB, and 1 and 0 of
    booleans. On MariaDB, where JSON is a text, an object is concatenated from texts, in half the time: its members are
    JSON, and never null. A trigger takes time for each part of an expression, evaluated or not. Texts are compared as
    bytes, because collations call ``a`` and ``A`` equal. Unless it ``is_careful``, no value may be ``large``.
    """

    is_mariadb: bool = False
    old: Sql = _OLD
    new: Sql = _NEW
    is_careful: bool = True
    values: Mapping[tuple[RowName, str], Sql] = field(default_factory=dict, hash=False)

    def ident(self, name: str) -> Sql:
        """Quote one identifier."""
        if not 0 < len(_storable(name)) <= MAX_IDENTIFIER:
            raise RenderError(
                f"identifier {name!r} has {len(name)} characters", hint=f"MySQL allows 1 to {MAX_IDENTIFIER}."
            )
        return Sql("`" + name.replace("`", "``") + "`")

    def literal(self, value: Scalar | None) -> Sql:
        """Quote a value; booleans are 1 and 0. Backslashes escape: install pins sql_mode, and triggers keep it."""
        if value is None or isinstance(value, bool):
            return _KEYWORDS[value]
        if isinstance(value, str):
            return Sql("'" + _storable(value).replace("\\", "\\\\").replace("'", "''") + "'")
        if not math.isfinite(value):
            raise RenderError(f"{value} is no number that MySQL can compare with")
        return Sql(f"({value!r})" if value < 0 else repr(value))

    def variable(self, name: Variable) -> Sql:
        """The name of a fact."""
        return _VARIABLES[name]

    def json(self, row: RowName, column: Column) -> Sql:
        """The value as ``json_object`` takes it; the size and SHA-256 of a value that is too large."""
        value = self._json(row, column)
        if not (self.is_careful and isinstance(column, MySqlColumn) and column.is_large):
            return value
        x = self._value(row, column)
        return self._unless_large(sql(_IS_LARGE, sql("octet_length({})", x)), x, value, column)

    def large(self, rows: Sequence[RowName], columns: Sequence[MySqlColumn]) -> Sql | None:
        """The condition that a value of these rows is too long for functions that write JSON; None if none can be."""
        sizes = [
            sql("ifnull(octet_length({}), 0)", self._value(row, column))
            for row in rows
            for column in columns
            if column.is_large
        ]
        return sql(_IS_LARGE, joined(" + ", sizes)) if sizes else None

    def _json(self, row: RowName, column: Column) -> Sql:
        x = self._value(row, column)
        if not self.is_mariadb:
            match column.kind:
                case "boolean":
                    return sql("json_extract({}, '$')", self.text(row, column))
                case "json":
                    return x
                case "number":
                    return value_sql.number(x, column)
                case "any" | "text" | "bytes" | "bits" | "date" | "datetime" | "timestamp" | "time" | "shape":
                    return self.text(row, column)
                case _:
                    assert_never(column.kind)
        match column.kind:
            case "boolean":
                value = self.text(row, column)
            case "json":  # a text with a constraint that a session can switch off
                value = sql("if(json_valid({0}), {0}, json_quote({0}))", x)
            case "number" | "text":
                # the type may have changed since from one to the other: json_quote() of a number is null
                given = value_sql.number(x, column) if column.kind == "number" else self.text(row, column)
                value = sql("coalesce(json_quote({0}), {0})", given)
            case "any" | "bytes" | "bits" | "date" | "datetime" | "timestamp" | "time" | "shape":
                value = sql("json_quote({})", self.text(row, column))
            case _:
                assert_never(column.kind)
        return _or_null(value)

    def _quoted(self, text: Sql) -> Sql:
        """A text, or null, as a member of an object."""
        return _or_null(sql("json_quote({})", text)) if self.is_mariadb else text

    def _unless_large(self, is_large: Sql, measured: Sql, value: Sql, column: Column) -> Sql:
        """``value``, or an object in its place; both must be JSON, or MySQL would write the object as a text."""
        marker = _size_of(measured)
        if self.is_mariadb:
            return sql("if({}, {}, {})", is_large, marker, value)
        if column.kind == "json":
            return sql("if({}, cast({} as json), {})", is_large, marker, value)
        return sql("json_extract(if({}, {}, json_quote({})), '$')", is_large, marker, value)

    def text(self, row: RowName, column: Column) -> Sql:
        """The value as a text: see ``value_sql.text``."""
        return value_sql.text(self, self._value(row, column), column, is_mariadb=self.is_mariadb)

    def redacted(self, row: RowName, column: Column, how: Redaction) -> Sql:
        """The value in disguise. The hash is the one of PostgreSQL for the same key."""
        text = self.text(row, column)
        match how:
            case "hash":
                inner = sql("unhex(sha2(concat(v_inner_pad, cast({} as binary)), 256))", text)
                return self._quoted(sql("sha2(concat(v_outer_pad, {}), 256)", inner))
            case "last4":
                end = sql(
                    "if(char_length({0}) >= 8, concat('****', right({0}, 4)), if({0} is null, null, '****'))", text
                )
                return self._quoted(end)
            case "mask":
                return sql("'\"[masked]\"'") if self.is_mariadb else sql("'[masked]'")
            case "remove":
                raise AssertionError(f"{column.name} is left out")
            case _:
                assert_never(how)

    def capped_json(self, row: RowName, column: Column, limit: int) -> Sql:
        """The value, or the size and SHA-256 of its JSON as PostgreSQL writes it."""
        value = self._json(row, column)
        if column.kind not in _SIZED:
            return value
        written = self._written(row, column)
        is_large = sql("octet_length({}) > {}", written, self.literal(limit))
        return self._unless_large(is_large, written, value, column)

    def capped_text(self, row: RowName, column: Column, limit: int) -> Sql:
        """The text of the same."""
        text = self.text(row, column)
        if column.kind not in _SIZED:
            return text
        written = self._written(row, column)
        return sql("if(octet_length({0}) > {1}, {2}, {3})", written, self.literal(limit), _size_of(written), text)

    def _written(self, row: RowName, column: Column) -> Sql:
        """The value's JSON, as a text."""
        text = self.text(row, column)
        return text if column.kind == "json" else sql("json_quote({})", text)

    def differs(self, column: Column) -> Sql:
        """True if the column changed."""
        return sql("not ({})", self.same(column))

    def same(self, column: Column) -> Sql:
        """True if the column did not change. A comparison is binary if one side is.

        Timestamps are compared as points in time, because an hour of local time comes twice in autumn.
        """
        old, new = self._value("old", column), self._value("new", column)
        if column.kind == "timestamp":
            return sql("unix_timestamp({}) <=> unix_timestamp({})", old, new)
        if column.kind in ("text", "shape", "json"):
            return sql(
                "cast({} as binary) <=> {}", old, sql("cast({} as binary)", new) if column.kind == "json" else new
            )
        return sql("{} <=> {}", old, new)

    def test(self, row: RowName, column: Column, test: ValueTest) -> Sql:
        """True if the value satisfies all tests: see ``value_sql.satisfies``."""
        return value_sql.satisfies(self, test, self._value(row, column), column, text=self.text(row, column))

    def object(self, members: Sequence[tuple[str, Sql]]) -> Sql:
        """A JSON object."""
        if not self.is_mariadb:
            pairs = [sql("{}, {}", self.literal(name), value) for name, value in members]
            return sql("json_object({})", joined(", ", pairs))
        names = [json.dumps(name, ensure_ascii=False) + ": " for name, _ in members]
        parts = [
            sql("{}, {}", self.literal((", " if index else "{") + name), value)
            for index, (name, (_, value)) in enumerate(zip(names, members, strict=True))
        ]
        return sql("concat({})", joined(", ", [*parts, sql("'}}'")])) if parts else sql("'{{}}'")

    def concat(self, parts: Sequence[Sql]) -> Sql:
        """A text, in which null is empty."""
        return sql("concat({})", joined(", ", [sql("ifnull({}, '')", part) for part in parts] or [sql("''")]))

    def if_else(self, condition: Sql, then: Sql, otherwise: Sql) -> Sql:
        """One of two values."""
        return sql("if({}, {}, {})", condition, then, otherwise)

    def composite_key(self, row: RowName, columns: Sequence[Column]) -> Sql:
        """A JSON array with blanks, as PostgreSQL writes it."""
        values = [self._json(row, column) for column in columns]
        if not self.is_mariadb:
            return sql("cast(json_array({}) as char)", joined(", ", values))
        return sql("concat('[', {}, ']')", joined(", ', ', ", values))

    def _value(self, row: RowName, column: Column) -> Sql:
        instead = self.values.get((row, column.name))
        return instead or sql("{}.{}", self.old if row == "old" else self.new, self.ident(column.name))


def _or_null(value: Sql) -> Sql:
    """JSON's null for SQL's."""
    return sql("ifnull({}, 'null')", value)


def _size_of(value: Sql) -> Sql:
    """The JSON in place of a large value."""
    return sql(
        """concat('{{"oversized": true, "bytes": ', octet_length({0}), ', "sha256": "', sha2({0}, 256), '"}}')""", value
    )


def _storable(text: str) -> str:
    return checked(text, nul="which PostgreSQL and MySQL store in no name")
