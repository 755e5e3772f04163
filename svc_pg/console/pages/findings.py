"""Things that a search finds, and where there may be more."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from svc_pg.console.pages.page_request import PageRequest


@dataclass(frozen=True, slots=True)
class Finding:
    """One reading of what was typed: the kind of thing, its icon, its name, where it leads, and what else to know."""

    kind: str
    icon: str
    name: str
    address: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class More:
    """What may be found besides, in words, and the address where it is."""

    words: str
    link: str
    address: str


Reading = Callable[[PageRequest, str], AsyncIterator[Finding | More]]
