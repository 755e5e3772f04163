"""Put the names of actors into a page: templates mark their ids, all of a page are asked for at once."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from html import escape, unescape
from typing import Final

from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.rendering import lookalike
from svc_pg.formats.look_alikes import is_mixed, twins
from svc_pg.formats.unseen import marked

_MARKED: Final = re.compile(r'<bdi data-actor="([^"]*)">(.*?)</bdi>', re.DOTALL)
_UNNAMED: Final = re.compile(r'<p class="q s" data-unnamed>[^<]*</p>\n')


def actors_in(page: bytes) -> list[str]:
    """The ids that the macro ``ui.actor`` has marked, each once."""
    return list(dict.fromkeys(unescape(found[1]) for found in _MARKED.finditer(page.decode())))


def with_names(page: bytes, actors: Collection[str], known: Mapping[str, str] | None, request: PageRequest) -> bytes:
    """The page with the known names in place of the ids, and without the marks.

    A name stands before its id if it looks like another actor's, or like another actor's with the id of that. If
    ``known`` is None, the page says that it has ids alone.
    """
    texts = _texts({actor: (known or {}).get(actor, actor) for actor in actors}, request)
    text = _MARKED.sub(lambda found: texts[unescape(found[1])] or f"<bdi>{found[2]}</bdi>", page.decode())
    if known is not None:
        text = _UNNAMED.sub("", text)
    return text.encode(errors="replace")


def _texts(names: Mapping[str, str], request: PageRequest) -> Mapping[str, str]:
    """The HTML of each name, by the id of its actor; empty if that is the actor's only name, the id itself."""
    with_ids = {actor: f"{name} ({actor})" for actor, name in names.items() if name != actor}
    used = Counter([*names.values(), *with_ids.values()])
    alike = twins(used.keys())
    mark = lookalike(request) if any(map(is_mixed, names.values())) else ""
    found = dict.fromkeys(names, "")
    for actor, name in names.items():
        if name != actor:
            shown = with_ids[actor] if used[name] > 1 or name in alike else name
            found[actor] = f"<bdi>{marked(escape(shown))}</bdi>" + (mark if is_mixed(name) else "")
    return found
