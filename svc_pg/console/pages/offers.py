"""Completion in the bar above a list: what could finish a question, for the script of the page."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.asking import QUESTION
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.questions import completion
from svc_pg.questions.completion import Known, Offer, Unfinished
from svc_pg.questions.words import Vocabulary


@dataclass(frozen=True, slots=True)
class Found:
    """Values that have the typed letters, and a remark if not all were looked at."""

    values: Sequence[Known]
    remark: str = ""


Look = Callable[[PageRequest, str, str], Awaitable[Found | None]]
"""Looks for values of a filter, by its name in an address, with some letters; None if nothing knows them."""


async def offers(request: PageRequest, words: Vocabulary, look: Look) -> Answer:
    """A list of options, each with the whole text of the question; empty if nothing is known."""
    part = completion.unfinished(request.query.get(QUESTION, "").replace("\0", ""), words)
    offered: list[Offer] = []
    remark = ""
    if part is not None and part.filter is None:
        offered = completion.keys(part, words)
    elif part is not None:
        offered, remark = await _values(request, part, look)
    return Html("offers", {"offers": offered, "remark": remark})


async def _values(request: PageRequest, part: Unfinished, look: Look) -> tuple[list[Offer], str]:
    found = None if part.filter is None else await look(request, part.filter.api, part.typed)
    return (completion.choices(part), "") if found is None else (completion.offers(part, found.values), found.remark)
