"""Periods as people write them."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.formats.periods import period

TODAY = date(2026, 1, 31)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("written", "since", "until"),
    [
        ("10:00 to 11:00", at(2026, 1, 31, 10), at(2026, 1, 31, 11)),
        ("9:05 TO 9:05:30", at(2026, 1, 31, 9, 5), at(2026, 1, 31, 9, 5, 30)),
        (" 10:00  to  11:00 ", at(2026, 1, 31, 10), at(2026, 1, 31, 11)),
        ("2025-12-31 10:00 to 11:00", at(2025, 12, 31, 10), at(2025, 12, 31, 11)),
        ("2025-12-31 23:00 to 2026-01-01 01:00", at(2025, 12, 31, 23), at(2026, 1, 1, 1)),
        ("2026-01-31 to 2026-02-01", at(2026, 1, 31), at(2026, 2, 1)),
        ("2026-01-31 to 12:00", at(2026, 1, 31), at(2026, 1, 31, 12)),
        ("2026-01-31T10:00Z to 2026-01-31T11:00:00Z", at(2026, 1, 31, 10), at(2026, 1, 31, 11)),
        ("2026-01-31T10:00+02:00 to 2026-01-31T10:00Z", at(2026, 1, 31, 8), at(2026, 1, 31, 10)),
        ("yesterday", at(2026, 1, 30), at(2026, 1, 31)),
        (" Today ", at(2026, 1, 31), at(2026, 2, 1)),
        ("2025-12-31", at(2025, 12, 31), at(2026, 1, 1)),
        ("10:00+0100 to 11:00+0100", at(2026, 1, 31, 9), at(2026, 1, 31, 10)),
    ],
)
def test_a_period_is_read(written: str, since: datetime, until: datetime) -> None:
    assert period(written, today=TODAY) == (since, until)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "is not a period"),
        ("to", "is not a period"),
        (" to ", "is not a period"),
        ("10:00", "is not a period"),
        ("10:00 to ", "is not a period"),
        ("10:00 - 11:00", "is not a period"),
        ("10:00 to 11:00 to 12:00", "is not a period"),
        ("yesterday to today", "is not a period"),
        ("2026-01-31 Z to 2026-02-01", "is not a period"),
        ("\u0661\u0660:00 to 11:00", "is not a period"),
        ("10:00 to 25:00", "is not a period: hour must be in 0..23"),
        ("2026-02-30 to 2026-03-01", "is not a period: day "),
        ("2026-02-30", "is not a period: day "),
        ("9999-12-31", "is not a period: date value out of range"),
        ("tomorrow", "is not a period"),
        ("10:00 to 2026-02-01 11:00", "has no date at its beginning, but at its end"),
        ("11:00 to 10:00", "does not end after it begins"),
        ("10:00 to 10:00", "does not end after it begins"),
        ("2026-02-01 to 2026-01-31", "does not end after it begins"),
        ("0001-01-01T00:00+02:00 to 0001-01-02T00:00+02:00", "is not a period"),
        ("10:00 to 11:00-05:00", "has a zone at one end only"),
        ("2026-01-31T10:00Z to 2026-02-01", "has a zone at one end only"),
    ],
)
def test_what_is_no_period_is_refused_with_the_forms_to_write(written: str, reason: str) -> None:
    with pytest.raises(ValueError, match="write 10:00 to 11:00, 2026-01-31 10:00 to 11:00") as refused:
        period(written, today=TODAY)
    assert reason in str(refused.value)


def test_a_time_without_a_date_is_of_today_in_utc() -> None:
    before = datetime.now(UTC).date()
    since, _ = period("00:00 to 00:01")
    assert since.date() in (before, datetime.now(UTC).date())


@given(
    st.integers(-(10**10), 10**11).map(lambda seconds: at(1970, 1, 1) + timedelta(seconds=seconds)),
    st.integers(1, 10**8),
)
def test_a_period_that_is_written_in_full_is_read_as_it_was(since: datetime, seconds: int) -> None:
    until = since + timedelta(seconds=seconds)
    assert period(f"{since.isoformat()} to {until.isoformat()}") == (since, until)


@given(st.text(max_size=60) | st.from_regex(r"[0-9: to\-TZ+]{1,60}", fullmatch=True))
def test_any_text_is_a_period_or_refused(written: str) -> None:
    with suppress(ValueError):
        since, until = period(written)
        assert since < until
