"""The bar above a list: a question as text leads to the address that has its filters, and these are its text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import calendar
from svc_pg.console.pages.answers import SeeOther
from svc_pg.console.pages.page_request import PAGES, PageRequest
from svc_pg.questions import times
from svc_pg.questions.reading import MOST_CHARACTERS, QuestionError, days_of, read
from svc_pg.questions.words import SINCE, UNTIL, Vocabulary
from svc_pg.questions.writing import written

QUESTION: Final = "q"
"""The parameter of an address that has a question as text."""
FROM: Final = "from"
TO: Final = "to"
DAYS: Final = "days"
"""The parameter with the words of the question for days, so that a view which keeps the question keeps them."""
ASKED: Final = (QUESTION, FROM, TO, DAYS)
"""The parameters that become filters, a question and the times that were chosen in a calendar, and its words beside."""
FROM_START: Final = dict.fromkeys((*PAGES, "around"))
"""The parameters that a changed filter takes out of the address: those of a position in the list."""
SAID: Final = frozenset({"invalid_parameter", "invalid_value", "database_timeout"})
"""The problems of a question, which a list says above its rows: what it cannot be, and what takes too long."""

Filters = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Bar:
    """The text in the bar, the keys that a question can have, its times, and the most characters that it takes."""

    text: str
    keys: Sequence[str]
    others: Sequence[tuple[str, str]] = ()
    """The filters that are no times, which a form of times has to keep."""
    begins: str = ""
    ends: str = ""
    """The times of the filters in UTC, as a field of a date and a time has them; empty if they are no fixed ones."""
    longest: int = MOST_CHARACTERS


def bar(request: PageRequest, words: Vocabulary, filters: Filters) -> Bar:
    """The bar with the question of the address: as it was typed if it was refused, else its ``filters``.

    A date is written as the word that asked for it, until the day is over.
    """
    text = request.query.get(QUESTION)
    days = times.words_by_date(request.query.get(DAYS, "").split(","), request.now)
    shown = written(filters, words, days) if text is None else text[:MOST_CHARACTERS].replace("\0", "")
    others = [(name, value) for name, values in filters.items() if name not in (SINCE, UNTIL) for value in values]
    begins, ends = (
        calendar.field(filters.get(name, ())) if typed is None else typed[: calendar.LONGEST]
        for name, typed in ((SINCE, request.query.get(FROM)), (UNTIL, request.query.get(TO)))
    )
    return Bar(shown, words.keys, others, begins, ends)


def answered(request: PageRequest, words: Vocabulary, filters: Filters) -> SeeOther | None:
    """The way to the address with the filters of the question, or of the times of a calendar; None without either.

    Raises Problem 422 for a question that cannot be read, or that has one of ``filters``, which the address has beside
    it.
    """
    if words.has_times and not request.query.keys().isdisjoint((FROM, TO)):
        return _of_calendar(request)
    text = request.query.get(QUESTION)
    if text is None:
        return None
    try:
        found = read(text, words, now=request.now)
        days = ",".join(days_of(text, words))
    except QuestionError as error:
        raise Problem(422, "invalid_parameter", str(error), parameter=QUESTION) from error
    for name in found:
        if name in filters:
            detail = f"The address has the filter {name} and the question has it too. Keep one of them."
            raise Problem(422, "invalid_parameter", detail, parameter=name)
    return SeeOther(request.same_page(**{QUESTION: None, DAYS: days or None}, **FROM_START, **found))


def _of_calendar(request: PageRequest) -> SeeOther:
    """The way to the address with the chosen times in place of others; an empty field is an open end."""
    try:
        chosen = calendar.period(request.query.get(FROM, ""), request.query.get(TO, ""))
    except ValueError as error:
        raise Problem(422, "invalid_parameter", str(error), parameter=FROM) from error
    return SeeOther(request.same_page(**{FROM: None, TO: None, DAYS: None}, **FROM_START, **chosen))
