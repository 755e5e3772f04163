"""Parsed pages, and hostile values for them."""

from html.parser import HTMLParser

HOSTILE = "<script>alert(1)</script> {{7*7}} {% now 'Y' %} \u202eevil 🦊"
LARGE = "é" * 1_000_000


class Page(HTMLParser):
    """A parsed page: its words, its elements and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words = ""
        self.elements: set[str] = set()
        self.classes: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.classes |= {each for name, value in attrs if name == "class" for each in (value or "").split()}

    def handle_data(self, data: str) -> None:
        self.words += data
