"""The page of a record with the rows that refer to it: one time line over tables, and all states at two times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from svc_pg.audit.past.tracks import TrackValue
from svc_pg.audit.related.answer import RelatedChange, RelatedHistory, RelatedRecord, RelatedState, RelatedTable
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.audit.as_of_page import AskedTime, asked_time
from svc_pg.console.pages.audit.record_names import name_of_record
from svc_pg.console.pages.audit.tracks_page import Actor, Mark, actor_of, labels_of, track_value, x_of
from svc_pg.console.pages.differences.values import Value
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.record_titles import RecordTitles, as_name
from svc_pg.formats import look_alikes
from svc_pg.formats.human_times import exact
from svc_pg.formats.json_writer import timestamp

TIME = "time"
WITH = "with"
CURSOR = "cursor"
FILTERS = (CURSOR, TIME, WITH)

Names: TypeAlias = Mapping[tuple[str, str | None], str]
"""Names of records by table and key."""

_OWN_TRACKS = 14
"""The records that have a track each; the others of a table share one."""
_FIELDS = 3
_SAID_FIELDS = 4
_IN_A_TITLE = 40
_SAID = frozenset({"unknown_record", "unknown_table", "not_supported"})


@dataclass(frozen=True, slots=True)
class Moment:
    """A transaction with changes of the page: its place, its actor, and the address at which one end is after it."""

    time: datetime
    actor: Actor
    x: str
    left: str
    address: str
    said: str
    xact_id: str


@dataclass(frozen=True, slots=True)
class StateCell:
    """A record at one of the two times: some fields, or the words if it was not there."""

    fields: Sequence[tuple[str, Value]]
    more: int
    words: str


@dataclass(frozen=True, slots=True)
class RecordTrack:
    """A record, or several of one table, with the marks of its changes, and its states at the two times."""

    table: str
    record_id: str | None
    name: str | None
    others: int
    step: int
    marks: Sequence[Mark]
    was: StateCell | None
    now: StateCell | None
    is_same: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A change, with its actor, the name of its record and the values that it set."""

    change: RelatedChange
    name: str | None
    actor: Actor
    values: Sequence[tuple[str, Value, Value]]
    more: int


async def related_page(request: PageRequest) -> Answer:
    """The newest changes, and the states after the first of them and now, or at the times of the address."""
    table, record_id = request.params["table"], request.params["id"]
    values: dict[str, object] = {
        "table": table,
        "record_id": record_id,
        "called": await name_of_record(request, table, record_id),
        "changes": changes,
    }
    asked = asked_time(request, TIME), asked_time(request, WITH)
    refused = asked[0].problem or asked[1].problem
    try:
        found = await _asked(request, asked)
    except Problem as problem:
        if problem.code not in _SAID:
            raise
        is_unknown = problem.code != "not_supported"
        return Html("related", values | {"found": None, "problem": problem}, 404 if is_unknown else 200)
    named = record_names(found, request.titles)
    return Html(
        "related", values | {"found": found, "problem": None, "refused": refused, **_shown(request, found, named)}
    )


async def _asked(request: PageRequest, asked: Sequence[AskedTime]) -> RelatedHistory:
    path = ("audit", "records", request.params["table"], request.params["id"], "related")
    first, second = (each.time for each in asked)
    is_newest = not request.query.get(CURSOR)
    query = {
        "time": "first" if first is None else timestamp(first),
        "otherTime": timestamp(second) if second is not None else timestamp(request.now) if is_newest else "last",
    }
    if not is_newest:
        query[CURSOR] = request.query[CURSOR]
    return await request.api.get(RelatedHistory, *path, query=query)


def record_names(found: RelatedHistory, titles: RecordTitles) -> Names:
    """The names of the records, by table and key: those of the newest of their states here that have one."""
    named: dict[tuple[str, str | None], str] = {}
    for moment in sorted(found.states, key=lambda each: each.time):
        for state in moment.states:
            record, values = found.records[state.record], {each.field: each.value for each in state.fields}
            names = (_name(values.get(column), record.record_id) for column in titles.columns_of(record.table, values))
            if name := next(filter(None, names), None):
                named[record.table, record.record_id] = name
    return named


def _name(value: TrackValue | None, record_id: str) -> str | None:
    if value is None or value.state != "known" or value.value is None:
        return None
    return as_name(changes.readable(value.value), record_id)


def _shown(request: PageRequest, found: RelatedHistory, named: Names) -> dict[str, object]:
    actors = [actor_of(at, each) for at, each in enumerate(found.actors)]
    states = sorted(found.states, key=lambda each: each.time)
    first, last = (states[0], states[-1]) if states else (None, None)
    ends = (first.time, last.time) if first and last else None
    moments = list(_moments(request, found, actors, ends))
    places = [next((m.x for m in reversed(moments) if m.time <= end), "0") for end in ends or ()]
    return {
        "actors": actors,
        "twins": look_alikes.twins({actor.name for actor in actors}),
        "moments": moments,
        "ends": ends,
        "is_now": ends is not None and not request.query.get(WITH) and not request.query.get(CURSOR),
        "places": places,
        "labels": labels_of([(moment.x, moment.time) for moment in moments]),
        "records": list(_tracks(found, named, moments, first.states if first else [], last.states if last else [])),
        "steps": [_step(each, named, actors[each.actor]) for each in found.changes],
        "bounds": [each for each in found.tables if _is_bounded(each)],
    }


