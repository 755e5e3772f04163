"""The places of a table's rows in SQLite: values with their types, compared in the order of a unique index."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.other_databases.capture.sqlite.table import ROWIDS, SqliteTable, UniqueKey
from svc_pg.other_databases.log.statements import PARAM
from svc_pg.other_databases.reconciliation.side import RowKey
from svc_pg.rendering.sql_text import Sql, chained, joined, sql

DIALECT: Final = Sqlite(old=sql('"svc row"'), new=sql('"svc row"'))
_PARAM: Final = Sql(PARAM)


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """The rows of a table: their places, and the unique indexes within the ``key`` of their records."""

    table: SqliteTable
    key: Sequence[str]

    @property
    def apart(self) -> Sequence[UniqueKey]:
        """The unique indexes within the key: a record is of one row if a row has no null in one of them."""
        within = [each for each in self.table.unique if {*names_of(each)} <= {*self.key}]
        return sorted(within, key=lambda each: (not each.is_rowid, len(each.columns)))

    def own_record(self, record_id: Sql) -> Sql:
        """The record of a row; null if another row may have the same."""
        if any(key.is_rowid for key in self.apart):
            return record_id
        whole = [
            chained(" and ", [sql("{} is not null", value) for value in self.values(names_of(key))])
            for key in self.apart
        ]
        return sql("case when {} then {} end", chained(" or ", whole), record_id)

    def typed(self) -> list[Sql]:
        """The types and values of the place of a row, in turn."""
        return [part for value in self.values(self.table.row_key) for part in _typed(value)]

    def order(self, *, descends: bool = False) -> Sql:
        """The columns to order by."""
        values = self.values(self.table.row_key)
        return joined(", ", [sql("{} desc", value) for value in values] if descends else values)

    def values(self, names: Sequence[str]) -> list[Sql]:
        """Columns with the collations of their unique index."""
        unique = next((key.columns for key in self.table.unique if names_of(key) == [*names]), ())
        collations = dict(unique)
        return [
            sql('"svc row".{} collate {}', DIALECT.ident(name), DIALECT.ident(collations[name]))
            if name in collations and name.lower() not in ROWIDS
            else sql('"svc row".{}', DIALECT.ident(name))
            for name in names
        ]

    def compared(self, operator: LiteralString, key: RowKey) -> Sql:
        """The rows at a place, or on one side of it; its parameters are ``params_of``."""
        values, given = self.values(self.table.row_key), [_mark(kind) for kind, _ in key]
        if len(values) == 1:
            return sql("{} " + operator + " {}", values[0], given[0])
        return sql("({}) " + operator + " ({})", joined(", ", values), joined(", ", given))


def names_of(key: UniqueKey) -> list[str]:
    """The columns of a unique index."""
    return [name for name, _ in key.columns]


def params_of(key: RowKey) -> list[object]:
    """The parameters of a comparison with a place."""
    return [bytes.fromhex(value) if kind in ("text", "blob") else value for kind, value in key]


def key_of(parts: Sequence[Any]) -> RowKey:
    """The place that types and values tell, which come in turn."""
    return [[parts[place], parts[place + 1]] for place in range(0, len(parts), 2)]


def _typed(value: Sql) -> tuple[Sql, Sql]:
    return (
        sql("typeof({})", value),
        sql("case when typeof({0}) in ('text', 'blob') then hex(cast({0} as blob)) else {0} end", value),
    )


def _mark(kind: str) -> Sql:
    """A parameter for a value of a row's key."""
    return sql("cast({} as text)", _PARAM) if kind == "text" else _PARAM
