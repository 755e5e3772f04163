"""A foreign suite passes only if it was recorded, and if each difference of a test has a reason."""

import pytest

from tests.proof.foreign.comparing import KNOWN, Counts, compare, holds, known_differences
from tests.proof.foreign.running import Run
from tests.proof.foreign.suites import SUITES


def counted(without: dict[str, str], with_it: dict[str, str], *explained: str, entries: int = 1) -> Counts:
    """The counts of one unit."""
    counts = Counts(all_units=1)
    compare(Run(without), Run(with_it, entries=entries, tables=2), counts, explained)
    return counts


def test_outcomes_that_are_the_same_hold() -> None:
    outcomes = {"a": "passed", "b": "failed", "c": "skipped"}
    counts = counted(outcomes, outcomes)
    assert (counts.tests, counts.same, counts.failed, counts.skipped) == (3, 3, 1, 1)
    assert (counts.entries, counts.tables, counts.units) == (1, 2, 1)
    assert holds(counts)


@pytest.mark.parametrize(
    ("without", "with_it", "difference"),
    [
        ({"a": "passed"}, {"a": "failed"}, "a: passed, failed"),
        ({"a": "failed"}, {"a": "passed"}, "a: failed, passed"),
        ({"a": "passed"}, {}, "a: passed, no outcome"),
        ({}, {"a": "passed"}, "a: no outcome, passed"),
    ],
)
def test_a_difference_without_a_reason_fails(without: dict[str, str], with_it: dict[str, str], difference: str) -> None:
    counts = counted(without, with_it, "b", "*.a")
    assert counts.different == [difference]
    assert not holds(counts)
    explained = counted({"b": "passed", **without}, {"b": "passed", **with_it}, "a*")
    assert (explained.explained, explained.same, explained.different) == (1, 1, [])
    assert holds(explained)


def test_equal_totals_do_not_hide_two_tests_that_changed_places() -> None:
    assert len(counted({"a": "passed", "b": "failed"}, {"a": "failed", "b": "passed"}).different) == 2


def test_a_run_without_entries_or_in_which_no_test_passed_proves_nothing() -> None:
    assert not holds(counted({"a": "passed"}, {"a": "passed"}, entries=0))
    assert not holds(counted({}, {}))
    assert not holds(counted({"a": "failed", "b": "skipped"}, {"a": "failed", "b": "skipped"}))


def test_each_known_difference_is_of_a_suite_and_has_a_reason() -> None:
    for suite in SUITES:
        known_differences(suite.name)
    text = '[[django]]\ntest = "a.*"\nreason = "{}"\n'
    assert known_differences("django", text.format("counts queries")) == ["a.*"]
    assert known_differences("other", text) == []
    with pytest.raises(ValueError, match=rf"{KNOWN.name} gives no reason for a\.\*"):
        known_differences("django", text.format(" "))
