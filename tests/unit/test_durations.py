from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from svc_pg.formats.durations import Duration, parse, point_in_time, text

UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}


@given(count=st.integers(1, 100_000), unit=st.sampled_from(sorted(UNITS)))
def test_a_count_and_a_unit_is_that_many_of_it(count: int, unit: str) -> None:
    assert parse(f"{count}{unit}") == count * UNITS[unit]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("PT15M", timedelta(minutes=15)),
        ("1h30m", timedelta(minutes=90)),
        ("1y2w3d4h5m6s", timedelta(days=382, hours=4, minutes=5, seconds=6)),
        ("1m5ms", timedelta(minutes=1, milliseconds=5)),
        ("P1DT2H", timedelta(days=1, hours=2)),
        ("P2W", timedelta(weeks=2)),
        ("PT0.5S", timedelta(milliseconds=500)),
    ],
)
def test_iso_8601_and_several_units_are_read(written: str, expected: timedelta) -> None:
    assert parse(written) == expected


def test_a_timedelta_is_itself() -> None:
    assert parse(timedelta(seconds=3)) == timedelta(seconds=3)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "5",
        "s",
        "1.5h",
        "1 h",
        "-5m",
        "30m1h",
        "1h1h",
        "5ms1s",
        "1h 30m",
        "1H",
        "PT",
        "P",
        "-PT1H",
        "1h\n",
        "\u0663h",
        5,
        1.5,
        True,
        None,
    ],
)
def test_what_is_no_duration_is_refused_with_the_forms_to_write(value: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write 30s, .* PT15M"):
        parse(value)


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (timedelta(seconds=15), "15s"),
        (timedelta(minutes=90), "90m"),
        (timedelta(hours=36), "36h"),
        (timedelta(days=30), "30d"),
        (timedelta(milliseconds=1500), "1500ms"),
        (timedelta(0), "0s"),
    ],
)
def test_a_duration_is_written_in_the_largest_unit_without_a_fraction(duration: timedelta, expected: str) -> None:
    assert text(duration) == expected


@given(st.timedeltas(timedelta(microseconds=1)))
@example(timedelta(days=12, milliseconds=5))
def test_a_duration_that_was_written_is_read_as_the_same(duration: timedelta) -> None:
    assert parse(text(duration)) == duration


@pytest.mark.parametrize("value", ["0s", "PT0S", timedelta(0), timedelta(seconds=-1)])
def test_a_duration_is_longer_than_nothing(value: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse(value)


@given(st.text(st.sampled_from("0123456789PTYMWDHS.,-+smhdwy")) | st.from_regex(r"P[0-9]+[YMWD](T[0-9]+[HMS])?"))
def test_any_text_is_a_positive_duration_or_a_value_error(text: str) -> None:
    try:
        duration = parse(text)
    except ValueError:
        return
    assert duration > timedelta(0)


@pytest.mark.parametrize("text", ["999999999w", "P999999999W", "P9999999999999D"])
def test_a_duration_beyond_measure_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31 12:00:00.5+01:00", datetime(2026, 1, 31, 12, 0, 0, 500_000, timezone(timedelta(hours=1)))),
        ("7d", "7d"),
        ("PT15M", "PT15M"),
        ("1h30m", "1h30m"),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
    ],
)
def test_a_point_in_time_is_a_time_with_its_zone_or_a_duration_before_now(text: str, expected: str | datetime) -> None:
    assert point_in_time(text) == expected


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00", "20260131"])
def test_a_time_without_a_zone_is_refused_with_both_forms(text: str) -> None:
    with pytest.raises(ValueError, match="has no time zone; write 1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z"):
        point_in_time(text)


@pytest.mark.parametrize("text", ["", "soon", "0s", "1 fortnight", "2026-02-30T12:00:00Z", "2026-02-30", "12:00Z"])
def test_what_is_no_point_in_time_is_refused_with_both_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time; write 1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z"):
        point_in_time(text)


def test_a_field_of_a_model_reads_the_same_forms() -> None:
    field = TypeAdapter[timedelta](Duration)
    assert field.validate_python("7d") == timedelta(days=7)
    with pytest.raises(ValidationError, match="write 30s"):
        field.validate_python("soon")
