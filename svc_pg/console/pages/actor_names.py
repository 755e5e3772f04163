"""Put the names of actors into a page: templates mark their ids, all of a page are asked for at once."""

import re
from collections.abc import Mapping
from html import escape, unescape
from typing import Final

from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.rendering import lookalike
from svc_pg.formats.look_alikes import is_mixed
from svc_pg.formats.unseen import marked

LONGEST: Final = 200
_MARKED: Final = re.compile(r'<bdi data-actor="([^"]*)">(.*?)</bdi>', re.DOTALL)


def actors_in(page: bytes) -> list[str]:
    """The ids that the macro ``ui.actor`` has marked, each once."""
    return list(dict.fromkeys(unescape(found[1]) for found in _MARKED.finditer(page.decode())))


def with_names(page: bytes, names: Mapping[str, str], request: PageRequest) -> bytes:
    """The page with the names in place of the ids, and without the marks."""

    def shown(found: re.Match[str]) -> str:
        name = names.get(unescape(found[1]))
        if name is None:
            return f"<bdi>{found[2]}</bdi>"
        text = f"<bdi>{marked(escape(name[:LONGEST]))}</bdi>"
        return text + lookalike(request) if is_mixed(name) else text

    return _MARKED.sub(shown, page.decode()).encode(errors="replace")
