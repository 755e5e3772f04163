"""Values of the log as texts for people, and the difference between two that look the same."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from svc_pg.formats.json_writer import encode
from svc_pg.formats.look_alikes import alike

_OURS: Final = frozenset({"not set", "not there", "not recorded", "not known", "empty", "redacted", "erased", "none"})
"""Words that stand for a value on pages."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\s]{0,20}\Z")
_SAME_TIME: Final = "The same instant, written with another offset or precision"
_SAME_NUMBER: Final = "The same number, written in another way"
_TYPES: Final = {"{": "an object", "[": "a list", "t": "true or false", "f": "true or false", "n": "null"}


@dataclass(frozen=True, slots=True)
class Sides:
    """Two values as texts, None for null; ``note`` tells the difference if they look the same."""

    before: str | None
    after: str | None
    note: str


def written(value: Any) -> str:
    """A value as text for people: a text without quotes, anything else as JSON."""
    try:
        return value if isinstance(value, str) else encode(value).decode()
    except RecursionError:
        return "(nested too deeply to be shown here)"


def sides(before: Any, after: Any) -> Sides:
    """Two values side by side. A text that looks like a value of another type is quoted."""
    was, now = _beside(before, after), _beside(after, before)
    return Sides(was, now, "" if was is None or now is None else told(before, after) or alike(was, now))


def told(before: Any, after: Any) -> str:
    """The difference of two values that mean the same, or are written in the same way; empty for any others."""
    if isinstance(before, str) and isinstance(after, str):
        return _SAME_TIME if before != after and _are_one_time(before, after) else ""
    if _is_number(before) and _is_number(after):
        return _SAME_NUMBER if before == after and written(before) != written(after) else ""
    return _typed(before, after)


def _beside(value: Any, other: Any) -> str | None:
    if value is None:
        return None
    text = written(value)
    return encode(text).decode() if isinstance(value, str) and not isinstance(other, str) and _is_taken(text) else text


def _is_taken(text: str) -> bool:
    """True if a text without quotes looks like a word of ours, or like JSON that is no text."""
    if text.strip().casefold() in _OURS:
        return True
    try:
        return not isinstance(json.loads(text), str)
    except (ValueError, RecursionError):
        return False


def _typed(before: Any, after: Any) -> str:
    """The types of two values that differ in nothing else."""
    if isinstance(before, str) == isinstance(after, str) or written(before) != written(after):
        return ""
    return f"Before is {type_of(before)}, after is {type_of(after)}"


def type_of(value: Any) -> str:
    """The type of a value of JSON: ``a text``."""
    if isinstance(value, str):
        return "a text"
    return _TYPES.get(written(value)[:1], "a number")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _are_one_time(before: str, after: str) -> bool:
    """True for two times with different offsets that are the same instant."""
    if not _TIME.match(before) or not _TIME.match(after):
        return False
    try:
        return datetime.fromisoformat(before) == datetime.fromisoformat(after)
    except (ValueError, TypeError, OverflowError):  # no time, only one of them with an offset, beyond the years
        return False
