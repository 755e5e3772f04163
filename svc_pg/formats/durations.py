"""Durations and points in time as people write them: ``250ms``, ``30s``, ``1h30m``, ``7d``, ``PT15M``, or a time."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from pydantic import BeforeValidator, TypeAdapter, ValidationError

_UNITS = {
    "y": timedelta(days=365),
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_DIGITS = 9
_SHORT = re.compile("".join(f"(?:([0-9]{{1,{_DIGITS}}}){unit})?" for unit in _UNITS))
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ISO_8601 = TypeAdapter(timedelta)
_TIMES = "write 1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z"


def parse(value: object) -> timedelta:
    """Read a positive duration. Raises ValueError with the accepted forms if it is none."""
    try:
        duration = _read(value)
    except (ValidationError, OverflowError):
        duration = None
    if duration is None or duration <= timedelta(0):
        raise ValueError(
            f"{value!r} is not a duration; write 30s, 15m, 1h30m, 250ms, 7d, 2w, 1y or ISO 8601 such as PT15M"
        )
    return duration


def text(duration: timedelta) -> str:
    """Write a duration in the largest unit up to days that needs no fraction, such as ``15s``; ``parse`` reads it.

    A count of more digits than ``parse`` reads is written as ISO 8601: ``P12DT0.005S``.
    """
    for unit in ("d", "h", "m", "s", "ms"):
        count, rest = divmod(duration, _UNITS[unit])
        if count and not rest and count < 10**_DIGITS:
            return f"{count}{unit}"
    if not duration:
        return "0s"
    days = f"P{duration.days}DT" if duration.days else "PT"
    return f"{days}{duration.seconds}.{duration.microseconds:06}".rstrip("0").rstrip(".") + "S"


def rounded(seconds: float) -> str:
    """Write an age in whole days, hours, minutes or seconds: the largest unit of which it has at least two."""
    age = timedelta(seconds=max(0, round(seconds)))
    for unit in (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)):
        if age >= 2 * unit:
            return text(age // unit * unit)
    return text(age)


def point_in_time(text: str) -> str | datetime:
    """Read a point in time for queries: a time with its zone, or a duration before now, which stays as written.

    A date is its beginning in UTC. Raises ValueError with both forms if it is neither, or a time without a zone: a
    guess would be off by hours.
    """
    try:
        if _DATE.fullmatch(text):
            return datetime.combine(date.fromisoformat(text), time(tzinfo=UTC))
        point = datetime.fromisoformat(text)
    except ValueError:
        try:
            parse(text)
        except ValueError as error:
            raise ValueError(f"{text!r} is not a time; {_TIMES}") from error
        return text
    if point.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; {_TIMES}")
    return point


def _read(value: object) -> timedelta | None:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        return None
    if value and (match := _SHORT.fullmatch(value)):
        counts = zip(match.groups(), _UNITS.values(), strict=True)
        return sum((int(count) * unit for count, unit in counts if count), timedelta())
    return _ISO_8601.validate_python(value) if value.startswith("P") else None


Duration = Annotated[timedelta, BeforeValidator(parse)]
"""A pydantic field that reads any of these forms."""
