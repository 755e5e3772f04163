"""The changes of a value of JSON by path: applied to the value before, they make the value after."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.pages.differences.json_beginnings import beginning
from svc_pg.console.pages.differences.json_paths import ABSENT, Path, PathChange, is_same, path_changes, written_path
from svc_pg.console.pages.differences.work import STEPS, Work

NAMES = st.sampled_from(["id", "a", "b", "x.y", "\u202eodd"])
LEAVES = (
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["1", "true", "", Decimal("1.0"), Decimal("1.00")])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=25
)


def applied(before: Any, changes: Sequence[PathChange]) -> Any:
    """The value after, made of the value before and the changes."""
    if len(changes) == 1 and not changes[0].after_path:
        return changes[0].after
    made = copied(before)
    for change in changes:
        if change.before is not ABSENT and change.after is not ABSENT:
            parent(made, change.before_path)[change.before_path[-1]] = change.after
    for change in reversed(changes):
        if change.after is ABSENT:
            del parent(made, change.before_path)[change.before_path[-1]]
    for change in changes:
        if change.before is ABSENT:
            inside, last = parent(made, change.after_path), change.after_path[-1]
            if isinstance(last, int):
                inside.insert(last, change.after)
            else:
                inside[last] = change.after
    return made


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(member) for name, member in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


def parent(value: Any, path: Path) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


def in_order(value: Any) -> Any:
    """The value, the members of its objects in the order of their names, as they have no other."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    return [in_order(each) for each in value] if isinstance(value, list) else value


def told(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    return {
        written_path(change.before_path if change.after is ABSENT else change.after_path): (change.before, change.after)
        for change in path_changes(before, after, Work())
    }


@given(VALUES, VALUES)
def test_applied_to_the_value_before_they_make_the_value_after(before: Any, after: Any) -> None:
    made = applied(before, path_changes(before, after, Work()))
    assert repr(in_order(made)) == repr(in_order(after))


@given(VALUES, VALUES, st.integers(0, 200))
def test_so_they_do_if_a_page_has_few_steps_left(before: Any, after: Any, steps: int) -> None:
    made = applied(before, path_changes(before, after, Work(steps=steps)))
    assert repr(in_order(made)) == repr(in_order(after))


@given(VALUES, VALUES)
def test_the_way_back_has_the_same_paths_with_their_sides_exchanged(before: Any, after: Any) -> None:
    there, back = (
        {(each.before_path, each.after_path) for each in changes if ABSENT not in (each.before, each.after)}
        for changes in (path_changes(before, after, Work()), path_changes(after, before, Work()))
    )
    assert there == {(path, other) for other, path in back}


@given(VALUES)
def test_the_same_value_has_no_changes(value: Any) -> None:
    assert path_changes(value, copied(value), Work()) == []


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": [{"q": 2}] * 60}, {"a": [{"q": 2}] * 57 + [{"q": 99}] + [{"q": 2}] * 2}, {"a[57].q": (2, 99)}),
        ([1, 2, 3], [0, 1, 2, 3], {"[0]": (ABSENT, 0)}),
        ([1, 2, 3], [2, 3], {"[0]": (1, ABSENT)}),
        ({"a": 1}, {"a": "1"}, {"a": (1, "1")}),
        ({"a": True}, {"a": 1}, {"a": (True, 1)}),
        ({"a": None}, {}, {"a": (None, ABSENT)}),
        ({"a": Decimal("1.0")}, {"a": Decimal("1.00")}, {"a": (Decimal("1.0"), Decimal("1.00"))}),
        ({"x.y": {"b c": [1]}}, {"x.y": {"b c": [2]}}, {'["x.y"]["b c"][0]': (1, 2)}),
        ([{"id": 1, "n": 1}, {"id": 2, "n": 1}], [{"id": 3}, {"id": 2, "n": 2}],
         {"[0]": (ABSENT, {"id": 3}), "[1].n": (1, 2)}),
        ([{"q": 1}], [{"q": 2}, 5], {"[0].q": (1, 2), "[1]": (ABSENT, 5)}),
        ([{"q": 1}], [[1], 5], {"[0]": (ABSENT, [1]), "[1]": (ABSENT, 5)}),
    ],
)  # fmt: skip
def test_a_change_is_told_by_its_path(before: Any, after: Any, changes: dict[str, tuple[Any, Any]]) -> None:
    found = told(before, after)
    assert {path: sides for path, sides in found.items() if path in changes} == changes
    assert len(path_changes(before, after, Work())) in (len(changes), len(changes) + 1)  # two may have one path


def test_what_is_nested_deeply_is_one_change() -> None:
    before: Any = 1
    after: Any = 2
    for _ in range(900):
        before, after = [before], {"a": after} if isinstance(after, int) else [after]
    [change] = path_changes(before, after, Work())
    assert len(change.after_path) <= 50
    assert beginning(before, 1000)[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([number * 7 % 1000 for number in range(100_000)], [number * 11 % 1000 for number in range(100_000)]),
        (["x"] * 100_000, ["x", "y"] * 50_000),
        ({str(number): number for number in range(100_000)}, {str(number): -number for number in range(100_000)}),
        ([[number] for number in range(50_000)], [[-number] for number in range(50_000)]),
    ],
)
def test_no_values_take_more_steps_than_a_page_has(before: Any, after: Any) -> None:
    work = Work()
    changes = path_changes(before, after, work)
    assert work.steps > -STEPS // 2
    assert len(changes) * 10 <= STEPS
    assert is_same(applied(before, changes), after)


@given(VALUES, st.integers(0, 30))
def test_a_beginning_is_that_of_the_whole(value: Any, most: int) -> None:
    whole, is_whole = beginning(value, 10_000)
    text, is_all = beginning(value, most)
    assert is_whole
    assert whole.startswith(text)
    assert is_all == (text == whole) or len(text) > most
