"""Find texts of others on a page that could reorder the words beside them, or that are invisible."""

import re
from html.parser import HTMLParser
from typing import Final

from svc_pg.formats.unseen import marked

_TURNING: Final = re.compile("[\u0590-\u08ff\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]")
_WRAPPED: Final = re.compile("\u2068[^\u2066-\u2069]*\u2069")
_EMPTY: Final = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "use", "wbr"})
_READ_ALOUD: Final = frozenset({"title", "aria-label", "aria-valuetext", "alt", "placeholder"})
_NO_ELEMENTS: Final = frozenset({"title", "option", "textarea"})
"""Elements that contain no others: a text in them needs the characters of an isolate, as in an attribute."""
_MARK: Final = "mark of a character"
"""An element that shows a mark in place of the invisible character in it, which is there to be copied."""
_AS_IT_IS: Final = frozenset({"pre", "textarea"})
"""Elements with a text to copy unchanged; its invisible characters are named beside it."""


def unisolated(html: str) -> list[str]:
    """Texts outside an isolate that change direction or are invisible, each with the elements around it."""
    found = _Reader()
    found.feed(html)
    found.close()
    return found.found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._around: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        for name in _READ_ALOUD & given.keys():
            if _is_loose(given[name]):
                self._note(f"{tag} {name}", given[name])
        if tag not in _EMPTY:
            name = _MARK if "data-mark" in given else tag
            self._around.append((name, tag == "bdi" or "dir" in given))

    def handle_endtag(self, tag: str) -> None:
        while self._around and self._around.pop()[0] not in (tag, _MARK):
            pass

    def handle_data(self, data: str) -> None:
        tag = self._around[-1][0] if self._around else ""
        if tag in _NO_ELEMENTS - _AS_IT_IS:
            is_broken = _is_loose(data)
        else:
            is_isolated = any(isolates for _, isolates in self._around)
            is_mark = tag == _MARK and is_isolated
            is_broken = (_TURNING.search(data) is not None and not is_isolated) or (
                tag not in _AS_IT_IS and not is_mark and marked(data) != data
            )
        if is_broken:
            self._note(" ".join(name for name, _ in self._around[-3:]), data)

    def _note(self, where: str, text: str) -> None:
        self.found.append(f"{where}: {text.strip()[:60]!a}")


def _is_loose(text: str) -> bool:
    outside = _WRAPPED.sub("", text)
    inside = "".join(_WRAPPED.findall(text)).replace("\u2068", "").replace("\u2069", "")
    return _TURNING.search(outside) is not None or marked(outside) != outside or marked(inside) != inside
