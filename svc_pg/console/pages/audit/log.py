"""The page Audit log: the filtered transactions or entries, facets and an export."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read import search
from svc_pg.audit.read.facets import MAX_ENTRIES, Facets
from svc_pg.console.built_in.transaction_pages import LoggedTransaction
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import asking, views
from svc_pg.console.pages.answers import Answer, File, Html
from svc_pg.console.pages.api import Query
from svc_pg.console.pages.asking import FROM_START
from svc_pg.console.pages.at_once import both
from svc_pg.console.pages.audit import changes, meant, record_names, related, selection, sentences
from svc_pg.console.pages.audit.histogram import Histogram, histogram
from svc_pg.console.pages.audit.sentences import Sentence, sentence
from svc_pg.console.pages.page_request import PAGES, ROWS, PageRequest
from svc_pg.console.pages.problems import headers_of
from svc_pg.console.views.list_questions import SHAPES
from svc_pg.database.pagination import Page

POSITIONS: Final = (*PAGES, "around")
VIEW: Final = "view"
"""The parameter of an address that asks for rows, one an entry, and not for transactions; ``show:`` in a question."""
_TRANSACTIONS: Final = 20
_IN_FORM: Final = ("text", "resource", "operation", "minSeverity", "since")
_PERIODS: Final = {"1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days"}
_WORDS: Final = re.compile("[A-Za-z0-9]+")
_LONGEST_NAME: Final = 100
_MEDIA_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """A page of entries or sentences, an entry of each actor on it, and the deliveries of each transaction."""

    page: Page[Entry] | Page[Sentence]
    of_actors: Sequence[Entry] = ()
    deliveries: Mapping[str, related.Told] = field(default_factory=dict)


async def log_page(request: PageRequest) -> Answer:
    """A page of transactions or entries; an invalid filter stays in the form, with its problem."""
    filters, words = selection.used(request), selection.words_of(request)
    position = {name: request.query[name] for name in POSITIONS if request.query.get(name)}
    has_rows = _has_rows(request, position)
    asked = filters | ({VIEW: ["rows"]} if request.has_past and request.query.get(VIEW) == "rows" else {})
    problem: Problem | None = None
    shown = _Shown(Page([], None))
    facets: Facets | None = None
    by_time: Histogram | None = None
    try:
        if (leads_to := asking.answered(request, words, asked)) is not None:
            return leads_to
        which = selection.without_search(filters)
        shown, counted = await both(
            request,
            (_rows if has_rows else _sentences)(request, {**position, **filters}),
            request.api.get(Facets, "audit", "facets", query=which),
        )
        facets, by_time = counted, histogram(request, counted, which)
    except Problem as error:
        if error.code not in (*asking.SAID, "unknown_entry", "not_supported"):
            raise
        problem = error
    is_empty = problem is None and not shown.page.data and not request.is_continued
    values = {
        "page": shown.page,
        "meant": await _meant(request, filters, facets) if is_empty else None,
        "unknown": await meant.unknown(request, filters) if is_empty and not shown.page.next_cursor else [],
        "has_rows": has_rows,
        "of_actors": shown.of_actors,
        "deliveries": shown.deliveries,
        "names": record_names,
        "sentences": sentences,
        "facets": facets,
        "by_time": by_time,
        "most_counted": MAX_ENTRIES,
        "choices": [] if facets is None else selection.choices(request, facets),
        "chips": selection.chips(request),
        "filters": filters,
        "is_search": selection.is_search(filters),
        "most_searched": search.MAX_ENTRIES,
        "problem": problem,
        "bar": asking.bar(request, words, asked),
        "views": await views.views_of(request, "audit", words, asked),
        "periods": _PERIODS,
        "changes": changes,
        "cleared": request.to.entries(**{VIEW: asked.get(VIEW, [])}),
        "around": position.get("around"),
        "as_transactions": request.same_page(**FROM_START, **{VIEW: None}),
        "as_rows": request.same_page(**FROM_START, **{VIEW: "rows"}),
        "other": {name: given for name, given in filters.items() if name not in _IN_FORM},
        "newest": request.same_page(**FROM_START),
        "follow": None if selection.unfollowed(filters) else request.url("tail", query=filters),
        "csv": request.url("audit", "export", query={**filters, "format": "csv"}),
        "ndjson": request.url("audit", "export", query={**filters, "format": "ndjson"}),
    }
    if problem is None:
        return Html("audit", values)
    return Html("audit", values, problem.status, headers_of(problem))


async def _meant(request: PageRequest, filters: Query, counts: Facets | None) -> meant.Meant | None:
    """The question that the words of a search may be, if they were found nowhere."""
    texts = filters.get("text")
    if not texts:
        return None
    beside = {name: some for name, some in filters.items() if name != "text"}
    return await meant.meant(request, texts[0], beside, None if selection.without_search(filters) else counts)


def _has_rows(request: PageRequest, position: Mapping[str, str]) -> bool:
    """True if the page shows entries one by one: an entry among others, and a log without transactions."""
    is_wanted = request.choice(VIEW, SHAPES, "transactions") == "rows"
    return is_wanted or not request.has_past or not position.keys().isdisjoint(("around", "before"))


async def _rows(request: PageRequest, query: Query) -> _Shown:
    wanted = {"limit": str(ROWS), "fields": changes.WITH_VALUES, **query}
    page = await request.api.get(Page[Entry], "audit", "entries", query=wanted)
    return _Shown(page, page.data)


async def _sentences(request: PageRequest, query: Query) -> _Shown:
    wanted = {"limit": str(_TRANSACTIONS), **query}
    found = await request.api.get(Page[LoggedTransaction], "audit", "transactions", query=wanted)
    page = Page([sentence(each, request.titles) for each in found], found.next_cursor)
    deliveries = await related.deliveries_of(request, [said.subject for said in page])
    return _Shown(page, [entry for said in page for entry in said.actors], deliveries)


async def export(request: PageRequest) -> Answer:
    """The entries that the filters select, as a file."""
    filters = selection.used(request)
    format_ = request.query.get("format", "ndjson")
    content = await request.api.call("GET", "audit", "export", query={**filters, "format": format_})
    name = _file_name(asking.bar(request, selection.words_of(request), filters).text)
    headers = {
        "Content-Type": _MEDIA_TYPES[format_],
        "Content-Disposition": f'attachment; filename="{name}.{format_}"',
    }
    return File(cast(AsyncIterator[bytes], content), headers)


def _file_name(question: str) -> str:
    """The name of a file that answers a question: its letters and digits, as any file system takes them."""
    words = "-".join(_WORDS.findall(question))
    return f"audit-log-{words}"[:_LONGEST_NAME].rstrip("-")
