"""Values as parts: the same on both sides or on one, and of a long value what lies around the differences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

LONGEST: Final = 240
"""The characters of a value that are shown."""

_AROUND: Final = 40
_MOST_CHANGED: Final = LONGEST - 2 * _AROUND

Kind = Literal["same", "gone", "new"]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a value: the same on both sides, or only on one. ``is_cut`` stands for a stretch left out."""

    kind: Kind
    text: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """One value. ``size`` is that of the whole in bytes, None unless a part is left out.

    ``tag`` says what it is, if that is not obvious. ``words`` stand in place of a value that is not known.
    """

    parts: Sequence[Part]
    size: int | None
    tag: str = ""
    words: str = ""


_CUT: Final = Part("same", "…", is_cut=True)


def alone(text: str, *, longest: int = LONGEST) -> Value:
    """A value that is compared with nothing."""
    if len(text) > longest:
        return begun(text[:longest], _size(text))
    return Value([Part("same", text)] if text else [], None)


def begun(text: str, size: int | None = None, *, tag: str = "") -> Value:
    """A value of which this is the beginning."""
    return Value([Part("same", text), _CUT], size, tag)


def fitted(parts: Sequence[Part], whole: str) -> Value:
    """A value of parts; if it is long, what lies around its first differences."""
    if len(whole) <= LONGEST:
        return Value([part for part in parts if part.text], None)
    shown: list[Part] = []
    used = 0
    for index, part in enumerate(parts):
        if used >= LONGEST:
            shown.append(_CUT)
            break
        pieces = [*_pieces(part, is_first=not index, is_last=index == len(parts) - 1)]
        used += sum(len(piece.text) for piece in pieces)
        shown += pieces
    return Value([part for part in shown if part.text], _size(whole))


def _pieces(part: Part, *, is_first: bool, is_last: bool) -> Iterator[Part]:
    """The part, or its ends beside what differs, or its beginning if it differs itself."""
    text, kind = part.text, part.kind
    if kind != "same":
        yield Part(kind, text[:_MOST_CHANGED])
        if len(text) > _MOST_CHANGED:
            yield _CUT
        return
    head, tail = 0 if is_first else _AROUND, 0 if is_last else _AROUND
    if len(text) <= head + tail:
        yield part
        return
    yield Part(kind, text[:head])
    yield _CUT
    yield Part(kind, text[len(text) - tail :])


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
