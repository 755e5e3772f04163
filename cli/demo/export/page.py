"""Rewrite a page of the console as a file: its links lead to files beside it, and its forms to the read-only page."""

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from html import escape
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urldefrag, urljoin

from svc_pg.console.pages import assets

from .walk import READ_ONLY
from .words import HEAD, note

_VOID: Final = frozenset({"base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_FIELDS: Final = frozenset({"button", "input", "select", "textarea"})
_OF_FORMS: Final = frozenset({"name", "method", "enctype", "target", "required", "pattern", "minlength", "list"})
_KEPT_DATA: Final = "data-mark"
"""The attribute of data that the style sheet reads; all others are for the script."""
_REQUEST: Final = re.compile(r"<span>Request [0-9a-f]{32}</span>")
_SYMBOL: Final = re.compile(r'<symbol id="([\w-]+)".*?</symbol>', re.DOTALL)

Attributes = dict[str, str | None]


class CopiedPage:
    """Makes files of pages. ``file_of`` gives the file of an address, or None; ``at`` is the time that pages tell.

    ``left_out`` has the addresses of links that lead to the read-only page instead.
    """

    def __init__(self, file_of: Callable[[str], str | None], *, at: datetime) -> None:
        self._file_of = file_of
        self._at = at
        self.left_out: set[str] = set()

    def made(self, html: str, address: str, *, more: str = "") -> str:
        """The file of a page with this address; ``more`` is HTML that follows the words of the note at its head."""
        rewriting = _Rewriting(lambda href: self._led(href, address), note(self._at, more))
        rewriting.feed(html)
        rewriting.close()
        return _REQUEST.sub("", "".join(rewriting.made))

    def _led(self, href: str, address: str) -> str:
        if href.startswith("#"):
            return href
        target, fragment = urldefrag(urljoin(address, href))
        name = self._file_of(target)
        if name is None:
            self.left_out.add(target)
            return READ_ONLY
        return f"{name}#{fragment}" if fragment else name


@cache
def icons() -> dict[str, str]:
    """The icons by their names: a page that is opened from a disk may not use those of another file."""
    text = assets.find("icons.svg").content.decode()
    return {found[1]: found[0].replace('id="', 'id="icon-', 1) for found in _SYMBOL.finditer(text)}


class _Rewriting(HTMLParser):
    def __init__(self, led: Callable[[str], str], note: str) -> None:
        super().__init__(convert_charrefs=False)
        self.made: list[str] = []
        self._led = led
        self._note = note
        self._icons: set[str] = set()
        self._dropping: list[str] = []
        """The element that is left out, and those of its name within."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._dropping:
            self._dropping += [tag] if tag == self._dropping[0] else []
        elif _is_dropped(tag, given):
            self._dropping += [] if tag in _VOID else [tag]
        else:
            self._write(tag, given)
            if tag == "meta" and "charset" in given:
                self.made.append(f"\n{HEAD.rstrip()}")
            if tag == "main":
                self.made.append(self._note)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not (self._dropping or _is_dropped(tag, dict(attrs))):
            self._write(tag, dict(attrs), end="/>")

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            if tag == self._dropping[0]:
                self._dropping.pop()
            return
        if tag == "body" and self._icons:
            symbols = "".join(icons()[name] for name in sorted(self._icons))
            self.made.append(f"<div hidden><svg>{symbols}</svg></div>\n")
        self.made.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._text(data)

    def handle_entityref(self, name: str) -> None:
        self._text(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._text(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._text(f"<!{decl}>")

    def _text(self, text: str) -> None:
        if not self._dropping:
            self.made.append(text)

    def _write(self, tag: str, given: Attributes, end: str = ">") -> None:
        changed = self._changed(tag, given)
        if changed == given:
            self.made.append(self.get_starttag_text() or "")
            return
        written = (name if value is None else f'{name}="{escape(value)}"' for name, value in changed.items())
        self.made.append(f"<{' '.join([tag, *written])}{end}")

    def _changed(self, tag: str, given: Attributes) -> Attributes:
        kept = {
            name: value
            for name, value in given.items()
            if not (name.startswith("data-") and name != _KEPT_DATA)
            and not (name.startswith("form") and tag in _FIELDS)
            and not (name in _OF_FORMS and tag in (*_FIELDS, "form"))
        }
        if tag == "a":
            href = kept.get("href")
            kept = {name: value for name, value in kept.items() if name not in ("download", "target", "rel")}
            return kept if href is None else kept | {"href": self._led(href)}
        if tag == "form":
            return kept | {"action": READ_ONLY}
        if tag in ("link", "img"):
            source = "href" if tag == "link" else "src"
            return kept | {source: _asset(kept[source] or "")}
        if tag == "use":
            file, _, name = (kept["href"] or "").partition("#")
            if not file:  # a symbol of the page itself
                return kept
            self._icons.add(name)
            return kept | {"href": f"#icon-{name}"}
        return kept


def _is_dropped(tag: str, given: Attributes) -> bool:
    """True for what only a script or the server makes work, such as the choice of a theme, and for what is on paper."""
    classes = (given.get("class") or "").split()
    return (
        tag in ("script", "kbd")
        or (tag == "form" and "theme" in classes)
        or "on-paper" in classes
        or (tag == "dialog" and given.get("id") == "keys")
        or (tag == "a" and given.get("href") == "#keys")
        or (tag == "input" and given.get("type") == "hidden")
        or (tag == "meta" and "http-equiv" in given)
        or "data-script" in given
    )


def _asset(address: str) -> str:
    """The file of an address such as ``/ui/static/console.css?v=1``."""
    return address.partition("?")[0].rpartition("/")[2]