def _moments(
    request: PageRequest, found: RelatedHistory, actors: Sequence[Actor], ends: tuple[datetime, datetime] | None
) -> Iterator[Moment]:
    """The transactions, the oldest first; pointing at one moves the nearer end of the comparison there."""
    by_transaction: dict[str, list[RelatedChange]] = {}
    for change in reversed(found.changes):
        by_transaction.setdefault(change.xact_id, []).append(change)
    count = len(by_transaction)
    for at, (xact_id, own) in enumerate(by_transaction.items()):
        time = max(change.time for change in own)
        actor = actors[own[0].actor]
        number = f"{len(own)} changes" if len(own) > 1 else f"{changes.OPERATIONS[own[0].operation].verb} it"
        is_first = ends is None or abs(time - ends[0]) <= abs(ends[1] - time) or time < ends[0]
        address = request.same_page(**{TIME if is_first else WITH: timestamp(time)})
        said = f"{exact(time)}, {actor.name[:100]}: {number}"
        yield Moment(time, actor, x_of(at, count), f"{at * 100 / max(1, count):.4g}", address, said, xact_id)


def _tracks(
    found: RelatedHistory,
    named: Names,
    moments: Sequence[Moment],
    was: Sequence[RelatedState],
    now: Sequence[RelatedState],
) -> Iterator[RecordTrack]:
    """The records with most recent changes, then the others of each table."""
    by_record: dict[tuple[str, str | None], list[RelatedChange]] = {}
    for change in found.changes:
        by_record.setdefault((change.table, change.record_id), []).append(change)
    first, last = ({state.record: state for state in states} for states in (was, now))
    for at, record in enumerate(found.records[:_OWN_TRACKS]):
        own = by_record.pop((record.table, record.record_id), [])
        name = named.get((record.table, record.record_id))
        yield _track(record, name, _marks(own, moments), first.get(at), last.get(at))
    rest: dict[str, list[RelatedChange]] = {}
    for record in found.records[_OWN_TRACKS:]:
        rest.setdefault(record.table, [])
    for (table, _), own in by_record.items():
        rest.setdefault(table, []).extend(own)
    for table, own in rest.items():
        number = sum(record.table == table for record in found.records[_OWN_TRACKS:])
        yield RecordTrack(table, None, None, number, 0, _marks(own, moments), None, None, is_same=True)


def _marks(own: Sequence[RelatedChange], moments: Sequence[Moment]) -> list[Mark]:
    verbs = {change.xact_id: changes.OPERATIONS[change.operation].verb for change in own}
    return [
        Mark(m.x, m.actor, f"{m.actor.name[:_IN_A_TITLE]} {verbs[m.xact_id]} it, {exact(m.time)}")
        for m in moments
        if m.xact_id in verbs
    ]


def _track(
    record: RelatedRecord,
    name: str | None,
    marks: Sequence[Mark],
    was: RelatedState | None,
    now: RelatedState | None,
) -> RecordTrack:
    before, after = _cells(was, now)
    is_same = was is not None and now is not None and _is_same(was, now)
    return RecordTrack(record.table, record.record_id, name, 0, record.step, marks, before, after, is_same)


def _is_same(was: RelatedState, now: RelatedState) -> bool:
    return (was.state, was.belongs, was.fields) == (now.state, now.belongs, now.fields)


def _cells(was: RelatedState | None, now: RelatedState | None) -> tuple[StateCell | None, StateCell | None]:
    """Both states: the fields that differ, or, of a record that was there once, its first ones."""
    if was is None or now is None:
        return None, None
    old, new = ({each.field: each.value for each in state.fields} for state in (was, now))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)] if old and new else [*(new or old)]
    cells = [
        StateCell(
            [(name, track_value(value)) for name in names[:_FIELDS] if (value := values.get(name)) is not None],
            max(0, len(names) - _FIELDS) if values else 0,
            _words(state),
        )
        for state, values in ((was, old), (now, new))
    ]
    return cells[0], cells[1]


def _words(state: RelatedState) -> str:
    if state.state == "not_there":
        return "not there"
    if state.state == "not_known":
        return "not known"
    return "" if state.belongs else "of another record"


def _step(change: RelatedChange, named: Names, actor: Actor) -> Step:
    fields = change.fields[:_SAID_FIELDS] if change.operation == "UPDATE" else []
    values = [(each.field, track_value(each.before), track_value(each.after)) for each in fields]
    return Step(
        change,
        named.get((change.table, change.record_id)),
        actor,
        values,
        change.field_count - len(fields) if fields else 0,
    )


def _is_bounded(table: RelatedTable) -> bool:
    """True if the page has to tell what it did not look at."""
    return table.reach in ("newest", "not_audited") or bool(table.unnamed) or table.has_more
