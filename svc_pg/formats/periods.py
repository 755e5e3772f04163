"""Periods as people write them: ``10:00 to 11:00``, ``2026-01-31 to 2026-02-01``, or a day, ``yesterday``."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

_TIME: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})?"
    r"(?:(?(date)(?:T| +))(?P<time>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_TO: Final = re.compile(r"\s+to\s+", re.IGNORECASE)
_DAY: Final = re.compile(r"(?P<words>today|yesterday)|[0-9]{4}-[0-9]{2}-[0-9]{2}", re.IGNORECASE)
_FORMS: Final = (
    "write 10:00 to 11:00, 2026-01-31 10:00 to 11:00, 2026-01-31 to 2026-02-01, a day such as yesterday or 2026-01-31,"
    " or times with their zones"
)


class Period(NamedTuple):
    """The times from ``since`` on, before ``until``."""

    since: datetime
    until: datetime


def period(text: str, *, today: date | None = None) -> Period:
    """Read a period. Raises ValueError if it is none, or does not end after it begins.

    Times without a zone are in UTC, in which commands show times; either both have one, or none. A date is its
    beginning. A time without a date is of the same date as the beginning, or of ``today``, which by default is today in
    the zone of the beginning. A day alone, also ``today`` and ``yesterday``, is from its midnight to the next, in UTC.
    """
    if day_alone := _DAY.fullmatch(text.strip()):
        return _of_day(day_alone, today or datetime.now(UTC).date())
    first, last = (_TIME.fullmatch(each) for each in [*_TO.split(text.strip(), maxsplit=1), ""][:2])
    if not first or not first[0] or not last or not last[0]:
        raise ValueError(f"{text!r} is not a period; {_FORMS}")
    if last["date"] and not first["date"]:
        raise ValueError(f"{text!r} has no date at its beginning, but at its end; {_FORMS}")
    if bool(first["zone"]) != bool(last["zone"]):
        raise ValueError(f"{text!r} has a zone at one end only; {_FORMS}")
    try:
        zone = datetime.fromisoformat(f"2000-01-01T00:00{first['zone'] or 'Z'}").tzinfo
        day = first["date"] or (today or datetime.now(zone).date()).isoformat()
        since, until = _read(first, day), _read(last, day)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a period: {error}; {_FORMS}") from error
    if until <= since:
        raise ValueError(f"{text!r} does not end after it begins; {_FORMS}")
    return Period(since, until)


def _of_day(found: re.Match[str], today: date) -> Period:
    ago = {"today": 0, "yesterday": 1}
    try:
        word = found["words"]
        day = date.fromisoformat(found[0]) if word is None else today - timedelta(days=ago[word.lower()])
        since = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return Period(since, since + timedelta(days=1))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{found[0]!r} is not a period: {error}; {_FORMS}") from error


def _read(found: re.Match[str], day: str) -> datetime:
    hour, _, rest = (found["time"] or "0:00").partition(":")
    return datetime.fromisoformat(f"{found['date'] or day}T{hour:0>2}:{rest}{found['zone'] or 'Z'}").astimezone(UTC)
