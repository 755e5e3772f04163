"""The difference between an entry's snapshots: by field, and as a JSON Patch (RFC 6902)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from svc_pg.audit.log.entry import Entry, is_disguised, is_erased
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.past.record_history import RecordState
from svc_pg.database.query import RawJson
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc
from svc_pg.formats.json_writer import encode

MISSING: Final = object()
"""The value of a field that was not there."""
_DEEPEST: Final = 20
"""Deeper differences become a replacement at this depth."""
_STEP_CHARACTERS: Final = len('{"op":"replace","path":"","value":},')


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """A field that differs."""

    field: Annotated[str, Doc("The name of the field.", "email")]
    before: Annotated[
        Snapshot | None,
        Doc(
            "Its value before; null if the field was not there, or was null (in Python a Snapshot of null).",
            "ann@old.example",
        ),
    ]
    after: Annotated[Snapshot | None, Doc("Its value after, written in the same way.", "ann@corp.example")]
    is_redacted: Annotated[
        bool, Doc("True if the field changed, but the log has no value of it, or a disguised one.")
    ] = False


@dataclass(frozen=True, slots=True)
class Changed:
    """A field that differs, whose values are not written as JSON yet; ``MISSING`` stands for none."""

    field: str
    before: object
    after: object
    is_redacted: bool = False

    def written(self) -> FieldDiff:
        """The same with its values. Raises QueryError if one is nested too deeply."""
        with _bounded():
            return FieldDiff(self.field, _text(self.before), _text(self.after), self.is_redacted)


@dataclass(frozen=True, slots=True)
class PatchStep:
    """An operation of a JSON Patch; ``value`` is None for ``remove``."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """The fields that differ, in order, and the steps from the snapshot before to the one after.

    The steps change nothing of redacted fields. If there was no record before, or is none after, the one step is for
    the whole document.
    """

    fields: Sequence[FieldDiff]
    steps: Sequence[PatchStep]

    @property
    def patch(self) -> Snapshot:
        """The JSON Patch: its ``text``, or as its ``value`` the list of its steps."""
        return _written([_members(step) for step in self.steps])


def diff(entry: Entry | RecordState) -> Diff:
    """The difference between the two snapshots of an entry, or of a state of a record.

    Of an erased entry only the names of the changed fields are left. Raises QueryError if a snapshot is nested too
    deeply to be compared.
    """
    if is_erased(entry):
        return Diff(changed_values(entry), [])
    before, after = _side(entry.before_data), _side(entry.after_data)
    redacted = set(entry.redacted_fields or ())
    with _bounded():
        return Diff(
            fields=[each.written() for each in _fields(before, after, set(entry.changed_fields or ()), redacted)],
            steps=_all_steps(_without(before, redacted), _without(after, redacted)),
        )


def changed_values(entry: Entry | RecordState) -> list[FieldDiff]:
    """The fields that differ between the two snapshots, as ``diff``, without its steps. Raises QueryError."""
    return [each.written() for each in changed(entry)]


def changed(entry: Entry | RecordState) -> list[Changed]:
    """As ``changed_values``, of values that are not written yet, which takes most of the time. Raises QueryError."""
    if is_erased(entry):
        return [Changed(name, MISSING, MISSING, is_redacted=True) for name in entry.changed_fields or ()]
    before, after = _side(entry.before_data), _side(entry.after_data)
    with _bounded():
        return list(_fields(before, after, set(entry.changed_fields or ()), set(entry.redacted_fields or ())))


class Number(RawJson):
    """A number as PostgreSQL wrote it, which no text is equal to."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Number and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:  # that of str would be another question
        return type(other) is not Number or str.__ne__(self, other)

    __hash__ = RawJson.__hash__


def document(snapshot: str) -> Any:
    """The value of a snapshot, its numbers as they are written: 1.10 is not 1.1.

    Raises QueryError if it is nested too deeply, which databases allow and Python does not.
    """
    with _bounded():
        return json.loads(snapshot, parse_int=Number, parse_float=Number)


@contextmanager
def _bounded() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise QueryError(
            "a snapshot is nested too deeply to be compared", hint="Export the entry, which writes it as it is."
        ) from None


