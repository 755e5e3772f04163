"""Leave values out of an image that are redacted since the log recorded it; see ``state_without_redacted.sql.j2``."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Final

from svc_pg.other_databases.capture.entry_sql import json_list
from svc_pg.other_databases.reconciliation.side import Kept

MOST_CHARACTERS: Final = 1_000_000
"""The largest image that is written without some fields; a larger one is not written at all."""
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str)


def kept_of(image: str | None, redacted: str | None, withheld: Collection[str]) -> Kept | None:
    """The image without the withheld fields that it has plainly; None if there are none, so that it may be copied.

    An image that is no JSON object, as a forger writes it, or is too large, is left out.
    """
    before = _names(redacted)
    since = sorted({*withheld}.difference(before))
    if not since:
        return None
    fields = json_list(sorted({*since, *before}))
    text = getattr(image, "original", image)
    if text is None or len(text) > MOST_CHARACTERS:
        return Kept(None, fields, since)
    try:
        members = [written for name, written in _members(text) if name not in since]
    except (ValueError, RecursionError):
        return Kept(None, fields, since)
    return Kept("{" + ", ".join(members) + "}", fields, since)


def _names(redacted: str | None) -> set[str]:
    try:
        names = json.loads(redacted or "[]")
    except (ValueError, RecursionError):
        return set()
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The members of a JSON object, each with its name and as it is written. Raises ValueError if it is none."""
    at = _next(text, 0, "{")
    if text[at : at + 1] == "}":
        _end(text, at + 1)
        return
    while True:
        name, end = _DECODER.raw_decode(text, at)
        if not isinstance(name, str):
            raise ValueError(text[at:end])
        _, end = _DECODER.raw_decode(text, _next(text, end, ":"))
        yield name, text[at:end]
        after = _skip(text, end)
        if text[after : after + 1] == "}":
            _end(text, after + 1)
            return
        at = _next(text, end, ",")


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    assert found is not None  # noqa: S101 - it matches nothing too
    return found.end()


def _next(text: str, at: int, sign: str) -> int:
    """The place after a sign and the blanks around it."""
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign} at {at}")
    return _skip(text, at + 1)


def _end(text: str, at: int) -> None:
    if _skip(text, at) != len(text):
        raise ValueError(f"more than an object at {at}")
