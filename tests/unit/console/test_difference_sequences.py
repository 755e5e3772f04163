"""Sequences are aligned by a longest common subsequence, and at any size by a bounded number of steps."""

import random
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.pages.differences import work as work_module
from svc_pg.console.pages.differences.sequences import Gap, Run, aligned, gaps
from svc_pg.console.pages.differences.work import STEPS, STEPS_AT_ONCE, Work

LISTS = st.lists(st.sampled_from("abcd"), max_size=20)


def longest_common(before: Sequence[str], after: Sequence[str]) -> int:
    """The length by the textbook's table."""
    above = [0] * (len(after) + 1)
    for element in before:
        row = [0]
        for index, other in enumerate(after):
            row.append(above[index] + 1 if element == other else max(above[index + 1], row[-1]))
        above = row
    return above[-1]


def rebuilt(before: Sequence[str], after: Sequence[str], runs: Sequence[Run]) -> list[str]:
    """The sequence after, its runs taken from the one before."""
    made: list[str] = []
    for each in gaps(runs, len(before), len(after)):
        if isinstance(each, Gap):
            made += after[each.after : each.after_end]
        else:
            made += before[each.before : each.before + each.length]
    return made


@given(LISTS, LISTS)
def test_the_alignment_is_longest_and_the_same_from_both_sides(before: list[str], after: list[str]) -> None:
    runs = aligned(before, after, Work())
    assert rebuilt(before, after, runs) == after
    assert sum(run.length for run in runs) == longest_common(before, after)
    assert [(run.after, run.before, run.length) for run in aligned(after, before, Work())] == runs


@given(LISTS, LISTS, st.integers(0, 120), st.integers(0, 60))
def test_with_few_steps_it_is_an_alignment_all_the_same(
    before: list[str], after: list[str], steps: int, at_once: int
) -> None:
    with patch.object(work_module, "STEPS_AT_ONCE", at_once):
        runs = aligned(before, after, Work(steps=steps))
        swapped = aligned(after, before, Work(steps=steps))
    assert rebuilt(before, after, runs) == after
    assert [(run.after, run.before, run.length) for run in swapped] == runs


def test_an_element_put_in_is_one_gap_at_any_size() -> None:
    before = [str(number) for number in range(100_000)]
    after = [*before[:50_000], "new", *before[50_000:]]
    work = Work()
    assert aligned(before, after, work) == [(0, 0, 50_000), (50_000, 50_001, 50_000)]
    assert STEPS - work.steps < 10


@pytest.mark.parametrize(
    ("before", "after", "run"),
    [
        ("1axbb2", "3aaxb4", (2, 3, 2)),  # x, and the b that follows it in both
        ("1xyzaa2", "3aaxyz4", (1, 3, 3)),  # y and z follow x, and begin no runs of their own
        ("1aaxyz2", "3xyzaaa4", (3, 1, 3)),
    ],
)
def test_a_run_begins_with_an_element_that_each_sequence_has_once(
    before: str, after: str, run: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "STEPS_AT_ONCE", 0)
    assert aligned(before, after, Work()) == [run]


def test_many_scattered_changes_are_found_by_unique_elements() -> None:
    before = [str(number) for number in range(20_000)]
    after = ["same" if number % 20 == 7 else str(number) for number in range(20_000)]
    before = ["same", *before[1:]]
    runs = aligned(before, after, Work())
    assert sum(run.length for run in runs) > 18_000


@pytest.mark.parametrize("letters", ["ab", "abcdefghijklmnopqrstuvwxyz"])
def test_no_two_sequences_take_more_steps_than_a_page_has(letters: str) -> None:
    chosen = random.Random(7)
    before, after = (chosen.choices(letters, k=60_000) for _ in range(2))
    work = Work()
    for _ in range(5):
        assert rebuilt(before, after, aligned(before, after, work)) == after
    assert work.steps > -2 * STEPS_AT_ONCE
