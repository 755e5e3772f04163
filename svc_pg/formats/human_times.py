"""Points in time for people: relative to now, exact under the pointer, and for machines."""

from datetime import UTC, datetime
from typing import Final

_UNITS: Final = (("day", 86_400), ("hr", 3600), ("min", 60), ("sec", 1))
_JUST_NOW_SECONDS: Final = 5
_DATED_SECONDS: Final = 7 * 86_400
"""The age from which people want the date: nobody counts back 262 days."""


def relative(then: datetime, now: datetime) -> str:
    """For example ``3 min ago``, ``in 2 days`` or, after a week, ``12 Mar 2026``; console.js writes the same."""
    seconds = round((now - then).total_seconds())
    if seconds >= _DATED_SECONDS:
        return date(then)
    if abs(seconds) < _JUST_NOW_SECONDS:
        return "just now"
    unit, size = next((unit, size) for unit, size in _UNITS if abs(seconds) >= size)
    count = abs(seconds) // size
    words = f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''}"
    return f"in {words}" if seconds < 0 else f"{words} ago"


def date(then: datetime) -> str:
    """For example ``12 Mar 2026``, in UTC."""
    utc = then.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y}"


def day_before(then: datetime, now: datetime) -> str:
    """The day of a time that ``relative`` tells without it, for example ``9 Mar``; empty if that is today. UTC."""
    utc = then.astimezone(UTC)
    is_told = utc.date() == now.astimezone(UTC).date() or relative(then, now) == date(then)
    return "" if is_told else f"{utc.day} {utc:%b}"


def exact(then: datetime) -> str:
    """For example ``12 Mar 2026, 14:32:08 UTC``, given a time in UTC."""
    return f"{then.day} {then:%b %Y, %H:%M:%S} UTC"


def second(then: datetime) -> str:
    """For example ``2026-03-12 14:32:08Z``, as commands show it."""
    return f"{then.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def instant(then: datetime) -> str:
    """RFC 3339, for the attribute ``datetime``, given a time in UTC."""
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def left(then: datetime, now: datetime) -> str:
    """The time until then in minutes and seconds, for example ``9:14``; console.js counts it down."""
    minutes, seconds = divmod(max(0, round((then - now).total_seconds())), 60)
    return f"{minutes}:{seconds:02}"
