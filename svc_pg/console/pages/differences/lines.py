"""The difference of two long texts by lines, with those around each change; changed lines differ by words."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from svc_pg.console.pages.differences.sequences import Gap, Run, aligned, gaps
from svc_pg.console.pages.differences.values import Part, Value, alone, fitted
from svc_pg.console.pages.differences.words import compared, tokens
from svc_pg.console.pages.differences.work import Work
from svc_pg.formats.look_alikes import alike, common_ends

_AROUND: Final = 3
_LEAST_BREAKS: Final = 2
_MOST_SORTED: Final = 12
"""Lines of a change whose number differs before and after, of which up to this many find their counterparts."""
_MOST_SORTED_BY: Final = 200  # characters
_LEAST_ALIKE: Final = 0.5  # of the words
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")

Kind = Literal["same", "gone", "new", "fold"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its numbers, from 1, on the sides that have it; or ``folded`` equal lines in its place."""

    kind: Kind
    before: int | None
    after: int | None
    value: Value
    folded: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """Two texts by lines. ``more`` lines that differ are not shown, and ``gone`` and ``new`` count them all.

    ``ends`` are the ends of all lines before and after, if all of them changed. ``note`` tells how lines differ if they
    all look the same.
    """

    rows: Sequence[Line]
    gone: int
    new: int
    more: int
    ends: tuple[str, str] | None
    note: str


def are_long(before: str, after: str) -> bool:
    """True if texts have lines enough to be compared by them."""
    return max(before.count("\n"), after.count("\n")) >= _LEAST_BREAKS


def split(text: str) -> list[str]:
    """The lines of a text, each with its end; joined they are the text."""
    return _LINE.findall(text)


def lines(before: str, after: str, work: Work) -> Lines | None:
    """Compare two texts by lines; None if too many differ."""
    ends = _ends(before, after)
    if ends is not None:
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    head, tail = _far_ends(before, after)
    texts = before[head : len(before) - tail], after[head : len(after) - tail]
    if not work.can_handle(sum(text.count("\n") for text in texts)):
        return None
    was, now = map(split, texts)
    found = [*gaps(aligned(was, now, work), len(was), len(now))]
    changed = [each for each in found if isinstance(each, Gap)]
    gone = sum(gap.before_end - gap.before for gap in changed)
    new = sum(gap.after_end - gap.after for gap in changed)
    left_out, rest = before[:head].count("\n"), len(split(before[len(before) - tail :])) if tail else 0
    made = _Rows(was, now, found, left_out, rest, work)
    rows = [*islice(made.all(), work.show(gone + new + _AROUND * 2 * len(found)))]
    shown = sum(row.kind in ("gone", "new") for row in rows)
    return Lines(rows, gone, new, gone + new - shown, ends, _note(was, now, changed))


def _far_ends(before: str, after: str) -> tuple[int, int]:
    """The lengths of the common ends, of whole lines, without those that are shown around a change."""
    head, tail = common_ends(before, after)
    for _ in range(_AROUND + 1):
        head = max(0, before.rfind("\n", 0, max(0, head - 1)) + 1) if head else 0
    start = len(before) - tail
    for _ in range(_AROUND + 1):
        start = before.find("\n", start) + 1 or len(before)
    return head, len(before) - start


def _ends(before: str, after: str) -> tuple[str, str] | None:
    """The ends of the lines on both sides, if they are CR LF on one and LF on the other, always."""
    kinds = [(text.count("\r\n"), text.count("\n")) for text in (before, after)]
    if any(not every or pairs not in (0, every) for pairs, every in kinds) or (kinds[0][0] > 0) == (kinds[1][0] > 0):
        return None
    return ("CR LF", "LF") if kinds[0][0] else ("LF", "CR LF")


def _note(was: Sequence[str], now: Sequence[str], changed: Sequence[Gap]) -> str:
    """The difference of lines that look alike, if all that changed do."""
    told = ""
    for gap in changed:
        count = gap.before_end - gap.before
        if count != gap.after_end - gap.after:
            return ""
        for index in range(count):
            own = alike(was[gap.before + index], now[gap.after + index])
            if not own:
                return ""
            told = told or own
    return told


