"""The entries of a table in SQLite: the last states of its records, and those that a repair writes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from svc_pg.audit.reconciliation.result import FOUND
from svc_pg.capture.rules import TableRules
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.statements import statement
from svc_pg.other_databases.capture.entry_sql import EntrySql, json_list
from svc_pg.other_databases.log.change_order import last_of
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.log.log_dialects import SQLITE
from svc_pg.other_databases.log.statements import PARAM, stated
from svc_pg.other_databases.reconciliation.side import Kept, RowKey, State
from svc_pg.other_databases.reconciliation.sqlite.places import DIALECT, RowPlaces, params_of
from svc_pg.other_databases.reconciliation.table_statements import TableStatements, facts_of
from svc_pg.rendering.sql_text import Sql, sql

_PARAM: Final = Sql(PARAM)
_COPIED: Final = sql("(select k.after_data from main.svc_audit_logs k where k.id = {})", _PARAM)
_ENDS: Final = ("DELETE", "GONE")
_LAST_ID: Final[LiteralString] = """
select max(id), (select max(id) from svc_audit_logs where table_name = %s and moved_from = %s)
  from svc_audit_logs where table_name = %s and record_id = %s
"""
_LAST_TIME: Final = statement("sqlite/queries/last_time.sql")
_ENTRY: Final[LiteralString] = (
    "select timestamp, operation, "  # noqa: S608 - constants
    + (SQLITE.text("after_data") + ", " + SQLITE.text("redacted_fields") + " from svc_audit_logs where id = %s")
)
_GONE: Final[LiteralString] = """
insert into main.svc_audit_logs (table_name, operation, record_id, before_data, redacted_fields, label, context)
select table_name, 'GONE', record_id, {before}, {redacted}, %s, '{"found": "gone"}'
  from main.svc_audit_logs where id = %s
"""
_GONE_AS_IS: Final[LiteralString] = _GONE.replace("{before}", "after_data").replace("{redacted}", "redacted_fields")
_GONE_KEPT: Final[LiteralString] = _GONE.replace("{before}", "cast(%s as text)").replace("{redacted}", "%s")


@dataclass(frozen=True, slots=True)
class SqliteEntries:
    """The part of a ``TableSide`` that reads and writes entries."""

    rules: TableRules
    places: RowPlaces
    """Those of the rows."""
    entry: EntrySql
    statements: TableStatements = field(default_factory=lambda: TableStatements("sqlite"), compare=False)

    def states(self, record: str) -> Effects[Sequence[State]]:
        """The last states by the order of change and by ids, which follow the order of commits."""
        name = str(self.rules.table.name)
        [[at]] = yield Statement(_LAST_TIME, (name, record, name, record))
        if at is None:
            return []
        entry_id, image = yield from last_of(SQLITE, name, record, time_of(at))
        states = [(yield from self._state(entry_id, image))]
        [[own, moved]] = yield Statement(_LAST_ID, (name, record, name, record))
        latest = max(own or 0, moved or 0)
        if latest != entry_id:
            state = yield from self._state(latest, None if latest == moved else ...)
            states.append(state)
        return states

    def image_of(self, known: int) -> Effects[tuple[str | None, str | None]]:
        """Its image and its redacted fields."""
        [[_, _, image, redacted]] = yield Statement(_ENTRY, (known,))
        return image, redacted

    def snapshot(
        self, key: RowKey, kind: str, known: int | None, fields: Sequence[str] | None, kept: Kept | None
    ) -> Statement:
        """Write a SNAPSHOT of a row."""
        before = _COPIED if kept is None else sql("cast({} as text)", _PARAM)
        here = self.places.compared("=", key)
        text = self._rendered("snapshot", here=here, given=_PARAM, before=before, label=FOUND)
        image = known if kept is None else _storable(kept.image)
        changed = None if fields is None else json_list(fields)
        return stated(text, image, changed, json.dumps({"found": kind}), *params_of(key))

    def gone(self, known: int, kept: Kept | None) -> Statement:
        """Write that a record is gone."""
        if kept is None:
            return Statement(_GONE_AS_IS, (FOUND, known))
        return Statement(_GONE_KEPT, (_storable(kept.image), kept.redacted, FOUND, known))

    def _state(self, entry_id: int, image: Any) -> Effects[State]:
        [[at, operation, after, redacted]] = yield Statement(_ENTRY, (entry_id,))
        if image is ...:
            image = None if operation in _ENDS else after
        return State(entry_id, time_of(at), image, redacted)

    def _rendered(self, template: str, **values: object) -> str:
        return self.statements.rendered(DIALECT, template, self._facts, values)

    def _facts(self) -> dict[str, object]:
        own_record = self.places.own_record(self.entry.record_id)
        own = {"table": self.rules.table.name.table, "own_record": own_record}
        return facts_of(DIALECT, self.rules, self.entry) | own


def _storable(image: str | None) -> bytes | str | None:
    """The text of an image; bytes if it is invalid UTF-8."""
    if image is None or image.isascii():
        return image
    try:
        image.encode()
    except UnicodeEncodeError:
        return image.encode(errors="surrogateescape")
    return image
