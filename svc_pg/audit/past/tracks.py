"""Lay the states of a record out as tracks: for each field that changed, its values from change to change."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final, Literal

from svc_pg.audit.log.entry import ACTOR, DB_USER, ENTRY_ID, FOUND, OPERATION, XACT, Entry, Operation
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.past.diff import MISSING, Changed, FieldDiff, changed
from svc_pg.audit.past.record_history import RecordState
from svc_pg.database.pagination import Page
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc

MOST_CHANGES: Final = 100
"""The most changes of one page of tracks."""
MOST_FIELDS: Final = 40
MOST_TICKS: Final = 1_000
"""The most ticks of the fields of one page together, unless its first field has more."""
LONGEST: Final = 200
"""The characters of a value's JSON that a track has; of a longer one it has the beginning."""
MOST_BYTES: Final = 1 << 20
"""The most bytes of the states of one page in the database, unless its first state has more."""
_DIGITS: Final = 32
_ENDS: Final = frozenset({"DELETE", "GONE", "TRUNCATE"})

ValueState = Literal["known", "long", "not_there", "hidden"]


@dataclass(frozen=True, slots=True)
class TrackValue:
    """A value of a field."""

    state: Annotated[
        ValueState,
        Doc(
            "`known`; `long` if only its beginning is here; `not_there` if the record or its field was not there;"
            " `hidden` if it was redacted or erased, or is nested too deeply to be read."
        ),
    ]
    value: Annotated[Snapshot | None, Doc("The value, if it is known; null may also be the value itself.", "39.00")]
    beginning: Annotated[
        str | None, Doc(f"The first {LONGEST} characters of a long value: of a text, or of the JSON.", "Two people")
    ] = None
    digest: Annotated[
        str | None,
        Doc("The beginning of the SHA-256 of a long value's JSON: equal ones are the same value.", "9f86d081884c7d65"),
    ] = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A change of a field."""

    change: Annotated[int, Doc("The position of the change in `changes`, from 0.", 1)]
    before: Annotated[TrackValue, Doc("The value before it, which other changes than those shown may have set.")]
    after: Annotated[TrackValue, Doc("The value that the field got.")]


@dataclass(frozen=True, slots=True)
class Track:
    """A field that changed, and its values."""

    field: Annotated[str, Doc("The name of the field.", "price")]
    ticks: Annotated[list[Tick], Doc("Its changes, the oldest first.")]


@dataclass(frozen=True, slots=True)
class TrackActor:
    """Somebody who made changes of a page: an actor, or, if no actor was set, a role of the database."""

    actor_id: Annotated[str | None, ACTOR]
    db_user: Annotated[str, DB_USER]
    is_found: Annotated[bool, FOUND]
    changes: Annotated[int, Doc("The number of their changes on this page.", 2)]


@dataclass(frozen=True, slots=True)
class TrackChange:
    """A change of the record."""

    entry_id: Annotated[str, ENTRY_ID]
    xact_id: Annotated[str, XACT]
    time: Annotated[datetime, Doc("The time of the change; of one that was found, the time of the comparison.")]
    until: Annotated[
        datetime | None,
        Doc(
            "The time until which the record was so; null for the state of now. Not the time of the next change if its"
            " table was emptied, or its rules left changes out."
        ),
    ]
    operation: Annotated[Operation, OPERATION]
    actor: Annotated[int, Doc("The position of its actor in `actors`, from 0.", 0)]
    field_count: Annotated[int, Doc("The number of fields that it changed.", 2)]
    ends: Annotated[bool, Doc("True if the record was not there after it, or had another key.")]
    is_erased: Annotated[bool, Doc("True if the values of the entry were erased.")]
    is_in_order: Annotated[bool, Doc("False if changes between it and the one before may be missing.")]
    moved_from: Annotated[str | None, Doc("The key that the record had before, if it got another one.", "41")]
    moved_to: Annotated[str | None, Doc("The key that the record got, if it got another one.", "43")]


@dataclass(frozen=True, slots=True)
class RecordTracks:
    """Some changes of a record in the order of change, the oldest first, and a track for each field that changed.

    A field that has its first value only, or that only ended with the record, has no track.
    """

    actors: Annotated[list[TrackActor], Doc("Those who made the changes, in the order of their first one here.")]
    changes: Annotated[list[TrackChange], Doc("The changes, the oldest first.")]
    fields: Annotated[
        list[Track], Doc(f"Up to {MOST_FIELDS} tracks, those with most ticks first: from `fieldsFrom` on.")
    ]
    field_count: Annotated[int, Doc("The number of all fields that have a track.", 1)]
    unchanged_fields: Annotated[int, Doc("The number of other fields of the newest of these states.", 3)]
    next_cursor: Annotated[str | None, Doc("The cursor for older changes; null if there are none.", "eyJpIjo3fQ")]
    prev_cursor: Annotated[str | None, Doc("That for newer changes; null if there are none.", "eyJpIjo5fQ")] = None


NOT_THERE: Final = TrackValue("not_there", None)
HIDDEN: Final = TrackValue("hidden", None)


def tracks_of(page: Page[RecordState], *, fields_from: int = 0) -> RecordTracks:
    """The tracks of a page of states, which may come in either order; fields before ``fields_from`` are left out."""
    states = list(page.data)
    if len(states) > 1 and _place(states[0]) > _place(states[-1]):
        states.reverse()
    changes = [changed_fields(state) for state in states]
    moved = _moved(states, changes)
    actors: dict[tuple[bool, str | None, str], list[int]] = {}
    for at, state in enumerate(states):
        actors.setdefault(actor_of(state), []).append(at)
    numbers = {at: number for number, own in enumerate(actors.values()) for at in own}
    return RecordTracks(
        actors=[TrackActor(actor, user, is_found, len(own)) for (is_found, actor, user), own in actors.items()],
        changes=[_change(each, numbers[at], len(changes[at])) for at, each in enumerate(states)],
        fields=[_track(each, states) for each in _bounded(moved[fields_from:])],
        field_count=len(moved),
        unchanged_fields=len(_names(states) - {each.field for each in moved}),
        next_cursor=page.next_cursor,
        prev_cursor=page.prev_cursor,
    )


def _place(state: RecordState) -> tuple[datetime, int]:
    return state.valid_from, int(state.place_id)


def actor_of(state: Entry | RecordState) -> tuple[bool, str | None, str]:
    """Whoever made a change: if it was found, the actor, and the role of the database if there is no actor."""
    if state.is_found:  # who compared is not who changed
        return True, None, ""
    return False, state.actor_id, "" if state.actor_id is not None else state.db_user or ""


def _change(state: RecordState, actor: int, field_count: int) -> TrackChange:
    return TrackChange(
        entry_id=state.entry_id,
        xact_id=state.xact_id,
        time=state.valid_from,
        until=state.valid_to,
        operation=state.operation,
        actor=actor,
        field_count=field_count,
        ends=_ends(state),
        is_erased=state.is_erased,
        is_in_order=state.is_in_order,
        moved_from=state.moved_from,
        moved_to=state.moved_to,
    )


def _ends(state: RecordState) -> bool:
    return state.operation in _ENDS or state.moved_to is not None


def _begins(state: RecordState) -> bool:
    return state.operation in ("INSERT", "SNAPSHOT") and state.before_data is None


def changed_fields(state: Entry | RecordState) -> list[Changed]:
    """The fields that a change set; without their values if these cannot be read."""
    try:
        return changed(state)
    except (QueryError, ValueError):  # nested too deeply, or a number of 5,000 digits
        return [Changed(name, MISSING, MISSING, is_redacted=True) for name in state.changed_fields or ()]


@dataclass(frozen=True, slots=True)
class _Moves:
    """The changes of a field by their positions; None at an end that does not name the field."""

    field: str
    changes: dict[int, Changed | None]


def _moved(states: Sequence[RecordState], changes: Sequence[Sequence[Changed]]) -> list[_Moves]:
    """The fields that a change set, or that were not the same each time that the record began; most changes first.

    Their values are not written here: a table may have 1,600 columns, and a page shows few of them.
    """
    found: dict[str, _Moves] = {}
    moved: set[str] = set()
    last: dict[str, object] = {}
    for at, (state, fields) in enumerate(zip(states, changes, strict=True)):
        ends, begins = _ends(state), _begins(state)
        for each in fields:
            found.setdefault(each.field, _Moves(each.field, {})).changes[at] = each
            if ends:
                continue
            after = HIDDEN if each.is_redacted else each.after
            if not begins or (each.field in last and not _is_same(last[each.field], after)):
                moved.add(each.field)
            if after is not MISSING:
                last[each.field] = after
    wanted = [moves for name, moves in found.items() if name in moved]
    ended = [at for at, state in enumerate(states) if _ends(state)]
    for moves in wanted:  # a change of the key, or one that was erased, does not name all fields
        for at in ended:
            moves.changes.setdefault(at, None)
    return sorted(wanted, key=lambda moves: (-len(moves.changes), moves.field))


def _is_same(one: object, other: object) -> bool:
    try:
        return one == other
    except RecursionError:
        return False


def _bounded(moved: Sequence[_Moves]) -> Iterator[_Moves]:
    ticks = 0
    for number, each in enumerate(moved[:MOST_FIELDS]):
        ticks += len(each.changes)
        if number and ticks > MOST_TICKS:
            return
        yield each


def _track(moves: _Moves, states: Sequence[RecordState]) -> Track:
    ticks = []
    for at, each in sorted(moves.changes.items()):
        before, after = (HIDDEN, NOT_THERE) if each is None else sides_of(each)
        ticks.append(Tick(at, before, NOT_THERE if _ends(states[at]) else after))
    return Track(moves.field, ticks)


def sides_of(change: Changed) -> tuple[TrackValue, TrackValue]:
    """The values before and after."""
    try:
        written = change.written()
    except (QueryError, ValueError):
        return HIDDEN, HIDDEN
    return _value(written, written.before), _value(written, written.after)


def _value(field: FieldDiff, side: Snapshot | None) -> TrackValue:
    if field.is_redacted:
        return HIDDEN
    if side is None:
        return NOT_THERE
    text = side.text
    if len(text) <= LONGEST:
        return TrackValue("known", side)
    beginning = json.loads(text) if text.startswith('"') else text
    digest = sha256(text.encode(errors="backslashreplace")).hexdigest()
    return TrackValue("long", None, beginning[:LONGEST], digest[:_DIGITS])


def _names(states: Sequence[RecordState]) -> set[str]:
    """The names of the fields of the newest state whose values the log has."""
    for state in reversed(states):
        for side in (state.after_data, state.before_data):
            if side is not None and not state.is_erased:
                try:
                    return set(side)
                except (ValueError, RecursionError):
                    return set()
    return set()
