"""Texts that differ and look the same: tell which characters differ, and find names of letters of several scripts.

Two texts look alike if they have one skeleton (Unicode Technical Standard 39, section 4), as far as ``confusables``
knows their letters. Normal forms, blanks and line breaks count as the same look, and so do marks and the characters
that they stand for.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import Final

from svc_pg.formats.confusables import ASCII_OF, PROTOTYPES
from svc_pg.formats.plurals import counted
from svc_pg.formats.unseen import marked

MIXED: Final = "Letters of several scripts in one word: it may be made to look like another name"
"""The reason to look twice at a name that ``is_mixed``."""
_MOST_COMPARED: Final = 300  # characters, from the first that differs
_MOST_NAMED: Final = 3
_CONTROLS: Final = {"\n": "LINE FEED", "\r": "CARRIAGE RETURN", "\t": "TABULATION"}
_MARK: Final = re.compile("⟨U\\+[0-9A-F]{4,6}⟩")
_SPACE: Final = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_WORD: Final = re.compile(r"[^\W_]+")
_ALIKE_SCRIPTS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
"""The scripts with letters that look like those of another: Latin beside Japanese, as in brands, is not meant."""


def alike(before: str, after: str) -> str:
    """The characters that differ in two texts that look alike, for people; empty if the difference is visible."""
    if before == after:
        return ""
    head, tail = common_ends(before, after)
    head, tail = max(0, head - 1), max(0, tail - 1)  # a blank shows between two letters, and not at an end
    was, now = before[head : len(before) - tail], after[head : len(after) - tail]
    is_cut = max(len(was), len(now)) > _MOST_COMPARED
    was, now = was[:_MOST_COMPARED], now[:_MOST_COMPARED]
    looks = _look(was), _look(now)
    shortest = min(map(len, looks)) if is_cut else max(map(len, looks))
    if looks[0][:shortest] != looks[1][:shortest] or (is_cut and not shortest):
        return ""
    sides = zip(("before", "after"), _differing(was, now), strict=True)
    told = "; ".join(f"{side} has {_named(characters)}" for side, characters in sides if characters)
    return f"These look alike: {told}"


def common_ends(before: Sequence[object], after: Sequence[object]) -> tuple[int, int]:
    """The lengths of the beginning and of the end that two texts, or two lists, share."""
    most = min(len(before), len(after))
    head = _longest(before, after, most)
    return head, _longest(before[head:][::-1], after[head:][::-1], most - head)


def is_mixed(name: str) -> bool:
    """True if a word of a name mixes scripts with letters that look alike, which no real name does."""
    if name.isascii():
        return False
    letters = "".join(each for each in unicodedata.normalize("NFKC", name) if not unicodedata.combining(each))
    return any(len(_scripts(word)) > 1 for word in _WORD.findall(letters))


def foreign_letters(word: str) -> frozenset[str]:
    """The letters of a word of several scripts that are not Latin; none of any other word."""
    if word.isascii() or not is_mixed(word):
        return frozenset()
    return frozenset(letter for letter in word if _scripts(unicodedata.normalize("NFKC", letter)) - {"LATIN"})


def named(character: str) -> str:
    """A character for people: ``U+0430 CYRILLIC SMALL LETTER A``."""
    return f"U+{ord(character):04X} {_CONTROLS.get(character, unicodedata.name(character, ''))}".rstrip()


def twins(names: Collection[str]) -> frozenset[str]:
    """The names that look like another name among them."""
    by_look: dict[str, set[str]] = {}
    for name in names:
        by_look.setdefault(_look(name), set()).add(name)
    return frozenset(name for same in by_look.values() if len(same) > 1 for name in same)


def _look(text: str) -> str:
    """The skeleton without invisible characters, with one space for each run of blanks and line breaks."""
    letters = (
        unicodedata.normalize("NFKD", _MARK.sub("", marked(_SPACE.sub(" ", text))))
        .translate(ASCII_OF)
        .translate(PROTOTYPES)
    )
    return " ".join(unicodedata.normalize("NFD", letters).split())


def _scripts(word: str) -> set[str]:
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & _ALIKE_SCRIPTS


def _differing(before: str, after: str) -> tuple[list[str], list[str]]:
    """The characters of each text that the other text lacks in the same place, each once."""
    was, now = dict[str, None](), dict[str, None]()
    for kind, begin, end, other_begin, other_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            was |= dict.fromkeys(before[begin:end])
            now |= dict.fromkeys(after[other_begin:other_end])
    return [*was], [*now]


def _named(characters: list[str]) -> str:
    names = ", ".join(map(named, characters[:_MOST_NAMED]))
    more = len(characters) - _MOST_NAMED
    return f"{names} and {counted(more, 'other character')}" if more > 0 else names


def _longest(before: Sequence[object], after: Sequence[object], most: int) -> int:
    """The greatest length, up to ``most``, of a beginning that both have."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == after[:middle] else (low, middle - 1)
    return low
