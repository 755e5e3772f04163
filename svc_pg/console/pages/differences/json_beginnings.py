"""The beginning of a value as JSON, which costs no more than its length, whatever the size of the value."""

from collections.abc import Iterator
from typing import Any, Final

from svc_pg.formats.json_writer import encode
from svc_pg.formats.plurals import counted

_DEEPEST: Final = 100
"""Deeper values are not told."""


def beginning(value: Any, most: int) -> tuple[str, bool]:
    """At least the first ``most`` characters of a value as JSON, and True if these are all."""
    pieces, length = list[str](), 0
    for piece in _pieces(value, 0):
        if length > most:
            return "".join(pieces), False
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces), True


def measure(value: Any) -> str:
    """The number of elements of a list, or of members of an object, for people."""
    return counted(len(value), "element" if isinstance(value, list) else "member")


def _pieces(value: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, dict | list):
        yield encode(value, errors="surrogatepass").decode(errors="surrogatepass")
    elif depth >= _DEEPEST:
        yield "…"
    elif isinstance(value, list):
        yield "["
        for index, each in enumerate(value):
            yield "," if index else ""
            yield from _pieces(each, depth + 1)
        yield "]"
    else:
        yield "{"
        for index, (name, member) in enumerate(value.items()):
            yield "," if index else ""
            yield from _pieces(name, depth + 1)
            yield ":"
            yield from _pieces(member, depth + 1)
        yield "}"
