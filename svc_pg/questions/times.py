"""Times in a question: ``today``, ``yesterday``, a date, and a duration before now such as ``1h``. Days are UTC's."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from svc_pg.formats import durations
from svc_pg.questions.words import SINCE, UNTIL

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DURATION: Final = re.compile(r"[0-9][0-9a-z]{1,40}")
_DAY: Final = timedelta(days=1)
DAYS: Final = ("today", "yesterday")
"""The words that stand for another date each day."""


def period(word: str, now: datetime) -> dict[str, str] | None:
    """The filters ``since`` and ``until`` of a word; None if it is no time. Raises ValueError for an impossible date.

    A past day ends with it; ``today`` and a duration reach to now.
    """
    today = now.astimezone(UTC).date()
    if word.casefold() == "today":
        return {SINCE: today.isoformat()}
    if word.casefold() == "yesterday":
        return _day(today - _DAY)
    if _DATE.fullmatch(word):
        return _day(date.fromisoformat(word))
    return {SINCE: word} if _is_duration(word) else None


def point(value: str, now: datetime) -> str:
    """The value of ``since:`` and ``until:`` with the date that ``today`` or ``yesterday`` stand for."""
    return _dates(now).get(value.casefold(), value)


def words_by_date(words: Collection[str], now: datetime) -> dict[str, str]:
    """The words of ``DAYS`` that are among ``words``, by the dates that they stand for now."""
    return {day: word for word, day in _dates(now).items() if word in words}


def period_word(filters: Mapping[str, Sequence[str]], days: Mapping[str, str]) -> str | None:
    """The one word for the times of filters, which ``period`` reads as the same; None if there is none.

    ``days`` are the words of dates that were asked for by a word, as ``words_by_date`` gives them.
    """
    match filters.get(SINCE, ()), filters.get(UNTIL, ()):
        case [since], [until] if _DATE.fullmatch(since):
            try:
                is_day = _day(date.fromisoformat(since))[UNTIL] == until
            except ValueError:
                return None
            word = "yesterday" if days.get(since) == "yesterday" else since
            return word if is_day else None
        case [since], [] if days.get(since) == "today":
            return "today"
        case [since], [] if _is_duration(since):
            return since
    return None


def _dates(now: datetime) -> dict[str, str]:
    """The dates of the words of ``DAYS``."""
    today = now.astimezone(UTC).date()
    return dict(zip(DAYS, (today.isoformat(), (today - _DAY).isoformat()), strict=True))


def _day(day: date) -> dict[str, str]:
    try:
        return {SINCE: day.isoformat(), UNTIL: (day + _DAY).isoformat()}
    except OverflowError as error:
        raise ValueError("the calendar ends") from error


def _is_duration(word: str) -> bool:
    if not _DURATION.fullmatch(word):
        return False
    try:
        durations.parse(word)
    except ValueError:
        return False
    return True


def is_period(word: str) -> bool:
    """True if the word is a time, or a date that there is not."""
    return word.casefold() in DAYS or _DATE.fullmatch(word) is not None or _is_duration(word)
