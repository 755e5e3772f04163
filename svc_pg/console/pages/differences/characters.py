"""Characters that nobody sees, or takes for others, as marks: the glyph is shown, the character itself is copied."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from svc_pg.formats.look_alikes import foreign_letters, named
from svc_pg.formats.unseen import split_blanks, split_unseen

_GLYPHS: Final = {
    " ": "␣",
    "\t": "⇥",
    "\n": "↵",
    "\r": "CR",
    "\xa0": "nbsp",
    "\u202f": "nnbsp",
    "\xad": "shy",
    "\u200b": "zwsp",
    "\u200c": "zwnj",
    "\u200d": "zwj",
    "\ufeff": "bom",
}
_NAMES: Final = {
    " ": "space",
    "\t": "tab",
    "\n": "line feed",
    "\r": "carriage return",
    "\xa0": "no-break space",
}
_MOST_REPEATED: Final = 4
_WORD: Final = re.compile(r"[^\W_]+")
_COMBINING: Final = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+|[\ud800-\udfff]")
_WRITABLE: Final = re.compile("[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2029\u2066-\u2069\ud800-\udfff]")
"""The characters that a reference of HTML stands for, but for those that would end the isolation of the element."""
_MOST_ON_A_LETTER: Final = 2


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text. If it has a ``glyph``, that is shown in its place, and ``name`` says what it is.

    ``codes`` are the code points that a copy gets; none if HTML cannot write them. A piece with a name alone is shown
    as it is, in a frame.
    """

    text: str
    glyph: str = ""
    name: str = ""
    codes: Sequence[int] = ()

    @property
    def breaks(self) -> int:
        """The number of lines that it ends, if they are few: an element does so in place of characters."""
        return len(self.text) if self.text.startswith("\n") and len(self.text) <= _MOST_REPEATED else 0


def pieces(text: str, *, is_start: bool = True, is_end: bool = True, is_inside: bool = True) -> Iterator[Piece]:
    """The text in pieces. Spaces are marked if they are repeated, or at the start or end of a whole value.

    Without ``is_inside`` blanks are marked only at the end, as suits a text that is laid out by them.
    """
    if not is_inside:
        kept = text.rstrip(" \t\r") if is_end else text
        yield from _within(kept)
        text, is_start = text[len(kept) :], False
    for is_blank, piece in split_blanks(text, is_start=is_start, is_end=is_end):
        if is_blank:
            for character, run in groupby(piece):
                yield _repeated(character, len([*run]))
        else:
            yield from _within(piece)


def lettered(name: str) -> Iterator[Piece]:
    """A name in pieces, of which the letters of another script are marked."""
    end = 0
    for word in _WORD.finditer(name):
        foreign = foreign_letters(word[0])
        if foreign:
            yield from _plain(name[end : word.start()])
            for is_foreign, letters in groupby(word[0], foreign.__contains__):
                for letter in letters if is_foreign else ["".join(letters)]:
                    yield Piece(letter, "", named(letter) if is_foreign else "")
            end = word.end()
    yield from _plain(name[end:])


def _within(text: str) -> Iterator[Piece]:
    for is_unseen, piece in split_unseen(text):
        if is_unseen:
            yield _repeated(piece, 1)
        elif piece.isascii():
            yield Piece(piece)
        else:
            yield from _combined(piece)


def _combined(text: str) -> Iterator[Piece]:
    """Marks above or below a letter, if the letter has a form with them, or there are many; and halves of pairs."""
    end = 0
    for found in _COMBINING.finditer(text):
        base = text[found.start() - 1 : found.start()]
        has_form = len(unicodedata.normalize("NFC", base + found[0][0])) == 1
        is_odd = has_form or not unicodedata.combining(found[0][0]) or len(found[0]) > _MOST_ON_A_LETTER
        if is_odd:
            yield from lettered(text[end : found.start()])
            for character in found[0]:
                yield _repeated(character, 1)
            end = found.end()
    yield from lettered(text[end:])


def _repeated(character: str, count: int) -> Piece:
    code = ord(character)
    glyph = _GLYPHS.get(character, f"U+{code:04X}")
    if unicodedata.combining(character):
        glyph = f"\u25cc{character}"
    shown = glyph * count if count <= _MOST_REPEATED else f"{glyph}\xd7{count:,}"
    name = f"{_NAMES[character]}, U+{code:04X}" if character in _NAMES else named(character)
    codes = [code] * count if _WRITABLE.match(character) else []
    return Piece(character * count, shown, name if count == 1 else f"{count:,} times {name}", codes)


def _plain(text: str) -> Iterator[Piece]:
    if text:
        yield Piece(text)
