"""The page of a record as it was at a time: its fields then and now, who set them last, and the changes around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from svc_pg.audit.log.entry import Entry, is_disguised
from svc_pg.audit.past.blame import FieldOrigin
from svc_pg.audit.past.past_row import PastRow
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.audit.record_names import name_of_record
from svc_pg.console.pages.differences.difference import Difference, difference, value_of
from svc_pg.console.pages.differences.json_paths import is_same
from svc_pg.console.pages.differences.values import Value, alone
from svc_pg.console.pages.differences.work import Work
from svc_pg.console.pages.integrity import silences_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page
from svc_pg.formats import durations
from svc_pg.formats.json_writer import timestamp

_STOPS: Final = 40
"""The changes before and after the time that the slider reaches."""
_TICK: Final = timedelta(microseconds=1)
_SAID: Final = frozenset({"unknown_record", "unknown_table", "not_known_then"})
"""Codes of problems that are an answer: there was no such record, or the log cannot tell."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A change of the record, and the address of its state after it."""

    entry: Entry
    address: str


@dataclass(frozen=True, slots=True)
class Side:
    """A value of a field, None if it is null. ``unknown`` says why the log does not tell it, or not the real one."""

    value: Value | None
    unknown: str | None


@dataclass(frozen=True, slots=True)
class FieldAsOf:
    """A field then and now, or at the other time, the difference, and who set it last."""

    name: str
    then: Side
    now: Side
    is_same: bool
    difference: Difference
    origin: FieldOrigin | None


@dataclass(frozen=True, slots=True)
class AskedTime:
    """A time that somebody asked for; ``problem`` if it cannot be read."""

    time: datetime | None
    problem: Problem | None = None


async def as_of_page(request: PageRequest) -> Answer:
    """Two states of a record side by side, each of now if the address has no time for it.

    The first is of the parameter ``time``, the second of ``with``.
    """
    table, record_id = request.params["table"], request.params["id"]
    asked, beside = asked_time(request, "time"), asked_time(request, "with")
    before, after = await _changes(request, asked.time)
    time = asked.time or max([request.now, *(entry.timestamp for entry in before[:1])])
    stops = [
        Stop(each, request.to.record_at(table, record_id, each.timestamp, beside.time))
        for each in (*reversed(before), *after)
    ]
    then, problem = await _as_of(request, time)
    is_now = not after and beside.time is None
    other_time = beside.time or max([request.now, *(entry.timestamp for entry in after[-1:])])
    now = then if is_now or problem is not None else (await _as_of(request, other_time))[0]
    origins = await _origins(request) if now is not None and beside.time is None else {}
    values = {
        "table": table,
        "record_id": record_id,
        "called": await name_of_record(request, table, record_id),
        "time": time,
        "beside": beside.time,
        "is_now": is_now,
        "stops": stops,
        "at": len(before) - 1,
        "row": then,
        "is_gone": now is None,
        "whole": _whole(request, then, now),
        "fields": [] if then is None else _fields(then, now, origins or {}),
        "has_origins": origins is not None,
        "other": [] if then is None else _unnamed(then),
        "problem": asked.problem or beside.problem or problem,
        "entry": before[0] if before else None,
        "changes": changes,
        "silences": await silences_of(request, table),
    }
    is_unknown = not stops and problem is not None and problem.code in _SAID
    return Html("as_of", values, 404 if is_unknown else 200)


def asked_time(request: PageRequest, name: str) -> AskedTime:
    """The time of this name; one without a zone, as a form gives it, is in UTC like all times of the pages."""
    text = request.query.get(name, "").strip()
    if not text:
        return AskedTime(None)
    try:
        point = datetime.fromisoformat(text)
        time = point.replace(tzinfo=UTC) if point.tzinfo is None else point.astimezone(UTC)
        return AskedTime(min(time, datetime.max.replace(tzinfo=UTC) - _TICK))
    except (ValueError, OverflowError):
        pass
    try:
        return AskedTime(request.now - durations.parse(text))
    except (ValueError, OverflowError):
        detail = "Write 2026-01-31, 2026-01-31T12:00:00Z, or how long ago: 7d, 1h30m."
        return AskedTime(None, Problem(422, "invalid_parameter", detail))


