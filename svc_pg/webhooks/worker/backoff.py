"""The number of attempts of a delivery, and the waits between them."""

import random
from collections.abc import Callable
from datetime import timedelta

from svc_pg.config import Retry

_DEFAULT_ATTEMPTS = 5
_DEFAULT_FIRST = timedelta(seconds=10)
_DEFAULT_CAP = timedelta(hours=6)
_LONG = [
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
]
_JITTER = 0.2
_OVERLOADED_LEAST = timedelta(seconds=60)
_RETRY_AFTER_MOST = timedelta(hours=24)


def max_attempts(retry: Retry) -> int:
    """The number of attempts after which a delivery has failed."""
    if retry == "default":
        return _DEFAULT_ATTEMPTS
    return len(_listed(retry)) + 1


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
    ``overloaded`` says that the receiver answered 429 or 503, or not in time: at least 60 s. Its ``retry_after`` raises
    the wait up to 24 h and never lowers it. ``random`` returns a number from 0 to 1. Attempts after the end of a list
    wait as long as its last.
    """
    planned = _planned(retry, attempt)
    if overloaded:
        planned = max(planned, _OVERLOADED_LEAST / (1 - _JITTER))  # still at least that when spread
    spread = planned * (1 + _JITTER * (2 * random() - 1))
    if retry == "default":
        spread = min(spread, _DEFAULT_CAP)
    return max(spread, min(retry_after or timedelta(0), _RETRY_AFTER_MOST))


def _planned(retry: Retry, attempt: int) -> timedelta:
    if retry == "default":
        exponent = min(attempt - 1, 10)  # far beyond the cap, and attempt 500 does not overflow
        return _DEFAULT_FIRST * 4.0**exponent
    waits = _listed(retry)
    return waits[min(attempt, len(waits)) - 1]


def _listed(retry: Retry) -> list[timedelta]:
    return retry if isinstance(retry, list) else _LONG
