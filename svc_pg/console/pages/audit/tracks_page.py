"""The page of a record through time: a track for each field that changed, and any two of its changes compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import ascii_uppercase
from typing import Final

from svc_pg.audit.past.tracks import RecordTracks, Tick, Track, TrackActor, TrackChange, TrackValue
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.audit.record_names import name_of_record
from svc_pg.console.pages.differences.difference import value_of
from svc_pg.console.pages.differences.values import Value, begun
from svc_pg.console.pages.page_request import PAGES, PageRequest
from svc_pg.formats import look_alikes
from svc_pg.formats.human_times import exact

FROM: Final = "from"
TO: Final = "to"
FIELDS: Final = "fieldsFrom"
FILTERS: Final = (*PAGES, FIELDS, FROM, TO)

_CHANGES: Final = 24
"""The changes of one page, which stand beside each other at 360 px too."""
_LONGEST: Final = 80
_IN_A_TITLE: Final = 40
_SAID_FIELDS: Final = 4
_COLOURS: Final = 5
_LABELS: Final = 6
_SAID: Final = frozenset({"unknown_record", "unknown_table", "not_supported"})
"""Codes of problems that are an answer: there is no such record, or the log cannot tell."""
_WORDS: Final = {"hidden": "not recorded", "not_there": "not there"}


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who made changes: a letter, which with the colour marks their ticks, and a name."""

    letter: str
    colour: int
    name: str
    of: TrackActor


@dataclass(frozen=True, slots=True)
class Mark:
    """A change on a track: its place in percent of the width, the mark of its actor, and a text for the pointer."""

    x: str
    actor: Actor
    title: str


@dataclass(frozen=True, slots=True)
class FieldTrack:
    """A field with its marks, and its values after the two changes that are compared."""

    name: str
    marks: Sequence[Mark]
    was: Value
    now: Value
    is_same: bool
    between: int
    """The number of its changes between both, if it went and came back."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A change: its place, its actor, and the address at which it is one end of the comparison."""

    change: TrackChange
    actor: Actor
    x: str
    left: str
    address: str
    said: str


@dataclass(frozen=True, slots=True)
class Step:
    """A change between the two ends, with the values that it set."""

    stop: Stop
    values: Sequence[tuple[str, Value, Value]]
    more: int


async def tracks_page(request: PageRequest) -> Answer:
    """The tracks, and what differs between two changes: by default the first and the last of the page."""
    table, record_id = request.params["table"], request.params["id"]
    values: dict[str, object] = {
        "table": table,
        "record_id": record_id,
        "called": await name_of_record(request, table, record_id),
        "changes": changes,
    }
    try:
        tracks = await _tracks(request)
    except Problem as problem:
        if problem.code not in _SAID:
            raise
        is_unknown = problem.code != "not_supported"
        return Html("tracks", values | {"tracks": None, "problem": problem}, 404 if is_unknown else 200)
    if not tracks.changes:  # of the cursor of another record, or all of them were purged
        return Html("tracks", values | {"tracks": None, "problem": None})
    return Html("tracks", values | {"problem": None, **_shown(request, tracks)})


async def _tracks(request: PageRequest) -> RecordTracks:
    path = ("audit", "records", request.params["table"], request.params["id"], "tracks")
    query = {name: request.query[name] for name in (*PAGES, FIELDS) if request.query.get(name)}
    return await request.api.get(RecordTracks, *path, query={"limit": str(_CHANGES), **query})


def _shown(request: PageRequest, tracks: RecordTracks) -> dict[str, object]:
    actors = [actor_of(at, each) for at, each in enumerate(tracks.actors)]
    first, last = _ends(request, tracks.changes)
    stops = [_stop(request, tracks, actors, at, (first, last)) for at in range(len(tracks.changes))]
    fields = [_field(track, stops, first, last) for track in tracks.fields]
    skipped = int(request.query.get(FIELDS) or 0)
    more = tracks.field_count - skipped - len(tracks.fields)
    return {
        "tracks": tracks,
        "actors": actors,
        "twins": look_alikes.twins({actor.name for actor in actors}),
        "stops": stops,
        "labels": labels_of([(stop.x, stop.change.time) for stop in stops]),
        "first": first,
        "last": last,
        "fields": fields,
        "differing": sum(not field.is_same for field in fields),
        "steps": list(_steps(tracks, stops, first, last)),
        "more_fields": max(0, more),
        "next_fields": skipped + len(tracks.fields),
        "skipped": skipped,
    }


def _ends(request: PageRequest, changes: Sequence[TrackChange]) -> tuple[int, int]:
    """The positions of the two changes that the address names by their entries, the earlier one first."""
    places = {change.entry_id: at for at, change in enumerate(changes)}
    last = len(changes) - 1
    found = [places.get(request.query.get(name, ""), default) for name, default in ((FROM, 0), (TO, last))]
    return min(found), max(found)


