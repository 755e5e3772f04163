"""The difference of two values of JSON by path; lists are aligned, so that an element put in is one change.

A value is parsed JSON: numbers are int, Decimal or float, and 1.0 and 1.00 differ.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from svc_pg.console.pages.differences.sequences import Gap, aligned, gaps
from svc_pg.console.pages.differences.work import Work

ABSENT: Final = object()
"""The side of a change on which there is no value."""
_DEEPEST: Final = 50
"""Deeper differences are one change, at this depth."""
_STEPS_OF_A_CHANGE: Final = 10
_IDENTITIES: Final = ("id", "uuid", "key", "sku", "code", "name")
"""Members by which elements of a list are found again, in this order."""
_PLAIN: Final = re.compile(r"[^\W\d]\w*")

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class PathChange:
    """A change at a path, which is another one after if elements were put in or taken out before it."""

    before_path: Path
    after_path: Path
    before: Any
    after: Any


def path_changes(before: Any, after: Any, work: Work) -> list[PathChange]:
    """The changes from one value to another, in order; a single one if they are nested too deeply."""
    try:
        return [*_changes((), (), before, after, work)]
    except RecursionError:
        return [PathChange((), (), before, after)]


def written_path(path: Path) -> str:
    """A path for people: ``items[57].qty``, and ``["a.b"]`` for a name that is no plain word."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


def is_same(before: Any, after: Any) -> bool:
    """True if two values are written in the same way."""
    return type(before) is type(after) and before == after and repr(before) == repr(after)


def _changes(path: Path, other_path: Path, before: Any, after: Any, work: Work) -> Iterator[PathChange]:
    if is_same(before, after):
        return
    has_work = len(path) < _DEEPEST and work.can_handle(_STEPS_OF_A_CHANGE)
    if has_work and isinstance(before, dict) and isinstance(after, dict) and work.can_handle(len(before) + len(after)):
        yield from _of_objects(path, other_path, before, after, work)
    elif has_work and isinstance(before, list) and isinstance(after, list) and work.can_read(len(before) + len(after)):
        yield from _of_lists(path, other_path, before, after, work)
    else:
        yield PathChange(path, other_path, before, after)


def _of_objects(
    path: Path, other_path: Path, before: dict[str, Any], after: dict[str, Any], work: Work
) -> Iterator[PathChange]:
    names = [name for name, value in after.items() if not is_same(before.get(name, ABSENT), value)]
    names += [name for name in before if name not in after]
    if not work.can_handle(_STEPS_OF_A_CHANGE * len(names)):
        yield PathChange(path, other_path, before, after)
        return
    for name in names:
        own, other = (*path, name), (*other_path, name)
        value, other_value = before.get(name, ABSENT), after.get(name, ABSENT)
        if value is ABSENT or other_value is ABSENT:
            yield PathChange(own, other, value, other_value)
        else:
            yield from _changes(own, other, value, other_value, work)


def _of_lists(path: Path, other_path: Path, before: list[Any], after: list[Any], work: Work) -> Iterator[PathChange]:
    runs = aligned([*map(repr, before)], [*map(repr, after)], work)
    found = [each for each in gaps(runs, len(before), len(after)) if isinstance(each, Gap)]
    changed = sum(gap.before_end - gap.before + gap.after_end - gap.after for gap in found)
    if not work.can_handle(_STEPS_OF_A_CHANGE * changed):
        yield PathChange(path, other_path, before, after)
        return
    for gap in found:
        at, other_at = gap.before, gap.after
        for index, other in (*_counterparts(before, after, gap, work), (gap.before_end, gap.after_end)):
            for gone in range(at, index):
                yield PathChange((*path, gone), (*other_path, gone), before[gone], ABSENT)
            for new in range(other_at, other):
                yield PathChange((*path, new), (*other_path, new), ABSENT, after[new])
            if index < gap.before_end and other < gap.after_end:
                yield from _changes((*path, index), (*other_path, other), before[index], after[other], work)
            at, other_at = index + 1, other + 1


def _counterparts(before: list[Any], after: list[Any], gap: Gap, work: Work) -> Iterator[tuple[int, int]]:
    """The elements of a gap that are the same element before and after, in order."""
    names = [_identity(each, f"-{index}") for index, each in enumerate(before[gap.before : gap.before_end])]
    others = [_identity(each, f"+{index}") for index, each in enumerate(after[gap.after : gap.after_end])]
    for each in gaps(aligned(names, others, work), len(names), len(others)):
        if not isinstance(each, Gap):
            for index in range(each.length):
                yield gap.before + each.before + index, gap.after + each.after + index
            continue
        was, now = range(each.before, each.before_end), range(each.after, each.after_end)
        if len(was) == len(now):
            for index, other in zip(was, now, strict=True):
                if not (names[index].startswith("=") and others[other].startswith("=")):
                    yield gap.before + index, gap.after + other
        else:
            yield from _containers(before, after, _moved(was, gap.before), _moved(now, gap.after))


def _containers(before: list[Any], after: list[Any], was: range, now: range) -> Iterator[tuple[int, int]]:
    """The objects and lists without identity of both stretches: the first is taken for the first."""
    own, others = ([at for at in side if _is_nameless(value[at])] for value, side in ((before, was), (after, now)))
    for index, other in zip(own, others, strict=False):
        if type(before[index]) is type(after[other]):
            yield index, other


def _moved(stretch: range, by: int) -> range:
    return range(stretch.start + by, stretch.stop + by)


def _is_nameless(value: Any) -> bool:
    return isinstance(value, dict | list) and not _identity(value, "").startswith("=")


def _identity(value: Any, otherwise: str) -> str:
    """The member by which an object is known, after ``=``, or the other text, which no other element has."""
    if isinstance(value, dict):
        for name in _IDENTITIES:
            if isinstance(value.get(name), str | int):
                return f"={name}:{value[name]!r}"
    return otherwise
