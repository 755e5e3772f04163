"""Say in a few words what a payload is about: the first of its members that are a text, a number or a boolean."""

import json
import re
from collections.abc import Iterator
from typing import Final

_LONGEST_VALUE: Final = 40
_LONGEST: Final = 80
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


def summary_of(beginning: str) -> str:
    """For example ``id 7, total 49.90``; empty if it is no object, or begins with nothing short enough to show.

    ``beginning`` may end anywhere. Numbers stay as they were written, and no character is one that prints nothing.
    """
    shown = ""
    for name, value in _scalars(beginning):
        longer = f"{shown}, {name} {value}" if shown else f"{name} {value}".strip()
        if len(longer) > _LONGEST:
            break
        shown = longer
    return shown


def _scalars(text: str) -> Iterator[tuple[str, str]]:
    """The names and values of members that are scalars, as far as the text goes."""
    at = _after_blank(text, 0)
    if text[at : at + 1] != "{":
        return
    separator = "{"
    while text[at : at + 1] == separator:
        try:
            name, at = _DECODER.raw_decode(text, _after_blank(text, at + 1))
            begin = _after_blank(text, _after_blank(text, at) + 1)
            value, at = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):  # the end of what was read, or nested too deeply to be looked into
            return
        if at == len(text) or not isinstance(name, str):  # a number could go on
            return
        if isinstance(value, str | int | float) and (
            words := _words(value if isinstance(value, str) else text[begin:at])
        ):
            yield _words(name), words
        at, separator = _after_blank(text, at), ","


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _words(text: str) -> str:
    """The text on one line, cut if it is long."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _LONGEST_VALUE else f"{line[: _LONGEST_VALUE - 1]}…"
