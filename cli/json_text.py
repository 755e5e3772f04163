"""Lay out a JSON text without changing a token of it: ``json`` would turn 1.10 into 1.1."""

import json
import re
from collections.abc import Iterator
from typing import Final, NoReturn

from svc_pg.formats.unseen import seen_json

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}:,]|[^][{}:,"\s]+')
_DEEPEST: Final = 20  # further levels are not indented, or a small text could become a huge one


def parse(text: str) -> object:
    """The value of a text, its numbers as text. Raises ValueError: a JSONDecodeError if the position is known."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def indented(text: str) -> str:
    """Valid JSON with a member or an element a line. Nothing in it can control a terminal."""
    parts: list[str] = []
    depth, before = 0, None
    for part in _tokens(text):
        if part in {"}", "]"}:
            depth -= 1
            if before not in {"{", "["}:
                parts.append(_new_line(depth))
        elif before in {"{", "[", ","}:
            parts.append(_new_line(depth))
        if part in {"{", "["}:
            depth += 1
        parts.append(": " if part == ":" else part)
        before = part
    return "".join(parts)


def one_line(text: str) -> str:
    """Valid JSON without white space between its tokens. Nothing in it can control a terminal."""
    return "".join(_tokens(text))


def printable(text: str) -> str:
    """The text with all control and invisible characters escaped as in JSON: ``\\u001b``."""
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in seen_json(text))


def printable_lines(text: str) -> str:
    """As ``printable``, but with the line breaks kept."""
    return "\n".join(map(printable, text.split("\n")))


def _tokens(text: str) -> Iterator[str]:
    return (printable(match[0]) for match in _TOKEN.finditer(text))


def _new_line(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
