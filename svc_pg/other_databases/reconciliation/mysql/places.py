"""The places of a table's rows in the order of a unique index: conditions by which MySQL and MariaDB use it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, LiteralString

from svc_pg.errors import ConflictError
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.table import MySqlColumn
from svc_pg.other_databases.log.statements import PARAM
from svc_pg.other_databases.reconciliation.key_values import value_of_row
from svc_pg.other_databases.reconciliation.side import RowKey
from svc_pg.rendering.sql_text import Sql, chained, joined, sql

_PARAM: Final = Sql(PARAM)
_PLAIN: Final = (None, "utf8mb4")
"""The character sets of a column whose values are compared with any text."""


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """The columns of the key that tell rows apart, in the order of their index; ``nullable`` may be null."""

    dialect: MySql
    columns: Sequence[MySqlColumn]
    nullable: Sequence[MySqlColumn]

    def texts(self) -> list[Sql]:
        """The key of a row as texts."""
        return [self.dialect.text("new", column) for column in self.columns]

    def order(self, *, descends: bool = False) -> Sql:
        """The columns to order by."""
        way: LiteralString = "{} desc" if descends else "{}"
        return joined(", ", [sql(way, self._place(column)) for column in self.columns])

    def keyed(self) -> list[Sql]:
        """The conditions that a row has a key."""
        return [sql("{} is not null", self._name(column)) for column in self.nullable]

    def unkeyed(self) -> Sql:
        """The condition that a row has none."""
        return chained(" or ", [sql("{} is null", self._name(column)) for column in self.nullable])

    def here(self) -> Sql:
        """A row by its key, with an index: of an enum too, whose texts are compared then."""
        found = []
        for column in self.columns:
            found.append(sql("{} = {}", self._name(column), self._given(column)))
            if column.is_listed:
                found.append(sql("cast({} as char) = {}", self._name(column), _PARAM))
        return chained(" and ", found)

    def params(self, key: RowKey) -> list[object]:
        """Those of ``here``."""
        return [
            value_of_row(text, column)
            for text, column in zip(key, self.columns, strict=True)
            for _ in range(2 if column.is_listed else 1)
        ]

    def beyond(self, way: Literal["<", ">"], key: RowKey) -> Sql:
        """The rows behind a key, or up to it, as MySQL finds them by an index: it has no ranges of (a, b) > (1, 2)."""
        end: LiteralString = "{} > {}" if way == ">" else "{} <= {}"
        beyond: LiteralString = "({0} >= {1} and ({0} > {1} or {2}))"
        if way == "<":
            beyond = "({0} <= {1} and ({0} < {1} or {2}))"
        found: Sql | None = None
        for column, text in reversed([*zip(self.columns, key, strict=True)]):
            place = self._place(column)
            if column.labels:
                found = _beyond_label(place, column, text, way, found)
            else:
                found = sql(end, place, _PARAM) if found is None else sql(beyond, place, _PARAM, found)
        assert found is not None  # noqa: S101 - a key has columns
        return found

    def params_beyond(self, key: RowKey) -> list[object]:
        """Those of ``beyond``."""
        values = [value_of_row(text, column) for text, column in zip(key, self.columns, strict=True)]
        numbers = [*(2 for _ in values[1:]), 1]
        each = zip(self.columns, values, numbers, strict=True)
        return [value for column, value, number in each if not column.labels for _ in range(number)]

    def _given(self, column: MySqlColumn) -> Sql:
        """A text in the character set of its column: the server refuses one that has not all its characters."""
        if column.charset in _PLAIN or column.charset is None or column.collation is None:
            return _PARAM
        charset, collation = self.dialect.ident(column.charset), self.dialect.ident(column.collation)
        return sql("convert({} using {}) collate {}", _PARAM, charset, collation)

    def _place(self, column: MySqlColumn) -> Sql:
        """A column in the order of the keys, which an index has; a set, or an enum of odd labels, by its texts."""
        name = self._name(column)
        return sql("cast({} as char)", name) if column.is_listed and not column.labels else name

    def _name(self, column: MySqlColumn) -> Sql:
        return sql("child.{}", self.dialect.ident(column.name))


def changed(column: MySqlColumn) -> ConflictError:
    """The problem of a key whose enum has other labels, or another order of them, than when the comparison began."""
    return ConflictError(f"{column.name} is part of the key, and was changed meanwhile: compare again")


def _beyond_label(place: Sql, column: MySqlColumn, text: str | None, way: Literal["<", ">"], rest: Sql | None) -> Sql:
    """As ``_beyond``, of an enum. Both servers find single numbers by an index, but no range of them.

    The end of the rows is no condition of an index: with both, they would forget the other columns of the key. A value
    that is none of the enum has the number 0, and no text. Raises ConflictError for a label that it has no longer.
    """
    numbers = {label: number for number, label in enumerate(column.labels, start=1)} | {"": 0}
    number = numbers.get(text or "")
    if number is None:
        raise changed(column)
    own = Sql(str(number))
    if way == "<":
        return (
            sql("{0} + 0 <= {1}", place, own)
            if rest is None
            else sql("({0} + 0 < {1} or ({0} + 0 = {1} and {2}))", place, own, rest)
        )
    beyond = [Sql(str(each)) for each in range(number + 1, len(numbers))]
    found = [sql("{} in ({})", place, joined(", ", beyond))] if beyond else []
    if rest is not None and beyond:
        found.append(sql("({} = {} and {})", place, own, rest))
    elif rest is not None:  # the servers forget the order of the index if one equality is all
        found.append(sql("({0} in (0, {1}) and {0} + 0 = {1} and {2})", place, own, rest))
    return sql("({})", chained(" or ", found)) if found else sql("1 = 0")
