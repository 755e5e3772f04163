from datetime import UTC, datetime, timedelta

import pytest

from svc_pg.formats.human_times import day_before, exact, instant, left, relative

NOW = datetime(2026, 3, 12, 14, 32, 8, 125_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(), "just now"),
        (timedelta(seconds=4), "just now"),
        (timedelta(seconds=-4), "just now"),
        (timedelta(seconds=5), "5 sec ago"),
        (timedelta(seconds=59.4), "59 sec ago"),
        (timedelta(minutes=1), "1 min ago"),
        (timedelta(minutes=-74), "in 1 hr"),
        (timedelta(hours=23, minutes=59), "23 hr ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=7, seconds=-1), "6 days ago"),
        (timedelta(days=7), "5 Mar 2026"),
        (timedelta(days=400), "5 Feb 2025"),
        (timedelta(days=-2), "in 2 days"),
    ],
)
def test_times_are_told_relative_to_now(ago: timedelta, text: str) -> None:
    assert relative(NOW - ago, NOW) == text


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(hours=14), ""),
        (timedelta(hours=15), "11 Mar"),
        (timedelta(days=6), "6 Mar"),
        (timedelta(days=7), ""),
    ],
)
def test_the_day_of_a_time_is_told_unless_it_is_today_or_told_already(ago: timedelta, text: str) -> None:
    assert day_before(NOW - ago, NOW) == text


def test_times_are_exact_for_people_and_programs() -> None:
    assert exact(NOW) == "12 Mar 2026, 14:32:08 UTC"
    assert instant(NOW) == "2026-03-12T14:32:08.125Z"


@pytest.mark.parametrize(("seconds", "text"), [(600, "10:00"), (554, "9:14"), (59, "0:59"), (0, "0:00"), (-5, "0:00")])
def test_the_time_that_is_left_is_counted_in_minutes_and_seconds(seconds: int, text: str) -> None:
    assert left(NOW + timedelta(seconds=seconds), NOW) == text
