"""The time arguments of the verifier: the tolerance for a delivery's age, and the present."""

import math
from datetime import UTC, datetime, timedelta
from typing import Final

from svc_pg.errors import WebhookSignatureError

Tolerance = timedelta | float
"""A duration, or a number of seconds."""

TOLERANCE: Final = timedelta(minutes=5)
"""The default tolerance, from Standard Webhooks."""

_LONG: Final = 10**12


def seconds_of(tolerance: object) -> float:
    """The seconds of a tolerance, of the default if it is None.

    Raises WebhookSignatureError if it is neither a timedelta nor a finite number of seconds from 0 on.
    """
    match tolerance:
        case None:
            return TOLERANCE.total_seconds()
        case timedelta():
            seconds = tolerance.total_seconds()
        case _:
            seconds = _number(tolerance)
    if not 0 <= seconds < math.inf:
        raise WebhookSignatureError(
            f"the tolerance is not a duration: {_shown(tolerance)}", hint="Give a timedelta, or seconds, such as 300."
        )
    return seconds


def unix_time_of(now: object) -> float:
    """The unix seconds of a time, of the present if it is None.

    Raises WebhookSignatureError if it is neither a datetime with its zone nor a finite number of unix seconds.
    """
    match now:
        case None:
            return datetime.now(UTC).timestamp()
        case datetime() if now.tzinfo is not None:
            seconds = _timestamp(now)
        case _:
            seconds = _number(now)
    if not math.isfinite(seconds):
        raise WebhookSignatureError(
            f"now is not a time with its zone: {_shown(now)}", hint="Give datetime.now(UTC), or unix seconds."
        )
    return seconds


def _timestamp(time: datetime) -> float:
    try:
        return time.timestamp()
    except Exception:  # noqa: BLE001 - the code of another's time zone
        return math.nan


def _number(value: object) -> float:
    """The value as a float; NaN if it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: object) -> str:
    """A value in the words of an error, which are short and call no code of the value's type."""
    if type(value) in {float, bool, timedelta} or (type(value) is int and abs(value) < _LONG):
        return repr(value)
    return f"a value of type {type(value).__name__}"
