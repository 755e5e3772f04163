"""One table of MySQL or MariaDB: its rows, compared with their last entries; a repair locks single rows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from svc_pg.capture.rules import TableRules
from svc_pg.database.effects import Effects, Statement
from svc_pg.other_databases.capture.entry_sql import entry_sql
from svc_pg.other_databases.capture.mysql.catalog import labels_of
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.table import MySqlColumn, MySqlTable
from svc_pg.other_databases.log.driver_errors import is_too_long
from svc_pg.other_databases.log.statements import PARAM, stated
from svc_pg.other_databases.reconciliation.key_values import mysql_value, texts_of
from svc_pg.other_databases.reconciliation.mysql.entries import MySqlEntries
from svc_pg.other_databases.reconciliation.mysql.places import RowPlaces, changed
from svc_pg.other_databases.reconciliation.side import Row, RowKey, no_unique_index, too_large
from svc_pg.rendering.sql_text import Sql, chained, joined, sql

_PARAM: Final = Sql(PARAM)
_TRUE: Final = sql("1 = 1")
COUNTING: Final = 3
"""The most seconds to count the rows without a key."""
_DECLARED: Final = (
    "select column_type from information_schema.columns"
    " where table_schema = %s and table_name = %s and column_name = %s"
)
_AT_ONCE: Final = 100
"""The keys of several columns to look for in one statement."""


@dataclass(frozen=True, slots=True)
class MySqlTableSide(MySqlEntries):
    """A ``TableSide``."""

    key: Sequence[MySqlColumn] = field(kw_only=True)

    @classmethod
    def of(cls, table: MySqlTable, rules: TableRules, *, is_mariadb: bool) -> "MySqlTableSide":
        """The side of a table."""
        child = MySql(is_mariadb, old=sql("child"), new=sql("child"))
        columns = {column.name: column for column in table.columns}
        entry = entry_sql(child, rules, table.columns, "INSERT", has_variable=False)
        row_key = [columns[name] for name in next((each for each in table.unique if {*each} <= {*rules.key}), ())]
        places = RowPlaces(child, row_key, [each for each in row_key if each.name in table.nullable])
        return cls(rules, places, entry, key=[columns[name] for name in rules.key])

    @property
    def problem(self) -> str | None:
        """The reason for which it cannot be compared, if there is one."""
        odd = [column.name for column in self.key if column.kind in ("json", "shape")]
        if odd:
            return f"no order of its rows is known: {', '.join(odd)} is part of the key"
        return None if self.places.columns else no_unique_index(self.rules)

    def begin(self, *, locks: bool) -> Effects[None]:
        """Open the table, so that a TRUNCATE waits until the snapshot that is made then has ended.

        A snapshot that is older than a TRUNCATE sees an empty table, and not its entry.
        """
        self.truncated.clear()
        if not locks:
            yield stated(self._rendered("opened"))
            yield from self._check_labels()

    def unkeyed(self) -> Effects[int | None]:
        """Those with a null in a unique index, which no index may find."""
        if not self.places.nullable:
            return 0
        try:
            [[number]] = yield stated(self._rendered("unkeyed", here=self.places.unkeyed(), seconds=COUNTING))
        except Exception as error:
            if not is_too_long(error):
                raise
            return None
        return int(number)

    def last(self) -> Effects[RowKey | None]:
        """The last row of now."""
        text = self._rendered(
            "last",
            keys=joined(", ", [sql("cast({} as binary)", key) for key in self.places.texts()]),
            within=chained(" and ", self.places.keyed() or [_TRUE]),
            order=self.places.order(descends=True),
        )
        found = yield stated(text)
        return [*found[0]] if found else None

    def rows(self, after: RowKey | None, upto: RowKey, limit: int) -> Effects[list[Row]]:
        """The next rows, and if their last entries say the same."""
        places = self.places
        keys = places.texts()
        names = [places.dialect.ident(f"v_key{number}") for number in range(len(keys))]
        within = [*places.keyed(), places.beyond("<", upto), *([] if after is None else [places.beyond(">", after)])]
        text = self._rendered(
            "rows",
            keys=names,
            names=[sql("{} as {}", key, name) for key, name in zip(keys, names, strict=True)],
            within=chained(" and ", within),
            order=places.order(),
            limit=limit,
            compares=self.rules.audited.record_when is None,
            truncated=_PARAM,
        )
        params = [*places.params_beyond(upto), *([] if after is None else places.params_beyond(after))]
        truncated = yield from self._truncated()
        found = yield stated(text, truncated, *params)
        return [Row([*each[:-3]], each[-3], bool(each[-2]), bool(each[-1])) for each in found]

    def lock(self, keys: Sequence[RowKey]) -> Effects[None]:
        """Lock each row by its key."""
        text = self._rendered("live", here=self.places.here(), locks=True)
        for key in keys:
            yield stated(text, *self.places.params(key))

    def row(self, key: RowKey) -> Effects[tuple[Row, str] | None]:
        """One row and its image."""
        found = yield stated(self._rendered("row", here=self.places.here()), *self.places.params(key))
        for record, is_wanted, image in found:
            if image is None:  # the server gives NULL with a warning
                raise too_large(record)
            return Row(key, record, bool(is_wanted), is_suspect=True), image
        return None

    def live(self, records: Collection[str], *, locks: bool) -> Effects[set[str]]:
        """Those that the table has. Each is locked by a statement of its own, which scans nothing else."""
        parsed = {record: self._key_of(record) for record in records}
        keys = [key for key in parsed.values() if key is not None and None not in key]
        found = {record for record, key in parsed.items() if key is not None and None in key}
        size = 1 if locks else _AT_ONCE
        for start in range(0, len(keys), size):
            some = keys[start : start + size]
            here = joined(" or ", [sql("({})", self.places.here()) for _ in some])
            text = self._rendered("live", here=here, locks=locks)
            rows = yield stated(text, *(value for key in some for value in self.places.params(key)))
            found.update(record for (record,) in rows)
        return found.intersection(records)

    def _check_labels(self) -> Effects[None]:
        """Raise ConflictError if an enum is another than it was: rows would come again and again, or never.

        The table is open, so that it stays as it is until the transaction ends.
        """
        for column in self.places.columns:
            if column.labels:
                name = self.rules.table.name
                found = yield Statement(_DECLARED, (name.schema, name.table, column.name))
                if [labels_of(str(declared)) for (declared,) in found] != [column.labels]:
                    raise changed(column)

    def _key_of(self, record: str) -> Sequence[str | None] | None:
        """The texts of a row's key; None if no row has this record, as of ``audit.capture_log``."""
        texts = texts_of(record, [column.name for column in self.key])
        if texts is None:
            return None
        found = [(texts[column.name], column) for column in self.places.columns]
        if any(text is not None and mysql_value(text, column) is None for text, column in found):
            return None
        return [text for text, _ in found]
