"""The difference of two texts by words, by a longest common subsequence."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from svc_pg.console.pages.differences.sequences import Gap, aligned, gaps
from svc_pg.console.pages.differences.values import Part
from svc_pg.console.pages.differences.work import Work
from svc_pg.formats.look_alikes import common_ends

_LONGEST_COMPARED: Final = 4_000
"""The characters between common ends of texts that are compared by words; longer ones differ as a whole."""
_LONG_WORD: Final = 24
"""A word of more characters differs only between the ends that it shares."""
_MOST_KEPT: Final = 2
"""Blanks and signs between two differences, of which up to this many belong to them."""

_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
)
_SINGLE: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Letters of scripts without spaces between words: each is compared by itself."""
_TOKEN: Final = re.compile(
    rf"[{_SINGLE}][{_MARKS}]*|(?:[^\W_{_SINGLE}][{_MARKS}]*)+|(?:\r\n|[ \t]+|.)(?:[{_MARKS}]|\u200d.)*", re.DOTALL
)


class Stretch(NamedTuple):
    """A stretch of both texts, which is the same in both, or else differs; one side may be empty."""

    before: str
    after: str

    @property
    def is_same(self) -> bool:
        """True if both sides have it."""
        return self.before == self.after


def compared(before: str, after: str, work: Work) -> tuple[list[Part], list[Part]]:
    """The parts of both texts, with the words marked that differ."""
    was, now = list[Part](), list[Part]()
    for stretch in stretches(before, after, work):
        was.append(Part("same" if stretch.is_same else "gone", stretch.before))
        now.append(Part("same" if stretch.is_same else "new", stretch.after))
    return was, now


def stretches(before: str, after: str, work: Work) -> list[Stretch]:
    """The two texts, stretch by stretch; joined, each side is its text."""
    head, tail = _at_words(before, after, *common_ends(before, after))
    was, now = before[head : len(before) - tail], after[head : len(after) - tail]
    found = [Stretch(before[:head], before[:head]), *_middle(was, now, work)]
    found.append(Stretch(before[len(before) - tail :], after[len(after) - tail :]))
    return _merged([stretch for stretch in found if stretch.before or stretch.after])


def tokens(text: str) -> list[str]:
    """The words of a text, and what lies between them."""
    return _TOKEN.findall(text)


def _at_words(before: str, after: str, head: int, tail: int) -> tuple[int, int]:
    """The lengths of the common ends, cut at words: a word that differs is marked as a whole."""
    if any(_goes_on(text[head : head + 1]) for text in (before, after)):
        head -= _word(before[:head][-_LONG_WORD - 1 :][::-1])
    if tail and any(_goes_on(text[len(text) - tail - 1 : len(text) - tail]) for text in (before, after)):
        tail -= _word(before[len(before) - tail :][: _LONG_WORD + 1])
    return head, tail


def _goes_on(character: str) -> bool:
    return character.isalnum() or re.match(f"[{_MARKS}]", character) is not None


def _word(text: str) -> int:
    """The length of the word at the beginning; 0 if it is long."""
    length = next((index for index, character in enumerate(text) if not _goes_on(character)), len(text))
    return length if length <= _LONG_WORD else 0


def _middle(before: str, after: str, work: Work) -> Iterator[Stretch]:
    if not before or not after or max(len(before), len(after)) > _LONGEST_COMPARED:
        yield Stretch(before, after)
        return
    was, now = tokens(before), tokens(after)
    for each in gaps(aligned(was, now, work), len(was), len(now)):
        if isinstance(each, Gap):
            yield from _gap("".join(was[each.before : each.before_end]), "".join(now[each.after : each.after_end]))
        else:
            same = "".join(was[each.before : each.before + each.length])
            yield Stretch(same, same)


def _gap(before: str, after: str) -> Iterator[Stretch]:
    """The differences; of long words only what lies between their common ends."""
    head, tail = common_ends(before, after)
    if min(head + tail, min(len(before), len(after))) <= _LONG_WORD:
        yield Stretch(before, after)
        return
    yield Stretch(before[:head], after[:head])
    yield Stretch(before[head : len(before) - tail], after[head : len(after) - tail])
    yield Stretch(before[len(before) - tail :], after[len(after) - tail :])


def _merged(found: Sequence[Stretch]) -> list[Stretch]:
    """The stretches, those that differ as one if only a sign or a blank lies between them."""
    merged: list[Stretch] = []
    for index, stretch in enumerate(found):
        last = merged[-1] if merged else None
        following = found[index + 1] if index + 1 < len(found) else None
        if last is not None and (last.is_same == stretch.is_same or _is_slight(last, stretch, following)):
            merged[-1] = Stretch(last.before + stretch.before, last.after + stretch.after)
        else:
            merged.append(stretch)
    return merged


def _is_slight(left: Stretch, middle: Stretch, right: Stretch | None) -> bool:
    """True if a common stretch is a sign or a blank between two replaced stretches."""
    if left.is_same or right is None:
        return False
    is_sign = len(middle.before) <= _MOST_KEPT and not any(character.isalnum() for character in middle.before)
    return is_sign and all((left.before, left.after, right.before, right.after))
