"""Read the parts of a definition that only the text in SQLite's catalog has, and no pragma."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_TOKEN: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|[\w$\x80-\U0010ffff]+|\s+|.",
    re.DOTALL,
)
_QUOTES: Final = {'"': '"', "`": "`", "[": "]", "'": "'"}


def json_columns(definition: str) -> set[str]:
    """The columns in small letters that a CHECK (json_valid(column)) restricts, as Django writes it."""
    words = [_name(token).lower() for token in _meaningful(definition)]
    return {
        words[index + 2]
        for index, word in enumerate(words[:-3])
        if word == "json_valid" and words[index + 1] == "(" and words[index + 3] == ")"
    }


def names_in_column(definition: str, column: str) -> set[str]:
    """All names in small letters in the definition of one column of CREATE TABLE, such as a generated column's."""
    for part in _parts(definition):
        if part and _name(part[0]).lower() == column.lower():
            return {_name(token).lower() for token in part[1:]}
    return set()


def fires_after(definition: str) -> bool:
    """True if CREATE TRIGGER says AFTER; BEFORE is the default."""
    tokens = _meaningful(definition)
    for token in tokens:  # the name comes before AFTER, and may be "after"
        if token.lower() in ("before", "after", "instead", "insert", "update", "delete"):
            return token.lower() == "after"
    return False


def _parts(definition: str) -> Iterator[Sequence[str]]:
    """The tokens of each column and constraint in the parentheses of CREATE TABLE."""
    part: list[str] = []
    depth = 0
    for word in _meaningful(definition):
        if word == ")":
            depth -= 1
            if depth == 0:
                break
        if depth == 1 and word == ",":
            yield part
            part = []
        elif depth >= 1:
            part.append(word)
        if word == "(":
            depth += 1
    yield part


def _meaningful(definition: str) -> Iterator[str]:
    for token in _TOKEN.findall(definition):
        if not token.isspace() and not token.startswith(("--", "/*")):
            yield token


def _name(token: str) -> str:
    """A name without its quotes."""
    close = _QUOTES.get(token[0])
    if close is None or len(token) < 2 or token[-1] != close:
        return token
    return token[1:-1].replace(close * 2, close) if token[0] != "[" else token[1:-1]
