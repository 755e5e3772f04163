"""Times in a question: ``today``, ``yesterday``, a date, and a duration before now such as ``1h``. Days are UTC's."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from svc_pg.formats import durations
from svc_pg.questions.words import SINCE, UNTIL

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DURATION: Final = re.compile(r"[0-9][0-9a-z]{1,40}")
_DAY: Final = timedelta(days=1)


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
    today = now.astimezone(UTC).date()
    days = {"today": today, "yesterday": today - _DAY}
    return days[value.casefold()].isoformat() if value.casefold() in days else value


def period_word(filters: Mapping[str, Sequence[str]]) -> str | None:
    """The one word for the times of filters, which ``period`` reads as the same; None if there is none."""
    match filters.get(SINCE, ()), filters.get(UNTIL, ()):
        case [since], [until] if _DATE.fullmatch(since):
            try:
                return since if _day(date.fromisoformat(since))[UNTIL] == until else None
            except ValueError:
                return None
        case [since], [] if _is_duration(since):
            return since
    return None


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
    return word.casefold() in ("today", "yesterday") or _DATE.fullmatch(word) is not None or _is_duration(word)
