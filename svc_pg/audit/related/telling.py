"""Tell what a search found: the newest changes with their values, the records, and their states at some times."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal, get_args

from svc_pg.audit.log.entry import COLUMNS, Entry, is_erased
from svc_pg.audit.past.tracks import TrackActor, actor_of, changed_fields, sides_of
from svc_pg.audit.reads.recording import recorded
from svc_pg.audit.related.answer import (
    Reach,
    RelatedChange,
    RelatedField,
    RelatedHistory,
    RelatedRecord,
    RelatedStates,
    RelatedTable,
)
from svc_pg.audit.related.membership import Key, Row
from svc_pg.audit.related.search import Found, Searched
from svc_pg.audit.related.states import states_at
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import encode
from svc_pg.database.performing import Within
from svc_pg.database.query import Query
from svc_pg.database.statements import statement

MOST_RECORDS: Final = 40
"""The records that an answer tells of by name, and has states of."""
MOST_FIELDS: Final = 6
"""The fields of a change that an answer has."""
MOST_TIMES: Final = 2
ChangeTime = Literal["first", "last"]
CHANGE_TIMES: Final[tuple[ChangeTime, ...]] = get_args(ChangeTime)
"""The times of the first and of the last change of an answer."""
_LAST: Final = (1 << 63) - 1

_ENTRIES: Final = statement("queries/audit/related_entries.sql")


def told(
    found: Found, *, size: int, times: Sequence[datetime | ChangeTime], max_bytes: int | None
) -> Effects[RelatedHistory]:
    """The answer."""
    shown = found.changes[:size]
    records = _records(found, shown)
    keys = [key for key, _ in records]
    states = []
    for time in _times(times, shown):
        belonging = [found.members.has(key, (time, _LAST)) for key in keys]
        states.append(RelatedStates(time, (yield from states_at(time, keys, belonging))))
    entries = yield from _entries([row for row, _ in shown], max_bytes)
    is_cut = len(entries) < len(shown) or len(found.changes) > size
    shown = shown[: len(entries)]
    numbers: dict[Any, list[int]] = {}
    for at, entry in enumerate(entries):
        numbers.setdefault(actor_of(entry), []).append(at)
    who = {at: number for number, own in enumerate(numbers.values()) for at in own}
    changes = [_change(entry, *shown[at], who[at]) for at, entry in enumerate(entries)]
    counts = Counter((change.table, change.record_id) for change in changes)
    yield from _recorded(changes, keys, found)
    return RelatedHistory(
        tables=[_table(found, each) for each in found.tables],
        actors=[TrackActor(actor, user, is_found, len(own)) for (is_found, actor, user), own in numbers.items()],
        records=[RelatedRecord(*key, step, counts[key]) for key, step in records],
        record_count=1 + len(found.members.rows),
        changes=changes,
        states=states,
        next_cursor=_cursor(found, shown if is_cut else []),
    )


def _times(times: Sequence[datetime | ChangeTime], shown: Sequence[tuple[Row, int]]) -> list[datetime]:
    """The times; none for those of changes if there are no changes."""
    places = {"first": -1, "last": 0}
    found = [
        (shown[places[time]][0].naming.place[0] if shown else None) if isinstance(time, str) else time for time in times
    ]
    return [time for time in found if time is not None]


def _records(found: Found, shown: Sequence[tuple[Row, int]]) -> list[tuple[Key, int]]:
    """The record, then those of the changes, then others, each with its step."""
    steps: dict[Key, int] = {found.wanted.root: 0}
    for row, step in (*shown, *found.changes):
        if row.naming.record_id is not None and len(steps) < MOST_RECORDS:
            steps.setdefault((row.table, row.naming.record_id), step)
    return [*steps.items()]


def _entries(rows: Sequence[Row], max_bytes: int | None) -> Effects[list[Entry]]:
    """The entries; fewer if they have more bytes, or were purged meanwhile."""
    if not rows:
        return []
    params = ([row.naming.place[0] for row in rows], [row.naming.place[1] for row in rows])
    query = Query(COLUMNS + " " + _ENTRIES, params, Entry)
    entries: list[Entry]
    if max_bytes is None:
        entries = yield query
    else:
        entries, _ = yield Within(query, max_bytes)
    ids = {entry.id: entry for entry in entries}
    found = []
    for row in rows:
        entry = ids.get(str(row.naming.place[1]))
        if entry is None:
            break
        found.append(entry)
    return found


def _change(entry: Entry, row: Row, step: int, actor: int) -> RelatedChange:
    fields = changed_fields(entry)
    return RelatedChange(
        entry_id=entry.id,
        xact_id=str(entry.xact_id),
        time=entry.timestamp,
        table=entry.table_name,
        record_id=entry.record_id,
        step=step,
        operation=entry.operation,
        actor=actor,
        fields=[RelatedField(each.field, *sides_of(each)) for each in fields[:MOST_FIELDS]],
        field_count=len(fields),
        joins=step > 0 and entry.operation == "UPDATE" and row.before is None and row.after is not None,
        leaves=step > 0 and entry.operation == "UPDATE" and row.after is None and row.before is not None,
        is_erased=is_erased(entry),
    )


def _table(found: Found, searched: Searched) -> RelatedTable:
    reference, looked = searched.reference, searched.looked
    # what is found by an index has looked at nothing else, and a tenant is not told of the entries of others
    is_told = looked is not None and not looked.by_index and not found.wanted.conditions
    reach: Reach = "not_looked_at" if looked is None else "whole" if looked.is_whole else "newest"
    return RelatedTable(
        table=reference.referring,
        columns=reference.columns,
        refers_to=reference.referred,
        step=reference.step,
        reach=reach if reference.is_audited else "not_audited",
        looked_at=looked.looked_at if looked is not None and is_told else None,
        back_to=looked.back_to[0] if looked is not None and is_told and reach == "newest" and looked.back_to else None,
        unnamed=looked.unnamed if looked is not None and is_told else None,
        has_more=searched.has_more,
    )


def _cursor(found: Found, cut: Sequence[tuple[Row, int]]) -> str | None:
    end = found.end()
    places = [place for place in (end, cut[-1][0].naming.place if cut else None) if place is not None]
    if not places:
        return None
    time, entry_id = max(places)
    return encode((time.isoformat(), str(entry_id)))


def _recorded(changes: Sequence[RelatedChange], keys: Sequence[Key], found: Found) -> Effects[None]:
    """Record the records that the answer shows."""
    shown: dict[str, list[str | None]] = {}
    for change in changes:
        shown.setdefault(change.table, []).append(change.record_id)
    for table, record in keys:
        shown.setdefault(table, []).append(record)
    each_once = {table: list(dict.fromkeys(records)) for table, records in shown.items()}
    yield from recorded(each_once, {"of": "related", "table": found.wanted.table})