def actor_of(at: int, actor: TrackActor) -> Actor:
    """The letter, the colour and the name of an actor, by the place in the list of all."""
    if actor.is_found:
        return Actor("?", 2, "not known", actor)
    letter = ascii_uppercase[at] if at < len(ascii_uppercase) else str(at + 1)
    return Actor(letter, 1 + at % _COLOURS, actor.actor_id or actor.db_user or "nobody named", actor)


def x_of(at: int, of: int) -> str:
    """The place of a change among all, in percent of the width."""
    return f"{(at + 0.5) * 100 / max(1, of):.4g}"


def _stop(request: PageRequest, tracks: RecordTracks, actors: Sequence[Actor], at: int, ends: tuple[int, int]) -> Stop:
    """The change, which the nearer end of the comparison goes to if somebody points at it."""
    change, count = tracks.changes[at], len(tracks.changes)
    actor = actors[change.actor]
    is_from = at < ends[0] or (at < ends[1] and at - ends[0] < ends[1] - at)
    other = tracks.changes[ends[1] if is_from else ends[0]].entry_id
    named = {FROM: change.entry_id, TO: other} if is_from else {FROM: other, TO: change.entry_id}
    said = f"{exact(change.time)}, {actor.name[:100]} {_verb(change)}"
    return Stop(change, actor, x_of(at, count), f"{at * 100 / max(1, count):.4g}", request.same_page(**named), said)


def _verb(change: TrackChange) -> str:
    if change.moved_to is not None:
        return "gave it another key"
    if change.operation == "UPDATE":
        return f"changed {change.field_count} {'field' if change.field_count == 1 else 'fields'}"
    return f"{changes.OPERATIONS[change.operation].verb} it"


def labels_of(places: Sequence[tuple[str, datetime]]) -> list[tuple[str, str]]:
    """A few times below their places: the day, or the time of a day that stands before."""
    every = max(1, -(-len(places) // _LABELS))
    chosen = places[every // 2 :: every]
    days = [None, *(time.date() for _, time in chosen)]
    return [
        (x, f"{time:%H:%M}" if time.date() == day else _day(time)) for (x, time), day in zip(chosen, days, strict=False)
    ]


def _day(time: datetime) -> str:
    return f"{time.day} {time:%b}"


def _field(track: Track, stops: Sequence[Stop], first: int, last: int) -> FieldTrack:
    was, now = (_at(track.ticks, at) for at in (first, last))
    between = sum(first < tick.change <= last for tick in track.ticks)
    marks = [_mark(tick, stops[tick.change]) for tick in track.ticks]
    is_hidden = "hidden" in (was.state, now.state)
    is_same = was == now and not (is_hidden and between)
    return FieldTrack(track.field, marks, track_value(was), track_value(now), is_same, between)


def _at(ticks: Sequence[Tick], at: int) -> TrackValue:
    """The value after the change at this position."""
    return next((tick.after for tick in reversed(ticks) if tick.change <= at), ticks[0].before)


def _mark(tick: Tick, stop: Stop) -> Mark:
    value = track_value(tick.after, longest=_IN_A_TITLE)
    text = value.words or "".join(part.text for part in value.parts) or "empty"
    return Mark(stop.x, stop.actor, f"{stop.actor.name[:_IN_A_TITLE]}: {text}, {exact(stop.change.time)}")


def track_value(value: TrackValue, *, longest: int = _LONGEST) -> Value:
    """A value of a track as pages show it."""
    if value.beginning is not None:
        return begun(value.beginning[:longest])
    if value.value is None:
        return Value([], None, words=_WORDS.get(value.state, "not set"))
    return value_of(changes.readable(value.value), longest=longest) or Value([], None, words="not set")


def _steps(tracks: RecordTracks, stops: Sequence[Stop], first: int, last: int) -> Iterator[Step]:
    """The changes after the first end up to the last, the newest first."""
    by_change: dict[int, list[tuple[str, Tick]]] = {}
    for track in tracks.fields:
        for tick in track.ticks:
            by_change.setdefault(tick.change, []).append((track.field, tick))
    for stop in reversed(stops[first + 1 : last + 1]):
        found = by_change.get(stops.index(stop), [])
        if stop.change.ends or stop.change.operation in ("INSERT", "SNAPSHOT"):
            found = []
        values = [(name, track_value(tick.before), track_value(tick.after)) for name, tick in found[:_SAID_FIELDS]]
        yield Step(stop, values, max(0, stop.change.field_count - len(values)) if found else 0)
