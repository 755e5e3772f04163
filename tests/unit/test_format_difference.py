"""Differences in a terminal: what differs is in the line, also if it is far from the beginning or looks the same."""
# ruff: noqa: RUF001 # letters of other scripts are what is tested

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.format_difference import actor_text, field_text
from cli.json_text import printable
from svc_pg.audit import FieldDiff, Snapshot

EARLY, LATE = '"2026-01-01T00:00:00Z"', '"2026-01-01T01:00:00+01:00"'


def text(before: object, after: object) -> str:
    was, now = (Snapshot(json.dumps(value, ensure_ascii=False)) for value in (before, after))
    return field_text(FieldDiff("f", was, now))


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a", "b", 'f: "a" -> "b"'),
        (1, "1", 'f: 1 -> "1" (Before is a number, after is a text)'),
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", f"f: {EARLY} -> {LATE} (The same instant, written"),
        (None, "null", 'f: null -> "null"'),
        ("a\r\n", "a\n", 'f: "a\\r\\n" -> "a\\n"'),
        ("ann", "аnn", 'f: "ann" -> "аnn" (These look alike: before has U+0061 LATIN SMALL LETTER A; after has '),
        ("a", "a ", 'f: "a" -> "a "'),
        ("x" * 999 + "a", "x" * 999 + "b", 'f: …xxxxxxxxxxxxxxxa" -> …xxxxxxxxxxxxxxxb"'),
        ("\u3164", "", r'f: "\u3164" -> ""'),
    ],
)
def test_what_differs_is_in_the_line(before: object, after: object, shown: str) -> None:
    assert text(before, after).startswith(shown)


@given(st.text(max_size=200), st.text("ab", max_size=3), st.text("ab", max_size=3), st.text(max_size=200))
def test_no_two_values_look_the_same(head: str, before: str, after: str, tail: str) -> None:
    shown = text(head + before + tail, head + after + tail)
    was, _, now = shown.partition(" -> ")
    assert (was.removeprefix("f: ") != now) == (before != after)


def test_an_actor_of_mixed_letters_is_called_so() -> None:
    assert actor_text("аnn", None) == "аnn (letters of several scripts)"
    assert [actor_text("ann", "x"), actor_text(None, "x"), actor_text(None, None)] == ["ann", "(x)", "(nobody named)"]


@given(st.text())
def test_nothing_that_nobody_sees_is_printed(text: str) -> None:
    assert all(char.isprintable() for char in printable(text))
    assert not set(printable(text)) & set("\u115f\u1160\u2800\u3164\u034f")