async def _changes(request: PageRequest, time: datetime | None) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """As ``_changes_around``; none if the address names no table."""
    try:
        return await _changes_around(request, time)
    except Problem as problem:
        if problem.code != "invalid_parameter":
            raise
        return [], []


async def _changes_around(request: PageRequest, time: datetime | None) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """The changes up to a time, the newest first, and those after it, the oldest first."""
    query = {
        "resource": request.params["table"],
        "record": request.params["id"],
        "fields": "operation,recordId,actorId,dbUser,changedFields,label",
        "limit": str(_STOPS),
    }
    if time is None:
        return (await request.api.get(Page[Entry], "audit", "entries", query=query)).data, []
    edge = timestamp(time + _TICK)
    before = await request.api.get(Page[Entry], "audit", "entries", query={**query, "until": edge})
    after = await request.api.get(Page[Entry], "audit", "entries", query={**query, "since": edge, "order": "oldest"})
    return before.data, after.data


async def _as_of(request: PageRequest, time: datetime) -> tuple[PastRow | None, Problem | None]:
    path = ("audit", "records", request.params["table"], request.params["id"], "as-of")
    try:
        return await request.api.get(PastRow, *path, query={"time": timestamp(time)}), None
    except Problem as problem:
        if problem.code not in _SAID and problem.code != "not_supported":
            raise
        return None, problem


async def _origins(request: PageRequest) -> Mapping[str, FieldOrigin] | None:
    """Each field's last change; None if a history is so long that the database does not find them in time."""
    path = ("audit", "records", request.params["table"], request.params["id"], "blame")
    try:
        found = await request.api.get(Page[FieldOrigin], *path)
    except Problem as problem:
        if problem.code not in {*_SAID, "database_timeout"}:
            raise
        return {} if problem.code in _SAID else None
    return {origin.field: origin for origin in found}


def _fields(then: PastRow, now: PastRow | None, origins: Mapping[str, FieldOrigin]) -> list[FieldAsOf]:
    """Those that differ first."""
    work = Work()
    found = [_field(name, then, now or then, origins.get(name), work) for name in then.values]
    return sorted(found, key=lambda field: field.is_same)


def _field(name: str, then: PastRow, now: PastRow, origin: FieldOrigin | None, work: Work) -> FieldAsOf:
    values = _value(name, then), _value(name, now)
    unknown = _unknown(name, then), _unknown(name, now)
    has_same = is_same(*values) and unknown[0] == unknown[1]
    if has_same or any(unknown):
        is_hidden = "redacted" in unknown
        was, here = (value_of(value, is_disguised=is_hidden) for value in values)
        shown = Difference(was, here)
    else:
        shown = difference(*values, work)
    return FieldAsOf(name, Side(shown.before, unknown[0]), Side(shown.after, unknown[1]), has_same, shown, origin)


def _whole(request: PageRequest, then: PastRow | None, now: PastRow | None) -> list[tuple[str, str]]:
    """The files of the snapshots that the log has of both states."""
    states = [(word, row) for word, row in (("before", then), ("after", now)) if row is not None and not row.is_erased]
    return [(word, request.url("audit", "entries", row.entry_id, "after.json")) for word, row in states if row.entry_id]


def _unknown(name: str, row: PastRow) -> str | None:
    """The reason why the log has no real value of a field."""
    if row.is_erased:
        return "erased"
    if is_disguised(name, row.redacted_fields):
        return "redacted"
    return "not known" if name in (row.unknown_fields or []) else None


def _other(row: PastRow) -> Mapping[str, Any]:
    """The recorded values that no column of today has: of renamed ones, and the marks of redacted ones."""
    try:
        members = {} if row.other_data is None or row.is_erased else row.other_data.value
    except (ValueError, RecursionError):  # Python reads no number of 5,000 digits, and no deep nesting
        members = {"": str(row.other_data)}
    return members if isinstance(members, dict) else {}


def _unnamed(row: PastRow) -> list[tuple[str, Value]]:
    return [(name, value_of(value) or alone("null")) for name, value in _other(row).items() if name not in row.values]


def _value(name: str, row: PastRow) -> Any:
    """A value; None if it is null."""
    value = row.values[name]
    if value.text == "null":
        return _other(row).get(name)
    try:
        return value.value
    except (ValueError, RecursionError):
        return str(value)
