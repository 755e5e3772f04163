"""The retry policy: how many attempts, and how long between them."""

from datetime import timedelta
from typing import Literal, cast, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_pg.config import Retry, WebhooksConfig
from svc_pg.webhooks.deliveries.attempt_waits import max_attempts, wait

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def middle() -> float:
    return 0.5


presets = st.sampled_from(get_args(Literal["default", "long"]))
policies: st.SearchStrategy[Retry] = presets | st.lists(st.timedeltas(timedelta(seconds=1), 30 * DAY), min_size=1)
chances = st.floats(0, 1, exclude_max=True)
attempts = st.integers(1, 1_000_000)


@pytest.mark.parametrize(("retry", "expected"), [("default", 5), ("long", 10), ([HOUR], 2), ([HOUR, DAY, DAY], 4)])
def test_every_policy_has_its_attempts(retry: Retry, expected: int) -> None:
    assert max_attempts(retry) == expected


def test_the_policy_of_an_empty_configuration_is_understood() -> None:
    assert max_attempts(WebhooksConfig().retry) == 5


def test_the_waits_of_the_presets_grow() -> None:
    minutes = [wait("default", attempt=attempt, random=middle) / timedelta(minutes=1) for attempt in range(1, 8)]
    assert minutes == [1, 5, 30, 120, 120, 120, 120]
    waits = [wait("long", attempt=attempt, random=middle) for attempt in range(1, 10)]
    assert waits[:3] == [timedelta(seconds=5), timedelta(minutes=5), timedelta(minutes=30)]
    assert [each / HOUR for each in waits[3:]] == [2, 6, 12, 18, 24, 28]


@given(chance=chances)
@example(chance=0.0)
@example(chance=1.0)
def test_the_last_attempt_comes_after_two_hours_by_default_and_after_three_days_with_long(chance: float) -> None:
    for retry, least, most in (("default", 2 * HOUR, 4 * HOUR), ("long", 3 * DAY, 5 * DAY)):
        policy = cast(Retry, retry)
        waits = [wait(policy, attempt=each, random=lambda: chance) for each in range(1, max_attempts(policy))]
        assert least < sum(waits, timedelta()) < most


def test_a_list_is_waited_in_its_order_and_then_its_last() -> None:
    assert [wait([HOUR, DAY], attempt=attempt, random=middle) for attempt in (1, 2, 3, 99)] == [HOUR, DAY, DAY, DAY]


@pytest.mark.parametrize("retry", ["default", "long"])
def test_an_overloaded_receiver_is_left_alone_for_a_minute(retry: Literal["default", "long"]) -> None:
    assert wait(retry, attempt=1, overloaded=True, random=lambda: 0.0) >= timedelta(seconds=60)
    assert wait(retry, attempt=1, overloaded=True) < timedelta(seconds=91)


@given(retry=policies, attempt=attempts, chance=chances)
def test_waits_are_spread_by_a_fifth(retry: Retry, attempt: int, chance: float) -> None:
    planned = wait(retry, attempt=attempt, random=middle)
    tolerance = timedelta(microseconds=1)
    spread = wait(retry, attempt=attempt, random=lambda: chance)
    assert planned * 0.8 - tolerance <= spread <= planned * 1.2 + tolerance


@given(retry=policies, attempt=attempts, chance=chances, retry_after=st.timedeltas())
def test_retry_after_raises_a_wait_up_to_a_day_and_never_lowers_it(
    retry: Retry, attempt: int, chance: float, retry_after: timedelta
) -> None:
    without = wait(retry, attempt=attempt, random=lambda: chance)
    heeded = wait(retry, attempt=attempt, retry_after=retry_after, random=lambda: chance)
    assert heeded == max(without, min(retry_after, DAY))


@given(retry=policies, attempt=attempts)
def test_overload_never_shortens_a_wait(retry: Retry, attempt: int) -> None:
    patient = wait(retry, attempt=attempt, overloaded=True, random=middle)
    assert patient >= max(wait(retry, attempt=attempt, random=middle), timedelta(seconds=60))
