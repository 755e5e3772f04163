"""Values beside each other: types show where they differ, and null is no text."""

from decimal import Decimal
from typing import Any

import pytest

from svc_pg.audit.log.value_texts import Sides, sides

TIMES = ("2026-11-24T14:00:00Z", "2026-11-24 15:00:00+01:00")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (1, "1", Sides("1", '"1"', "Before is a number, after is a text")),
        ("true", True, Sides('"true"', "true", "Before is a text, after is true or false")),
        ("[]", [], Sides('"[]"', "[]", "Before is a text, after is a list")),
        ({}, "{}", Sides("{}", '"{}"', "Before is an object, after is a text")),
        (None, "not set", Sides(None, '"not set"', "")),
        (None, "null", Sides(None, '"null"', "")),
        ("Empty", None, Sides('"Empty"', None, "")),
        (None, "", Sides(None, "", "")),
        (None, "ann", Sides(None, "ann", "")),
        ("null", "not set", Sides("null", "not set", "")),
        (1, 2, Sides("1", "2", "")),
        (Decimal("1.0"), Decimal("1.00"), Sides("1.0", "1.00", "The same number, written in another way")),
        (TIMES[0], TIMES[1], Sides(*TIMES, "The same instant, written with another offset or precision")),
        (TIMES[0][:-1], TIMES[1], Sides(TIMES[0][:-1], TIMES[1], "")),
        ("1", 2, Sides('"1"', "2", "")),
        ("a", "a ", Sides("a", "a ", "These look alike: after has U+0020 SPACE")),
        (["a"], ["a\u200b"], Sides('["a"]', '["a\u200b"]', "These look alike: after has U+200B ZERO WIDTH SPACE")),
    ],
)
def test_no_two_values_look_the_same(before: Any, after: Any, found: Sides) -> None:
    assert sides(before, after) == found
