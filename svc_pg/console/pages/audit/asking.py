"""The bar of the audit log: a question as text leads to the address that has its filters, and these are its text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.console.pages.answers import SeeOther
from svc_pg.console.pages.audit import selection
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.questions.reading import MOST_CHARACTERS, QuestionError, read
from svc_pg.console.pages.questions.words import Vocabulary, vocabulary
from svc_pg.console.pages.questions.writing import written
from svc_pg.console.requests import Problem

QUESTION: Final = "q"
"""The parameter of an address that has a question as text."""

_ALL: Final = vocabulary(EntryFilter, SearchFilter)
_WITHOUT_SEARCH: Final = vocabulary(EntryFilter)


@dataclass(frozen=True, slots=True)
class Bar:
    """The text in the bar, the keys that a question can have, and the most characters that it takes."""

    text: str
    keys: Sequence[str]
    longest: int = MOST_CHARACTERS


def words_of(request: PageRequest) -> Vocabulary:
    """The keys of a question to the log that the console shows."""
    return _ALL if request.has_past else _WITHOUT_SEARCH


def bar(request: PageRequest) -> Bar:
    """The bar with the question of the address: as it was typed if it was refused, else its filters."""
    text = request.query.get(QUESTION)
    words = words_of(request)
    shown = written(selection.used(request), words) if text is None else text[:MOST_CHARACTERS].replace("\0", "")
    return Bar(shown, words.keys)


def answered(request: PageRequest) -> SeeOther | None:
    """The way to the address with the filters of the question; None if the address has no question.

    Raises Problem 422 for a question that cannot be read, or that has a filter of the address beside it.
    """
    text = request.query.get(QUESTION)
    if text is None:
        return None
    try:
        filters = read(text, words_of(request), now=request.now)
    except QuestionError as error:
        raise Problem(422, "invalid_parameter", str(error), parameter=QUESTION) from error
    _check_once(filters, selection.used(request))
    return SeeOther(request.same_page(**{QUESTION: None}, **selection.FROM_START, **filters))


def _check_once(filters: Mapping[str, object], beside: Mapping[str, object]) -> None:
    for name in filters:
        if name in beside:
            detail = f"The address has the filter {name} and the question has it too. Keep one of them."
            raise Problem(422, "invalid_parameter", detail, parameter=name)
