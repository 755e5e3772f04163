"""Named views: beside the bar of a list, on a page of all, and the forms that keep, change and delete one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.asking import QUESTION, Filters
from svc_pg.console.pages.list_filters import used, words_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.views.named_views import LISTS, LONGEST_NAME, MOST_OF_ONE, NamedView, ViewedList, ViewFilter
from svc_pg.database.pagination import Page
from svc_pg.questions.reading import MOST_CHARACTERS, QuestionError, read
from svc_pg.questions.words import Vocabulary

WORDS: Final = words_of(ViewFilter)
PRESENT: Final = "question"
"""The parameter of the page of a view that has the question which somebody looks at."""
_SHOWN: Final = str(2 * MOST_OF_ONE)
_WORDS: Final[Mapping[ViewedList, str]] = {
    "audit": "Audit log",
    "deliveries": "Deliveries",
    "messages": "Messages",
    "endpoints": "Endpoints",
}


@dataclass(frozen=True, slots=True)
class ViewLink:
    """A view, and whether its question is the one that is looked at."""

    view: NamedView
    is_current: bool


@dataclass(frozen=True, slots=True)
class Views:
    """The views of a list: those of the team, then one's own."""

    of: ViewedList
    links: Sequence[ViewLink]
    longest_name: int = LONGEST_NAME
    longest_question: int = MOST_CHARACTERS


async def views_of(request: PageRequest, of: ViewedList, words: Vocabulary, filters: Filters) -> Views | None:
    """The views of a list; None if the session has none, as in the portal, or they cannot be read."""
    found = await some_views(request, of=of, limit=_SHOWN)
    if found is None:
        return None
    links = [ViewLink(view, _filters_of(request, view, words) == filters) for view in found]
    return Views(of, sorted(links, key=lambda link: not link.view.is_of_team))


async def some_views(request: PageRequest, **query: str) -> Page[NamedView] | None:
    """A page of views; None if the session has none, as in the portal, or they cannot be read."""
    if request.brand is not None or request.person.tenant is not None:
        return None
    try:
        return await request.api.get(Page[NamedView], "account", "views", query=query)
    except Problem:  # there are rows or other findings without them
        return None


async def views_page(request: PageRequest) -> Answer:
    """All views by name, or those of one list, or with some letters in their names."""
    wanted = used(request, WORDS)
    page = await request.api.get(Page[NamedView], "account", "views", query=request.list_query(**wanted))
    lists = [(of, word) for of, word in _WORDS.items() if request.has(of)]
    return Html("views", {"page": page, "wanted": wanted, "lists": lists, "words": _WORDS})


async def open_view(request: PageRequest) -> Answer:
    """The way to the list with the question of a view, which says so there if it cannot be read."""
    view = await request.api.get(NamedView, "account", "views", request.params["id"])
    return SeeOther(request.url(view.of, query={QUESTION: view.question}))


async def view_page(request: PageRequest) -> Answer:
    """The forms that change one view."""
    view, seen = await request.api.tagged(NamedView, "account", "views", request.params["id"])
    sent = request.sent_to("views", view.id, "edit")
    if sent.typed.get("question") == sent.typed.get("was"):
        # it was not typed: after a refused name it would take back what somebody else wrote
        sent = sent.without("question")
    present = request.query.get(PRESENT, "")[:MOST_CHARACTERS].replace("\0", "")
    values = {
        "view": view,
        "list": _WORDS[view.of],
        "seen": seen,
        "sent": sent,
        "present": present if present.strip() and present != view.question else "",
        "may_change": request.may_change("write" if view.is_of_team else "read"),
        "longest_name": LONGEST_NAME,
        "longest_question": MOST_CHARACTERS,
    }
    return Html("view", values)


async def add(request: PageRequest) -> Answer:
    """Keep a question, and open it."""
    body = {name: request.form.get(name, "").strip() for name in ("of", "name", "question")}
    view = await request.api.post(NamedView, "account", _whose(request), body=body)
    return SeeOther(request.url("views", view.id))


async def change(request: PageRequest) -> Answer:
    """Rename a view, or let it take over another question, and open it."""
    name, question = (request.form.get(field, "").strip() for field in ("name", "question"))
    body = {"name": name} | ({"question": question} if question != request.form.get("was") else {})
    seen = {"if-match": request.form["seen"]} if "seen" in request.form else {}
    path = ("account", _whose(request), request.params["id"])
    await request.api.call("PATCH", *path, body=body, headers=seen)
    return SeeOther(request.url("views", request.params["id"]))


async def delete(request: PageRequest) -> Answer:
    """Delete a view, and lead to its list."""
    await request.api.call("DELETE", "account", _whose(request), request.params["id"])
    of = request.form.get("of", "")
    return SeeOther(request.url(of if of in LISTS else "views"))


def _whose(request: PageRequest) -> str:
    """The path of the routes for views of the team, or of one's own; each looks at nothing else."""
    return "views" if request.form.get("whose") == "team" else "own-views"


def _filters_of(request: PageRequest, view: NamedView, words: Vocabulary) -> Filters | None:
    try:
        return read(view.question, words, now=request.now)
    except QuestionError:
        return None
