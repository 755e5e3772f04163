"""The difference of long texts by lines: their numbers are those of the texts, and equal lines are folded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.pages.differences.lines import Lines, are_long, lines, split
from svc_pg.console.pages.differences.work import STEPS, Work

TEXTS = st.lists(st.sampled_from(["", "a", "b", "a b c", " \t", "\u2028x", "c\r"]), max_size=30).map("\n".join)
NUMBERED = "".join(f"line {number}\n" for number in range(1, 47))


def compared(before: str, after: str) -> Lines:
    found = lines(before, after, Work(most=10_000, rows=10_000))
    assert found is not None
    return found


def shown(found: Lines) -> list[str]:
    signs = {"same": " ", "gone": "-", "new": "+", "fold": "@"}
    return [
        signs[row.kind] + (str(row.folded) if row.folded else "".join(part.text for part in row.value.parts))
        for row in found.rows
    ]


@given(TEXTS, TEXTS)
def test_each_line_is_that_of_its_number_and_none_is_missing(before: str, after: str) -> None:
    found = compared(before, after)
    if found.ends:
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    was, now = split(before), split(after)
    counted = [0, 0]
    for row in found.rows:
        text = "".join(part.text for part in row.value.parts).removesuffix("\n")
        if row.before is not None:
            assert was[row.before - 1].removesuffix("\n") == text
        if row.after is not None:
            assert now[row.after - 1].removesuffix("\n") == text
        counted[0] += row.folded + (row.before is not None)
        counted[1] += row.folded + (row.after is not None)
    if before != after:
        assert counted == [len(was), len(now)]
    assert found.more == 0


@given(TEXTS, TEXTS)
def test_the_other_way_round_as_many_lines_are_gone_as_were_new(before: str, after: str) -> None:
    there, back = compared(before, after), compared(after, before)
    assert (there.gone, there.new) == (back.new, back.gone)


@given(TEXTS)
def test_the_lines_are_the_text(text: str) -> None:
    assert "".join(split(text)) == text


def test_equal_lines_are_folded_and_those_around_a_change_are_not() -> None:
    after = NUMBERED.replace("line 23\n", "line XX\n").replace("line 26\n", "line 26 x\nnew\n")
    assert shown(compared(NUMBERED, after)) == [
        "@19", " line 20", " line 21", " line 22", "-line 23", "+line XX", " line 24", " line 25", "-line 26",
        "+line 26 x", "+new", " line 27", " line 28", " line 29", "@17",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("a\nb\nc", "a\nb\nc\n", [" a", " b", "-c", "+c\n"]),
        ("a\nb\nc\n", "x\na\nb\nc\n", ["+x", " a", " b", " c"]),
        ("a\nb\nc\n", "", ["-a", "-b", "-c"]),
    ],
)
def test_what_changes_at_an_end_is_told(before: str, after: str, rows: list[str]) -> None:
    assert shown(compared(before, after)) == rows


def test_other_ends_of_all_lines_are_told_once() -> None:
    found = compared("a\r\nb\r\nc\r\n", "a\nB\nc\n")
    assert found.ends == ("CR LF", "LF")
    assert (found.gone, found.new) == (1, 1)
    assert compared("a\r\nb\nc\n", "a\nb\nc\n").ends is None


def test_lines_that_look_alike_are_told() -> None:
    assert "NO-BREAK SPACE" in compared("a b\nc\nd\n", "a\u00a0b\nc\nd\n").note
    assert compared("a b\nc\nd\n", "a\u00a0b\nc\nx\n").note == ""
    assert are_long("a\nb\nc", "")
    assert not are_long("a\nb", "c")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x\n" * 500_000, "\n" * 1_000_000),
        ("a\nb\n" * 250_000, "b\na\n" * 250_000),
        (NUMBERED * 2_000, NUMBERED[::-1] * 2_000),
    ],
)
def test_no_texts_take_more_steps_than_a_page_has(before: str, after: str) -> None:
    work = Work()
    found = lines(before, after, work)
    assert work.steps > -STEPS // 2
    assert found is None or len(found.rows) <= 60
