"""Values of snapshots for people: the difference marked, long values cut with their size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from svc_pg.formats.look_alikes import common_ends

LONGEST: Final = 240
"""The characters of a value that are shown."""

_AROUND: Final = 40
_WORD: Final = 24

Kind = Literal["same", "gone", "new"]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a value: the same on both sides, or only on one. ``is_cut`` stands for a stretch left out."""

    kind: Kind
    text: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """One value. ``size`` is that of the whole in bytes, None unless a part is left out."""

    parts: Sequence[Part]
    size: int | None


def alone(text: str, *, longest: int = LONGEST) -> Value:
    """A value that is compared with nothing."""
    return _value([Part("same", text)], text, longest)


def compared(before: str, after: str) -> tuple[Value, Value]:
    """Two values, of which the part between their common beginning and end is marked."""
    head, tail = _at_words(before, after, *common_ends(before, after))
    return _marked(before, head, tail, "gone"), _marked(after, head, tail, "new")


def _at_words(before: str, after: str, head: int, tail: int) -> tuple[int, int]:
    """The lengths of the common ends, cut at words: a word that differs is marked as a whole."""
    if any(text[head : head + 1].isalnum() for text in (before, after)):
        head -= _word(before[:head][-_WORD - 1 :][::-1])
    if tail and any(text[len(text) - tail - 1 : len(text) - tail].isalnum() for text in (before, after)):
        tail -= _word(before[len(before) - tail :][: _WORD + 1])
    return head, tail


def _word(text: str) -> int:
    """The length of the word at the beginning; 0 if it is long."""
    length = next((index for index, character in enumerate(text) if not character.isalnum()), len(text))
    return length if length <= _WORD else 0


def _marked(text: str, head: int, tail: int, kind: Kind) -> Value:
    middle = len(text) - tail
    return _value([Part("same", text[:head]), Part(kind, text[head:middle]), Part("same", text[middle:])], text)


def _value(parts: list[Part], whole: str, longest: int = LONGEST) -> Value:
    """The parts, cut around the difference if the whole is long."""
    if len(whole) <= longest:
        return Value([part for part in parts if part.text], None)
    if len(parts) == 1:
        shown = [Part(parts[0].kind, whole[:longest]), Part("same", "…", is_cut=True)]
    else:
        head, marked, tail = parts
        shown = [Part("same", head.text[-_AROUND:]), Part(marked.kind, marked.text[: LONGEST - 2 * _AROUND])]
        if len(head.text) > _AROUND:
            shown.insert(0, Part("same", "…", is_cut=True))
        if len(marked.text) > LONGEST - 2 * _AROUND:
            shown.append(Part("same", "…", is_cut=True))
        else:
            shown.append(Part("same", tail.text[:_AROUND]))
            if len(tail.text) > _AROUND:
                shown.append(Part("same", "…", is_cut=True))
    return Value([part for part in shown if part.text], len(whole.encode(errors="replace")))