@dataclass(frozen=True, slots=True)
class _Rows:
    """The lines of the middle of two texts, after ``left_out`` equal ones, and before ``rest`` others."""

    was: Sequence[str]
    now: Sequence[str]
    found: Sequence[Gap | Run]
    left_out: int
    rest: int
    work: Work

    def all(self) -> Iterator[Line]:
        for index, each in enumerate(self.found):
            is_last = index == len(self.found) - 1
            if isinstance(each, Run):
                yield from self._kept(each, is_first=not index, is_last=is_last)
            else:
                if not index and self.left_out:
                    yield _folded(self.left_out)
                yield from (self._numbered(line) for line in _changed(self.was, self.now, each, self.work))
                if is_last and self.rest:
                    yield _folded(self.rest)

    def _kept(self, run: Run, *, is_first: bool, is_last: bool) -> Iterator[Line]:
        """Equal lines: those beside a change, and one row for the others."""
        hidden = (self.left_out if is_first else 0) + (self.rest if is_last else 0)
        head, tail = 0 if is_first else _AROUND, 0 if is_last else _AROUND
        if run.length + hidden <= head + tail + 1 and not hidden:
            head, tail = run.length, 0
        head, tail = min(head, run.length), min(tail, run.length - min(head, run.length))
        lines = [self._same(run, index) for index in (*range(head), *range(run.length - tail, run.length))]
        yield from lines[:head]
        if run.length + hidden > head + tail:
            yield _folded(run.length + hidden - head - tail)
        yield from lines[head:]

    def _same(self, run: Run, index: int) -> Line:
        text = self.was[run.before + index].removesuffix("\n")
        return self._numbered(Line("same", run.before + index + 1, run.after + index + 1, alone(text)))

    def _numbered(self, line: Line) -> Line:
        before, after = (None if at is None else at + self.left_out for at in (line.before, line.after))
        return Line(line.kind, before, after, line.value)


def _folded(count: int) -> Line:
    return Line("fold", None, None, alone(""), count)


def _changed(was: Sequence[str], now: Sequence[str], gap: Gap, work: Work) -> Iterator[Line]:
    at, other_at = gap.before, gap.after
    for line, other in (*_counterparts(was, now, gap), (gap.before_end, gap.after_end)):
        for index in range(at, line):
            yield Line("gone", index + 1, None, _whole(was[index], "gone"))
        for index in range(other_at, other):
            yield Line("new", None, index + 1, _whole(now[index], "new"))
        if line < gap.before_end and other < gap.after_end:
            yield from _pair(was, now, line, other, work)
        at, other_at = line + 1, other + 1


def _counterparts(was: Sequence[str], now: Sequence[str], gap: Gap) -> Iterator[tuple[int, int]]:
    """The lines of a change that are before and after the same line, in order."""
    count, other_count = gap.before_end - gap.before, gap.after_end - gap.after
    if count == other_count:
        yield from zip(range(gap.before, gap.before_end), range(gap.after, gap.after_end), strict=True)
    elif max(count, other_count) <= _MOST_SORTED:
        words, others = (
            [Counter(tokens(line[:_MOST_SORTED_BY])) for line in stretch]
            for stretch in (was[gap.before : gap.before_end], now[gap.after : gap.after_end])
        )
        first = 0
        for index, own in enumerate(words):
            likeness = [_alike(own, other) for other in others[first:]]
            if likeness and max(likeness) >= _LEAST_ALIKE:
                best = first + likeness.index(max(likeness))
                yield gap.before + index, gap.after + best
                first = best + 1


def _alike(words: Counter[str], others: Counter[str]) -> float:
    """The share of words that two lines have in common."""
    return 2 * (words & others).total() / max(1, words.total() + others.total())


def _pair(was: Sequence[str], now: Sequence[str], line: int, other: int, work: Work) -> Iterator[Line]:
    before, after = was[line], now[other]
    if before.endswith("\n") == after.endswith("\n"):
        before, after = before.removesuffix("\n"), after.removesuffix("\n")
    parts, other_parts = compared(before, after, work)
    yield Line("gone", line + 1, None, fitted(parts, before))
    yield Line("new", None, other + 1, fitted(other_parts, after))


def _whole(text: str, kind: Literal["gone", "new"]) -> Value:
    return fitted([Part(kind, text.removesuffix("\n"))], text)
