"""The difference of two values of a field: by paths, lines or words, with types and stand-ins named."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.pages.differences.difference import difference, value_of
from svc_pg.console.pages.differences.values import Value
from svc_pg.console.pages.differences.work import Work

INSTANT = "The same instant, written with another offset or precision"
MARKER = {"oversized": True, "bytes": 123_456, "sha256": "cd" * 32}
HOSTILE = "\u202e<script>alert(1)</script>\ud800\u2069"


def text(value: Value | None) -> str | None:
    if value is None:
        return None
    return value.words or "".join(part.text for part in value.parts) + (f" ({value.tag})" if value.tag else "")


@pytest.mark.parametrize(
    ("before", "after", "was", "now", "note"),
    [
        (None, "null", None, '"null"', ""),
        (None, "", None, "", ""),
        (1, "1", "1 (number)", '"1" (text)', "Before is a number, after is a text"),
        (True, "true", "true (true or false)", '"true" (text)', "Before is true or false, after is a text"),
        ("2026-11-24T14:00:00+00:00", "2026-11-24T15:00:00+01:00", ..., ..., INSTANT),
        ("2026-11-24T14:00:00", "2026-11-24T15:00:00+01:00", ..., ..., ""),
        ("\\xdead", "\\xdeadbeef", ..., ..., "2 bytes before, 4 bytes after; byte 3 is the first that differs"),
        (MARKER, MARKER | {"bytes": 1}, "123,456 bytes, too large to be recorded: SHA-256 cdcdcdcdcdcd…", ..., ""),
        ("a b", "a\u00a0b", ..., ..., "These look alike: before has U+0020 SPACE; after has U+00A0 NO-BREAK SPACE"),
    ],
)  # fmt: skip
def test_types_and_stand_ins_are_named(before: Any, after: Any, was: Any, now: Any, note: str) -> None:
    found = difference(before, after, Work())
    assert (was is ... or text(found.before) == was) and (now is ... or text(found.after) == now)  # noqa: PT018
    assert found.note == note


def test_numbers_of_other_digits_are_the_same_number() -> None:
    value = json.loads("[1.0, 1.00]", parse_float=Decimal)
    assert difference(value[0], value[1], Work()).note == "The same number, written in another way"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[masked]", "masked"),
        ("****1111", "only its end is recorded"),
        ("ab" * 32, "hash of the value"),
        (5, "redacted"),
    ],
)
def test_a_disguise_is_named(value: Any, words: str) -> None:
    found = difference(value, None, Work(), is_disguised=True)
    assert found.before is not None
    assert (found.before.tag, found.after) == (words, None)


def test_a_value_of_bytes_has_its_beginning_and_its_length() -> None:
    value = value_of("\\x" + "00" * 1000)
    assert value is not None
    assert (value.tag, value.size, len(value.parts[0].text)) == ("1,000 bytes", None, 66)


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (None, "null", "Before is null, after is a text"),
        ("null", None, "Before is a text, after is null"),
        (None, "", ""),
        (None, 0, ""),
    ],
)
def test_null_within_json_is_no_number(before: Any, after: Any, note: str) -> None:
    paths = difference({"a": before}, {"a": after}, Work()).paths
    assert paths is not None
    assert [row.note for row in paths.rows] == [note]


def test_paths_beyond_the_page_are_counted() -> None:
    before, after = ({str(number): number + more for number in range(100)} for more in (0, 1))
    paths = difference(before, after, Work(most=12)).paths
    assert paths is not None
    assert (len(paths.rows), paths.more, paths.changed) == (12, 88, 100)
    again = difference(before, after, Work(rows=0)).paths
    assert again is not None
    assert (again.rows, again.more) == ([], 100)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x" * 1_000_000, "x" * 500_000 + "y" + "x" * 500_000),
        ("a b " * 250_000, "b a " * 250_000),
        ("\n" * 1_000_000, "x\n" * 500_000),
        ([0] * 100_000, [0] * 50_000 + [1] + [0] * 50_000),
        ([*range(100_000)], [*range(100_000, 0, -1)]),
        (HOSTILE * 30_000, HOSTILE[::-1] * 30_000),
        ({HOSTILE: [HOSTILE]}, {HOSTILE: [HOSTILE + "x"]}),
        ([*range(100_000)], "[]"),
    ],
    ids=range(8),
)
def test_whatever_the_size_a_page_shows_little_of_it(before: Any, after: Any) -> None:
    found = difference(before, after, Work())
    values = [found.before, found.after]
    values += [side for row in (found.paths.rows if found.paths else []) for side in (row.before, row.after)]
    values += [row.value for row in (found.lines.rows if found.lines else [])]
    assert len(values) <= 130
    assert all(sum(len(part.text) for part in value.parts) <= 600 for value in values if value is not None)


@given(st.text(max_size=30), st.text(max_size=30))
def test_two_texts_that_differ_are_never_shown_as_the_same(before: str, after: str) -> None:
    found = difference(before, after, Work())
    assert (text(found.before) == text(found.after) and found.lines is None) == (before == after)
