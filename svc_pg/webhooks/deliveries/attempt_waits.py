"""The number of attempts of a delivery, and the waits between them."""

import random
from collections.abc import Callable
from datetime import timedelta

from svc_pg.config import Retry

# At the shortest, a fifth less, the default outlives an outage of two hours, and long one of three days.
_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_DEFAULT = [_MINUTE, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR]
_LONG = [timedelta(seconds=5), 5 * _MINUTE, 30 * _MINUTE, *(hours * _HOUR for hours in (2, 6, 12, 18, 24, 28))]
_JITTER = 0.2
_OVERLOADED_LEAST = timedelta(seconds=60)
_RETRY_AFTER_MOST = timedelta(hours=24)


def max_attempts(retry: Retry) -> int:
    """The number of attempts after which a delivery has failed."""
    return len(_waits(retry)) + 1


def wait(
    retry: Retry,
    *,
    attempt: int,
    retry_after: timedelta | None = None,
    overloaded: bool = False,
    random: Callable[[], float] = random.random,
) -> timedelta:
    """The wait after failed attempt number ``attempt``, the first being 1.

    Every policy is spread by 20 % in both directions, so that deliveries that failed together do not return together.
    ``overloaded`` says that the receiver answered 503, or not in time: at least 60 s. Its ``retry_after`` raises
    the wait up to 24 h and never lowers it. ``random`` returns a number from 0 to 1. Attempts after the end of a list
    wait as long as its last.
    """
    waits = _waits(retry)
    planned = waits[min(attempt, len(waits)) - 1]
    if overloaded:
        planned = max(planned, _OVERLOADED_LEAST / (1 - _JITTER))  # still at least that when spread
    spread = planned * (1 + _JITTER * (2 * random() - 1))
    return max(spread, asked(retry_after))


def asked(retry_after: timedelta | None) -> timedelta:
    """The wait from a receiver's Retry-After, up to 24 h; 0 without one."""
    return min(retry_after or timedelta(0), _RETRY_AFTER_MOST)


def _waits(retry: Retry) -> list[timedelta]:
    if isinstance(retry, list):
        return retry
    return _DEFAULT if retry == "default" else _LONG
