"""Completion in the bar of the audit log: values of the log that have the typed letters."""

from typing import Final, get_args

from svc_pg.audit.read.facets import MAX_ENTRIES
from svc_pg.audit.read.known_values import KnownValues, Named
from svc_pg.console.http.parameters import MOST_CHARACTERS
from svc_pg.console.pages.answers import Answer
from svc_pg.console.pages.audit.selection import words_of
from svc_pg.console.pages.offers import Found, offers
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.questions.completion import Known

_NAMED: Final = {"notResource": "resource", "notActor": "actor", "notTenant": "tenant", "notLabel": "label"}
_REACHES: Final = {
    "log": "",
    "beginnings": "The log has more of them than are looked through: these begin with what you typed.",
    "newest": f"Looked for among the newest {MAX_ENTRIES:,} entries alone.",
}


async def offers_page(request: PageRequest) -> Answer:
    """The texts that could finish a question to the log."""
    return await offers(request, words_of(request), _known)


async def _known(request: PageRequest, filter_: str, typed: str) -> Found | None:
    name = _NAMED.get(filter_, filter_)
    if name not in get_args(Named) or len(typed) > MOST_CHARACTERS:
        return None
    found = await request.api.get(KnownValues, "audit", "values", query={"of": name, "text": typed})
    return Found([Known(value) for value in found.values], _REACHES[found.looked_at])
