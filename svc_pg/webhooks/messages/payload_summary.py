"""Say in a few words what a payload is about: its values at the keys that are searched, or else its first ones."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

_LONGEST_VALUE: Final = 40
_LONGEST: Final = 80
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str)
"""Numbers stay as they were written."""


def summary_of(beginning: str, keys: Sequence[str] = ()) -> str:
    """For example ``id 7, total 49.90``; empty if it is no object, or begins with nothing short enough to show.

    ``beginning`` may end anywhere. If it has values at ``keys``, such as ``customer.id``, they are the summary; else
    the first members that are a text, a number or a boolean. No character is one that prints nothing.
    """
    found = dict(_members(beginning)) if keys else {}
    at_keys = [(key, value) for key in keys if (value := _at(found, key.split("."))) is not None]
    return _joined(_scalars(at_keys)) or _joined(_scalars(_members(beginning)))


def _joined(scalars: Iterable[tuple[str, str]]) -> str:
    shown = ""
    for name, value in scalars:
        longer = f"{shown}, {name} {value}" if shown else f"{name} {value}".strip()
        if len(longer) > _LONGEST:
            break
        shown = longer
    return shown


def _at(members: Any, path: Sequence[str]) -> Any:
    """The value at a path through objects; None if there is none."""
    for name in path:
        if not isinstance(members, dict):
            return None
        members = members.get(name)
    return members


def _scalars(members: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """The names and the words of members that are a text, a number or a boolean."""
    for name, value in members:
        text = str(value).lower() if isinstance(value, bool) else value
        if isinstance(text, str) and (words := _words(text)):
            yield _words(name), words


def _members(text: str) -> Iterator[tuple[str, Any]]:
    """The members of an object, as far as the text goes; a number is its text."""
    at = _after_blank(text, 0)
    if text[at : at + 1] != "{":
        return
    separator = "{"
    while text[at : at + 1] == separator:
        try:
            name, at = _DECODER.raw_decode(text, _after_blank(text, at + 1))
            value, at = _DECODER.raw_decode(text, _after_blank(text, _after_blank(text, at) + 1))
        except (ValueError, RecursionError):  # the end of what was read, or nested too deeply to be looked into
            return
        if at == len(text) or not isinstance(name, str):  # a number could go on
            return
        yield name, value
        at, separator = _after_blank(text, at), ","


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _words(text: str) -> str:
    """The text on one line, cut if it is long."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _LONGEST_VALUE else f"{line[: _LONGEST_VALUE - 1]}…"
