"""Things that a search finds, and where there may be more."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from svc_pg.console.pages.page_request import PageRequest


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
