"""The members of a JSON object, each with the very text that the file has: no number passes through a float."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

MAX_DEPTH: Final = 500
"""The arrays and objects within each other that a value has."""
_MOST_WHOLE_DIGITS: Final = 131_072
_MOST_SCALE: Final = 16_383
"""The digits of a number before and after the point, as PostgreSQL can hold them."""
_LARGE: Final = re.compile(r"[0-9][eE][+-]?[0-9]{4}")
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""An escape, with those of which a text of PostgreSQL has none as a group: a NUL, and half a character."""
_BLANK: Final = re.compile(r"[ \t\n\r]*")
_BEGIN: Final = re.compile(r"[ \t\n\r]*\{[ \t\n\r]*")
_NAME: Final = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_SEPARATOR: Final = re.compile(r"[ \t\n\r]*([,}])")


class Member(NamedTuple):
    """A value, in which numbers are their texts, and the text of the value."""

    value: Any
    text: str


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


def members(text: str) -> dict[str, Member]:
    """The members of an object, of a name that is there twice the last. Raises ValueError if it is none."""
    try:
        return _members(text)
    except (RecursionError, IndexError) as error:
        raise ValueError("no JSON object, or one that is nested too deeply") from error


def _members(text: str) -> dict[str, Member]:
    name_at, separator_at, scan = _NAME.match, _SEPARATOR.match, _DECODER.raw_decode
    begin = _BEGIN.match(text)
    if begin is None:
        raise ValueError("no JSON object")
    found: dict[str, Member] = {}
    at = begin.end()
    is_last = text.startswith("}", at)
    at += is_last
    while not is_last:
        match = name_at(text, at)
        if match is not None:
            name, begin_at = match[1], match.end()
        else:
            name, begin_at = _escaped_name(text, at)
        value, at = scan(text, begin_at)
        if isinstance(value, (dict, list)):
            _refuse_depth(value)
        found[name] = Member(value, text[begin_at:at])
        separator = separator_at(text, at)
        if separator is None:
            raise ValueError("no comma between members")
        is_last = separator[1] == "}"
        at = separator.end()
    if _skip(text, at) != len(text):
        raise ValueError("more than one JSON object")
    return found


def _refuse_depth(value: dict[str, Any] | list[Any]) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise ValueError(f"more than {MAX_DEPTH} arrays and objects within each other")


def _escaped_name(text: str, at: int) -> tuple[str, int]:
    at = _skip(text, at)
    if text[at] != '"':
        raise ValueError("no name of a member")
    name, at = _DECODER.raw_decode(text, at)
    at = _skip(text, at)
    if text[at] != ":":
        raise ValueError("no colon after a name")
    return name, _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def values_of(text: str) -> Mapping[str, Any]:
    """The values of an object, in which numbers are their texts, of a text that ``members`` has read."""
    found = _DECODER.decode(text)
    return found if isinstance(found, dict) else {}


def names_of(text: str) -> frozenset[str]:
    """The texts of an array of which ``members`` has read the text."""
    return frozenset(_DECODER.decode(text))


def is_storable(text: str) -> bool:
    """True if PostgreSQL can hold this JSON: no NUL, no lone surrogate, and no number that is too large.

    What a later member of the same name replaces counts too, because PostgreSQL reads it.
    """
    if "\\u" in text and any(escape[1] for escape in _ESCAPE.finditer(text)):
        return False
    if len(text) <= _MOST_SCALE and _LARGE.search(text) is None:
        return True
    try:
        _NUMBERS.decode(text)
    except ValueError:
        return False
    return True


def _storable_number(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    if len(exponent) > len("-999999999"):
        raise ValueError("an exponent that is too large")
    shift = int(exponent or "0")
    digits = len((whole + fraction).lstrip("0"))
    if (digits and digits - len(fraction) + shift > _MOST_WHOLE_DIGITS) or len(fraction) - shift > _MOST_SCALE:
        raise ValueError("a number that is too large")
    return ""


_NUMBERS: Final = json.JSONDecoder(parse_int=_storable_number, parse_float=_storable_number)


def object_of(found: dict[str, Member]) -> str:
    """The text of an object with these members."""
    return "{" + ", ".join(f"{json.dumps(name)}: {member.text}" for name, member in found.items()) + "}"
