"""Completion in the bar of the audit log: the list of what could finish a question, for the script of the page."""

from typing import Final, get_args

from svc_pg.audit.read.facets import MAX_ENTRIES
from svc_pg.audit.read.known_values import KnownValues, Named
from svc_pg.console.built_in.audit_values import MOST_CHARACTERS
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.audit.asking import QUESTION, words_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.questions import completion
from svc_pg.console.pages.questions.completion import Offer, Unfinished

_NAMED: Final = {"notResource": "resource", "notActor": "actor", "notTenant": "tenant", "notLabel": "label"}
_REACHES: Final = {
    "log": "",
    "beginnings": "The log has more of them than are looked through: these begin with what you typed.",
    "newest": f"Looked for among the newest {MAX_ENTRIES:,} entries alone.",
}


async def offers_page(request: PageRequest) -> Answer:
    """A list of options, each with the whole text of the question; empty if nothing is known."""
    words = words_of(request)
    part = completion.unfinished(request.query.get(QUESTION, "").replace("\0", ""), words)
    found: list[Offer] = []
    remark = ""
    if part is not None and part.filter is None:
        found = completion.keys(part, words)
    elif part is not None:
        found = completion.choices(part)
        if (known := await _known(request, part)) is not None:
            found, remark = completion.offers(part, known.values), _REACHES[known.looked_at]
    return Html("offers", {"offers": found, "typed": "" if part is None else part.typed, "remark": remark})


async def _known(request: PageRequest, part: Unfinished) -> KnownValues | None:
    """Values of the log that have the typed letters; None if the log does not tell them."""
    name = "" if part.filter is None else _NAMED.get(part.filter.api, part.filter.api)
    if name not in get_args(Named) or len(part.typed) > MOST_CHARACTERS:
        return None
    query = {"of": name, "text": part.typed}
    return await request.api.get(KnownValues, "audit", "values", query=query)
