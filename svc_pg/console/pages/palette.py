"""The palette: suggestions for what somebody types anywhere, as a list for the script, and for the page Search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.views.suggestions import MOST_CHARACTERS, Suggestion, SuggestionKind, Suggestions

HERE: Final = "here"
_MOST_HERE: Final = 2_000
_MOST_PAGES: Final = 4


@dataclass(frozen=True, slots=True)
class Hit:
    """A suggestion with the icon and the word of its kind, and the address of its page."""

    icon: str
    word: str
    label: str
    about: str
    address: str


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits below a heading."""

    heading: str
    hits: Sequence[Hit]


_WORDS: Final[Mapping[SuggestionKind, tuple[str, str, str]]] = {
    "entry": ("log", "entry", "audit"),
    "transaction": ("log", "transaction", "audit"),
    "record": ("tag", "record", "audit"),
    "table": ("system", "table", "audit"),
    "actor": ("people", "actor", "audit"),
    "request": ("search", "request", "audit"),
    "page": ("search", "value", "audit"),
    "endpoint": ("plug", "endpoint", "endpoints"),
    "event_type": ("tag", "event type", "events"),
    "tenant": ("people", "tenant", "tenants"),
    "view": ("search", "view", ""),
    "action": ("bolt", "action", ""),
}
"""The icon, the word, and the page of the navigation without which a kind is not offered."""


async def palette_page(request: PageRequest) -> Answer:
    """The list of options, for the script."""
    text = request.query.get("q", "").replace("\0", "").strip()
    found, remarks = await hits(request, text)
    return Html("palette", {"groups": found, "remarks": remarks})


async def actions(request: PageRequest, text: str) -> Sequence[Hit]:
    """The suggested actions; none for an empty or a long text."""
    found = await _suggestions(request, text, kind="action")
    return [_hit(request, each) for each in found.data if _is_offered(request, each)]


async def _suggestions(request: PageRequest, text: str, **kind: SuggestionKind) -> Suggestions:
    if not text or len(text) > MOST_CHARACTERS:
        return Suggestions([], [])
    query = {"q": text, HERE: request.query.get(HERE, "").replace("\0", "")[:_MOST_HERE], **kind}
    return await request.api.get(Suggestions, "account", "suggestions", query=query)


async def hits(request: PageRequest, text: str) -> tuple[Sequence[Hits], Sequence[str]]:
    """The suggestions in groups, and remarks on what was not looked at; none for an empty or a long text."""
    found = await _suggestions(request, text)
    groups: dict[str, list[Hit]] = {f"Which {text}?": [], "By name": [], "Do": [], "Search": []}
    which, named, do, search = groups.values()
    for each in found.data:
        if not _is_offered(request, each):
            continue
        match each.kind:
            case "record" | "entry" | "transaction":
                which.append(_hit(request, each))
            case "table" | "actor" | "endpoint" | "event_type" | "tenant" | "view":
                named.append(_hit(request, each))
            case "action":
                do.append(_hit(request, each))
            case "request" | "page":
                search.append(_hit(request, each))
            case _:
                assert_never(each.kind)
    pages = [item for _, items in request.navigation for item in items if text.casefold() in item.word.casefold()]
    named += [Hit(item.icon, "page", item.word, "", request.url(*item.path)) for item in pages[:_MOST_PAGES]]
    return [Hits(heading, some) for heading, some in groups.items() if some], found.remarks


def _is_offered(request: PageRequest, each: Suggestion) -> bool:
    page = _WORDS[each.kind][2] or each.address.removeprefix("/ui/").partition("/")[0].partition("?")[0]
    return request.has(page)


def _hit(request: PageRequest, each: Suggestion) -> Hit:
    icon, word, _ = _WORDS[each.kind]
    return Hit(icon, word, each.label, each.about, request.base_path + each.address.removeprefix("/ui"))