def _side(snapshot: Snapshot | None) -> Any:
    return MISSING if snapshot is None else document(snapshot.text)


def _without(side: Any, redacted: set[str]) -> Any:
    if not redacted or not isinstance(side, dict):
        return side
    return {name: value for name, value in side.items() if not is_disguised(name, redacted)}


def _fields(before: Any, after: Any, changed: set[str], redacted: set[str]) -> Iterator[Changed]:
    old = before if isinstance(before, Mapping) else {}
    new = after if isinstance(after, Mapping) else {}
    for field in sorted({*old, *new, *changed, *redacted} - {"*"}):
        if is_disguised(field, redacted):
            if field in changed or before is MISSING or after is MISSING:
                yield Changed(field, MISSING, MISSING, is_redacted=True)
        elif field in changed or old.get(field, MISSING) != new.get(field, MISSING):
            yield Changed(field, old.get(field, MISSING), new.get(field, MISSING))


def _all_steps(before: Any, after: Any) -> list[PatchStep]:
    return [*_steps("", before, after, depth=0)] if before != after else []


def _steps(path: str, before: Any, after: Any, *, depth: int) -> Iterator[PatchStep]:
    """The steps between two values that differ."""
    if before is MISSING:
        yield PatchStep("add", path, _text(after))
    elif after is MISSING:
        yield PatchStep("remove", path)
    elif isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST:
        for name in sorted({*before, *after}):
            old, new = before.get(name, MISSING), after.get(name, MISSING)
            if old != new:
                below = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
                yield from _steps(below, old, new, depth=depth + 1)
    elif isinstance(before, list) and isinstance(after, list) and depth < _DEEPEST:
        yield from _shorter(_list_steps(path, before, after, depth=depth), path, after)
    else:
        yield PatchStep("replace", path, _text(after))


def _list_steps(path: str, before: list[Any], after: list[Any], *, depth: int) -> Iterator[PatchStep]:
    """The steps for what two lists do not begin or end with alike: for pairs of items, then for those of one list."""
    shorter = min(len(before), len(after))
    start = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    rest = shorter - start - (len(before) == len(after))  # the first pair that differs is one at the end too
    end = next((n for n in range(rest) if before[-1 - n] != after[-1 - n]), max(rest, 0))
    paired = shorter - end
    for n in range(start, paired):
        if n == start or before[n] != after[n]:
            yield from _steps(f"{path}/{n}", before[n], after[n], depth=depth + 1)
    for _ in range(paired, len(before) - end):
        yield PatchStep("remove", f"{path}/{paired}")
    for n in range(paired, len(after) - end):
        yield PatchStep("add", f"{path}/{n}", _text(after[n]))


def _shorter(parts: Iterator[PatchStep], path: str, after: list[Any]) -> Iterator[PatchStep]:
    """The parts, or a step for the whole list if that is shorter: two long lists may have nothing in common."""
    lengths = _lengths(after)
    left = len(path) + _STEP_CHARACTERS
    found: list[PatchStep] = []
    for part in parts:
        left -= len(part.path) + (0 if part.value is None else len(part.value.text)) + _STEP_CHARACTERS
        while left < 0:
            length = next(lengths, None)
            if length is None:
                yield PatchStep("replace", path, _text(after))
                return
            left += length
        found.append(part)
    yield from found


def _lengths(value: Any) -> Iterator[int]:
    """The characters of a JSON text, part by part, but for those that escapes add."""
    match value:
        case dict():
            yield 2
            for name, each in value.items():
                yield len(name) + len('"":,')
                yield from _lengths(each)
        case list():
            yield 2
            for each in value:
                yield 1
                yield from _lengths(each)
        case Number():
            yield len(value)
        case str():
            yield len(value) + 2
        case _:
            yield len("true")


def _text(value: Any) -> Snapshot | None:
    return None if value is MISSING else _written(value)


def _written(value: object) -> Snapshot:
    return Snapshot(encode(value, errors="backslashreplace").decode())


def _members(step: PatchStep) -> dict[str, object]:
    members: dict[str, object] = {"op": step.op, "path": step.path}
    return members if step.op == "remove" else {**members, "value": step.value}
