"""Things that a search finds, and where there may be more."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page

MOST_SHOWN: Final = 8
"""The most things of one reading."""

Shape = TypeVar("Shape")


@dataclass(frozen=True, slots=True)
class Finding:
    """One reading of a search: the kind of thing, its icon, its name, its address, and a note."""

    kind: str
    icon: str
    name: str
    address: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class More:
    """A further search in words, and its address."""

    words: str
    link: str
    address: str


Reading = Callable[[PageRequest, str], AsyncIterator[Finding | More]]


async def first_rows(request: PageRequest, shape: type[Shape], text: str, *path: str) -> Page[Shape]:
    """The first rows of a list that have these letters."""
    query = {"text": text, "limit": str(MOST_SHOWN)}
    try:
        return await request.api.get(Page[shape], *path, query=query)  # type: ignore[valid-type]
    except Problem as problem:
        if problem.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return Page([], None)


def matching(rows: Sequence[Shape], text: str, words: Callable[[Shape], str]) -> Sequence[Shape]:
    """The first rows whose words have this text, in whatever case."""
    wanted = text.casefold()
    return [row for row in rows if wanted in words(row).casefold()][:MOST_SHOWN]
