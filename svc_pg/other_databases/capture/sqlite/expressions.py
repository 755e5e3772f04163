"""The expressions of SQLite 3.38 and later."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from svc_pg.config.audited_table import Redaction
from svc_pg.config.condition import Scalar, ValueTest
from svc_pg.errors import RenderError
from svc_pg.other_databases.capture.capture_dialect import Column, RowName, Variable
from svc_pg.other_databases.capture.conditions import FALSE, value_tests
from svc_pg.rendering.sql_text import Sql, chained, checked, joined, sql

_OLD: Final = sql("old")
_NEW: Final = sql("new")
_NOBODY: Final = sql("null")
_MEMBERS: Final = 60
"""The most members of one call of json_object: before SQLite 3.48 a function takes 127 arguments."""
_KEYWORDS: Final = {None: sql("null"), True: sql("1"), False: sql("0")}
# json_object cuts reals to 15 digits, and writes infinity as no JSON reader knows it. format() and not printf(), which
# connections override
_REAL: Final = (
    "case when abs({0}) > 1.7976931348623157e308 then iif({0} > 0, 'Infinity', '-Infinity')"
    " when cast(format('%!.15g', {0}) as real) = {0} then "
)


@dataclass(frozen=True, slots=True)
class Sqlite:
    """The dialect. ``old`` and ``new`` are the names of the rows: REPLACE deletes some that a trigger has no name for.

    ``context`` is the actor's JSON from the connection.

    A column of any declared type holds values of every type, so the type of each value is tested.
    """

    old: Sql = _OLD
    new: Sql = _NEW
    context: Sql = _NOBODY

    def ident(self, name: str) -> Sql:
        """Quote one identifier."""
        return Sql('"' + _storable(name).replace('"', '""') + '"')

    def literal(self, value: Scalar | None) -> Sql:
        """Quote a value; booleans are 1 and 0."""
        if value is None or isinstance(value, bool):
            return _KEYWORDS[value]
        if isinstance(value, str):
            return Sql("'" + _storable(value).replace("'", "''") + "'")
        if not math.isfinite(value):
            raise RenderError(f"{value} is no number that SQLite can compare with")
        return Sql(repr(value))

    def variable(self, name: Variable) -> Sql:
        """A part of the context."""
        return sql("{} ->> {}", self.context, self.literal(name))

    def actor(self) -> Sql:
        """The ids of actor and tenant, and the context. Three calls cost less than storing one result."""
        ids = self.variable("actor_id"), self.variable("tenant_id")
        return sql("{}, {}, nullif({} -> 'context', 'null')", *ids, self.context)

    def json(self, row: RowName, column: Column) -> Sql:
        """The value; a blob as hexadecimal text, as PostgreSQL writes it, a real with all its digits."""
        x = self._value(row, column)
        if column.kind == "number":
            return x
        real = sql(_REAL + "{0} else json(format('%!.17g', {0})) end", x)
        # the result of a function of JSON goes on to be JSON for triggers, which the text in the table is not
        plain = sql(
            "case typeof({0}) when 'text' then {0} || '' when 'real' then {1}"
            " when 'blob' then '\\x' || lower(hex({0})) else {0} end",
            x,
            real,
        )
        if column.kind == "boolean":
            return sql("case when {0} is 1 then json('true') when {0} is 0 then json('false') else {1} end", x, plain)
        if column.kind == "json":
            return sql("case when {} then json({}) else {} end", _is_json_text(x), x, plain)
        return plain

    def text(self, row: RowName, column: Column) -> Sql:
        """The value as text; a cast alone would cut reals."""
        x = self._value(row, column)
        if column.kind == "number":
            return sql("cast({} as text)", x)
        if column.kind == "boolean":
            return sql("case when {0} is 1 then 'true' when {0} is 0 then 'false' else cast({0} as text) end", x)
        real = sql(_REAL + "format('%!.15g', {0}) else format('%!.17g', {0}) end", x)
        return sql(
            "case typeof({0}) when 'real' then {1} when 'blob' then '\\x' || lower(hex({0}))"
            " else cast({0} as text) end",
            x,
            real,
        )

    def redacted(self, row: RowName, column: Column, how: Redaction) -> Sql:
        """The value in disguise. ``svc_hash`` is a function of connections that svc-pg wraps: SQLite has no SHA-256."""
        text = self.text(row, column)
        match how:
            case "hash":
                return sql("svc_hash(cast({} as blob), (select key from svc_audit_hash_key))", text)
            case "last4":
                return sql(
                    "case when length({0}) >= 8 then '****' || substr({0}, -4) when {0} is not null then '****' end",
                    text,
                )
            case "mask":
                return sql("'[masked]'")
            case "remove":
                raise AssertionError(f"{column.name} is left out")
            case _:
                assert_never(how)

    def capped_json(self, row: RowName, column: Column, limit: int) -> Sql:
        """The value, or its size alone: SQLite has no SHA-256."""
        return self._capped(row, column, limit, self.json(row, column))

    def capped_text(self, row: RowName, column: Column, limit: int) -> Sql:
        """The text of the same."""
        return self._capped(row, column, limit, self.text(row, column))

    def _capped(self, row: RowName, column: Column, limit: int, value: Sql) -> Sql:
        """``value``, or an object with its size: only texts and blobs can be larger than a limit."""
        size = _bytes(self.json(row, column))
        return sql(
            "iif(typeof({0}) in ('text', 'blob') and {1} > {2},"
            " json_object('oversized', json('true'), 'bytes', {1}), {3})",
            self._value(row, column),
            size,
            self.literal(limit),
            value,
        )

    def differs(self, column: Column) -> Sql:
        """True if the column changed, or only its type: 1 = 1.0."""
        old, new = self._value("old", column), self._value("new", column)
        if column.kind == "number":
            return sql("{} is not {}", old, new)
        return sql("({0} is not {1} collate binary or typeof({0}) <> typeof({1}))", old, new)

    def test(self, row: RowName, column: Column, test: ValueTest) -> Sql:
        """The tests of a value, which compare texts byte by byte, and blobs by the text that is recorded."""
        x = self._value(row, column)

        def is_of_type(limit: Scalar) -> Sql:
            if isinstance(limit, bool):
                return sql("({0} is 1 or {0} is 0)", x) if column.kind == "boolean" else FALSE
            if column.kind == "boolean":
                return FALSE
            if isinstance(limit, str):
                return sql("typeof({}) in ('text', 'blob')", x)
            return sql("typeof({}) in ('integer', 'real')", x)

        def is_of_json_type(limit: Scalar) -> Sql:
            if isinstance(limit, bool):
                types = sql("'true', 'false'")
            else:
                types = sql("'text'") if isinstance(limit, str) else sql("'integer', 'real'")
            # a CASE, because AND may compute both sides, and json_type() fails without JSON
            return sql("case when {} then json_type({}) in ({}) else 0 end", _is_json(x), x, types)

        if column.kind == "json":
            scalar = sql("case when {0} then {1} ->> '$' else {1} end", _is_json_text(x), x)
            return value_tests(self, test, scalar, is_of_json_type)
        limits = [test.eq, test.ne, test.gt, test.ge, test.lt, test.le, *(test.one_of or [])]
        if any(isinstance(limit, str) for limit in limits):
            x_as_text = sql("case typeof({0}) when 'blob' then '\\x' || lower(hex({0})) else {0} end", x)
            return value_tests(self, test, x_as_text, is_of_type)
        return value_tests(self, test, sql("{} collate binary", x), is_of_type)

    def object(self, members: Sequence[tuple[str, Sql]]) -> Sql:
        """A JSON object; of many members the first ones are put before the others as text."""
        first, others = members[: max(0, len(members) - _MEMBERS)], members[max(0, len(members) - _MEMBERS) :]
        pairs = [sql("{}, {}", self.literal(name), value) for name, value in others]
        rest = sql("json_object({})", joined(",\n               ", pairs))
        if not first:
            return rest
        texts = [
            sql("{} || json_quote({})", self.literal(json.dumps(name, ensure_ascii=False) + ":"), value)
            for name, value in first
        ]
        return sql("'{{' || {} || ',' || substr({}, 2)", chained(" || ',' || ", texts), rest)

    def concat(self, parts: Sequence[Sql]) -> Sql:
        """A text, in which null is empty."""
        return chained(" || ", [sql("coalesce({}, '')", part) for part in parts]) if parts else sql("''")

    def if_else(self, condition: Sql, then: Sql, otherwise: Sql) -> Sql:
        """One of two values."""
        return sql("iif({}, {}, {})", condition, then, otherwise)

    def composite_key(self, row: RowName, columns: Sequence[Column]) -> Sql:
        """A JSON array with blanks, as PostgreSQL writes it."""
        values = [sql("json_quote({})", self.json(row, column)) for column in columns]
        return sql("'[' || {} || ']'", chained(" || ', ' || ", values))

    def _value(self, row: RowName, column: Column) -> Sql:
        return sql("{}.{}", self.old if row == "old" else self.new, self.ident(column.name))


def _is_json(x: Sql) -> Sql:
    # a blob may be SQLite's own binary JSON, whose text is not in it
    return sql("typeof({0}) <> 'blob' and json_valid({0}) is true", x)


def _is_json_text(x: Sql) -> Sql:
    # a number of JSON is stored as one where the declared type lets it, and functions of JSON would cut its digits
    return sql("typeof({0}) = 'text' and json_valid({0})", x)


def _bytes(value: Sql) -> Sql:
    return sql("length(cast(json_quote({}) as blob))", value)


def _storable(text: str) -> str:
    return checked(text, nul="which ends a statement of SQLite")
