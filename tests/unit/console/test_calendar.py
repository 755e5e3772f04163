"""Times of the fields of a form, which have no zone, as the filters of a list, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.pages import calendar
from svc_pg.formats.durations import point_in_time


@pytest.mark.parametrize(
    ("begins", "ends", "since", "until"),
    [
        ("2026-11-27T09:30", "2026-11-27T10:00:05", "2026-11-27T09:30:00Z", "2026-11-27T10:00:05Z"),
        ("2026-11-27T00:00", "2026-11-28T00:00", "2026-11-27", "2026-11-28"),
        ("2026-11-27", "2026-11-27", "2026-11-27", "2026-11-28"),
        (" 2026-11-27 ", "", "2026-11-27", None),
        ("", "2026-11-27T10:00", None, "2026-11-27T10:00:00Z"),
        ("2026-11-27T10:00+02:00", "", "2026-11-27T08:00:00Z", None),
        ("", "9999-12-31", None, None),
        ("", "", None, None),
    ],
)
def test_the_fields_become_filters_of_utc(begins: str, ends: str, since: str | None, until: str | None) -> None:
    assert calendar.period(begins, ends) == {"since": since, "until": until}


@pytest.mark.parametrize(
    ("begins", "ends", "said"),
    [
        ("yesterday", "", "The beginning of the time cannot be read"),
        ("", "2026-02-30", "The end of the time cannot be read"),
        ("9" * 1000, "", "The beginning of the time cannot be read"),
        ("0001-01-01T00:00+10:00", "", "The beginning of the time cannot be read"),
        ("2026-11-28", "2026-11-27", "must be after its beginning"),
        ("2026-11-28T10:00", "2026-11-28T10:00", "must be after its beginning"),
    ],
)
def test_what_is_no_period_is_refused_in_words(begins: str, ends: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        calendar.period(begins, ends)


@given(st.datetimes().map(lambda time: time.replace(microsecond=0)))
def test_a_field_shows_the_time_of_its_filter(time: object) -> None:
    written = calendar.period(str(time).replace(" ", "T"), "")["since"]
    assert written is not None
    assert not isinstance(point_in_time(written), str)
    shown = calendar.field([written])
    assert calendar.period(shown, "")["since"] == written
    assert len(shown) in (16, 19)


@pytest.mark.parametrize(
    "values", [[], ["1h"], ["today"], ["2026-11-27", "2026-11-28"], ["\u0662026-11-27"], ["x" * 9999]]
)
def test_a_field_is_empty_without_one_fixed_time(values: list[str]) -> None:
    assert calendar.field(values) == ""
