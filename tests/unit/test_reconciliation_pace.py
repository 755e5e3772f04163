"""The rest after a piece of a reconciliation follows from the time that the piece took."""

import time

from svc_pg.audit.log.reconciliation import Pace


def rests(nice_ratio: float, *, worked: float) -> list[float]:
    pace = Pace(nice_ratio, 0, repairs=False, progress=lambda _: None, is_over=lambda: False)
    return [rest.total_seconds() for rest in pace.rest(time.monotonic() - worked)]


def test_a_rest_is_a_multiple_of_the_work() -> None:
    [rest] = rests(3, worked=0.5)
    assert 1.5 <= rest < 10


def test_a_rest_is_bounded() -> None:
    assert rests(100, worked=60) == [10]


def test_there_is_none_without_a_ratio() -> None:
    assert rests(0, worked=60) == []
