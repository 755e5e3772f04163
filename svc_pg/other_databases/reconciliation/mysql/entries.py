"""The entries of a table on MySQL and MariaDB: the last states of its records, and those that a repair writes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, LiteralString

from svc_pg.audit.reconciliation.result import FOUND
from svc_pg.capture.rules import TableRules
from svc_pg.database.effects import Effects, Statement
from svc_pg.other_databases.capture.entry_sql import EntrySql, json_list
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.log.log_dialects import MYSQL
from svc_pg.other_databases.log.statements import PARAM, stated
from svc_pg.other_databases.reconciliation.mysql.places import RowPlaces
from svc_pg.other_databases.reconciliation.side import Kept, RowKey, State
from svc_pg.other_databases.reconciliation.table_statements import TableStatements, facts_of
from svc_pg.rendering.sql_text import Sql, joined, sql

_PARAM: Final = Sql(PARAM)
_ENDS: Final = ("DELETE", "GONE", "TRUNCATE")
_ENTRY: Final[LiteralString] = (
    "select id, cast(timestamp as char), operation, "  # noqa: S608 - constants
    + (MYSQL.text("after_data") + ", " + MYSQL.text("redacted_fields") + " from svc.audit_logs where id = %s")
)
_LAST: Final[LiteralString] = """
select (select max(id) from svc.audit_logs where table_name = %s and record_id = %s and octet_length(record_id) = %s),
       (select max(id) from svc.audit_logs where table_name = %s and moved_from = %s and octet_length(moved_from) = %s)
"""
_TRUNCATED: Final[LiteralString] = """
select coalesce(max(id), 0) from svc.audit_logs where table_name = %s and record_id is null and operation = 'TRUNCATE'
"""


@dataclass(frozen=True, slots=True)
class MySqlEntries:
    """The part of a ``TableSide`` that reads and writes entries."""

    rules: TableRules
    places: RowPlaces
    """Those of the rows."""
    entry: EntrySql
    truncated: list[int] = field(default_factory=list)
    """The id of the last TRUNCATE's entry, or 0, once it is known in this transaction."""
    statements: TableStatements = field(default_factory=lambda: TableStatements("mysql"), compare=False)

    def states(self, record: str) -> Effects[Sequence[State]]:
        """The last state by ids: writers of one row wait for each other, so ids follow its changes."""
        place = (str(self.rules.table.name), record, len(record.encode()))
        [[own, moved]] = yield Statement(_LAST, (*place, *place))
        latest = max(own or 0, moved or 0)
        if not latest:
            return []
        [[entry_id, at, operation, after, redacted]] = yield Statement(_ENTRY, (latest,))
        is_over = latest == moved or operation in _ENDS or latest <= (yield from self._truncated())
        return [State(entry_id, time_of(at), None if is_over else after, redacted)]

    def image_of(self, known: int) -> Effects[tuple[str | None, str | None]]:
        """Its image and its redacted fields."""
        [[_, _, _, image, redacted]] = yield Statement(_ENTRY, (known,))
        return image, redacted

    def snapshot(
        self, key: RowKey, kind: str, known: int | None, fields: Sequence[str] | None, kept: Kept | None
    ) -> Statement:
        """Write a SNAPSHOT of a row."""
        before, params = self._before(kept)
        text = self._rendered("snapshot", here=self.places.here(), given=_PARAM, before=before, label=FOUND)
        changed = None if fields is None else json_list(fields)
        return stated(text, *params, changed, json.dumps({"found": kind}), known, *self.places.params(key))

    def gone(self, known: int, kept: Kept | None) -> Statement:
        """Write that a record is gone."""
        before, params = self._before(kept)
        redacted = sql("known.redacted_fields") if kept is None else _PARAM
        text = self._rendered("gone", given=_PARAM, before=before, redacted_before=redacted, label=FOUND)
        return stated(text, *params, *([] if kept is None else [kept.redacted]), known)

    def _before(self, kept: Kept | None) -> tuple[Sql, Sequence[object]]:
        """The image before. MySQL leaves fields out itself, because it would read a given decimal as a double."""
        if kept is None:
            return sql("known.after_data"), ()
        if self.places.dialect.is_mariadb:
            return _PARAM, [kept.image]
        places = joined(", ", [_PARAM for _ in kept.left_out])
        paths = ["$." + json.dumps(name, ensure_ascii=False) for name in kept.left_out]
        return sql("json_remove(known.after_data, {})", places), paths

    def _truncated(self) -> Effects[int]:
        if not self.truncated:
            [[entry_id]] = yield Statement(_TRUNCATED, (str(self.rules.table.name),))
            self.truncated.append(int(entry_id))
        return self.truncated[0]

    def _rendered(self, template: str, **values: object) -> str:
        return self.statements.rendered(self.places.dialect, template, self._facts, values)

    def _facts(self) -> dict[str, object]:
        return facts_of(self.places.dialect, self.rules, self.entry) | {
            "table": tuple(self.rules.table.name),
            "is_hashed": self.rules.is_hashed,
            "is_mariadb": self.places.dialect.is_mariadb,
        }
