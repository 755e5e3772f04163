"""The filters of the audit log in an address: the query of the API, chips that remove one, facets that add one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.audit.read.facets import Facets
from svc_pg.console.pages import charts
from svc_pg.console.pages.asking import FROM_START
from svc_pg.console.pages.audit.changes import OPERATIONS, short
from svc_pg.console.pages.list_filters import time_in_words
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.states import SEVERITIES
from svc_pg.console.views.list_questions import keys_of
from svc_pg.database.filters import filters_of
from svc_pg.questions.words import Vocabulary

_SEARCH: Final = {each.api: each.word for each in filters_of(SearchFilter).values()}
WORDS: Final[Mapping[str, str]] = {each.api: each.word for each in filters_of(EntryFilter).values()} | _SEARCH
_SHOWN: Final = 8
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter in use, and the address without it."""

    word: str
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet, its share of the greatest, and the address with it, or without if it is in use."""

    name: str
    value: str | None
    entries: int
    percent: float
    is_used: bool
    address: str


def used(request: PageRequest) -> dict[str, list[str]]:
    """The filters in the address, by the names of the API, without the empty fields of a form."""
    found = {name: [value for value in request.query.getlist(name) if value] for name in WORDS}
    return {name: values for name, values in found.items() if values}


def words_of(request: PageRequest) -> Vocabulary:
    """The keys of a question to the log that the console shows."""
    return keys_of("audit", has_past=request.has_past)


def without_search(filters: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The filters that counts have too."""
    return {name: values for name, values in filters.items() if name not in _SEARCH}


def is_search(filters: Mapping[str, Sequence[str]]) -> bool:
    """True if the page shows the results of a search."""
    return not _SEARCH.keys().isdisjoint(filters)


def unfollowed(filters: Mapping[str, Sequence[str]]) -> list[str]:
    """The filters by which the log cannot be followed: searches, and an end that has passed or will pass."""
    return [name for name in filters if name in _SEARCH or name == "until"]


def chips(request: PageRequest) -> list[Chip]:
    """A chip for each value of each filter."""
    found = []
    for name, values in used(request).items():
        for value in values:
            rest = [other for other in values if other != value]
            found.append(Chip(WORDS[name], word(name, value), request.same_page(**FROM_START, **{name: rest or None})))
    return found


def word(name: str, value: str) -> str:
    """A value as people read it."""
    if name in ("operation", "notOperation"):
        return next((known.word.lower() for kind, known in OPERATIONS.items() if kind == value), value)
    if name in ("resource", "notResource"):
        return short(value)
    if name in ("since", "until"):
        return time_in_words(value)
    return value if len(value) <= _LONGEST else value[:_LONGEST] + "…"


def choices(request: PageRequest, facets: Facets) -> list[tuple[str, list[Choice]]]:
    """The facets that have something to choose, each with its heading."""
    filters = used(request)
    found = []
    for facet in facets.facets:
        named = [count for count in facet.values if count.value is not None]
        if not named or (facet.name == "tenant" and len(named) == 1 and len(facet.values) == 1):
            continue
        greatest = max(count.entries for count in facet.values)
        values = facet.values
        if facet.name == "severity":
            values = sorted(named, key=lambda count: [*SEVERITIES].index(count.value or ""))
        found.append(
            (
                WORDS[facet.name],
                [
                    _choice(request, filters, facet.name, count.value, count.entries, greatest)
                    for count in values[:_SHOWN]
                    if count.value is not None or facet.name in ("actor", "tenant")
                ],
            )
        )
    return found


def _choice(
    request: PageRequest,
    filters: Mapping[str, Sequence[str]],
    facet: str,
    value: str | None,
    entries: int,
    greatest: int,
) -> Choice:
    name, text = ("missing", facet) if value is None else (facet, value)
    chosen = filters.get(name, [])
    is_used = text in chosen
    rest = [other for other in chosen if other != text] if is_used else [*chosen, text]
    address = request.same_page(**FROM_START, **{name: rest or None})
    return Choice(facet, value, entries, charts.share(entries, greatest), is_used, address)
