from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.pages import charts

COUNTS = st.lists(st.integers(0, 10**9), max_size=60)


@pytest.mark.parametrize(
    ("greatest", "end"),
    [(0, 1), (0.003, 0.004), (0.31, 0.4), (1, 1), (1.01, 2), (6, 6), (7, 10), (571, 600), (601, 1000), (10**9, 10**9)],
)
def test_a_scale_ends_at_a_round_number(greatest: float, end: float) -> None:
    assert charts.scale(greatest) == pytest.approx(end)


@given(COUNTS, COUNTS)
def test_bars_stay_in_their_drawing(above: list[int], below: list[int]) -> None:
    below = below[: len(above)]
    drawn = charts.bars(above, below)
    assert len(drawn.above) == sum(count > 0 for count in above)
    assert len(drawn.below) == sum(count > 0 for count in below)
    for bar in drawn.above:
        assert 0 <= bar.x < drawn.width
        assert 0 <= bar.y <= charts.ABOVE
        assert bar.y + bar.height == pytest.approx(charts.ABOVE, abs=0.11)
    for bar in drawn.below:
        assert bar.y == charts.ABOVE + 1
        assert 1.5 <= bar.height <= charts.BELOW


@given(st.lists(st.none() | st.floats(0, 10**6, allow_subnormal=False), max_size=40))
def test_lines_have_gaps_where_nothing_was_measured(values: list[float | None]) -> None:
    drawn = charts.lines(values, [])
    runs = sum(value is not None and (index == 0 or values[index - 1] is None) for index, value in enumerate(values))
    assert drawn.upper.count("M") == runs
    assert drawn.upper.count("L") == sum(value is not None for value in values) - runs
    assert "nan" not in drawn.upper
    assert drawn.lower == ""


def test_a_value_alone_is_a_line_that_stays_in_its_drawing() -> None:
    assert charts.lines([None, None, 1.0], [1.0, None, 1.0]).upper == "M15 0.0H20"
    assert charts.lines([1.0, None, 1.0], []).upper == "M0 0.0H5M15 0.0H20"
    assert charts.lines([1.0], []).upper == "M0 0.0H5"


def test_a_spark_without_counts_is_empty() -> None:
    assert charts.spark([]) == charts.Spark(10, "", "")
    assert (charts.spark([0, 2]).line, charts.spark([0, 2]).top) == ("M0 22.0L10 2.0", 2)


def test_a_share_of_nothing_is_nothing() -> None:
    assert (charts.share(1, 4), charts.share(1, 0)) == (25, 0)


def test_a_chart_has_a_few_labels_and_ends_now() -> None:
    start = datetime(2026, 3, 11, 15, tzinfo=UTC)
    hours = [start + timedelta(hours=index) for index in range(24)]
    assert charts.labels(hours, timedelta(hours=1)) == ["15:00", "19:00", "23:00", "03:00", "07:00", "11:00", "now"]
    assert charts.labels([start], timedelta(hours=1)) == ["now"]
    assert charts.labels([], timedelta(hours=1)) == []
    assert charts.label(start, timedelta(days=1)) == "11 Mar"


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(0, 10**9))  # noqa: DTZ001 - made UTC
def test_a_line_over_time_has_up_to_five_round_times_within_it(begins: datetime, seconds: int) -> None:
    begins = begins.replace(tzinfo=UTC)
    ends = begins + timedelta(seconds=seconds)
    line = charts.time_line(begins, ends)
    assert len(line.marks) <= 5
    assert all(0 <= x <= 100 and text for x, text in line.marks)
    assert line.at(begins) == 0
    assert line.at(begins - timedelta(days=1)) == 0
    assert line.at(ends + timedelta(days=1)) == 100
    span = line.span(begins, ends)
    assert 0 < span.width <= 100


def test_a_line_of_two_hours_has_its_half_hours() -> None:
    begins = datetime(2026, 11, 24, 10, 20, tzinfo=UTC)
    marks = charts.time_line(begins, begins + timedelta(hours=2)).marks
    assert [text for _, text in marks] == ["10:30", "11:00", "11:30", "12:00"]
