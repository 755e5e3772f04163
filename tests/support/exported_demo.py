"""The demo as files, and the laws of such a copy."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tests.support.commands import PROGRAM, environment

LIMIT_SECONDS: Final = 600
"""Hundreds of pages, whatever else the machine does."""
_ADDRESSES: Final = ("href", "src", "action", "formaction", "srcset", "data", "poster", "xlink:href", "background")
_NONE: Final = {"script", "iframe", "object", "embed", "base"}


def export(folder: Path) -> dict[str, Any]:
    """Export the demo to a folder, and return what the command tells of it."""
    command = [str(PROGRAM), "demo", "--export", str(folder), "--json"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


class Read(HTMLParser):
    """A page that was read."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: list[str] = []
        self.forms: list[dict[str, str | None]] = []
        self.policy = ""
        self.broken: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.update(filter(None, [given.get("id")]))
        self.addresses += [given[name] or "" for name in _ADDRESSES if name in given]
        if tag in _NONE or any(name.startswith("on") or name == "style" for name in given):
            self.broken.append(self.get_starttag_text() or "")
        if tag == "form":
            self.forms.append(given)
        if tag in ("input", "button", "select", "textarea") and "name" in given:
            self.broken.append(self.get_starttag_text() or "")
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""


def broken_laws(folder: Path, *, secrets: Sequence[str] = ()) -> Iterator[str]:
    """The faults of a copy: a dead link, one that leads out of it, a form that sends, a name of this machine."""
    pages = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.html")}
    read = {name: Read(html) for name, html in pages.items()}
    files = {file.name for file in folder.iterdir()}
    for name, page in read.items():
        yield from (f"{name}: {each}" for each in page.broken)
        if not page.policy.startswith("default-src 'none'; style-src 'self';"):
            yield f"{name}: the policy {page.policy!r}"
        if any("method" in form or form.get("action") != "read-only.html" for form in page.forms):
            yield f"{name}: a form that sends"
        for address in page.addresses:
            split = urlsplit(address)
            target = split.path or name
            if split.scheme or split.netloc or split.query or "/" in split.path or target not in files:
                yield f"{name}: {address} leads to nothing in here"
            elif split.fragment and split.fragment not in read[target].ids:
                yield f"{name}: {target} has no part {split.fragment}"
        for secret in (r"\b(?:127\.0\.0\.1|localhost):\d", r"/tmp/", r"svc-pg-\w{8}", "/.well-known/svc/ui", *secrets):
            if found := re.search(secret, pages[name]):
                yield f"{name}: {found[0]}"
