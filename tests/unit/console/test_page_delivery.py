"""The times of a delivery's attempts, on a strip and in words."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from svc_pg.console.pages.webhooks.delivery import duration, marks
from svc_pg.webhooks.deliveries.delivery_rows import DeliveryAttempt

BEGAN = datetime(2026, 3, 12, 11, 17, tzinfo=UTC)


def attempts(*minutes: float) -> Sequence[DeliveryAttempt]:
    """Attempts so many minutes after the first, of which the last is a success."""
    return [
        DeliveryAttempt(
            id=str(number),
            attempt=number,
            cause="auto",
            started_at=BEGAN + timedelta(minutes=after),
            duration_ms=7,
            outcome="success" if number == len(minutes) else "timeout",
            status_code=None,
            error=None,
            response_headers=None,
            response_body=None,
            remote_ip=None,
            worker=None,
        )
        for number, after in enumerate(minutes, start=1)
    ]


def test_the_marks_are_as_far_apart_as_the_attempts() -> None:
    found = marks(attempts(0, 50, 100))
    assert [mark.position for mark in found] == [0.5, 49.9, 99.3]
    assert [mark.is_success for mark in found] == [False, False, True]
    assert marks([]) == []


def test_attempts_at_one_time_have_marks_too() -> None:
    assert [mark.position for mark in marks(attempts(0, 0))] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("last", "words"),
    [(0.5, "30 sec"), (1, "1 min"), (194, "3 hr 14 min"), (24 * 60, "1 day"), (3 * 24 * 60 + 61, "3 days 1 hr")],
)
def test_the_time_between_is_told_in_its_two_largest_units(last: float, words: str) -> None:
    assert duration(attempts(0, last)) == words
    assert duration(attempts(0)) == ""
