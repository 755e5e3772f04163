"""Align two sequences by a longest common subsequence (Myers 1986), or, if that takes too long, by unique elements.

An alignment is the same from both sides: that of the swapped sequences is its mirror image.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from svc_pg.console.pages.differences.work import Work
from svc_pg.formats.look_alikes import common_ends


class Run(NamedTuple):
    """Elements that are equal: ``length`` of them, from these indices on."""

    before: int
    after: int
    length: int


class Gap(NamedTuple):
    """A stretch of both sequences between runs, one of them possibly empty; the ends are exclusive."""

    before: int
    before_end: int
    after: int
    after_end: int


_Chain: TypeAlias = tuple[int, int, "_Chain | None"]
"""Pairs of indices, the last first."""


def aligned(before: Sequence[str], after: Sequence[str], work: Work) -> list[Run]:
    """The runs of equal elements, in order."""
    is_swapped = (len(before), before) > (len(after), after)
    one, other = (after, before) if is_swapped else (before, after)
    head, tail = common_ends(one, other)
    pairs: list[tuple[int, int]] = []
    if work.can_handle(len(one) + len(other) - 2 * (head + tail)):
        middle = _middle(one[head : len(one) - tail], other[head : len(other) - tail], work)
        pairs = [(head + index, head + other_index) for index, other_index in middle]
    runs = [Run(0, 0, head), *_runs(pairs), Run(len(one) - tail, len(other) - tail, tail)]
    found = [Run(run.after, run.before, run.length) if is_swapped else run for run in runs if run.length]
    return [*_joined(found)]


def gaps(runs: Sequence[Run], before: int, after: int) -> Iterator[Gap | Run]:
    """The runs, and the gaps between them, of sequences of these lengths."""
    at, other_at = 0, 0
    for run in (*runs, Run(before, after, 0)):
        if run.before > at or run.after > other_at:
            yield Gap(at, run.before, other_at, run.after)
        if run.length:
            yield run
        at, other_at = run.before + run.length, run.after + run.length


def _middle(before: Sequence[str], after: Sequence[str], work: Work) -> Sequence[tuple[int, int]]:
    """The pairs of equal elements, of sequences without common ends."""
    shared = {*before} & {*after}
    if not shared:
        return []
    # an element that the other sequence lacks is in no common subsequence
    at = [index for index, element in enumerate(before) if element in shared]
    other_at = [index for index, element in enumerate(after) if element in shared]
    numbers = {element: number for number, element in enumerate(shared)}
    one, other = [numbers[before[index]] for index in at], [numbers[after[index]] for index in other_at]
    found = _longest_common(one, other, work)
    if found is None:
        found = _by_unique(one, other) if work.can_handle(len(one) + len(other)) else []
    return [(at[index], other_at[other_index]) for index, other_index in found]


def _longest_common(before: list[int], after: list[int], work: Work) -> list[tuple[int, int]] | None:
    """The pairs of a longest common subsequence; None if it takes more steps than allowed."""
    most, steps = work.allowance, 0
    length, other_length = len(before), len(after)
    ends: dict[int, tuple[int, _Chain | None]] = {1: (0, None)}
    for edits in range(length + other_length + 1):
        lowest, highest = 2 * max(0, edits - other_length) - edits, edits - 2 * max(0, edits - length)
        for diagonal in range(lowest, highest + 1, 2):
            if diagonal == -edits or (diagonal != edits and ends[diagonal - 1][0] < ends[diagonal + 1][0]):
                at, chain = ends[diagonal + 1]
            else:
                at, chain = ends[diagonal - 1][0] + 1, ends[diagonal - 1][1]
            begin = at
            while at < length and at - diagonal < other_length and before[at] == after[at - diagonal]:
                chain = (at, at - diagonal, chain)
                at += 1
            if at >= length and at - diagonal >= other_length:
                work.spend(steps)
                return _unrolled(chain)
            ends[diagonal] = at, chain
            steps += 1 + at - begin
            if steps > most:
                work.spend(steps)
                return None
    return []


def _unrolled(chain: _Chain | None) -> list[tuple[int, int]]:
    pairs = []
    while chain is not None:
        index, other_index, chain = chain
        pairs.append((index, other_index))
    return pairs[::-1]


def _by_unique(before: list[int], after: list[int]) -> list[tuple[int, int]]:
    """Pairs of the elements that are in each sequence once, as many as keep their order, and of what follows them."""
    once, other_once = Counter(before), Counter(after)
    places = {element: index for index, element in enumerate(after) if other_once[element] == 1}
    anchors = [
        (index, places[element]) for index, element in enumerate(before) if once[element] == 1 and element in places
    ]
    pairs: list[tuple[int, int]] = []
    for at, other_at in _rising(anchors):
        if pairs and at <= pairs[-1][0]:  # it is in the run of the one before
            continue
        while at < len(before) and other_at < len(after) and before[at] == after[other_at]:
            pairs.append((at, other_at))
            at, other_at = at + 1, other_at + 1
    return pairs


def _rising(anchors: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest subsequence whose second members rise."""
    tops: list[int] = []
    chains: list[_Chain] = []
    for index, other_index in anchors:
        pile = bisect_left(tops, other_index)
        chain = (index, other_index, chains[pile - 1] if pile else None)
        if pile == len(tops):
            tops.append(other_index)
            chains.append(chain)
        else:
            tops[pile], chains[pile] = other_index, chain
    return _unrolled(chains[-1] if chains else None)


def _runs(pairs: Sequence[tuple[int, int]]) -> list[Run]:
    return [Run(index, other_index, 1) for index, other_index in pairs]


def _joined(runs: Sequence[Run]) -> Iterator[Run]:
    """The runs, those that touch on both sides as one."""
    last: Run | None = None
    for run in runs:
        if last is not None and (last.before + last.length, last.after + last.length) == run[:2]:
            last = Run(last.before, last.after, last.length + run.length)
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last
