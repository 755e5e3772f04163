"""Times that are chosen in the fields of a form, which browsers show as a calendar: without a zone, and of UTC."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from svc_pg.questions.words import SINCE, UNTIL

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
LONGEST: Final = 40
_MILLISECOND: Final = timedelta(microseconds=999)


def period(begins: str, ends: str) -> dict[str, str | None]:
    """The filters ``since`` and ``until`` of two fields, None for one that is empty. Raises ValueError.

    The end is not within the period, unless it is a date alone, which is then the last day.
    """
    since = _point(begins, "beginning")
    until = _point(ends, "end")
    if until is not None and _DATE.fullmatch(ends.strip()):
        try:
            until += timedelta(days=1)
        except OverflowError:
            until = None
    if since is not None and until is not None and since >= until:
        raise ValueError("The end of the time must be after its beginning.")
    return {SINCE: _written(since), UNTIL: _written(until)}


def point(text: str) -> datetime | None:
    """The time of a field, None if it is empty. Raises ValueError."""
    return _point(text, "beginning")


def field(values: Sequence[str]) -> str:
    """The value of a field for the time of a filter; empty for a duration before now, and for several values."""
    try:
        [text] = values
        point = _utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return ""
    return point.replace(tzinfo=None).isoformat(timespec="seconds" if point.second else "minutes")


def field_with_milliseconds(time: datetime) -> str:
    """The value of a field for a time that is not before this one, so that a change of then has been made."""
    later = min(time, datetime.max.replace(tzinfo=UTC) - _MILLISECOND) + _MILLISECOND
    return later.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")


def _point(text: str, what: str) -> datetime | None:
    text = text.strip()
    if not text:
        return None
    try:
        if len(text) > LONGEST:
            raise ValueError("it is too long")
        if _DATE.fullmatch(text):
            return datetime.combine(date.fromisoformat(text), time(tzinfo=UTC))
        return _utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"The {what} of the time cannot be read. Write it as 2026-11-27 or 2026-11-27T09:30."
        ) from error


def _utc(point: datetime) -> datetime:
    return (point.replace(tzinfo=UTC) if point.tzinfo is None else point.astimezone(UTC)).replace(microsecond=0)


def _written(point: datetime | None) -> str | None:
    """The day alone for its beginning, as people write it."""
    if point is None:
        return None
    return point.date().isoformat() if point.time() == time() else point.isoformat().replace("+00:00", "Z")
