"""The rest after a piece of a reconciliation follows from the time that the piece took."""

import time

import pytest

from svc_pg.audit.log.reconciliation import Pace


def rests(nice_ratio: float, *, worked: float) -> list[float]:
    pace = Pace(nice_ratio, 0, repairs=False, progress=lambda _: None, is_over=lambda: False)
    return [rest.total_seconds() for rest in pace.rest(time.monotonic() - worked)]


def test_a_rest_is_a_multiple_of_the_work() -> None:
    assert 1.5 <= sum(rests(3, worked=0.5)) < 10


def test_a_rest_is_bounded() -> None:
    assert sum(rests(100, worked=60)) == pytest.approx(10)


def test_there_is_none_without_a_ratio() -> None:
    assert rests(0, worked=60) == []


def test_a_rest_ends_soon_after_the_call_is_over() -> None:
    answers = iter([False, False, True])
    pace = Pace(100, 0, repairs=False, progress=lambda _: None, is_over=lambda: next(answers))
    assert sum(rest.total_seconds() for rest in pace.rest(time.monotonic() - 60)) < 1
