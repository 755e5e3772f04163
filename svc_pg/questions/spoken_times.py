"""Times as people say them: ``last week``, ``monday``, ``29 nov``, ``march 2026``, ``between 10 and 11``. UTC."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from svc_pg.questions import times
from svc_pg.questions.words import SINCE, UNTIL

_SPANS: Final[Mapping[str, tuple[int, str]]] = {
    "minute": (1, "m"),
    "min": (1, "m"),
    "hour": (1, "h"),
    "hr": (1, "h"),
    "day": (1, "d"),
    "week": (7, "d"),
    "month": (30, "d"),
    "year": (365, "d"),
}
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SIDES: Final[Mapping[str, tuple[str, str, str]]] = {
    "since": (SINCE, SINCE, UNTIL),
    "after": (SINCE, UNTIL, SINCE),
    "before": (UNTIL, SINCE, UNTIL),
    "until": (UNTIL, UNTIL, SINCE),
}
"""The filter of each word, the end of a time that it takes, and the one to take if the time has no such end."""
_LATELY: Final = ("last", "past")
_ABBREVIATED: Final = 3
_DAY_OF_MONTH: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")
_COUNT: Final = re.compile(r"[1-9][0-9]{0,2}")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HOUR: Final = re.compile(r"([0-9]{1,2})(?::([0-5][0-9]))?(am|pm)?")
_NOON: Final = 12
_BETWEEN: Final = 4
_DAY: Final = timedelta(days=1)
_LEAP_DAYS: Final = 8
"""The most years from one 29 February to the next."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The filters ``since`` and ``until`` of a time, and the number of words that say it."""

    filters: dict[str, str]
    words: int


@dataclass(frozen=True, slots=True)
class Hours:
    """The times of a day between which something was, and the number of words that say it."""

    begin: timedelta
    end: timedelta
    words: int

    def has_begun(self, now: datetime) -> bool:
        """True if they have begun today."""
        utc = now.astimezone(UTC)
        return datetime.combine(utc.date(), time(), UTC) + self.begin <= utc

    def on(self, day: date) -> dict[str, str]:
        """The filters ``since`` and ``until`` on this day."""
        midnight = datetime.combine(day, time(), UTC)
        return {SINCE: _instant(midnight + self.begin), UNTIL: _instant(midnight + self.end)}


def period(words: Sequence[str], now: datetime) -> Spoken | None:
    """The time that the first of some lower-case words say; None if they say none, or one that there is not."""
    if len(words) > 1 and words[0] in _SIDES:
        found = _today(words[1:], now) or period(words[1:], now)
        return found and Spoken(_side(words[0], found.filters), found.words + 1)
    today = now.astimezone(UTC).date()
    try:
        if named := times.period(words[0], now):
            return Spoken(named, 1)
        return _lately(words, today) or _between_days(words) or _named_day(words, today)
    except (ValueError, OverflowError):
        return None


def hours(words: Sequence[str]) -> Hours | None:
    """The times of day that ``between 10 and 11``, or ``from 9:30 to 17:00``, say; None if the words say none."""
    if not _is_between(words):
        return None
    begin, end = _hour(words[1]), _hour(words[3])
    return Hours(begin, end, _BETWEEN) if begin is not None and end is not None and begin < end else None


def _side(word: str, filters: Mapping[str, str]) -> dict[str, str]:
    """The filter of the times before or after one, or from its begin, or until its end."""
    name, end, other_end = _SIDES[word]
    return {name: filters.get(end) or filters.get(other_end) or ""}


def _today(words: Sequence[str], now: datetime) -> Spoken | None:
    """The whole of today, which alone reaches to now."""
    today = now.astimezone(UTC).date()
    return Spoken(_days(today, today + _DAY), 1) if words[0] == "today" else None


def _lately(words: Sequence[str], today: date) -> Spoken | None:
    """``last week``, ``past 3 days``: a time before now; ``last monday``."""
    if words[0] not in _LATELY or len(words) == 1:
        return None
    has_count = len(words) > 2 and _COUNT.fullmatch(words[1]) is not None
    if span := _SPANS.get(words[2].removesuffix("s") if has_count else words[1]):
        each, unit = span
        count = int(words[1]) if has_count else 1
        return Spoken({SINCE: f"{count * each}{unit}"}, 2 + has_count)
    named = _named_day(words[1:], today)
    return named and Spoken(named.filters, named.words + 1)


def _between_days(words: Sequence[str]) -> Spoken | None:
    if not _is_between(words) or not (_DATE.fullmatch(words[1]) and _DATE.fullmatch(words[3])):
        return None
    begin, end = date.fromisoformat(words[1]), date.fromisoformat(words[3])
    return Spoken(_days(begin, end + _DAY), _BETWEEN) if begin <= end else None


def _named_day(words: Sequence[str], today: date) -> Spoken | None:
    return _date(words, today) or _weekday(words, today)


def _date(words: Sequence[str], today: date) -> Spoken | None:
    """``29 nov``, ``nov 29 2026``, ``march``: the latest of them that has begun, unless a year is said."""
    day, rest = _day_of_month(words)
    month = _named(rest[0], _MONTHS) if rest else None
    if month is None:
        return None
    rest = rest[1:]
    if day is None:
        day, rest = _day_of_month(rest)
    year = None
    if rest and _YEAR.fullmatch(rest[0]):
        year, rest = int(rest[0]), rest[1:]
    of_month = 1 if day is None else day
    first = _latest(month + 1, of_month, today) if year is None else date(year, month + 1, of_month)
    end = (first + 31 * _DAY).replace(day=1) if day is None else first + _DAY
    return Spoken(_days(first, end), len(words) - len(rest))


def _latest(month: int, day: int, today: date) -> date:
    """The latest of these days that has begun. Raises ValueError if no year has one."""
    for year in range(today.year, today.year - _LEAP_DAYS - 1, -1):
        with suppress(ValueError):
            if (found := date(year, month, day)) <= today:
                return found
    raise ValueError("no year has this day")


def _weekday(words: Sequence[str], today: date) -> Spoken | None:
    """The latest day of this name before today."""
    wanted = _WEEKDAYS.index(words[0]) if words[0] in _WEEKDAYS else None
    if wanted is None:
        return None
    day = today - ((today.weekday() - wanted - 1) % 7 + 1) * _DAY
    return Spoken(_days(day, day + _DAY), 1)


def _is_between(words: Sequence[str]) -> bool:
    return len(words) >= _BETWEEN and (words[0], words[2]) in (("between", "and"), ("from", "to"), ("from", "until"))


def _day_of_month(words: Sequence[str]) -> tuple[int | None, Sequence[str]]:
    """The number of a day, if the words begin with one, and the words after it."""
    found = _DAY_OF_MONTH.fullmatch(words[0]) if words else None
    return (int(found[1]), words[1:]) if found else (None, words)


def _named(word: str, names: Sequence[str]) -> int | None:
    return next((at for at, name in enumerate(names) if word in (name, name[:_ABBREVIATED])), None)


def _hour(word: str) -> timedelta | None:
    found = _HOUR.fullmatch(word)
    if not found:
        return None
    hour = int(found[1])
    if found[3]:
        hour = hour % _NOON + (_NOON if found[3] == "pm" else 0)
    span = timedelta(hours=hour, minutes=int(found[2] or 0))
    return span if span <= _DAY else None


def _days(begin: date, end: date) -> dict[str, str]:
    return {SINCE: begin.isoformat(), UNTIL: end.isoformat()}


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
