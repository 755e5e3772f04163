"""Show invisible characters in texts of others: a name that contains them can look like another name.

Zero-width and formatting characters, controls of direction, and blanks that look like a space or like nothing (Unicode
Technical Report 36, 2.1) become a mark with their code point. A joiner between letters of a script that needs it, or in
an emoji, stays.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BLANKS: Final = re.compile(r"(\A +\Z| {2,}|[\t\r\n])")
_AT_START, _AT_END = re.compile(r"\A +"), re.compile(r" +\Z")
_BLANK_MARKS: Final = str.maketrans({" ": "␣", "\t": "⇥", "\n": "↵", "\r": "⟨CR⟩"})
_JOINERS: Final = "\u200c\u200d\ufe0e\ufe0f"


def marked(text: str) -> str:
    """The text with a mark such as ``⟨U+200B⟩`` for each invisible character."""
    return _UNSEEN.sub(lambda found: found[0] if _joins(text, found.start()) else _mark(found[0]), text)


def isolated(text: str) -> str:
    """The marked text inside an isolate, so that its direction does not reorder the words beside it.

    Use it if no element is possible, for example in an attribute; elsewhere ``bdi`` does the same (Unicode Standard
    Annex 9). ASCII needs none: it is read from the left.
    """
    shown = marked(text)
    return shown if shown.isascii() else f"\u2068{shown}\u2069"


def unseen(text: str) -> list[str]:
    """The marks of the invisible characters of a text, each once."""
    found = dict.fromkeys(found[0] for found in _UNSEEN.finditer(text) if not _joins(text, found.start()))
    return [_mark(character) for character in found]


def split_unseen(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces; those that are true are one invisible character each."""
    end = 0
    for found in _UNSEEN.finditer(text):
        if not _joins(text, found.start()):
            yield from ((False, piece) for piece in (text[end : found.start()],) if piece)
            yield True, found[0]
            end = found.end()
    if end < len(text):
        yield False, text[end:]


def seen_json(text: str) -> str:
    """The same JSON with invisible characters escaped."""
    return _UNSEEN.sub(lambda found: found[0] if _joins(text, found.start()) else json.dumps(found[0])[1:-1], text)


def blanks(text: str) -> Iterator[tuple[bool, str]]:
    """The pieces of ``split_blanks``, with marks in place of blanks."""
    return ((is_blank, piece.translate(_BLANK_MARKS) if is_blank else piece) for is_blank, piece in split_blanks(text))


def split_blanks(text: str, *, is_start: bool = True, is_end: bool = True) -> Iterator[tuple[bool, str]]:
    """The text in pieces; those that are true are blanks whose number is not visible.

    Such blanks are tabs, line breaks, repeated spaces, and spaces at the start and the end of a value, if the text has
    them.
    """
    start = _AT_START.match(text) if is_start else None
    end = _AT_END.search(text, start.end() if start else 0) if is_end else None
    begins, ends = start.end() if start else 0, end.start() if end else len(text)
    pieces = [(True, text[:begins]), *_inside(text[begins:ends]), (True, text[ends:])]
    return (piece for piece in pieces if piece[1])


def _inside(text: str) -> Iterator[tuple[bool, str]]:
    return ((bool(index % 2), piece) for index, piece in enumerate(_BLANKS.split(text)))


def _mark(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def _joins(text: str, at: int) -> bool:
    """True if a joiner, or a selector of an emoji's look, has a meaning at this index. In Latin it has none."""
    if text[at] not in _JOINERS or not at:
        return False
    before = text[at - 1]
    if text[at] in "\ufe0e\ufe0f":
        return unicodedata.category(before) in ("So", "Sm", "Sk", "Po") or text[at + 1 : at + 2] == "\u20e3"
    return unicodedata.category(before) in ("So", "Sk", "Mn", "Mc") or before == "\ufe0f" or _is_joined(before)


def _is_joined(letter: str) -> bool:
    """True for a letter of a script whose letters join: Arabic and its kin, and those of India."""
    return "\u0600" <= letter <= "\u08ff" or "\u0900" <= letter <= "\u0dff"
