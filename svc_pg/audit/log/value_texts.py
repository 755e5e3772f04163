"""Values of the log as texts for people, and the difference between two that look the same."""

import json
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.formats.json_writer import encode
from svc_pg.formats.look_alikes import alike

_OURS: Final = frozenset({"not set", "not there", "not recorded", "not known", "empty", "redacted", "erased", "none"})
"""Words that stand for a value on pages."""

_TYPES: Final = {"{": "an object", "[": "a list", "t": "true or false", "f": "true or false"}


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
    return Sides(was, now, "" if was is None or now is None else _typed(before, after) or alike(was, now))


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
    return f"Before is {_type(before)}, after is {_type(after)}"


def _type(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    return _TYPES.get(written(value)[0], "a number")
