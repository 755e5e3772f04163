"""The page Messages: the events that were sent, each with the way to its deliveries."""

from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import asking, views
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.list_filters import chips, fields_of, in_lists, times_in_words, used, words_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.problems import headers_of
from svc_pg.console.pages.webhooks.deliveries import PERIODS
from svc_pg.console.pages.webhooks.searched import note_of
from svc_pg.console.views.list_questions import keys_of
from svc_pg.database.pagination import Page
from svc_pg.webhooks.messages.message_queries import Message, MessageFilter

WORDS: Final = words_of(MessageFilter)
KEYS: Final = keys_of("messages")
_IN_FORM: Final = ("event", "tenant", "since")


async def messages_page(request: PageRequest) -> Answer:
    """Messages, newest first; an invalid filter stays in the form, with its problem."""
    filters = used(request, WORDS)
    problem: Problem | None = None
    page: Page[Message] = Page([], None)
    try:
        if (leads_to := asking.answered(request, KEYS, in_lists(filters))) is not None:
            return leads_to
        page = await request.api.get(Page[Message], "webhooks", "messages", query=request.list_query(**filters))
    except Problem as refused:
        if refused.code not in asking.SAID:
            raise
        problem = refused
    values = {
        "page": page,
        "filters": filters,
        "chips": chips(filters, WORDS, shown=times_in_words(filters)),
        "kept": chips(filters, WORDS, without=fields_of(request, _IN_FORM)),
        "bar": asking.bar(request, KEYS, in_lists(filters)),
        "views": await views.views_of(request, "messages", KEYS, in_lists(filters)),
        "periods": PERIODS,
        "problem": problem,
        "unsearched": await note_of(request, filters),
    }
    if problem is None:
        return Html("messages", values)
    return Html("messages", values, problem.status, headers_of(problem))
