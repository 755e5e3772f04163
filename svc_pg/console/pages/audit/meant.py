"""Questions that somebody may have meant who found nothing: words read as filters, and names like those asked for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from svc_pg.audit.read.facets import Facets
from svc_pg.audit.read.known_values import KnownValues, Named
from svc_pg.audit.read.phrases import Names, names_in, understood
from svc_pg.console.http.parameters import MOST_CHARACTERS
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.asking import FROM_START
from svc_pg.console.pages.audit.known_tables import captured_tables, counted_names, names_of
from svc_pg.console.pages.audit.selection import WORDS, words_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.questions import times
from svc_pg.questions.words import SINCE, UNTIL
from svc_pg.questions.writing import written

_NAMED: Final = ("resource", "actor", "tenant", "label")
_DATABASE_USER: Final = re.compile(r"(?=.*[_0-9])[a-z_][a-z0-9_]{1,62}")
"""A word that may be a user of the database, of whom no index knows all."""
MOST_LOOKED_UP: Final = 4
_MOST_ALIKE: Final = 5
_RECORD: Final = frozenset(("resource", "record"))
_TIMES: Final = frozenset((SINCE, UNTIL))

Filters = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Meant:
    """A question, its address, and the words that it leaves out."""

    question: str
    address: str
    left_out: Sequence[str]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that no entry was found to have, and those that have its letters, each with the address that has it.

    ``having`` are the words for it, such as ``has the actor``.
    """

    having: str
    value: str
    alike: Sequence[tuple[str, str]]
    is_sure: bool
    """True if the whole log was looked at."""


async def meant(
    request: PageRequest, text: str, beside: Filters | None = None, counts: Facets | None = None
) -> Meant | None:
    """The question that a phrase may be, with the filters ``beside`` it that it does not say itself; None if none.

    ``counts`` are the facets of the whole log, if the page has them.
    """
    try:
        names = await _names(request, counts)
        names = await _with_actors(request, names, names_in(text, names, now=request.now))
    except Problem:  # the page says without it that nothing was found
        return None
    read = understood(text, names, now=request.now)
    found = read.filters or ({"dbUser": [text]} if _DATABASE_USER.fullmatch(text) else {})
    filters = {**_kept(beside or {}, found), **found}
    if not found or filters == beside:
        return None
    days = times.words_by_date(times.DAYS, request.now)
    question = written(filters, words_of(request), days)
    if filters.keys() == _RECORD and len(filters["resource"]) == 1:
        address = request.to.record(filters["resource"][0], filters["record"][0])
    else:
        address = request.to.entries(**filters)
    return Meant(question, address, read.left_out if read.filters else [])


async def unknown(request: PageRequest, filters: Filters) -> Sequence[Unknown]:
    """The first tables, actors, tenants and labels of a question that no entry has."""
    asked = [(name, value) for name in _NAMED for value in filters.get(name, ())]
    found = []
    for name, value in asked[:MOST_LOOKED_UP]:
        known = await _known(request, cast(Named, name), value.removeprefix("public."))
        if known is None or not known.lacks(value) or f"public.{value}" in known.values:
            continue
        rest = [other for other in filters[name] if other != value]
        alike = [
            (each, request.same_page(**FROM_START, **{name: [*rest, each]})) for each in known.values[:_MOST_ALIKE]
        ]
        verb = "is of" if name == "resource" else "has"
        found.append(Unknown(f"{verb} the {WORDS[name].lower()}", value, alike, known.looked_at == "log"))
    return found


def _kept(beside: Filters, found: Filters) -> Filters:
    """The filters beside a phrase, without the times if it says another one."""
    return beside if _TIMES.isdisjoint(found) else {name: beside[name] for name in beside if name not in _TIMES}


async def _names(request: PageRequest, counts: Facets | None) -> Names:
    """The tables, and the values that the newest entries have most."""
    captured = await captured_tables(request)
    values = await counted_names(request) if counts is None else names_of(counts)
    seen = [name for name in values.pop("resource") if name not in captured]
    return Names([*captured, *seen], values)


async def _with_actors(request: PageRequest, names: Names, words: Sequence[str]) -> Names:
    """The names with the actors of the whole log that have the letters of these words."""
    actors = list(names.values["actor"])
    for word in words[:MOST_LOOKED_UP]:
        known = await _known(request, "actor", word)
        actors += known.values if known else ()
    return replace(names, values={**names.values, "actor": list(dict.fromkeys(actors))})


async def _known(request: PageRequest, name: Named, text: str) -> KnownValues | None:
    if len(text) > MOST_CHARACTERS:
        return None
    try:
        return await request.api.get(KnownValues, "audit", "values", query={"of": name, "text": text})
    except Problem:
        return None
