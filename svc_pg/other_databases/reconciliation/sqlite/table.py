"""One table of SQLite: its rows, compared with their last entries."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.capture.rules import TableRules
from svc_pg.database.effects import Effects
from svc_pg.other_databases.capture.entry_sql import entry_sql
from svc_pg.other_databases.capture.sqlite.table import ROWIDS, SqliteTable
from svc_pg.other_databases.log.statements import PARAM, stated
from svc_pg.other_databases.reconciliation.key_values import sqlite_values
from svc_pg.other_databases.reconciliation.side import Row, RowKey, no_unique_index
from svc_pg.other_databases.reconciliation.sqlite.entries import SqliteEntries
from svc_pg.other_databases.reconciliation.sqlite.places import DIALECT, RowPlaces, key_of, names_of, params_of
from svc_pg.rendering.sql_text import Sql, chained, joined, sql

_PARAM: Final = Sql(PARAM)


@dataclass(frozen=True, slots=True)
class SqliteTableSide(SqliteEntries):
    """A ``TableSide``."""

    @classmethod
    def of(cls, table: SqliteTable, rules: TableRules) -> "SqliteTableSide":
        """The side of a table."""
        return cls(rules, RowPlaces(table, rules.key), entry_sql(DIALECT, rules, table.columns, "INSERT"))

    @property
    def problem(self) -> str | None:
        """The reason for which it cannot be compared, if there is one."""
        table = self.places.table
        names = {column.lower() for column in table.table.columns}
        if names.issuperset(ROWIDS) and not any(key.is_rowid for key in table.unique):
            return "nothing tells its rows apart: columns have all names of the rowid"
        return None if self.places.apart else no_unique_index(self.rules)

    def begin(self, *, locks: bool) -> Effects[None]:  # noqa: ARG002 - as MySQL's
        """Nothing to do: SQLite has no TRUNCATE."""
        yield from ()

    def unkeyed(self) -> Effects[int]:
        """None: rows come in the order of their rowid or primary key."""
        yield from ()
        return 0

    def last(self) -> Effects[RowKey | None]:
        """The last row of now."""
        places = self.places
        text = self._rendered("last", keys=joined(", ", places.typed()), order=places.order(descends=True))
        found = yield stated(text)
        return key_of(found[0]) if found else None

    def rows(self, after: RowKey | None, upto: RowKey, limit: int) -> Effects[list[Row]]:
        """The next rows, and if their last entries say the same."""
        places = self.places
        typed = places.typed()
        names = [DIALECT.ident(f"v_key{number}") for number in range(len(typed))]
        text = self._rendered(
            "rows",
            keys=names,
            names=[sql("{} as {}", each, name) for each, name in zip(typed, names, strict=True)],
            within=chained(
                " and ", [places.compared("<=", upto), *([] if after is None else [places.compared(">", after)])]
            ),
            order=places.order(),
            limit=limit,
            compares=self.rules.audited.record_when is None,
        )
        found = yield stated(text, *params_of(upto), *([] if after is None else params_of(after)))
        return [_row(each) for each in found]

    def lock(self, keys: Sequence[RowKey]) -> Effects[None]:  # noqa: ARG002 - as MySQL's
        """Nothing to do: the transaction writes."""
        yield from ()

    def row(self, key: RowKey) -> Effects[tuple[Row, str] | None]:
        """One row and its image."""
        found = yield stated(self._rendered("row", here=self.places.compared("=", key)), *params_of(key))
        for record, is_wanted, image in found:
            return Row(key, _valid(record), bool(is_wanted), is_suspect=True), image
        return None

    def live(self, records: Collection[str], *, locks: bool) -> Effects[set[str]]:  # noqa: ARG002 - as MySQL's
        """Those that the table has: found by the values that the key may have, and compared as they are recorded."""
        kinds = {column.name: column.kind for column in self.places.table.columns}
        keys = [names_of(key) for key in self.places.apart]
        found: set[str] = set()
        for record in records:
            values = sqlite_values(record, {name: kinds[name] for name in self.rules.key})
            if values is None:
                continue
            names = next((key for key in keys if all(values[name] is not None for name in key)), None)
            if names is None:  # a null in each
                found.add(record)
                continue
            given = [values[name] or [] for name in names]
            here = [
                sql("{} in ({})", value, joined(", ", [_PARAM for _ in each]))
                for value, each in zip(self.places.values(names), given, strict=True)
            ]
            text = self._rendered("live", here=chained(" and ", here), given=_PARAM)
            if (yield stated(text, *(value for each in given for value in each), record)):
                found.add(record)
        return found


def _row(found: Sequence[Any]) -> Row:
    *parts, record, is_wanted, is_suspect = found
    return Row(key_of(parts), _valid(record), bool(is_wanted), bool(is_suspect))


def _valid(record: str | None) -> str | None:
    """The record of a row; None if it is no valid text, by which no entry is found."""
    return None if hasattr(record, "original") else record
