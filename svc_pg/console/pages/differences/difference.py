"""The difference of two values of a field, in the way that suits them: by paths, by lines or by words."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from svc_pg.audit.log.value_texts import sides, told, type_of, written
from svc_pg.console.pages.differences.json_beginnings import beginning, measure
from svc_pg.console.pages.differences.json_paths import ABSENT, PathChange, is_same, path_changes, written_path
from svc_pg.console.pages.differences.lines import Lines, are_long, lines
from svc_pg.console.pages.differences.value_kinds import bytes_note, disguise, unrecorded
from svc_pg.console.pages.differences.values import LONGEST, Value, alone, begun, fitted
from svc_pg.console.pages.differences.words import compared
from svc_pg.console.pages.differences.work import Work
from svc_pg.formats.look_alikes import alike

_LONGEST_PATH: Final = 300
_UNCOMPARED: Final = "Too much differs to be shown by path"
_BYTES: Final = 66  # characters of the first 32 bytes


@dataclass(frozen=True, slots=True)
class PathRow:
    """A change at a path; a side that is None was not there. ``was`` is the path before, if it was another."""

    path: str
    was: str
    before: Value | None
    after: Value | None
    note: str


@dataclass(frozen=True, slots=True)
class Paths:
    """The first changes inside of a value, the number of others, and the numbers of all by their kind."""

    rows: Sequence[PathRow]
    more: int
    changed: int
    added: int
    gone: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Two values side by side, None for null; or else their changes by path or by line.

    ``note`` tells how they differ if they look the same.
    """

    before: Value | None
    after: Value | None
    note: str = ""
    paths: Paths | None = None
    lines: Lines | None = None


def difference(before: Any, after: Any, work: Work, *, is_disguised: bool = False) -> Difference:
    """Two values of JSON as a page shows them; None is null."""
    if is_disguised or unrecorded(before) or unrecorded(after):
        was, now = (_stand_in(value, is_disguised=is_disguised) for value in (before, after))
        return Difference(was, now)
    if isinstance(before, dict | list) and type(before) is type(after) and not is_same(before, after):
        return Difference(None, None, paths=_paths(path_changes(before, after, work), work))
    if isinstance(before, str) and isinstance(after, str) and before != after and are_long(before, after):
        found = lines(before, after, work)
        if found is not None:
            return Difference(None, None, found.note, lines=found)
    if _is_endless(before) or _is_endless(after):
        return Difference(value_of(before), value_of(after))
    both = sides(before, after)
    note = both.note
    if both.before is None or both.after is None or both.before == both.after:
        was, now = (_alone(text, value) for text, value in ((both.before, before), (both.after, after)))
    else:
        note = note or bytes_note([before, after])
        was, now = _pair((before, after), (both.before, both.after), work)
    return Difference(was, now, note)


def value_of(value: Any, *, longest: int = LONGEST, is_disguised: bool = False) -> Value | None:
    """A value that is compared with nothing; None for null."""
    if value is None or is_disguised or unrecorded(value):
        return _stand_in(value, is_disguised=is_disguised)
    if isinstance(value, dict | list):
        return _json_value(value, longest=longest)
    return _alone(sides(None, value).after, value, longest=longest)


def _is_endless(value: Any) -> bool:
    """True for a list or an object that a page does not show whole."""
    return isinstance(value, dict | list) and not beginning(value, LONGEST)[1]


def _alone(text: str | None, value: Any, *, longest: int = LONGEST) -> Value | None:
    if text is None:
        return None
    tag = bytes_note([value])
    return (
        replace(alone(text, longest=min(longest, _BYTES)), size=None, tag=tag) if tag else alone(text, longest=longest)
    )


def _pair(values: tuple[Any, Any], texts: tuple[str, str], work: Work) -> tuple[Value, Value]:
    """Two values that have a text each; their types are named if they differ."""
    parts, other_parts = compared(*texts, work)
    was, now = fitted(parts, texts[0]), fitted(other_parts, texts[1])
    if None in values or type_of(values[0]) == type_of(values[1]):
        return was, now
    return replace(was, tag=_tag(values[0])), replace(now, tag=_tag(values[1]))


def _stand_in(value: Any, *, is_disguised: bool) -> Value | None:
    if value is None:
        return None
    words = unrecorded(value)
    if words:
        return Value([], None, words=words)
    return replace(alone(written(value)), tag=disguise(value) if is_disguised else "")


def _tag(value: Any) -> str:
    return type_of(value).removeprefix("an ").removeprefix("a ")


def _paths(changes: Sequence[PathChange], work: Work) -> Paths:
    shown = work.show(len(changes))
    added = sum(change.before is ABSENT for change in changes)
    gone = sum(change.after is ABSENT for change in changes)
    rows = [_row(change, work) for change in changes[:shown]]
    return Paths(rows, len(changes) - shown, len(changes) - added - gone, added, gone)


def _row(change: PathChange, work: Work) -> PathRow:
    before, after = change.before, change.after
    path = written_path(change.before_path if after is ABSENT else change.after_path)[:_LONGEST_PATH]
    if before is ABSENT or after is ABSENT or _is_endless(before) or _is_endless(after):
        was, now = (None if side is ABSENT else _json_value(side) for side in (before, after))
        return PathRow(path, "", was, now, "" if was is None or now is None else _UNCOMPARED)
    former = "" if change.before_path == change.after_path else written_path(change.before_path)[:_LONGEST_PATH]
    texts = _json(before), _json(after)
    note = told(before, after) or bytes_note([before, after]) or alike(*texts)
    return PathRow(path, former, *_pair((before, after), texts, work), note)


def _json_value(value: Any, *, longest: int = LONGEST) -> Value:
    if not isinstance(value, dict | list):
        return alone(_json(value), longest=longest)
    text, is_whole = beginning(value, longest)
    return alone(text) if is_whole else begun(text[:longest], tag=measure(value))


def _json(value: Any) -> str:
    """A value as JSON: a text in quotes."""
    return beginning(value, sys.maxsize)[0]
