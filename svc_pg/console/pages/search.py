"""The page Search: one field, and each reading of its text that leads somewhere; if all lead to one page, that page."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import palette
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.asking import QUESTION
from svc_pg.console.pages.at_once import both
from svc_pg.console.pages.audit.meant import Meant, meant
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.search_findings import Finding, More, Reading
from svc_pg.console.pages.search_readings import NUMBER, READINGS, WITHOUT_AUDIT, contents, facts
from svc_pg.console.views.list_questions import keys_of
from svc_pg.console.views.named_views import LISTS, ViewedList
from svc_pg.console.views.suggestions import command
from svc_pg.questions.reading import has_keys

MOST_CHARACTERS: Final = 500


async def search_page(request: PageRequest) -> Answer:
    """All readings of the text that lead somewhere, the surest first; if they lead to one page, that page."""
    text = request.query.get("q", "").strip()
    if not text or len(text) > MOST_CHARACTERS or "\0" in text:
        return Html(
            "search",
            {
                "text": text[:MOST_CHARACTERS],
                "found": [],
                "more": [],
                "actions": [],
                "meant": None,
                "is_asked": bool(text),
            },
        )
    if (of := _asked_of(request, text)) is not None:
        return SeeOther(request.url(of, query={QUESTION: text}))
    read = await _read(request, text, READINGS if request.has_audit else WITHOUT_AUDIT)
    if not request.has_audit:
        pass  # nothing else has words or numbers
    elif not _findings(read):
        of_contents, of_facts = await both(request, _read(request, text, [contents]), _read(request, text, [facts]))
        read += of_contents + of_facts
    elif NUMBER.fullmatch(text):  # a number that a record has as its key may be meant as a value of another
        read += await _read(request, text, (contents,))
    found = _findings(read)
    if len({each.address for each in found}) == 1 and command(text) is None:
        return SeeOther(found[0].address)
    more = [each for each in read if isinstance(each, More)]
    actions, question = await both(request, _actions(request, text), _meant(request, text, is_found=bool(found)))
    return Html(
        "search",
        {
            "text": text,
            "found": found,
            "more": list(dict.fromkeys(more)),
            "actions": actions,
            "meant": question,
            "is_asked": True,
        },
    )


def _asked_of(request: PageRequest, text: str) -> ViewedList | None:
    """The list to which a text is a question, because it has keys of that list, and no others."""
    for of in LISTS:
        if request.has(of) and has_keys(text, keys_of(of, has_past=request.has_past)):
            return of
    return None


async def _actions(request: PageRequest, text: str) -> Sequence[palette.Hit]:
    try:
        return await palette.actions(request, text)
    except Problem:  # the page has its readings without them
        return []


async def _meant(request: PageRequest, text: str, *, is_found: bool) -> Meant | None:
    """The question that the text may be, if nothing was found."""
    return None if is_found or not request.has_audit else await meant(request, text)


async def _read(request: PageRequest, text: str, readings: Sequence[Reading]) -> list[Finding | More]:
    return [each for reading in readings for each in [found async for found in reading(request, text)]]


def _findings(read: Sequence[Finding | More]) -> list[Finding]:
    """Each thing once, by the surest of its readings: a tenant may have the text as its id and in its name."""
    things: dict[tuple[str, str], Finding] = {}
    for each in read:
        if isinstance(each, Finding):
            things.setdefault((each.kind, each.address), each)
    return list(things.values())
