"""The states of several records at a time, from the log."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.sql import SQL, Composable, Literal

from svc_pg.audit.log.entry import is_disguised
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.past.as_of import AT, OWN, source_of
from svc_pg.audit.past.tracks import HIDDEN, LONGEST, TrackValue
from svc_pg.audit.related.answer import RelatedState, StateField
from svc_pg.audit.related.membership import Key
from svc_pg.audit.related.naming import OF_TENANT
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Apart
from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import NotInstalledError, QueryError

MOST_FIELDS: Final = 60
"""The fields of a state."""

STATES: Final = statement("queries/audit/related_states.sql")
_REDACTED: Final = OWN.index("redacted_fields") + 1
_UNKNOWN: Final = OWN.index("unknown_fields") + 1
PARTS: Final[Mapping[str, Composable]] = {
    "longest": Literal(LONGEST),
    "own": Literal(len(OWN)),
    "redacted": Literal(_REDACTED),
    "unknown": Literal(_UNKNOWN),
    "most": Literal(MOST_FIELDS),
}
_DIGITS: Final = 32


# before its first entry, an INSERT, a record was not there; to ask that of a table takes long if all of it is later
_BEGUN: Final = (
    """
select keys.record_id as key
  from pg_catalog.unnest(%s::text[]) keys(record_id)
 cross join lateral svc.audit_entries_of(%s, keys.record_id, 1) e
 where e.operation = 'INSERT' and e."timestamp" > %s and """
    + OF_TENANT
)


@dataclass(frozen=True, slots=True)
class _Begun:
    key: str


@dataclass(frozen=True, slots=True)
class _Found:
    key: str
    is_there: bool
    field_count: int | None
    members: RawJson | None


def query_of(table: TableName, time: datetime, keys: Sequence[str]) -> Query[_Found]:
    """The query of the states of records of one table."""
    names = {**PARTS, "as_of": source_of(table), "time": AT}
    return Query(SQL(STATES).format(**names).as_string(None), ([*keys], time), _Found)


def states_at(time: datetime, records: Sequence[Key], belongs: Sequence[bool]) -> Effects[list[RelatedState]]:
    """The state of each record at a time; a table that the log does not know then has states that are not known."""
    by_table: dict[str, list[int]] = {}
    for at, (table, _) in enumerate(records):
        by_table.setdefault(table, []).append(at)
    found: list[RelatedState] = []
    for table, numbers in by_table.items():
        keys = [records[at][1] for at in numbers]
        begun: list[_Begun] = yield Query(_BEGUN, (keys, table, time), _Begun)
        rows: dict[str, _Found | None] = {
            each.key: _Found(each.key, is_there=False, field_count=None, members=None) for each in begun
        }
        asked = [key for key in keys if key not in rows]
        try:
            answers: list[_Found] = (yield Apart(query_of(TableName.parse(table), time, asked))) if asked else []
            rows |= {row.key: row for row in answers}
        except (QueryError, NotInstalledError):  # known only since later; not audited now, or without a key
            rows = {**dict.fromkeys(asked), **rows}
        found += [_state(at, belongs[at], rows[records[at][1]]) for at in numbers]
    return sorted(found, key=lambda state: state.record)


def _state(at: int, belongs: bool, row: _Found | None) -> RelatedState:  # noqa: FBT001 - of one caller
    if row is None:
        return RelatedState(at, "not_known", belongs, [], 0)
    if not row.is_there or row.members is None:
        return RelatedState(at, "not_there", belongs, [], 0)
    members = json.loads(row.members)
    own, others = members[: len(OWN)], members[len(OWN) :]
    hidden = {name for place in (_REDACTED, _UNKNOWN) for name in json.loads(own[place - 1][1] or "null") or ()}
    fields = [StateField(name, HIDDEN if is_disguised(name, hidden) else _value(*value)) for name, *value in others]
    return RelatedState(at, "there", belongs, fields, max(0, (row.field_count or 0) - len(OWN)))


def _value(text: Any, beginning: str | None, digest: str | None) -> TrackValue:
    if beginning is not None:
        return TrackValue("long", None, beginning, (digest or "")[:_DIGITS])
    return TrackValue("known", Snapshot(text))
